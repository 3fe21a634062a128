"""Who a tool runs for: reaches the tool, never the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.threads import Cancellation
from indexer import DEFAULT_TENANT


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Tenant, user and conversation of the run, and whatever else the application hands over."""

    tenant: str = DEFAULT_TENANT
    principal: str = ""
    conversation_id: str = ""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cancellation: Cancellation = field(default_factory=Cancellation, compare=False, repr=False)
    """For a function in a worker thread: whether its call was cancelled, or has taken too long."""
