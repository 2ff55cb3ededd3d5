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
from torch import Tensor
from torch.nn import functional

DIM = 256
SIF_A = 1e-3
UNKNOWN, SPECIAL = 100, range(999)  # [PAD], [unused*], [UNK], [CLS], [SEP], [MASK] never carry meaning


@dataclass(frozen=True, slots=True)
class Recipe:
    epochs: int = 10
    batch: int = 1024
    rate: float = 7e-3
    neighbours: float = 1.0  # weight of the in-batch ranking loss
    temperature: float = 0.05
    anchor: float = 0.01  # pull towards the starting rows: rare tokens must not be bent by a handful of texts
    tight: float = 0.0  # share of batches drawn from one neighbourhood of the teacher's space


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


@dataclass(slots=True)
class Texts:
    """Token ids of all texts, end to end, with the teacher's vectors beside them."""

    ids: Tensor
    starts: Tensor
    target: Tensor
    teacher: Tensor

    def bag(self, where: Tensor) -> tuple[Tensor, Tensor]:
        """The ids of the chosen texts and where each begins."""
        begin, end = self.starts[where], self.starts[where + 1]
        length = end - begin
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), length.cumsum(0)[:-1]])
        inside = torch.arange(int(length.sum())) - offsets.repeat_interleave(length)
        return self.ids[begin.repeat_interleave(length) + inside], offsets


def batches(units: list[list[int]], order: Tensor, size: int) -> list[Tensor]:
    """Pairs stay together in one batch, so that the ranking loss sees them."""
    found: list[Tensor] = []
    current: list[int] = []
    for i in order.tolist():
        current += units[i]
        if len(current) >= size:
            found.append(torch.tensor(current))
            current = []
    return found


def loss_of(vectors: Tensor, target: Tensor, teacher: Tensor, recipe: Recipe) -> Tensor:
    direction = (1 - (vectors * target).sum(1)).mean()
    hide = torch.eye(len(vectors), dtype=torch.bool)
    ours = (vectors @ vectors.T / recipe.temperature).masked_fill(hide, -1e4)
    theirs = (teacher @ teacher.T / recipe.temperature).masked_fill(hide, -1e4)
    ranking = functional.kl_div(ours.log_softmax(1), theirs.log_softmax(1), log_target=True, reduction="batchmean")
    return direction + recipe.neighbours * ranking


def fit(rows: Tensor, texts: Texts, units: list[list[int]], recipe: Recipe) -> Tensor:
    torch.manual_seed(20261115)
    start = rows.clone()
    weights = rows.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([weights], lr=recipe.rate, fused=True)
    steps = recipe.epochs * (sum(map(len, units)) // recipe.batch + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, recipe.rate, total_steps=steps, pct_start=0.05)
    for epoch in range(recipe.epochs):
        total = 0.0
        made = batches(units, _order(units, texts.target, recipe.tight), recipe.batch)
        for where in made:
            ids, offsets = texts.bag(where)
            summed = functional.embedding_bag(ids, weights, offsets, mode="sum")
            vectors = functional.normalize(summed, dim=-1)
            loss = loss_of(vectors, texts.target[where], texts.teacher[where], recipe)
            touched = ids.unique()
            drift = (weights[touched] - start[touched]).square().sum(1).mean()
            optimiser.zero_grad()
            (loss + recipe.anchor * drift).backward()
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / len(made):.4f}", flush=True)
    return weights.detach()


def _order(units: list[list[int]], target: Tensor, tight: float) -> Tensor:
    """A random order; for some epochs along a random direction, so that a batch holds near neighbours."""
    if torch.rand(1).item() >= tight:
        return torch.randperm(len(units))
    first = torch.tensor([u[0] for u in units])
    along = target[first] @ torch.randn(DIM)
    order = along.argsort()
    chunks = list(order.split(512))
    return torch.cat([chunks[i] for i in torch.randperm(len(chunks)).tolist()])


def quantise(rows: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 with one scale per row: rows differ in length by design; one scale would cost the short ones."""
    peak = rows.abs().amax(1).clamp_min(1e-8)
    scale = peak / 127
    return (rows / scale[:, None]).round().to(torch.int8).numpy(), scale.numpy().astype(np.float32)
