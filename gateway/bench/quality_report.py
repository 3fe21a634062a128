"""A quality report for people: markdown with one table, one plot and how to read them."""

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from gateway.bench.markdown import markdown_table
from gateway.bench.quality_figures import BASELINES, QualityReport, SetQuality
from gateway.bench.retrieval_metrics import METRICS

_PLOT_WIDTH: Final = 50
_FULL, _EMPTY = "█", "·"
_SHORT: Final = dict(zip(METRICS, ("nDCG@10", "R@1", "R@5", "R@10", "MRR", "C@10", "hit@1"), strict=True))


def render_markdown(report: QualityReport) -> str:
    """The report as markdown, figures in percent."""
    if not report.sets:
        return f"# Search quality\n\nNo set has a query in the `{report.split}` half.\n"
    parts = [
        "# Search quality",
        f"Encoder `{report.encoder}`, queries: {report.split}, {len(report.sets)} sets, {report.seconds:.0f} s. "
        "Figures are percent; ± and brackets are 95 % intervals from 1,000 resamples of the queries.",
        _table(report.sets),
        "C@10: every needed tool is among the first ten. Gain: nDCG@10 over BM25 on fields, paired.",
        *_peers(report),
        "## Requests that should be refused",
        _refusals(report.sets),
        "At 95 % kept: the threshold that keeps 95 % of a set's own queries. Weak: by the catalog's own calibration, "
        "made from foreign requests alone. Removed: the set's queries with every right tool taken out of the catalog.",
        "## nDCG@10",
        _plot(report.sets),
    ]
    return "\n\n".join(parts) + "\n"


def _peers(report: QualityReport) -> list[str]:
    """Peers' nDCG@10 and time beside the product's, and why one is missing; nothing where none was asked for."""
    names = list(dict.fromkeys(name for entry in report.sets for name in (*entry.peers, *entry.skipped)))
    if not names:
        return []
    rows: list[list[str]] = []
    for name in ("toolscout", *names):
        systems = [entry.product if name == "toolscout" else entry.peers.get(name) for entry in report.sets]
        if any(systems):
            cells = [f"{one.means[METRICS[0]]:.1f} ({one.p50_ms:.2f})" if one else "skipped" for one in systems]
            version = report.peer_versions.get(name)
            rows.append([f"{name} ({version})" if version else name, *cells])
    reasons: dict[str, list[str]] = {}
    for entry in report.sets:
        for name, why in entry.skipped.items():
            reasons.setdefault(f"{name}: {why}", []).append(entry.name)
    lines = [f"- {why} ({', '.join(sets)})" for why, sets in reasons.items()]
    heads = ["system", *(entry.name for entry in report.sets)]
    parts = ["## Peers", "nDCG@10, and p50 of a query in ms.", markdown_table(heads, rows)]
    return [*parts, "Skipped:\n\n" + "\n".join(lines)] if lines else parts


def _table(sets: Sequence[SetQuality]) -> str:
    header = [
        "set", "tools", "queries", *_SHORT.values(), "±", *(name.replace("-", " ") for name in BASELINES), "gain",
        "p50 ms",
    ]  # fmt: skip
    rows = [_row(entry) for entry in sets]
    if len(sets) > 1:
        means = [f"**{fmean(entry.product.means[name] for entry in sets):.1f}**" for name in METRICS]
        baselines = [f"{fmean(entry.baselines[name].means[METRICS[0]] for entry in sets):.1f}" for name in BASELINES]
        gain = f"{fmean(entry.gain[0] for entry in sets):+.1f}"
        rows.append(["**mean**", "", "", *means, "", *baselines, gain, ""])
    return markdown_table(header, rows)


def _row(entry: SetQuality) -> list[str]:
    product = entry.product
    gain, low, high = entry.gain
    return [
        entry.name,
        f"{entry.tools:,}",
        f"{entry.queries:,}",
        *(f"{product.means[name]:.1f}" for name in METRICS),
        f"{(product.interval[1] - product.interval[0]) / 2:.1f}",
        *(f"{entry.baselines[name].means[METRICS[0]]:.1f}" for name in BASELINES),
        f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]",
        f"{product.p50_ms:.2f}",
    ]


def _refusals(sets: Sequence[SetQuality]) -> str:
    header = [
        "set", "own kept as good", "removed: refused at 95 % kept", "as weak", "AUC",
        "negatives: refused at 95 % kept", "as weak", "AUC",
    ]  # fmt: skip
    rows: list[list[str]] = []
    for entry in sets:
        if (abstention := entry.abstention) is None:
            continue
        cells = [entry.name, f"{abstention.kept_as_good:.1f}"]
        for refusals in (abstention.removed, abstention.negatives):
            values = (refusals.refused, refusals.refused_as_weak, refusals.auc) if refusals is not None else ()
            cells.extend([f"{value:.1f}" for value in values] or [""] * 3)
        rows.append(cells)
    return markdown_table(header, rows)


def _plot(sets: Sequence[SetQuality]) -> str:
    """Bars of nDCG@10; `|` marks BM25 on fields."""
    width = max(len(entry.name) for entry in sets)
    lines = [f"{'':{width}} `|` is BM25 on fields".replace("`", "")]
    for entry in sets:
        value = entry.product.means[METRICS[0]]
        filled = round(value / 100 * _PLOT_WIDTH)
        bar = list(_FULL * filled + _EMPTY * (_PLOT_WIDTH - filled))
        mark = round(entry.baselines[BASELINES[1]].means[METRICS[0]] / 100 * _PLOT_WIDTH)
        bar[min(mark, _PLOT_WIDTH - 1)] = "|"
        lines.append(f"{entry.name:{width}} {''.join(bar)} {value:5.1f}")
    return "```\n" + "\n".join(lines) + "\n```"
