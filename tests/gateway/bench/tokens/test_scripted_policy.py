"""What the scripted model does with what it sees."""

from dataclasses import replace

from gateway.bench.tokens.conversations import Need, Turn
from gateway.bench.tokens.delivery import Manner, SearchDialect, one_call
from gateway.bench.tokens.own_deliveries import OWN_SEARCH
from gateway.bench.tokens.scripted_policy import GIVEN_UP, ScriptedPolicy, ScriptRules
from gateway.chat.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from gateway.chat.prompt import Prompt, ToolSpec
from gateway.models.scripted import Reply, Wish
from gateway.tools.search_tool import SEARCH_TOOL_SPEC
from tests.gateway.bench.tokens.shop import single, three_turns

_NEVER = ScriptRules(slip_share=0)
_SEARCHES = Manner(search=OWN_SEARCH)


def _spec(name: str) -> ToolSpec:
    return ToolSpec(name=name, description=name, parameters={"type": "object", "properties": {}})


_NAMES = {tool: _spec(tool.replace("/", "__")) for one in (single(), three_turns()) for tool in one.tools}
_REFUND = _NAMES["order/refund_order"]


def _ask(policy: ScriptedPolicy, *messages: Message, tools: tuple[ToolSpec, ...] = (SEARCH_TOOL_SPEC,)) -> Reply:
    return policy(Prompt(messages=(UserMessage(content="Refund it."), *messages), tools=tools))


def _policy(manner: Manner = _SEARCHES, rules: ScriptRules = _NEVER) -> ScriptedPolicy:
    return ScriptedPolicy(single(), _NAMES, manner, seed=1, rules=rules)


def _called(name: str, result: str = "ok", arguments: str = "{}") -> tuple[Message, Message]:
    call = ToolCall(id="c", name=name, arguments=arguments)
    return (
        AssistantMessage(tool_calls=(call,)),
        ToolResponseMessage(responses=(ToolResponse(id="c", name=name, content=result),)),
    )


def test_it_searches_with_the_words_of_its_script_while_a_needed_tool_is_not_in_sight() -> None:
    assert _ask(_policy()) == [Wish(name="search_tools", arguments={"queries": ["refund an order"]})]


def test_it_calls_the_needed_tool_once_it_is_in_the_list() -> None:
    assert _ask(_policy(), tools=(SEARCH_TOOL_SPEC, _REFUND)) == [Wish(name=_REFUND.name)]


def test_it_answers_when_every_needed_tool_was_called() -> None:
    assert _ask(_policy(), *_called(_REFUND.name), tools=(_REFUND,)) == "Done."


def test_it_searches_once_with_the_users_own_words_and_then_gives_up() -> None:
    once = _called("search_tools")

    assert _ask(_policy(), *once) == [Wish(name="search_tools", arguments={"queries": [single().turns[0].user]})]
    assert _ask(_policy(), *once, *once) == GIVEN_UP


def test_it_tries_its_next_query_within_its_budget() -> None:
    need = Need("order/refund_order", ("refund an order", "give money back", "third try"))
    turn = Turn(user="Refund it.", needs=(need,), answer="Done.")
    policy = ScriptedPolicy(replace(single(), turns=(turn,)), _NAMES, _SEARCHES, seed=1, rules=_NEVER)
    once = _called("search_tools")

    assert _ask(policy, *once) == [Wish(name="search_tools", arguments={"queries": ["give money back"]})]
    assert _ask(policy, *once, *once) == GIVEN_UP


def test_a_tool_that_the_list_lacks_is_called_only_where_a_search_result_is_enough() -> None:
    found = _called("find", f'[{{"name":"{_REFUND.name}"}}]') * 2
    dialect = SearchDialect("find", one_call("query"))
    proxied = Wish(name="call_tool", arguments={"name": _REFUND.name, "arguments": {}})

    assert _ask(_policy(Manner(search=dialect)), *found) == GIVEN_UP
    assert _ask(_policy(Manner(search=dialect, told_is_callable=True)), *found) == [Wish(name=_REFUND.name)]
    assert _ask(_policy(Manner(search=dialect, call_proxy="call_tool")), *found) == [proxied]


def test_a_longer_name_that_holds_the_needed_one_is_not_it() -> None:
    found = _called("find", f'[{{"name":"{_REFUND.name}_later"}}]') * 2
    manner = Manner(search=SearchDialect("find", one_call("query")), told_is_callable=True)

    assert _ask(_policy(manner), *found) == GIVEN_UP


def test_a_call_through_a_proxy_counts_as_a_call_of_the_tool() -> None:
    manner = Manner(search=SearchDialect("find", one_call("query")), call_proxy="call_tool")
    done = _called("call_tool", arguments=f'{{"name":"{_REFUND.name}","arguments":{{}}}}')

    assert _ask(_policy(manner), *done) == "Done."


def test_it_may_first_pick_a_wrong_tool_in_sight_and_then_the_right_one() -> None:
    policy = _policy(rules=ScriptRules(slip_share=1))
    wrong = _spec("order__refund_order_line")
    tools = (SEARCH_TOOL_SPEC, _REFUND, wrong, _spec("list_parcels"))

    assert _ask(policy, tools=tools) == Wish(name=wrong.name)
    assert _ask(policy, *_called(wrong.name), tools=tools) == [Wish(name=_REFUND.name)]


def test_it_tries_a_wrong_tool_that_looks_right_before_it_gives_up() -> None:
    wrong = _spec("refund_order_line")

    assert _ask(_policy(Manner()), tools=(wrong,)) == Wish(name=wrong.name)
    assert _ask(_policy(Manner()), *_called(wrong.name), tools=(wrong,)) == GIVEN_UP


def test_several_needs_of_a_turn_are_searched_in_one_message() -> None:
    policy = ScriptedPolicy(three_turns(), _NAMES, _SEARCHES, seed=1, rules=_NEVER)
    earlier = AssistantMessage(content="Refunded.")

    reply = _ask(policy, earlier, UserMessage(content="Send a parcel and show the invoices."))

    assert reply == [Wish(name="search_tools", arguments={"queries": ["create a parcel", "list invoice"]})]


def test_a_turn_that_needs_nothing_is_answered() -> None:
    policy = ScriptedPolicy(three_turns(), _NAMES, _SEARCHES, seed=1, rules=_NEVER)
    turns = (AssistantMessage(content="a"), UserMessage(content="b"), AssistantMessage(content="c"))

    assert _ask(policy, *turns, UserMessage(content="Thank you!")) == "You are welcome."
