"""The typed functions of a Python module, as tools that run in the gateway."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from indexer.definition import DEFAULT_NAMESPACE, ToolDefinition, ToolExecutor
from indexer.errors import SourceError
from indexer.sources.entries import Entry, SourceOptions, placed, reported


@dataclass(frozen=True)
class PythonSource:
    """The public functions that a module defines, or the one that is named.

    `__all__` says which they are, where a module has one. Indexing imports the module, and so runs it.
    """

    module: str
    attribute: str = ""
    """A function of it; empty: all public ones."""
    options: SourceOptions = field(default_factory=SourceOptions)

    @property
    def name(self) -> str:
        return f"{self.module}:{self.attribute}" if self.attribute else self.module

    @property
    def spec(self) -> str:
        return f"python:{self.name}"

    @cached_property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """Functions by name. Raises: SourceError if the module or the function is not there."""
        module = _imported(self.module)
        if self.attribute:
            function = getattr(module, self.attribute, None)
            if not callable(function):
                raise SourceError(self.spec, f"has no function {self.attribute!r}", fix=_listed(public(module)))
            return {self.attribute: function}
        return public(module)

    @property
    def folder(self) -> str | None:
        """The working directory, if the module was found in it: another process has to be told."""
        return _found_in(self.module, Path.cwd())

    @property
    def total(self) -> int | None:
        try:
            return len(self.functions)
        except SourceError:
            return None

    def entries(self) -> Iterator[Entry]:
        return reported(self.name, placed(self._raw(), self._definition), self.options)

    def _raw(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        yield from self.functions.items()

    def _definition(self, function: Callable[..., Any], name: str) -> ToolDefinition:
        # Schemas need pydantic, which other sources do not.
        from indexer.sources.python_schema import schema_of_function

        described = schema_of_function(function)
        return ToolDefinition(
            name=name,
            namespace=self.options.namespace or DEFAULT_NAMESPACE,
            tenant=self.options.tenant,
            description=described.description,
            input_schema=described.input_schema,
            executor=ToolExecutor(kind="python", config={"target": f"{self.module}:{name}"}),
        )


def public(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions a module offers: what `__all__` names, else what it defines without a leading underscore."""
    named = getattr(module, "__all__", None)
    if named is not None:
        offered = {str(name): getattr(module, str(name), None) for name in named}
        return {name: value for name, value in offered.items() if inspect.isroutine(value)}
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    # An installed command has no working directory on its path, and a user's tools usually lie there.
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SourceError(
                f"python:{name}",
                f"there is no module {error.name!r}",
                fix=f"Run from its folder ({here}) or install it.",
            ) from error
        raise SourceError(f"python:{name}", f"needs the module {error.name!r}", fix="Install it.") from error
    except (Exception, SystemExit) as error:  # importing runs code, which may fail in any way
        raise SourceError(f"python:{name}", f"importing it failed: {type(error).__name__}: {error}") from error
    finally:
        if added:
            sys.path.remove(here)


def _found_in(name: str, folder: Path) -> str | None:
    root = sys.modules.get(name.partition(".")[0])
    places = [root.__file__] if root is not None and root.__file__ else list(getattr(root, "__path__", ()))
    # A module lies in the folder itself, a package one level below it.
    near = (parent for place in places for parent in list(Path(place).resolve().parents)[:2])
    return str(folder) if folder.resolve() in near else None


def _listed(functions: dict[str, Callable[..., Any]]) -> str:
    return f"It has: {', '.join(list(functions)[:10])}." if functions else "It has no public functions."
