"""From what an operator writes to the source it means."""

from pathlib import Path
from typing import Final

from indexer.errors import SourceError
from indexer.sources.aws import AwsSource
from indexer.sources.document_file import FileSource
from indexer.sources.entries import Entry, Source, SourceOptions
from indexer.sources.google import ALL_VERSIONS, GoogleSource
from indexer.sources.json_file import LINE_SUFFIXES, YAML_SUFFIXES, NdjsonSource
from indexer.sources.mcp import McpSource
from indexer.sources.openapi import OpenApiSource
from indexer.sources.python_module import PythonSource

__all__ = ["SOURCE_FORMS", "Entry", "Source", "SourceOptions", "open_source"]

SOURCE_FORMS: Final = (
    "PATH.jsonl or PATH.ndjson (one tool a line)",
    "PATH.json or PATH.yaml (a list of tools, or an OpenAPI document)",
    "openapi:PATH or openapi:URL",
    "python:MODULE or python:MODULE:FUNCTION",
    "mcp:COMMAND ARGUMENTS or mcp:https://HOST/mcp",
    "aws or aws:ec2,s3",
    "google or google:compute,drive or google:all",
)
"""What `open_source` takes, for people."""


def open_source(spec: str, options: SourceOptions | None = None) -> Source:
    """The source that a specification means; nothing is read yet.

    Raises: SourceError for a specification of no known form.
    """
    wanted = options or SourceOptions()
    spec = spec.strip()
    scheme, _, rest = spec.partition(":")
    path = Path(spec)
    # A file is a file whatever its name begins with.
    if path.suffix.lower() in LINE_SUFFIXES and not spec.startswith(("openapi:", "mcp:")):
        return NdjsonSource(path, wanted)
    if scheme in _SCHEMES and (rest.strip() or scheme in ("aws", "google")):
        return _of_scheme(scheme, rest.strip(), wanted)
    if spec.startswith(("mcp+http://", "mcp+https://")):
        return McpSource(spec.removeprefix("mcp+"), wanted)
    if spec.startswith(("http://", "https://")):
        raise SourceError(spec, "is a URL of what?", fix=f"Write openapi:{spec} or mcp:{spec}")
    if path.suffix.lower() in {".json", *YAML_SUFFIXES}:
        return FileSource(path, wanted)
    raise SourceError(spec or "''", "is no source that is known here", fix="Write " + "; ".join(SOURCE_FORMS) + ".")


_SCHEMES: Final = frozenset({"openapi", "python", "mcp", "aws", "google"})


def _of_scheme(scheme: str, rest: str, options: SourceOptions) -> Source:
    names = tuple(part.strip() for part in rest.split(",") if part.strip())
    match scheme:
        case "openapi":
            return OpenApiSource(rest, options)
        case "python":
            module, _, attribute = rest.partition(":")
            return PythonSource(module, attribute, options)
        case "mcp":
            return McpSource(rest, options)
        case "aws":
            return AwsSource(tuple(name for name in names if name != ALL_VERSIONS), options)
        case _:
            all_versions = ALL_VERSIONS in names
            return GoogleSource(tuple(name for name in names if name != ALL_VERSIONS), all_versions, options)
