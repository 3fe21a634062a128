"""The chain as a value."""

from collections.abc import AsyncIterator

import anyio
import pytest

from gateway.advisors.chain import LOWEST_PRECEDENCE, CallAdvisorChain
from gateway.advisors.chat_model import ChatModelCallAdvisor
from gateway.advisors.logger import SimpleLoggerAdvisor
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunEvent, RunFinished, TextDelta
from gateway.chat.messages import UserMessage
from gateway.chat.prompt import Prompt
from gateway.errors import TruncatedStreamError
from gateway.models.scripted import ScriptedChatModel

REQUEST = ChatClientRequest(prompt=Prompt(messages=(UserMessage(content="hi"),)), context={"path": ()})


class Mark:
    """Notes that a request passed it."""

    def __init__(self, name: str, order: int) -> None:
        self.name = name
        self.order = order

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        path = (*request.context["path"], self.name)
        return await chain.next_call(ChatClientRequest(prompt=request.prompt, context={"path": path}))


class StreamOnly:
    name = "stream only"
    order = 0

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        yield TextDelta(text="first ")
        async for event in chain.next_stream(request):
            yield event


def end() -> ChatModelCallAdvisor:
    return ChatModelCallAdvisor(ScriptedChatModel(policy=lambda _: "hello"))


async def test_smaller_orders_are_outer_and_ties_keep_their_place() -> None:
    chain = CallAdvisorChain.of(Mark("c", 2), Mark("a", 1), Mark("b", 1), end())
    response = await chain.next_call(REQUEST)
    assert response.context["path"] == ("a", "b", "c")
    assert chain.advisors[-1].order == LOWEST_PRECEDENCE


async def test_a_chain_can_be_run_again_from_inside_an_advisor_and_at_the_same_time() -> None:
    first, second = Mark("a", 1), Mark("b", 2)
    chain = CallAdvisorChain.of(first, second, end())
    inner = chain.copy(after=first)
    paths: list[tuple[str, ...]] = []

    async def run(part: CallAdvisorChain) -> None:
        paths.append((await part.next_call(REQUEST)).context["path"])

    async with anyio.create_task_group() as group:
        for part in (inner, chain, inner, chain):
            group.start_soon(run, part)
    assert sorted(paths) == [("a", "b"), ("a", "b"), ("b",), ("b",)]


async def test_call_and_stream_skip_advisors_of_the_other_kind() -> None:
    chain = CallAdvisorChain.of(Mark("a", 1), StreamOnly(), end())
    assert (await chain.next_call(REQUEST)).context["path"] == ("a",)
    events = [event async for event in chain.next_stream(REQUEST)]
    assert events[0] == TextDelta(text="first ")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].response.context["path"] == ()


async def test_a_chain_without_a_model_says_so() -> None:
    with pytest.raises(LookupError, match="must call the model"):
        await CallAdvisorChain.of(Mark("a", 1)).next_call(REQUEST)
    with pytest.raises(LookupError, match="must call the model"):
        CallAdvisorChain.of().next_stream(REQUEST)


async def test_a_models_stream_that_never_finishes_its_message_is_an_error() -> None:
    class Silent(ScriptedChatModel):
        async def stream(self, prompt: Prompt) -> AsyncIterator[TextDelta]:
            yield TextDelta(text="half")

    with pytest.raises(TruncatedStreamError):
        async for _ in CallAdvisorChain.of(ChatModelCallAdvisor(Silent())).next_stream(REQUEST):
            pass


def test_a_chain_that_does_not_hold_an_advisor_says_so() -> None:
    with pytest.raises(LookupError, match="SimpleLoggerAdvisor is not in this chain"):
        CallAdvisorChain.of().copy(after=SimpleLoggerAdvisor())
