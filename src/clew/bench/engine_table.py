"""What `clew bench speed --url` measured, for people: a line for each thing, SQLite first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ENGINES = ("sqlite", "postgres")


def table(report: dict[str, Any]) -> str:
    lines = [f"machine: {report['machine']}", f"{'':58}{'SQLite':>22}{'PostgreSQL':>22}"]
    for size, row in report["sizes"].items():
        lines += [f"{int(size):,} memories", *_at_size(row)]
    graph, queue = report["graph"], report["queue"]
    lines += [f"graph, {graph['sqlite']['edges']:,} edges between {graph['sqlite']['memories']:,} memories"]
    lines += _graph(graph)
    lines += [f"queue, {queue['sqlite']['workers']} processes, {queue['sqlite']['sessions']} sessions"]
    lines += _queue(queue)
    lines += [
        f"recall p50 {entry['from']:,} -> {entry['to']:,}, {entry['engine']}, {entry['way']}: {entry['factor']}x"
        for entry in report["growth"]
    ]
    return "\n".join(lines)


def _at_size(row: dict[str, Any]) -> Iterator[str]:
    ingest, index = row["ingest"], row["ingest"]["postgres"]["vector_index"]
    yield _line("import, memories/s", [f"{ingest[name]['per_second']:,}" for name in ENGINES])
    yield _line("  the index over vectors, built afterwards, s", ["", f"{index['built_s']}"])
    yield _line("bytes per memory", [f"{ingest[name]['bytes_per_memory']:,}" for name in ENGINES])
    yield _line("  of these the index over vectors", ["", f"{index['bytes_per_memory']:,}"])
    for way in row["recall"]["sqlite"]:
        asked = [row["recall"][name][way] for name in ENGINES]
        yield _line(f"recall, {way}: p50 / p99 ms", [_spread(one["ms"]) for one in asked])
        yield _line("  processor time here; first question, ms", [_first(one) for one in asked])
    yield _line("cold `clew recall`: best / p50 ms", [_cold(row["cold"][name]) for name in ENGINES])
    yield _line("durable write: p50 / p99 ms", [_spread(row["writes"][name]["ms"]) for name in ENGINES])
    threads = row["writes"]["sqlite"]["threads"]
    together = [f"{row['writes'][name]['concurrent_per_second']:,}" for name in ENGINES]
    yield _line(f"durable writes/s, {threads} threads", together)


def _graph(graph: dict[str, Any]) -> Iterator[str]:
    rows = [graph[name] for name in ENGINES]
    yield _line("put in, edges/s", [f"{row['edges_per_s']:,}" for row in rows])
    for number, hops in enumerate(zip(*(row["hops"] for row in rows), strict=True), 1):
        yield _line(f"hop {number}, {hops[0]['nodes']} nodes: p50 / p99 ms", [_spread(hop["ms"]) for hop in hops])
    yield _line("walk of a recall, by queries: p50 / p99 ms", [_spread(row["by_queries_ms"]) for row in rows])
    yield _line("walk of a recall, from memory: p50 / p99 ms", [_spread(row["from_memory_ms"]) for row in rows])
    yield _line("  until it was in memory, s", [f"{row['loading_s']}" for row in rows])


def _queue(queue: dict[str, Any]) -> Iterator[str]:
    rows = [queue[name] for name in ENGINES]
    yield _line("put in/s, 8 threads", [f"{row['enqueued_per_s']:,}" for row in rows])
    for way, told in (("claim_and_ack", "claim and acknowledge"), ("beats", "beats that bring and acknowledge")):
        yield _line(f"{told}: cycles/s", [f"{row[way]['per_s']:,}" for row in rows])
        yield _line("  p50 / p99 ms", [_spread(row[way]["ms"]) for row in rows])
        yield _line("  processor time of the worker, us", [f"{row[way]['cpu_us_each']}" for row in rows])


def _line(what: str, values: list[str]) -> str:
    return f"  {what:56}" + "".join(f"{value:>22}" for value in values)


def _spread(row: dict[str, float]) -> str:
    return f"{row['p50']:,} / {row['p99']:,}"


def _first(row: dict[str, Any]) -> str:
    return f"{row['cpu_ms']}; {row['first_ms']}" + ("" if row["is_kept"] else " (disk)")


def _cold(row: dict[str, float]) -> str:
    return f"{row['best_ms']} / {row['p50_ms']}"
