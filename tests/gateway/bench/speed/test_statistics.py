"""What a run is summed up by, against values worked out by hand."""

import math

import pytest

from gateway.bench.speed.statistics import (
    Spread,
    growth_exponent,
    percentile,
    ratio_spread,
    spread,
    step_exponents,
)


def test_a_spread_is_the_median_and_the_quartiles_between_values() -> None:
    assert spread([4.0, 1.0, 3.0, 2.0, 5.0]) == Spread(3.0, 2.0, 4.0)
    assert spread([1.0, 2.0]) == Spread(1.5, 1.25, 1.75)


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="no values"):
        spread([])


def test_a_spread_in_another_unit_is_scaled_as_a_whole() -> None:
    assert Spread(2.0, 1.0, 4.0).times(1000) == Spread(2000.0, 1000.0, 4000.0)


def test_a_ratio_is_taken_round_by_round_and_not_of_the_medians() -> None:
    # The machine was ten times slower in the second round: the ratio is 2 in each, of the medians it would not be.
    assert ratio_spread(theirs=[2.0, 20.0, 2.0], ours=[1.0, 10.0, 1.0]) == Spread(2.0, 2.0, 2.0)


def test_rounds_that_only_one_contender_has_do_not_count() -> None:
    assert ratio_spread(theirs=[3.0], ours=[1.0, 100.0]).median == 3.0


def test_percentiles_lie_between_values() -> None:
    assert percentile([0.0, 10.0], 99) == pytest.approx(9.9)


@pytest.mark.parametrize(("power", "expected"), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)])
def test_the_growth_exponent_of_a_power_law_is_its_power(power: float, expected: float) -> None:
    sizes = [1e3, 1e4, 1e5, 1e6]

    assert growth_exponent(sizes, [7.0 * size**power for size in sizes]) == pytest.approx(expected)


def test_the_growth_exponent_is_a_least_squares_fit() -> None:
    # log10 of sizes 0, 1, 2; of costs 0, 0, 3: slope = sum((x - 1) * y) / sum((x - 1)^2) = 3 / 2.
    assert growth_exponent([1, 10, 100], [1, 1, 1000]) == pytest.approx(1.5)


def test_steps_show_where_a_cost_bends() -> None:
    assert step_exponents([1, 10, 100], [1, 1, 1000]) == pytest.approx([0.0, 3.0])


@pytest.mark.parametrize(("sizes", "costs"), [([1], [1]), ([1, 2], [1]), ([1, 2], [0, 1]), ([1, 2], [math.nan, -1])])
def test_growth_needs_two_sizes_and_costs_above_nothing(sizes: list[float], costs: list[float]) -> None:
    with pytest.raises(ValueError, match="two sizes"):
        growth_exponent(sizes, costs)
