"""The teacher, all-MiniLM-L6-v2: a BERT encoder of six layers in plain torch, mean pooled and normalised.

Written out here because the whole forward pass is forty lines: one pinned dependency fewer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, LAYERS, INNER = 384, 12, 6, 1536
SHARD = 10_000  # texts per cached file: an interrupted build loses at most this much


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = self.norm1(x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH)))
        y: Tensor = self.norm2(x + self.down(functional.gelu(self.up(x))))
        return y


class Encoder(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(vocabulary, WIDTH), nn.Embedding(512, WIDTH)
        self.kind = nn.Parameter(torch.zeros(WIDTH))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.norm(self.word(ids) + self.place.weight[: ids.shape[1]] + self.kind)
        bias = torch.zeros(mask.shape).masked_fill(~mask, -1e9)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        return functional.normalize((x * mask[..., None]).sum(1), dim=-1)


def load_encoder(weights: Path) -> Encoder:
    stored = load_file(weights)
    state = {
        "word.weight": stored["embeddings.word_embeddings.weight"],
        "place.weight": stored["embeddings.position_embeddings.weight"],
        "kind": stored["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": stored["embeddings.LayerNorm.weight"],
        "norm.bias": stored["embeddings.LayerNorm.bias"],
    }
    names = {
        "out": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for i in range(LAYERS):
        old, new = f"encoder.layer.{i}.", f"layers.{i}."
        for part in ("weight", "bias"):
            qkv = [stored[f"{old}attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            state[f"{new}qkv.{part}"] = torch.cat(qkv)
            state |= {f"{new}{ours}.{part}": stored[f"{old}{theirs}.{part}"] for ours, theirs in names.items()}
    encoder = Encoder(len(stored["embeddings.word_embeddings.weight"]))
    encoder.load_state_dict(state)
    return encoder.eval()


class Teacher:
    """Sentence vectors with a cache on disk, because encoding is nine tenths of the build."""

    def __init__(self, folder: Path, cache: Path, *, max_tokens: int = 96) -> None:
        self.encoder = load_encoder(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(max_tokens)
        self.cache = cache

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float16]:
        shards = [self._shard(texts[i : i + SHARD]) for i in range(0, len(texts), SHARD)]
        return np.concatenate(shards)

    def _shard(self, texts: Sequence[str]) -> NDArray[np.float16]:
        path = self.cache / f"{hashlib.sha256(chr(10).join(texts).encode()).hexdigest()[:16]}.npy"
        if not path.exists():
            found = self.encode([e.ids for e in self.tokenizer.encode_batch(list(texts))])
            np.save(path, found.numpy().astype(np.float16))
        stored: NDArray[np.float16] = np.load(path)
        return stored

    @torch.inference_mode()
    def encode(self, rows: Sequence[Sequence[int]]) -> Tensor:
        out = torch.zeros(len(rows), WIDTH)
        for where in _batches([len(r) for r in rows]):
            longest = max(len(rows[i]) for i in where)
            ids = torch.zeros(len(where), longest, dtype=torch.long)
            for j, i in enumerate(where):
                ids[j, : len(rows[i])] = torch.tensor(rows[i])
            out[where] = self.encoder(ids, ids > 0)
        return out


def _batches(lengths: Sequence[int], tokens: int = 1500) -> Iterator[list[int]]:
    """Texts of like length together, so that little is spent on padding."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
