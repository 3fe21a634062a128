"""What is asked of the index and what it answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from indexer.definition import DEFAULT_TENANT, ToolDefinition, ToolKey, TrustTier

Degradation = Literal["none", "lexical", "exact"]
"""How far a search fell back: dense and lexical, lexical only, exact names only."""

Reranking = Literal["off", "done", "timeout", "failed"]
"""What came of the second look at the results; after `timeout` and `failed` they are in the order of the search."""

EmptyReason = Literal["", "catalog_empty", "nothing_in_scope", "no_match", "all_already_found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """The view of the catalog a caller has: applied inside the engine and checked again after it."""

    tenant: str = DEFAULT_TENANT
    namespaces: frozenset[str] | None = None
    """Only these namespaces; None: all of them. An empty set sees nothing."""
    tags: frozenset[str] = frozenset()
    """A tool must carry every one of these."""
    trust: frozenset[TrustTier] | None = None
    """Only these trust tiers; None: all of them."""
    tools: frozenset[ToolKey] | None = None
    """An allow-list of tools; None: no list. An empty set sees nothing."""

    def __post_init__(self) -> None:
        """Raises: TypeError for what is no set: a text would be searched for parts of it."""
        for name in ("namespaces", "tags", "trust", "tools"):
            value: object = getattr(self, name)
            if not isinstance(value, frozenset | None):
                raise TypeError(f"SearchScope({name}=...) takes a frozenset, not {type(value).__name__}")

    def admits(self, definition: ToolDefinition) -> bool:
        """Whether a definition lies within this view."""
        return (
            definition.tenant == self.tenant
            and (self.namespaces is None or definition.namespace in self.namespaces)
            and self.tags.issubset(definition.tags)
            and (self.trust is None or definition.trust in self.trust)
            and (self.tools is None or definition.key in self.tools)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchRequest:
    """One search, of one or several needs."""

    queries: tuple[str, ...]
    """One to five needs; the places are shared among them."""
    max_results: int = 5
    scope: SearchScope = field(default_factory=SearchScope)
    already_found: frozenset[ToolKey] = frozenset()
    """Tools the caller has: undiscovered matches come first."""
    min_confidence: float = 0.0
    """Matches below it are left out, 0 to 1; weak ones lie below one half. Exact names always come."""
    worth_share: float = 0.0
    """Of the places only those whose score is at least this share of the best new one, 0 to 1; 0: all of them."""
    context: str = ""
    """What the conversation is about, in the user's own words: weighs less than the queries."""
    used_namespaces: frozenset[str] = frozenset()
    """Namespaces of tools that the conversation has called: their tools rank a little higher."""
    collapse_duplicates: bool = True
    """One place for a tool that several namespaces hold; not where `scope` names namespaces or a query a tool."""

    def __post_init__(self) -> None:
        """Raises: TypeError for queries that are no texts: the letters of one text would be searched for."""
        queries = cast("Iterable[object]", self.queries)
        if isinstance(queries, str) or not all(isinstance(query, str) for query in queries):
            raise TypeError('ToolSearchRequest(queries=...) takes texts, as in queries=("refund an order",)')


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReference:
    """One found tool and why it was found."""

    definition: ToolDefinition
    alias: str
    """The model-facing name: 1 to 64 of `[A-Za-z0-9_-]`."""
    score: float
    """Between 0 and 1, of four decimals; 1 is an exact name."""
    reasons: tuple[str, ...]
    """For people: 'exact name', 'words: refund, order', 'meaning: 0.62'."""
    query: str
    """The need that this tool was found for."""
    also_in: tuple[str, ...] = ()
    """Other namespaces that hold a near-duplicate of this tool, which was left out; ask for one to get its own."""
    also_as: tuple[str, ...] = ()
    """Names of the same operation of other parents in this namespace, which were left out; ask for one by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchResponse:
    """The answer to a search; when it holds nothing new it says why."""

    results: tuple[ToolReference, ...]
    catalog_revision: int
    degraded: Degradation = "none"
    stale: bool = False
    """The store has not answered for a while: what others changed since then is missing."""
    stale_seconds: float = 0.0
    """For how long it has not answered, when stale."""
    calibrating: bool = False
    """What a weak match is in this catalog is being measured; until then middle values decide."""
    empty_reason: EmptyReason = ""
    """Why there is nothing, or nothing new: `all_already_found` comes with the tools that the caller has already."""
    namespaces: tuple[str, ...] = ()
    """Namespaces worth trying, when the answer is empty."""
    reranking: Reranking = "off"
    took_ms: float = 0.0
    """Of three decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedTool:
    """A definition that was not taken, or was taken into quarantine."""

    place: str
    """Where it stands: 'line 7', 'tools[3]', 'default/get_weather'."""
    tool: str
    field: str
    reason: str
    fix: str = ""


MAX_LISTED: Final = 1_000
"""Tools of one kind that a report names; of a stream without end it counts the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationReport:
    """What a registration did; nothing that came in is left unsaid."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    quarantined: tuple[RejectedTool, ...] = ()
    """Kept with their reason, visible to their owner, never found by a search."""
    refused: tuple[RejectedTool, ...] = ()
    """Not kept: they cannot even be named."""
    unlisted_quarantined: int = 0
    """How many more there were than are listed."""
    unlisted_refused: int = 0
    catalog_revision: int = 0
    seconds: float = 0.0

    @property
    def quarantined_count(self) -> int:
        return len(self.quarantined) + self.unlisted_quarantined

    @property
    def refused_count(self) -> int:
        return len(self.refused) + self.unlisted_refused

    @property
    def total(self) -> int:
        return self.added + self.changed + self.unchanged + self.quarantined_count + self.refused_count


def merge_reports(reports: Sequence[RegistrationReport]) -> RegistrationReport:
    """The sum of several reports, of batches of one run say; names the first `MAX_LISTED` of each kind."""
    quarantined = [entry for report in reports for entry in report.quarantined]
    refused = [entry for report in reports for entry in report.refused]
    return RegistrationReport(
        added=sum(report.added for report in reports),
        changed=sum(report.changed for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        quarantined=tuple(quarantined[:MAX_LISTED]),
        refused=tuple(refused[:MAX_LISTED]),
        unlisted_quarantined=sum(report.quarantined_count for report in reports) - len(quarantined[:MAX_LISTED]),
        unlisted_refused=sum(report.refused_count for report in reports) - len(refused[:MAX_LISTED]),
        catalog_revision=max((report.catalog_revision for report in reports), default=0),
        seconds=sum(report.seconds for report in reports),
    )
