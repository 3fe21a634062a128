"""Plays one conversation under one delivery, and measures every request of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.advisors.first_offer import FirstOffer
from gateway.advisors.loop_run import NEW_MESSAGES
from gateway.advisors.tool_search import ToolSearchToolCallingAdvisor
from gateway.bench.tokens.catalog import BenchCatalog, CatalogView, Rows
from gateway.bench.tokens.conversations import Conversation, Turn
from gateway.bench.tokens.delivery import SYSTEM_TEXT, Delivery, Manner
from gateway.bench.tokens.meter import RequestMeter
from gateway.bench.tokens.own_deliveries import OWN_SEARCH
from gateway.bench.tokens.prefix_cache import RequestBlocks
from gateway.bench.tokens.scripted_policy import ScriptedPolicy, ScriptRules
from gateway.chat.exchange import ChatClientRequest, ChatResponse
from gateway.chat.messages import (
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from gateway.chat.prompt import ChatOptions, Prompt, ToolSpec
from gateway.client import ChatClient
from gateway.models.base import ChatModel
from gateway.models.scripted import ScriptedChatModel
from gateway.tools.callback import ToolCallback, ToolMetadata
from gateway.tools.context import ToolContext
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions
from indexer import ToolDefinition, ToolIndex

MAX_ROUNDS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRequest:
    """One model call: what it was sent and what it said."""

    blocks: RequestBlocks
    prompt_tokens: int
    completion_tokens: int
    tools: int
    reported_prompt_tokens: int | None = None
    """What the provider counted, where a real one took part."""


@dataclass(slots=True)
class Play:
    """One conversation as it went."""

    requests: list[MeasuredRequest] = field(default_factory=list[MeasuredRequest])
    called: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Of each turn, the names of the catalog tools that were called."""
    searches: int = 0
    """Calls of a search tool."""

    @property
    def prompt_tokens(self) -> int:
        return sum(one.prompt_tokens for one in self.requests)

    @property
    def completion_tokens(self) -> int:
        return sum(one.completion_tokens for one in self.requests)

    def right(self, conversation: Conversation, names: Mapping[str, ToolSpec]) -> bool:
        """Whether every needed tool was called in the turn that needed it, and so was in sight there."""
        return all(
            {names[need.tool].name for need in turn.needs} <= called
            for turn, called in zip(conversation.turns, self.called, strict=False)
        )

    def wrong_calls(self, conversation: Conversation, names: Mapping[str, ToolSpec]) -> int:
        """Calls of tools that the turn did not need."""
        return sum(
            len(called - {names[need.tool].name for need in turn.needs})
            for turn, called in zip(conversation.turns, self.called, strict=False)
        )


class Stage:
    """What the parts of one play share: the conversation's names for tools, the counter, and the record."""

    def __init__(
        self, catalog: BenchCatalog, conversation: Conversation, *, seed: int, rules: ScriptRules | None = None
    ) -> None:
        self.catalog = catalog
        self.conversation = conversation
        self.seed = seed
        self.rules = rules or ScriptRules()
        self.names = {tool: catalog.specs[catalog.rows[tool]] for tool in conversation.tools}

    @property
    def meter(self) -> RequestMeter:
        return self.catalog.meter

    def view(self, order: Rows, size: int) -> CatalogView:
        """The first so many tools of an order that begins with those the conversation needs, which are all in it."""
        return CatalogView(self.catalog, order[: max(size, len(self.names))])

    def scripted(self, manner: Manner) -> ScriptedChatModel:
        """The model that follows this conversation's script."""
        return ScriptedChatModel(
            policy=ScriptedPolicy(self.conversation, self.names, manner, seed=self.seed, rules=self.rules)
        )

    def measure(self, prompt: Prompt, response: ChatResponse) -> MeasuredRequest:
        usage, blocks = response.usage, self.meter.blocks(prompt)
        return MeasuredRequest(
            blocks=blocks,
            prompt_tokens=blocks.tokens,
            completion_tokens=self.meter.count_message(response.message),
            tools=len(prompt.tools),
            reported_prompt_tokens=usage.prompt_tokens if usage else None,
        )


