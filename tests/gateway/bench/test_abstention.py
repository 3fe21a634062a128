"""What confidence is worth, against values worked out by hand."""

import numpy as np
import pytest

from gateway.bench.abstention import measure_abstention, roc


def test_a_confidence_that_tells_everything_apart_refuses_everything_else() -> None:
    served, others = np.linspace(0.6, 1, 50), np.linspace(0, 0.4, 20)
    found = measure_abstention(served, others, None)

    assert found.kept_as_good == 100
    assert (found.removed.refused, found.removed.refused_as_weak, found.removed.auc) == (100, 100, pytest.approx(100))
    assert found.negatives is None


def test_a_confidence_that_tells_nothing_apart_refuses_as_often_as_it_gives_up() -> None:
    values = np.linspace(0, 1, 1001)
    found = measure_abstention(values, values, values)

    assert found.negatives is not None
    assert found.negatives.refused == pytest.approx(5, abs=0.2)
    assert found.negatives.refused_as_weak == pytest.approx(50, abs=0.2)
    assert found.negatives.auc == pytest.approx(50, abs=0.2)


def test_the_roc_curve_of_three_requests() -> None:
    # From the strictest threshold on: 0.9 keeps one served; 0.5 a wrong one beside it; 0.3 both served.
    kept_wrongly, kept_rightly = roc(np.array([0.9, 0.3]), np.array([0.5]))

    assert kept_wrongly.tolist() == [0, 1, 1]
    assert kept_rightly.tolist() == [0.5, 0.5, 1]
    assert measure_abstention(np.array([0.9, 0.3]), np.array([0.5]), None).removed.auc == pytest.approx(50)
