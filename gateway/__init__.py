"""From chat request to answer: the tool loop over a searchable catalog, as a library and as a server.

Names are imported when they are first used: a command that only talks to a running server starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.advisors.base import BaseAdvisor, EndListener, HistoryAdvisor
    from gateway.advisors.chain import (
        HIGHEST_PRECEDENCE,
        LOWEST_PRECEDENCE,
        Advisor,
        CallAdvisor,
        CallAdvisorChain,
        StreamAdvisor,
    )
    from gateway.advisors.chat_model import ChatModelCallAdvisor
    from gateway.advisors.conversation_notes import ConversationNotebook, ConversationNotes
    from gateway.advisors.first_offer import FirstOffer
    from gateway.advisors.logger import SimpleLoggerAdvisor
    from gateway.advisors.loop_limits import EligibilityChecker, LoopLimits
    from gateway.advisors.loop_run import ToolLoopRun
    from gateway.advisors.memory import MessageChatMemoryAdvisor
    from gateway.advisors.metrics import CountingSink, MetricsSink, OpenTelemetrySink, ToolLoopMetricsAdvisor
    from gateway.advisors.structured_output import StructuredOutputValidationAdvisor
    from gateway.advisors.telemetry import ChatSpanAdvisor
    from gateway.advisors.tool_calling import ToolCallingAdvisor
    from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
    from gateway.advisors.trace import ThinkTraceAdvisor, Thought, ToolCallTraceAdvisor, ToolTrace
    from gateway.chat.exchange import (
        ChatClientRequest,
        ChatClientResponse,
        ChatResponse,
        ModelEvent,
        ReasoningDelta,
        RoundFinished,
        RunEvent,
        RunFinished,
        StopReason,
        TextDelta,
        ToolCallFinished,
        ToolCallStarted,
        Usage,
    )
    from gateway.chat.memory import ChatMemory, InMemoryChatMemory, SQLiteChatMemory, Turn
    from gateway.chat.messages import (
        AssistantMessage,
        Content,
        Message,
        SystemMessage,
        ToolCall,
        ToolResponse,
        ToolResponseMessage,
        UserMessage,
    )
    from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
    from gateway.client import ChatClient, ResponseEntity
    from gateway.errors import (
        AgentLoopDetectedError,
        ConfigurationError,
        GatewayError,
        InvalidRequestError,
        LoopSafetyError,
        ModelError,
        ModelHTTPError,
        ModelUnavailableError,
        RegistryError,
        StructuredOutputError,
        ToolArgumentsError,
        ToolError,
        ToolExecutionError,
        ToolNotFoundError,
        TruncatedStreamError,
    )
    from gateway.models.base import ChatModel
    from gateway.models.openai_compatible import OpenAICompatibleChatModel
    from gateway.models.planner import Planner
    from gateway.models.scripted import ScriptedChatModel, Wish, wish, with_calls
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
    from gateway.tools.loop_safety import ToolExecution, ToolExecutionMetrics
    from gateway.tools.manager import ToolCallingManager
    from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions
    from gateway.tools.resolver import (
        DelegatingToolCallbackResolver,
        StaticToolCallbackResolver,
        ToolCallbackFactory,
        ToolCallbackResolver,
    )
    from gateway.tools.search_tool import SearchRecord, ToolSearchTool
    from gateway.tools.telemetry import ToolSpans
    from indexer.sources.python_schema import ToolParam

_MODULES = {
    "gateway.advisors.base": "BaseAdvisor EndListener HistoryAdvisor",
    "gateway.advisors.chain": "Advisor CallAdvisor CallAdvisorChain HIGHEST_PRECEDENCE LOWEST_PRECEDENCE StreamAdvisor",
    "gateway.advisors.chat_model": "ChatModelCallAdvisor",
    "gateway.advisors.conversation_notes": "ConversationNotebook ConversationNotes",
    "gateway.advisors.first_offer": "FirstOffer",
    "gateway.advisors.logger": "SimpleLoggerAdvisor",
    "gateway.advisors.loop_limits": "EligibilityChecker LoopLimits",
    "gateway.advisors.loop_run": "ToolLoopRun",
    "gateway.advisors.memory": "MessageChatMemoryAdvisor",
    "gateway.advisors.metrics": "CountingSink MetricsSink OpenTelemetrySink ToolLoopMetricsAdvisor",
    "gateway.advisors.structured_output": "StructuredOutputValidationAdvisor",
    "gateway.advisors.telemetry": "ChatSpanAdvisor",
    "gateway.advisors.tool_calling": "ToolCallingAdvisor",
    "gateway.advisors.tool_search": "ToolSearchToolCallingAdvisor",
    "gateway.advisors.trace": "ThinkTraceAdvisor Thought ToolCallTraceAdvisor ToolTrace",
    "gateway.chat.exchange": (
        "ChatClientRequest ChatClientResponse ChatResponse ModelEvent ReasoningDelta RoundFinished RunEvent "
        "RunFinished StopReason TextDelta ToolCallFinished ToolCallStarted Usage"
    ),
    "gateway.chat.memory": "ChatMemory InMemoryChatMemory SQLiteChatMemory Turn",
    "gateway.chat.messages": (
        "AssistantMessage Content Message SystemMessage ToolCall ToolResponse ToolResponseMessage UserMessage"
    ),
    "gateway.chat.prompt": "ChatOptions Prompt ToolSpec",
    "gateway.client": "ChatClient ResponseEntity",
    "gateway.errors": (
        "AgentLoopDetectedError ConfigurationError GatewayError InvalidRequestError LoopSafetyError "
        "ModelError ModelHTTPError ModelUnavailableError RegistryError StructuredOutputError "
        "ToolArgumentsError ToolError ToolExecutionError ToolNotFoundError TruncatedStreamError"
    ),
    "gateway.models.base": "ChatModel",
    "gateway.models.openai_compatible": "OpenAICompatibleChatModel",
    "gateway.models.planner": "Planner",
    "gateway.models.scripted": "ScriptedChatModel Wish wish with_calls",
    "gateway.settings": "LoopSafetySettings",
    "gateway.tools.augment": "AugmentedArguments AugmentedToolCallback AugmentedToolCallbackProvider",
    "gateway.tools.callback": "CompletionKeys ToolCallback ToolMetadata",
    "gateway.tools.client_tool": "ClientToolFactory definitions_of",
    "gateway.tools.context": "ToolContext",
    "gateway.tools.converter": (
        "CsvResultConverter EmailMaskingConverter Image JsonResultConverter ToolCallResultConverter"
    ),
    "gateway.tools.function": "FunctionToolCallback tool",
    "gateway.tools.loop_safety": "ToolExecution ToolExecutionMetrics",
    "gateway.tools.manager": "ToolCallingManager",
    "gateway.tools.options": "TOOL_OPTIONS ToolCallingChatOptions",
    "gateway.tools.resolver": (
        "DelegatingToolCallbackResolver StaticToolCallbackResolver ToolCallbackFactory ToolCallbackResolver"
    ),
    "gateway.tools.search_tool": "SearchRecord ToolSearchTool",
    "gateway.tools.telemetry": "ToolSpans",
    "indexer.sources.python_schema": "ToolParam",
}
"""The names of each module, parted by spaces."""

_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

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
    "ConfigurationError",
    "Content",
    "ConversationNotebook",
    "ConversationNotes",
    "CountingSink",
    "CsvResultConverter",
    "DelegatingToolCallbackResolver",
    "EligibilityChecker",
    "EmailMaskingConverter",
    "EndListener",
    "FirstOffer",
    "FunctionToolCallback",
    "GatewayError",
    "HIGHEST_PRECEDENCE",
    "HistoryAdvisor",
    "Image",
    "InMemoryChatMemory",
    "InvalidRequestError",
    "JsonResultConverter",
    "LOWEST_PRECEDENCE",
    "LoopLimits",
    "LoopSafetyError",
    "LoopSafetySettings",
    "Message",
    "MessageChatMemoryAdvisor",
    "MetricsSink",
    "ModelError",
    "ModelEvent",
    "ModelHTTPError",
    "ModelUnavailableError",
    "OpenAICompatibleChatModel",
    "OpenTelemetrySink",
    "Planner",
    "Prompt",
    "ReasoningDelta",
    "RegistryError",
    "ResponseEntity",
    "RoundFinished",
    "RunEvent",
    "RunFinished",
    "SQLiteChatMemory",
    "ScriptedChatModel",
    "SearchRecord",
    "SimpleLoggerAdvisor",
    "StaticToolCallbackResolver",
    "StopReason",
    "StreamAdvisor",
    "StructuredOutputError",
    "StructuredOutputValidationAdvisor",
    "SystemMessage",
    "TOOL_OPTIONS",
    "TextDelta",
    "ThinkTraceAdvisor",
    "Thought",
    "ToolArgumentsError",
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
    "ToolExecution",
    "ToolExecutionError",
    "ToolExecutionMetrics",
    "ToolLoopMetricsAdvisor",
    "ToolLoopRun",
    "ToolMetadata",
    "ToolNotFoundError",
    "ToolParam",
    "ToolResponse",
    "ToolResponseMessage",
    "ToolSearchTool",
    "ToolSearchToolCallingAdvisor",
    "ToolSpans",
    "ToolSpec",
    "ToolTrace",
    "TruncatedStreamError",
    "Turn",
    "Usage",
    "UserMessage",
    "Wish",
    "definitions_of",
    "tool",
    "wish",
    "with_calls",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
