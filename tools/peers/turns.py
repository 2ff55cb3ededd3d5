"""Peers asked in turns: `python tools/peers/turns.py --peers clew,chroma`, after `make bench-peers`.

A machine whose pace changes from minute to minute favours whoever is asked in a good one. Here every store is
filled first. Then each is asked twenty questions, round after round, and compared with the first peer of the round.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

from catalogue import ENVIRONMENTS, PEERS, ROOT, Peer
from env import embedder_packages, prepare, python_of
from stages import Bench, environment, made_up, specify

AT_ONCE = 20  # questions
LIMIT_S = 3_600.0


class Asked:
    """The process of one peer, its store filled."""

    def __init__(self, peer: Peer, bench: Bench) -> None:
        where = ENVIRONMENTS[peer.environment]
        prepare(where, bench.work)
        bench.embedder_path = str(embedder_packages(where, bench.work)) if peer.embeds else ""
        bench.start_clock()
        spec, out = specify(peer, bench, "turns", made_up(bench))
        with out.with_suffix(".log").open("wb") as log:
            self._process = subprocess.Popen(
                [python_of(where, bench.work), Path(__file__).with_name("measure.py"), spec],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment(bench.work),
            )  # fmt: skip
        self.title = peer.title
        if self._said() != "ready":
            raise SystemExit(f"{peer.title} could not be asked; see {out.with_suffix('.log')}")

    def milliseconds(self) -> list[float]:
        assert self._process.stdin
        self._process.stdin.write(f"{AT_ONCE}\n")
        self._process.stdin.flush()
        found: list[float] = json.loads(self._said())
        return found

    def _said(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    args = _arguments()
    peers = {peer.name: peer for peer in PEERS}
    bench = Bench(args.work.resolve(), [], [args.size], LIMIT_S, "")
    if not (bench.vectors / "questions.txt").is_file():
        raise SystemExit("Nothing to ask yet; first: make bench-peers STAGES=speed PEERS=" + ",".join(args.peers))
    asked = [Asked(peers[name], bench) for name in args.peers]
    rounds = [[median(one.milliseconds()) for one in asked] for _ in range(args.rounds)]
    for one in asked:
        one.close()
    print(f"{args.size:,} memories, {args.rounds} rounds of {AT_ONCE} questions; milliseconds, median of a round")
    for at, one in enumerate(asked):
        of_each, shares = [times[at] for times in rounds], [times[at] / times[0] for times in rounds]
        print(f"{one.title:24} {median(of_each):7.2f} ({min(of_each):.2f} to {max(of_each):.2f})   "
              f"{median(shares):5.2f}x ({min(shares):.2f} to {max(shares):.2f})")  # fmt: skip


def _arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=lambda names: names.split(","), default=["clew", "chroma"])
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "peers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
