"""What becomes of the entries of a registration: judged, counted, embedded; the same for every kind of index."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Final

import numpy as np

from indexer.definition import ToolDefinition, ToolKey
from indexer.document import ToolDocument, document_of
from indexer.embedders.base import Embedder
from indexer.engine import TEXT_RECIPE, embed_tools
from indexer.errors import DimensionMismatchError, InvalidToolError, sentences
from indexer.holdable import encoded_bytes, unholdable
from indexer.search import RegistrationReport, RejectedTool, merge_reports
from indexer.sparse import document_terms
from indexer.stores.base import StoredTool, ToolStatus

BATCH_TOOLS: Final = 128
"""Entries of one write. What is done for a whole batch is done without a pause: one of 512 would stop every request
for tens of milliseconds; smaller batches cost nothing in all."""
TURN_BATCHES: Final = 4
"""Batches after which all are waited for, before more is read: each but the last is written while the next is read."""
POLITE_BATCH_TOOLS: Final = 16
"""Of one write while searches come in: what it does for a whole batch, it does without a pause."""
BATCH_BYTES: Final = 1024 * 1024
"""Of the definitions of one write, about: tools may be a megabyte each."""
AT_ONCE_SECONDS: Final = 0.005
"""For so long a registration may hold the thread that asks. A network or a large model on the way takes longer."""
AT_ONCE_BYTES: Final = 32 * 1024
"""Of a definition that may: to judge a large one can take a tenth of a second."""

Judge = Callable[[ToolDefinition], InvalidToolError | None]
Known = tuple[str, ToolStatus]
"""Content hash and status of a tool that is in the catalog and not deleted."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How many entries of a source were taken, what became of them, and whether they were the last."""

    entries: int
    report: RegistrationReport
    is_last: bool


def merge_taken(taken: Sequence[Taken], revision: int) -> Taken:
    """Several batches as one; `revision`: of the catalog after the last."""
    report = merge_reports([one.report for one in taken])
    return Taken(
        entries=sum(one.entries for one in taken),
        report=replace(report, catalog_revision=revision),
        is_last=taken[-1].is_last,
    )


def go_on() -> None:
    """What is done between two tools where nobody waits."""


def take_batch(
    entries: Iterator[ToolDefinition | RejectedTool],
    register: Callable[[Sequence[ToolDefinition | RejectedTool]], RegistrationReport],
    *,
    limit: int = BATCH_TOOLS,
    between: Callable[[], None] = go_on,
) -> Taken:
    """Register the next batch of entries, so many at most; `between` is called after each that was read.

    What came before an entry that cannot be read is registered before its error passes on.
    """
    batch: list[ToolDefinition | RejectedTool] = []
    size = 0
    try:
        for entry in islice(entries, limit):
            size += 0 if isinstance(entry, RejectedTool) else encoded_bytes(entry)
            batch.append(entry)
            if size >= BATCH_BYTES:
                break
            between()
    finally:
        report = register(batch)
    return Taken(len(batch), report, is_last=len(batch) < limit and size < BATCH_BYTES)


async def take_all(
    take: Callable[[], Awaitable[Taken]], progress: Callable[[int], None] | None, revision: int
) -> RegistrationReport:
    """Take batch after batch; the sum of their reports. `revision`: of the catalog, should there be nothing to take."""
    started = perf_counter()
    whole = RegistrationReport(catalog_revision=revision)
    done = 0
    while True:
        taken = await take()
        done += taken.entries
        whole = merge_reports([whole, taken.report])
        if progress is not None and taken.entries:
            progress(done)
        if taken.is_last:
            return replace(whole, seconds=perf_counter() - started)


Lookup = Callable[[ToolKey], Known | None]
"""What the catalog knows of a tool."""


