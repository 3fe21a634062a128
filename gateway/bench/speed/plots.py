"""The plots of a run, as SVG text; they need matplotlib (extra `bench`)."""

import importlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

Record = Mapping[str, Any]

_WIDTH: Final = 8.2
_ROW_HEIGHT: Final = 0.3
_OWN: Final = "#0b6e4f"
_OTHER: Final = "#8a93a3"
_COLOURS: Final = ("#0b6e4f", "#d1495b", "#3066be", "#e39c12", "#7a4fa3", "#1d9fb3", "#8a8d3b", "#444444")
_SALT: Final = "toolscout"
"""Makes the ids inside an SVG the same each time."""


def render_plots(record: Record) -> dict[str, str]:
    """SVG by name: bars for the contenders of each race, and how costs grow. Raises: ImportError without matplotlib."""
    _imported("matplotlib").use("svg")
    plots = {race["key"]: _bars(race) for race in record["races"] if len(race["results"]) > 1}
    if record.get("growth"):
        plots["growth"] = _growth(record["growth"])
    return plots


def _imported(name: str) -> Any:  # noqa: ANN401 - an optional package without types of its own
    return importlib.import_module(name)


def _bars(race: Record) -> str:
    """Time of each contender, the fastest on top; the quartiles as a line on its bar."""
    results: Sequence[Record] = sorted(race["results"], key=lambda result: -result["ms"][0])
    names = [_label(result) for result in results]
    medians = [result["ms"][0] for result in results]
    below = [result["ms"][0] - result["ms"][1] for result in results]
    above = [result["ms"][2] - result["ms"][0] for result in results]
    colours = [_OWN if result["name"].startswith("toolscout") else _OTHER for result in results]

    def draw(axes: Any) -> None:  # noqa: ANN401 - as above
        bars = axes.barh(names, medians, xerr=[below, above], color=colours, ecolor="#333333", height=0.7)
        axes.bar_label(bars, [f" {value:,.3g} ms" for value in medians], fontsize=8)
        axes.set_xscale("log")
        axes.set_xlabel("milliseconds a query (logarithmic; less is better)")
        axes.set_title(race["title"], fontsize=10)
        axes.margins(x=0.15)

    return _svg(draw, 1.2 + _ROW_HEIGHT * len(results))


def _label(result: Record) -> str:
    check = result["check"]
    return f"{result['name']}  {check[1]:.3f}" if check else str(result["name"])


def _growth(growth: Sequence[Record]) -> str:
    """Every cost over its own at the smallest size, and a line for linear growth."""

    def draw(axes: Any) -> None:  # noqa: ANN401 - as above
        for colour, one in zip(_COLOURS * 3, growth, strict=False):
            first = one["costs"][0]
            label = f"{one['cost']} ({one['exponent']:.2f})"
            axes.plot(
                one["sizes"], [cost / first for cost in one["costs"]], "o-", color=colour, label=label, markersize=3
            )
        sizes = growth[0]["sizes"]
        axes.plot(sizes, [size / sizes[0] for size in sizes], ":", color="#777777", label="linear (1.00)")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("tools")
        axes.set_ylabel(f"cost, that of {sizes[0]:,} tools = 1")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize=7)

    return _svg(draw, 4.6)


def _svg(draw: Any, height: float) -> str:  # noqa: ANN401 - as above
    settings = {"svg.hashsalt": _SALT, "svg.fonttype": "none", "font.size": 9}
    with _imported("matplotlib").rc_context(settings):
        figure = _imported("matplotlib.figure").Figure(figsize=(_WIDTH, height), layout="constrained")
        draw(figure.subplots())
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]
