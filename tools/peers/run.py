"""Measure Clew and its peers side by side: `make bench-peers DATA=folder`, or `python tools/peers/run.py --help`.

Each peer is installed into an environment of its own under the work folder and measured by processes of that
environment. Results are kept after every step, so one peer can be measured again without the others.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from catalogue import ENVIRONMENTS, PEERS, ROOT, STAGES, Peer
from env import InstallFailed, embedder_packages, prepare, python_of
from stages import Bench, first, name_of, quality, speed, subset_quality

MOST_S = 7 * 86_400.0


def main() -> int:
    args = _arguments()
    work = args.work.resolve()
    files = _files(args)
    peers = [peer for peer in PEERS if not args.peers or peer.name in args.peers]
    results = Results(work / "results.json")
    results.all["machine"] = _machine()
    print(f"{len(peers)} peers, about {_estimate_s(peers, args, results) / 60:.0f} minutes, at most "
          f"{len(peers) * args.limit / 60:.0f}, and the installs of the first run")  # fmt: skip
    try:
        bench = _shared(work, files, args, peers, results)
    except InstallFailed as error:
        raise SystemExit(f"the shared embedder could not be set up: {error}") from error
    for peer in peers:
        _measure(peer, bench, args.stages, results)
    if "quality" in args.stages:
        _same_subset(peers, bench, results)
    print(f"written: {results.file}\nnow: python tools/peers/report.py --results {os.path.relpath(results.file)}")
    return 0


class Results:
    """What is known so far, on disk after every step. Other runs may write other peers meanwhile."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._mine: set[str] = set()
        self.all = self._read()

    def of(self, peer: Peer) -> dict[str, Any]:
        self._mine.add(peer.name)
        row: dict[str, Any] = self.all["peers"].setdefault(peer.name, {})
        row |= {"title": peer.title, "note": peer.note, "embeds": peer.embeds}
        return row

    def save(self) -> None:
        others = {name: row for name, row in self._read()["peers"].items() if name not in self._mine}
        self.all["peers"] = others | {name: self.all["peers"][name] for name in self._mine}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        aside = self.file.with_suffix(".new")
        aside.write_text(json.dumps(self.all, indent=1) + "\n", encoding="utf-8")
        aside.replace(self.file)

    def _read(self) -> dict[str, Any]:
        if not self.file.is_file():
            return {"peers": {}}
        found: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        return found


def _measure(peer: Peer, bench: Bench, stages: list[str], results: Results) -> None:
    row = results.of(peer)
    environment = ENVIRONMENTS[peer.environment]
    print(f"{peer.title}:", flush=True)
    try:
        row["install"] = prepare(environment, bench.work)
        if peer.embeds:
            bench.embedder_path = str(embedder_packages(environment, bench.work))
    except InstallFailed as error:
        row["install"] = {"error": str(error)}
        results.save()
        print(f"  not installed: {error}")
        return
    row["version"] = row["install"]["versions"].get(peer.package, "")
    bench.start_clock()
    for stage in [stage for stage in stages if stage in peer.stages]:
        began = time.perf_counter()
        measured = {"date": datetime.now(UTC).date().isoformat(), "load": round(os.getloadavg()[0], 1)}
        row.setdefault("measured", {})[stage] = measured
        run = {"first": first, "quality": quality, "speed": speed}[stage]
        row[stage] = run(peer, python_of(environment, bench.work), bench)
        row.setdefault("elapsed_s", {})[stage] = round(time.perf_counter() - began, 1)
        results.save()
        print(f"  {stage}: {row['elapsed_s'][stage]:.0f} s {_shown(row[stage])}", flush=True)


def _same_subset(peers: list[Peer], bench: Bench, results: Results) -> None:
    """A peer that only took part of a file stands beside Clew on the same part."""
    clew = next(peer for peer in PEERS if peer.name == "clew")
    sizes = {peer.max_units for peer in peers if peer.max_units}
    if not sizes or "error" in results.of(clew).get("install", {"error": ""}):
        return
    for max_units in sizes:
        bench.start_clock()
        python = python_of(ENVIRONMENTS[clew.environment], bench.work)
        results.of(clew)["subset"] = subset_quality(clew, python, bench, max_units)
    results.save()


