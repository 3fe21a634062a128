"""From tool definition to ranked references; knows no chat, no HTTP server and no MCP server."""

from indexer.definition import (
    DEFAULT_NAMESPACE,
    DEFAULT_TENANT,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    ToolKey,
    definition_from_record,
    definition_to_record,
)
from indexer.errors import (
    CorruptSnapshotError,
    DimensionMismatchError,
    EmbeddingError,
    IndexerError,
    InvalidToolError,
    SourceError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
    UnknownEncoderError,
)
from indexer.index import IndexStats, ToolIndex
from indexer.search import (
    RegistrationReport,
    RejectedTool,
    SearchScope,
    ToolReference,
    ToolSearchRequest,
    ToolSearchResponse,
)
from indexer.settings import IndexerSettings
from indexer.stores.base import StoredTool

__all__ = [
    "DEFAULT_NAMESPACE",
    "DEFAULT_TENANT",
    "CorruptSnapshotError",
    "DimensionMismatchError",
    "EmbeddingError",
    "IndexStats",
    "IndexerError",
    "IndexerSettings",
    "InvalidToolError",
    "RegistrationReport",
    "RejectedTool",
    "SearchScope",
    "SourceError",
    "StoreError",
    "StoreLockedError",
    "StoreUnavailableError",
    "StoredTool",
    "ToolAnnotations",
    "ToolDefinition",
    "ToolExecutor",
    "ToolIndex",
    "ToolKey",
    "ToolReference",
    "ToolSearchRequest",
    "ToolSearchResponse",
    "UnknownEncoderError",
    "definition_from_record",
    "definition_to_record",
]
