"""One run of the loop over a catalog: which tools it has discovered, and the search tool bound to it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.advisors.conversation_notes import ConversationNotes
from gateway.advisors.loop_run import ToolLoopRun
from gateway.chat.messages import AssistantMessage, Message, ToolResponseMessage, UserMessage, text_of
from gateway.chat.prompt import ToolSpec
from gateway.errors import ToolExecutionError
from gateway.tools.callback import ToolMetadata
from gateway.tools.context import ToolContext
from gateway.tools.listed_tool import ListedTool
from gateway.tools.resolver import ToolCallbackFactory
from gateway.tools.search_answers import (
    FoundTool,
    empty_text,
    found_text,
    full_text,
    listed_names,
    repeated_text,
    withheld_text,
)
from gateway.tools.search_tool import SEARCH_TOOL_NAME, SEARCH_TOOL_SPEC, SearchQuery, SearchRecord, ToolSearchTool
from indexer import IndexerError, SearchScope, ToolDefinition, ToolIndex, ToolKey, ToolSearchResponse

SEARCHES: Final = "searches"

_MAX_ALIAS_LENGTH: Final = 64
_MAX_CONTEXT: Final = 1_000
"""Characters of the user's message that a search is told."""
_SUFFIX: Final = re.compile(r"(.+)_([0-9a-f]{8})\Z")


_METADATA: Final = ToolMetadata(checks_arguments=True, repeatable=True)
"""It answers repetitions itself, with what was found."""


@dataclass(slots=True)
class _Search:
    """One search of a run, in its place among the parallel ones of a round."""

    query: SearchQuery
    record: SearchRecord
    found: tuple[FoundTool, ...] = ()
    done: bool = False


@dataclass(kw_only=True)
class ToolSearchRun(ToolLoopRun):
    """A run that knows what it has discovered; the order of discovery is the order of the model's tool list."""

    index: ToolIndex
    factory: ToolCallbackFactory
    max_discovered: int
    tells_user_text: bool = True
    discovered: dict[str, ToolKey] = field(default_factory=dict[str, ToolKey])
    """By the name that the model sees, in order of discovery; pinned tools too."""
    notes: ConversationNotes = field(default_factory=ConversationNotes)
    """What the conversation was shown before."""
    preloaded: SearchRecord | None = None
    """The search that the gateway made by itself for what the user said."""
    _searches: list[_Search] = field(default_factory=list[_Search])
    _merged: int = 0

    @property
    def scope(self) -> SearchScope:
        return self.options.search_scope

    @property
    def searches(self) -> tuple[SearchRecord, ...]:
        made = (search.record for search in self._searches)
        return tuple(made) if self.preloaded is None else (self.preloaded, *made)

    @property
    def user_text(self) -> str:
        """What the user said last, for searches: a model's query may leave out what the conversation is about."""
        if not self.tells_user_text:
            return ""
        spoken = next((message for message in reversed(self.messages) if isinstance(message, UserMessage)), None)
        return text_of(spoken.content)[:_MAX_CONTEXT] if spoken is not None else ""

    @property
    def used_namespaces(self) -> frozenset[str]:
        """Namespaces of the catalog's tools that the conversation has called."""
        called = {
            call.name
            for message in (*self.messages, *self.new_messages)
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        }
        return frozenset(key.namespace for name, key in self.discovered.items() if name in called)

    def visible_name(self, alias: str) -> str | None:
        """The name under which a catalog tool can be shown: another one where a tool outside the catalog has its own.

        None where it must be withheld, because its name leaves no room for what would tell it apart.
        """
        taken = {spec.name for spec in self.client_tools}
        taken.update(name for name in self.callbacks if name not in self.discovered)
        if alias not in taken:
            return alias
        renamed = f"{alias}_{_digest(alias)}"
        return None if len(renamed) > _MAX_ALIAS_LENGTH or renamed in taken else renamed

    def discover(self, name: str, definition: ToolDefinition, *, pinned: bool = False) -> None:
        """Show a catalog tool from the next model call on; one that is shown already keeps its place."""
        if name in self.discovered or not (pinned or self.room()):
            return
        self.max_discovered += pinned  # pinned tools take no one's place
        self.discovered[name] = definition.key
        callback = self.factory.callback_for(definition, name)
        if callback.metadata.runs_here:
            callback = ListedTool(callback=callback, key=definition.key, index=self.index, scope=self.scope)
        self.callbacks[name] = callback

    def room(self) -> int:
        """How many more tools this conversation may be shown, those found in this round taken off."""
        waiting = {tool.name for search in self._searches[self._merged :] for tool in search.found}
        return self.max_discovered - len(self.discovered) - len(waiting - self.discovered.keys())

    def begin_search(self, query: SearchQuery) -> tuple[_Search, _Search | None]:
        """A place for a search, taken in call order, and the finished search that asked for the same, if any."""
        same = next(
            (
                search
                for search in self._searches
                if search.done and search.query.key == query.key and search.query.max_results >= query.max_results
            ),
            None,
        )
        record = SearchRecord(
            round=self.model_calls, queries=query.queries, namespace=query.namespace, repeated=same is not None
        )
        search = _Search(query, record)
        self._searches.append(search)
        return search, same

    def merge_discoveries(self) -> None:
        """Show what the searches of the round have found: in call order, whichever of them finished first."""
        fresh, self._merged = self._searches[self._merged :], len(self._searches)
        for search in fresh:
            for tool in search.found:
                self.discover(tool.name, tool.reference.definition)


