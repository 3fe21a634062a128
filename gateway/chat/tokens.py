"""How many tokens a request costs, counted exactly and without network."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import chain
from typing import Any, Literal, Protocol, cast

from gateway.chat.messages import (
    AssistantMessage,
    Content,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponseMessage,
    UserMessage,
    text_of,
)
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.chat.tool_layout import ToolLayout, layout_pieces
from gateway.errors import ConfigurationError

Encoding = Literal["o200k_base", "cl100k_base"]

# What a message costs beside its text, and what primes the reply: OpenAI Cookbook, "How to count tokens with tiktoken"
# (examples/How_to_count_tokens_with_tiktoken.ipynb), where the sums equal the API's own `usage`.
_MESSAGE_OVERHEAD = 3
_NAME_OVERHEAD = 1
_REPLY_PRIMER = 3
# Calls, results and tool definitions: hmarr/openai-chat-tokens, src/index.ts, fitted to the API's `usage`.
_CALL_OVERHEAD = 3
_SYSTEM_MESSAGE_FOR_TOOLS = 3
_NAMED_CHOICE_OVERHEAD = 4

LAYOUT_NOTES: dict[ToolLayout, str] = {
    "openai": (
        "tools laid out as OpenAI does it: one TypeScript namespace in the system message (openai/harmony"
        " docs/format.md; overheads fitted to reported usage in hmarr/openai-chat-tokens)"
    ),
    "json": "tools laid out as one JSON object a line, as the chat templates of open models do",
}
"""One sentence on each layout, for whoever reads a count."""


class _Tokenizer(Protocol):
    def count(self, text: str) -> int: ...


class TokenCounter:
    """Counts the tokens of texts, tools and whole requests, for one vocabulary and one tool layout.

    Vocabularies are exact. What surrounds the text is the provider's own affair and follows public accounts of it:
    call ids, images and hidden reasoning are not counted.
    """

    def __init__(self, encoding: Encoding = "o200k_base", layout: ToolLayout = "openai") -> None:
        self.encoding: Encoding = encoding
        self.layout: ToolLayout = layout

    @property
    def note(self) -> str:
        """How this counter counts, in one sentence."""
        return f"{self.encoding} tokens; {LAYOUT_NOTES[self.layout]}"

    def count_text(self, text: str) -> int:
        """The tokens of a text; special-token spellings in it count as plain text, lone surrogates as U+FFFD."""
        try:
            return _tokenizer(self.encoding).count(text)
        except UnicodeEncodeError:
            return _tokenizer(self.encoding).count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    def count_tools(self, tools: Iterable[ToolSpec]) -> int:
        """The tokens of tool definitions as the provider lays them out; 0 for none. Streams: any catalog size."""
        remaining = iter(tools)
        first = next(remaining, None)
        if first is None:
            return 0
        return sum(self.count_text(piece) for piece in layout_pieces(chain((first,), remaining), self.layout))

    def count_message(self, message: Message) -> int:
        """The tokens of one message; a tool response message counts as one message for each response."""
        if isinstance(message, ToolResponseMessage):
            return sum(self._count_parts("tool", response.content) for response in message.responses)
        if isinstance(message, AssistantMessage):
            calls = sum(self._count_call(call) for call in message.tool_calls)
            return self._count_parts("assistant", message.content) + calls
        role = "user" if isinstance(message, UserMessage) else str(message.extra.get("role") or "system")
        name = message.extra.get("name")
        named = self.count_text(name) + _NAME_OVERHEAD if isinstance(name, str) else 0
        return self._count_parts(role, message.content) + named

    def count_prompt(self, prompt: Prompt) -> int:
        """The prompt tokens of a whole request: messages, calls, results, tools and the reply's primer."""
        total = sum(self.count_message(message) for message in prompt.messages) + _REPLY_PRIMER
        tools = self.count_tools(prompt.tools)
        if tools:
            total += tools + self._tool_message(prompt.messages)
        return total + self._count_choice(prompt.options.tool_choice)

    def _count_parts(self, role: str, content: Content) -> int:
        return _MESSAGE_OVERHEAD + self.count_text(role) + self.count_text(text_of(content))

    def _count_call(self, call: ToolCall) -> int:
        return _CALL_OVERHEAD + self.count_text(call.name) + self.count_text(call.arguments)

    def _tool_message(self, messages: Iterable[Message]) -> int:
        """What it costs that tools follow the first system message after a line break, or need one of their own."""
        system = next((text_of(message.content) for message in messages if isinstance(message, SystemMessage)), None)
        if system is None:
            return _SYSTEM_MESSAGE_FOR_TOOLS
        # The break replaces one of the preface, and may join the last token of the text.
        return self.count_text(system + "\n") - self.count_text(system) - 1

    def _count_choice(self, choice: object) -> int:
        if choice == "none":
            return 1
        if isinstance(choice, Mapping):
            function = cast("Mapping[str, Any]", choice).get("function")
            if isinstance(function, Mapping):
                return _NAMED_CHOICE_OVERHEAD + self.count_text(str(cast("Mapping[str, Any]", function).get("name")))
        return 0


@cache
def _tokenizer(encoding: Encoding) -> _Tokenizer:
    """The native tokenizer out of `bpe-openai`, which carries the vocabularies.

    Only the extension module is loaded: importing the package unpacks the tables of all its vocabularies in Python,
    which takes seconds; the extension alone takes a tenth of that.
    """
    package = find_spec("bpe_openai")
    locations = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec("bpe_openai._bindings", locations)
    if spec is None or spec.loader is None:
        raise ConfigurationError("the tokenizer is not installed; run `pip install bpe-openai`")
    bindings = module_from_spec(spec)
    spec.loader.exec_module(bindings)
    return cast("_Tokenizer", bindings.tokenizer_for_encoding(encoding))
