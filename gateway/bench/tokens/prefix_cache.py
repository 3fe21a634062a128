"""What a provider's prompt cache would do with the requests of one conversation; pure.

A request is cut into blocks (system text, tools, messages) in the order in which the provider reads them. A block is
equal to another if its key is; what is shared is counted in whole blocks, which at worst says a little too little.
All requests of a conversation are taken to follow each other before a cache entry expires.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

RuleName = Literal["openai", "anthropic"]


class Block(NamedTuple):
    """A part of a prompt."""

    key: Hashable
    tokens: int


@dataclass(frozen=True, slots=True)
class RequestBlocks:
    """A prompt as its provider lays it out: `tools`, `system` and `messages` each in their own order."""

    system: tuple[Block, ...]
    tools: tuple[Block, ...]
    messages: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        return sum(block.tokens for part in (self.system, self.tools, self.messages) for block in part)


class CacheUse(NamedTuple):
    """How the tokens of one prompt were billed."""

    read: int
    """From the cache."""
    written: int
    """Into the cache, and so read later at the price of a read."""
    plain: int
    """Neither."""

    def __add__(self, other: object) -> "CacheUse":  # pyright: ignore[reportIncompatibleMethodOverride] - a sum of tokens, not a longer tuple
        if not isinstance(other, CacheUse):
            return NotImplemented
        return CacheUse(self.read + other.read, self.written + other.written, self.plain + other.plain)

    @property
    def total(self) -> int:
        return self.read + self.written + self.plain


class PrefixCacheRule(Protocol):
    """How one provider caches."""

    @property
    def note(self) -> str:
        """The rule and its source, in a sentence."""
        ...

    def replay(self, requests: Sequence[RequestBlocks]) -> list[CacheUse]:
        """The use of the cache by each request of one conversation, in order."""
        ...


@dataclass(frozen=True, slots=True)
class ExactPrefixRule:
    """OpenAI: the longest exact prefix that any earlier request shares, from 1,024 tokens in steps of 128.

    Tools stand after the first system text. Nothing has to be marked. Source: OpenAI, "Prompt caching" guide
    (developers.openai.com/api/docs/guides/prompt-caching).
    """

    minimum: int = 1024
    step: int = 128
    note: str = "OpenAI: exact prefix, from 1,024 tokens in steps of 128 (OpenAI, Prompt caching guide)"

    def replay(self, requests: Sequence[RequestBlocks]) -> list[CacheUse]:
        known: set[int] = set()
        return [self._use(request, known) for request in requests]

    def _use(self, request: RequestBlocks, known: set[int]) -> CacheUse:
        total = shared = 0
        prefix, sharing = 0, True
        for block in (*request.system, *request.tools, *request.messages):
            prefix = hash((prefix, block.key))
            total += block.tokens
            sharing = sharing and prefix in known
            if sharing:
                shared = total
            known.add(prefix)
        read = self._steps(shared)
        written = self._steps(total) - read
        return CacheUse(read, written, total - read - written)

    def _steps(self, tokens: int) -> int:
        return tokens - tokens % self.step if tokens >= self.minimum else 0


@dataclass(frozen=True, slots=True)
class BreakpointRule:
    """Anthropic: tools, then system, then messages; what stands before a breakpoint is written and read whole.

    A client is taken to mark the last tool, the last system block and the last message. At each mark the longest
    prefix that was written before is looked for, at most `lookback` blocks back. Source: Anthropic, "Prompt caching"
    (platform.claude.com/docs/en/build-with-claude/prompt-caching). `minimum` depends on the model: 1,024 tokens for
    most, up to 4,096 for some.
    """

    minimum: int = 1024
    lookback: int = 20
    note: str = (
        "Anthropic: tools, system, messages; marks after each of them, minimum 1,024 tokens, 20 blocks of lookback "
        "(Anthropic, Prompt caching)"
    )

    def replay(self, requests: Sequence[RequestBlocks]) -> list[CacheUse]:
        written: set[int] = set()
        return [self._use(request, written) for request in requests]

    def _use(self, request: RequestBlocks, written: set[int]) -> CacheUse:
        blocks = (*request.tools, *request.system, *request.messages)
        prefixes: list[int] = []
        totals: list[int] = []
        prefix = total = 0
        for block in blocks:
            prefix = hash((prefix, block.key))
            total += block.tokens
            prefixes.append(prefix)
            totals.append(total)
        tools, system = len(request.tools), len(request.tools) + len(request.system)
        marks = sorted({place - 1 for place in (tools, system, len(blocks)) if place})
        read = 0
        for mark in reversed(marks):
            hit = next(
                (back for back in range(mark, max(-1, mark - self.lookback - 1), -1) if prefixes[back] in written), None
            )
            if hit is not None:
                read = totals[hit]
                break
        cacheable = [mark for mark in marks if totals[mark] >= self.minimum]
        written.update(prefixes[mark] for mark in cacheable)
        end = max((totals[mark] for mark in cacheable), default=0)
        return CacheUse(read, max(0, end - read), total - max(end, read))


CACHE_RULES: Final[dict[RuleName, PrefixCacheRule]] = {"openai": ExactPrefixRule(), "anthropic": BreakpointRule()}
