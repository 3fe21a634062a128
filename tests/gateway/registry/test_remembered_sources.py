"""The operator's list of sources."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from gateway.errors import ConfigurationError
from gateway.registry.remembered_sources import SOURCES_FILE, remember_source, remembered_sources


def test_sources_are_remembered_by_name_and_for_their_owner_only(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert remembered_sources(home) == {}
    remember_source(home, "shop", "mcp:shop-server")
    remember_source(home, "git", "mcp:https://example.com/mcp")
    remember_source(home, "shop", "mcp:shop-server --new")
    assert remembered_sources(home) == {"shop": "mcp:shop-server --new", "git": "mcp:https://example.com/mcp"}
    assert (home / SOURCES_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == [SOURCES_FILE]


@pytest.mark.parametrize("content", ["{", "[]", '{"sources": []}', '{"sources": {"a": 1}}', "{}"])
def test_a_file_that_is_not_such_a_list_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / SOURCES_FILE).write_text(content)
    with pytest.raises(ConfigurationError, match=SOURCES_FILE):
        remembered_sources(tmp_path)


def test_sources_that_are_indexed_at_the_same_time_are_all_remembered(tmp_path: Path) -> None:
    names = [f"shop-{number}" for number in range(60)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(partial(remember_source, tmp_path), names, (f"mcp:{name}" for name in names)))
    assert remembered_sources(tmp_path) == {name: f"mcp:{name}" for name in names}
