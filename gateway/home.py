"""Who owns an embedded catalog right now: a small record under the home that says where its server listens."""

import http.client
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

SERVER_FILE: Final = "server.json"
SERVICE_NAME: Final = "toolscout"
"""What `/healthz` calls itself, so that a stranger on a re-used port is not taken for a gateway."""

_HEALTH_TIMEOUT_SECONDS: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A running gateway, as written under the home that it owns."""

    url: str
    """`http://127.0.0.1:8080`, without a slash at its end."""
    pid: int
    started_at: float
    """Seconds since the epoch."""
    token: str | None = None
    """The bearer token the server asks for; the file is readable by its owner only."""


def write_server_record(home: Path, record: ServerRecord) -> None:
    """Say where the server that owns this home listens; replaces an older record in one step."""
    write_private(home / SERVER_FILE, json.dumps(asdict(record)))


def write_private(path: Path, text: str) -> None:
    """Put a file in its place in one step, never readable by anyone but its owner; makes the folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    # Opened with its final mode: what is in it must not be readable by others even for a moment.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


def remove_server_record(home: Path, *, pid: int | None = None) -> None:
    """Forget the record; with a pid only if that process wrote it, so that a successor's record stays."""
    if pid is not None:
        record = read_server_record(home)
        if record is None or record.pid != pid:
            return
    (home / SERVER_FILE).unlink(missing_ok=True)


def read_server_record(home: Path) -> ServerRecord | None:
    """The record as it stands, running or not; None where there is none that can be read."""
    try:
        fields: Any = json.loads((home / SERVER_FILE).read_text(encoding="utf-8"))
        return ServerRecord(
            url=str(fields["url"]),
            pid=int(fields["pid"]),
            started_at=float(fields["started_at"]),
            token=cast("str | None", fields.get("token")),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def live_server(home: Path) -> ServerRecord | None:
    """The server that owns this home, if its process lives and its `/healthz` answers within 0.3 s."""
    record = read_server_record(home)
    if record is None or not _is_alive(record.pid) or not _answers(record):
        return None
    return record


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _answers(record: ServerRecord) -> bool:
    """Asked with http.client: an HTTP library would cost the command line a tenth of a second of imports."""
    address = urlsplit(record.url)
    if address.scheme != "http" or address.hostname is None:
        return False
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=_HEALTH_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        answer: Any = json.loads(connection.getresponse().read(4096))
        return answer["service"] == SERVICE_NAME and answer["pid"] == record.pid
    except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError):
        return False
    finally:
        connection.close()
