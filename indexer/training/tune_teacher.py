"""Tune the sentence encoder of the quality tier: `python -m indexer.training.tune_teacher --output FOLDER`.

Its upper weights (3.4 million; the table of pieces stays) learn from the same pairs as the static table. It needs the
extras `training` and `demo`. Set TOOLSCOUT_DATA where the test sets are, so that catalog operations whose text stands
in one are left out.
"""

# pyright: basic
# torch leaves its own types partly unknown, which strict would report at every call.

import argparse
import copy
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from torch.nn import functional

from indexer.embedders.sentence_delta import DELTA_FILE, SHIPPED_DELTA, Weights, pack_difference
from indexer.training.base_table import teacher_source
from indexer.training.batches import Batch, Mixture, TrainingBatches
from indexer.training.packing import sha256_of
from indexer.training.sentence_encoder import SentenceEncoder
from indexer.training.student import contrastive_loss, ramp
from indexer.training.teacher_pieces import Teacher, open_teacher
from indexer.training.training_data import CACHE, PROGRESS_COLUMNS, TrainingData

DELTA_NAME: Final = "use-multilingual-3-tuned-1"
MIXTURE: Final = Mixture(batch=96)
DELTA_SHARE: Final = 0.75
"""How far from the untuned weights to the tuned ones; flat between 0.5 and 1 on development halves."""
LONGEST: Final = 64
"""Pieces of a text that are read in training."""
_BEGIN, _END = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningSettings:
    """How the sentence encoder is tuned; chosen on the development halves."""

    steps: int = 500
    rate: float = 3e-4
    warm_up: float = 0.1
    """Share of the steps over which the rate rises; it falls linearly afterwards."""
    scale: float = 20.0
    """Inverse temperature of the cosines."""
    memory: float = 0.3
    """Weight of the divergence from how the untuned encoder orders a batch."""
    seed: int = 1


def main() -> None:
    """Read the arguments, tune, and write the difference with its card."""
    parser = argparse.ArgumentParser(prog="python -m indexer.training.tune_teacher", description=__doc__)
    parser.add_argument("--output", type=Path, default=SHIPPED_DELTA, help="folder for the difference and its card")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for downloaded wheels")
    parser.add_argument("--seed", type=int, default=TuningSettings().seed, help="of the batches")
    parser.add_argument("--steps", type=int, default=TuningSettings().steps, help="steps of tuning")
    parser.add_argument("--threads", type=int, default=1, help="threads that torch may use")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    settings = TuningSettings(steps=arguments.steps, seed=arguments.seed)
    teacher, data = open_teacher(), TrainingData(arguments.cache)
    before = teacher_weights(teacher)
    batches = TrainingBatches(
        tokenizer=SentenceTokenizer(teacher),
        pairs=data.pairs,
        tools=data.tools,
        translations=data.translations,
        mixture=MIXTURE,
        seed=settings.seed,
    )
    with Progress(*PROGRESS_COLUMNS, console=Console(stderr=True)) as progress:
        task = progress.add_task("tuning", total=settings.steps)
        after = tune(
            SentenceEncoder(teacher._model.table, before),
            iter(batches),
            settings,
            on_step=lambda loss: progress.update(task, advance=1, description=f"tuning (loss {loss:.2f})"),
        )
    write_delta(
        arguments.output,
        {name: DELTA_SHARE * (weight - before[name]) for name, weight in after.items()},
        card={
            "name": DELTA_NAME,
            "licence": "Apache-2.0",
            "made_by": "python -m indexer.training.tune_teacher",
            "recipe": {**asdict(settings), "share": DELTA_SHARE, "mixture": asdict(MIXTURE), "longest": LONGEST},
            "data": data.card(),
            "sources": [teacher_source(teacher)],
            "versions": {name: version(name) for name in ("numpy", "torch")},
        },
    )


class SentenceTokenizer:
    """The teacher's own pieces, cut to `LONGEST` with the marks of begin and end."""

    def __init__(self, teacher: Teacher) -> None:
        self._tokenizer = teacher._tokenizer

    def encode(self, text: str) -> list[int]:
        """Ids, never more than `LONGEST`; none for a text without letters or digits."""
        if not any(character.isalnum() for character in text):
            return []
        pieces: list[int] = self._tokenizer.encode(text, add_bos=False, add_eos=False)
        return [_BEGIN, *pieces[: LONGEST - 2], _END]


def teacher_weights(teacher: Teacher) -> dict[str, np.ndarray]:
    """The arrays of the package's `weights.npz` that are not its table."""
    package = Path(str(importlib.import_module(type(teacher).__module__).__file__)).parent
    with np.load(package / "resources" / "weights.npz", allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files if not name.startswith("q")}


def tune(
    encoder: SentenceEncoder,
    batches: Iterator[Batch],
    settings: TuningSettings,
    *,
    on_step: Callable[[float], None],
) -> Weights:
    """The upper weights after tuning; `on_step` hears each step's loss."""
    torch.manual_seed(settings.seed)
    before = copy.deepcopy(encoder).requires_grad_(False)
    optimiser = torch.optim.Adam(encoder.parameters(), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, ramp(settings.steps, settings.warm_up))
    for _, batch in zip(range(settings.steps), batches, strict=False):
        now, then = _cosines(encoder, batch), _cosines(before, batch)
        loss = contrastive_loss(now, torch.from_numpy(batch.labels), settings.scale)
        kept = _divergence(now, then, settings.scale) + _divergence(now.T, then.T, settings.scale)
        loss = loss + settings.memory * kept / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        on_step(float(loss.detach()))
    return encoder.weights()


def _cosines(encoder: SentenceEncoder, batch: Batch) -> torch.Tensor:
    vectors = encoder([*batch.queries, *batch.documents])
    return vectors[: len(batch.queries)] @ vectors[len(batch.queries) :].T


def _divergence(now: torch.Tensor, then: torch.Tensor, scale: float) -> torch.Tensor:
    """Kullback-Leibler divergence of each row's distribution from the untuned encoder's."""
    return functional.kl_div(
        (now * scale).log_softmax(1), (then * scale).log_softmax(1), reduction="batchmean", log_target=True
    )


def write_delta(folder: Path, differences: Weights, card: Mapping[str, Any]) -> None:
    """Write what tuning changed, and the card with its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    packed: dict[str, np.ndarray] = {}
    for name, difference in differences.items():
        packed[name], packed[f"{name}.scale"] = pack_difference(difference)
    path = folder / DELTA_FILE
    np.savez_compressed(path, allow_pickle=False, **packed)
    record = {
        **card,
        "format": {
            "weights": sum(difference.size for difference in differences.values()),
            "arrays": "by their names in the package's weights.npz: int8 codes and, under NAME.scale, float16 scales "
            "of the last axis; difference = code x scale",
        },
        "files": {DELTA_FILE: {"sha256": sha256_of(path), "bytes": path.stat().st_size}},
    }
    (folder / "card.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
