"""The report of `clew bench recall` as a table: each figure with the ends of its interval below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clew.bench.conditions import measured_by
from clew.bench.ingest import lost
from clew.bench.lines import in_lines
from clew.bench.metrics import FIGURES

SHORT = {figure: figure.replace("recall", "R").replace("ndcg", "N") for figure in FIGURES}
Entry = Mapping[str, Any]


def table(report: Entry) -> str:
    return in_lines(_lines(report))


def _lines(report: Entry) -> Iterator[str]:
    yield _row("", "n", [SHORT[figure] for figure in FIGURES])
    for name, file in report["files"].items():
        ms = file["ms"]
        took = f"recall p50 {ms['p50']} ms, p99 {ms['p99']} ms" if file["questions"] else "no question to ask"
        yield f"{name}: {file['units']} units, {took}"
        yield from (f"  {words}" for words in lost(file))
        for category, entry in file["scores"].items():
            yield from _means(category, entry)
        if "without_gold" in file:
            yield f"  {file['without_gold']} questions have no known answer: ranked, not scored"
        if "categories_missing" in file:
            yield f"  no mean over the chosen categories, without {', '.join(file['categories_missing'])}"
        if "ablations" in file and file["scores"]:
            yield from _ablations(file["ablations"])
        if "against_baseline" in file:
            yield from _baseline(file["against_baseline"], report["baseline"]["file"])
    if "baseline" in report:
        yield f"compared with {report['baseline']['file']}: {report['baseline']['pairs']} questions in all"
        for name, questions in report["baseline"]["other_files"].items():
            yield f"only in the baseline: {questions} questions of {name or 'no file that is named'}"
    yield f"{measured_by(report)}, embedder {report['embedder']}"


def _ablations(steps: list[dict[str, Any]]) -> Iterator[str]:
    yield "  with one means more each time, all questions"
    for step in steps:
        yield from _means(step["name"], step["scores"]["all"])
    yield "  what each gained over the one before"
    for step in steps[1:]:
        yield from _gains(step["name"], step["over_the_one_before"]["all"])
    yield "  what everything together gains over each"
    for step in steps[:-1]:
        yield from _gains(f"over {step['name']}", step["full_over_this"]["all"])


def _baseline(compared: Entry, file: str) -> Iterator[str]:
    yield (
        f"  gains over {file}: {compared['pairs']} questions in both, {compared['only_here']} only here, "
        f"{compared['only_in_baseline']} only there"
    )
    for category, gains in compared["gains"].items():
        yield from _gains(category, gains)


def _means(name: str, entry: Entry) -> Iterator[str]:
    yield _row(name, str(entry["questions"]), [f"{entry[figure]:.3f}" for figure in FIGURES])
    yield _row("", "", [_short(entry["interval"][figure], "") for figure in FIGURES])


def _gains(name: str, gains: Entry) -> Iterator[str]:
    """With a last column: which of the gains count, and which are losses beyond chance."""
    counting, worse = (
        " ".join(SHORT[figure] for figure in FIGURES if gains[figure][what]) for what in ("counts", "worse")
    )
    verdict = f"  counts: {counting or 'none'}" + (f", worse: {worse}" if worse else "")
    yield _row(name, "", [f"{gains[figure]['gain']:+.3f}" for figure in FIGURES]) + verdict
    yield _row("", "", [_short(gains[figure]["interval"], "+") for figure in FIGURES])


def _short(ends: list[float], sign: str) -> str:
    return " ".join(f"{end:{sign}.3f}".replace("0.", ".", 1) for end in ends)


def _row(name: str, questions: str, cells: list[str]) -> str:
    return (f"  {name:28}{questions:>5}" + "".join(f"{cell:>13}" for cell in cells)).rstrip()
