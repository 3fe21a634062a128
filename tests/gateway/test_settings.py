"""Settings from the environment, and what they do in a gateway."""

import pytest

from gateway.chat.json_text import encode_json
from gateway.errors import ConfigurationError
from gateway.models.scripted import ScriptedChatModel, wish
from gateway.models.wire import tool_to_wire
from gateway.settings import FirstOfferSettings, GatewaySettings, ToolLoopSettings
from tests.gateway.catalog import ALL, BUCKETS, REFUND
from tests.gateway.serving import http_client, services_of


async def shown(settings: GatewaySettings, asked: str = "hello") -> list[str]:
    """The tools that the model of a gateway over four tools sees at first."""
    model = ScriptedChatModel("done")
    async with services_of(*ALL, settings=settings, model=model) as services:
        await services.client.call(asked)
    return [spec.name for spec in model.prompts[0].tools]


def test_what_is_shown_first_is_read_from_the_environment() -> None:
    assert GatewaySettings.from_environment({}).first_offer == FirstOfferSettings()
    settings = GatewaySettings.from_environment(
        {
            "TOOLSCOUT_PASSTHROUGH_TOKENS": "4000",
            "TOOLSCOUT_PRELOAD_SCORE": "0.9",
            "TOOLSCOUT_PRELOAD_MAX": "2",
            "TOOLSCOUT_DESCRIBED_NAMESPACES": "12",
            "TOOLSCOUT_MAX_CALLS": "7",
        }
    )
    assert settings.loop == ToolLoopSettings(max_calls=7)
    assert settings.first_offer == FirstOfferSettings(
        passthrough_tokens=4000, preload_min_score=0.9, preload_max=2, described_namespaces=12
    )


@pytest.mark.parametrize("text", ["1.5", "-0.1", "nan", "high"])
def test_a_share_that_is_none_says_what_to_set(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"TOOLSCOUT_PRELOAD_SCORE='{text}' is no share; set it to a number"):
        GatewaySettings.from_environment({"TOOLSCOUT_PRELOAD_SCORE": text})


async def test_a_small_catalog_is_shown_whole_by_real_token_counts() -> None:
    whole = ["get_weather", "refund_order", "send_email", "storage__list_buckets"]
    assert await shown(GatewaySettings(first_offer=FirstOfferSettings(passthrough_tokens=1000))) == whole
    assert await shown(GatewaySettings(first_offer=FirstOfferSettings(passthrough_tokens=50))) == ["search_tools"]
    assert await shown(GatewaySettings()) == ["search_tools"]


async def test_tools_that_are_named_are_preloaded() -> None:
    settings = GatewaySettings(first_offer=FirstOfferSettings(preload_min_score=1.0))
    assert await shown(settings, "get_weather") == ["search_tools", "get_weather"]


async def test_a_run_that_wants_too_many_calls_in_one_message_runs_none_of_them_and_answers() -> None:
    wishes = [wish("search_tools", queries=[f"thing {number}"]) for number in range(4)]
    model = ScriptedChatModel(wishes, "I stopped.")
    async with services_of(*ALL, settings=GatewaySettings(loop=ToolLoopSettings(max_calls=3)), model=model) as services:
        run = await services.client.call("go")
    assert run.text == "I stopped."
    assert run.context["stop_reason"] == "max_calls"
    assert run.context["searches"] == ()
    assert model.prompts[1].options.tool_choice == "none"


async def test_the_turns_of_a_client_that_sends_back_only_answers_begin_alike_over_http() -> None:
    model = ScriptedChatModel(wish("search_tools", queries=["refund an order"]), "Refunded.", "You are welcome.")
    settings = GatewaySettings(first_offer=FirstOfferSettings(described_namespaces=9))
    async with services_of(REFUND, settings=settings, model=model) as services, http_client(services) as client:
        messages = [{"role": "user", "content": "Refund my order"}]
        answer = await client.post("/v1/chat/completions", json={"messages": messages})
        await services.registry.register([BUCKETS])
        messages += [answer.json()["choices"][0]["message"], {"role": "user", "content": "Thank you"}]
        await client.post("/v1/chat/completions", json={"messages": messages})
    first, _, last = ([tool_to_wire(spec) for spec in prompt.tools] for prompt in model.prompts)
    assert encode_json(first) == encode_json(last)
    assert first[0]["function"]["description"].endswith("The namespaces are: default.")


def test_keys_from_a_file_of_secrets_lose_their_line_end() -> None:
    settings = GatewaySettings.from_environment({"TOOLSCOUT_API_KEY": "abc\n", "TOOLSCOUT_UPSTREAM_KEY": " def\r\n"})
    assert (settings.api_key, settings.upstream_key) == ("abc", "def")
    assert GatewaySettings.from_environment({"TOOLSCOUT_API_KEY": " \n"}).api_key is None


@pytest.mark.parametrize("name", ["TOOLSCOUT_API_KEY", "TOOLSCOUT_UPSTREAM_KEY"])
@pytest.mark.parametrize("key", ["sk-\u00e9", "two words", "two\nlines"])
def test_a_key_that_no_header_carries_is_refused_and_not_repeated(name: str, key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} holds a character that no HTTP header carries") as caught:
        GatewaySettings.from_environment({name: key})
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "host:8000/v1",
        "localhost/v1",
        "ftp://host/v1",
        "http://",
        "http://u:secret@host:x/v1",
        "http://[::1/v1",
        "http://h/v1#a",
    ],
)
def test_an_upstream_that_is_no_url_stops_the_start_and_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"TOOLSCOUT_UPSTREAM_URL is no URL .*https://host/v1") as caught:
        GatewaySettings.from_environment({"TOOLSCOUT_UPSTREAM_URL": url})
    assert "secret" not in str(caught.value)


def test_an_upstream_may_have_a_query_and_a_slash_at_its_end() -> None:
    def read(url: str) -> str | None:
        return GatewaySettings.from_environment({"TOOLSCOUT_UPSTREAM_URL": url}).upstream_url

    assert read("https://host/v1/\n") == "https://host/v1"
    assert read("https://host/v1?api-version=1") == "https://host/v1?api-version=1"
    assert read("") is None


def test_what_is_shown_of_an_upstream_holds_no_password() -> None:
    assert GatewaySettings(upstream_url="https://me:secret@host:8/v1?sig=secret").upstream_shown == "https://host:8/v1"
    assert GatewaySettings().upstream_shown is None
