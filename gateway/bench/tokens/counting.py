"""Which vocabulary and tool layout a model is counted with, and whether that is exact."""

import re
from typing import Final, NamedTuple

from gateway.chat.tokens import Encoding
from gateway.chat.tool_layout import ToolLayout


class Counting(NamedTuple):
    """How the prompts of a model are counted."""

    encoding: Encoding
    layout: ToolLayout
    exact_vocabulary: bool
    """False: the model's own vocabulary is not public or not carried here, so the counts are an estimate."""

    @property
    def label(self) -> str:
        return "exact vocabulary" if self.exact_vocabulary else f"an estimate: counted with {self.encoding}"


_O200K: Final = re.compile(r"gpt-4o|gpt-4\.1|gpt-4\.5|gpt-[5-9]|gpt-oss|o[1-9](?:-|$)|chatgpt-4o")
_CL100K: Final = re.compile(r"gpt-4(?:-|$)|gpt-3\.5|text-embedding")


def counting_for(model: str) -> Counting:
    """By the model's name, as tiktoken maps them (openai/tiktoken, `model.py`); no name is OpenAI's newest.

    Models of other providers are estimated: Anthropic and Google publish no vocabulary, and of open models it is not
    carried here. Their tools are taken to be laid out as JSON.
    """
    name = model.rsplit("/", 1)[-1].lower()
    if not name or _O200K.match(name):
        return Counting("o200k_base", "openai", True)
    if _CL100K.match(name):
        return Counting("cl100k_base", "openai", True)
    return Counting("o200k_base", "json", False)
