"""From chat request to answer: the tool loop over a searchable catalog, as a library and as a server.

Names are imported when they are first used: a command that only talks to a running server starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.advisors.chain import (
        HIGHEST_PRECEDENCE,
        LOWEST_PRECEDENCE,
        Advisor,
        CallAdvisor,
        CallAdvisorChain,
        StreamAdvisor,
    )
    from gateway.advisors.chat_model import ChatModelCallAdvisor
    from gateway.advisors.loop_run import ToolLoopRun
    from gateway.advisors.tool_calling import ToolCallingAdvisor
    from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
    from gateway.chat.exchange import (
        ChatClientRequest,
        ChatClientResponse,
        ChatResponse,
        ReasoningDelta,
        RoundFinished,
        RunFinished,
        TextDelta,
        ToolCallFinished,
        ToolCallStarted,
        Usage,
    )
    from gateway.chat.messages import (
        AssistantMessage,
        SystemMessage,
        ToolCall,
        ToolResponse,
        ToolResponseMessage,
        UserMessage,
    )
    from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
    from gateway.client import ChatClient
    from gateway.errors import GatewayError, ModelError, ToolError
    from gateway.models.base import ChatModel
    from gateway.models.openai_compatible import OpenAICompatibleChatModel
    from gateway.models.planner import Planner
    from gateway.models.scripted import ScriptedChatModel
    from gateway.tools.callback import ToolCallback, ToolMetadata
    from gateway.tools.client_tool import ClientToolFactory, definitions_of
    from gateway.tools.context import ToolContext
    from gateway.tools.converter import JsonResultConverter, ToolCallResultConverter
    from gateway.tools.function import FunctionToolCallback, tool
    from gateway.tools.manager import ToolCallingManager
    from gateway.tools.options import ToolCallingChatOptions
    from gateway.tools.resolver import (
        DelegatingToolCallbackResolver,
        StaticToolCallbackResolver,
        ToolCallbackFactory,
        ToolCallbackResolver,
    )
    from gateway.tools.search_tool import ToolSearchTool

_MODULES = {
    "gateway.advisors.chain": (
        "HIGHEST_PRECEDENCE",
        "LOWEST_PRECEDENCE",
        "Advisor",
        "CallAdvisor",
        "CallAdvisorChain",
        "StreamAdvisor",
    ),
    "gateway.advisors.chat_model": ("ChatModelCallAdvisor",),
    "gateway.advisors.loop_run": ("ToolLoopRun",),
    "gateway.advisors.tool_calling": ("ToolCallingAdvisor",),
    "gateway.advisors.tool_search": ("ToolSearchToolCallingAdvisor",),
    "gateway.chat.exchange": (
        "ChatClientRequest",
        "ChatClientResponse",
        "ChatResponse",
        "ReasoningDelta",
        "RoundFinished",
        "RunFinished",
        "TextDelta",
        "ToolCallFinished",
        "ToolCallStarted",
        "Usage",
    ),
    "gateway.chat.messages": (
        "AssistantMessage",
        "SystemMessage",
        "ToolCall",
        "ToolResponse",
        "ToolResponseMessage",
        "UserMessage",
    ),
    "gateway.chat.prompt": ("ChatOptions", "Prompt", "ToolSpec"),
    "gateway.client": ("ChatClient",),
    "gateway.errors": ("GatewayError", "ModelError", "ToolError"),
    "gateway.models.base": ("ChatModel",),
    "gateway.models.openai_compatible": ("OpenAICompatibleChatModel",),
    "gateway.models.planner": ("Planner",),
    "gateway.models.scripted": ("ScriptedChatModel",),
    "gateway.tools.callback": ("ToolCallback", "ToolMetadata"),
    "gateway.tools.client_tool": ("ClientToolFactory", "definitions_of"),
    "gateway.tools.context": ("ToolContext",),
    "gateway.tools.converter": ("JsonResultConverter", "ToolCallResultConverter"),
    "gateway.tools.function": ("FunctionToolCallback", "tool"),
    "gateway.tools.manager": ("ToolCallingManager",),
    "gateway.tools.options": ("ToolCallingChatOptions",),
    "gateway.tools.resolver": (
        "DelegatingToolCallbackResolver",
        "StaticToolCallbackResolver",
        "ToolCallbackFactory",
        "ToolCallbackResolver",
    ),
    "gateway.tools.search_tool": ("ToolSearchTool",),
}

_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "HIGHEST_PRECEDENCE",
    "LOWEST_PRECEDENCE",
    "Advisor",
    "AssistantMessage",
    "CallAdvisor",
    "CallAdvisorChain",
    "ChatClient",
    "ChatClientRequest",
    "ChatClientResponse",
    "ChatModel",
    "ChatModelCallAdvisor",
    "ChatOptions",
    "ChatResponse",
    "ClientToolFactory",
    "DelegatingToolCallbackResolver",
    "FunctionToolCallback",
    "GatewayError",
    "JsonResultConverter",
    "ModelError",
    "OpenAICompatibleChatModel",
    "Planner",
    "Prompt",
    "ReasoningDelta",
    "RoundFinished",
    "RunFinished",
    "ScriptedChatModel",
    "StaticToolCallbackResolver",
    "StreamAdvisor",
    "SystemMessage",
    "TextDelta",
    "ToolCall",
    "ToolCallFinished",
    "ToolCallResultConverter",
    "ToolCallStarted",
    "ToolCallback",
    "ToolCallbackFactory",
    "ToolCallbackResolver",
    "ToolCallingAdvisor",
    "ToolCallingChatOptions",
    "ToolCallingManager",
    "ToolContext",
    "ToolError",
    "ToolLoopRun",
    "ToolMetadata",
    "ToolResponse",
    "ToolResponseMessage",
    "ToolSearchTool",
    "ToolSearchToolCallingAdvisor",
    "ToolSpec",
    "Usage",
    "UserMessage",
    "definitions_of",
    "tool",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
