"""The simulation gives what queueing theory gives where that has an answer, and fails and recovers as it should."""

import math
import random
from dataclasses import replace
from statistics import fmean

import pytest

from benchmarks.scale_simulation import Background, Failure, Pause, Setup, drawn_from, simulate
from tests.benchmarks.queueing_theory import constant, exponential, waiting_of_mg1, waiting_of_mmc

SERVICE = 0.01


@pytest.mark.parametrize(("workers", "load"), [(1, 0.5), (4, 0.6), (10, 0.6)])
def test_one_queue_with_exponential_service_waits_as_erlang_says(workers: int, load: float) -> None:
    rate = load * workers / SERVICE
    setup = Setup(
        searches_per_second=rate,
        workers=workers,
        draw=exponential(SERVICE),
        routing="shared",
        seconds=60_000 / rate + 20,
        warm_up_seconds=20,
    )
    outcome = simulate(setup)
    assert len(outcome.took) > 55_000
    assert fmean(outcome.waited) == pytest.approx(waiting_of_mmc(rate, SERVICE, workers), rel=0.08)
    assert fmean(outcome.took) == pytest.approx(waiting_of_mmc(rate, SERVICE, workers) + SERVICE, rel=0.04)
    assert outcome.busy_seconds / (workers * (setup.seconds - 20)) == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_constant_service_waits_as_pollaczek_and_khinchine_say(load: float) -> None:
    rate = load / SERVICE
    setup = Setup(searches_per_second=rate, workers=1, draw=constant(SERVICE), seconds=60_000 / rate + 20)
    waited = fmean(simulate(setup).waited)
    assert waited == pytest.approx(waiting_of_mg1(rate, SERVICE), rel=0.06)
    assert waiting_of_mg1(rate, SERVICE, SERVICE**2) == pytest.approx(waiting_of_mmc(rate, SERVICE, 1))


def test_queues_of_their_own_wait_as_that_many_single_workers() -> None:
    rate, workers = 0.7 * 5 / SERVICE, 5
    setup = Setup(searches_per_second=rate, workers=workers, draw=constant(SERVICE), seconds=60_000 / rate + 5)
    waited = fmean(simulate(setup).waited)
    assert waited == pytest.approx(waiting_of_mg1(rate / workers, SERVICE), rel=0.06)


def test_a_batch_answers_what_waits_and_so_carries_more() -> None:
    def draw(source: random.Random, batch: int) -> float:
        return SERVICE  # as long for eight as for one

    setup = Setup(searches_per_second=4 / SERVICE, workers=1, draw=draw, max_batch=8, seconds=200, warm_up_seconds=5)
    outcome = simulate(setup)
    assert outcome.unanswered <= 8
    assert len(outcome.took) / outcome.batches == pytest.approx(4, rel=0.05)
    assert outcome.percentile(1.0) < 4 * SERVICE
    assert simulate(replace(setup, max_batch=1)).unanswered > 50_000


def test_equal_seeds_give_equal_runs_and_others_do_not() -> None:
    setup = Setup(searches_per_second=200, workers=4, draw=exponential(SERVICE), seconds=20)
    assert simulate(setup).took == simulate(setup).took
    assert simulate(setup).took != simulate(replace(setup, seed=2)).took


def test_every_search_of_a_gateway_that_fails_is_answered_by_another() -> None:
    failure = Failure(at_seconds=20, back_after_seconds=20, noticed_after_seconds=2)
    setup = Setup(
        searches_per_second=500,
        workers=8,
        workers_per_gateway=2,
        draw=constant(SERVICE),
        failure=failure,
        seconds=60,
    )
    outcome, undisturbed = simulate(setup), simulate(replace(setup, failure=None))
    # Two of eight workers take their share for two seconds; of those tried again every fourth meets them once more.
    assert outcome.retries == pytest.approx(500 * 2 * 0.25 / 0.75, rel=0.15)
    assert undisturbed.retries == 0
    assert outcome.unanswered < 40
    assert len(outcome.took) == pytest.approx(500 * 55, rel=0.02)
    during = outcome.percentile(0.99, since=22, until=40)
    assert during > outcome.percentile(0.99, since=45) >= SERVICE
    assert outcome.percentile(0.99, since=5, until=20) == pytest.approx(undisturbed.percentile(0.99), rel=0.2)


def test_a_pause_holds_up_what_arrives_in_it_and_what_is_under_way() -> None:
    setup = Setup(
        searches_per_second=10,
        workers=1,
        draw=constant(0.001),
        pauses=[Pause(every_seconds=1, lasts_seconds=0.2)],
        seconds=1000,
    )
    outcome = simulate(setup)
    share = sum(took > 0.0021 for took in outcome.took) / len(outcome.took)
    assert share == pytest.approx(0.2, abs=0.03)
    assert 0.19 < outcome.percentile(1.0) < 0.21


def test_work_in_the_background_doubles_what_is_begun_beside_it() -> None:
    setup = Setup(
        searches_per_second=5,
        workers=1,
        draw=constant(0.001),
        background=[Background(every_seconds=1, lasts_seconds=0.25)],
        seconds=1000,
    )
    outcome = simulate(setup)
    slow = sum(took > 0.0019 for took in outcome.took) / len(outcome.took)
    assert slow == pytest.approx(0.25, abs=0.03)
    assert outcome.busy_seconds == pytest.approx(5 * 995 * 0.00125, rel=0.05)


def test_times_are_drawn_from_the_measured_ones() -> None:
    draw = drawn_from({1: [1.0, 2.0, 10.0], 4: [4.0]}, added_seconds=0.5)
    source = random.Random(1)
    single = [round((draw(source, 1) - 0.5) * 1e3, 6) for _ in range(3_000)]
    assert set(single) == {1.0, 2.0, 10.0}
    assert single.count(10.0) == pytest.approx(1_000, rel=0.1)
    assert draw(source, 4) == pytest.approx(0.004 + 4 * 0.5)
    assert draw(source, 2) == pytest.approx(0.002 + 2 * 0.5)
    assert draw(source, 8) == pytest.approx(0.008 + 8 * 0.5)


def test_a_window_without_searches_has_no_percentile() -> None:
    outcome = simulate(Setup(searches_per_second=10, workers=1, draw=constant(0.001), seconds=10))
    assert math.isnan(outcome.percentile(0.5, since=100))
