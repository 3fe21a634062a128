"""From chat request to answer: the tool loop over a searchable catalog, as a library and as a server.

Names are imported when they are first used: a command that only talks to a running server starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.advisors.base import BaseAdvisor
    from gateway.advisors.chain import (
        HIGHEST_PRECEDENCE,
        LOWEST_PRECEDENCE,
        Advisor,
        CallAdvisor,
        CallAdvisorChain,
        StreamAdvisor,
    )
    from gateway.advisors.chat_model import ChatModelCallAdvisor
    from gateway.advisors.first_offer import FirstOffer
    from gateway.advisors.logger import SimpleLoggerAdvisor
    from gateway.advisors.loop_limits import LoopLimits
    from gateway.advisors.loop_run import ToolLoopRun
    from gateway.advisors.memory import MessageChatMemoryAdvisor
    from gateway.advisors.metrics import CountingSink, OpenTelemetrySink, ToolLoopMetricsAdvisor
    from gateway.advisors.structured_output import StructuredOutputValidationAdvisor
    from gateway.advisors.telemetry import ChatSpanAdvisor
    from gateway.advisors.tool_calling import ToolCallingAdvisor
    from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
    from gateway.advisors.trace import ThinkTraceAdvisor, ToolCallTraceAdvisor
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
    from gateway.chat.memory import ChatMemory, InMemoryChatMemory, SQLiteChatMemory
    from gateway.chat.messages import (
        AssistantMessage,
        SystemMessage,
        ToolCall,
        ToolResponse,
        ToolResponseMessage,
        UserMessage,
    )
    from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
    from gateway.client import ChatClient, ResponseEntity
    from gateway.errors import AgentLoopDetectedError, GatewayError, ModelError, StructuredOutputError, ToolError
    from gateway.models.base import ChatModel
    from gateway.models.openai_compatible import OpenAICompatibleChatModel
    from gateway.models.planner import Planner
    from gateway.models.scripted import ScriptedChatModel
    from gateway.settings import LoopSafetySettings
    from gateway.tools.augment import AugmentedArguments, AugmentedToolCallback, AugmentedToolCallbackProvider
    from gateway.tools.callback import CompletionKeys, ToolCallback, ToolMetadata
    from gateway.tools.client_tool import ClientToolFactory, definitions_of
    from gateway.tools.context import ToolContext
    from gateway.tools.converter import (
        CsvResultConverter,
        EmailMaskingConverter,
        Image,
        JsonResultConverter,
        ToolCallResultConverter,
    )
    from gateway.tools.function import FunctionToolCallback, tool
    from gateway.tools.loop_safety import ToolExecutionMetrics
    from gateway.tools.manager import ToolCallingManager
    from gateway.tools.options import ToolCallingChatOptions
    from gateway.tools.resolver import (
        DelegatingToolCallbackResolver,
        StaticToolCallbackResolver,
        ToolCallbackFactory,
        ToolCallbackResolver,
    )
    from gateway.tools.search_tool import ToolSearchTool
    from gateway.tools.telemetry import ToolSpans
    from indexer.sources.python_schema import ToolParam

_MODULES = {
    "gateway.advisors.base": ("BaseAdvisor",),
    "gateway.advisors.chain": (
        "Advisor",
        "CallAdvisor",
        "CallAdvisorChain",
        "HIGHEST_PRECEDENCE",
        "LOWEST_PRECEDENCE",
        "StreamAdvisor",
    ),
    "gateway.advisors.chat_model": ("ChatModelCallAdvisor",),
    "gateway.advisors.first_offer": ("FirstOffer",),
    "gateway.advisors.logger": ("SimpleLoggerAdvisor",),
    "gateway.advisors.loop_limits": ("LoopLimits",),
    "gateway.advisors.loop_run": ("ToolLoopRun",),
    "gateway.advisors.memory": ("MessageChatMemoryAdvisor",),
    "gateway.advisors.metrics": (
        "CountingSink",
        "OpenTelemetrySink",
        "ToolLoopMetricsAdvisor",
    ),
    "gateway.advisors.structured_output": ("StructuredOutputValidationAdvisor",),
    "gateway.advisors.telemetry": ("ChatSpanAdvisor",),
    "gateway.advisors.tool_calling": ("ToolCallingAdvisor",),
    "gateway.advisors.tool_search": ("ToolSearchToolCallingAdvisor",),
    "gateway.advisors.trace": (
        "ThinkTraceAdvisor",
        "ToolCallTraceAdvisor",
    ),
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
    "gateway.chat.memory": (
        "ChatMemory",
        "InMemoryChatMemory",
        "SQLiteChatMemory",
    ),
    "gateway.chat.messages": (
        "AssistantMessage",
        "SystemMessage",
        "ToolCall",
        "ToolResponse",
        "ToolResponseMessage",
        "UserMessage",
    ),
    "gateway.chat.prompt": (
        "ChatOptions",
        "Prompt",
        "ToolSpec",
    ),
    "gateway.client": (
        "ChatClient",
        "ResponseEntity",
    ),
    "gateway.errors": (
        "AgentLoopDetectedError",
        "GatewayError",
        "ModelError",
        "StructuredOutputError",
        "ToolError",
    ),
    "gateway.models.base": ("ChatModel",),
    "gateway.models.openai_compatible": ("OpenAICompatibleChatModel",),
    "gateway.models.planner": ("Planner",),
    "gateway.models.scripted": ("ScriptedChatModel",),
    "gateway.settings": ("LoopSafetySettings",),
    "gateway.tools.augment": (
        "AugmentedArguments",
        "AugmentedToolCallback",
        "AugmentedToolCallbackProvider",
    ),
    "gateway.tools.callback": (
        "CompletionKeys",
        "ToolCallback",
        "ToolMetadata",
    ),
    "gateway.tools.client_tool": (
        "ClientToolFactory",
        "definitions_of",
    ),
    "gateway.tools.context": ("ToolContext",),
    "gateway.tools.converter": (
        "CsvResultConverter",
        "EmailMaskingConverter",
        "Image",
        "JsonResultConverter",
        "ToolCallResultConverter",
    ),
    "gateway.tools.function": (
        "FunctionToolCallback",
        "tool",
    ),
    "gateway.tools.loop_safety": ("ToolExecutionMetrics",),
    "gateway.tools.manager": ("ToolCallingManager",),
    "gateway.tools.options": ("ToolCallingChatOptions",),
    "gateway.tools.resolver": (
        "DelegatingToolCallbackResolver",
        "StaticToolCallbackResolver",
        "ToolCallbackFactory",
        "ToolCallbackResolver",
    ),
    "gateway.tools.search_tool": ("ToolSearchTool",),
    "gateway.tools.telemetry": ("ToolSpans",),
    "indexer.sources.python_schema": ("ToolParam",),
}

_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Advisor",
    "AgentLoopDetectedError",
    "AssistantMessage",
    "AugmentedArguments",
    "AugmentedToolCallback",
    "AugmentedToolCallbackProvider",
    "BaseAdvisor",
    "CallAdvisor",
    "CallAdvisorChain",
    "ChatClient",
    "ChatClientRequest",
    "ChatClientResponse",
    "ChatMemory",
    "ChatModel",
    "ChatModelCallAdvisor",
    "ChatOptions",
    "ChatResponse",
    "ChatSpanAdvisor",
    "ClientToolFactory",
    "CompletionKeys",
    "CountingSink",
    "CsvResultConverter",
    "DelegatingToolCallbackResolver",
    "EmailMaskingConverter",
    "FirstOffer",
    "FunctionToolCallback",
    "GatewayError",
    "HIGHEST_PRECEDENCE",
    "Image",
    "InMemoryChatMemory",
    "JsonResultConverter",
    "LOWEST_PRECEDENCE",
    "LoopLimits",
    "LoopSafetySettings",
    "MessageChatMemoryAdvisor",
    "ModelError",
    "OpenAICompatibleChatModel",
    "OpenTelemetrySink",
    "Planner",
    "Prompt",
    "ReasoningDelta",
    "ResponseEntity",
    "RoundFinished",
    "RunFinished",
    "SQLiteChatMemory",
    "ScriptedChatModel",
    "SimpleLoggerAdvisor",
    "StaticToolCallbackResolver",
    "StreamAdvisor",
    "StructuredOutputError",
    "StructuredOutputValidationAdvisor",
    "SystemMessage",
    "TextDelta",
    "ThinkTraceAdvisor",
    "ToolCall",
    "ToolCallFinished",
    "ToolCallResultConverter",
    "ToolCallStarted",
    "ToolCallTraceAdvisor",
    "ToolCallback",
    "ToolCallbackFactory",
    "ToolCallbackResolver",
    "ToolCallingAdvisor",
    "ToolCallingChatOptions",
    "ToolCallingManager",
    "ToolContext",
    "ToolError",
    "ToolExecutionMetrics",
    "ToolLoopMetricsAdvisor",
    "ToolLoopRun",
    "ToolMetadata",
    "ToolParam",
    "ToolResponse",
    "ToolResponseMessage",
    "ToolSearchTool",
    "ToolSearchToolCallingAdvisor",
    "ToolSpans",
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
