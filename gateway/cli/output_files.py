"""The files that a long run is to write, looked at before it begins."""

import os
from collections.abc import Mapping
from pathlib import Path

from gateway.errors import ConfigurationError


def require_writable(files: Mapping[str, Path | str | None]) -> None:
    """Files by the option that names them; "-" is stdout, None is none.

    Raises: ConfigurationError for one that cannot be written.
    """
    for option, name in files.items():
        if name is None or str(name) == "-":
            continue
        file = Path(name)
        problem = _problem(file)
        if problem:
            raise ConfigurationError(f"{option} {file} cannot be written: {problem}; give another file")


def _problem(file: Path) -> str:
    if file.is_dir():
        return "it is a folder"
    if not file.parent.is_dir():
        return f"there is no folder {file.parent}"
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        return "permission denied"
    return ""
