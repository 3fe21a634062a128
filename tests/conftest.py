"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest


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
