"""Who hears how far a benchmark is."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Hears (stage, done, in all); 0 in all where that is not known."""


def hear_nothing(stage: str, done: int, total: int) -> None:
    """For whoever does not want to know."""
