"""Embeddings from any endpoint that speaks OpenAI's `POST /embeddings`."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Self, cast

import httpx
import numpy as np

from indexer.embedders.base import Vectors
from indexer.errors import DimensionMismatchError, EmbeddingError

_BATCH: Final = 96
_ATTEMPTS: Final = 4
_FIRST_WAIT_SECONDS: Final = 0.5
_LONGEST_WAIT_SECONDS: Final = 20.0
_TIMEOUT: Final = httpx.Timeout(60.0, connect=10.0)
_PASSING: Final = frozenset({408, 409, 429, 500, 502, 503, 504})
"""Statuses that a later try may not meet."""


class OpenAICompatibleEmbedder:
    """Asks a remote model, in batches, again where the answer may yet come; queries and documents are sent alike."""

    def __init__(
        self,
        *,
        client: httpx.Client,
        model: str,
        dimensions: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._model = model
        self._dimensions = dimensions
        self._sleep = sleep

    @classmethod
    def connect(
        cls,
        *,
        url: str,
        model: str,
        key: str | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Self:
        """Ask the endpoint once, to learn how long its vectors are. Raises: EmbeddingError."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        client = httpx.Client(base_url=url.rstrip("/") + "/", headers=headers, timeout=_TIMEOUT, transport=transport)
        probing = cls(client=client, model=model, dimensions=0, sleep=sleep)
        try:
            width = len(probing._ask(["dimensions"])[0])
        except EmbeddingError:
            client.close()
            raise
        return cls(client=client, model=model, dimensions=width, sleep=sleep)

    @property
    def embedder_id(self) -> str:
        return f"openai:{self._model}@{self._client.base_url.host}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions) float32 unit rows; an empty text gives a zero row. Raises: EmbeddingError."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        # Most endpoints refuse empty strings, and with them the whole batch.
        filled = [number for number, text in enumerate(texts) if text.strip()]
        for numbers in _batches(filled):
            rows = self._ask([texts[number] for number in numbers])
            for number, row in zip(numbers, rows, strict=True):
                if len(row) != self._dimensions:
                    raise DimensionMismatchError(expected=self._dimensions, got=len(row), where=self.embedder_id)
                vectors[number] = row
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, norms, out=vectors, where=norms > 0)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed_documents`."""
        return self.embed_documents(texts)

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        wait, problem = _FIRST_WAIT_SECONDS, ""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                response = self._client.post("embeddings", json={"model": self._model, "input": list(texts)})
            except httpx.TransportError as error:
                problem, asked_wait = f"cannot be reached ({error})", None
            else:
                if response.is_success:
                    return self._read(response, len(texts))
                problem = f"answered {response.status_code}: {response.text[:200]}"
                asked_wait = _retry_after(response)
                if response.status_code not in _PASSING:
                    raise self._error(problem, "Check the URL, the key and the model's name.")
            if attempt < _ATTEMPTS:
                self._sleep(min(asked_wait or wait, _LONGEST_WAIT_SECONDS))
                wait *= 2
        raise self._error(problem, f"Tried {_ATTEMPTS} times; try again later.")

    def _read(self, response: httpx.Response, expected: int) -> list[list[float]]:
        try:
            items = cast(list[dict[str, Any]], response.json()["data"])
            rows = [item["embedding"] for item in sorted(items, key=lambda item: item["index"])]
        except (ValueError, KeyError, TypeError) as error:
            raise self._error(f"did not answer as /embeddings should ({error!r})", "Is it the right URL?") from error
        if len(rows) != expected:
            raise self._error(f"answered {len(rows)} vectors for {expected} texts", "Is it the right URL?")
        return rows

    def _error(self, problem: str, advice: str) -> EmbeddingError:
        return EmbeddingError(f"the embeddings endpoint {self._client.base_url} {problem}. {advice}")


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), _BATCH):
        yield numbers[start : start + _BATCH]


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait; None where it does not say, or says a date."""
    try:
        return float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
