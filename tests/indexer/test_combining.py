"""A large catalog is ranked by bounds: the same rows, scores and cosines as without them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer import combining, engine, search_plan
from indexer.certified import CertifiedHead, build_certified_head
from indexer.combining import BestRows, Lows, QueryScores
from indexer.confidence import UNCALIBRATED, Calibration
from indexer.cosine_scale import cosine_scale
from indexer.document import ToolDocument
from indexer.embedders.hashing import HashingEmbedder
from indexer.engine import PlannedQuery, RankedRows, rank_rows
from indexer.errors import CorruptSnapshotError
from indexer.lexical import LexicalIndex, LexicalSnapshot
from indexer.matrix import MatrixSnapshot, VectorMatrix
from indexer.replica import Replica
from indexer.sign_bits import SignBits, build_sign_bits
from indexer.snapshot import SnapshotOrigin, load_snapshot, save_snapshot
from indexer.top_k import Floats, Rows, dot_scores
from tests.indexer.catalogs import tool
from tests.indexer.dense_cases import kinds, rows_of_kind, seeds, unit
from tests.indexer.test_replica import active, deleted

WORDS = ("order", "weather", "mail", "refund", "zebra", "invoice", "city", "shop")


def _catalog(
    vectors: Floats, dead: Sequence[int], headed: int, seed: int
) -> tuple[MatrixSnapshot, MatrixSnapshot, LexicalSnapshot]:
    """The rows without and with a head of the first `headed` of them, and words for each."""
    random = np.random.default_rng(seed)
    matrix, lexical = VectorMatrix(vectors.shape[1]), LexicalIndex()
    matrix.append(vectors)
    lexical.add(
        [
            ToolDocument(name=f"tool_{number}", description=" ".join(random.choice(WORDS, random.integers(0, 4))))
            for number in range(len(vectors))
        ]
    )
    rows = np.array(sorted(set(dead)), dtype=np.int64)
    matrix.tombstone(rows)
    lexical.remove(rows)
    plain = matrix.snapshot()
    head = build_certified_head(vectors[:headed], max(1, vectors.shape[1] // 3))
    return plain, replace(plain, head=head), lexical.snapshot()


def _known(matrix: MatrixSnapshot) -> Calibration:
    """Of a catalog whose vectors were looked at as a whole: only then bounds and bits are of use."""
    live = np.flatnonzero(matrix.penalty == 0)
    return replace(UNCALIBRATED, scale=cosine_scale(matrix.vectors, live) if len(live) else None)


def _same(first: RankedRows, second: RankedRows) -> None:
    for name in ("rows", "scores", "margins", "confidence", "weak", "cosine", "coverage"):
        assert getattr(first, name).tolist() == getattr(second, name).tolist(), name


@settings(max_examples=80, deadline=None)
@given(
    kind=kinds,
    rows=st.sampled_from([1, 40, 700]),
    appended=st.sampled_from([0, 5]),
    share_dead=st.sampled_from([0.0, 0.1, 0.9]),
    share_seen=st.sampled_from([None, 0.5, 1.0]),
    words=st.lists(st.sampled_from(WORDS), max_size=3),
    blind=st.booleans(),
    seed=seeds,
)
def test_ranking_by_bounds_gives_the_rows_scores_and_cosines_of_ranking_without(
    kind: str,
    rows: int,
    appended: int,
    share_dead: float,
    share_seen: float | None,
    words: list[str],
    blind: bool,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    vectors = rows_of_kind(kind, rows + appended, 24, seed)
    dead = np.flatnonzero(random.random(len(vectors)) < share_dead).tolist()
    plain, headed, lexical = _catalog(vectors, dead, rows, seed)
    seen: Rows | None = None
    if share_seen is not None:
        seen = np.flatnonzero(random.random(len(vectors)) < share_seen)
    asked = unit(random.standard_normal((1, 24)) + 2 * vectors[:1])
    if blind:
        asked[0] = 0
    query = PlannedQuery(" ".join(words))

    known = _known(plain)
    without = rank_rows(query, asked, matrix=plain, lexical=lexical, k=7, rows=seen, calibration=known)

    _same(rank_rows(query, asked, matrix=headed, lexical=lexical, k=7, rows=seen, calibration=known), without)


def _falling(rows: int, seed: int) -> Floats:
    """Rows with a falling spectrum, of which bounds leave few."""
    return unit(np.random.default_rng(seed).standard_normal((rows, 32)) * np.exp(-np.arange(32) / 5))


@pytest.mark.parametrize("blind", [None, 0, 1])
@pytest.mark.parametrize("dead", [[], range(0, 6_000, 3)])
def test_a_need_beside_the_query_is_ranked_by_bounds_too(blind: int | None, dead: Sequence[int]) -> None:
    vectors = _falling(6_000, 2)
    plain, headed, lexical = _catalog(vectors, dead, 5_900, 3)
    asked = _falling(2, 4)
    if blind is not None:
        asked[blind] = 0
    query = PlannedQuery("the zebra invoice", ("refund the order",))
    scanned = np.stack([dot_scores(vectors, vector) for vector in asked])

    known = _known(plain)
    without = rank_rows(query, asked, matrix=plain, lexical=lexical, k=9, cosines=scanned, calibration=known)

    _same(rank_rows(query, asked, matrix=headed, lexical=lexical, k=9, calibration=known), without)


def test_bounds_are_used_for_a_large_view_and_not_for_a_narrow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = _falling(6_000, 1)
    _, matrix, lexical = _catalog(vectors, [], 6_000, 1)
    used: list[bool] = []

    def noted(
        scored: QueryScores, vectors: Sequence[Floats | None], lows: Lows, matrix: MatrixSnapshot, k: int
    ) -> BestRows | None:
        found = combining.best_rows_by_bounds(scored, vectors, lows, matrix, k)
        used.append(found is not None)
        return found

    monkeypatch.setattr(engine, "best_rows_by_bounds", noted)
    known = _known(matrix)
    for rows in (None, np.arange(3_000), np.arange(0, 6_000, 10)):
        rank_rows(
            PlannedQuery("refund"), vectors[:1], matrix=matrix, lexical=lexical, k=5, rows=rows, calibration=known
        )
    many = PlannedQuery("refund", ("refund the order", "the weather"))
    rank_rows(many, vectors[:3], matrix=matrix, lexical=lexical, k=5, calibration=known)

    assert used == [True, True]


def _large(recall: float = 1.0) -> Replica:
    """A replica just large enough to be searched by bounds or bits."""
    replica = Replica(8, recall=recall)
    vectors = rows_of_kind("spread", search_plan.CERTIFIED_ROWS, 8, 0)
    one = active(tool("tool"), 1)
    replica.apply(
        [
            replace(one, definition=tool(f"t{number}", "Do."), revision=number + 1, vector=vector)
            for number, vector in enumerate(vectors)
        ]
    )
    return replica


def test_a_large_catalog_has_its_bounds_from_its_calibration_on_through_compaction_and_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_plan, "CERTIFIED_ROWS", 500)
    replica = _large()
    assert replica.state.matrix.head is None
    assert "bounds" not in replica.parts_bytes()

    replica.calibrate(HashingEmbedder(8))
    head = replica.state.matrix.head
    assert head is not None
    assert head.n_rows == 500
    assert replica.parts_bytes()["bounds"] == head.nbytes

    replica.apply(
        [
            deleted(tool("t7"), 10**6),
            replace(active(tool("later"), 10**6 + 1), vector=rows_of_kind("spread", 1, 8, 9)[0]),
        ]
    )
    replica.compact()
    compacted = replica.state.matrix.head
    assert compacted is not None
    assert compacted is not head
    origin = SnapshotOrigin(store_id="test", encoder_id="random", dimensions=8)
    save_snapshot(tmp_path / "snapshot", replica, origin)
    loaded = load_snapshot(tmp_path / "snapshot", origin)
    assert loaded is not None
    kept = loaded.state.matrix.head
    assert kept is not None
    query = rows_of_kind("spread", 1, 8, 1)[0]
    assert kept.upper_bounds(query).tolist() == compacted.upper_bounds(query).tolist()
    scale, saved = loaded.state.calibration.scale, replica.state.calibration.scale
    assert scale is not None
    assert saved is not None
    assert scale.low(query) == saved.low(query)


@pytest.mark.parametrize("dead", [[], range(0, 6_000, 3)])
@pytest.mark.parametrize("rows", [None, np.arange(500, 6_000)])
def test_by_bits_nearly_the_same_rows_are_found_with_nearly_the_same_scores(
    dead: Sequence[int], rows: Rows | None
) -> None:
    vectors = _falling(6_000, 5)
    plain, _, lexical = _catalog(vectors, dead, 5_900, 6)
    matrix = replace(plain, bits=build_sign_bits(vectors[:5_900], recall=0.98))
    known = _known(plain)
    shares: list[float] = []
    for vector in _falling(20, 7):
        query = PlannedQuery("the zebra invoice", ("refund the order",))
        asked = np.stack((vector, vectors[5_950]))
        right = rank_rows(query, asked, matrix=plain, lexical=lexical, k=10, rows=rows, calibration=known)

        found = rank_rows(query, asked, matrix=matrix, lexical=lexical, k=10, rows=rows, calibration=known)

        shares.append(len(set(found.rows.tolist()) & set(right.rows.tolist())) / 10)
        np.testing.assert_allclose(found.scores, right.scores, atol=0.02)
        assert not set(found.rows.tolist()) & set(dead)
    assert np.mean(shares) >= 0.98


def test_with_everything_rescored_bits_rank_as_a_scan_does() -> None:
    vectors = rows_of_kind("some zero", 700, 24, 8)
    plain, _, lexical = _catalog(vectors, [3, 4, 5], 700, 9)
    matrix = replace(plain, bits=replace(build_sign_bits(vectors), recall=0.9, rescore=700))

    for vector in rows_of_kind("spread", 10, 24, 10):
        query, asked = PlannedQuery("refund the order"), vector[None]
        _same(
            rank_rows(query, asked, matrix=matrix, lexical=lexical, k=10, calibration=_known(plain)),
            rank_rows(query, asked, matrix=plain, lexical=lexical, k=10, calibration=_known(plain)),
        )


def test_a_stated_recall_gives_a_large_catalog_bits_and_a_snapshot_of_it_bounds_when_all_are_wanted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_plan, "CERTIFIED_ROWS", 500)
    monkeypatch.setattr(search_plan, "BITS_ROWS", 500)
    replica = _large(recall=0.95)
    replica.calibrate(HashingEmbedder(8))
    bits = replica.state.matrix.bits
    assert bits is not None
    assert (bits.recall, bits.n_rows) == (0.95, 500)
    assert replica.state.matrix.head is None
    assert replica.parts_bytes()["bits"] == bits.nbytes
    assert str(replica.state.search_plan).startswith("bits: 500 rows of 8 dimensions")

    origin = SnapshotOrigin(store_id="test", encoder_id="random", dimensions=8)
    save_snapshot(tmp_path / "snapshot", replica, origin)
    same, exact = (load_snapshot(tmp_path / "snapshot", origin, recall=recall) for recall in (0.95, 1.0))

    assert same is not None
    assert same.state.matrix.bits is not None
    assert same.state.matrix.bits.rescore == bits.rescore
    assert np.array_equal(same.state.matrix.bits.words, bits.words)
    assert exact is not None
    assert exact.state.matrix.bits is None
    assert exact.state.matrix.head is not None
    assert str(exact.state.search_plan).startswith("certified: 500 rows")


def test_bounds_of_other_vectors_make_a_snapshot_corrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_plan, "CERTIFIED_ROWS", 500)
    arrays = _large().to_arrays()

    for vectors in (rows_of_kind("spread", 501, 8, 1), rows_of_kind("spread", 500, 9, 1)):
        head = build_certified_head(vectors, 3).to_arrays()
        with pytest.raises(CorruptSnapshotError, match="other vectors"):
            Replica.from_arrays(arrays | {f"head.{name}": array for name, array in head.items()}, 1, [])


def test_sign_bits_of_a_snapshot_that_do_not_fit_together_are_a_corrupt_snapshot() -> None:
    arrays = build_sign_bits(rows_of_kind("spread", 50, 8, 1)).to_arrays()

    for broken in ({}, arrays | {"words": arrays["words"][:0]}, arrays | {"measured": np.array([0.9])}):
        with pytest.raises(CorruptSnapshotError, match="sign bits"):
            SignBits.from_arrays(broken)


def test_bounds_of_a_snapshot_that_do_not_fit_together_are_a_corrupt_snapshot() -> None:
    arrays = build_certified_head(rows_of_kind("spread", 50, 8, 1), 3).to_arrays()

    for broken in ({}, arrays | {"tiles": arrays["tiles"][:, 1:]}, arrays | {"shape": np.array([9_000.0, 1.0])}):
        with pytest.raises(CorruptSnapshotError, match="bounds"):
            CertifiedHead.from_arrays(broken)
