"""Tools of daily life, read from wheels that pip fetches: services of a home, functions that assistants are given.

Cloud catalogs speak of servers; people ask for music, weather, trains and shopping. No wheel is installed or run.
"""

import ast
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

import orjson

from indexer.document import ToolDocument
from indexer.training.catalog_texts import CatalogTool
from indexer.training.translated_strings import Program

EVERYDAY_PROGRAMS: Final = (
    Program("homeassistant", "2026.2.3", "Apache-2.0"),
    Program("agno", "3.1.10", "Apache-2.0"),
    Program("camel-ai", "0.2.90", "Apache-2.0"),
)
_TOOLKIT_FOLDERS: Final[Mapping[str, str]] = {"agno": "agno/tools/", "camel_ai": "camel/toolkits/"}
"""Of each distribution the folder of its toolkits: classes whose public methods are tools, described by docstrings."""
_SECTION: Final = re.compile(
    r"^\s*(?:Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?|References):", re.M
)
_ARGUMENT: Final = re.compile(r"^\s*\**(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_LEAST_WORDS: Final = 4
_OF_THE_LIBRARY: Final = frozenset({"get_tools"})
"""Methods that every toolkit has, for programs and not for assistants."""


def read_everyday_tools(wheels: Sequence[Path]) -> Iterator[CatalogTool]:
    """Every service and toolkit function that these wheels hold, each id once."""
    seen: set[str] = set()
    for wheel in wheels:
        distribution = wheel.name.partition("-")[0]
        with zipfile.ZipFile(wheel) as archive:
            for tool in _tools_of(archive, distribution):
                if tool.id not in seen:
                    seen.add(tool.id)
                    yield tool


def _tools_of(archive: zipfile.ZipFile, distribution: str) -> Iterator[CatalogTool]:
    if distribution == "homeassistant":
        yield from _home_services(archive)
    elif distribution in _TOOLKIT_FOLDERS:
        catalog = distribution.partition("_")[0]
        for name in sorted(archive.namelist()):
            if name.startswith(_TOOLKIT_FOLDERS[distribution]) and name.endswith(".py"):
                toolkit = PurePosixPath(name).stem.removesuffix("_toolkit")
                for document in toolkit_functions(archive.read(name), toolkit):
                    yield CatalogTool(f"{catalog}:{toolkit}/{document.name}", document)


def _home_services(archive: zipfile.ZipFile) -> Iterator[CatalogTool]:
    for name in sorted(archive.namelist()):
        path = PurePosixPath(name)
        if path.match("components/*/translations/en.json"):
            component = path.parts[-3]
            for service, told in _mapping(_mapping(orjson.loads(archive.read(name))).get("services")).items():
                document = home_service(component, service, _mapping(told))
                if document.description:
                    yield CatalogTool(f"homeassistant:{component}/{service}", document)


def home_service(component: str, service: str, told: Mapping[str, Any]) -> ToolDocument:
    """The document of a Home Assistant service from its entry in the component's strings."""
    fields = _mapping(told.get("fields"))
    return ToolDocument(
        name=service,
        title=_text(told.get("name")),
        namespace=component,
        description=_text(told.get("description")),
        parameter_names="\n".join(fields),
        parameter_descriptions="\n".join(_text(_mapping(field).get("description")) for field in fields.values()),
    )


def toolkit_functions(source: bytes, toolkit: str) -> Iterator[ToolDocument]:
    """A document of each public method that has a docstring of a few words; asynchronous twins are left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            names = {method.name for method in node.body if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)}
            for method in node.body:
                if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or method.name.startswith("_"):
                    continue
                if method.name in _OF_THE_LIBRARY:
                    continue
                docstring = ast.get_docstring(method) or ""
                is_twin = method.name.startswith("a") and method.name[1:] in names
                if len(docstring.split()) > _LEAST_WORDS and not is_twin:
                    yield _function_document(method, docstring, toolkit)


def _function_document(method: ast.FunctionDef | ast.AsyncFunctionDef, docstring: str, toolkit: str) -> ToolDocument:
    told = {found[1]: found[2] for line in docstring.splitlines() if (found := _ARGUMENT.match(line))}
    parameters = [argument.arg for argument in method.args.args if argument.arg not in ("self", "cls", "run_context")]
    return ToolDocument(
        name=method.name,
        namespace=toolkit,
        description=" ".join(_SECTION.split(docstring, maxsplit=1)[0].split()),
        parameter_names="\n".join(parameters),
        parameter_descriptions="\n".join(" ".join(told.get(name, "").split()) for name in parameters),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
