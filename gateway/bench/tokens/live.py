"""Real models in the conversations: what a provider counts beside what is counted here."""

from collections.abc import Sequence
from typing import Any

from gateway.bench.progress import Progress
from gateway.bench.tokens.catalog import BenchCatalog
from gateway.bench.tokens.conversations import Conversation, within
from gateway.bench.tokens.distractors import HardDistractors
from gateway.bench.tokens.playing import AppendSettings, Play, Stage, play_append
from gateway.chat.prompt import ChatOptions
from gateway.errors import GatewayError
from gateway.models.base import ChatModel


async def run_live(
    catalog: BenchCatalog,
    conversations: Sequence[Conversation],
    model: ChatModel,
    *,
    name: str,
    tools: int,
    k: int,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Play each conversation once on a real model, through the product; one that fails does not stop the rest.

    The tools' results are the script's; what the model searches, calls and says is its own.
    """
    distractors = HardDistractors(catalog)
    played = within(conversations, catalog.rows)
    records: list[dict[str, Any]] = []
    for number, conversation in enumerate(played, start=1):
        stage = Stage(catalog, conversation, seed=1)
        view = stage.view(distractors.around(conversation, stage.seed), tools)
        try:
            play = await play_append(
                stage, catalog.index, view, AppendSettings(k=k), model=model, options=ChatOptions(model=name)
            )
            records.append(_record(conversation, stage, play))
        except GatewayError as error:
            records.append({**_record(conversation, stage, Play()), "error": str(error)})
        if progress is not None:
            progress("live", number, len(played))
    return {"model": name or "the upstream's default model", "tools": tools, "conversations": records}


def _record(conversation: Conversation, stage: Stage, play: Play) -> dict[str, Any]:
    reported = [one.reported_prompt_tokens for one in play.requests if one.reported_prompt_tokens is not None]
    whole = len(reported) == len(play.requests) and bool(reported)
    return {
        "id": conversation.id,
        "requests": len(play.requests),
        "searches": play.searches,
        "counted": play.prompt_tokens,
        "reported": sum(reported) if whole else None,
        "right": bool(play.called) and play.right(conversation, stage.names),
        "error": "",
    }
