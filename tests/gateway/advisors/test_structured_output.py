"""Answers as values of a type."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from gateway.advisors.structured_output import StructuredOutputValidationAdvisor
from gateway.chat.exchange import ChatClientRequest, Usage
from gateway.chat.messages import AssistantMessage, UserMessage
from gateway.chat.prompt import Prompt
from gateway.chat.structured import STRUCTURED_OUTPUT, StructuredOutput
from gateway.client import ChatClient
from gateway.errors import StructuredOutputError
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.tools.function import tool


class Film(BaseModel):
    title: str
    year: int = Field(ge=1888)


GOOD = '{"title": "Parasite", "year": 2019}'
BAD = '{"title": "Parasite", "year": 1}'


def count(prompt: Prompt, message: AssistantMessage) -> Usage:
    return Usage(prompt_tokens=1, completion_tokens=1)


@pytest.mark.parametrize("answer", [GOOD, f"```json\n{GOOD}\n```", f"```\n{GOOD}```"])
async def test_an_answer_becomes_a_value(answer: str) -> None:
    model = ScriptedChatModel(answer)
    assert await ChatClient(model).entity("Which film?", Film) == Film(title="Parasite", year=2019)
    (user,) = model.prompts[0].messages
    assert isinstance(user, UserMessage)
    assert str(user.content).startswith("Which film?\n\nAnswer with one JSON value")
    assert '"minimum":1888' in str(user.content)
    assert "response_format" not in model.prompts[0].options.extra


async def test_any_type_that_can_be_checked_will_do() -> None:
    assert await ChatClient(ScriptedChatModel("[1, 2]")).entity("Numbers?", list[int]) == [1, 2]


async def test_the_providers_own_mode_is_used_when_asked_for() -> None:
    model = ScriptedChatModel(GOOD)
    await ChatClient(model).entity("Which film?", Film, use_provider_structured_output=True)
    wanted = model.prompts[0].options.extra["response_format"]
    assert (wanted["type"], wanted["json_schema"]["name"]) == ("json_schema", "Film")
    assert model.prompts[0].messages == (UserMessage(content="Which film?"),)


async def test_an_answer_that_does_not_fit_is_mended_with_the_mistake_shown_and_no_tool_runs_again() -> None:
    ran = 0

    @tool
    def look_up() -> str:
        nonlocal ran
        ran += 1
        return "2019"

    model = ScriptedChatModel(wish("look_up"), "It is Parasite.", BAD, GOOD, count_usage=count)
    value, response = await ChatClient(model, tools=[look_up]).response_entity("Which film?", Film)
    assert value.year == 2019
    assert ran == 1
    assert len(model.prompts) == 4
    *_, answer, told = model.prompts[3].messages
    assert answer == AssistantMessage(content=BAD)
    assert isinstance(told, UserMessage) and "year: Input should be greater than or equal to 1888" in str(told.content)
    assert response.context["usage"] == Usage(prompt_tokens=4, completion_tokens=4)


async def test_after_three_repairs_the_mistake_is_raised() -> None:
    model = ScriptedChatModel(policy=lambda _: BAD)
    with pytest.raises(StructuredOutputError, match="after 3 repairs: year"):
        await ChatClient(model).entity("Which film?", Film)


async def test_a_repair_that_wants_a_tool_passes_at_once() -> None:
    @tool
    def look_up() -> str:
        return "2019"

    model = ScriptedChatModel(BAD, wish("look_up"), GOOD)
    assert (await ChatClient(model, tools=[look_up]).entity("Which film?", Film)).year == 2019


async def test_without_validation_a_bad_answer_fails_at_once() -> None:
    model = ScriptedChatModel(BAD)
    with pytest.raises(StructuredOutputError, match="year"):
        await ChatClient(model).entity("Which film?", Film, validate_schema=False)
    assert len(model.prompts) == 1


async def test_the_number_of_repairs_can_be_set() -> None:
    model = ScriptedChatModel(BAD, BAD)
    advisor = StructuredOutputValidationAdvisor(max_repeat_attempts=1)
    with pytest.raises(StructuredOutputError, match="after 1 repairs"):
        await ChatClient(model, advisors=[advisor]).entity("Which film?", Film)


async def test_a_validated_answer_cannot_be_streamed_and_anything_else_can() -> None:
    client = ChatClient(ScriptedChatModel("x", "y"), advisors=[StructuredOutputValidationAdvisor()])
    prompt = Prompt(messages=(UserMessage(content="Which film?"),))
    context: dict[str, Any] = {STRUCTURED_OUTPUT: StructuredOutput(Film)}
    with pytest.raises(StructuredOutputError, match="cannot be streamed"):
        async for _ in client.stream(ChatClientRequest(prompt=prompt, context=context)):
            pass
    assert [event async for event in client.stream(prompt)]


async def test_the_schema_goes_where_the_user_last_spoke() -> None:
    parts = ({"type": "image_url", "image_url": {"url": "data:,"}},)
    asked = StructuredOutput(Film).asked_in_words(
        Prompt(messages=(UserMessage(content=parts), AssistantMessage(content="hm")))
    )
    user = asked.messages[0]
    assert isinstance(user, UserMessage)
    assert [part["type"] for part in user.content if not isinstance(part, str)] == ["image_url", "text"]
    alone = StructuredOutput(Film).asked_in_words(Prompt(messages=(AssistantMessage(content="hm"),)))
    assert isinstance(alone.messages[-1], UserMessage)
