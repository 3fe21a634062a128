"""What several tests of the index begin with."""

from collections.abc import AsyncIterator

import pytest

from indexer.vector_index import VectorToolIndex
from tests.indexer.catalogs import SHOP, make_index


@pytest.fixture
async def index() -> AsyncIterator[VectorToolIndex]:
    opened = make_index()
    await opened.register(SHOP)
    yield opened
    await opened.aclose()
