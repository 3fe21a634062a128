"""Operations of an OpenAPI 3.0 or 3.1 or Swagger 2.0 document, as tools."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urljoin, urlsplit

from indexer.definition import ToolDefinition, ToolExecutor
from indexer.errors import InvalidToolError, SourceError
from indexer.sources.entries import Entry, Placed, SourceOptions, hints_of_method, placed, reported
from indexer.sources.json_file import parse_document, read_document
from indexer.sources.json_text import as_list, as_object
from indexer.sources.openapi_arguments import JSON_TYPES, Arguments, content_of
from indexer.sources.openapi_schema import Schemas
from indexer.sources.prose import plain_text
from indexer.validation import definition_from_json

MAX_OPERATIONS: Final = 10_000
DESCRIPTION_LIMIT: Final = 1_500
TITLE_LIMIT: Final = 200
OUTPUT_DEPTH: Final = 3
MAX_OUTPUT_BYTES: Final = 4 * 1024

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclass(frozen=True)
class OpenApiSource:
    """One document, from a file or from a URL."""

    location: str
    """A path or an http(s) URL."""
    options: SourceOptions = field(default_factory=SourceOptions)
    loaded: Mapping[str, Any] | None = None
    """The parsed document, if it is there already."""

    @property
    def name(self) -> str:
        return self.location

    @property
    def spec(self) -> str:
        return f"openapi:{self.location}"

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The parsed document. Raises: SourceError if it cannot be read or is no OpenAPI."""
        document = self.loaded if self.loaded is not None else self._load()
        if not isinstance(document, Mapping) or not is_openapi(cast(Mapping[str, Any], document)):
            raise SourceError(
                self.name,
                "is no OpenAPI document",
                fix="It must begin with openapi: 3.0.x or 3.1.x, or swagger: '2.0', and have paths.",
            )
        return cast(Mapping[str, Any], document)

    def _load(self) -> object:
        if self.location.startswith(("http://", "https://")):
            from indexer.sources.download import download

            data, content_type = download(self.location)
            yaml = not JSON_TYPES.search(content_type) and not data.lstrip().startswith(b"{")
            return parse_document(data, self.name, yaml=yaml)
        return read_document(Path(self.location))

    @property
    def total(self) -> int | None:
        try:
            return sum(1 for _ in _operations(self.document))
        except SourceError:
            return None

    def entries(self) -> Iterator[Entry]:
        count = sum(1 for _ in _operations(self.document))
        if count > MAX_OPERATIONS:
            raise SourceError(
                self.name,
                f"defines {count:,} operations; at most {MAX_OPERATIONS:,} are taken from one document",
                fix="Split the document.",
            )
        return reported(self.name, self._placed(), self.options)

    def _placed(self) -> Iterator[Placed]:
        api = Api(self.document, self.name, self.options.namespace)
        raw = (
            (f"{method.upper()} {path}", (path, method, *rest)) for path, method, *rest in _operations(self.document)
        )
        return placed(raw, lambda operation, _: self._read(api, *operation))

    def _read(
        self, api: "Api", path: str, method: str, item: Mapping[str, Any], operation: Mapping[str, Any]
    ) -> ToolDefinition:
        try:
            return api.definition(path, method, item, operation, tenant=self.options.tenant)
        except RecursionError:
            raise InvalidToolError("$ref", "its schemas are chained too deeply", fix="Flatten them.") from None


def is_openapi(document: Mapping[str, Any]) -> bool:
    """Whether a parsed document says that it is one of the versions read here."""
    version = str(document.get("openapi", ""))
    return version.startswith(("3.0", "3.1")) or str(document.get("swagger", "")) == "2.0"


