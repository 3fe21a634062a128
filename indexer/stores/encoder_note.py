"""What stands beside an embedded store: which setting names the encoder of its vectors, whose id alone is in it."""

import contextlib
from pathlib import Path
from typing import Final

import orjson

_NOTE: Final = "encoder.json"


def note_encoder(store: Path, name: str, encoder_id: str) -> None:
    """Note that the encoder of this id is the one that TOOLSCOUT_ENCODER calls `name`."""
    if read_note(store) == (name, encoder_id):
        return
    scratch = (store / _NOTE).with_suffix(".tmp")
    with contextlib.suppress(OSError):  # only a move back needs it, and says what it lacks
        scratch.write_bytes(orjson.dumps({"encoder": name, "encoder_id": encoder_id}))
        scratch.replace(store / _NOTE)


def noted_encoder(store: Path, encoder_id: str) -> str | None:
    """The name of the encoder of this id; None where it is not noted."""
    noted = read_note(store)
    return noted[0] if noted is not None and noted[1] == encoder_id else None


def read_note(store: Path) -> tuple[str, str] | None:
    """Name and id as they were noted last; None where that cannot be read."""
    try:
        noted = orjson.loads((store / _NOTE).read_bytes())
        return str(noted["encoder"]), str(noted["encoder_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
