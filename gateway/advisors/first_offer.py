"""What a run over a catalog shows before the model has searched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias, get_args

from gateway.advisors.conversation_notes import digest_of
from gateway.advisors.search_run import ToolSearchRun, catalog_name, names_in
from gateway.chat.memory import Turn
from gateway.chat.messages import Message, UserMessage, text_of
from gateway.chat.prompt import ToolSpec
from gateway.threads import run_in_thread
from gateway.tools.search_tool import SearchQuery, SearchRecord, ToolSearchTool
from indexer import StoredTool, ToolDefinition, ToolIndex, model_alias
from indexer.definition import TrustTier

ToolCounter: TypeAlias = Callable[[Sequence[ToolSpec]], int]
"""Counts the tokens that tools take in a prompt."""

MAX_PINS_SHOWN: Final = 32
"""With them, and all that one conversation may find, a prompt stays about within the 128 tools that OpenAI takes."""
_TIERS: Final = get_args(TrustTier)
_MAX_COUNTED: Final = 256
_MAX_PASSTHROUGH_TOOLS: Final = 128
"""OpenAI refuses longer lists ("Invalid 'tools': array too long"), and nobody else wants them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOffer:
    """Ways to spare a model its first search; all are off by default."""

    passthrough_tokens: int = 0
    """A catalog whose tools take no more than this is shown whole, without a search tool."""
    count_tools: ToolCounter | None = None
    """Needed for `passthrough_tokens`."""
    preload_min_score: float | None = None
    """Tools that match what the user says at least so well (0 to 1) are shown at once."""
    preload_max: int = 3
    """Tools shown at once for one message of the user."""
    described_namespaces: int = 0
    """The search tool names the caller's namespaces if there are no more than this, the same in every turn of a
    conversation."""

    @property
    def is_noted(self) -> bool:
        """Whether it shows what a conversation's messages do not tell."""
        return bool(self.described_namespaces) or self.preload_min_score is not None


class CountedCatalogs:
    """The token counts of small catalogs, by what they hold: counting one again for every request takes too long."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[tuple[str, str], ...], int] = {}

    async def tokens(self, held: Sequence[tuple[str, StoredTool]], count: ToolCounter, run: ToolSearchRun) -> int:
        """The tokens of tools under the names that the model would see."""
        key = tuple((name, stored.content_hash) for name, stored in held)
        known = self._tokens.get(key)
        if known is None:
            specs = [run.factory.callback_for(stored.definition, name).spec for name, stored in held]
            known = await run_in_thread(partial(count, specs), name="counting the tokens of a catalog")
            if len(self._tokens) >= _MAX_COUNTED:
                self._tokens.clear()
            self._tokens[key] = known
        return known


def pins_shown(pinned: Sequence[ToolDefinition]) -> Sequence[ToolDefinition]:
    """The pinned tools that a request shows, in the catalog's order; of too many, those of the highest trust.

    Anyone who may register may pin: without a bound, one publisher could fill every prompt of everyone, or the tool
    list that a provider takes. The others are found by search like any tool.
    """
    if len(pinned) <= MAX_PINS_SHOWN:
        return pinned
    kept = {one.key for one in sorted(pinned, key=lambda one: _TIERS.index(one.trust))[:MAX_PINS_SHOWN]}
    return [one for one in pinned if one.key in kept]


async def small_catalog(run: ToolSearchRun, index: ToolIndex, offer: FirstOffer, counted: CountedCatalogs) -> bool:
    """Show the whole catalog if it is small enough; whether it was."""
    if not offer.passthrough_tokens or offer.count_tools is None:
        return False
    size = sum((await index.namespaces(run.scope)).values())
    if not 0 < size <= _MAX_PASSTHROUGH_TOOLS:
        return False
    named = [(run.visible_name(model_alias(one.key)), one) for one in await index.list_tools(run.scope, limit=size)]
    shown = [(name, one) for name, one in named if name is not None]
    if await counted.tokens(shown, offer.count_tools, run) > offer.passthrough_tokens:
        return False
    for name, stored in shown:
        run.discover(name, stored.definition, pinned=True)
    return True


async def namespaces_to_name(run: ToolSearchRun, index: ToolIndex, offer: FirstOffer) -> tuple[str, ...]:
    """The namespaces that the search tool names, in order, as this conversation was told them; none if too many."""
    if not offer.described_namespaces:
        return ()
    names = run.notes.namespaces
    if names is None:
        held = sorted(await index.namespaces(run.scope))
        names = tuple(held) if len(held) <= offer.described_namespaces else ()
        run.notes = replace(run.notes, namespaces=names)
    return names


async def rediscover(
    run: ToolSearchRun,
    index: ToolIndex,
    search_tool: ToolSearchTool,
    offer: FirstOffer,
    *,
    owed: Sequence[str],
    earlier: Sequence[Turn],
) -> None:
    """Show again, in the order of the conversation, what it has found before and what it is owed at once.

    `owed`: what the request itself speaks of. A tool that is no longer in the caller's scope is left out.
    """
    names = [*owed, *(name for turn in earlier for name in (*turn.tools, *names_in(turn.messages)))]
    names += names_in(run.messages)
    names += [name for noted in run.notes.preloaded.values() for name in noted]
    own = {spec.name for spec in run.client_tools}
    wanted = {name: catalog_name(name) for name in names if name not in own and name not in run.callbacks}
    known = await index.resolve(wanted.values(), run.scope) if wanted else {}

    def show(some: Sequence[str]) -> None:
        for name in some:
            definition = known.get(wanted.get(name, ""))
            if definition is not None and run.visible_name(wanted[name]) == name:
                run.discover(name, definition)

    show(owed)
    for turn in earlier:
        show(turn.tools)
        show(names_in(turn.messages))
    preloaded: dict[str, tuple[str, ...]] = {}
    for message in run.messages:
        show(names_in([message]))
        if offer.preload_min_score is not None and isinstance(message, UserMessage):
            said = digest_of(text_of(message.content))
            noted = run.notes.preloaded.get(said)
            if noted is None:
                is_new = message is _last_user_message(run.messages)
                noted = await _preload(run, search_tool, offer, message, is_new=is_new)
            show(noted)
            preloaded[said] = noted
    run.notes = replace(run.notes, preloaded=preloaded)


async def _preload(
    run: ToolSearchRun, search_tool: ToolSearchTool, offer: FirstOffer, message: UserMessage, *, is_new: bool
) -> tuple[str, ...]:
    """Show what matches a message well; the names."""
    text = text_of(message.content).strip()
    if not text or not run.room():
        return ()
    query = SearchQuery(queries=(text,), max_results=offer.preload_max)
    response = await search_tool.search(query, run.scope)
    confident = [one for one in response.results if one.score >= (offer.preload_min_score or 0)]
    shown: list[str] = []
    for reference in confident:
        name = run.visible_name(reference.alias)
        if name is not None:
            run.discover(name, reference.definition)
            shown.append(name)
    if is_new and confident:
        run.preloaded = SearchRecord(
            round=0,
            queries=query.queries,
            results=tuple(confident),
            degraded=response.degraded,
            stale=response.stale,
            took_ms=response.took_ms,
        )
    return tuple(shown)


def _last_user_message(messages: Sequence[Message]) -> Message | None:
    return next((one for one in reversed(messages) if isinstance(one, UserMessage)), None)
