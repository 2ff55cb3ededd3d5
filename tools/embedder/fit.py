"""Fit one row per token so that the sum of a text's rows points where the teacher's sentence vector points.

Rows start as the teacher's vector of the token alone, projected to 256 dimensions and weighted by how rare
the token is: a / (a + p), the smooth inverse frequency of Arora, Liang and Ma (2017). The weight stays inside
the row, so the reader only adds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn import functional

from clew.providers.static import counts_of

DIM = 256
SIF_A = 1e-3
SPECIAL = range(999)  # [PAD], [unused*], [UNK], [CLS], [SEP], [MASK] never carry meaning


@dataclass(frozen=True, slots=True)
class Recipe:
    epochs: int = 10
    batch: int = 1024
    rate: float = 7e-3
    neighbours: float = 1.0  # weight of the in-batch ranking loss
    temperature: float = 0.05
    pairs: float = 1.0  # weight of finding the other one of a pair among the batch
    pairs_temperature: float = 0.07
    anchor: float = 0.01  # pull towards the starting rows: rare tokens must not be bent by a handful of texts


def projection(vectors: NDArray[np.float16]) -> Tensor:
    """The 256 directions that keep most of the teacher's cosine (no centring: cosines are what we keep)."""
    sample = torch.from_numpy(vectors[:: max(1, len(vectors) // 50_000)].astype(np.float32))
    _, basis = torch.linalg.eigh(sample.T @ sample)
    return basis[:, -DIM:].flip(1)


def starting_rows(tokens: Tensor, directions: Tensor, counts: Tensor) -> Tensor:
    weight = SIF_A / (SIF_A + counts / counts.sum())
    rows = functional.normalize(tokens @ directions, dim=-1) * weight[:, None]
    rows[list(SPECIAL)] = 0.0
    return rows


@dataclass(frozen=True, slots=True)
class Batch:
    where: Tensor  # the texts
    left: Tensor  # places in `where`: each stands beside the other one of its pair
    right: Tensor


@dataclass(slots=True)
class Texts:
    """Token ids of all texts, end to end, with the teacher's vectors beside them."""

    ids: Tensor
    starts: Tensor
    target: Tensor
    teacher: Tensor
    pairs: list[tuple[int, int]]

    def bag(self, where: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The ids of the chosen texts, where each begins, and how much each piece counts, as the reader has it."""
        begin, end = self.starts[where], self.starts[where + 1]
        length = end - begin
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), length.cumsum(0)[:-1]])
        inside = torch.arange(int(length.sum())) - offsets.repeat_interleave(length)
        counts = torch.from_numpy(counts_of(0, int(length.max())))
        return self.ids[begin.repeat_interleave(length) + inside], offsets, counts[inside]

    def related(self) -> Tensor:
        """By text, a number that is the same for all that pairs tie together."""
        left, right = zip(*self.pairs, strict=True)
        size = len(self.starts) - 1
        ties = coo_array((np.ones(len(left), np.int8), (left, right)), (size, size))
        return torch.from_numpy(connected_components(ties, directed=False)[1]).long()


def batches(texts: Texts, size: int) -> list[Batch]:
    """In a random order. Pairs stay together in one batch, so that the losses see them."""
    paired = {i for pair in texts.pairs for i in pair}
    units = [*texts.pairs, *((i,) for i in range(len(texts.starts) - 1) if i not in paired)]
    found: list[Batch] = []
    where: list[int] = []
    left: list[int] = []
    for at in torch.randperm(len(units)).tolist():
        if len(units[at]) > 1:
            left.append(len(where))
        where += units[at]
        if len(where) >= size:
            beside = torch.tensor(left, dtype=torch.long)
            found.append(Batch(torch.tensor(where), beside, beside + 1))
            where, left = [], []
    return found


def loss_of(vectors: Tensor, batch: Batch, texts: Texts, related: Tensor, recipe: Recipe) -> Tensor:
    """To point where the teacher points, to have the neighbours that it has, to find the other one of a pair."""
    target, teacher = texts.target[batch.where], texts.teacher[batch.where]
    direction = (1 - (vectors * target).sum(1)).mean()
    hide = torch.eye(len(vectors), dtype=torch.bool)
    near = vectors @ vectors.T
    ours = (near / recipe.temperature).masked_fill(hide, -1e4)
    theirs = (teacher @ teacher.T / recipe.temperature).masked_fill(hide, -1e4)
    ranking = functional.kl_div(ours.log_softmax(1), theirs.log_softmax(1), log_target=True, reduction="batchmean")
    # What other pairs tie to a text is no wrong answer.
    tied = related[batch.where]
    tied = tied[:, None] == tied[None, :]
    tied[batch.left, batch.right] = tied[batch.right, batch.left] = False
    one, other = torch.cat([batch.left, batch.right]), torch.cat([batch.right, batch.left])
    found = (near / recipe.pairs_temperature).masked_fill(tied, -1e4)[one]
    pairs = functional.cross_entropy(found, other, reduction="sum") / len(vectors)
    return direction + recipe.neighbours * ranking + recipe.pairs * pairs


def fit(rows: Tensor, texts: Texts, recipe: Recipe) -> Tensor:
    torch.manual_seed(20261115)
    start, related = rows.clone(), texts.related()
    weights = rows.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([weights], lr=recipe.rate, fused=True)
    made = batches(texts, recipe.batch)
    # Batches vary by one or two from epoch to epoch: a pair may stand over the edge.
    steps = recipe.epochs * (len(made) + 2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, recipe.rate, total_steps=steps, pct_start=0.05)
    for epoch in range(recipe.epochs):
        total = 0.0
        for batch in made:
            ids, offsets, counts = texts.bag(batch.where)
            summed = functional.embedding_bag(ids, weights, offsets, mode="sum", per_sample_weights=counts)
            loss = loss_of(functional.normalize(summed, dim=-1), batch, texts, related, recipe)
            touched = ids.unique()
            drift = (weights[touched] - start[touched]).square().sum(1).mean()
            optimiser.zero_grad()
            (loss + recipe.anchor * drift).backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / len(made):.4f}", flush=True)
        made = batches(texts, recipe.batch)
    return weights.detach()


def quantise(rows: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 with one scale per row: rows differ in length by design; one scale would cost the short ones."""
    peak = rows.abs().amax(1).clamp_min(1e-8)
    scale = peak / 127
    return (rows / scale[:, None]).round().to(torch.int8).numpy(), scale.numpy().astype(np.float32)
