"""Calls of a Qdrant server: tried again where that may help, and their errors told in our words."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, final

from indexer.errors import StoreError, StoreMissingError, StoreUnavailableError

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient

_Result = TypeVar("_Result")

DEFAULT_TIMEOUT_SECONDS: Final = 30
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 2.0
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that say nothing against the request itself."""


def connect(url: str, *, api_key: str | None = None, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS) -> "QdrantClient":
    """A client of a Qdrant server; nothing is sent yet."""
    from qdrant_client import QdrantClient

    return QdrantClient(url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False)


def connect_async(
    url: str, *, api_key: str | None = None, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
) -> "AsyncQdrantClient":
    """As `connect`, for searches in an event loop."""
    from qdrant_client import AsyncQdrantClient

    return AsyncQdrantClient(url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False)


@dataclass(frozen=True, slots=True)
class Pauses:
    """Waiting between tries: twice as long each time, at random, never past the end of `patience_seconds`."""

    patience_seconds: float = DEFAULT_TIMEOUT_SECONDS
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.Random)


@final
class QdrantCalls:
    """Runs calls of a client. Every call must be one that may be made twice."""

    def __init__(self, collection: str, pauses: Pauses | None = None) -> None:
        """`collection`: the name that errors speak of."""
        self._collection = collection
        self._pauses = pauses or Pauses()

    def __call__(self, call: Callable[[], _Result]) -> _Result:
        """What the call returns. Raises: StoreUnavailableError, StoreMissingError, StoreError."""
        pauses = self._pauses
        end = pauses.monotonic() + pauses.patience_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return call()
            except Exception as error:
                # The client raises errors of several families, and plain ValueError in its local mode.
                told = self.told(error)
                if told is None:
                    raise
                if not isinstance(told, StoreUnavailableError):
                    raise told from error
                wait = pauses.rng.uniform(pause / 2, pause)
                if told.retry_after_seconds is not None:
                    wait = max(wait, told.retry_after_seconds)
                if pauses.monotonic() + wait > end:
                    raise told from error
                pauses.sleep(wait)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def told(self, error: Exception) -> StoreError | None:
        """An error of the client in our words; None for one that is none of its."""
        from httpx import HTTPError
        from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
        from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

        match error:
            case StoreError():
                return error
            case ResourceExhaustedResponse():
                return StoreUnavailableError(
                    f"Qdrant has too much to do ({error}); try again.", retry_after_seconds=float(error.retry_after_s)
                )
            case QdrantException():
                return StoreUnavailableError(f"Qdrant has too much to do ({error}); try again.")
            case ResponseHandlingException() if not isinstance(error.source, HTTPError):
                return StoreError(
                    f"What Qdrant answered cannot be read: {error.source}. Is something else at TOOLSCOUT_QDRANT_URL?"
                )
            case ResponseHandlingException():
                return StoreUnavailableError(
                    f"Qdrant cannot be reached: {error.source}. Check TOOLSCOUT_QDRANT_URL and that the server runs."
                )
            case UnexpectedResponse():
                return self._refused(error.status_code or 0, error)
            case ApiException():
                return StoreError(f"Qdrant failed on {self._collection!r}: {error}.")
            case ValueError() if "not found" in str(error):
                return StoreMissingError(f"There is no collection {self._collection!r}.")  # the local mode's way
            case _:
                return None

    def _refused(self, status: int, error: "UnexpectedResponse") -> StoreError:
        if status in _PASSING:
            return StoreUnavailableError(
                f"Qdrant answered {status} {error.reason_phrase}; try again.",
                retry_after_seconds=_seconds(error.headers.get("retry-after")),
            )
        if status == 404:
            return StoreMissingError(f"There is no collection {self._collection!r} on the Qdrant server.")
        hint = " Check TOOLSCOUT_QDRANT_API_KEY." if status in (401, 403) else ""
        return StoreError(f"Qdrant refused a request on {self._collection!r}: {error}.{hint}")


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None  # a date: rare, and no reason to fail


if TYPE_CHECKING:
    from qdrant_client.http.exceptions import UnexpectedResponse
