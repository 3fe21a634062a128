"""Catalogs from elsewhere, read as tool definitions."""

from indexer.sources.base import SOURCE_FORMS, Entry, Source, SourceOptions, open_source

__all__ = ["SOURCE_FORMS", "Entry", "Source", "SourceOptions", "open_source"]
