"""A real model's place in the benchmark, taken by a scripted one that reports its usage."""

from gateway.bench.tokens.live import run_live
from gateway.chat.exchange import Usage
from gateway.chat.messages import AssistantMessage
from gateway.chat.prompt import Prompt
from gateway.errors import ModelError
from gateway.models.scripted import ScriptedChatModel
from tests.gateway.bench.tokens.shop import shop_catalog, single


def _usage(prompt: Prompt, message: AssistantMessage) -> Usage:
    return Usage(prompt_tokens=321)


async def test_the_providers_own_usage_stands_beside_the_count() -> None:
    catalog = await shop_catalog()
    model = ScriptedChatModel("I would rather not.", count_usage=_usage)

    record = await run_live(catalog, [single()], model, name="m", tools=20, k=5)

    (entry,) = record["conversations"]
    assert (entry["reported"], entry["requests"], entry["right"]) == (321, 1, False)
    assert entry["counted"] > 0


async def test_a_model_that_fails_does_not_stop_the_rest() -> None:
    catalog = await shop_catalog()
    model = ScriptedChatModel(ModelError("no more credit"))

    record = await run_live(catalog, [single()], model, name="m", tools=20, k=5)

    assert record["conversations"][0]["error"] == "no more credit"
    assert record["conversations"][0]["reported"] is None
