"""Runs requests through the same loop and counter as the chat route, and tells what happens as it happens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gateway.app import make_services
from gateway.chat.exchange import ChatClientResponse, RunFinished, ToolCallFinished
from gateway.chat.messages import ToolCall, ToolResponse, UserMessage, text_of
from gateway.chat.prompt import Prompt
from gateway.chat.tokens import TokenCounter
from gateway.demo.observers import ObservedIndex, ObservedModel
from gateway.demo.savings import CatalogTokens, Savings, savings_of
from gateway.errors import GatewayError
from gateway.settings import GatewaySettings
from gateway.tools.search_tool import SEARCH_TOOL_NAME
from indexer import ToolIndex, ToolSearchRequest, ToolSearchResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """One request and what became of it."""

    request: str
    answer: str = ""
    model_calls: int = 0
    savings: Savings = field(default_factory=lambda: Savings(with_search=0, with_all_tools=0))
    reported_prompt_tokens: int | None = None
    """What the provider counted, where it said so."""
    error: str = ""


class DemoListener(Protocol):
    """Hears what happens, in order."""

    def request_begins(self, number: int, request: str) -> None: ...

    def model_asked(self, number: int, prompt_tokens: int, tools: int) -> None:
        """The model is asked for the nth time in this request, with so many tools in sight."""
        ...

    def searched(self, asked: ToolSearchRequest, found: ToolSearchResponse) -> None: ...

    def tool_called(self, call: ToolCall, result: ToolResponse) -> None: ...

    def request_ends(self, outcome: RequestOutcome) -> None: ...


class DemoRun:
    """The parts of one demo: a gateway's own, with listeners around the index and the model."""

    def __init__(
        self, index: ToolIndex, gateway: GatewaySettings, catalog: CatalogTokens, listener: DemoListener, *, home: Path
    ) -> None:
        self._catalog = catalog
        self._listener = listener
        self._counter = TokenCounter()
        self._prompts: list[Prompt] = []
        observed = ObservedIndex(index, listener.searched)
        self._plain = make_services(observed, gateway, home=home)
        model = ObservedModel(self._plain.model, self._hear_prompt)
        self._services = make_services(observed, gateway, home=home, model=model)

    async def run(self, requests: Sequence[str]) -> list[RequestOutcome]:
        """Run the requests one after the other; one that fails does not stop the rest."""
        outcomes: list[RequestOutcome] = []
        try:
            for number, request in enumerate(requests, start=1):
                self._listener.request_begins(number, request)
                outcomes.append(await self._run_one(request))
                self._listener.request_ends(outcomes[-1])
        finally:
            await self._services.registry.aclose()
            await self._plain.model.aclose()
        return outcomes

    def _hear_prompt(self, prompt: Prompt) -> None:
        self._prompts.append(prompt)
        self._listener.model_asked(len(self._prompts), self._counter.count_prompt(prompt), len(prompt.tools))

    async def _run_one(self, request: str) -> RequestOutcome:
        self._prompts.clear()
        response: ChatClientResponse | None = None
        error = ""
        try:
            async for event in self._services.client.stream([UserMessage(content=request)]):
                match event:
                    case ToolCallFinished(call=call, response=result) if call.name != SEARCH_TOOL_NAME:
                        self._listener.tool_called(call, result)
                    case RunFinished():
                        response = event.response
                    case _:
                        pass
        except GatewayError as failure:
            error = str(failure)
        usage = response.response.usage if response else None
        return RequestOutcome(
            request=request,
            answer=text_of(response.response.message.content) if response else "",
            model_calls=len(self._prompts),
            savings=savings_of(self._prompts, self._catalog.total, self._counter),
            reported_prompt_tokens=usage.prompt_tokens if usage else None,
            error=error,
        )
