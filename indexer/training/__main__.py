"""Train the default encoder from the pairs in this package: `python -m indexer.training --output FOLDER`.

It needs the extras `training` and `demo`. Set TOOLSCOUT_DATA where the test sets are, so that catalog operations whose
text stands in one are left out.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from rich.console import Console
from rich.progress import Progress, TaskID

from indexer.embedders.unigram import UnigramTokenizer
from indexer.training.base_table import SIF_A, sif_weights, teacher_source, whitened_table
from indexer.training.batches import Mixture, TrainingBatches
from indexer.training.packing import pack, write_table
from indexer.training.student import TrainingSettings, soup, train
from indexer.training.teacher_pieces import Teacher, Vocabulary, embed_pieces, lower_case_vocabulary, open_teacher
from indexer.training.training_data import CACHE, PROGRESS_COLUMNS, TrainingData

TABLE_NAME: Final = "static-256-4"
SEEDS: Final = (1, 2, 3, 4, 5)
SOUP_SHARE: Final = 0.85
"""How far from the untrained table to the mean of the trained ones; flat between 0.7 and 1 on development halves."""
TABLE_SCALE: Final = 0.1
"""Root mean square of the untrained table's values, so that the learning rate means the same whatever its units."""

Table = npt.NDArray[np.float32]


def main() -> None:
    """Read the arguments, train, and write the table with its card."""
    parser = argparse.ArgumentParser(prog="python -m indexer.training", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="folder for the table")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for downloaded wheels")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="one member of the soup each")
    parser.add_argument("--steps", type=int, default=TrainingSettings().steps, help="steps of a member")
    parser.add_argument("--threads", type=int, default=1, help="threads that torch may use")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    settings, mixture = TrainingSettings(steps=arguments.steps), Mixture()
    with Progress(*PROGRESS_COLUMNS, console=Console(stderr=True)) as progress:
        teacher = open_teacher()
        vocabulary = lower_case_vocabulary(teacher)
        start = starting_table(teacher, vocabulary, progress)
        data = TrainingData(arguments.cache)
        members = train_members(start, vocabulary, data, settings, mixture, arguments.seeds, progress)
    write_table(
        arguments.output,
        packed=pack(soup(start, members, SOUP_SHARE)),
        pieces=vocabulary.pieces,
        log_probabilities=vocabulary.log_probabilities,
        card={
            "name": TABLE_NAME,
            "licence": "Apache-2.0",
            "made_by": "python -m indexer.training",
            "recipe": {
                "start": {"sif_a": SIF_A, "whitening": "Zipfian (under the unigram distribution)"},
                "member": asdict(settings),
                "mixture": asdict(mixture),
                "seeds": arguments.seeds,
                "soup_share": SOUP_SHARE,
            },
            "data": data.card(),
            "sources": [teacher_source(teacher)],
            "versions": {name: version(name) for name in ("numpy", "torch")},
        },
    )


def starting_table(teacher: Teacher, vocabulary: Vocabulary, progress: Progress) -> Table:
    """(tokens, dimensions) float32: the untrained table, scaled."""
    task = progress.add_task("embedding pieces", total=len(vocabulary.pieces))
    rows = embed_pieces(teacher, vocabulary.teacher_ids, on_progress=lambda count: progress.advance(task, count))
    table = whitened_table(rows, vocabulary.log_probabilities)
    return (table * (TABLE_SCALE / np.sqrt(np.mean(np.square(table))))).astype(np.float32)


def train_members(
    start: Table,
    vocabulary: Vocabulary,
    data: TrainingData,
    settings: TrainingSettings,
    mixture: Mixture,
    seeds: Sequence[int],
    progress: Progress,
) -> list[Table]:
    """One trained table a seed: seeds differ in what they see and in which order."""
    weights = sif_weights(vocabulary.log_probabilities).astype(np.float32)
    tokenizer = UnigramTokenizer(vocabulary.pieces, vocabulary.log_probabilities.tolist())
    tasks = {seed: progress.add_task(f"training member {seed}", total=settings.steps) for seed in seeds}
    members: list[Table] = []
    for seed in seeds:
        batches = TrainingBatches(
            tokenizer=tokenizer,
            pairs=data.pairs,
            tools=data.tools,
            translations=data.translations,
            mixture=mixture,
            seed=seed,
        )

        def advance(loss: float, task: TaskID = tasks[seed], seed: int = seed) -> None:
            progress.update(task, advance=1, description=f"training member {seed} (loss {loss:.2f})")

        members.append(train(start, weights, iter(batches), settings, seed=seed, on_step=advance))
    return members


if __name__ == "__main__":
    main()
