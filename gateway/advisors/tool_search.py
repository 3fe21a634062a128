"""The tool loop over a catalog: the model sees one small search tool, and whatever it has found with it."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, cast

from typing_extensions import override

from gateway.advisors.chain import HIGHEST_PRECEDENCE
from gateway.advisors.conversation_notes import ConversationNotebook, key_now, keys_later
from gateway.advisors.first_offer import (
    MAX_PINS_SHOWN,
    CountedCatalogs,
    FirstOffer,
    namespaces_to_name,
    pins_shown,
    rediscover,
    small_catalog,
)
from gateway.advisors.loop_limits import DEFAULT_MAX_ROUNDS, LoopLimits
from gateway.advisors.loop_run import DISCOVERED, EARLIER_TURNS, ToolLoopRun
from gateway.advisors.search_run import SEARCHES, BoundSearchTool, ToolSearchRun
from gateway.advisors.tool_calling import ToolCallingAdvisor
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse
from gateway.chat.messages import AssistantMessage, Message, ToolCall, ToolResponseMessage
from gateway.chat.prompt import Prompt
from gateway.errors import InvalidRequestError
from gateway.settings import LoopSafetySettings
from gateway.tools.callback import ToolCallback
from gateway.tools.client_tool import ClientToolFactory
from gateway.tools.manager import ToolCallingManager
from gateway.tools.options import tool_options
from gateway.tools.resolver import ToolCallbackFactory, ToolCallbackResolver
from gateway.tools.search_tool import SEARCH_TOOL_NAME, ToolSearchTool, search_tool_spec
from indexer import ToolIndex, model_alias

logger = logging.getLogger(__name__)

DEFAULT_MAX_DISCOVERED: Final = 100
"""Ten turns of five finds each, twice over, and OpenAI takes 128 tools in all. With 40, the later turns of every
conversation of ten turns in `toolscout bench tokens` found nothing more that they could be shown."""


class ToolSearchToolCallingAdvisor(ToolCallingAdvisor):
    """Shows the caller's tools, pinned tools, the search tool, then found tools in order of discovery.

    The list only ever grows at its end, so that the part of a prompt which providers cache stays a prefix of the next.
    What earlier turns have found is read back from the messages. Only what those do not tell, and only where
    `first_offer` shows it, is noted between requests: in a bounded notebook, so that all turns begin alike.
    """

    name = "ToolSearchToolCallingAdvisor"

    def __init__(
        self,
        index: ToolIndex,
        factory: ToolCallbackFactory | None = None,
        *,
        max_results: int = 5,
        max_discovered: int = DEFAULT_MAX_DISCOVERED,
        search_context: bool = True,
        first_offer: FirstOffer | None = None,
        notebook: ConversationNotebook | None = None,
        manager: ToolCallingManager | None = None,
        callbacks: Iterable[ToolCallback] = (),
        resolver: ToolCallbackResolver | None = None,
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        limits: LoopLimits | None = None,
        internal_history: bool | None = None,
        safety: LoopSafetySettings | None = None,
        order: int = HIGHEST_PRECEDENCE + 300,
    ) -> None:
        """`factory` makes the callbacks of found tools; without one their calls are returned to the caller.

        `max_results` caps one search and `max_discovered` one conversation: past it, further finds are not shown.
        `search_context`: a search is told what the user said beside the model's queries.
        """
        super().__init__(
            manager=manager,
            callbacks=callbacks,
            resolver=resolver,
            max_rounds=max_rounds,
            limits=limits,
            internal_history=internal_history,
            safety=safety,
            order=order,
        )
        self._index = index
        self._factory = factory or ClientToolFactory()
        self._search_tool = ToolSearchTool(index, max_results=max_results)
        self._max_discovered = max_discovered
        self._search_context = search_context
        self._first_offer = first_offer or FirstOffer()
        self._notebook = notebook or ConversationNotebook()
        self._counted = CountedCatalogs()
        self._told_of_pins = False

    @override
    async def initialize_loop(self, request: ChatClientRequest) -> ToolLoopRun:
        """Raises: InvalidRequestError for a request that leaves no room for the search tool."""
        _check(request.prompt)
        run = ToolSearchRun(
            request=request,
            options=tool_options(request.context),
            messages=list(request.prompt.messages),
            tool_choice=request.prompt.options.tool_choice,
            index=self._index,
            factory=self._factory,
            max_discovered=self._max_discovered,
            tells_user_text=self._search_context,
        )
        if request.prompt.options.extra.get("functions"):
            return (
                run  # providers refuse their retired `functions` beside tools: such a client goes on without a catalog
            )
        await self.offer_tools(run)
        pinned = await self._index.pinned(run.scope)
        self._tell_of_too_many(len(pinned))
        for definition in pins_shown(pinned):
            name = run.visible_name(model_alias(definition.key))
            if name is not None:
                run.discover(name, definition, pinned=True)
        offer = self._first_offer
        if await small_catalog(run, self._index, offer, self._counted):
            return run
        key = key_now(run) if offer.is_noted else None
        run.notes = (self._notebook.find(key) if key else None) or run.notes
        spec = search_tool_spec(await namespaces_to_name(run, self._index, offer))
        run.offer([BoundSearchTool(run, self._search_tool, spec)])
        await rediscover(
            run,
            self._index,
            self._search_tool,
            offer,
            owed=run.chosen_tools,
            earlier=request.context.get(EARLIER_TURNS, ()),
        )
        if key:
            self._notebook.keep([key], run.notes)
        return run

    def _tell_of_too_many(self, pinned: int) -> None:
        """Once: the operator cannot see in any answer that a tool is not shown."""
        if pinned > MAX_PINS_SHOWN and not self._told_of_pins:
            self._told_of_pins = True
            logger.warning(
                "%d tools are pinned, and a request shows %d: unpin those that not every conversation needs",
                pinned,
                MAX_PINS_SHOWN,
            )

    @override
    async def next_instructions(
        self, run: ToolLoopRun, message: AssistantMessage, results: ToolResponseMessage
    ) -> Sequence[Message]:
        _searching(run).merge_discoveries()
        return await super().next_instructions(run, message, results)

    @override
    async def finalize_loop(self, run: ToolLoopRun, response: ChatClientResponse | None) -> ChatClientResponse | None:
        if response is None:
            return None
        searching = _searching(run)
        if self._first_offer.is_noted and key_now(run) is None:
            self._notebook.keep(keys_later(run, response.response.message), searching.notes)
        told = {SEARCHES: searching.searches, DISCOVERED: tuple(searching.discovered)}
        return replace(response, context={**response.context, **told})

    @override
    def is_work(self, call: ToolCall) -> bool:
        """A search is not yet what the user asked for."""
        return call.name != SEARCH_TOOL_NAME


def _searching(run: ToolLoopRun) -> ToolSearchRun:
    return cast("ToolSearchRun", run)


def _check(prompt: Prompt) -> None:
    for index, tool in enumerate(prompt.tools):
        if tool.name == SEARCH_TOOL_NAME:
            raise InvalidRequestError(
                f"tools[{index}].function.name",
                f"{SEARCH_TOOL_NAME!r} is the gateway's own search tool; give this tool another name",
            )
    choices = prompt.options.extra.get("n")
    if choices not in (None, 1):
        raise InvalidRequestError("n", "must be 1: with tools run by the gateway there is one conversation to follow")
