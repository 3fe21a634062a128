"""Trying again: which failures, how often, how long, and what is said at the end."""

import random
from collections.abc import Callable

import httpx
import pytest
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from indexer.errors import StoreError, StoreMissingError, StoreUnavailableError
from indexer.stores.qdrant_calls import Pauses, QdrantCalls


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


def calls_within(seconds: float, time: Time) -> QdrantCalls:
    pauses = Pauses(patience_seconds=seconds, sleep=time.sleep, monotonic=time.monotonic, rng=random.Random(1))
    return QdrantCalls("tools", pauses)


def answered(status: int, **headers: str) -> UnexpectedResponse:
    named = httpx.Headers({name.replace("_", "-"): value for name, value in headers.items()})
    return UnexpectedResponse(status, "Some Reason", b"{}", named)


def failing(*errors: Exception) -> Callable[[], str]:
    """A call that fails with each of the errors, then succeeds."""
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return call


UNREACHABLE = ResponseHandlingException(httpx.ConnectError("connection refused"))


@pytest.mark.parametrize(
    "error",
    [UNREACHABLE, *(answered(status) for status in (408, 429, 500, 502, 503, 504)), ResourceExhaustedResponse("", 0)],
    ids=str,
)
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    time = Time()
    assert calls_within(30, time)(failing(error, error, error)) == "done"
    assert len(time.slept) == 3


@pytest.mark.parametrize(
    ("error", "told", "message"),
    [
        (answered(400), StoreError, "refused a request on 'tools'"),
        (answered(401), StoreError, "TOOLSCOUT_QDRANT_API_KEY"),
        (answered(404), StoreMissingError, "no collection 'tools'"),
        (ResponseHandlingException(ValueError("no JSON")), StoreError, "cannot be read"),
    ],
    ids=str,
)
def test_what_will_not_pass_is_told_at_once(error: Exception, told: type[StoreError], message: str) -> None:
    time = Time()
    with pytest.raises(told, match=message) as raised:
        calls_within(30, time)(failing(error))
    assert type(raised.value) is told
    assert time.slept == []


def test_pauses_grow_and_differ_and_end_in_time() -> None:
    time = Time()
    with pytest.raises(StoreUnavailableError, match="cannot be reached: connection refused"):
        calls_within(10, time)(failing(*[UNREACHABLE] * 1000))
    assert 5.0 < time.now <= 10.0
    assert 0.025 <= time.slept[0] <= 0.05
    assert 1.0 <= time.slept[-1] <= 2.0
    assert len({round(pause, 6) for pause in time.slept}) == len(time.slept)
    assert 8 <= len(time.slept) <= 16


def test_the_wait_that_the_server_asks_for_is_kept() -> None:
    time = Time()
    assert calls_within(30, time)(failing(answered(503, retry_after="4"), ResourceExhaustedResponse("", 3))) == "done"
    assert time.slept == [4.0, 3.0]


def test_a_wait_beyond_the_end_is_not_begun_but_told() -> None:
    time = Time()
    with pytest.raises(StoreUnavailableError) as refused:
        calls_within(30, time)(failing(answered(429, retry_after="60")))
    assert refused.value.retry_after_seconds == 60
    assert time.slept == []


def test_without_patience_a_call_is_made_once() -> None:
    time = Time()
    with pytest.raises(StoreUnavailableError):
        calls_within(0, time)(failing(UNREACHABLE))
    assert time.slept == []


def test_an_error_that_is_none_of_the_clients_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        calls_within(30, Time())(failing(ZeroDivisionError()))
