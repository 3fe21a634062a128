"""The operator's list of sources that need a live connection, kept under the home so that `serve` finds them again."""

import json
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from gateway.errors import ConfigurationError
from gateway.home import write_private

SOURCES_FILE: Final = "sources.json"


def python_place(module: str) -> str:
    """Under which name the folder is kept in which a Python module was found."""
    return f"python:{module}"


def server_place(name: str) -> str:
    """Under which name the folder is kept in which an MCP server's command was given: its paths may be relative."""
    return f"folder:{name}"


def remember_source(home: Path, name: str, spec: str) -> None:
    """Keep under which name a source (`mcp:npx some-server`, `mcp:https://host/mcp`, a folder) was indexed."""
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home):
        sources = {**remembered_sources(home), name: spec}
        # A command line may carry credentials, and writing here means running commands.
        write_private(home / SOURCES_FILE, json.dumps({"sources": sources}, ensure_ascii=False, indent=2))


@contextmanager
def _alone(home: Path) -> Generator[None]:
    """Holds up others that want to change the list: of two who read it before either writes, one would be forgotten."""
    if sys.platform == "win32":  # where no folder can be locked, and two commands at a time are a person's to avoid
        yield
        return
    import fcntl

    folder = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def remembered_sources(home: Path) -> Mapping[str, str]:
    """Source specifications by name; empty where nothing is remembered.

    Raises: ConfigurationError if the file is there but cannot be read as what it should be.
    """
    path = home / SOURCES_FILE
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error}); repair it, or delete it and index again") from error
    sources: object = cast("dict[str, object]", content).get("sources") if isinstance(content, dict) else None
    if not isinstance(sources, dict) or not all(
        isinstance(name, str) and isinstance(spec, str) for name, spec in cast("dict[object, object]", sources).items()
    ):
        raise ConfigurationError(
            f'{path} is not of the shape {{"sources": {{NAME: SPECIFICATION}}}}; '
            "repair it, or delete it and index those sources again"
        )
    return cast("dict[str, str]", sources)
