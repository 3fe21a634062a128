"""The plots of a report, as SVG text; they need matplotlib (extra `bench`)."""

import importlib
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gateway.bench.tokens.sweep import ALL_TOOLS, APPEND, HASH_ORDER, PASSTHROUGH

Record = Mapping[str, Any]

_WIDTH, _HEIGHT = 8.2, 4.2
_COLOURS: Final = (
    "#444444",
    "#0b6e4f",
    "#d1495b",
    "#3066be",
    "#e39c12",
    "#7a4fa3",
    "#1d9fb3",
    "#8a8d3b",
    "#b8618c",
    "#777777",
)
_SALT: Final = "toolscout"
"""Makes the ids inside an SVG the same each time."""


def render_plots(group: Record, break_even: float = 0.0) -> list[tuple[str, str]]:
    """(title, SVG) of each plot of a group of conversations; `break_even`, in tools, is marked where it is above 0.

    Raises: ImportError without matplotlib.
    """
    matplotlib = _imported("matplotlib")
    matplotlib.use("svg")
    priced = group["rows"][0]["cost"][0]["model"]
    plots: Sequence[tuple[str, str, Callable[[Record], Sequence[float]], bool]] = (
        ("Prompt tokens of a conversation", "prompt tokens", lambda row: row["prompt_tokens"], True),
        (
            f"Price-weighted prompt tokens ({priced}, cache included)",
            "price-weighted tokens",
            lambda row: row["cost"][0]["weighted_prompt_tokens"],
            True,
        ),
        ("Turns whose needed tools are all among the first k", "share of turns", _share("completeness_at_k"), False),
        (
            "Conversations with every needed tool in sight when needed",
            "share of conversations",
            _share("all_visible_when_needed"),
            False,
        ),
        ("Model requests a turn", "requests", lambda row: [row["requests_per_turn"]] * 3, False),
    )
    return [
        (title, _plot(group, label, value, logarithmic=log, break_even=break_even if log else 0.0))
        for title, label, value, log in plots
    ]


def headline_plot(group: Record, break_even: float = 0.0) -> str:
    """Prompt tokens against the size of the catalog, as SVG. Raises: ImportError without matplotlib."""
    _imported("matplotlib").use("svg")
    label = "prompt tokens of a conversation"
    return _plot(group, label, lambda row: row["prompt_tokens"], logarithmic=True, break_even=break_even)


def _imported(name: str) -> Any:  # noqa: ANN401 - an optional package without types of its own
    return importlib.import_module(name)


def _share(field: str) -> Callable[[Record], Sequence[float]]:
    return lambda row: row[field]


def _plot(
    group: Record, label: str, value: Callable[[Record], Sequence[float]], *, logarithmic: bool, break_even: float
) -> str:
    settings = {"svg.hashsalt": _SALT, "svg.fonttype": "none", "font.size": 9}
    with _imported("matplotlib").rc_context(settings):
        figure = _imported("matplotlib.figure").Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        # Another order sends the same tokens, and passthrough is either append or all tools: both would hide those.
        hidden = {PASSTHROUGH} if "price" in label else {PASSTHROUGH, HASH_ORDER}
        names = dict.fromkeys(row["delivery"] for row in group["rows"] if row["delivery"] not in hidden)
        for colour, name in zip(_COLOURS * 3, names, strict=False):
            rows = [row for row in group["rows"] if row["delivery"] == name]
            sizes = [row["tools"] for row in rows]
            means, lows, highs = zip(*(value(row) for row in rows), strict=True)
            own = name in (ALL_TOOLS, APPEND)
            axes.plot(sizes, means, "o-", color=colour, label=name, linewidth=2.2 if own else 1.0, markersize=3)
            if own:
                axes.fill_between(sizes, lows, highs, color=colour, alpha=0.15, linewidth=0)
        if break_even > 0:
            axes.axvline(break_even, color="#444444", linestyle=":", linewidth=1, label="break-even")
        axes.set_xscale("log")
        if logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel("tools in the catalog")
        axes.set_ylabel(label)
        axes.grid(visible=True, which="major", alpha=0.3)
        figure.legend(fontsize=7, loc="outside right upper")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]
