"""Calibrate and measure clew-static on pairs.jsonl and sentences.json. Needs numpy and the package, not torch.

    PYTHONPATH=src python tools/embedder/evaluate.py              # what is shipped
    PYTHONPATH=src python tools/embedder/evaluate.py --describe   # first, when pieces count otherwise: what is told

Relevance = clamp((cosine - unrelated) / (same - unrelated)). Two numbers fix it: the cosine that best tells
`same` from `unrelated` becomes relevance 0.4, the default floor; the upper quarter of `same` becomes 1.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

from clew.providers.letters import LETTERS  # noqa: E402
from clew.providers.static import CHARACTERS, DATA, FULL, HALF, StaticEmbedder  # noqa: E402

FLOOR = 0.4
FALSE_ALARMS = 0.03  # share of unrelated pairs that may pass the floor
Cosines = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Calibration:
    unrelated: float
    same: float

    def relevance(self, cosine: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip((cosine - self.unrelated) / (self.same - self.unrelated), 0, 1)


def cosines(data: Path) -> Cosines:
    """Cosines by label; unrelated pairs that share words are also counted apart."""
    rows = [json.loads(line) for line in (HERE / "pairs.jsonl").read_text().splitlines()]
    embedder = StaticEmbedder(data)
    queries = embedder.embed([row["query"] for row in rows])
    memories = embedder.embed([row["memory"] for row in rows])
    found = (queries * memories).sum(1).astype(np.float64)
    labels = np.array([row["label"] for row in rows])
    shares_words = np.array(["shares_words" in row for row in rows])
    by_label = {label: found[labels == label] for label in ("same", "related", "unrelated")}
    return by_label | {"unrelated, shared words": found[shares_words]}


def calibrate(found: Cosines) -> Calibration:
    same, unrelated = found["same"], found["unrelated"]
    allowed = [c for c in np.arange(0.0, 1.0, 0.005) if (unrelated >= c).mean() <= FALSE_ALARMS]
    floor = max(allowed, key=lambda c: float((same >= c).mean() + (unrelated < c).mean()))
    top = float(np.percentile(same, 75))
    # floor = low + 0.4 (top - low), solved for low.
    return Calibration(unrelated=round((float(floor) - FLOOR * top) / (1 - FLOOR), 4), same=round(top, 4))


def describe(data: Path, *, rows: int, pieces: int, dim: int) -> None:
    """Write what is told of the rows beside them. The revision is of the rows, of how they are added up and of how
    a text becomes pieces."""
    content = (data / "clew_static.bin").read_bytes()
    made_of = [content, (data / CHARACTERS).read_bytes(), LETTERS.read_bytes(), f"{FULL}/{HALF}".encode()]
    revision = hashlib.sha256(b"".join(made_of)).hexdigest()[:8]
    facts = {"name": "clew-static", "revision": revision, "dim": dim, "rows": rows, "pieces": pieces}
    facts |= {"unrelated": 0.0, "same": 1.0, "sha256": hashlib.sha256(content).hexdigest()}
    path = data / "clew_static.json"
    path.write_text(json.dumps(facts, indent=2) + "\n")
    found = calibrate(cosines(data))
    path.write_text(json.dumps(facts | {"unrelated": found.unrelated, "same": found.same}, indent=2) + "\n")


def report(data: Path) -> None:
    found = cosines(data)
    space = StaticEmbedder(data).space
    scale = Calibration(space.unrelated, space.same)
    print(f"{space.name} {space.revision}: unrelated {space.unrelated}, same {space.same}")
    print(f"{'':24}    n  cosine p10 / p50 / p90  relevance p50  at or above {FLOOR}")
    for label, values in found.items():
        low, middle, high = np.percentile(values, (10, 50, 90))
        relevance = scale.relevance(values)
        passed = (relevance >= FLOOR).mean()
        print(f"{label:24} {len(values):4}  {low:.2f} / {middle:.2f} / {high:.2f}", end="")
        print(f"       {np.median(relevance):.2f}           {passed:.3f}")
    hit = (scale.relevance(found["same"]) >= FLOOR).mean()
    quiet = (scale.relevance(found["unrelated"]) < FLOOR).mean()
    print(f"balanced accuracy at {FLOOR}: {(hit + quiet) / 2:.3f}")
    print(f"a same pair above an unrelated one: {_order(found):.3f}")


def languages(data: Path) -> None:
    """Twelve statements that have nothing to do with each other, each in several languages, none of them fitted on:
    how many pairs within a language reach the floor, and how the English one is found by the others."""
    texts: dict[str, list[str]] = json.loads((HERE / "sentences.json").read_text(encoding="utf-8"))
    embedder = StaticEmbedder(data)
    scale = Calibration(embedder.space.unrelated, embedder.space.same)
    english = embedder.embed(texts["English"])
    print(f"{'':10}  unrelated pairs at or above {FLOOR}  its English: cosine p50  nearest  at or above {FLOOR}")
    for language, sentences in texts.items():
        vectors = embedder.embed(sentences)
        apart = (vectors @ vectors.T)[np.triu_indices(len(sentences), 1)]
        across = vectors @ english.T
        same, nearest = np.diag(across), across.argmax(1) == np.arange(len(sentences))
        alike, found = (scale.relevance(np.asarray(some, np.float64)) >= FLOOR for some in (apart, same))
        print(f"{language:10}  {alike.mean():.3f}", end="")
        print(f"{'':25}{np.median(same):.2f}{'':21}{nearest.mean():.2f}     {found.mean():.2f}")


def _order(found: Cosines) -> float:
    """How often a pair that belongs together scores above one that does not (area under the ROC curve)."""
    return float((found["same"][:, None] > found["unrelated"][None, :]).mean())


def speed(data: Path) -> None:
    started = time.perf_counter()
    embedder = StaticEmbedder(data)
    loaded = time.perf_counter()
    queries = [row["query"] for row in map(json.loads, (HERE / "pairs.jsonl").read_text().splitlines())]
    joined = " ".join(queries)
    texts = [joined[i : i + 250] for i in range(0, len(joined) - 250, 250)] * 40
    embedder.embed(texts)  # a warm cache of words, as in a process that lives
    times = [_seconds(embedder, [query]) for query in queries]
    rate = len(texts) / _seconds(embedder, texts)
    print(f"load {1e3 * (loaded - started):.1f} ms; query p50 {1e3 * np.median(times):.3f} ms, ", end="")
    print(f"p99 {1e3 * np.percentile(times, 99):.3f} ms; {rate:,.0f} texts a second of 250 characters")


def _seconds(embedder: StaticEmbedder, texts: list[str]) -> float:
    started = time.perf_counter()
    embedder.embed(texts)
    return time.perf_counter() - started


if __name__ == "__main__":
    if "--describe" in sys.argv:
        told = json.loads((DATA / "clew_static.json").read_text())
        describe(DATA, rows=told["rows"], pieces=told["pieces"], dim=told["dim"])
    speed(DATA)  # first: loading is only honest in a fresh process
    report(DATA)
    languages(DATA)