@dataclass(frozen=True, slots=True)
class BoundSearchTool:
    """The search tool of one run: the same bytes in every run, the run's scope and memory behind it."""

    run: ToolSearchRun
    tool: ToolSearchTool
    spec: ToolSpec = SEARCH_TOOL_SPEC

    @property
    def metadata(self) -> ToolMetadata:
        return _METADATA

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """Search, note what was found, and say it. Raises: ToolArgumentsError, ToolExecutionError."""
        query = self.tool.parse(arguments)
        search, same = self.run.begin_search(query)
        if same is not None:
            search.done = True
            search.record = replace(search.record, results=same.record.results)
            self.run.guard.count_stop(self.spec.name)
            return repeated_text(same.found)
        try:
            response = await self.tool.search(
                query,
                self.run.scope,
                already_found=frozenset(self.run.discovered.values()),
                context=self.run.user_text,
                used_namespaces=self.run.used_namespaces,
            )
        except IndexerError as error:
            raise ToolExecutionError(
                f"the tool search is not available right now ({error}). Do not search again for now: go on with the "
                "tools you have, and tell the user what cannot be done"
            ) from error
        search.record = _recorded(search.record, response)
        search.found = tuple(self._shown(response))
        search.done = True
        if search.found:
            return found_text(query, search.found, is_new=response.empty_reason != "all_already_found")
        if not response.results:
            return empty_text(query, response)
        return withheld_text() if self.run.room() else full_text(self.run.max_discovered)

    def _shown(self, response: ToolSearchResponse) -> Iterator[FoundTool]:
        """What the model may call from now on; finds beyond the conversation's cap are left out."""
        room = self.run.room()
        for reference in response.results:
            name = self.run.visible_name(reference.alias)
            if name is None:
                continue
            if name not in self.run.discovered:
                if not room:
                    continue
                room -= 1
            yield FoundTool(name=name, reference=reference)


def names_in(messages: Sequence[Message]) -> list[str]:
    """Names that earlier calls used and earlier searches listed, in order of appearance."""
    names: dict[str, None] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            names.update(dict.fromkeys(call.name for call in message.tool_calls))
        elif isinstance(message, ToolResponseMessage):
            for response in message.responses:
                if response.name == SEARCH_TOOL_NAME and not response.is_error:
                    names.update(dict.fromkeys(listed_names(text_of(response.content))))
    names.pop(SEARCH_TOOL_NAME, None)
    return list(names)


def catalog_name(name: str) -> str:
    """The catalog's own name behind one that was changed to tell it apart."""
    match = _SUFFIX.fullmatch(name)
    return match[1] if match and _digest(match[1]) == match[2] else name


def _digest(alias: str) -> str:
    return hashlib.sha256(alias.encode()).hexdigest()[:8]


def _recorded(record: SearchRecord, response: ToolSearchResponse) -> SearchRecord:
    return replace(
        record,
        results=response.results,
        empty_reason=response.empty_reason,
        degraded=response.degraded,
        stale=response.stale,
        took_ms=response.took_ms,
    )
