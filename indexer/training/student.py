"""The static encoder as a trainable model, in torch: the rows of its tokens move, their weights stay."""

# pyright: basic
# torch leaves its own types partly unknown, which strict would report at every call.

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from indexer.training.batches import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How one member of the soup is trained; chosen on the development halves."""

    steps: int = 1000
    row_rate: float = 2e-3
    warm_up: float = 0.1
    """Share of the steps over which the rate rises; it falls linearly afterwards."""
    scale: float = 20.0
    """Inverse temperature of the cosines."""
    memory: float = 1.0
    """Weight of staying near the untrained table: 1 - cosine of each text's vector before and after."""


class StaticStudent(nn.Module):
    """normalise(sum_t w_t x_t): the weights w are those of the untrained table, the rows x start there and move.

    Moving w_t x_t itself would not do: Adam's steps are equally long for all, and would blow up the words that
    carry least, whose weight is small.
    """

    start: torch.Tensor
    weights: torch.Tensor

    def __init__(self, table: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]) -> None:
        super().__init__()
        start = torch.from_numpy(table / weights[:, None])  # (tokens, dimensions)
        self.rows = nn.EmbeddingBag.from_pretrained(start.clone(), freeze=False, mode="sum", sparse=True)
        self.register_buffer("start", start, persistent=False)
        self.register_buffer("weights", torch.from_numpy(weights), persistent=False)

    def forward(self, texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit vectors (n, d) of the texts as they are now, and as they were before training."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        ids = torch.from_numpy(np.concatenate([np.asarray(text, dtype=np.int64) for text in texts]))
        offsets = torch.from_numpy(np.cumsum(lengths) - lengths)
        weights = self.weights[ids]
        now = self.rows(ids, offsets, per_sample_weights=weights)
        with torch.no_grad():
            before = functional.embedding_bag(ids, self.start, offsets, mode="sum", per_sample_weights=weights)
        return functional.normalize(now, dim=1), functional.normalize(before, dim=1)

    @torch.no_grad()
    def table(self) -> npt.NDArray[np.float32]:
        """(tokens, dimensions) float32: weights and rows in one."""
        return (self.rows.weight * self.weights[:, None]).numpy()


def contrastive_loss(cosines: torch.Tensor, labels: torch.Tensor, scale: float) -> torch.Tensor:
    """Symmetric InfoNCE (van den Oord et al., 2018) over in-batch negatives; other pairs of one's label are masked."""
    same = labels[:, None] == labels[None, :]
    same.fill_diagonal_(False)
    logits = (cosines * scale).masked_fill(same, -1e4)
    target = torch.arange(len(labels))
    return (functional.cross_entropy(logits, target) + functional.cross_entropy(logits.T, target)) / 2


def train(
    table: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    batches: Iterator[Batch],
    settings: TrainingSettings,
    *,
    seed: int,
    on_step: Callable[[float], None],
) -> npt.NDArray[np.float32]:
    """(tokens, dimensions) float32: the table after training; `on_step` hears each step's loss."""
    torch.manual_seed(seed)
    student = StaticStudent(table, weights)
    optimiser = torch.optim.SparseAdam(student.rows.parameters(), lr=settings.row_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, ramp(settings.steps, settings.warm_up))
    for _, batch in zip(range(settings.steps), batches, strict=False):
        queries, queries_before = student(batch.queries)
        documents, documents_before = student(batch.documents)
        loss = contrastive_loss(queries @ documents.T, torch.from_numpy(batch.labels), settings.scale)
        kept = (queries * queries_before).sum(1).mean() + (documents * documents_before).sum(1).mean()
        loss = loss + settings.memory * (1 - kept / 2)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        on_step(float(loss.detach()))
    return student.table()


def ramp(steps: int, warm_up: float) -> Callable[[int], float]:
    """Factor of the rate at each step: rising over the share `warm_up` of the steps, then falling to nothing."""
    rising = max(1, int(steps * warm_up))
    falling = max(1, steps - rising)
    return lambda step: min((step + 1) / rising, (steps - step) / falling)


def soup(
    start: npt.NDArray[np.float32], members: Sequence[npt.NDArray[np.float32]], share: float
) -> npt.NDArray[np.float32]:
    """(tokens, dimensions): the untrained table mixed with the mean of the trained ones.

    Averaging seeds: Wortsman et al. (2022), "Model soups". Going only part of the way from the start keeps what the
    training data does not speak of: Wortsman et al. (2022), "Robust fine-tuning".
    """
    return ((1 - share) * start + share * np.mean(members, axis=0)).astype(np.float32)