def encoder_id_of(embedder: Embedder) -> str:
    """By which encoder, of which texts; vectors of different ids are never mixed."""
    return f"{embedder.embedder_id}/{TEXT_RECIPE}"


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that is to be written, and the document it is found by; None for what no search may find."""

    tool: StoredTool
    document: ToolDocument | None = None


def as_change(tool: StoredTool) -> Change:
    return Change(tool, document_of(tool.definition) if tool.status == "active" else None)


class Registration:
    """A batch of entries, entry by entry; of several definitions of one tool the last is written."""

    def __init__(self, known: Lookup, judge: Judge, encoder_id: str, *, between: Callable[[], None] = go_on) -> None:
        """`between` is called after each tool that was looked at."""
        self._known_before = known
        self._between = between
        self._judge = judge
        self._encoder_id = encoder_id
        self._changes: dict[ToolKey, StoredTool] = {}
        self._added = self._changed = self._unchanged = 0
        self._quarantined: list[RejectedTool] = []
        self._refused: list[RejectedTool] = []

    def take(self, entries: Iterable[ToolDefinition | RejectedTool]) -> None:
        """Look at the entries in order."""
        for entry in entries:
            if isinstance(entry, RejectedTool):
                self._refused.append(entry)
            elif (refused := unholdable(entry)) is not None:
                self._refused.append(refused)
            elif self._known(entry.key) == (entry.content_hash, "active"):
                self._unchanged += 1  # it was judged when it came first
            else:
                self._consider(entry)
                self._between()

    def _consider(self, definition: ToolDefinition) -> None:
        problem = self._judge(definition)
        if problem is not None:
            self._quarantined.append(_rejected(definition, problem))
        tool = StoredTool(
            definition=definition,
            content_hash=definition.content_hash,
            revision=0,
            status="active" if problem is None else "quarantined",
            reason="" if problem is None else sentences(f"{problem.field}: {problem.reason}", problem.fix),
            encoder_id=self._encoder_id if problem is None else "",
        )
        known = self._known(tool.key)
        if known != (tool.content_hash, tool.status):
            self._changes.pop(tool.key, None)  # written in the place of the last definition, not of the first
            self._changes[tool.key] = tool
        if problem is None:
            self._added += known is None
            self._changed += known is not None

    def _known(self, key: ToolKey) -> Known | None:
        change = self._changes.get(key)
        return self._known_before(key) if change is None else (change.content_hash, change.status)

    def changes(self) -> list[Change]:
        """What is to be written, without revisions and vectors."""
        changes: list[Change] = []
        for tool in self._changes.values():
            changes.append(as_change(tool))
            self._between()
        return changes

    def report(self, revision: int) -> RegistrationReport:
        return RegistrationReport(
            added=self._added,
            changed=self._changed,
            unchanged=self._unchanged,
            quarantined=tuple(self._quarantined),
            refused=tuple(self._refused),
            catalog_revision=revision,
        )


def embedded(embedder: Embedder, changes: Sequence[Change], *, terms: bool = False) -> list[StoredTool]:
    """The tools of the changes with their vectors; `terms`: and with their words as sparse vectors.

    Raises: EmbeddingError.
    """
    documents = [change.document for change in changes if change.document is not None]
    vectors = iter(embed_tools(embedder, documents) if documents else np.empty((0, 0), dtype=np.float32))
    encoder_id = encoder_id_of(embedder)
    tools: list[StoredTool] = []
    for change in changes:
        if change.document is None:
            tools.append(change.tool)
            continue
        vector = next(vectors)
        if vector.shape != (embedder.dimensions,):
            raise DimensionMismatchError(expected=embedder.dimensions, got=len(vector), where=embedder.embedder_id)
        words = document_terms(change.document) if terms else None
        tools.append(replace(change.tool, vector=vector, terms=words, encoder_id=encoder_id))
    return tools


def tombstone(key: ToolKey) -> StoredTool:
    """What stays of a deleted tool, so that followers see it go."""
    definition = ToolDefinition(name=key.name, namespace=key.namespace, tenant=key.tenant)
    return StoredTool(definition=definition, content_hash="", revision=0, status="deleted")


def _rejected(definition: ToolDefinition, problem: InvalidToolError) -> RejectedTool:
    return RejectedTool(
        place=str(definition.key),
        tool=definition.name,
        field=problem.field,
        reason=problem.reason,
        fix=problem.fix,
    )
