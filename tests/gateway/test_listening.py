"""Sockets to listen on."""

import asyncio
import socket
from contextlib import closing

import pytest

from gateway.errors import ConfigurationError
from gateway.listening import bound_socket, url_of


def test_a_free_port_is_taken_and_told() -> None:
    with closing(bound_socket("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert url_of(listener) == f"http://127.0.0.1:{port}"


def test_a_server_that_listens_everywhere_is_reached_over_loopback() -> None:
    with closing(bound_socket("0.0.0.0", 0)) as listener:
        assert url_of(listener).startswith("http://127.0.0.1:")


def test_a_port_in_use_says_what_to_set() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}.*TOOLSCOUT_PORT"):
            bound_socket("127.0.0.1", port)


def test_an_address_of_another_machine_says_what_to_set() -> None:
    with pytest.raises(ConfigurationError, match="TOOLSCOUT_HOST"):
        bound_socket("192.0.2.1", 0)


async def test_answers_in_several_writes_do_not_wait_for_acknowledgements() -> None:
    accepted = asyncio.get_running_loop().create_future()

    def remember(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with closing(bound_socket("127.0.0.1", 0)) as listener:
        async with await asyncio.start_server(remember, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            assert await accepted
            writer.close()
