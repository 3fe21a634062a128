"""Where the benchmarks of a checkout lie: they are no part of an installation."""

from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
CONVERSATIONS: Final = CHECKOUT / "benchmarks" / "conversations"
"""Of real operations, with the tools that they need; only in a checkout."""
