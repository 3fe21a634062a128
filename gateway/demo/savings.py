"""What a run cost in prompt tokens, and what it would have cost with every tool of the catalog in the prompt."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio.from_thread
import anyio.to_thread

from gateway.chat.messages import AssistantMessage, Message, ToolResponseMessage
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.chat.tokens import TokenCounter
from gateway.tools.client_tool import ClientToolFactory
from gateway.tools.search_tool import SEARCH_TOOL_NAME
from indexer import SearchScope, StoredTool, ToolIndex, model_alias

_PAGE: Final = 1000
_NOTE: Final = "catalog-tokens.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """Prompt tokens of all model calls of a run."""

    with_search: int
    """As sent: every round, the searches and their results included."""
    with_all_tools: int
    """The same conversation with all tools in every prompt and without the searches, which it would not need."""

    @property
    def saved(self) -> float:
        """Share of the tokens that were saved; 0 where nothing was sent."""
        return 1 - self.with_search / self.with_all_tools if self.with_all_tools else 0.0

    def __add__(self, other: "Savings") -> "Savings":
        return Savings(
            with_search=self.with_search + other.with_search, with_all_tools=self.with_all_tools + other.with_all_tools
        )


def savings_of(prompts: Sequence[Prompt], catalog_tokens: int, counter: TokenCounter) -> Savings:
    """What a run's prompts cost, next to the catalog in each prompt that is left once searching is left out.

    `catalog_tokens` are those of all tools laid out together, `CatalogTokens.total`.
    """
    bare = [without_searches(prompt.messages) for prompt in prompts]
    # A model call that only follows a search repeats the conversation before it: with all tools there is no such call.
    needed = [messages for place, messages in enumerate(bare) if place == 0 or messages != bare[place - 1]]
    plain = sum(counter.count_prompt(Prompt(messages=messages)) for messages in needed)
    return Savings(
        with_search=sum(counter.count_prompt(prompt) for prompt in prompts),
        with_all_tools=plain + len(needed) * catalog_tokens,
    )


def without_searches(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A conversation as it would stand had no tool been searched for."""
    kept: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = tuple(call for call in message.tool_calls if call.name != SEARCH_TOOL_NAME)
            if not calls:
                continue
            message = replace(message, tool_calls=calls)
        elif isinstance(message, ToolResponseMessage):
            responses = tuple(one for one in message.responses if one.name != SEARCH_TOOL_NAME)
            if not responses:
                continue
            message = replace(message, responses=responses)
        kept.append(message)
    return tuple(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTokens:
    """How many tools there are and what they cost in one prompt."""

    tools: int
    total: int


async def count_catalog(
    index: ToolIndex, counter: TokenCounter, *, home: Path, progress: Callable[[int], None]
) -> CatalogTokens:
    """Count every active tool, laid out as a provider would; remembered under the home until the catalog changes."""
    stats = await index.stats()
    key = (stats.catalog_revision, stats.tools, counter.encoding, counter.layout)
    known = await anyio.to_thread.run_sync(_remembered, home, key)
    if known is None:
        # In a thread: counting tens of millions of tokens takes seconds, and pages are fetched as they are needed.
        known = await anyio.to_thread.run_sync(lambda: counter.count_tools(_specs(index, progress)))
        await anyio.to_thread.run_sync(_remember, home, key, known)
    return CatalogTokens(tools=stats.tools, total=known)


def _specs(index: ToolIndex, progress: Callable[[int], None]) -> Iterator[ToolSpec]:
    """Every active tool as a model would see it; called from a worker thread."""
    factory = ClientToolFactory()
    offset = 0
    while page := anyio.from_thread.run(_page, index, offset):
        for stored in page:
            yield factory.callback_for(stored.definition, model_alias(stored.key)).spec
        offset += len(page)
        progress(offset)


async def _page(index: ToolIndex, offset: int) -> Sequence[StoredTool]:
    return await index.list_tools(SearchScope(), offset=offset, limit=_PAGE)


def _remembered(home: Path, key: tuple[object, ...]) -> int | None:
    try:
        note = json.loads((home / _NOTE).read_text(encoding="utf-8"))
        return int(note["tokens"]) if note["key"] == list(key) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remember(home: Path, key: tuple[object, ...], tokens: int) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / _NOTE).write_text(json.dumps({"key": key, "tokens": tokens}), encoding="utf-8")
