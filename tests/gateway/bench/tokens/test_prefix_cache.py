"""The cache rules against examples worked out by hand from the providers' documentation."""

from gateway.bench.tokens.prefix_cache import Block, BreakpointRule, CacheUse, ExactPrefixRule, RequestBlocks


def _request(*messages: tuple[str, int], system: int = 0, tools: tuple[tuple[str, int], ...] = ()) -> RequestBlocks:
    return RequestBlocks(
        system=(Block("system", system),) if system else (),
        tools=tuple(Block(*tool) for tool in tools),
        messages=tuple(Block(*message) for message in messages),
    )


def test_openai_caches_nothing_below_1024_tokens() -> None:
    request = _request(("question", 900), system=123)

    assert ExactPrefixRule().replay([request, request]) == [CacheUse(0, 0, 1023), CacheUse(0, 0, 1023)]


def test_openai_reads_the_shared_prefix_in_steps_of_128() -> None:
    first = _request(("question", 106), system=2000)
    second = _request(("question", 106), ("answer", 50), ("next", 44), system=2000)

    # 2,106 shared tokens are 16 whole steps: 2,048. Of the 2,200 in all, 17 steps: 2,176.
    assert ExactPrefixRule().replay([first, second]) == [CacheUse(0, 2048, 58), CacheUse(2048, 128, 24)]


def test_openai_starts_at_exactly_1024_tokens() -> None:
    request = _request(("question", 24), system=1000)

    assert ExactPrefixRule().replay([request, request]) == [CacheUse(0, 1024, 0), CacheUse(1024, 0, 0)]


def test_a_tool_appended_for_openai_keeps_system_and_older_tools_and_drops_the_messages() -> None:
    old = (("search", 300), ("a", 800))
    first = _request(("question", 500), system=100, tools=old)
    second = _request(("question", 500), system=100, tools=(*old, ("b", 200)))

    assert ExactPrefixRule().replay([first, second])[1] == CacheUse(1152, 1900 - 1900 % 128 - 1152, 1900 % 128)


def test_tools_in_another_order_share_only_what_stands_before_the_first_that_moved() -> None:
    first = _request(("question", 500), system=100, tools=(("search", 300), ("a", 800), ("b", 800)))
    second = _request(("question", 500), system=100, tools=(("b", 800), ("search", 300), ("a", 800)))

    assert ExactPrefixRule().replay([first, second])[1].read == 0


def test_openai_may_read_what_any_earlier_request_wrote() -> None:
    long, other = _request(("a", 2000), system=100), _request(("b", 2000), system=100)

    assert ExactPrefixRule().replay([long, other, long])[2].read == 2048


def test_anthropic_writes_at_the_last_mark_and_reads_it_whole() -> None:
    first = _request(("question", 50), system=100, tools=(("search", 1000),))
    second = _request(("question", 50), ("answer", 30), ("next", 20), system=100, tools=(("search", 1000),))

    # No steps: 1,150 tokens are written, then read, and only the 50 new ones are written.
    assert BreakpointRule().replay([first, second]) == [CacheUse(0, 1150, 0), CacheUse(1150, 50, 0)]


def test_anthropic_reads_tools_before_the_system_text_so_a_new_tool_costs_all_that_follows() -> None:
    old = (("search", 600), ("a", 600))
    first = _request(("question", 50), system=2000, tools=old)
    second = _request(("question", 50), system=2000, tools=(*old, ("b", 300)))

    # The 1,200 tokens of the older tools were marked; tool b, the system text and the message are written again.
    assert BreakpointRule().replay([first, second])[1] == CacheUse(1200, 2350, 0)


def test_anthropic_caches_nothing_below_its_minimum() -> None:
    request = _request(("question", 50), system=100, tools=(("search", 800),))

    assert BreakpointRule().replay([request, request]) == [CacheUse(0, 0, 950)] * 2
    assert BreakpointRule(minimum=500).replay([request, request])[1] == CacheUse(950, 0, 0)


def test_anthropic_looks_back_twenty_blocks_and_no_further() -> None:
    first = _request(("start", 2000))
    near = _request(("start", 2000), *((f"n{number}", 10) for number in range(20)))
    far = _request(("start", 2000), *((f"f{number}", 10) for number in range(21)))

    assert BreakpointRule().replay([first, near])[1] == CacheUse(2000, 200, 0)
    assert BreakpointRule().replay([first, far])[1] == CacheUse(0, 2210, 0)


def test_every_token_is_billed_once() -> None:
    requests = [_request(*((str(one), 700) for one in range(count)), system=333) for count in range(1, 6)]

    for rule in (ExactPrefixRule(), BreakpointRule()):
        assert [use.total for use in rule.replay(requests)] == [request.tokens for request in requests]
