"""Counts what the loop does: rounds, calls by tool, tokens by round."""

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from gateway.advisors.base import BaseAdvisor
from gateway.advisors.chain import HIGHEST_PRECEDENCE
from gateway.advisors.loop_run import ROUND
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse
from gateway.chat.json_text import whole_text

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter as TelemetryCounter

ITERATIONS: Final = "agent.tool.loop.iterations"
CALLS: Final = "agent.tool.calls"
TOKENS: Final = "agent.tool.loop.tokens"

OTHER: Final = "other"
_MAX_SHOWN_ROUND: Final = 20
_HELP: Final = {
    ITERATIONS: "Model calls made by tool loops.",
    CALLS: "Tool calls that models asked for, by tool.",
    TOKENS: "Tokens by kind and by the model call of the run, counted from 1.",
}

Labels = tuple[tuple[str, str], ...]


class MetricsSink(Protocol):
    """Takes counts."""

    def add(self, name: str, amount: int, labels: Mapping[str, str]) -> None: ...


class CountingSink:
    """Counts in this process; `prometheus_text` is what a scraper reads."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Labels]] = Counter()
        self._lock = Lock()

    def add(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += amount

    def count(self, name: str, **labels: str) -> int:
        """The count under exactly these labels."""
        return self._counts[name, tuple(sorted(labels.items()))]

    def prometheus_text(self, **more: str) -> str:
        """All counts in Prometheus' text format, version 0.0.4; each has the labels `more` beside its own."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines: list[str] = []
        shown = ""
        for (name, labels), count in counts:
            metric = name.replace(".", "_") + "_total"
            if name != shown:
                lines += [f"# HELP {metric} {_HELP.get(name, name)}", f"# TYPE {metric} counter"]
                shown = name
            lines.append(f"{metric}{prometheus_labels({**dict(labels), **more})} {count}")
        return "\n".join(lines) + "\n" if lines else ""


class OpenTelemetrySink:
    """Hands counts to OpenTelemetry's meter; needs `opentelemetry-api`, and an SDK for them to go anywhere."""

    def __init__(self) -> None:
        from opentelemetry.metrics import get_meter

        self._meter = get_meter("toolscout")
        self._counters: dict[str, TelemetryCounter] = {}

    def add(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        if name not in self._counters:
            self._counters[name] = self._meter.create_counter(name, description=_HELP.get(name, ""))
        self._counters[name].add(amount, labels)


class ToolLoopMetricsAdvisor(BaseAdvisor):
    """Counts every round of every loop that it stands in.

    The most used tools have a label of their own, and all others are counted as `other`.
    """

    name = "ToolLoopMetricsAdvisor"

    def __init__(self, *sinks: MetricsSink, max_tool_names: int = 50, order: int = HIGHEST_PRECEDENCE + 400) -> None:
        self._sinks = sinks
        self._labels = ToolLabels(max_tool_names)
        self.order = order

    async def after(self, request: ChatClientRequest, response: ChatClientResponse) -> ChatClientResponse:
        self._add(ITERATIONS, 1)
        visible = {tool.name for tool in request.prompt.tools}
        for call in response.response.message.tool_calls:
            self._add(CALLS, 1, tool=self._labels.of(whole_text(call.name)) if call.name in visible else OTHER)
        usage = response.response.usage
        if usage is not None:
            place = int(request.context.get(ROUND, 1))
            iteration = str(place) if place <= _MAX_SHOWN_ROUND else OTHER
            self._add(TOKENS, usage.prompt_tokens, kind="prompt", iteration=iteration)
            self._add(TOKENS, usage.completion_tokens, kind="completion", iteration=iteration)
        return response

    def _add(self, name: str, amount: int, **labels: str) -> None:
        for sink in self._sinks:
            sink.add(name, amount, labels)


class ToolLabels:
    """Which tool names are labels: at most so many at a time, and twice as many ever.

    A name takes the place of the least used one when it has been used twice as often. What was counted before stays
    under its old label: a counter must never go down.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._shown: set[str] = set()
        self._ever: set[str] = set()
        self._used: Counter[str] = Counter()

    def of(self, name: str) -> str:
        """The label of a call, which is counted as a use of the name."""
        self._used[name] += 1
        if name not in self._shown and self._has_place(name):
            self._shown.add(name)
            self._ever.add(name)
        if len(self._used) > 20 * self._most:  # names may come and go for ever; those seldom used are forgotten
            kept = self._used.most_common(10 * self._most)
            self._used = Counter({**dict(kept), **{one: self._used[one] for one in self._shown}})
        return name if name in self._shown else OTHER

    def _has_place(self, name: str) -> bool:
        """Whether there is a place for the name; the least used one leaves its own for it."""
        if len(self._shown) < self._most:
            return True
        if name not in self._ever and len(self._ever) >= 2 * self._most:
            return False
        least = min(self._shown, key=self._used.__getitem__, default=None)
        if least is None or self._used[name] < 2 * self._used[least]:
            return False
        self._shown.remove(least)
        return True


def prometheus_labels(labels: Mapping[str, str]) -> str:
    """Labels as they stand behind a metric's name; nothing where there are none."""
    inside = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
