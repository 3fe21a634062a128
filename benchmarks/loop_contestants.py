"""The loops that `loop_overhead` times, each with the same script: ten calls of one tool, then an answer.

Run as a program it times one of them and writes its figures as JSON; it then imports nothing but that one's library,
for the peers live in an environment of their own.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false, reportUnknownParameterType=false
# The peers are no dependency of this project, so their types are not known here.

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final, NamedTuple, TypeAlias

ROUNDS: Final = 10
ANSWER: Final = "All numbers are doubled."

Run: TypeAlias = Callable[[int], Awaitable[str]]
"""One run of the loop, given its number; its answer."""


async def double(number: int) -> str:
    """Double a number. Use it once for each number."""
    return str(number * 2)


def toolscout(advisors: int) -> Run:
    """Our loop, with so many advisors around the model, or with nothing but the loop."""
    from gateway import (
        AssistantMessage,
        ChatClient,
        ChatResponse,
        Prompt,
        ToolCall,
        ToolContext,
        ToolResponseMessage,
        tool,
    )
    from gateway.chat.exchange import ModelEvent

    class Model:
        async def call(self, prompt: Prompt) -> ChatResponse:
            done = sum(isinstance(one, ToolResponseMessage) for one in prompt.messages)
            if done == ROUNDS:
                return ChatResponse(message=AssistantMessage(content=ANSWER))
            call = ToolCall(id=f"call_{done}", name="double", arguments=f'{{"number": {done}}}')
            return ChatResponse(message=AssistantMessage(content="", tool_calls=(call,)), finish_reason="tool_calls")

        def stream(self, prompt: Prompt) -> AsyncIterator[ModelEvent]:
            raise NotImplementedError

        async def aclose(self) -> None: ...

    client = ChatClient(Model(), advisors=_advisors(advisors), tools=[tool(double)])

    async def run(number: int) -> str:
        return (await client.call("Double 0 to 9.", context=ToolContext(conversation_id=str(number)))).text

    return run


def _advisors(count: int) -> list[Any]:
    """Every advisor that comes with the library, and as many that do nothing as are missing."""
    from gateway import (
        BaseAdvisor,
        ChatSpanAdvisor,
        CountingSink,
        InMemoryChatMemory,
        MessageChatMemoryAdvisor,
        SimpleLoggerAdvisor,
        StructuredOutputValidationAdvisor,
        ThinkTraceAdvisor,
        ToolCallingAdvisor,
        ToolCallingManager,
        ToolCallTraceAdvisor,
        ToolLoopMetricsAdvisor,
        ToolSpans,
    )

    if not count:
        return []
    shipped = [
        ToolCallingAdvisor(manager=ToolCallingManager(around=ToolSpans())),
        MessageChatMemoryAdvisor(InMemoryChatMemory()),
        ToolCallTraceAdvisor(lambda _: None),
        ThinkTraceAdvisor(lambda _: None),
        ToolLoopMetricsAdvisor(CountingSink()),
        StructuredOutputValidationAdvisor(),
        SimpleLoggerAdvisor(),
        ChatSpanAdvisor(),
    ]
    return [*shipped, *(BaseAdvisor() for _ in range(count - len(shipped)))]


def langgraph() -> Run:
    """LangGraph's loop at its leanest: a graph of a plain function as the model, and its own tool node."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    # Written as annotations, which the graph reads when the node is added.
    async def model(state: Any) -> Any:  # noqa: ANN401 - a state of the peer's
        done = sum(isinstance(one, ToolMessage) for one in state["messages"])
        if done == ROUNDS:
            return {"messages": [AIMessage(content=ANSWER)]}
        call = {"name": "double", "args": {"number": done}, "id": f"call_{done}"}
        return {"messages": [AIMessage(content="", tool_calls=[call])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([tool(double)]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    agent = graph.compile()

    async def run(number: int) -> str:
        state = await agent.ainvoke({"messages": [HumanMessage(content="Double 0 to 9.")]})
        return state["messages"][-1].content

    return run


def pydantic_ai() -> Run:
    """Pydantic AI's agent over its function model."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    async def model(messages: Any, info: Any) -> Any:  # noqa: ANN401 - values of the peer's
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if done == ROUNDS:
            return ModelResponse(parts=[TextPart(ANSWER)])
        return ModelResponse(parts=[ToolCallPart("double", {"number": done}, tool_call_id=f"call_{done}")])

    agent = Agent(FunctionModel(model))
    agent.tool_plain(double)

    async def run(number: int) -> str:
        return (await agent.run("Double 0 to 9.")).output

    return run


CONTESTANTS: Final[dict[str, tuple[Callable[[], Run], str]]] = {
    "toolscout, 12 advisors": (lambda: toolscout(12), "toolscout"),
    "toolscout, the loop alone": (lambda: toolscout(0), "toolscout"),
    "langgraph": (langgraph, "langgraph"),
    "pydantic-ai": (pydantic_ai, "pydantic-ai-slim"),
}
"""How each is made, and the distribution it comes from."""


class Timing(NamedTuple):
    """Microseconds a round of one run, the scripted model's own time included."""

    wall: float
    cpu: float
    """Of all threads of the process: what a busy machine does to the wall clock is not in it."""


async def timed(run: Run, *, warm_up: int, runs: int) -> list[Timing]:
    """Time runs, one after the other. Raises: AssertionError for one that does not end with the answer."""
    timings: list[Timing] = []
    for number in range(warm_up + runs):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = await run(number)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        timings.append(Timing(wall / ROUNDS * 1e6, cpu / ROUNDS * 1e6))
        if answer != ANSWER:
            raise AssertionError(f"the loop answered {answer!r}")
    return timings[warm_up:]


def main(name: str, warm_up: int, runs: int) -> None:
    """Time one contestant and write its figures."""
    make, distribution = CONTESTANTS[name]
    timings = asyncio.run(timed(make(), warm_up=warm_up, runs=runs))
    sys.stdout.write(json.dumps({"version": version(distribution), "timings": timings}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
