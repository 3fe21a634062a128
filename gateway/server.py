"""One serving process: it listens, says where, and opens the catalog while it imports the web framework."""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.app import build_app, make_services
from gateway.home import ServerRecord, remove_server_record, write_server_record
from gateway.listening import bound_socket, check_listening, url_of
from gateway.process import on_signals, short_turns, without_garbage_collection
from gateway.settings import GatewaySettings
from indexer import IndexerSettings, open_index

if TYPE_CHECKING:
    import socket


def run_server(
    gateway: GatewaySettings, indexer: IndexerSettings, *, on_ready: Callable[[str], object] | None = None
) -> None:
    """Serve until interrupted; `on_ready` hears the URL once requests are answered.

    Raises: ConfigurationError, StoreLockedError, StoreError.
    """
    check_listening(gateway)
    with (
        closing(bound_socket(gateway.host, gateway.port)) as listener,
        suppress(KeyboardInterrupt),  # one may also come while the home is owned or left
        owned_home(indexer.home, listener, on_ready) as (record, ready),
    ):
        run_worker(gateway, indexer, listener, record, ready)


@contextmanager
def owned_home(
    home: Path, listener: "socket.socket", on_ready: Callable[[str], object] | None
) -> Generator[tuple[ServerRecord, Callable[[], None]]]:
    """The record of this process as the owner of a home, and what is to be called once requests are answered.

    Only then can the record be found under the home, and `on_ready` hears the URL. It is gone after the block. It holds
    a token for the commands of whoever may read it.
    """
    token = secrets.token_urlsafe(32)
    record = ServerRecord(url=url_of(listener), pid=os.getpid(), started_at=time.time(), token=token)

    def ready() -> None:
        write_server_record(home, record)
        if on_ready is not None:
            on_ready(record.url)

    try:
        yield record, ready
    finally:
        remove_server_record(home, pid=record.pid)


def run_worker(
    gateway: GatewaySettings,
    indexer: IndexerSettings,
    listener: "socket.socket",
    record: ServerRecord,
    on_ready: Callable[[], None],
) -> None:
    """Serve at a port until interrupted; the process that listens there and owns the home may be another one.

    Raises: StoreLockedError, StoreError.
    """
    with without_garbage_collection() as resume_collection, short_turns(), suppress(KeyboardInterrupt):

        def ready() -> None:
            resume_collection()
            on_ready()

        asyncio.run(_serve(gateway, indexer, listener, record, ready))


async def _serve(
    gateway: GatewaySettings,
    indexer: IndexerSettings,
    listener: "socket.socket",
    record: ServerRecord,
    on_ready: Callable[[], None],
) -> None:
    opening = asyncio.create_task(open_index(indexer, for_long=True))
    # Lets the catalog begin to load in its thread, which mostly reads and copies, while this one imports fastapi.
    await asyncio.sleep(0)
    import uvicorn

    from gateway.api import chat as _  # noqa: F401  imports fastapi

    services = make_services(await opening, gateway, home=indexer.home)

    class Server(uvicorn.Server):
        async def startup(self, sockets: "list[socket.socket] | None" = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_ready()

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            # uvicorn's own raises the signal again when it is done, and the catalog would not be closed any more.
            with on_signals(self.handle_exit):
                yield

    try:
        app = build_app(services, operator_token=record.token, pid=record.pid)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        await Server(config).serve(sockets=[listener])
    finally:
        await services.aclose()