async def play_simulated(stage: Stage, delivery: Delivery, view: CatalogView, *, k: int) -> Play:
    """A conversation under a delivery that is not the product's loop: the same messages, its own tool lists."""
    run = delivery.open(view, k=k, seed=stage.seed)
    model = stage.scripted(delivery.manner)
    search = delivery.manner.search.tool if delivery.manner.search else None
    play = Play()
    messages: list[Message] = [SystemMessage(content=SYSTEM_TEXT)]
    for turn in stage.conversation.turns:
        messages.append(UserMessage(content=turn.user))
        called: set[str] = set()
        for _ in range(MAX_ROUNDS):
            prompt = Prompt(messages=tuple(messages), tools=run.offered(messages))
            response = await model.call(prompt)
            play.requests.append(stage.measure(prompt, response))
            messages.append(response.message)
            calls = response.message.tool_calls
            if not calls:
                break
            texts = [await run.answer_search(call) if call.name == search else turn.tool_result for call in calls]
            play.searches += sum(call.name == search for call in calls)
            called.update(_called(calls, delivery.manner))
            messages.append(_results(calls, texts))
        play.called.append(frozenset(called))
    return play


def _called(calls: Sequence[ToolCall], manner: Manner) -> list[str]:
    search = manner.search.tool if manner.search else None
    names: list[str] = []
    for call in calls:
        if call.name == manner.call_proxy:
            names.append(call.arguments.split('"name":"', 1)[-1].split('"', 1)[0])
        elif call.name != search:
            names.append(call.name)
    return names


def _results(calls: Sequence[ToolCall], texts: Sequence[str]) -> ToolResponseMessage:
    pairs = zip(calls, texts, strict=True)
    return ToolResponseMessage(
        responses=tuple(ToolResponse(id=call.id, name=call.name, content=text) for call, text in pairs)
    )


_SIMULATED: Final = ToolMetadata(checks_arguments=True, repeatable=True)
"""Arguments are made up, and a script may well want the same thing twice."""


@dataclass(frozen=True, slots=True)
class _BenchTool:
    """A catalog tool whose result the script gives."""

    spec: ToolSpec
    factory: "_BenchTools"

    @property
    def metadata(self) -> ToolMetadata:
        return _SIMULATED

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        self.factory.called.add(self.spec.name)
        return self.factory.turn.tool_result


class _BenchTools:
    """Callbacks of catalog tools, under the very specs that were counted."""

    def __init__(self, catalog: BenchCatalog, turn: Turn) -> None:
        self._catalog = catalog
        self.turn = turn
        self.called: set[str] = set()

    def callback_for(self, definition: ToolDefinition, alias: str) -> ToolCallback:
        row = self._catalog.rows[f"{definition.namespace}/{definition.name}"]
        return _BenchTool(self._catalog.specs[row], self)


class _Recorder:
    """A chat model that writes down every call."""

    def __init__(self, model: ScriptedChatModel | ChatModel, stage: Stage, play: Play) -> None:
        self._model = model
        self._stage = stage
        self._play = play

    async def call(self, prompt: Prompt) -> ChatResponse:
        response = await self._model.call(prompt)
        self._play.requests.append(self._stage.measure(prompt, response))
        self._play.searches += sum(call.name == OWN_SEARCH.tool for call in response.message.tool_calls)
        return response

    def stream(self, prompt: Prompt) -> Any:  # noqa: ANN401 - the benchmark only calls
        raise NotImplementedError

    async def aclose(self) -> None:
        await self._model.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendSettings:
    """How the product's own loop is set."""

    k: int = 5
    passthrough_tokens: int = 0
    """A catalog that costs no more than this is sent whole; 0: never."""


async def play_append(
    stage: Stage,
    index: ToolIndex,
    view: CatalogView,
    settings: AppendSettings,
    *,
    model: ChatModel | None = None,
    options: ChatOptions | None = None,
) -> Play:
    """A conversation through the product: `ChatClient`, `ToolSearchToolCallingAdvisor`, and the index.

    `model` takes the scripted one's place.
    """
    play = Play()
    tools = _BenchTools(stage.catalog, stage.conversation.turns[0])
    offer = FirstOffer(passthrough_tokens=settings.passthrough_tokens, count_tools=stage.meter.count_tools)
    advisor = ToolSearchToolCallingAdvisor(
        index, tools, max_results=settings.k, max_rounds=MAX_ROUNDS, first_offer=offer
    )
    recorder = _Recorder(model or stage.scripted(Manner(search=OWN_SEARCH)), stage, play)
    client = ChatClient(recorder, advisors=[advisor])
    messages: list[Message] = [SystemMessage(content=SYSTEM_TEXT)]
    for turn in stage.conversation.turns:
        tools.turn, tools.called = turn, set()
        messages.append(UserMessage(content=turn.user))
        request = ChatClientRequest(
            prompt=Prompt(messages=tuple(messages), options=options or ChatOptions()),
            context={TOOL_OPTIONS: ToolCallingChatOptions(scope=view.scope)},
        )
        response = await client.call(request)
        messages += response.context[NEW_MESSAGES]
        play.called.append(frozenset(tools.called))
    return play
