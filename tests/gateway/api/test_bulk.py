"""A stream of lines: where they are read."""

import threading
from collections.abc import AsyncIterator
from typing import final

from gateway.api.bulk import EntryReader, register_lines
from gateway.api.guard import Caller
from gateway.registry.registry import ToolRegistry
from indexer import RejectedTool, ToolDefinition
from tests.gateway.serving import memory_index


@final
class NotingReader(EntryReader):
    """Notes the threads in which it reads."""

    def __init__(self) -> None:
        super().__init__(Caller())
        self.threads: set[int] = set()

    def line(self, line: bytes, number: int) -> ToolDefinition | RejectedTool:
        self.threads.add(threading.get_ident())
        return super().line(line, number)


async def test_lines_are_read_where_tools_are_written_and_not_on_the_event_loop() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"".join(b'{"name": "tool_%d"}\n' % number for number in range(600))
        yield b"{broken\n"

    reader, index = NotingReader(), memory_index()
    report = await register_lines(chunks(), ToolRegistry(index), reader)
    await index.aclose()

    assert report.added == 600
    assert [entry.place for entry in report.refused] == ["line 601"]
    assert threading.get_ident() not in reader.threads
