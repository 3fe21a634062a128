"""A JSON or YAML file: a list of tools, or an OpenAPI document."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from indexer.errors import SourceError
from indexer.sources.entries import Entry, Source, SourceOptions
from indexer.sources.json_file import DocumentSource, read_document
from indexer.sources.json_text import as_object
from indexer.sources.openapi import OpenApiSource, is_openapi


@dataclass(frozen=True)
class FileSource:
    """Reads the file when it is first asked, and is then the source that fits what it holds."""

    path: Path
    options: SourceOptions = field(default_factory=SourceOptions)

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def spec(self) -> str:
        return str(self.path)

    @cached_property
    def content(self) -> Source:
        """Raises: SourceError if the file cannot be read or parsed."""
        document = read_document(self.path)
        if is_openapi(as_object(document)):
            return OpenApiSource(str(self.path), self.options, loaded=as_object(document))
        return DocumentSource(self.path, document, self.options)

    @property
    def total(self) -> int | None:
        try:
            return self.content.total
        except SourceError:
            return None

    def entries(self) -> Iterator[Entry]:
        yield from self.content.entries()
