"""The way in for Python programs: a model, the advisors around it, and one call."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast
from uuid import uuid4

from gateway.advisors.chain import Advisor, CallAdvisorChain
from gateway.advisors.chat_model import ChatModelCallAdvisor, close_stream
from gateway.advisors.structured_output import StructuredOutputValidationAdvisor
from gateway.advisors.tool_calling import ToolCallingAdvisor
from gateway.chat.exchange import RUN_ID, ChatClientRequest, ChatClientResponse, RunEvent
from gateway.chat.messages import Message, UserMessage
from gateway.chat.prompt import ChatOptions, Prompt
from gateway.chat.structured import STRUCTURED_OUTPUT, StructuredOutput
from gateway.models.base import ChatModel
from gateway.tools.callback import ToolCallback
from gateway.tools.context import ToolContext
from gateway.tools.function import tool
from gateway.tools.options import TOOL_OPTIONS, ToolCallingChatOptions, tool_options

Asked: TypeAlias = str | Sequence[Message] | Prompt | ChatClientRequest
"""What a client can be asked: a question, a conversation, a prompt, or a whole request."""

T = TypeVar("T")

Tool: TypeAlias = ToolCallback | Callable[..., Any] | str
"""A tool, a typed function that becomes one, or a name that the loop's resolver knows."""


class ResponseEntity(NamedTuple, Generic[T]):
    """A structured answer, and the response it was read from."""

    value: T
    response: ChatClientResponse


class ChatClient:
    """Runs requests through one advisor chain; holds no state of any, so one client serves all of them at once."""

    def __init__(
        self,
        model: ChatModel,
        *,
        advisors: Iterable[Advisor] = (),
        tools: Iterable[Tool] = (),
        context: ToolContext | None = None,
        options: ChatOptions | None = None,
    ) -> None:
        """`tools`, `context` and `options` are the defaults of every request; without a tool loop among the advisors,
        a plain one is added.
        """
        given = tuple(advisors)
        loop = () if any(isinstance(advisor, ToolCallingAdvisor) for advisor in given) else (ToolCallingAdvisor(),)
        self._chain = CallAdvisorChain.of(*given, *loop, ChatModelCallAdvisor(model))
        defaults = tuple(tools)
        self._callbacks, self._names = _callbacks(defaults), _names(defaults)
        self._context = context
        self._options = options or ChatOptions()

    async def call(
        self, asked: Asked, *, tools: Iterable[Tool] = (), context: ToolContext | None = None
    ) -> ChatClientResponse:
        """The answer, after as many rounds of tools as it takes. Raises: GatewayError."""
        return await self._chain.next_call(self._request(asked, tools, context))

    async def stream(
        self, asked: Asked, *, tools: Iterable[Tool] = (), context: ToolContext | None = None
    ) -> AsyncIterator[RunEvent]:
        """Text as it comes, tool rounds as events, and RunFinished at the end. Raises: GatewayError."""
        events = self._chain.next_stream(self._request(asked, tools, context))
        try:
            async for event in events:
                yield event
        finally:
            await close_stream(events)

    async def entity(
        self,
        asked: Asked,
        wanted: type[T],
        *,
        validate_schema: bool = True,
        use_provider_structured_output: bool = False,
        tools: Iterable[Tool] = (),
        context: ToolContext | None = None,
    ) -> T:
        """The answer as a value of a pydantic model, or of any type pydantic can check.

        `validate_schema` has the model mend an answer that does not fit; `use_provider_structured_output` asks by
        `response_format` instead of in words. Raises: StructuredOutputError, GatewayError.
        """
        entity = await self.response_entity(
            asked,
            wanted,
            validate_schema=validate_schema,
            use_provider_structured_output=use_provider_structured_output,
            tools=tools,
            context=context,
        )
        return entity.value

    async def response_entity(
        self,
        asked: Asked,
        wanted: type[T],
        *,
        validate_schema: bool = True,
        use_provider_structured_output: bool = False,
        tools: Iterable[Tool] = (),
        context: ToolContext | None = None,
    ) -> "ResponseEntity[T]":
        """As `entity`, with the response it was read from. Raises: StructuredOutputError, GatewayError."""
        output = StructuredOutput(wanted)
        request = self._request(asked, tools, context)
        ask = output.asked_of_provider if use_provider_structured_output else output.asked_in_words
        request = replace(request, prompt=ask(request.prompt))
        chain = self._chain
        if validate_schema:
            request = request.with_context(**{STRUCTURED_OUTPUT: output})
            if not any(isinstance(one, StructuredOutputValidationAdvisor) for one in chain.advisors):
                chain = CallAdvisorChain.of(*chain.advisors, StructuredOutputValidationAdvisor())
        response = await chain.next_call(request)
        return ResponseEntity(output.read(response.text), response)

    def _request(self, asked: Asked, tools: Iterable[Tool], context: ToolContext | None) -> ChatClientRequest:
        request = asked if isinstance(asked, ChatClientRequest) else ChatClientRequest(prompt=self._prompt(asked))
        own = tool_options(request.context)
        said = TOOL_OPTIONS in request.context
        given = tuple(tools)
        options: ToolCallingChatOptions = replace(
            own,
            callbacks=(*self._callbacks, *own.callbacks, *_callbacks(given)),
            names=(*self._names, *own.names, *_names(given)),
            context=context or (own.context if said or self._context is None else self._context),
        )
        return replace(request, context={RUN_ID: uuid4().hex, **request.context, TOOL_OPTIONS: options})

    def _prompt(self, asked: str | Sequence[Message] | Prompt) -> Prompt:
        if isinstance(asked, Prompt):
            return asked
        messages = (UserMessage(content=asked),) if isinstance(asked, str) else tuple(asked)
        return Prompt(messages=messages, options=self._options)


def _callbacks(tools: Iterable[Tool]) -> tuple[ToolCallback, ...]:
    given = [one for one in tools if not isinstance(one, str)]
    return tuple(cast("ToolCallback", one) if hasattr(one, "spec") else tool(cast("Any", one)) for one in given)


def _names(tools: Iterable[Tool]) -> tuple[str, ...]:
    return tuple(one for one in tools if isinstance(one, str))
