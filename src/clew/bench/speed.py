"""`clew bench speed`: what each step costs on this machine as stores grow, warm and cold, beside bare parts.

Absolute times belong to the machine and the hour; ratios within a run and growth factors are what to compare. Each
size is measured in a process of its own, see `speed_store`; what does not depend on the size comes before.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw

import clew
from clew.bench import speed_plot, speed_store, speed_table, speed_writes
from clew.bench.conditions import conditions
from clew.bench.places import check_place, named, write
from clew.bench.speed_cold import opened
from clew.bench.speed_figures import growth
from clew.bench.speed_store import QUICK, Rounds
from clew.errors import InvalidInput
from clew.model.progress import Progress, no_progress

SIZES, QUICK_SIZES = [1_000, 10_000, 100_000], [1_000, 10_000]


def measure(args: argparse.Namespace, progress: Progress = no_progress) -> dict[str, Any]:
    plot = _plot(getattr(args, "plot", None), args.url)
    if args.url is not None:
        return _engines(args, progress)
    report = run(args.sizes or (QUICK_SIZES if args.quick else SIZES), quick=args.quick, progress=progress)
    if plot:
        write(plot, speed_plot.growth_svg(report), report)
    return report


def _plot(name: str | None, url: str | None) -> Path | None:
    """Where it goes, looked at before hours have gone by."""
    plot = named("--plot", name)
    if plot and url is not None:
        raise InvalidInput(
            "two engines side by side are not drawn", code="PLOT_WITH_URL", next="leave out --plot or --url"
        )
    if plot:
        check_place(plot)
    return plot


def _engines(args: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    from clew.bench import engines

    rounds = engines.QUICK if args.quick else engines.Rounds()
    return engines.run(args.url, args.sizes or engines.SIZES, rounds=rounds, progress=progress)


def run(sizes: Sequence[int], *, quick: bool = False, progress: Progress = no_progress) -> dict[str, Any]:
    """Progress is told in steps; those of a size take as long as its store is large."""
    rounds, sizes = QUICK if quick else Rounds(), sorted(set(sizes))
    beside = _beside_bare(rounds)
    total = len(beside) + speed_store.STEPS * len(sizes)
    report = _conditions() | {"machine": machine(), "ingest": {}, "single_writes": {}, "stores": {}}
    for done, (part, step) in enumerate(beside):
        progress(done, total)
        report[part] |= step()
    for place, size in enumerate(sizes):
        before = len(beside) + speed_store.STEPS * place
        told = partial(_further, progress, before, total)
        report["stores"][str(size)] = speed_store.in_process(size, rounds, told)
    progress(total, total)
    return report | {"growth": growth(report["stores"])}


def _further(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _beside_bare(rounds: Rounds) -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """(part of the report, what measures some of it)."""
    return [
        *(("ingest", partial(_ingest, rounds, chars, graph)) for chars in (250, 2_000) for graph in (False, True)),
        ("single_writes", partial(speed_writes.single_writes, rounds.writes)),
    ]


def _ingest(rounds: Rounds, chars: int, graph: bool) -> dict[str, Any]:
    """So many of short texts, a fifth of long ones."""
    count = rounds.ingest if chars == 250 else rounds.ingest // 5
    return {f"{chars}{' with graph' if graph else ''}": speed_writes.ingest(count, chars, graph=graph)}


def _conditions() -> dict[str, Any]:
    with speed_writes.folder() as home, opened(home) as memory:
        return conditions(memory.settings)


def machine() -> dict[str, Any]:
    import numpy

    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": numpy.__version__,
        "clew": clew.__version__,
    }


def table(report: dict[str, Any]) -> str:
    if "sizes" in report:
        from clew.bench import engine_table

        return engine_table.table(report)
    return speed_table.table(report)
