"""Google API methods, as google-api-python-client ships their discovery documents (extra `toolscout[google]`)."""

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import orjson

from indexer.definition import ToolAnnotations, ToolDefinition, ToolExecutor
from indexer.errors import InvalidToolError, SourceError
from indexer.sources.entries import (
    Entry,
    Placed,
    SourceOptions,
    hints_of_method,
    missing_extra,
    reported,
    spelled_alike,
)
from indexer.sources.google_schema import BODY_DEPTH, DiscoverySchemas, parameter_schema
from indexer.sources.prose import plain_text

DESCRIPTION_LIMIT: Final = 1_500
RESPONSE_DEPTH: Final = 3
MAX_BODY_BYTES: Final = 16 * 1024
MAX_RESPONSE_BYTES: Final = 4 * 1024

ALL_VERSIONS: Final = "all"

_VERSION = re.compile(r"(?P<family>.*?)v(?P<major>\d+)(?:\.(?P<minor>\d+))?(?P<rest>.*)\Z")
_METHOD = re.compile(rb'"httpMethod"\s*:\s*"')
"""Stands once in each method."""


@dataclass(frozen=True)
class GoogleSource:
    """Every method of the named APIs, or of all.

    Of an API's versions the newest stable one is taken, and where there is none the newest beta, else alpha;
    `all_versions` takes each of them. An API whose versions come in families (`admin` has `directory_v1` and
    `reports_v1`) gives one version of each family.
    """

    apis: tuple[str, ...] = ()
    """API names ('compute') or documents ('compute.beta'); empty: all."""
    all_versions: bool = False
    options: SourceOptions = field(default_factory=SourceOptions)

    @property
    def name(self) -> str:
        return "google"

    @property
    def spec(self) -> str:
        named = [ALL_VERSIONS] if self.all_versions else list(self.apis)
        return "google:" + ",".join(named) if named else "google"

    @cached_property
    def documents(self) -> Mapping[str, Path]:
        """The chosen discovery documents by API and version ('compute.v1'). Raises: SourceError."""
        known = _documents()
        by_api: dict[str, list[str]] = {}
        for document in known:
            by_api.setdefault(document.partition(".")[0], []).append(document)
        some = f"{len(by_api)} APIs are known: google:compute,drive"
        chosen: list[str] = []
        for api in self.apis or tuple(by_api):
            if api not in known and api not in by_api:
                raise SourceError(self.spec, f"there is no API {api!r}", fix=spelled_alike(api, by_api, some))
            chosen += [api] if api in known else by_api[api] if self.all_versions else newest(by_api[api])
        return {document: known[document] for document in dict.fromkeys(chosen)}

    @property
    def total(self) -> int | None:
        """The methods of the chosen documents, counted without parsing them."""
        try:
            return sum(len(_METHOD.findall(path.read_bytes())) for path in self.documents.values())
        except (SourceError, OSError):
            return None

    def entries(self) -> Iterator[Entry]:
        return reported(self.name, self._placed(), self.options)

    def _placed(self) -> Iterator[Placed]:
        prefix = self.options.namespace or "google"
        for document, path in self.documents.items():
            api = Api(_read(path), document.partition(".")[0], prefix)
            for read in api.definitions():
                yield f"{document}/{read.name}" if isinstance(read, ToolDefinition) else document, read


