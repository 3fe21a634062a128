"""Counts requests fast: the gateway's own counter, with what it has counted before remembered."""

from collections.abc import Iterable, Sequence
from typing import Final

from typing_extensions import override

from gateway.bench.tokens.prefix_cache import Block, RequestBlocks
from gateway.chat.json_text import encode_json
from gateway.chat.messages import AssistantMessage, Message, SystemMessage, ToolResponseMessage, text_of
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.chat.tokens import Encoding, TokenCounter
from gateway.chat.tool_layout import ToolLayout

_PROBE: Final = ToolSpec(
    name="probe_tool",
    description="Probe a value.",
    parameters={"type": "object", "properties": {"value": {"type": "string"}}},
)
_LONG_LIST: Final = 512
"""A list of more tools than this is one block: nothing appends to it."""


class RequestMeter(TokenCounter):
    """A `TokenCounter` for thousands of prompts that share their tools and most of their messages.

    A list of tools costs the sum of what each adds to a list, and a constant: layouts cut between tools. That is exact
    but for a token where two tools without a description are neighbours.
    """

    def __init__(self, encoding: Encoding = "o200k_base", layout: ToolLayout = "openai") -> None:
        super().__init__(encoding, layout)
        self._texts: dict[str, int] = {}
        self._tools: dict[int, tuple[ToolSpec, int]] = {}
        self._lists: dict[int, tuple[Sequence[ToolSpec], int]] = {}
        self._messages: dict[int, tuple[Message, int]] = {}
        self._blocks: dict[int, tuple[Message, Block]] = {}
        one, two = super().count_tools([_PROBE]), super().count_tools([_PROBE, _PROBE])
        self._pair = two
        self.list_tokens = 2 * one - two
        """What a list costs beside its tools."""

    @override
    def count_text(self, text: str) -> int:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = super().count_text(text)
        return known

    @override
    def count_message(self, message: Message) -> int:
        known = self._messages.get(id(message))
        if known is None:
            known = self._messages[id(message)] = (message, super().count_message(message))
        return known[1]

    def tool_tokens(self, tool: ToolSpec) -> int:
        """What a tool adds to a list that has others; remembered by identity."""
        known = self._tools.get(id(tool))
        if known is None:
            count = TokenCounter.count_tools(self, [_PROBE, tool, _PROBE]) - self._pair
            known = self._tools[id(tool)] = (tool, count)
        return known[1]

    @override
    def count_tools(self, tools: Iterable[ToolSpec]) -> int:
        if not isinstance(tools, tuple | list):
            tools = tuple(tools)
        if not tools:
            return 0
        if len(tools) <= _LONG_LIST:
            return self.list_tokens + sum(self.tool_tokens(tool) for tool in tools)
        known = self._lists.get(id(tools))
        if known is None:
            count = self.list_tokens + sum(self.tool_tokens(tool) for tool in tools)
            known = self._lists[id(tools)] = (tools, count)
        return known[1]

    def forget_conversation(self) -> None:
        """Let go of long lists, and of texts and messages that will not come again."""
        self._lists.clear()
        self._texts.clear()
        self._messages.clear()
        self._blocks.clear()

    def blocks(self, prompt: Prompt) -> RequestBlocks:
        """The prompt cut into blocks; their tokens add up to `count_prompt`."""
        system = tuple(self._block(one) for one in prompt.messages if isinstance(one, SystemMessage))
        messages = tuple(self._block(one) for one in prompt.messages if not isinstance(one, SystemMessage))
        tools = self._tool_blocks(prompt.tools)
        rest = self.count_prompt(prompt) - sum(block.tokens for part in (system, tools, messages) for block in part)
        # What belongs to no part (the reply's primer, a tool choice) stands at a place that does not move.
        return RequestBlocks(system=system, tools=tools, messages=(Block(("frame", rest), rest), *messages))

    def _tool_blocks(self, tools: tuple[ToolSpec, ...]) -> tuple[Block, ...]:
        if not tools:
            return ()
        head = Block("tools", self.list_tokens)
        if len(tools) > _LONG_LIST:
            # By identity: `_lists` holds on to the list, so no other can take its place.
            return (head, Block(("list", id(tools)), self.count_tools(tools) - head.tokens))
        return (head, *(Block((tool.name, id(tool)), self.tool_tokens(tool)) for tool in tools))

    def _block(self, message: Message) -> Block:
        known = self._blocks.get(id(message))
        if known is None:
            known = self._blocks[id(message)] = (message, Block(_key(message), self.count_message(message)))
        return known[1]


def _key(message: Message) -> tuple[object, ...]:
    """What tells messages apart in a prompt."""
    if isinstance(message, ToolResponseMessage):
        return ("tool", *((one.id, one.name, text_of(one.content)) for one in message.responses))
    if isinstance(message, AssistantMessage):
        calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
        return ("assistant", text_of(message.content), calls)
    return (type(message).__name__, text_of(message.content), encode_json(message.extra) if message.extra else b"")
