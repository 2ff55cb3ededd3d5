"""Vectors and made-up texts that every peer gets, once: `python vectors.py SPEC.json` in Clew's own environment.

The made-up texts are for speed only. The first ones are encoded, the others get noised copies of those vectors:
good for timing, meaningless for quality.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from embedding import DIM, DOCUMENTS, MADE_UP, Embedding, Vectors, key_of, write_vectors
from units import read_corpora

from clew.bench.texts import questions, texts

CHARS, ENCODED, QUESTIONS, TIMED = 250, 3000, 600, 320
NOISE = 0.5  # length of the noise against the unit vector: cosine 0.89 to where it was copied from
SLICE = 256


def main() -> None:
    spec: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder, home = Path(spec["vectors"]), Path(spec["home"])
    folder.mkdir(parents=True, exist_ok=True)
    _prepare_model(home)
    vectors = Vectors(folder)
    vectors.load(DOCUMENTS)
    embedding = Embedding(home, vectors)
    for file in spec["files"]:
        units = [unit for corpus in read_corpora(Path(file)) for unit in corpus.units]
        wanted = {getattr(unit, form) for unit in units for form in spec["forms"]}
        _encode(sorted(text for text in wanted if not embedding.knows(text)), embedding, Path(file).name)
    if _count(folder) < spec["made_up"]:
        _make_up(spec["made_up"], folder, embedding)
    if spec["made_up"]:
        (folder / "questions.txt").write_text("\n".join(questions(QUESTIONS)), encoding="utf-8")
    facts = {"chars": CHARS, "per_s": _rate(embedding)}
    Path(spec["out"]).write_text(json.dumps(facts), encoding="utf-8")


def _rate(embedding: Embedding) -> float:
    """Texts a second, of the length that speed is measured with."""
    lines = list(texts(TIMED, chars=CHARS, seed=3))
    started = time.perf_counter()
    embedding.encode(lines)
    return round(TIMED / (time.perf_counter() - started), 1)


def _prepare_model(home: Path) -> None:
    from clew.providers.minilm import model_dir
    from clew.providers.minilm_build import prepare

    if not (model_dir(home) / "space.json").is_file():
        prepare(home, progress=print)


def _encode(missing: list[str], embedding: Embedding, name: str) -> None:
    for start in range(0, len(missing), SLICE):
        embedding.documents(missing[start : start + SLICE])
        embedding.keep()  # an interrupted run goes on from here
        done = min(start + SLICE, len(missing))
        print(f"\r  encoding {name}: {done:,} of {len(missing):,}", end="", file=sys.stderr, flush=True)
    if missing:
        print(file=sys.stderr)


def _count(folder: Path) -> int:
    file = folder / f"{MADE_UP}.npy"
    return len(np.load(file, mmap_mode="r")) if file.is_file() else 0


def _make_up(count: int, folder: Path, embedding: Embedding) -> None:
    lines = list(texts(count, chars=CHARS))
    rows = embedding.encode(lines[:ENCODED])
    noise = np.random.default_rng(1)
    all_rows = np.empty((count, DIM), np.float32)
    for start in range(0, count, len(rows)):
        part = rows[: count - start]
        if start:
            part = part + noise.standard_normal(part.shape, np.float32) * np.float32(NOISE / DIM**0.5)
        all_rows[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    (folder / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    write_vectors(folder, MADE_UP, [key_of(line) for line in lines], all_rows)


if __name__ == "__main__":
    main()
