"""The stages of one peer: start measure.py in its environment, wait within the limit, read what it wrote."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catalogue import HERE, ROOT, Peer

from clew.bench.metrics import percentile, score_ranking, summarise

FIRST_RUNS = 3
DOCUMENTS, MADE_UP = "documents", "made-up"  # as in embedding.py, which needs numpy


@dataclass(slots=True)
class Bench:
    """What all peers share: data, limits, folders. The clock runs for one peer at a time."""

    work: Path
    files: list[Path]
    sizes: list[int]
    limit_s: float
    embedder_path: str
    _until: float = field(default=0.0)

    def start_clock(self) -> None:
        self._until = time.monotonic() + self.limit_s

    def left_s(self) -> float:
        return max(0.0, self._until - time.monotonic())

    @property
    def vectors(self) -> Path:
        return self.work / "vectors"

    def make_vectors(self, python: Path, *, made_up: int, peers: Sequence[Peer]) -> dict[str, Any]:
        """Of the documents in the forms that these peers embed, and of so many made-up texts."""
        spec = self.work / "vectors.json"
        out = self.work / "vectors-made.json"
        folders = {"vectors": str(self.vectors), "home": str(self.work / "home"), "out": str(out)}
        files = [str(file.resolve()) for file in self.files]
        forms = sorted({"titled" if peer.package == "clew" else "labelled" for peer in peers if peer.embeds})
        spec.parent.mkdir(parents=True, exist_ok=True)
        spec.write_text(
            json.dumps(folders | {"files": files, "forms": forms, "made_up": made_up}), encoding="utf-8"
        )
        command = [python, HERE / "vectors.py", spec]
        if subprocess.run(command, check=False, env=environment(self.work), cwd=HERE).returncode:
            raise SystemExit("The vectors that all peers share could not be made; the lines above say why.")
        made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return made


def first(peer: Peer, python: Path, bench: Bench) -> dict[str, Any]:
    """The median of a few fresh processes, from their start to their end of searching."""
    runs = []
    for _ in range(FIRST_RUNS):
        events, error, seconds = _run(peer, python, bench, "first", {})
        if error:
            return {"error": error}
        runs.append((seconds, events[-1]))
    seconds, event = sorted(runs, key=lambda run: run[0])[len(runs) // 2]
    if not event["found"]:
        return {"error": "the memory that was stored was not found"}
    names = ("import_s", "open_s", "store_s", "search_s")
    return {"s": round(seconds, 2), "rss_mb": event["rss_mb"]} | dict(zip(names, event["steps_s"], strict=True))


def quality(peer: Peer, python: Path, bench: Bench) -> dict[str, Any]:
    return subset_quality(peer, python, bench, peer.max_units)


def subset_quality(peer: Peer, python: Path, bench: Bench, max_units: int | None) -> dict[str, Any]:
    return {name_of(file): _quality(peer, python, bench, file, max_units) for file in bench.files}


def _quality(peer: Peer, python: Path, bench: Bench, file: Path, max_units: int | None) -> dict[str, Any]:
    asked = {"file": str(file.resolve()), "max_units": max_units}
    events, error, seconds = _run(peer, python, bench, "quality", asked)
    corpora = [event for event in events if event["event"] == "corpus"]
    if not error and not corpora:
        error = f"not run: its first corpus has more than the {max_units} units that were set as the most"
    if error:
        return {"error": error, "s": round(seconds, 1)}
    answers = [event for event in events if event["event"] == "answer"]
    scores = [score_ranking(answer["ranked"], answer["gold"], answer["category"]) for answer in answers]
    means, times = summarise(scores)["all"], [answer["ms"] for answer in answers]
    found = {
        "corpora": len(corpora),
        "units": sum(corpus["units"] for corpus in corpora),
        "questions": len(answers),
        "recall@5": means["recall@5"],
        "recall@10": means["recall@10"],
        "ndcg@10": means["ndcg@10"],
        "ms_p50": round(percentile(times, 0.5), 2),
        "ms_p95": round(percentile(times, 0.95), 2),
        "s": round(seconds, 1),
    }
    return found | ({"max_units": max_units} if max_units else {})


def speed(peer: Peer, python: Path, bench: Bench) -> dict[str, Any]:
    """By size. A size that was not reached says why, and what was stored until then."""
    events, error, _seconds = _run(peer, python, bench, "speed", made_up(bench))
    found: dict[str, Any] = {}
    for event in events:
        if event["event"] in ("stored", "size"):
            found[str(event["size"])] = _figures(event)
        elif event["event"] == "settled":
            found[str(event["size"])]["settled"] = _figures(event)
    for size in map(str, bench.sizes):
        if "ms_p50" not in found.get(size, {}):
            found[size] = found.get(size, {}) | {"error": error or "no result"} | _progress(events)
    return found


def _figures(event: dict[str, Any]) -> dict[str, Any]:
    return {key: event[key] for key in event if key not in ("event", "size")}


def made_up(bench: Bench) -> dict[str, Any]:
    """What is stored and asked where only time counts."""
    files = {"texts": str(bench.vectors / "texts.txt"), "questions": str(bench.vectors / "questions.txt")}
    return files | {"sizes": bench.sizes}


def _progress(events: list[dict[str, Any]]) -> dict[str, Any]:
    told = [event for event in events if event["event"] == "progress"]
    if not told:
        return {}
    return {"stored": told[-1]["stored"], "per_s": round(told[-1]["stored"] / told[-1]["s"], 1)}


def name_of(file: Path) -> str:
    return re.sub(r"\.jsonl(\.gz)?$", "", file.name)


def _run(
    peer: Peer, python: Path, bench: Bench, stage: str, extra: dict[str, Any]
) -> tuple[list[dict[str, Any]], str, float]:
    """Events, what went wrong, and seconds until the last event."""
    spec, out = specify(peer, bench, stage, extra)
    limit = bench.left_s()
    if limit <= 0:
        return [], f"not run: the limit of {bench.limit_s:.0f} s for this peer was used up", 0.0
    log = out.with_suffix(".log")
    began = time.time()
    with log.open("wb") as said:
        process = subprocess.Popen(
            [python, HERE / "measure.py", spec],
            stdout=said, stderr=said, stdin=subprocess.DEVNULL, cwd=HERE,
            env=environment(bench.work), start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(limit)
            error = f"ended with status {status}" if status else ""
        except subprocess.TimeoutExpired:
            error = f"not done after {limit:.0f} s, the limit of {bench.limit_s:.0f} s for this peer"
        finally:
            _end(process)
            shutil.rmtree(bench.work / "scratch" / out.stem, ignore_errors=True)  # of one that was ended
    events = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.is_file() else []
    errors = [event["error"] for event in events if event["event"] == "error"]
    seconds = (out.stat().st_mtime if stage == "first" and out.is_file() else time.time()) - began
    return events, _clean(errors[-1], bench.work) if errors else error, seconds


def specify(peer: Peer, bench: Bench, stage: str, extra: dict[str, Any]) -> tuple[Path, Path]:
    folder = bench.work / "runs"
    name = "-".join(filter(None, [peer.name, stage, Path(extra.get("file", "")).name.split(".")[0]]))
    out, scratch = folder / f"{name}.jsonl", bench.work / "scratch" / name
    for needed in (folder, scratch):
        needed.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    common = {
        "stage": stage, "adapter": peer.adapter, "variant": peer.variant, "embeds": peer.embeds, "out": str(out),
        "scratch": str(scratch), "home": str(bench.work / "home"), "vectors": str(bench.vectors),
        "vector_files": [MADE_UP if stage in ("speed", "turns") else DOCUMENTS], "limit_s": bench.left_s(),
        "environment": str(bench.work / "env" / peer.environment),
        "python_path": [bench.embedder_path, str(ROOT / "src")] if peer.embeds else [],
    }  # fmt: skip
    spec = folder / f"{name}.spec.json"
    spec.write_text(json.dumps(common | extra), encoding="utf-8")
    return spec, out


def environment(work: Path) -> dict[str, str]:
    """No telemetry, no look at a model hub, and nothing of the user's own Clew."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "PYTHON"))}
    silent = {"ANONYMIZED_TELEMETRY": "False", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
    return kept | silent | {"CLEW_HOME": str(work / "home"), "PYTHONUTF8": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and the servers it started: they share a process group of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _clean(error: str, work: Path) -> str:
    """Without the paths of this machine, on one line."""
    return re.sub(r"\s+", " ", error.replace(str(work), "...").replace(str(Path.home()), "~"))[:220]
