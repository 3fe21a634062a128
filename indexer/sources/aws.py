"""AWS operations, as botocore ships their service models (extra `toolscout[aws]`)."""

import gzip
import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, cast

import orjson

from indexer.definition import ToolAnnotations, ToolDefinition, ToolExecutor
from indexer.errors import SourceError
from indexer.sources.entries import (
    Entry,
    Placed,
    SourceOptions,
    hints_of_method,
    missing_extra,
    reported,
    spelled_alike,
)
from indexer.sources.prose import plain_text
from indexer.sources.small_schema import NESTED_LIMIT, PARAMETER_LIMIT, deepest_fitting, fields_named, json_fits

DESCRIPTION_LIMIT: Final = 1_500
INPUT_DEPTH: Final = 4
OUTPUT_DEPTH: Final = 3
MAX_INPUT_BYTES: Final = 16 * 1024
MAX_OUTPUT_BYTES: Final = 4 * 1024
MAX_ENUM: Final = 60

_MODEL: Final = "service-2.json"
_REQUEST: Final = re.compile(rb'"requestUri"\s*:')
"""Stands once in each operation."""
_TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"type": "string"},
    "character": {"type": "string"},
    "integer": {"type": "integer"},
    "long": {"type": "integer"},
    "float": {"type": "number"},
    "double": {"type": "number"},
    "bigdecimal": {"type": "number"},
    "boolean": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
    "blob": {"type": "string", "contentEncoding": "base64"},
}


@dataclass(frozen=True)
class AwsSource:
    """Every operation of the named services, or of all; the newest API version of each."""

    services: tuple[str, ...] = ()
    """Service names as botocore has them ('ec2'); empty: all."""
    options: SourceOptions = field(default_factory=SourceOptions)

    @property
    def name(self) -> str:
        return "aws"

    @property
    def spec(self) -> str:
        return "aws:" + ",".join(self.services) if self.services else "aws"

    @cached_property
    def models(self) -> Mapping[str, Path]:
        """The file of each chosen service's newest model. Raises: SourceError."""
        root = _data_folder()
        known = {folder.name: folder for folder in sorted(root.iterdir()) if folder.is_dir()}
        chosen = self.services or tuple(known)
        if unknown := [service for service in chosen if service not in known]:
            some = f"{len(known)} services are known: aws:ec2,s3 for two."
            fix = spelled_alike(unknown[0], known, some)
            raise SourceError(self.spec, f"there is no service {unknown[0]!r}", fix=fix)
        found = {service: _newest_model(known[service]) for service in chosen}
        return {service: path for service, path in found.items() if path is not None}

    @property
    def total(self) -> int | None:
        """The operations of the chosen models, counted without parsing them (under a second for all of AWS)."""
        try:
            return sum(len(_REQUEST.findall(_model_bytes(path))) for path in self.models.values())
        except (SourceError, OSError, EOFError):
            return None

    def entries(self) -> Iterator[Entry]:
        return reported(self.name, self._placed(), self.options)

    def _placed(self) -> Iterator[Placed]:
        prefix = self.options.namespace or "aws"
        for service, path in self.models.items():
            model = _read_model(path)
            for definition in ServiceModel(model, service, f"{prefix}.{service}").definitions():
                yield f"{service}/{definition.name}", definition


def _data_folder() -> Path:
    spec = importlib.util.find_spec("botocore")
    if spec is None or spec.origin is None:
        raise missing_extra("aws", "botocore", "aws")
    return Path(spec.origin).parent / "data"


def _newest_model(service: Path) -> Path | None:
    """The model in the folder of the latest date; folders are named by date."""
    for version in sorted((folder for folder in service.iterdir() if folder.is_dir()), reverse=True):
        for name in (f"{_MODEL}.gz", _MODEL):
            if (version / name).is_file():
                return version / name
    return None


def _model_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _read_model(path: Path) -> Mapping[str, Any]:
    try:
        return cast(Mapping[str, Any], orjson.loads(_model_bytes(path)))
    except (OSError, EOFError, ValueError) as error:
        raise SourceError("aws", f"{path} cannot be read: {error}", fix="Install botocore again.") from error


