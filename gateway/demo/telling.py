"""How the demo is told: to people on a terminal, or to programs as one JSON document."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gateway.chat.messages import ToolCall, ToolResponse, text_of
from gateway.chat.tokens import TokenCounter
from gateway.demo.run import RequestOutcome
from gateway.demo.savings import CatalogTokens, Savings
from gateway.settings import GatewaySettings
from indexer import ToolSearchRequest, ToolSearchResponse

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LARGE_CONTEXT: Final = 1_000_000
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def model_line(gateway: GatewaySettings) -> str:
    """Which model takes part, in one sentence."""
    if gateway.upstream_url is None:
        return (
            "No model is configured (TOOLSCOUT_UPSTREAM_URL), so a scripted one plays the part: it sees what a model "
            "would see, searches for what the request says, and calls the best tool it finds. Searches and token "
            "counts are real; what tools return is simulated and marked so."
        )
    name = gateway.upstream_model or "its default model"
    return f"The model is real: {name} at {gateway.upstream_shown}. What tools return is simulated and marked so."


def layout_line(counter: TokenCounter, catalog: CatalogTokens) -> str:
    """How the tokens were counted, and over what."""
    text = f"Counted: {counter.note}. All {catalog.tools:,} tools together take {catalog.total:,} tokens a prompt."
    if catalog.total > _LARGE_CONTEXT:
        text += (
            " That is more than a context of a million tokens holds (and OpenAI's interface takes 128 tools at most): "
            "the column says what sending them all would cost, not what could be done."
        )
    return text


class TerminalListener:
    """Shows every round as it happens."""

    def __init__(self, out: "Console", total: int) -> None:
        self._out = out
        self._total = total
        self._model_was_asked = False

    def request_begins(self, number: int, request: str) -> None:
        self._model_was_asked = False
        self._out.print()
        self._say(f"[{number}/{self._total}] {request}", "bold")

    def model_asked(self, number: int, prompt_tokens: int, tools: int) -> None:
        self._model_was_asked = True
        self._say(
            f"  round {number}: {prompt_tokens:,} prompt tokens, {tools} tool{'s' if tools != 1 else ''} in sight",
            "dim",
        )

    def searched(self, asked: ToolSearchRequest, found: ToolSearchResponse) -> None:
        who = "searches for: " if self._model_was_asked else "the gateway looks ahead for: "
        self._say(f"    {who}{' | '.join(asked.queries)}", "cyan")
        for reference in found.results:
            name = f"{reference.definition.namespace}/{reference.definition.name}"
            self._say(f"      {reference.score:.2f}  {name}", "green")
            self._say(f"            {'; '.join(reference.reasons)}", "dim")
        if not found.results:
            self._say(f"      nothing ({found.empty_reason.replace('_', ' ')})", "yellow")

    def tool_called(self, call: ToolCall, result: ToolResponse) -> None:
        self._say(f"    calls {call.name} {call.arguments}", "cyan")
        self._say(f"      {'fails' if result.is_error else 'returns'}: {text_of(result.content)}", "dim")

    def request_ends(self, outcome: RequestOutcome) -> None:
        if outcome.error:
            self._say(f"  failed: {outcome.error}", "red")
            return
        self._say(f"  answer: {outcome.answer}", "default")

    def _say(self, text: str, style: str) -> None:
        from rich.text import Text

        # One line each: results are long, and what matters of them is at their start.
        line = " ".join(_CONTROL.sub("\ufffd", text[:4000]).split("\n"))
        self._out.print(Text(line, style=style), no_wrap=True, overflow="ellipsis", soft_wrap=False)


class SilentListener:
    """Keeps the rounds, for the JSON document."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def request_begins(self, number: int, request: str) -> None:
        self.requests.append({"request": request, "preloaded": [], "rounds": []})

    def model_asked(self, number: int, prompt_tokens: int, tools: int) -> None:
        self._rounds.append({"prompt_tokens": prompt_tokens, "tools_in_sight": tools, "searches": [], "calls": []})

    def searched(self, asked: ToolSearchRequest, found: ToolSearchResponse) -> None:
        results = [
            {"tool": str(one.definition.key), "score": round(one.score, 4), "reasons": list(one.reasons)}
            for one in found.results
        ]
        search = {"queries": list(asked.queries), "results": results}
        # Before the first round it is the gateway that searches, so that the model may not have to.
        where = self._rounds[-1]["searches"] if self._rounds else self.requests[-1]["preloaded"]
        where.append(search)

    def tool_called(self, call: ToolCall, result: ToolResponse) -> None:
        entry = {"tool": call.name, "arguments": call.arguments, "result": text_of(result.content)}
        self._rounds[-1]["calls"].append({**entry, "is_error": result.is_error})

    def request_ends(self, outcome: RequestOutcome) -> None:
        self.requests[-1] |= {
            "answer": outcome.answer,
            "error": outcome.error,
            **_savings_record(outcome.savings),
            "prompt_tokens_reported_by_provider": outcome.reported_prompt_tokens,
        }

    @property
    def _rounds(self) -> list[dict[str, Any]]:
        return self.requests[-1]["rounds"]


def document(
    listener: SilentListener, total: Savings, catalog: CatalogTokens, gateway: GatewaySettings, counter: TokenCounter
) -> str:
    """The whole demo as JSON."""
    record = {
        "model": gateway.upstream_model or gateway.upstream_shown or "scripted",
        "scripted": gateway.upstream_url is None,
        "counted": counter.note,
        "catalog": {"tools": catalog.tools, "prompt_tokens": catalog.total},
        "requests": listener.requests,
        "total": _savings_record(total),
    }
    return json.dumps(record, ensure_ascii=False, indent=2)


def savings_table(outcomes: Sequence[RequestOutcome], total: Savings, *, width: int = 80) -> "Table":
    """Prompt tokens with all tools, with tool search, and saved: a line a request, and in all; `width` in cells."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    reported = any(outcome.reported_prompt_tokens is not None for outcome in outcomes)
    grid = Table(title="Prompt tokens of all rounds", box=box.SIMPLE_HEAD, show_footer=True)
    # What is left beside the numbers, which must be read in full.
    room = max(16, width - (65 if reported else 52))
    grid.add_column("request", footer="in all", overflow="ellipsis", no_wrap=True, max_width=room)
    grid.add_column("calls", footer=str(sum(outcome.model_calls for outcome in outcomes)), justify="right")
    grid.add_column("all tools", footer=f"{total.with_all_tools:,}", justify="right", no_wrap=True)
    grid.add_column("tool search", footer=f"{total.with_search:,}", justify="right", no_wrap=True)
    if reported:
        grid.add_column("as reported", justify="right", no_wrap=True)
    grid.add_column("saved", footer=f"{total.saved:.2%}", justify="right", no_wrap=True)
    for outcome in outcomes:
        savings = outcome.savings
        cells = [str(outcome.model_calls), f"{savings.with_all_tools:,}", f"{savings.with_search:,}"]
        if reported:
            cells.append("" if outcome.reported_prompt_tokens is None else f"{outcome.reported_prompt_tokens:,}")
        grid.add_row(Text(outcome.request), *cells, f"{savings.saved:.2%}")
    return grid


def _savings_record(savings: Savings) -> dict[str, Any]:
    return {
        "prompt_tokens_with_all_tools": savings.with_all_tools,
        "prompt_tokens_with_tool_search": savings.with_search,
        "saved": round(savings.saved, 6),
    }
