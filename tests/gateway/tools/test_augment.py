"""Extra arguments that a consumer reads and the tool never sees."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from gateway.client import ChatClient
from gateway.errors import ConfigurationError, ToolArgumentsError
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.tools.augment import AugmentedArguments, AugmentedToolCallback, AugmentedToolCallbackProvider
from gateway.tools.context import ToolContext
from gateway.tools.function import tool


class Evidence(BaseModel):
    source: str


class Thinking(BaseModel):
    inner_thought: str = Field(description="Why you call this tool.")
    confidence: float = 1.0
    evidence: list[Evidence] = []


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def test_a_model_sees_the_extra_arguments_first_and_a_tool_never() -> None:
    heard: list[AugmentedArguments[Thinking]] = []
    provider = AugmentedToolCallbackProvider([double], Thinking, argument_consumer=heard.append)
    model = ScriptedChatModel(wish("double", inner_thought="it says so", number=4), "8")
    await ChatClient(model, tools=provider.callbacks, context=ToolContext(principal="kim")).call("go")
    parameters = model.prompts[0].tools[0].parameters
    assert list(parameters["properties"]) == ["inner_thought", "confidence", "evidence", "number"]
    assert parameters["required"] == ["inner_thought", "number"]
    assert parameters["properties"]["inner_thought"]["description"] == "Why you call this tool."
    assert "Evidence" in parameters["$defs"]
    assert "'8'" in str(model.prompts[1].messages[-1])
    (arguments,) = heard
    assert (arguments.tool_name, arguments.arguments) == ("double", {"number": 4})
    assert (arguments.extra.inner_thought, arguments.extra.confidence) == ("it says so", 1.0)
    assert arguments.context.principal == "kim"


async def test_a_consumer_may_be_asynchronous_and_may_be_missing() -> None:
    heard: list[str] = []

    async def consume(arguments: AugmentedArguments[Thinking]) -> None:
        heard.append(arguments.extra.inner_thought)

    augmented = AugmentedToolCallback(double, Thinking, argument_consumer=consume)
    assert await augmented.call({"inner_thought": "x", "number": 1}, ToolContext()) == "2"
    assert heard == ["x"]
    assert await AugmentedToolCallback(double, Thinking).call({"inner_thought": "", "number": 1}, ToolContext()) == "2"


async def test_extra_arguments_can_be_left_in() -> None:
    @tool
    def echo(number: int, inner_thought: str) -> str:
        return f"{number} {inner_thought}"

    class Nothing(BaseModel):
        mood: str

    kept: list[Any] = []

    class Inner:
        spec = double.spec
        metadata = double.metadata

        async def call(self, arguments: Any, context: ToolContext) -> str:
            kept.append(arguments)
            return echo.spec.name

    augmented = AugmentedToolCallback(Inner(), Nothing, remove_extra_arguments_after_processing=False)
    await augmented.call({"mood": "good", "number": 1}, ToolContext())
    assert kept == [{"mood": "good", "number": 1}]


async def test_extra_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    augmented = AugmentedToolCallback(double, Thinking)
    with pytest.raises(ToolArgumentsError, match="inner_thought: Field required"):
        await augmented.call({"number": 1}, ToolContext())


def test_a_shared_name_is_refused() -> None:
    class Clash(BaseModel):
        number: int

    with pytest.raises(ConfigurationError, match="Clash and the tool 'double' both define number"):
        AugmentedToolCallback(double, Clash)
