"""Holds answers to the type that was asked for, and has the model mend those that do not fit."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final, cast

from gateway.advisors.chain import HIGHEST_PRECEDENCE, CallAdvisorChain
from gateway.chat.exchange import ChatClientRequest, ChatClientResponse, RunEvent
from gateway.chat.messages import UserMessage
from gateway.chat.structured import STRUCTURED_OUTPUT, StructuredOutput
from gateway.errors import StructuredOutputError

DEFAULT_MAX_REPEAT_ATTEMPTS: Final = 3


class StructuredOutputValidationAdvisor:
    """Stands inside the tool loop, so that a repair runs no tool again; a round that wants tools passes at once."""

    name = "StructuredOutputValidationAdvisor"

    def __init__(
        self,
        *,
        max_repeat_attempts: int = DEFAULT_MAX_REPEAT_ATTEMPTS,
        order: int = HIGHEST_PRECEDENCE + 1000,
    ) -> None:
        self._max_repeat_attempts = max_repeat_attempts
        self.order = order

    async def advise_call(self, request: ChatClientRequest, chain: CallAdvisorChain) -> ChatClientResponse:
        """Raises: StructuredOutputError when the last repair does not fit either."""
        wanted = _wanted(request)
        response = await chain.next_call(request)
        if wanted is None:
            return response
        usage = response.response.usage
        for attempt in range(self._max_repeat_attempts + 1):
            if response.response.message.tool_calls:
                break
            try:
                wanted.read(response.text)
                break
            except StructuredOutputError as error:
                if attempt == self._max_repeat_attempts:
                    raise StructuredOutputError(
                        f"the answer does not fit its schema after {attempt} repairs: {error}"
                    ) from error
                request = _with_mistake(request, response, str(error))
            response = await chain.next_call(request)
            spent = response.response.usage
            usage = spent if usage is None else usage if spent is None else usage + spent
        return replace(response, response=replace(response.response, usage=usage))

    async def advise_stream(self, request: ChatClientRequest, chain: CallAdvisorChain) -> AsyncIterator[RunEvent]:
        """Raises: StructuredOutputError: what has been streamed cannot be taken back when it does not fit."""
        if _wanted(request) is not None:
            raise StructuredOutputError(
                "a validated answer cannot be streamed: ask for it with call(), or stream with validate_schema=False"
            )
        async for event in chain.next_stream(request):
            yield event


def _wanted(request: ChatClientRequest) -> StructuredOutput[Any] | None:
    wanted = request.context.get(STRUCTURED_OUTPUT)
    return cast("StructuredOutput[Any]", wanted) if isinstance(wanted, StructuredOutput) else None


def _with_mistake(request: ChatClientRequest, response: ChatClientResponse, mistake: str) -> ChatClientRequest:
    """The request with the answer that did not fit, and what is wrong with it."""
    told = UserMessage(
        content=f"Your answer does not fit the schema: {mistake}. Send the whole answer again, corrected, as JSON and "
        "with nothing else."
    )
    prompt = request.prompt
    messages = (*prompt.messages, response.response.message, told)
    return replace(request, prompt=replace(prompt, messages=messages))
