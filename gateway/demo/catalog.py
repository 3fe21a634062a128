"""The demo's catalog: the AWS and Google operations of the installed packages, and whether they are indexed."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from gateway.errors import ConfigurationError

DEMO_SOURCES: Final = ("aws", "google")
"""What `toolscout index demo` stands for."""

_PACKAGES: Final = ("botocore", "google-api-python-client")
_NOTE: Final = "demo-catalog.json"


def is_indexed(home: Path) -> bool:
    """Whether the whole demo catalog of the installed packages has been indexed into this home."""
    try:
        noted: object = json.loads((home / _NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return noted == _versions()


def note_indexed(home: Path) -> None:
    """Remember that it has."""
    home.mkdir(parents=True, exist_ok=True)
    (home / _NOTE).write_text(json.dumps(_versions()), encoding="utf-8")


def require_packages() -> None:
    """Raises: ConfigurationError if the packages that carry the catalog are not installed."""
    missing = [package for package, found in _versions().items() if not found]
    if missing:
        raise ConfigurationError(
            f"the demo's catalog comes with {' and '.join(missing)}, not installed here; "
            "run `pip install 'toolscout[demo]'`"
        )


def _versions() -> dict[str, str]:
    return {package: _version(package) for package in _PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