def _operations(
    document: Mapping[str, Any],
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """(path, method, path item, operation), in the document's order."""
    for path, item in as_object(document.get("paths")).items():
        for method in _METHODS:
            operation = as_object(item).get(method)
            if isinstance(operation, Mapping):
                yield str(path), method, as_object(item), cast(Mapping[str, Any], operation)


class Api:
    """One document read operation by operation."""

    def __init__(self, document: Mapping[str, Any], location: str, namespace: str | None) -> None:
        about = as_object(document.get("info"))
        self._document = document
        self._location = location
        self._version = str(about.get("version", ""))[:100]
        self._namespace = namespace or _namespace(str(about.get("title", "")), self._version)
        self._requests = Schemas(document, "request", documented=True)
        self._responses = Schemas(document, "response", documented=False)

    def definition(
        self, path: str, method: str, item: Mapping[str, Any], operation: Mapping[str, Any], *, tenant: str
    ) -> ToolDefinition:
        """Raises: InvalidToolError."""
        arguments = Arguments(self._requests)
        for parameter in self._parameters(item, operation):
            arguments.add_parameter(parameter)
        arguments.add_body(operation.get("requestBody"))
        summary = str(operation.get("summary") or "")
        text = str(operation.get("description") or item.get("description") or "")
        body = text if not summary or text.startswith(summary) else f"{summary}\n{text}"
        config: dict[str, Any] = {
            "method": method.upper(),
            "path": path,
            "server": self._server(item, operation),
            "arguments": arguments.places,
        }
        if arguments.content_type:
            config["content_type"] = arguments.content_type
        return definition_from_json(
            {
                "name": str(operation.get("operationId") or "").strip() or _name(method, path),
                "title": plain_text(summary, TITLE_LIMIT),
                "description": plain_text(body, DESCRIPTION_LIMIT),
                "input_schema": arguments.schema(),
                "output_schema": self._output_schema(operation),
                "tags": self._tags(operation),
                "annotations": hints_of_method(method),
                "version": self._version,
            },
            namespace=self._namespace,
            tenant=tenant,
            executor=ToolExecutor(kind="client", config=config),
        )

    def _parameters(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The operation's parameters over its path's; one of each name and place."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for holder in (item, operation):
            for entry in as_list(holder.get("parameters")):
                parameter = self._requests.resolved(entry)
                found[str(parameter.get("name", "")), str(parameter.get("in", ""))] = parameter
        return list(found.values())

    def _output_schema(self, operation: Mapping[str, Any]) -> dict[str, Any] | None:
        answers = {str(status): response for status, response in as_object(operation.get("responses")).items()}
        for status in ("200", "201", "202", "2XX", "default"):
            response = self._responses.resolved(answers.get(status))
            declared = response.get("schema") or content_of(response)[1]
            if declared:
                return self._responses.fitting(declared, OUTPUT_DEPTH, MAX_OUTPUT_BYTES)
        return None

    def _server(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
        if "swagger" in self._document:
            scheme = next(iter(as_list(self._document.get("schemes"))), "https")
            host = self._document.get("host") or urlsplit(self._location).netloc
            return f"{scheme}://{host}{self._document.get('basePath', '')}" if host else ""
        declared = (as_list(holder.get("servers")) for holder in (operation, item, self._document))
        server = as_object(next((servers[0] for servers in declared if servers), {"url": "/"}))
        url = str(server.get("url", ""))
        for name, variable in as_object(server.get("variables")).items():
            url = url.replace("{" + str(name) + "}", str(as_object(variable).get("default", "")))
        try:
            return urljoin(self._location, url) if self._location.startswith(("http://", "https://")) else url
        except ValueError:  # "http://[" and the like: whoever calls the operation sees what was written
            return url

    @staticmethod
    def _tags(operation: Mapping[str, Any]) -> list[str]:
        named = [plain_text(tag, 100) for tag in as_list(operation.get("tags")) if isinstance(tag, str)]
        return [*dict.fromkeys(named), *(["deprecated"] if operation.get("deprecated") is True else [])][:20]


def _name(method: str, path: str) -> str:
    words = re.findall(r"[^\W_]+", path)
    return "_".join([method, *words])[:128]


def _namespace(title: str, version: str) -> str:
    slug = "-".join(re.findall(r"[^\W_]+", title.lower()))[:64].strip("-") or "openapi"
    number = ".".join(re.findall(r"[^\W_]+", version))[:24]
    return f"{slug}.{number}" if number else slug