class ServiceModel:
    """One service: operations and the shapes they take and give."""

    def __init__(self, model: Mapping[str, Any], service: str, namespace: str) -> None:
        self._operations = cast(Mapping[str, Mapping[str, Any]], model["operations"])
        self._shapes = cast(Mapping[str, Mapping[str, Any]], model["shapes"])
        metadata = cast(Mapping[str, Any], model["metadata"])
        self._title = str(metadata.get("serviceFullName", service))
        self._version = str(metadata.get("apiVersion", ""))
        self._service = service
        self._namespace = namespace
        self._inputs = _Schemas(self._shapes, documented=True)
        self._outputs = _Schemas(self._shapes, documented=False)

    def definitions(self) -> Iterator[ToolDefinition]:
        """One definition an operation, in the model's order."""
        for name, operation in self._operations.items():
            yield self._definition(name, operation)

    def _definition(self, name: str, operation: Mapping[str, Any]) -> ToolDefinition:
        output = operation.get("output")
        return ToolDefinition(
            name=name,
            namespace=self._namespace,
            title=f"{self._title} {name}",
            description=plain_text(str(operation.get("documentation", "")), DESCRIPTION_LIMIT),
            input_schema=self._inputs.fitting(operation.get("input"), INPUT_DEPTH, MAX_INPUT_BYTES),
            output_schema=self._outputs.fitting(output, OUTPUT_DEPTH, MAX_OUTPUT_BYTES) if output else None,
            tags=("aws", self._service, *(("deprecated",) if operation.get("deprecated") else ())),
            publisher="Amazon Web Services",
            annotations=_annotations(name, operation),
            executor=ToolExecutor(
                kind="simulated", config={"provider": "aws", "service": self._service, "operation": name}
            ),
            version=self._version,
        )


def _annotations(name: str, operation: Mapping[str, Any]) -> ToolAnnotations:
    http = cast(Mapping[str, Any], operation.get("http", {}))
    reads = bool(operation.get("readonly")) or name.startswith(("Get", "List", "Describe"))
    destroys = name.startswith(("Delete", "Terminate")) or "destructive" in hints_of_method(str(http.get("method", "")))
    return ToolAnnotations(
        read_only=True if reads else None,
        destructive=True if destroys and not reads else None,
        idempotent=True if operation.get("idempotent") else None,
    )


class _Schemas:
    """Shapes as JSON Schemas, cut at a depth; what was built once is shared by all operations of the service."""

    def __init__(self, shapes: Mapping[str, Mapping[str, Any]], *, documented: bool) -> None:
        self._shapes = shapes
        self._documented = documented
        self._built: dict[tuple[str, int], Mapping[str, Any]] = {}

    def fitting(self, reference: Mapping[str, Any] | None, depth: int, limit: int) -> Mapping[str, Any]:
        """The schema of a shape at the greatest depth up to `depth` that takes at most `limit` bytes of JSON."""
        if not reference:
            return {"type": "object", "properties": {}}
        return deepest_fitting(partial(self._of, str(reference["shape"])), depth, json_fits(limit))

    def _of(self, shape: str, levels: int) -> Mapping[str, Any]:
        known = self._built.get((shape, levels))
        if known is None:
            known = self._built[shape, levels] = self._build(self._shapes[shape], levels)
        return known

    def _build(self, shape: Mapping[str, Any], levels: int) -> Mapping[str, Any]:
        match shape["type"]:
            case "structure":
                return self._structure(shape, levels)
            case "list":
                items = self._member(shape["member"], levels, PARAMETER_LIMIT) if levels else None
                return {"type": "array", "items": items} if items else {"type": "array"}
            case "map":
                values = self._member(shape["value"], levels, NESTED_LIMIT) if levels else None
                return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
            case kind:
                return _scalar(kind, shape)

    def _structure(self, shape: Mapping[str, Any], levels: int) -> Mapping[str, Any]:
        if shape.get("document"):
            return {"description": "Any JSON value."} if self._documented else {}
        members = cast(Mapping[str, Mapping[str, Any]], shape.get("members", {}))
        if levels == 0:
            return _left_out(members) if self._documented else {"type": "object"}
        limit = PARAMETER_LIMIT if levels >= INPUT_DEPTH - 1 else NESTED_LIMIT
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self._member(member, levels - 1, limit) for name, member in members.items()},
        }
        if required := [name for name in cast(Sequence[str], shape.get("required", ())) if name in members]:
            schema["required"] = required
        return schema

    def _member(self, member: Mapping[str, Any], levels: int, limit: int) -> Mapping[str, Any]:
        schema = self._of(str(member["shape"]), levels)
        if not self._documented:
            return schema
        markup = member.get("documentation") or self._shapes[str(member["shape"])].get("documentation")
        text = plain_text(str(markup), limit) if markup else ""
        if text and "description" in schema:
            text = f"{text} {schema['description']}"
        return {**schema, "description": text} if text else schema


def _left_out(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Stands for a structure below the depth that is kept, and names what it holds."""
    return {"type": "object", "description": fields_named(list(members)) if members else "An empty object."}


def _scalar(kind: str, shape: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: dict[str, Any] = dict(_TYPES.get(kind, {}))
    values = cast(Sequence[str], shape.get("enum", ()))
    if 0 < len(values) <= MAX_ENUM:
        schema["enum"] = list(values)
    elif values:
        schema["description"] = f"One of {len(values)}: {', '.join(values[:8])}, ..."
    if kind in ("integer", "long", "float", "double"):
        schema |= {ours: shape[theirs] for ours, theirs in (("minimum", "min"), ("maximum", "max")) if theirs in shape}
    return schema
