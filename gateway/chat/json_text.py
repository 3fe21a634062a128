"""JSON as it is put on the wire and before a model: compact, in the letters it was written in."""

import json


def encode_json(value: object) -> bytes:
    """Compact UTF-8 JSON; lone surrogates, which UTF-8 cannot hold, stay escaped as they were written."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
