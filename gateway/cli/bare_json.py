"""A command whose `--json` may stand without a file."""

from typing import Any

from typer.core import TyperCommand
from typing_extensions import override

_OPTION = "--json"


class BareJsonCommand(TyperCommand):
    """Reads `--json` at the end, or before another option, as `--json -`: Typer knows no optional values."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: Typer's own Context class is private
        filled: list[str] = []
        for place, argument in enumerate(args):
            filled.append(argument)
            following = args[place + 1] if place + 1 < len(args) else "--"
            if argument == _OPTION and following.startswith("--"):
                filled.append("-")
        return super().parse_args(ctx, filled)
