"""Every error the gateway raises on purpose.

GatewayError
├── ConfigurationError            wiring or settings are wrong; stops start-up and says what to set
├── InvalidRequestError           a caller's request is malformed; names the place in it
├── ToolError                     becomes a tool result that the model reads
│   ├── ToolNotFoundError         no visible tool has that name
│   ├── ToolArgumentsError        the arguments do not fit the schema
│   └── ToolExecutionError        the tool ran and failed
├── LoopSafetyError
│   └── AgentLoopDetectedError    ends the run as a marked success, carrying what was collected
├── ModelError                    the model's endpoint failed; reaches the caller
│   ├── ModelUnavailableError     cannot be reached, or timed out
│   ├── ModelHTTPError            answered with an error status; status and body are kept
│   └── TruncatedStreamError      the stream ended without its terminal event; nothing of it was run
├── StructuredOutputError
└── RegistryError                 the catalog cannot do what was asked of it
"""

from collections.abc import Mapping
from typing import Final

AFTER_TOOLS: Final = "Tools of this run had run already: the same request sent again would run them again."
"""A note on an error that ended such a run."""


def is_after_tools(error: BaseException) -> bool:
    """Whether tools had run when the error ended their run."""
    return AFTER_TOOLS in getattr(error, "__notes__", ())


class GatewayError(Exception):
    """Base of all errors that the gateway raises on purpose."""


class ConfigurationError(GatewayError):
    """Wiring or settings are wrong; the message says what to set."""


class InvalidRequestError(GatewayError):
    """A caller's request that cannot be taken as it is."""

    def __init__(self, param: str, reason: str) -> None:
        self.param = param
        """The place in the request, `messages[3].tool_call_id` say."""
        self.reason = reason
        super().__init__(f"{param}: {reason}" if param else reason)


class ToolError(GatewayError):
    """A tool call that did not succeed; the message is written for the model."""


class ToolNotFoundError(ToolError):
    """No tool that this caller may see has that name."""


class ToolArgumentsError(ToolError):
    """The arguments do not fit the tool's schema."""


class ToolExecutionError(ToolError):
    """The tool ran and failed."""


class LoopSafetyError(GatewayError):
    """The loop is stopped for safety."""


class AgentLoopDetectedError(LoopSafetyError):
    """A run repeats itself; ends as a success marked `auto_ended`."""


class ModelError(GatewayError):
    """The model's endpoint failed."""


class ModelUnavailableError(ModelError):
    """The model's endpoint cannot be reached, or did not answer in time."""


class ModelHTTPError(ModelError):
    """The model's endpoint answered with an error status."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        super().__init__(f"the model's endpoint answered {status}: {body[:500].decode('utf-8', 'replace')}")


class TruncatedStreamError(ModelError):
    """The model's stream ended without its terminal event; no tool of that round was run."""


class StructuredOutputError(GatewayError):
    """The model's answer does not fit the wanted schema after all repairs."""


class RegistryError(GatewayError):
    """The catalog cannot do what was asked of it."""
