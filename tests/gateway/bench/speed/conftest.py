"""The small data, made once: nothing in it is ever changed."""

import pytest

from gateway.bench.speed.data import BenchData
from tests.gateway.bench.speed.small_data import small_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> BenchData:
    return small_data(tmp_path_factory.mktemp("speed") / "data")
