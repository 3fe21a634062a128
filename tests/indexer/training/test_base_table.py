import numpy as np

from indexer.training.base_table import sif_weights, whitened_table


def random_pieces(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows that all lean one way, as an encoder's do, and a Zipfian distribution over them."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(400, 12)) * np.linspace(3, 0.1, 12) + 5
    probabilities = 1 / np.arange(1, 401)
    return rows.astype(np.float32), np.log(probabilities / probabilities.sum()).astype(np.float32)


def test_weights_fall_with_frequency() -> None:
    weights = sif_weights(np.log(np.array([1e-1, 1e-3, 1e-6], dtype=np.float32)), a=1e-3)
    assert weights[0] < 0.02
    assert abs(weights[1] - 0.5) < 1e-6
    assert weights[2] > 0.99


def test_the_table_is_centred_and_white_under_the_unigram_distribution() -> None:
    rows, log_probabilities = random_pieces()
    table = whitened_table(rows, log_probabilities, dimensions=6).astype(np.float64)
    probabilities = np.exp(log_probabilities.astype(np.float64))
    np.testing.assert_allclose(probabilities @ table, 0, atol=1e-4)
    np.testing.assert_allclose(table.T @ (table * probabilities[:, None]), np.eye(6), atol=1e-3)
