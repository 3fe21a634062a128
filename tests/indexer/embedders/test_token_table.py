import numpy as np

from indexer.embedders.token_table import TokenTable
from indexer.training.packing import pack


def random_table(tokens: int = 50, dimensions: int = 16) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(tokens, dimensions)).astype(np.float32)


def packed(table: np.ndarray) -> TokenTable:
    rows, scales, _ = pack(table)
    return TokenTable(rows, scales)


def test_four_bits_keep_directions() -> None:
    table = random_table()
    made = packed(table)
    for token in range(len(table)):
        unit = table[token] / np.linalg.norm(table[token])
        assert made.unit_sum([token])[0] @ unit > 0.99


def test_light_rows_stay_light_in_a_sum() -> None:
    table = random_table()
    table[3] *= 1e-4
    made = packed(table)
    assert made.unit_sum([2, 3])[0] @ made.unit_sum([2])[0] > 0.9999


def test_one_text_and_many_are_summed_alike() -> None:
    made = packed(random_table())
    generator = np.random.default_rng(1)
    texts = [generator.integers(0, 50, size=length).tolist() for length in (3, 0, 1, 200, 7)]
    together = made.unit_sums(texts)
    for row, text in zip(together, texts, strict=True):
        np.testing.assert_allclose(row, made.unit_sum(text)[0], atol=1e-5)


def test_texts_longer_than_a_batch_are_summed_whole() -> None:
    made = packed(random_table())
    long = list(range(50)) * 200
    together = made.unit_sums([[1], long, [2], [], long])
    np.testing.assert_allclose(together[1], made.unit_sum(long)[0], atol=1e-4)
    np.testing.assert_array_equal(together[1], together[4])
    np.testing.assert_allclose(together[2], made.unit_sum([2])[0], atol=1e-6)


def test_texts_without_tokens_give_zero_rows() -> None:
    made = packed(random_table())
    assert not made.unit_sums([[], []]).any()
    assert not made.unit_sum([]).any()
    assert made.unit_sums([]).shape == (0, 16)


def test_a_zero_row_of_the_table_stays_zero() -> None:
    table = random_table()
    table[5] = 0
    assert not packed(table).unit_sum([5]).any()
