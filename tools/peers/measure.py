"""One measurement of one peer, inside that peer's environment: `python measure.py SPEC.json`.

Four kinds: `first` (from nothing to the first recall), `quality` (every question of a file), `speed` (ingest and
search at growing sizes) and `turns` (search when told to, so that others can be asked in between). Each finished
step is one JSON line in the file that the specification names, so that what was measured before a time limit or a
crash is kept.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import import_module
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
K_QUALITY, K_SPEED = 20, 10
WARM_UP, LEAST_WARM_UP, WARM_UP_S = 200, 5, 15.0
MOST_QUESTIONS, LEAST_QUESTIONS, SEARCH_S = 200, 20, 25.0  # slow peers are asked fewer questions
PROJECT_AFTER_S = 45.0  # by then it shows whether all will be stored, or done in the background, in time
LOOK_EVERY_S = 0.2


class OverLimit(Exception):
    """At the rate so far the ingest would not end in time."""


def main() -> None:
    spec: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path.insert(0, str(HERE))
    sys.path += spec["python_path"]  # at the end: what the peer brings comes first
    with Path(spec["out"]).open("a", encoding="utf-8") as out:
        tell = _teller(out)
        try:
            {"first": first, "quality": quality, "speed": speed, "turns": turns}[spec["stage"]](spec, tell)
        except Exception as error:  # whatever a peer raises is a row of the report
            tell(event="error", error=f"{type(error).__name__}: {' '.join(str(error).split())}"[:300])
            raise


def _teller(out: Any) -> Any:
    def tell(**fields: Any) -> None:
        out.write(json.dumps(fields) + "\n")
        out.flush()

    return tell


def first(spec: dict[str, Any], tell: Any) -> None:
    """Import, open, store one memory, find it: nothing is looked up, the embedder loads and runs as it would."""
    from units import Unit

    steps = [time.perf_counter()]
    with tempfile.TemporaryDirectory(dir=spec["scratch"], ignore_cleanup_errors=True) as folder:
        adapter = _adapter(spec)
        steps.append(time.perf_counter())
        store = adapter.open_store(_place(spec, Path(folder), _embedding(spec, lookups=False)))
        steps.append(time.perf_counter())
        store.add_many([Unit("only", "We chose PostgreSQL because orders need transactions.")])
        store.settle()
        steps.append(time.perf_counter())
        found = store.search("PostgreSQL", K_SPEED)
        steps.append(time.perf_counter())
        seconds = [round(end - start, 3) for start, end in pairwise(steps)]
        tell(event="first", found=found == ["only"], rss_mb=_rss_mb(store), steps_s=seconds)
        store.close()


def quality(spec: dict[str, Any], tell: Any) -> None:
    """One store per corpus; one line per question with what came up and how long it took."""
    from units import read_corpora

    embedding = _embedding(spec, lookups=True)
    for corpus in read_corpora(Path(spec["file"]), spec["max_units"]):
        with tempfile.TemporaryDirectory(dir=spec["scratch"], ignore_cleanup_errors=True) as folder:
            store = _adapter(spec).open_store(_place(spec, Path(folder), embedding))
            started = time.perf_counter()
            _ingest(store, corpus.units, spec, tell)
            tell(event="corpus", corpus=corpus.name, units=len(corpus.units), s=time.perf_counter() - started)
            for question in corpus.questions:
                started = time.perf_counter()
                ranked = store.search(question["text"], K_QUALITY)
                ms = (time.perf_counter() - started) * 1000
                facts = {"corpus": corpus.name, "question": question["id"], "gold": question["gold"]}
                tell(event="answer", **facts, category=question["category"], ranked=ranked, ms=round(ms, 3))
            store.close()
    if embedding:
        embedding.keep()
    tell(event="done")


def speed(spec: dict[str, Any], tell: Any) -> None:
    """Everything in one scope, growing from size to size. One that works on in the background is asked twice."""
    until = time.monotonic() + spec["limit_s"]
    embedding = _embedding(spec, lookups=True)
    units, asked = _made_up(spec)
    with tempfile.TemporaryDirectory(dir=spec["scratch"], ignore_cleanup_errors=True) as folder:
        adapter = _adapter(spec)
        seconds = _query_seconds(adapter, embedding, spec)
        before = _rss_mb(None)
        store = adapter.open_store(_place(spec, Path(folder), embedding))
        stored, ingest_s = 0, 0.0
        for size in spec["sizes"]:
            ingest_s += _ingest(store, units[stored:size], spec, tell, at=(stored, ingest_s))
            stored = size
            ingest = {"ingest_s": round(ingest_s, 2), "per_s": round(size / ingest_s, 1)}
            tell(event="stored", size=size, **ingest)
            searches = _searches(store, asked[: WARM_UP + MOST_QUESTIONS], seconds)
            tell(event="size", size=size, **ingest, **searches, rss_growth_mb=round(_rss_mb(store) - before, 1))
            if store.left_to_do() is not None:
                tell(event="settled", size=size, **_settled(store, asked, seconds, until))
        store.close()


def turns(spec: dict[str, Any], tell: Any) -> None:
    """Fills a store and asks it some questions whenever standard input names how many."""
    embedding = _embedding(spec, lookups=True)
    units, asked = _made_up(spec)
    with tempfile.TemporaryDirectory(dir=spec["scratch"], ignore_cleanup_errors=True) as folder:
        store = _adapter(spec).open_store(_place(spec, Path(folder), embedding))
        _ingest(store, units, spec, tell)
        _warm_up(store, asked[:WARM_UP])
        questions = cycle(asked[WARM_UP:])
        print("ready", flush=True)
        for line in sys.stdin:
            milliseconds = []
            for question in islice(questions, int(line)):
                started = time.perf_counter()
                store.search(question, K_SPEED)
                milliseconds.append((time.perf_counter() - started) * 1000)
            print(json.dumps(milliseconds), flush=True)
        store.close()


def _made_up(spec: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """Units for the largest size, and questions."""
    from units import Unit

    lines = Path(spec["texts"]).read_text(encoding="utf-8").splitlines()
    units = [Unit(f"m{number}", text) for number, text in enumerate(lines[: max(spec["sizes"])])]
    return units, Path(spec["questions"]).read_text(encoding="utf-8").splitlines()


def _query_seconds(adapter: Any, embedding: Any, spec: dict[str, Any]) -> list[float]:
    """Where the seconds of embedding each question are noted."""
    if embedding:
        return embedding.query_s  # type: ignore[no-any-return]
    seconds: list[float] = []
    if hasattr(adapter, "time_static") and not spec["variant"]:
        adapter.time_static(seconds)
    return seconds


def _ingest(
    store: Any, units: list[Any], spec: dict[str, Any], tell: Any, at: tuple[int, float] = (0, 0.0)
) -> float:
    started, told = time.perf_counter(), 0.0
    stored_before, spent_before = at
    for start in range(0, len(units), store.batch):
        store.add_many(units[start : start + store.batch])
        done, spent = min(start + store.batch, len(units)), time.perf_counter() - started
        if spent - told > 5:
            told = spent
            tell(event="progress", stored=stored_before + done, s=round(spent_before + spent, 1))
        if spent > PROJECT_AFTER_S and spent / done * len(units) > spec["limit_s"]:
            raise OverLimit(
                f"{done:,} of {len(units):,} stored at {done / spent:,.1f}/s; the rest would pass the limit of "
                f"{spec['limit_s']:,.0f} s"
            )
    store.settle()
    return time.perf_counter() - started


def _settled(store: Any, asked: list[str], seconds: list[float], until: float) -> dict[str, Any]:
    """The same, with questions that were not asked before, once its background has nothing left to do."""
    began, begun_with = time.monotonic(), store.left_to_do()
    while left := store.left_to_do():
        spent, done = time.monotonic() - began, begun_with - left
        if spent > PROJECT_AFTER_S and spent * begun_with > (until - began) * done:
            rate = f"{done:,} of {begun_with:,} jobs of its background done in {spent:,.0f} s"
            return {"error": f"not run: {rate}; the rest would pass the limit"}
        time.sleep(LOOK_EVERY_S)
    waited = {"waited_s": round(time.monotonic() - began, 1)}
    return waited | _searches(store, asked[:WARM_UP] + asked[WARM_UP + MOST_QUESTIONS :], seconds)


def _searches(store: Any, asked: list[str], embedding_s: list[float]) -> dict[str, Any]:
    _warm_up(store, asked[:WARM_UP])
    wall, embed, cpu = [], [], time.process_time()
    began = time.perf_counter()
    for question in asked[WARM_UP : WARM_UP + MOST_QUESTIONS]:
        embedding_s.clear()
        started = time.perf_counter()
        store.search(question, K_SPEED)
        wall.append((time.perf_counter() - started) * 1000)
        embed.append(sum(embedding_s) * 1000)
        if len(wall) >= LEAST_QUESTIONS and time.perf_counter() - began > SEARCH_S:
            break
    cpu = (time.process_time() - cpu) * 1000 / len(wall)
    bare = [all_ - part for all_, part in zip(wall, embed, strict=True)]
    times = _spread("ms", wall) | _spread("embed_ms", embed) | _spread("bare_ms", bare)
    return {"questions": len(wall), "cpu_ms": round(cpu, 3)} | times


def _warm_up(store: Any, asked: list[str]) -> None:
    """With questions that are not asked again: no cache of answers is measured."""
    began = time.perf_counter()
    for number, question in enumerate(asked, 1):
        store.search(question, K_SPEED)
        if number >= LEAST_WARM_UP and time.perf_counter() - began > WARM_UP_S:
            break


def _spread(name: str, values: list[float]) -> dict[str, float]:
    """Nearest rank."""
    ordered = sorted(values)
    at = {share: ordered[max(0, -(-share * len(ordered) // 100) - 1)] for share in (50, 95)}
    return {f"{name}_p{share}": round(value, 3) for share, value in at.items()}


def _adapter(spec: dict[str, Any]) -> Any:
    return import_module(f"adapters.{spec['adapter']}")


def _place(spec: dict[str, Any], folder: Path, embedding: Any) -> Any:
    from adapters import Place

    is_repeatable = spec["stage"] in ("quality", "turns")  # what works on in the background would slow the others
    return Place(folder, spec["variant"], embedding, Path(spec["environment"]), is_repeatable)


def _embedding(spec: dict[str, Any], *, lookups: bool) -> Any:
    if not spec["embeds"]:
        return None
    from embedding import Embedding, Vectors

    if not lookups:
        return Embedding(Path(spec["home"]))
    vectors = Vectors(Path(spec["vectors"]))
    for name in spec["vector_files"]:
        vectors.load(name)
    return Embedding(Path(spec["home"]), vectors)


def _rss_mb(store: Any) -> float:
    """Resident memory of this process and of the peer's servers; 0 where /proc does not tell."""
    pages = 0.0
    for pid in ["self", *(store.processes() if store else ())]:
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        pages += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
    return round(pages * 1024 / 1e6, 1)


if __name__ == "__main__":
    main()
