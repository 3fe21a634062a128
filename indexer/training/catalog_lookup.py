"""Tools by the ids that the written pairs use, looked up in catalogs that anyone can install."""

import gzip
import html
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from indexer.training.daily_catalog import read_daily_tools

EVERYDAY_CATALOGS: Final = ("homeassistant", "agno", "camel")
CATALOGS: Final = ("daily", "aws", "google", "github", "mcp", *EVERYDAY_CATALOGS)

_IDENTIFIER_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class ToolText:
    """What a reader of the catalog sees of a tool: the words of its name, and its first sentence."""

    name: str
    summary: str


class Catalog:
    """Looks tools up by id in the installed catalogs, loading a service only when a pair names it.

    `daily:<service>/<tool>` is a catalog of this package.
    `aws:<service>/<Operation>` and `google:<api>.<version>/<method>` come from botocore and google-api-python-client.
    `github:<operationId>` needs TOOLSCOUT_GITHUB_OPENAPI, the path of npm @octokit/openapi's `api.github.com.json`;
    `mcp:<server>/<tool>` needs TOOLSCOUT_MCP_TOOLS, a JSON file {server: the tools of its tools/list}.
    `homeassistant:<component>/<service>`, `agno:<toolkit>/<function>` and `camel:<toolkit>/<function>` need
    TOOLSCOUT_WHEELS, the folder that training downloads wheels to.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._services: dict[str, dict[str, ToolText]] = {}

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The catalogs that this machine has, a subset of `CATALOGS`."""
        present = {
            "daily": True,
            "aws": _package_folder("botocore") is not None,
            "google": _package_folder("googleapiclient") is not None,
            "github": bool(self._environment.get("TOOLSCOUT_GITHUB_OPENAPI")),
            "mcp": bool(self._environment.get("TOOLSCOUT_MCP_TOOLS")),
            **dict.fromkeys(EVERYDAY_CATALOGS, bool(self._environment.get("TOOLSCOUT_WHEELS"))),
        }
        return frozenset(kind for kind, here in present.items() if here)

    def covers(self, tool_id: str) -> bool:
        """Whether the tool's catalog is on this machine, so that its id can be judged."""
        return tool_id.partition(":")[0] in self.kinds

    def find(self, tool_id: str) -> ToolText | None:
        """The tool's text, or None where the catalog is not installed or lacks the tool."""
        kind, _, rest = tool_id.partition(":")
        if kind not in self.kinds:
            return None
        service, _, name = rest.partition("/")
        if kind == "daily":
            return self._daily.get(tool_id)
        if kind in EVERYDAY_CATALOGS:
            return self._everyday.get(tool_id)
        if kind == "github":
            return self._service("github", "").get(rest)
        return self._service(kind, service).get(name)

    @cached_property
    def _daily(self) -> dict[str, ToolText]:
        return {tool.id: tool_text(tool.document.name, tool.document.description) for tool in read_daily_tools()}

    @cached_property
    def _everyday(self) -> dict[str, ToolText]:
        # Imported here: it reads this module's neighbours, which need the extra `demo`.
        from indexer.training.everyday_tools import EVERYDAY_PROGRAMS, read_everyday_tools

        folder = Path(self._environment["TOOLSCOUT_WHEELS"])
        wheels = [wheel for program in EVERYDAY_PROGRAMS for wheel in folder.glob(program.wheels)]
        return {
            tool.id: tool_text(tool.document.name, tool.document.description) for tool in read_everyday_tools(wheels)
        }

    def _service(self, kind: str, service: str) -> dict[str, ToolText]:
        key = f"{kind}:{service}"
        if key not in self._services:
            self._services[key] = self._load(kind, service)
        return self._services[key]

    def _load(self, kind: str, service: str) -> dict[str, ToolText]:
        if kind == "aws":
            return _aws_operations(service)
        if kind == "google":
            return _google_methods(service)
        if kind == "github":
            return _github_operations(Path(self._environment["TOOLSCOUT_GITHUB_OPENAPI"]))
        servers = json.loads(Path(self._environment["TOOLSCOUT_MCP_TOOLS"]).read_text(encoding="utf-8"))
        return {tool["name"]: tool_text(tool["name"], tool.get("description", "")) for tool in servers.get(service, ())}


def tool_text(name: str, description: str) -> ToolText:
    """Split the name into words and cut the description (HTML allowed) after its first sentence."""
    plain = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", description)).split())
    return ToolText(" ".join(_IDENTIFIER_PART.findall(name)), re.split(r"(?<=[.!?])\s", plain, maxsplit=1)[0])


def _package_folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


def _aws_operations(service: str) -> dict[str, ToolText]:
    folder = _package_folder("botocore")
    models = sorted(folder.glob(f"data/{service}/*/service-2.json.gz")) if folder else []
    if not models:
        return {}
    with gzip.open(models[-1], "rt", encoding="utf-8") as stream:
        operations = json.load(stream)["operations"]
    return {name: tool_text(name, operation.get("documentation", "")) for name, operation in operations.items()}


def _google_methods(api: str) -> dict[str, ToolText]:
    folder = _package_folder("googleapiclient")
    path = folder / "discovery_cache" / "documents" / f"{api}.json" if folder else None
    if path is None or not path.exists():
        return {}
    return dict(_methods_below(json.loads(path.read_text(encoding="utf-8")), ""))


def _methods_below(resource: dict[str, Any], prefix: str) -> Iterator[tuple[str, ToolText]]:
    for name, method in resource.get("methods", {}).items():
        yield prefix + name, tool_text(prefix + name, method.get("description", ""))
    for name, below in resource.get("resources", {}).items():
        yield from _methods_below(below, f"{prefix}{name}.")


def _github_operations(path: Path) -> dict[str, ToolText]:
    paths = json.loads(path.read_text(encoding="utf-8"))["paths"]
    return {
        operation["operationId"]: tool_text(operation["operationId"], operation.get("summary", ""))
        for verbs in paths.values()
        for operation in verbs.values()
        if isinstance(operation, dict) and "operationId" in operation
    }
