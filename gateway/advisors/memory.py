"""The advisor that gives a conversation its memory."""

import json
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast
from uuid import uuid4

import anyio

from gateway.advisors.chain import HIGHEST_PRECEDENCE, CallAdvisorChain
from gateway.advisors.chat_model import close_stream
from gateway.advisors.loop_run import DISCOVERED, EARLIER_TURNS
from gateway.chat.exchange import RUN_ID, ChatClientRequest, ChatClientResponse, RunEvent, RunFinished, StopReason
from gateway.chat.memory import ChatMemory, Turn, history, without_open_calls
from gateway.chat.messages import Message, SystemMessage
from gateway.errors import ConfigurationError
from gateway.tools.options import tool_options

logger = logging.getLogger(__name__)

_RECORD_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """One request on its way through the memory."""

    request: ChatClientRequest
    """With what is remembered in its prompt."""
    conversation: str
    turn: Turn
    """As it stands before the answer."""


class MessageChatMemoryAdvisor:
    """Puts what was said before in front of the prompt, and remembers what is said now.

    Outside the tool loop (its default order) it keeps the user's message and the final answer, once; inside it
    (`order=HIGHEST_PRECEDENCE + 400`) every round with its tools. Either way, tools that were discovered stay so.
    """

    name = "MessageChatMemoryAdvisor"

    def __init__(self, memory: ChatMemory, *, order: int = HIGHEST_PRECEDENCE + 200) -> None:
        self._memory = memory
        self.order = order

    async def earlier_turns(self, request: ChatClientRequest) -> Sequence[Turn]:
        """What is remembered of the request's conversation."""
        return await self._memory.turns(_conversation(request))

    async def run_ended(
        self, request: ChatClientRequest, messages: Sequence[Message], stop_reason: StopReason | None
    ) -> None:
        """Inside the loop: the end of a run that no model call shows, a direct result or a failed tool say."""
        said = [one for one in request.prompt.messages if not isinstance(one, SystemMessage)]
        turn = Turn(id=request.context[RUN_ID], messages=(*said, *messages))
        passage = _Passage(request=request, conversation=_conversation(request), turn=turn)
        if stop_reason is None:
            await self._failed(passage)
        else:
            await self._memory.record(passage.conversation, turn)

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        passage = await self._begin(request)
        try:
            response = await chain.next_call(passage.request)
        except BaseException:  # a cancelled turn is remembered as failed too
            await self._failed(passage)
            raise
        await self._answered(passage, response)
        return response

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        passage = await self._begin(request)
        events = chain.next_stream(passage.request)
        answered = False
        try:
            async for event in events:
                if isinstance(event, RunFinished):
                    await self._answered(passage, event.response)
                    answered = True
                yield event
        finally:
            await close_stream(events)
            if not answered:
                await self._failed(passage)

    async def _begin(self, request: ChatClientRequest) -> _Passage:
        conversation = _conversation(request)
        turns = await self._memory.turns(conversation)
        run_id = cast("str", request.context.get(RUN_ID) or uuid4().hex)
        begun = next((turn for turn in turns if turn.id == run_id), Turn(id=run_id, messages=()))
        prompt = request.prompt
        system = [one for one in prompt.messages if isinstance(one, SystemMessage)]
        new = [one for one in prompt.messages if not isinstance(one, SystemMessage)]
        messages: list[Message] = [*system, *without_open_calls([*history(turns), *new])]
        request = replace(request, prompt=replace(prompt, messages=tuple(messages)))
        return _Passage(
            request=request.with_context(**{RUN_ID: run_id, EARLIER_TURNS: turns}),
            conversation=conversation,
            turn=replace(begun, messages=(*begun.messages, *new)),
        )

    async def _answered(self, passage: _Passage, response: ChatClientResponse) -> None:
        turn = passage.turn
        await self._memory.record(
            passage.conversation,
            replace(
                turn,
                messages=(*turn.messages, response.response.message),
                tools=tuple(response.context.get(DISCOVERED, turn.tools)),
            ),
        )

    async def _failed(self, passage: _Passage) -> None:
        """Keep what the user said, even when the run was cancelled; a memory that fails here hides no other error."""
        with anyio.move_on_after(_RECORD_SECONDS, shield=True):
            try:
                await self._memory.record(passage.conversation, replace(passage.turn, failed=True))
            except Exception:  # the run's own error is the one to be raised
                logger.exception("a failed turn could not be remembered")


def _conversation(request: ChatClientRequest) -> str:
    """The conversation's key, with whose it is: no tenant or user can reach another's by its id.

    Raises: ConfigurationError.
    """
    context = tool_options(request.context).context
    if not context.conversation_id:
        raise ConfigurationError(
            "a chat memory needs to know the conversation: pass context=ToolContext(conversation_id=...) to the call"
        )
    return json.dumps([context.tenant, context.principal, context.conversation_id])
