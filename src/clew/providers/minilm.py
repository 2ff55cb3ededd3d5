"""MiniLM on onnxruntime: the extra for those who want a sentence model and can spare its milliseconds.

In go texts, out come unit vectors of all-MiniLM-L6-v2. `minilm_build.prepare` puts the model under the home
directory once; nothing here touches the network. Needs the extra `minilm`, and no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.errors import Misconfigured
from clew.model.space import VectorSpace
from clew.providers.wordpiece import CLS, SEP, WordPiece

NAME = "all-MiniLM-L6-v2"
DIM = 384
INSTALL, PREPARE = "pip install 'clew[minilm]'", "clew model prepare minilm"
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}

MAX_PIECES = 256  # what the model was trained for, [CLS] and [SEP] included
BATCH = 32  # 8 to 64 are equally fast on a CPU
# Two threads take the CPU time of one and answer sooner: 3.9 against 5.0 ms for a short query, 307 against
# 167 texts a second (2 cores, AVX2). More would compete with the user's own work.
THREADS = 2

# Measured on the 1,280 pairs of tools/embedder/pairs.jsonl by the rule in evaluate.py beside it, the same as for
# the static model: cosine 0.355, which 2.8 % of the unrelated pairs and 91 % of the same ones reach, becomes the
# floor of 0.4, and the upper quarter of the same ones becomes 1. Chosen and measured on the same pairs; of the 64
# unrelated pairs written to share words, 44 % pass.
UNRELATED, SAME = 0.144, 0.672


def model_dir(home: Path) -> Path:
    """Where the prepared model lives."""
    return home / "models" / "minilm"


def require(module: str) -> Any:
    """A module of the extra, or the error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise Misconfigured(
            f"The MiniLM embedder needs {module}, which is not installed.",
            code="EXTRA_MISSING",
            next=INSTALL,
        ) from error


def open_session(model: Path, *, threads: int) -> Any:
    """An onnxruntime session over the model file."""
    ort = require("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: its warnings go to stderr, past every logging setting
    # Waiting threads sleep instead of spinning: the embedder runs beside the user's own work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a dozen exception classes without a common root of its own
        raise Misconfigured(
            f"{model} cannot be loaded as an ONNX model.", code="MODEL_UNREADABLE", next=PREPARE
        ) from error


class MiniLmEmbedder:
    """Texts to unit vectors through the model prepared under the home directory."""

    is_remote = False

    def __init__(self, home: Path, *, threads: int = THREADS) -> None:
        folder = model_dir(home)
        self.space = _read_space(folder)
        self._encoder = Encoder(open_session(folder / "model.onnx", threads=threads), self.space.dim)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, in the order given."""
        return self._encoder.embed(texts)


def _read_space(folder: Path) -> VectorSpace:
    try:
        return VectorSpace(**json.loads((folder / "space.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        first = "" if find_spec("onnxruntime") else f"{INSTALL}, then "
        raise Misconfigured(
            f"No prepared MiniLM model in {folder}.", code="MODEL_MISSING", next=first + PREPARE
        ) from error


class Encoder:
    """A session and what is done around it: word pieces, batches, pooling. Safe to share between threads."""

    def __init__(self, session: Any, dim: int) -> None:
        self._session = session
        self._dim = dim
        self._pieces = WordPiece.load()
        self._inputs, self._output = _ends(session, dim)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A text of which the model knows less than half, as one in another script than Latin, gives a zero row."""
        rows = np.zeros((len(texts), self._dim), np.float32)
        for numbers, ids in self._batches(texts):
            rows[numbers] = self._run(ids)
        return rows

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Texts of like length together, so that little is spent on padding."""
        ids = [[CLS, *self._pieces.ids(text)[: MAX_PIECES - 2], SEP] for text in texts]
        known = [number for number, text in enumerate(texts) if text.isascii() or _is_known(ids[number])]
        order = sorted(known, key=lambda number: len(ids[number]))
        for start in range(0, len(order), BATCH):
            numbers = order[start : start + BATCH]
            yield numbers, [ids[number] for number in numbers]

    def _run(self, ids: list[list[int]]) -> NDArray[np.float32]:
        tokens, mask = _padded(ids)
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        feed = {name: array for name, array in feed.items() if name in self._inputs}
        (hidden,) = self._session.run([self._output], feed)
        return _pooled(hidden, mask)


def _is_known(ids: Sequence[int]) -> bool:
    foreign = WordPiece.foreign()
    return 2 * sum(id in foreign for id in ids[1:-1]) <= len(ids) - 2


def _ends(session: Any, dim: int) -> tuple[set[str], str]:
    """The names of the inputs and of the token vectors.

    Exports differ: some want token types, some name the output otherwise or add a pooled one.
    """
    inputs = {entry.name for entry in session.get_inputs()}
    outputs = [entry.name for entry in session.get_outputs() if _is_token_vectors(entry.shape, dim)]
    if not {"input_ids", "attention_mask"} <= inputs <= _KNOWN_INPUTS or not outputs:
        raise Misconfigured(
            "The ONNX model is not a sentence encoder: it should take input_ids and attention_mask and give "
            f"token vectors of {dim} numbers.",
            code="MODEL_UNUSUAL",
            next=PREPARE,
        )
    return inputs, outputs[0]


def _is_token_vectors(shape: list[int | str | None], dim: int) -> bool:
    match shape:
        case [_, _, int(last)]:
            return last == dim
        case [_, _, _]:
            return True  # a name instead of a number: the first run will tell
        case _:
            return False


def _padded(ids: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids in a rectangle filled up with zeros, and the mask of what is real."""
    lengths = np.array([len(row) for row in ids])
    mask = np.arange(lengths.max()) < lengths[:, None]
    tokens = np.zeros(mask.shape, np.int64)
    tokens[mask] = np.concatenate(ids)
    return tokens, mask.astype(np.int64)


def _pooled(hidden: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean over the real tokens, at unit length; the count cancels out, so the sum will do."""
    summed = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
    unit: NDArray[np.float32] = summed / np.linalg.norm(summed, axis=1, keepdims=True)
    return unit
