"""Who a tool runs for: reaches the tool, never the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from indexer import DEFAULT_TENANT


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Tenant, user and conversation of the run, and whatever else the application hands over."""

    tenant: str = DEFAULT_TENANT
    principal: str = ""
    conversation_id: str = ""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
