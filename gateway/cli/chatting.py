"""`toolscout chat`: one message, or a conversation, with the catalog's tools at the model's hand."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from gateway.cli.catalog import LocalCatalog, open_catalog
from gateway.cli.exits import Exit
from gateway.cli.output import clean, write_error
from gateway.cli.remote_catalog import RemoteCatalog
from gateway.errors import GatewayError
from gateway.remote import RemoteError, RemoteGateway
from gateway.settings import GatewaySettings
from indexer import IndexerSettings

Write: TypeAlias = Callable[[str], None]


class Talk(Protocol):
    """A conversation: every message sees what was said before."""

    def say(self, text: str, write: Write) -> None:
        """Write the answer, piece by piece. Raises: GatewayError."""
        ...


def chat_with_catalog(message: str | None, model: str) -> Exit:
    """`toolscout chat`; without a message it reads one line a turn, until the end of input."""
    indexer = IndexerSettings.from_environment()
    with open_catalog(indexer) as catalog:
        if isinstance(catalog, RemoteCatalog):
            talk: Talk = RemoteTalk(catalog.gateway, model)
            return _converse(talk, message)
        assert isinstance(catalog, LocalCatalog)
        local = LocalTalk(catalog, GatewaySettings.from_environment(), indexer, model)
        try:
            return _converse(local, message)
        finally:
            local.close()


def _converse(talk: Talk, message: str | None) -> Exit:
    if message is not None:
        _turn(talk, message)
        return Exit.OK
    while text := _next_line():
        try:
            _turn(talk, text)
        except GatewayError as error:
            # A turn that failed is no reason to end the conversation.
            write_error(str(error))
    return Exit.OK


def _next_line() -> str | None:
    if sys.stdin.isatty():
        sys.stdout.write("you> ")
        sys.stdout.flush()
    line = sys.stdin.readline()
    return line.strip() or (_next_line() if line else None)


def _turn(talk: Talk, text: str) -> None:
    talk.say(text, _write)
    _write("\n")


def _write(piece: str) -> None:
    sys.stdout.write(clean(piece))
    sys.stdout.flush()


def handed_over(calls: list[tuple[str, str]]) -> str:
    """What to say of calls that only the caller can run: the command line runs no tools of its own."""
    listed = "\n".join(f"  {name} {arguments}" for name, arguments in calls)
    return (
        f"\nThe model asks its caller to run:\n{listed}\nThe command line cannot; an agent would, and send the result."
    )


class RemoteTalk:
    """A conversation through the chat route of a running gateway."""

    def __init__(self, gateway: RemoteGateway, model: str) -> None:
        self._gateway = gateway
        self._model = model
        self._messages: list[dict[str, Any]] = []

    def say(self, text: str, write: Write) -> None:
        messages = [*self._messages, {"role": "user", "content": text}]
        body = {"model": self._model or "default", "messages": messages, "stream": True}
        answer: list[str] = []
        calls: list[tuple[str, str]] = []
        for event in self._gateway.stream_events("/v1/chat/completions", body):
            if "error" in event:
                raise RemoteError(str(event["error"].get("message", event["error"])))
            for choice in event.get("choices", ()):
                delta = choice["delta"]
                calls += _called(delta)
                if delta.get("content"):
                    answer.append(delta["content"])
                    write(delta["content"])
        if calls:
            write(handed_over(calls))
        self._messages = [*messages, {"role": "assistant", "content": "".join(answer)}]


def _called(delta: dict[str, Any]) -> list[tuple[str, str]]:
    functions = [call["function"] for call in delta.get("tool_calls") or ()]
    return [(one["name"], one.get("arguments", "")) for one in functions if one.get("name")]


class LocalTalk:
    """A conversation through the same loop, run by this process over the catalog it has opened."""

    def __init__(self, catalog: LocalCatalog, gateway: GatewaySettings, indexer: IndexerSettings, model: str) -> None:
        from gateway.app import make_services
        from gateway.chat.messages import Message

        self._catalog = catalog
        self._services = make_services(catalog.index, gateway, home=indexer.home)
        self._model = model
        self._messages: tuple[Message, ...] = ()
        if gateway.upstream_url is None:
            write_error("no model is configured (TOOLSCOUT_UPSTREAM_URL): a scripted one plays the part")

    def say(self, text: str, write: Write) -> None:
        self._catalog.run(self._say(text, write))

    async def _say(self, text: str, write: Write) -> None:
        from gateway.chat.exchange import RunFinished, TextDelta, ToolCallStarted
        from gateway.chat.messages import UserMessage
        from gateway.chat.prompt import ChatOptions, Prompt

        messages = (*self._messages, UserMessage(content=text))
        prompt = Prompt(messages=messages, options=ChatOptions(model=self._model))
        async for event in self._services.client.stream(prompt):
            match event:
                case TextDelta(text=piece):
                    write(piece)
                case ToolCallStarted(call=call):
                    write(f"[{call.name} {call.arguments}]\n")
                case RunFinished(response=response):
                    message = response.response.message
                    if message.tool_calls:
                        write(handed_over([(call.name, call.arguments) for call in message.tool_calls]))
                    # A call that nobody will answer must not stand in the conversation: providers refuse it.
                    self._messages = (
                        *messages,
                        *response.context["new_messages"][:-1],
                        replace(message, tool_calls=()),
                    )
                case _:
                    pass

    def close(self) -> None:
        """Close the model's and the tools' connections; the catalog stays its opener's to close."""
        self._catalog.run(self._services.registry.aclose())
        if "model" in vars(self._services):
            self._catalog.run(self._services.model.aclose())
