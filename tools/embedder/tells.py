"""How much each word piece tells that a text is not English: a linear classifier over bags of pieces.

Two classes: translations on the one hand, English texts and what is no language (code, paths, names) on the other.
Each class counts alike, and so does each language within the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from translations import Pairs

from clew.providers.letters import in_latin
from clew.providers.static import CHARACTERS, ELSEWHERE, TOLD
from clew.providers.wordpiece import IDS, WordPiece

_WORD = re.compile(r"\w+")
MOST = 127 / TOLD  # what one piece can tell, as it is stored


@dataclass(frozen=True, slots=True)
class Recipe:
    epochs: int = 6
    batch: int = 4096
    rate: float = 0.05
    small: float = 1e-6  # pull of each piece towards telling nothing
    dear: float = 6.0  # to take English for something else, beside the other mistake


DEFAULT = Recipe()


def learn(
    english: Sequence[str], by_language: Sequence[Pairs], pieces: int, data: Path, recipe: Recipe = DEFAULT
) -> NDArray[np.int8]:
    torch.manual_seed(20261117)
    languages = [[_own(*pair) for pair in pairs] for pairs in by_language]
    texts = [*english, *(text for some in languages for text in some)]
    labels = torch.tensor([0.0] * len(english) + [1.0] * (len(texts) - len(english)))
    counts = [recipe.dear / len(english)] * len(english)
    counts += [1 / len(languages) / len(some) for some in languages for _text in some]
    weights = torch.tensor(counts) * len(texts)
    read = WordPiece.load(data / CHARACTERS)
    ids = [torch.from_numpy(np.frombuffer(read.packed(in_latin(text)), IDS).copy()) for text in texts]
    tells = torch.zeros(pieces, 1, requires_grad=True)
    optimiser = torch.optim.Adam([tells], lr=recipe.rate)
    for _epoch in range(recipe.epochs):
        for some in torch.randperm(len(texts)).split(recipe.batch):
            chosen = [ids[at] for at in some.tolist()]
            starts = torch.tensor([0, *map(len, chosen)]).cumsum(0)[:-1]
            told = functional.embedding_bag(torch.cat(chosen), tells, starts, mode="sum")[:, 0]
            told = told - ELSEWHERE / TOLD
            loss = functional.binary_cross_entropy_with_logits(told, labels[some], weight=weights[some])
            optimiser.zero_grad()
            (loss + recipe.small * tells.square().sum()).backward()
            optimiser.step()
    found = (tells.detach()[:, 0].clamp(-MOST, MOST) * TOLD).round()
    return found.to(torch.int8).numpy()


def _own(english: str, other: str) -> str:
    """A translation without what it shares with the original: names and terms that are used everywhere."""
    shared = set(_WORD.findall(english.lower()))
    return _WORD.sub(lambda word: " " if word[0].lower() in shared else word[0], other)
