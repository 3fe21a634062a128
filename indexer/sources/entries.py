"""What every source yields, and what is the same for all of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar

from indexer.definition import DEFAULT_TENANT, ToolDefinition, ToolKey, TrustTier
from indexer.errors import InvalidToolError, SourceError
from indexer.search import RejectedTool

Raw = TypeVar("Raw")

Entry: TypeAlias = ToolDefinition | RejectedTool
Placed: TypeAlias = tuple[str, ToolDefinition | InvalidToolError]
"""A place in the source ('line 7') and what was read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What the operator says about everything a source yields."""

    namespace: str | None = None
    """None: the source's own choice. For sources of several namespaces it is the part before the first dot."""
    tenant: str = DEFAULT_TENANT
    publisher: str = ""
    trust: TrustTier = "community"

    def applied(self, definition: ToolDefinition) -> ToolDefinition:
        """The definition under this tenant, with this publisher and trust where it says nothing itself."""
        changes: dict[str, Any] = {"tenant": self.tenant} if definition.tenant != self.tenant else {}
        if self.publisher and not definition.publisher:
            changes["publisher"] = self.publisher
        if self.trust != "community" and definition.trust == "community":
            changes["trust"] = self.trust
        return replace(definition, **changes) if changes else definition


class Source(Protocol):
    """A catalog from elsewhere. Reading is synchronous: run it in a worker thread from async code."""

    @property
    def name(self) -> str:
        """What it is called in errors and progress bars."""
        ...

    @property
    def spec(self) -> str:
        """The specification that opens it again."""
        ...

    @property
    def total(self) -> int | None:
        """How many entries it will yield, where that is known before reading them all; never raises."""
        ...

    def entries(self) -> Iterator[Entry]:
        """Definitions, and what was refused with its reason, as they are read; again from the start at each call.

        Raises: SourceError when it cannot be read or holds no tools.
        """
        ...


def placed(raw: Iterable[tuple[str, Raw]], read: Callable[[Raw, str], ToolDefinition]) -> Iterator[Placed]:
    """What `read` makes of each raw tool and its place, or why it cannot be taken; a bad one never stops the rest."""
    for place, tool in raw:
        try:
            definition = read(tool, place)
        except InvalidToolError as error:
            yield place, error
        else:
            yield place, definition


def reported(source: str, placed: Iterable[Placed], options: SourceOptions) -> Iterator[Entry]:
    """Entries of one source: refusals named by place, the second of two equal names refused.

    Raises: SourceError if nothing at all was read.
    """
    first_at: dict[ToolKey, str] = {}
    empty = True
    for place, read in placed:
        empty = False
        if isinstance(read, InvalidToolError):
            yield rejected(place, read)
            continue
        definition = options.applied(read)
        known = first_at.setdefault(definition.key, place)
        if known is not place:
            yield RejectedTool(
                place=place,
                tool=str(definition.key),
                field="name",
                reason=f"the same namespace and name as {known}",
                fix="Rename one of the two, or give it a namespace of its own.",
            )
            continue
        yield definition
    if empty:
        raise SourceError(source, "holds no tools", fix="Check that it is the file or server you meant.")


def rejected(place: str, error: InvalidToolError) -> RejectedTool:
    """A refusal in the form the index reports."""
    return RejectedTool(
        place=place,
        tool=error.tool.removeprefix(place).removeprefix(": "),
        field=error.field,
        reason=error.reason,
        fix=error.fix,
    )


def missing_extra(source: str, package: str, extra: str) -> SourceError:
    """The error of a source whose optional package is not installed."""
    return SourceError(source, f"needs the package {package!r}", fix=f"Run: pip install 'toolscout[{extra}]'")


def spelled_alike(name: str, known: Mapping[str, object], otherwise: str) -> str:
    """The cure for a name that nothing has: the known ones that are spelled like it, or what else there is to say."""
    import difflib

    close = difflib.get_close_matches(name, known, n=3)
    return f"Did you mean {' or '.join(close)}?" if close else otherwise


def hints_of_method(method: str) -> Mapping[str, bool]:
    """What an HTTP method promises (RFC 9110, section 9.2), as fields of `ToolAnnotations`."""
    match method.upper():
        case "GET" | "HEAD" | "OPTIONS":
            return {"read_only": True}
        case "DELETE":
            return {"destructive": True, "idempotent": True}
        case "PUT":
            return {"idempotent": True}
        case _:
            return {}