def _shared(work: Path, files: list[Path], args: argparse.Namespace, peers: list[Peer], results: Results) -> Bench:
    """The encoder, the vectors of every document and the made-up texts."""
    environment = ENVIRONMENTS["clew-minilm"]
    facts = prepare(environment, work)
    bench = Bench(work, files, sizes=args.sizes, limit_s=args.limit, embedder_path="")
    made_up = max(args.sizes) if "speed" in args.stages else 0
    encoded = bench.make_vectors(python_of(environment, work), made_up=made_up, peers=peers)
    results.all["embedder"] = encoded | {"onnxruntime": facts["versions"]["onnxruntime"]}
    results.save()
    return bench


def _shown(found: dict[str, Any]) -> str:
    failed = [
        f"{name}: {part['error']}" for name, part in found.items() if isinstance(part, dict) and "error" in part
    ]
    if "error" in found:
        failed.append(found["error"])
    return "; ".join(failed)


def _files(args: argparse.Namespace) -> list[Path]:
    if "quality" not in args.stages:
        return []
    if not args.data:
        args.stages = [stage for stage in args.stages if stage != "quality"]
        if not args.stages:
            raise SystemExit(
                "Quality needs data: make bench-peers DATA=folder, with benchmark files (*.jsonl, *.jsonl.gz)."
            )
        print(
            "Quality is left out: it needs data. make bench-peers DATA=folder, where the folder holds benchmark "
            "files (*.jsonl, *.jsonl.gz, one corpus per line: units, and questions with their gold units)."
        )
        return []
    found = [file for end in ("*.jsonl", "*.jsonl.gz") for file in Path(args.data).glob(end)]
    files = sorted(found, key=lambda file: (file.stat().st_size, file.name))
    if not files:
        raise SystemExit(f"{args.data} holds no *.jsonl or *.jsonl.gz; name the folder with the benchmark files.")
    names = [name_of(file) for file in files]
    for name in names:
        if names.count(name) > 1:
            raise SystemExit(f"{args.data} holds {name} both packed and plain; results go by that name: keep one.")
    return files


def _estimate_s(peers: list[Peer], args: argparse.Namespace, results: Results) -> float:
    """From the last run of each, or a rough figure for what was never run; none takes longer than it may."""
    total = 0.0
    for peer in peers:
        took = results.all["peers"].get(peer.name, {}).get("elapsed_s", {})
        asked = [stage for stage in args.stages if stage in peer.stages]
        expected_s = sum(took.get(stage, peer.expected_s / len(peer.stages)) for stage in asked)
        total += min(args.limit, expected_s)
    return total


def _machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {"cores": os.cpu_count(), "cpu": model, "system": platform.system(), "python": platform.python_version()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with benchmark files")
    parser.add_argument("--peers", type=_names, default=[], help="only these: " + ",".join(p.name for p in PEERS))
    parser.add_argument("--stages", type=_stages, default=list(STAGES), help="of " + ",".join(STAGES))
    parser.add_argument("--sizes", type=_sizes, default=[10_000, 100_000], help="memories in one scope, for speed")
    parser.add_argument("--limit", type=_seconds, default=900, metavar="SECONDS", help="per peer (900)")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "peers", help="environments, vectors, results"
    )
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return _of(text, [peer.name for peer in PEERS])


def _stages(text: str) -> list[str]:
    return [stage for stage in STAGES if stage in _of(text, STAGES)]


def _of(text: str, known: Any) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
    return names


def _sizes(text: str) -> list[int]:
    sizes = sorted({int(part) for part in text.split(",")})
    if sizes[0] < 1:
        raise argparse.ArgumentTypeError(f"a store of {sizes[0]} memories cannot be measured")
    return sizes


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= MOST_S:
        raise argparse.ArgumentTypeError(f"'{text}' is no time within which a peer can be measured")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
