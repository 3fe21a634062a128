"""Conversations for a catalog that has none: drawn from its own descriptions."""

import random
import re
from collections.abc import Sequence
from typing import Final

from gateway.bench.tokens.conversations import Conversation, Need, Turn
from indexer import ToolDefinition

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
_LENGTHS: Final = (1, 3, 3, 10)
_LONGEST: Final = 160


def draw_conversations(tools: Sequence[ToolDefinition], *, seed: int = 1, count: int = 24) -> list[Conversation]:
    """Conversations of 1, 3 and 10 turns, a tool each turn, searched by its first example query or its description.

    Whoever searches with the words of a description finds it: figures on these flatter every search, and a report
    must say so.
    """
    usable = [tool for tool in tools if _query(tool)]
    drawn = random.Random(seed)
    return [_conversation(number, drawn, usable) for number in range(count)] if usable else []


def _conversation(number: int, drawn: random.Random, tools: Sequence[ToolDefinition]) -> Conversation:
    turns = _LENGTHS[number % len(_LENGTHS)]
    chosen = [drawn.choice(tools) for _ in range(turns)]
    return Conversation(id=f"drawn-{number:03}", lang="und", kind="single", turns=tuple(_turn(tool) for tool in chosen))


def _turn(tool: ToolDefinition) -> Turn:
    query = _query(tool)
    return Turn(user=query, needs=(Need(f"{tool.namespace}/{tool.name}", (query,)),), answer="Done.")


def _query(tool: ToolDefinition) -> str:
    text = next((one for one in tool.example_queries if one.strip()), "")
    return (text or _SENTENCE_END.split(tool.description.strip(), maxsplit=1)[0])[:_LONGEST].strip()
