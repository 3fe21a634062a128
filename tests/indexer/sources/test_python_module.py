"""The functions of a module as tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.definition import ToolExecutor
from indexer.sources import SourceOptions, open_source
from indexer.sources.python_module import PythonSource
from tests.indexer.sources.reading import failure, read

TOOLS = '''
from math import sqrt

def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b

def untyped(a):
    return a

def _private(a: int) -> int:
    return a

class NotATool:
    pass
'''


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def test_public_typed_functions_are_taken_and_the_rest_explained(module_folder: Path) -> None:
    (module_folder / "shop_tools_a.py").write_text(TOOLS)
    source = open_source("python:shop_tools_a", SourceOptions(namespace="shop"))
    taken, refused = read(source)
    assert source.total == 2
    assert [(t.namespace, t.name, t.description) for t in taken] == [("shop", "add", "Add two numbers.")]
    assert taken[0].input_schema["required"] == ["a"]
    assert taken[0].executor == ToolExecutor(kind="python", config={"target": "shop_tools_a:add"})
    assert [(r.place, r.field) for r in refused] == [("untyped", "parameters.a")]


def test_one_function_can_be_named(module_folder: Path) -> None:
    (module_folder / "shop_tools_b.py").write_text(TOOLS)
    taken, _ = read(open_source("python:shop_tools_b:add"))
    assert [t.name for t in taken] == ["add"]


def test_all_says_what_a_module_offers(module_folder: Path) -> None:
    (module_folder / "shop_tools_c.py").write_text(TOOLS + "\n__all__ = ['_private', 'NotATool']\n")
    taken, _ = read(open_source("python:shop_tools_c"))
    assert [t.name for t in taken] == ["_private"]


def test_a_module_that_is_not_there_is_named(module_folder: Path) -> None:
    error = failure(open_source("python:no_such_tools"))
    assert "there is no module 'no_such_tools'" in error.reason
    assert str(module_folder) in error.fix


def test_a_module_that_fails_or_misses_another_says_so(module_folder: Path) -> None:
    (module_folder / "shop_tools_d.py").write_text("1 / 0")
    (module_folder / "shop_tools_e.py").write_text("import no_such_dependency")
    assert "ZeroDivisionError" in failure(open_source("python:shop_tools_d")).reason
    assert "needs the module 'no_such_dependency'" in failure(open_source("python:shop_tools_e")).reason


def test_a_function_that_is_not_there_is_answered_with_those_that_are(module_folder: Path) -> None:
    (module_folder / "shop_tools_f.py").write_text(TOOLS)
    assert "add" in failure(open_source("python:shop_tools_f:ad")).fix


def test_a_module_without_functions_holds_no_tools(module_folder: Path) -> None:
    (module_folder / "shop_tools_g.py").write_text("x = 1")
    assert "holds no tools" in failure(open_source("python:shop_tools_g")).reason


def test_a_module_that_leaves_when_it_is_imported_does_not_take_the_program_along(module_folder: Path) -> None:
    (module_folder / "shop_tools_h.py").write_text("import sys; sys.exit(2)")
    assert "importing it failed: SystemExit" in failure(open_source("python:shop_tools_h")).reason


def test_a_module_in_the_working_directory_says_so_and_an_installed_one_does_not(module_folder: Path) -> None:
    (module_folder / "shop_tools_i.py").write_text(TOOLS)
    (module_folder / "shop_tools_j").mkdir()
    (module_folder / "shop_tools_j" / "__init__.py").write_text("")
    (module_folder / "shop_tools_j" / "inner.py").write_text(TOOLS)
    here, packaged, installed = (PythonSource(name) for name in ("shop_tools_i", "shop_tools_j.inner", "json"))
    assert [read(one)[0] != [] for one in (here, packaged)] == [True, True]
    assert [here.folder, packaged.folder, installed.folder] == [str(module_folder), str(module_folder), None]
