"""Answers as JSON. Routes return them ready-made: FastAPI's response models would be built at start-up and slow it."""

from typing import Any

from fastapi.responses import Response
from typing_extensions import override

from gateway.chat.json_text import encode_json


class JsonAnswer(Response):
    """A JSON answer; unlike Starlette's, it can hold half of a surrogate pair, which registered texts may have."""

    media_type = "application/json"

    @override
    def render(self, content: Any) -> bytes:
        return encode_json(content)
