"""Tools in a file: NDJSON line by line, or one JSON or YAML document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from indexer.definition import DEFAULT_NAMESPACE, ToolDefinition
from indexer.errors import InvalidToolError, SourceError
from indexer.sources.entries import Entry, Placed, SourceOptions, placed, reported
from indexer.sources.json_text import InvalidJsonError, parse_json
from indexer.sources.yaml_text import parse_yaml
from indexer.validation import definition_from_json

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
MAX_DOCUMENT_BYTES: Final = 128 * 1024 * 1024
LINE_SUFFIXES: Final = frozenset({".jsonl", ".ndjson"})
YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class NdjsonSource:
    """One tool a line; a bad line never stops the rest."""

    path: Path
    options: SourceOptions = field(default_factory=SourceOptions)

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def spec(self) -> str:
        return str(self.path)

    @property
    def total(self) -> int | None:
        """Lines that hold something, counted without parsing them."""
        try:
            with self.path.open("rb") as file:
                return sum(1 for _ in _lines(file)) or None
        except OSError:
            return None

    def entries(self) -> Iterator[Entry]:
        try:
            with self.path.open("rb") as file:
                yield from reported(self.name, ndjson_tools(file, self.options), self.options)
        except OSError as error:
            raise unreadable(self.path, error) from error


def ndjson_tools(file: BinaryIO, options: SourceOptions) -> Iterator[Placed]:
    """Tools of an NDJSON stream by line; empty lines are passed over."""
    return placed(_lines(file), partial(_tool_in, options))


def _lines(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Lines with their place; of one that is too long only what shows that it is."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        rest = line if len(line) > MAX_LINE_BYTES else b""
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES)
        if text := line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").strip():
            yield f"line {number}", text if not rest else line


def _tool_in(options: SourceOptions, line: bytes, place: str) -> ToolDefinition:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidToolError("line", f"longer than {MAX_LINE_BYTES // 1024**2} MiB", fix="Shorten it.")
    try:
        raw = parse_json(line)
    except InvalidJsonError as error:
        raise InvalidToolError("line", str(error), fix="Write one JSON object a line.") from error
    return _tool(options, raw, place)


def _tool(options: SourceOptions, raw: object, place: str) -> ToolDefinition:
    return definition_from_json(
        raw, place=place, namespace=options.namespace or DEFAULT_NAMESPACE, tenant=options.tenant
    )


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A JSON or YAML document: a list of tools, an object that holds one under `tools`, or a single tool."""

    path: Path
    document: object
    options: SourceOptions = field(default_factory=SourceOptions)

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def spec(self) -> str:
        return str(self.path)

    @property
    def total(self) -> int | None:
        try:
            return len(tools_in(self.document, self.name)[1])
        except SourceError:
            return None

    def entries(self) -> Iterator[Entry]:
        return reported(self.name, placed(self._raw(), partial(_tool, self.options)), self.options)

    def _raw(self) -> Iterator[tuple[str, object]]:
        where, tools = tools_in(self.document, self.name)
        yield from ((f"{where}[{place}]", tool) for place, tool in enumerate(tools))


def tools_in(document: object, source: str) -> tuple[str, Sequence[object]]:
    """Where in a document the list of tools stands, and the list. Raises: SourceError if there is none."""
    if isinstance(document, list):
        return "", cast(list[object], document)
    if isinstance(document, Mapping):
        content = cast(Mapping[str, Any], document)
        result = content.get("result")
        for where, holder in (("tools", content), ("result.tools", result)):
            if isinstance(holder, Mapping) and isinstance(cast(Mapping[str, Any], holder).get("tools"), list):
                return where, cast(Mapping[str, Any], holder)["tools"]
        if "name" in content or "function" in content:
            return "", [content]
    raise SourceError(
        source,
        "holds no list of tools",
        fix='Write [{"name": …}, …], {"tools": […]}, one tool a line (.jsonl), or an OpenAPI document.',
    )


def read_document(path: Path) -> object:
    """Parse a JSON or YAML file. Raises: SourceError with line and column."""
    try:
        size = path.stat().st_size
        if size > MAX_DOCUMENT_BYTES:
            raise SourceError(
                str(path), f"is {size:,} bytes; at most {MAX_DOCUMENT_BYTES:,} are read", fix="Use NDJSON (.jsonl)."
            )
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    return parse_document(data, str(path), yaml=path.suffix.lower() in YAML_SUFFIXES)


def parse_document(data: bytes, source: str, *, yaml: bool) -> object:
    """JSON or YAML bytes -> values. Raises: SourceError with line and column."""
    if not data.strip():
        raise SourceError(source, "is empty", fix="Check that it is the file you meant.")
    try:
        return parse_yaml(data) if yaml else parse_json(data.removeprefix(b"\xef\xbb\xbf"))
    except InvalidJsonError as error:
        raise SourceError(source, str(error)) from error


def unreadable(path: Path, error: OSError) -> SourceError:
    """The error for a file that the system would not give."""
    if isinstance(error, FileNotFoundError):
        return SourceError(str(path), "there is no such file", fix="Check the path.")
    return SourceError(str(path), f"cannot be read: {error.strerror or error}")
