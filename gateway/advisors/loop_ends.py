"""The ways in which a run of the tool loop ends, each with the events that tell it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from gateway.advisors.loop_run import ToolLoopRun
from gateway.chat.exchange import ChatClientResponse, ChatResponse, RunEvent, RunFinished, StopReason, TextDelta
from gateway.chat.messages import AssistantMessage, ToolCall, ToolResponse, ToolResponseMessage, text_of
from gateway.tools.loop_safety import collected_text

_CUT: Final = frozenset({"length", "max_tokens", "content_filter", "insufficient_system_resource", "error"})
"""Finish reasons of a message that is not whole: what stands in its calls may be half of what was meant."""

AUTO_ENDED: Final = "auto_ended"
COLLECTED: Final = "collected"


def end_of(run: ToolLoopRun, response: ChatClientResponse) -> tuple[RunEvent, ...] | None:
    """The last events of a run that ends with this model message; None if its tools are ours to run."""
    calls = response.response.message.tool_calls
    if not calls or run.limit is not None or run.tool_choice == "none":
        return tuple(_answered(run, response))
    theirs = tuple(call for call in calls if run.belongs_to_caller(call))
    if theirs:
        return (RunFinished(response=_returned(run, response, theirs)),)
    if response.response.finish_reason in _CUT:
        message = replace(response.response.message, tool_calls=())
        return (RunFinished(response=_with_message(response, message, response.response.finish_reason)),)
    return None


def _answered(run: ToolLoopRun, response: ChatClientResponse) -> Iterator[RunEvent]:
    """The end with the model's own words; a model that still wants tools when it may have no more gets none."""
    message = response.response.message
    if message.tool_calls:
        content = message.content
        if not text_of(content).strip():
            content = f"I stopped here, because {run.limit or 'this request allows no tool calls'}."
            yield TextDelta(text=content)
        response = _with_message(response, replace(message, content=content, tool_calls=()), "stop")
    yield RunFinished(response=response)


def _returned(run: ToolLoopRun, response: ChatClientResponse, theirs: tuple[ToolCall, ...]) -> ChatClientResponse:
    """The end of a run whose next step is the caller's: only its calls are left in the message.

    Calls of ours beside them were not run; the model asks for them again when it has the caller's results. Where the
    message was cut, the finish reason goes on saying so: the last call may lack its end.
    """
    run.stop_reason = "client_tools"
    own = {spec.name for spec in run.client_tools}
    names = dict.fromkeys(call.name for call in theirs if call.name not in own)
    run.returned_tools = tuple(run.callbacks[name].spec for name in names)
    finish_reason = response.response.finish_reason
    return _with_message(
        response,
        replace(response.response.message, tool_calls=theirs),
        finish_reason if finish_reason in _CUT else "tool_calls",
    )


def direct(run: ToolLoopRun, response: ChatClientResponse, results: ToolResponseMessage) -> Iterator[RunEvent]:
    """The end of a run whose answer is what its tools returned."""
    run.stop_reason = "return_direct"
    contents = [result.content for result in results.responses]
    content = contents[0] if len(contents) == 1 else "\n".join(text_of(one) for one in contents)
    yield TextDelta(text=text_of(content))
    yield RunFinished(response=_with_message(response, AssistantMessage(content=content), "stop"))


def auto_ended(run: ToolLoopRun, is_work: Callable[[ToolCall], bool]) -> Iterator[RunEvent]:
    """The end of a run that repeats itself: a success that says so, and keeps what was collected."""
    run.stop_reason = "loop"
    done = [one for one in run.guard.executions if one.outcome == "ok" and is_work(one.call)]
    run.values[AUTO_ENDED] = "loop"
    run.values[COLLECTED] = tuple(one.response for one in done)
    text = "I stopped here, because the same tool calls kept repeating without anything new."
    if done:
        text += "\n\nThis was collected before:\n" + collected_text(done)
    yield TextDelta(text=text)
    nothing = ChatClientResponse(
        response=ChatResponse(message=AssistantMessage(content="")), context=run.request.context
    )
    response = run.response or nothing
    last = response.response.message
    # What it said beside the calls that were one too many has been shown, and belongs to the answer.
    said = "" if any(one is last for one in run.new_messages) else text_of(last.content).strip()
    message = AssistantMessage(content=f"{said}\n\n{text}" if said else text)
    yield RunFinished(response=_with_message(response, message, "stop"))


def refused(run: ToolLoopRun, message: AssistantMessage, stop_reason: StopReason, limit: str) -> ToolResponseMessage:
    """Answers to calls beyond a limit, after which the model may only talk."""
    run.stop_reason = stop_reason
    run.limit = limit
    run.tool_choice = "none"
    text = (
        f"Not run: {limit}. Call no more tools. Answer the user now with what you have, and say that you stopped at "
        "this limit."
    )
    results = ToolResponseMessage(
        responses=tuple(
            ToolResponse(id=call.id, name=call.name, content=text, is_error=True) for call in message.tool_calls
        )
    )
    run.new_messages += [message, results]
    return results


def _with_message(response: ChatClientResponse, message: AssistantMessage, finish_reason: str) -> ChatClientResponse:
    """The response with another message; the provider's own body no longer fits it."""
    answer = response.response
    return replace(response, response=replace(answer, message=message, finish_reason=finish_reason, raw={}))
