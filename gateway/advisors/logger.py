"""Logs what passes, for a developer to read."""

import logging
from collections.abc import Callable
from typing import Final

from gateway.advisors.base import BaseAdvisor
from gateway.chat.exchange import RUN_ID, ChatClientRequest, ChatClientResponse
from gateway.chat.messages import AssistantMessage, Message, ToolResponseMessage, text_of
from indexer.errors import cut

_EXCERPT: Final = 200

default_logger: Final = logging.getLogger(__name__)


class SimpleLoggerAdvisor(BaseAdvisor):
    """One line for what goes in and one for what comes out, at level DEBUG; inside the loop, so once a round."""

    name = "SimpleLoggerAdvisor"

    def __init__(
        self,
        *,
        order: int = 0,
        logger: logging.Logger | None = None,
        request_text: Callable[[ChatClientRequest], str] | None = None,
        response_text: Callable[[ChatClientResponse], str] | None = None,
    ) -> None:
        """The two functions say what is logged, where a prompt's text must not be."""
        self.order = order
        self._logger = logger or default_logger
        self._request_text = request_text or _request_text
        self._response_text = response_text or _response_text

    async def before(self, request: ChatClientRequest) -> ChatClientRequest:
        if self._logger.isEnabledFor(logging.DEBUG):
            self._logger.debug("run %s request: %s", request.context.get(RUN_ID, "-"), self._request_text(request))
        return request

    async def after(self, request: ChatClientRequest, response: ChatClientResponse) -> ChatClientResponse:
        if self._logger.isEnabledFor(logging.DEBUG):
            self._logger.debug("run %s response: %s", request.context.get(RUN_ID, "-"), self._response_text(response))
        return response


def _request_text(request: ChatClientRequest) -> str:
    prompt = request.prompt
    last = f", the last is {_described(prompt.messages[-1])}" if prompt.messages else ""
    return f"{len(prompt.messages)} messages{last}; tools: {', '.join(tool.name for tool in prompt.tools) or 'none'}"


def _response_text(response: ChatClientResponse) -> str:
    answer = response.response
    usage = f"; {answer.usage.prompt_tokens}+{answer.usage.completion_tokens} tokens" if answer.usage else ""
    return f"{_described(answer.message)}; {answer.finish_reason}{usage}"


def _described(message: Message) -> str:
    if isinstance(message, ToolResponseMessage):
        return "tool results: " + "; ".join(
            f"{one.name}: {cut(text_of(one.content), _EXCERPT)}" for one in message.responses
        )
    calls = (
        "".join(f" {call.name}({cut(call.arguments, _EXCERPT)})" for call in message.tool_calls)
        if isinstance(message, AssistantMessage)
        else ""
    )
    return f"{cut(text_of(message.content), _EXCERPT)!r}{calls}"
