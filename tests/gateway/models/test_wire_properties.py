"""Whatever a client or a server sends: it passes through unchanged, or is refused with its place."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.chat.json_text import encode_json
from gateway.errors import InvalidRequestError, ModelError
from gateway.models.sse import event_data
from gateway.models.wire import prompt_from_wire, prompt_to_wire, response_from_wire
from gateway.models.wire_stream import ChunkAssembler

Strategy: TypeAlias = st.SearchStrategy[Any]

TEXT: Strategy = st.text(max_size=8)
JSON: Strategy = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
EXTRA: Strategy = st.dictionaries(TEXT.map(lambda name: "x_" + name), JSON, max_size=2)
PART: Strategy = st.fixed_dictionaries({"type": TEXT}, optional=dict[str, Strategy](text=TEXT, x=JSON))
CONTENT: Strategy = TEXT | st.lists(PART, max_size=2)


def merged(known: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    return {**known, **extra}


def entry(role: str) -> Strategy:
    return st.builds(merged, st.fixed_dictionaries({"role": st.just(role), "content": CONTENT}), EXTRA)


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """A request body of the right shape, with things in it that nobody has heard of."""
    messages: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(1, 3))):
        messages.append(draw(entry(draw(st.sampled_from(["system", "developer", "user"])))))
        ids = [f"call_{turn}_{place}" for place in range(draw(st.integers(0, 2)))]
        if ids:
            calls = [
                {
                    "id": one,
                    "type": "function",
                    "function": {"name": draw(TEXT), "arguments": draw(TEXT)},
                    **draw(EXTRA),
                }
                for one in ids
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls, **draw(EXTRA)})
            messages += [{"role": "tool", "tool_call_id": one, "content": draw(CONTENT), **draw(EXTRA)} for one in ids]
    tools = [
        {"type": "function", "function": {"name": "f" + draw(TEXT), "parameters": draw(EXTRA), **draw(EXTRA)}}
        for _ in range(draw(st.integers(0, 2)))
    ]
    body: dict[str, Any] = {"messages": messages, **draw(EXTRA)}
    return body | ({"tools": tools} if tools else {})


@settings(max_examples=50, deadline=None)
@given(bodies())
def test_any_request_comes_out_as_it_went_in(body: dict[str, Any]) -> None:
    sent = encode_json(prompt_to_wire(prompt_from_wire(body)))
    assert json.loads(sent) == json.loads(json.dumps(body))
    if "tools" in body:
        assert encode_json(json.loads(sent)["tools"]) == encode_json(body["tools"])


@settings(max_examples=50, deadline=None)
@given(JSON | st.fixed_dictionaries({"messages": st.lists(JSON, max_size=2) | JSON}, optional={"tools": JSON}))
def test_any_other_json_is_refused_with_its_place(body: Any) -> None:
    try:
        prompt_from_wire(body)
    except InvalidRequestError as error:
        assert error.reason


@settings(max_examples=50, deadline=None)
@given(JSON | st.fixed_dictionaries({"choices": st.lists(st.dictionaries(st.sampled_from(["message"]), JSON))}))
def test_any_answer_is_read_or_is_a_model_error(body: Any) -> None:
    try:
        response_from_wire(body)
    except ModelError as error:
        assert str(error)


DELTAS: Strategy = st.fixed_dictionaries(
    {}, optional={"content": JSON, "role": JSON, "tool_calls": JSON, "reasoning": JSON}
)
CHUNKS: Strategy = st.fixed_dictionaries(
    {}, optional={"choices": st.lists(st.fixed_dictionaries({"delta": DELTAS | JSON})) | JSON, "usage": JSON}
)


@settings(max_examples=50, deadline=None)
@given(st.lists(CHUNKS, max_size=4))
def test_any_stream_is_read_or_is_a_model_error(chunks: list[dict[str, Any]]) -> None:
    assembler = ChunkAssembler()
    try:
        for chunk in chunks:
            assembler.feed(chunk)
        assembler.finish(done=True)
    except ModelError as error:
        assert str(error)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(alphabet=st.characters(blacklist_characters="\r\n")), max_size=4), st.data())
async def test_events_are_the_same_however_their_bytes_arrive(texts: list[str], data: st.DataObject) -> None:
    clean = [text.encode("utf-8", "replace").decode() for text in texts]
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    whole = "".join(f": comment{end}data: {text}{end}{end}" for text in clean).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    assert [text async for text in event_data(arriving())] == clean


async def test_a_large_event_in_many_pieces_is_read_in_linear_time() -> None:
    async def arriving() -> AsyncIterator[bytes]:
        yield b"data: "
        for _ in range(1024):
            yield b"x" * 4096
        yield b"\n\n"

    started = time.process_time()
    assert [len(text) async for text in event_data(arriving())] == [4 * 1024 * 1024]
    assert time.process_time() - started < 2  # looking at the whole again for each piece took minutes


async def test_an_event_without_end_is_refused() -> None:
    async def arriving() -> AsyncIterator[bytes]:
        while True:
            yield b"data: " + b"x" * 4096

    with pytest.raises(ModelError, match="an event of more than 1 MiB"):
        async for _ in event_data(arriving(), max_bytes=1024 * 1024):
            pass