def _documents() -> dict[str, Path]:
    spec = importlib.util.find_spec("googleapiclient")
    if spec is None or spec.origin is None:
        raise missing_extra("google", "google-api-python-client", "google")
    folder = Path(spec.origin).parent / "discovery_cache" / "documents"
    found = {path.stem: path for path in sorted(folder.glob("*.json")) if path.stem != "index"}
    # 'admin.directoryv1' is 'admin.directory_v1' again, shipped under both names.
    spelled = {stem.replace("_", ""): stem for stem in found if "_" in stem}
    return {stem: path for stem, path in found.items() if spelled.get(stem, stem) == stem}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return cast(Mapping[str, Any], orjson.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise SourceError(
            "google", f"{path} cannot be read: {error}", fix="Install google-api-python-client again."
        ) from error


class Version(NamedTuple):
    """A version to be compared: stable after beta after alpha, then by number."""

    stability: int
    major: int
    minor: int
    rest: tuple[tuple[str, int], ...]
    """What follows the number, words and numbers in turn: `beta10` is after `beta2`."""


def newest(documents: Sequence[str]) -> list[str]:
    """One document of each family of versions of one API: the newest stable, else beta, else alpha."""
    best: dict[str, tuple[Version, str]] = {}
    for document in documents:
        family, version = read_version(document.partition(".")[2])
        known = best.get(family)
        if known is None or version > known[0]:
            best[family] = version, document
    return [document for _, document in best.values()]


def read_version(text: str) -> tuple[str, Version]:
    """'directory_v1' -> the family 'directory_' and the version to compare."""
    match = _VERSION.match(text)
    if match is None:
        return "", Version(0, 0, 0, ((text, 0),))
    rest = match["rest"]
    unstable = re.search(r"alpha|beta|preview|p\d|[ab]\d", rest)
    stability = 2 if unstable is None else 0 if "alpha" in rest else 1
    parts = tuple((word, int(number or 0)) for word, number in re.findall(r"(\D+)(\d*)", rest))
    return match["family"], Version(stability, int(match["major"]), int(match["minor"] or 0), parts)


class Api:
    """One discovery document: methods and the schemas they take and give."""

    def __init__(self, document: Mapping[str, Any], name: str, prefix: str) -> None:
        self._document = document
        self._name = str(document.get("name", name))
        self._version = str(document.get("version", ""))
        self._namespace = f"{prefix}.{self._name}.{self._version}"
        self._title = str(document.get("title") or document.get("canonicalName") or self._name)
        schemas = cast(Mapping[str, Mapping[str, Any]], document.get("schemas", {}))
        self._bodies = DiscoverySchemas(schemas, documented=True)
        self._responses = DiscoverySchemas(schemas, documented=False)

    def definitions(self) -> Iterator[ToolDefinition | InvalidToolError]:
        """One definition a method, resources in the document's order."""
        for method in _methods(self._document):
            yield self._definition(method)

    def _definition(self, method: Mapping[str, Any]) -> ToolDefinition:
        identity = str(method["id"])
        name = identity.removeprefix(f"{self._name}.")
        response = cast(Mapping[str, Any], method.get("response") or {})
        return ToolDefinition(
            name=name,
            namespace=self._namespace,
            title=f"{self._title} {name}",
            description=plain_text(str(method.get("description", "")), DESCRIPTION_LIMIT),
            input_schema=self._input_schema(method),
            output_schema=(
                self._responses.fitting(str(response["$ref"]), RESPONSE_DEPTH, MAX_RESPONSE_BYTES)
                if "$ref" in response
                else None
            ),
            tags=("google", self._name, *(("deprecated",) if method.get("deprecated") else ())),
            publisher="Google",
            annotations=ToolAnnotations(**hints_of_method(str(method.get("httpMethod", "")))),
            executor=ToolExecutor(
                kind="simulated",
                config={
                    "provider": "google",
                    "service": f"{self._name}.{self._version}",
                    "operation": identity,
                },
            ),
            version=self._version,
        )

    def _input_schema(self, method: Mapping[str, Any]) -> Mapping[str, Any]:
        """Path and query parameters beside the request body; a body field never hides a parameter."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        parameters = cast(Mapping[str, Mapping[str, Any]], method.get("parameters", {}))
        ordered = [name for name in cast(Sequence[str], method.get("parameterOrder", ())) if name in parameters]
        for name in dict.fromkeys([*ordered, *sorted(parameters)]):
            properties[name] = parameter_schema(parameters[name])
            required += [name] if parameters[name].get("required") else []
        request = cast(Mapping[str, Any], method.get("request") or {})
        if "$ref" in request:
            body = self._bodies.fitting(str(request["$ref"]), BODY_DEPTH, MAX_BODY_BYTES)
            for name, value in cast(Mapping[str, Any], body.get("properties", {})).items():
                properties[name if name not in properties else f"body_{name}"] = value
            if "additionalProperties" in body and not body.get("properties"):
                properties["body"] = body
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return schema | {"required": required} if required else schema


def _methods(resource: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from cast(Mapping[str, Mapping[str, Any]], resource.get("methods", {})).values()
    for inner in cast(Mapping[str, Mapping[str, Any]], resource.get("resources", {})).values():
        yield from _methods(inner)
