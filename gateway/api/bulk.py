"""Registering tools: one, several, or a stream of lines, where one bad entry never stops the rest."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, cast

from gateway.api.guard import Caller
from gateway.chat.json_text import decode_json
from gateway.registry.registry import ToolRegistry
from indexer import (
    InvalidToolError,
    RegistrationReport,
    RejectedTool,
    ToolDefinition,
    ToolKey,
    definition_from_json,
    merge_reports,
)

_BATCH_TOOLS: Final = 512
_BATCH_BYTES: Final = 8 * 1024 * 1024
_MAX_LINE_BYTES: Final = 2 * 1024 * 1024

_CALLER_EXECUTORS: Final = ("client",)
_CALLER_TRUST: Final = ("community", "untrusted")
_OPERATOR_EXECUTORS: Final = ("client", "simulated", "mcp", "python", "http")


class EntryReader:
    """Reads the entries of one request; knows which names it has seen."""

    def __init__(self, caller: Caller) -> None:
        self._tenant = caller.tenant
        # Code and connections are the operator's to name: who may only call over HTTP could else run anything.
        self._executors = _OPERATOR_EXECUTORS if caller.is_operator else _CALLER_EXECUTORS
        self._is_operator = caller.is_operator
        self._places: dict[ToolKey, str] = {}

    def definition(self, raw: object, place: str = "") -> ToolDefinition:
        """One tool. Raises: InvalidToolError."""
        definition = definition_from_json(raw, place=place, tenant=self._tenant, executors=self._executors)
        # A tier that publishers could give themselves would tell no one from anyone, and hide others' near-duplicates.
        if not self._is_operator and definition.trust not in _CALLER_TRUST:
            raise InvalidToolError(
                "trust",
                f"{definition.trust!r} cannot be set from here: who is trusted is the operator's to say",
                fix=f"Use one of {', '.join(_CALLER_TRUST)}, or leave the field out.",
                tool=str(definition.key),
            )
        return definition

    def entry(self, raw: object, place: str) -> ToolDefinition | RejectedTool:
        """One of several tools; a second one of the same name is refused, for which of them counts is not said."""
        try:
            definition = self.definition(raw)
        except InvalidToolError as error:
            return RejectedTool(
                place=place, tool=error.tool or _name_in(raw), field=error.field, reason=error.reason, fix=error.fix
            )
        first = self._places.setdefault(definition.key, place)
        if first != place:
            return RejectedTool(
                place=place,
                tool=str(definition.key),
                field="name",
                reason=f"the same tool stands at {first} of this request",
                fix="Leave one of them out, or give it another name or namespace.",
            )
        return definition

    def line(self, line: bytes, number: int) -> ToolDefinition | RejectedTool:
        """One line of a bulk load."""
        place = f"line {number}"
        if len(line) > _MAX_LINE_BYTES:
            reason = f"is longer than {_MAX_LINE_BYTES // 1024**2} MiB"
            return RejectedTool(place=place, tool="", field="line", reason=reason, fix="Shorten the tool.")
        try:
            raw: object = decode_json(line.decode(), strict=True, unique_keys=True)
        except ValueError as error:
            fix = "Write one JSON object a line."
            return RejectedTool(place=place, tool="", field="line", reason=_why_no_json(error), fix=fix)
        return self.entry(raw, place)


def _why_no_json(error: ValueError) -> str:
    match error:
        case json.JSONDecodeError():
            return f"is not valid JSON: {error.msg} at column {error.colno}"
        case UnicodeDecodeError():
            return f"is not UTF-8: byte {error.start} cannot be read"
        case _:
            return f"cannot be read as JSON: {error}"


def _name_in(raw: object) -> str:
    name: object = cast("dict[str, object]", raw).get("name") if isinstance(raw, dict) else None
    return name[:80] if isinstance(name, str) and name.isprintable() else ""


async def register_lines(
    chunks: AsyncIterator[bytes], registry: ToolRegistry, reader: EntryReader
) -> RegistrationReport:
    """Register a stream of lines batch by batch: memory stays bounded, and every batch is durable before the next."""
    whole: RegistrationReport | None = None
    batch: list[tuple[int, bytes]] = []
    batch_bytes = 0
    async for number, line in _numbered_lines(chunks):
        batch.append((number, line))
        batch_bytes += len(line)
        if len(batch) == _BATCH_TOOLS or batch_bytes >= _BATCH_BYTES:
            whole = _with(whole, await registry.register(_read(batch, reader)))
            batch, batch_bytes = [], 0
    if batch or whole is None:
        whole = _with(whole, await registry.register(_read(batch, reader)))
    return whole


def _read(lines: Sequence[tuple[int, bytes]], reader: EntryReader) -> Iterator[ToolDefinition | RejectedTool]:
    """The lines' entries, each read when it is taken: by the thread that writes, which gives way to searches."""
    return (reader.line(line, number) for number, line in lines)


def _with(whole: RegistrationReport | None, report: RegistrationReport) -> RegistrationReport:
    """Merged as they come: of a stream without end no more is kept than the report will say."""
    return report if whole is None else merge_reports([whole, report])


async def _numbered_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, bytes]]:
    """Lines that are not blank, with their number; of an endless line no more is kept than shows that it is one."""
    number, rest = 0, b""
    async for chunk in chunks:
        *lines, last = chunk.split(b"\n")
        for line in lines:
            number += 1
            line, rest = rest + line, b""
            if line.strip():
                yield number, line
        rest += last
        if len(rest) > 2 * _MAX_LINE_BYTES:
            rest = rest[: _MAX_LINE_BYTES + 1]
    if rest.strip():
        yield number + 1, rest


def entries_in(tools: Sequence[object], reader: EntryReader) -> Iterator[ToolDefinition | RejectedTool]:
    """The entries of a `{"tools": [...]}` body."""
    return (reader.entry(raw, f"tools[{place}]") for place, raw in enumerate(tools))
