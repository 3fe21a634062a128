"""Fixtures that every test may use."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.qdrant_stub.server import QdrantStub, StubServer


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The folder of retrieval test sets, or a skip that says how to get one."""
    folder = os.environ.get("TOOLSCOUT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the retrieval test sets: set TOOLSCOUT_DATA to their folder")
    return Path(folder)


@pytest.fixture
def qdrant() -> "Iterator[tuple[QdrantStub, StubServer]]":
    """A stub of a Qdrant server, and the HTTP server in front of it."""
    # Imports the Qdrant client, for which tests that need no server should not wait.
    from tests.qdrant_stub.server import running_stub

    with running_stub() as running:
        yield running
