"""From tool definition to ranked references; knows no chat, no HTTP server and no MCP server."""

from indexer.alias import model_alias
from indexer.argument_check import arguments_problem
from indexer.deeds import DEEDS, DeedMask, deeds_named, deeds_of_tool, is_deed
from indexer.definition import (
    DEFAULT_NAMESPACE,
    DEFAULT_TENANT,
    CompletionKeys,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    ToolKey,
    definition_from_record,
    definition_to_record,
)
from indexer.document import ToolDocument, dense_text, document_of, short_text
from indexer.embedders.base import Embedder
from indexer.embedders.factory import make_embedder
from indexer.engine import RankedRows, calibrate, embed_tools, search_rows
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
from indexer.forwarding import ForwardingToolIndex
from indexer.index import IndexStats, ToolIndex
from indexer.lexical import LexicalIndex
from indexer.lint import LintFinding, lint_tool, lint_tools
from indexer.matrix import VectorMatrix
from indexer.opening import open_index, open_memory_index
from indexer.ranking import name_candidates
from indexer.reranking import KeepOrder, Reranker, RerankingToolIndex
from indexer.search import (
    RegistrationReport,
    RejectedTool,
    SearchScope,
    ToolReference,
    ToolSearchRequest,
    ToolSearchResponse,
    merge_reports,
)
from indexer.settings import IndexerSettings
from indexer.stores.base import StoredTool
from indexer.stores.memory import MemoryToolStore
from indexer.validation import definition_from_json

__all__ = [
    "model_alias",
    "merge_reports",
    "definition_from_json",
    "DEFAULT_NAMESPACE",
    "DEFAULT_TENANT",
    "CompletionKeys",
    "DEEDS",
    "DeedMask",
    "deeds_named",
    "deeds_of_tool",
    "is_deed",
    "CorruptSnapshotError",
    "DimensionMismatchError",
    "Embedder",
    "EmbeddingError",
    "ForwardingToolIndex",
    "IndexStats",
    "IndexerError",
    "IndexerSettings",
    "LexicalIndex",
    "LintFinding",
    "RankedRows",
    "ToolDocument",
    "VectorMatrix",
    "calibrate",
    "dense_text",
    "document_of",
    "embed_tools",
    "lint_tool",
    "lint_tools",
    "make_embedder",
    "name_candidates",
    "search_rows",
    "short_text",
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
    "arguments_problem",
    "definition_from_record",
    "definition_to_record",
    "KeepOrder",
    "Reranker",
    "RerankingToolIndex",
    "open_index",
    "open_memory_index",
    "MemoryToolStore",
]
