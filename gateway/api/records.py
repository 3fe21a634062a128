"""The JSON shapes that the HTTP interface answers with; the command line prints the same."""

from dataclasses import asdict
from typing import Any

from indexer import (
    RegistrationReport,
    RejectedTool,
    StoredTool,
    ToolDefinition,
    ToolReference,
    ToolSearchResponse,
    definition_to_record,
    model_alias,
)


def stored_record(stored: StoredTool) -> dict[str, Any]:
    """A tool with what the catalog says about it: `alias`, `status`, `reason`, `revision`, `content_hash`."""
    return {
        **definition_to_record(stored.definition),
        "alias": model_alias(stored.key),
        "status": stored.status,
        "reason": stored.reason,
        "revision": stored.revision,
        "content_hash": stored.content_hash,
    }


def found_record(reference: ToolReference) -> dict[str, Any]:
    """One result of a search, complete enough to be called."""
    return {
        **named_record(reference),
        **match_record(reference),
        "input_schema": reference.definition.input_schema,
    }


def named_record(reference: ToolReference) -> dict[str, str]:
    """What a found tool is called and says of itself, whatever it was found for."""
    definition = reference.definition
    return {
        "name": definition.name,
        "namespace": definition.namespace,
        "alias": reference.alias,
        "description": definition.description,
    }


def match_record(reference: ToolReference) -> dict[str, Any]:
    """What one search says of a tool it found."""
    return {
        "score": reference.score,
        "reasons": list(reference.reasons),
        "query": reference.query,
        "also_in": list(reference.also_in),
        "also_as": list(reference.also_as),
    }


def search_record(response: ToolSearchResponse) -> dict[str, Any]:
    """The answer to a search."""
    return {"results": [found_record(reference) for reference in response.results], **outcome_record(response)}


def outcome_record(response: ToolSearchResponse) -> dict[str, Any]:
    """An answer beside its results; `empty` explains one without any and is null otherwise."""
    empty = None
    if not response.results:
        empty = {
            "reason": response.empty_reason,
            "message": empty_message(response),
            "namespaces": list(response.namespaces),
        }
    return {
        "catalog_revision": response.catalog_revision,
        "degraded": response.degraded,
        "stale": response.stale,
        "stale_seconds": response.stale_seconds,
        "calibrating": response.calibrating,
        "reranking": response.reranking,
        "empty": empty,
        "took_ms": response.took_ms,
    }


def empty_message(response: ToolSearchResponse) -> str:
    """Why a search found nothing and what to try, for a person."""
    match response.empty_reason:
        case "":
            return ""
        case "catalog_empty":
            message = "The catalog holds no tools yet: register some with POST /v1/tools, or `toolscout index`."
        case "nothing_in_scope":
            message = "No tool lies in those namespaces or carries all of those tags."
        case "no_match":
            message = "No tool matches well enough; try other words."
        case "all_already_found":
            message = "Every tool that matches was found before."
    if response.namespaces:
        message += f" Namespaces to try: {', '.join(response.namespaces[:10])}."
    return message


def report_record(report: RegistrationReport) -> dict[str, Any]:
    """What a registration did: counts, and every tool that was not taken with its reason."""
    return {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "quarantined": [rejected_record(entry) for entry in report.quarantined],
        "refused": [rejected_record(entry) for entry in report.refused],
        "unlisted_quarantined": report.unlisted_quarantined,
        "unlisted_refused": report.unlisted_refused,
        "catalog_revision": report.catalog_revision,
        "seconds": round(report.seconds, 4),
    }


def rejected_record(entry: RejectedTool) -> dict[str, str]:
    """Where a rejected tool stands, which field of it is wrong, why, and what to do."""
    return asdict(entry)


def openai_tool(definition: ToolDefinition) -> dict[str, Any]:
    """A catalog tool in the shape that a chat completions request takes it."""
    return {
        "type": "function",
        "function": {
            "name": model_alias(definition.key),
            "description": definition.description,
            "parameters": definition.input_schema,
        },
    }
