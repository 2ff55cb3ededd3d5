"""What `clew bench speed` measured, for people: a line for each step, a column for each size, and the growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from clew.bench.conditions import measured_by
from clew.bench.speed_figures import figures, high

# In the order of the table. What is not here is not in it, which a test would notice.
TITLES = {
    "ingest warm": "import, each memory",
    "ingest cold": "first write of a process",
    "recall in_project warm": "recall in the project",
    "recall in_project plain": "  by words and meaning alone",
    "recall in_project after_write": "  right after a write",
    "recall in_project cold": "  first of a process",
    "recall in_one_scope warm": "recall in one scope",
    "recall in_one_scope cold": "  first of a process",
    "graph warm": "graph expansion",
    "graph cold": "  first of a process",
    "event warm": "in-session event",
    "event cold": "  first of a process",
    "cycle warm": "claim and acknowledge",
    "cycle cold": "  first of a process",
    "daemon recall": "recall through the daemon",
    "mcp recall": "recall over MCP, stdio",
    "hook warm": "hook process, with a daemon",
    "hook cold": "  a daemon just started",
    "hook without_daemon": "  without a daemon",
    "startup open": "open a store",
    "startup help": "clew --help",
    "startup recall": "clew recall",
    "startup import_numpy": "  python that imports numpy",
    "startup bare_python": "  python that does nothing",
}
MEMORY = {
    "before_fill_mb": "a process that has written once",
    "after_fill_mb": "after filling the store",
    "after_first_recall_mb": "after a recall in the project",
    "after_first_recall_in_one_scope_mb": "after a recall in one scope",
    "after_all_mb": "after every step",
    "peak_mb": "peak",
}
WIDE, CELL, GROWN = 31, 27, 23


def table(report: Mapping[str, Any]) -> str:
    stores: Mapping[str, Mapping[str, Any]] = report["stores"]
    return "\n".join(
        [
            f"machine: {report['machine']}",
            measured_by(report),
            *_beside_bare(report),
            "",
            *_steps(stores, report["growth"]),
            "",
            *_memory(stores),
            "",
            *(line for size, row in stores.items() for line in _ratios(int(size), row)),
        ]
    )


def _beside_bare(report: Mapping[str, Any]) -> Iterator[str]:
    for chars, row in report["ingest"].items():
        yield (
            f"import, {chars} characters: {row['per_second']:,}/s, {row['times_bare_fts5']}x bare FTS5 "
            f"({row['times_bare_fts5_cpu']}x CPU), {row['cpu_us_each']} us CPU, {row['bytes_per_memory']:,} bytes"
        )
    row = report["single_writes"]
    end, value = high(row["ms"])
    yield (
        f"single durable writes: {row['per_second']}/s, {row['share_of_bare']} of bare FULL commits, "
        f"p50 {row['ms']['p50']} ms, {end} {value} ms; {row['threads']} threads: "
        f"{row['concurrent_per_second']:,}/s, {row['concurrent_share_of_bare']} of bare FULL commits"
    )


def _steps(stores: Mapping[str, Mapping[str, Any]], growth: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Milliseconds: median, high end, median of the processor's time; then the growth from size to size."""
    sizes = list(stores)
    pairs = [(int(one), int(other)) for one, other in pairwise(sizes)]
    found = {size: {" ".join(path): told for path, told in figures(row)} for size, row in stores.items()}
    factors = {(row["step"], row["from"]): row for row in growth}
    heads = "".join(f"{f'{int(size):,} memories':>{CELL}}" for size in sizes)
    yield f"{'milliseconds':<{WIDE}}{heads}" + f"{'growth, wall (CPU)':>{GROWN}}" * len(pairs)
    heads = "".join(f"{f'{one:,} -> {other:,}':>{GROWN}}" for one, other in pairs)
    yield " " * WIDE + f"{'p50':>9}{'p99':>9}{'CPU':>9}" * len(sizes) + heads
    for name, title in TITLES.items():
        if any(name in rows for rows in found.values()):
            cells = "".join(_cell(found[size].get(name)) for size in sizes)
            grown = "".join(_factor(factors.get((name, one), {})) for one, _other in pairs)
            yield f"{title:<{WIDE}}{cells}{grown}"
    yield f"~ of fewer than a hundred runs: p95. In the project: {_asked(stores)}; in one scope: all."


def _asked(stores: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(f"{row['in_project']:,} of {int(size):,}" for size, row in stores.items())


def _cell(told: Mapping[str, Any] | None) -> str:
    if told is None:
        return " " * CELL
    end, value = high(told["ms"])
    cpu = told.get("cpu_ms", {})
    used = _short(cpu.get("p50", cpu.get("mean")))
    return f"{_short(told['ms']['p50']):>9}{('' if end == 'p99' else '~') + _short(value):>9}{used:>9}"


def _short(ms: float | None) -> str:
    if ms is None:
        return "-"
    return f"{ms:.3f}" if ms < 1 else f"{ms:.2f}" if ms < 100 else f"{ms:,.0f}"


def _factor(row: Mapping[str, Any]) -> str:
    cpu = f" ({row['cpu']:.2f}x)" if "cpu" in row else ""
    wall = f"{row['wall']:.2f}x" if "wall" in row else "-"
    return f"{wall + cpu:>{GROWN}}"


def _memory(stores: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"{'resident memory, MB':<{WIDE}}" + "".join(f"{int(size):>{CELL},}" for size in stores)
    for name, title in MEMORY.items():
        values = [row["memory"].get(name) for row in stores.values()]
        if any(value is not None for value in values):
            yield f"{title:<{WIDE}}" + "".join(f"{value if value is not None else '-':>{CELL}}" for value in values)


def _ratios(size: int, row: Mapping[str, Any]) -> Iterator[str]:
    """Beside the bare parts of the same run, and what only this size tells."""
    ingest, graph, start = row["ingest"]["warm"], row["graph"], row["startup"]
    yield (
        f"at {size:,}: import {ingest['per_second']:,}/s = {ingest['times_bare_fts5']}x bare FTS5 "
        f"({ingest['times_bare_fts5_cpu']}x CPU), {ingest['bytes_per_memory']:,} bytes each; "
        f"{graph['edges']:,} edges, walk alone p50 {graph['warm']['walk_ms']['p50']} ms"
        + ("" if row["recall"]["in_one_scope"]["warm"]["is_kept"] else "; one scope is searched where it lies")
    )
    event, cycle = row["event"]["warm"], row["cycle"]["warm"]
    outcomes = ", ".join(f"{name} {count:,}" for name, count in sorted(event["outcomes"].items()))
    yield (
        f"  an event = {event['times_recall']['p50']}x a recall, at most {event['tokens']} of "
        f"{event['budget_tokens']} tokens, {outcomes}; a cycle = {cycle['times_bare_full_commit']['p50']}x a bare "
        f"FULL commit; clew recall = {start['recall']['times_import_numpy']['p50']}x import numpy; "
        f"clew --help = {start['help']['times_bare_python']['p50']}x bare python"
    )
    if "hook" in row:
        rate, hook = row["daemon"]["recall"]["rate"], row["hook"]
        yield (
            f"  hook = {hook['warm']['times_bare_python']['p50']}x bare python with a daemon, "
            f"{hook['without_daemon']['times_bare_python']['p50']}x without; daemon on one core: "
            f"{rate['recalls']:,} recalls/s, {rate['shows']:,} shows/s over {rate['connections']} connections"
        )
