"""Where a server may listen, and the socket for it."""

import socket
import sys
from ipaddress import ip_address
from typing import Final, cast

from gateway.errors import ConfigurationError
from gateway.settings import GatewaySettings

_BACKLOG: Final = 2048
"""Connections that wait to be accepted: many agents start at once."""
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on reaches this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_listening(settings: GatewaySettings) -> None:
    """Raises: ConfigurationError if anyone on the network could use the gateway without a key."""
    if settings.api_key is None and not is_loopback(settings.host):
        raise ConfigurationError(
            f"refusing to listen on {settings.host} without a key: anyone who reaches it could use and change the "
            "catalog. Set TOOLSCOUT_API_KEY to a long random value (`openssl rand -hex 32`), or listen on 127.0.0.1"
        )


def shared_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """Listening sockets of one port, among which the kernel spreads connections evenly; one where it cannot.

    Raises: ConfigurationError that says what to set.
    """
    with bound_socket(host, port) as probe:  # a port that is in use must not be shared with who uses it
        port = probe.getsockname()[1]
    if sys.platform != "linux":
        return [bound_socket(host, port)]
    return [bound_socket(host, port, shared=True) for _ in range(count)]


def bound_socket(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A listening socket; port 0 takes any that is free. `shared`: one of several of this port.

    Raises: ConfigurationError that says what to set.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where it can see that a socket is TCP; with it on, an answer of two
    # writes waits 40 ms for the other side's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); set TOOLSCOUT_HOST and TOOLSCOUT_PORT "
            "(or --host and --port) to an address of this machine and a free port, or stop what uses it"
        ) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Where this machine reaches a listening socket."""
    host, port = cast("tuple[str, int]", listener.getsockname()[:2])
    name: str = _EVERYWHERE.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
