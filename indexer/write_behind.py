"""One write to the store that goes on while the next one is made ready."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

from indexer.definition import ToolKey
from indexer.document import ToolDocument
from indexer.registering import Known
from indexer.stores.base import StoredTool

Documents = Mapping[ToolKey, ToolDocument]


@dataclass(frozen=True, slots=True)
class _Pending:
    written: Future[list[StoredTool]]
    documents: Documents
    known: Mapping[ToolKey, Known]


@final
class WriteBehind:
    """Writes in a thread of its own, one at a time; for one caller, who finishes each write before the next begins."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="toolscout-store")
        self._pending: _Pending | None = None

    @property
    def is_on(self) -> bool:
        """Whether a write has begun that is not finished."""
        return self._pending is not None

    def begin(
        self,
        write: Callable[[Sequence[StoredTool]], list[StoredTool]],
        tools: Sequence[StoredTool],
        documents: Documents,
    ) -> None:
        """Begin to write the tools; `documents`: those by which the active ones are found."""
        known: dict[ToolKey, Known] = {tool.key: (tool.content_hash, tool.status) for tool in tools}
        self._pending = _Pending(self._thread.submit(write, tools), documents, known)

    def known(self, key: ToolKey) -> Known | None:
        """What is being written of a tool."""
        return None if self._pending is None else self._pending.known.get(key)

    def finish(self) -> tuple[list[StoredTool], Documents] | None:
        """Wait for what is being written: the tools as they were, and their documents. Raises: what `write` raised."""
        pending, self._pending = self._pending, None
        return None if pending is None else (pending.written.result(), pending.documents)

    def close(self) -> None:
        self._thread.shutdown()
