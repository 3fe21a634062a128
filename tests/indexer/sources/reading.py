"""What the tests of all sources do with a source."""

import pytest

from indexer.definition import ToolDefinition
from indexer.errors import SourceError
from indexer.search import RejectedTool
from indexer.sources import Source


def read(source: Source) -> tuple[list[ToolDefinition], list[RejectedTool]]:
    """What a source yields, taken and refused apart."""
    entries = list(source.entries())
    taken = [entry for entry in entries if isinstance(entry, ToolDefinition)]
    return taken, [entry for entry in entries if isinstance(entry, RejectedTool)]


def failure(source: Source) -> SourceError:
    """The error with which reading it ends; asking for its total never raises."""
    assert source.total is None or source.total >= 0
    with pytest.raises(SourceError) as caught:
        list(source.entries())
    return caught.value
