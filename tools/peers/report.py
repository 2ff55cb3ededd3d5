"""Write the results of run.py into docs/benchmarks.md, between its markers, and draw docs/benchmarks.svg.

python tools/peers/report.py [--results build/peers/results.json] [--docs docs]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from catalogue import NOT_RUN, PEERS, ROOT  # noqa: E402
from page import lost_figures  # noqa: E402
from plot import draw, word_for  # noqa: E402

BEGIN, END = "<!-- peers: begin, written by tools/peers/report.py -->", "<!-- peers: end -->"
TOLD = 3  # examples of what would be lost
Row = dict[str, Any]


class Reasons:
    """Why a cell has no figure: each reason once, with a number that stands in the cell."""

    def __init__(self) -> None:
        self._found: dict[str, int] = {}

    def mark(self, who: str, what: str, reason: str) -> str:
        number = self._found.setdefault(f"{who}, {what}: {reason}", len(self._found) + 1)
        return f"{word_for(reason)} [{number}]"

    def lines(self) -> list[str]:
        return [f"{number}. {text}" for text, number in self._found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "peers" / "results.json")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--anew", action="store_true", help="even if figures of the page are not in the results")
    args = parser.parse_args()
    if not args.results.is_file():
        raise SystemExit(f"{args.results} is not there; make bench-peers DATA=folder writes it.")
    results = json.loads(args.results.read_text(encoding="utf-8"))
    page = args.docs / "benchmarks.md"
    before, tables = page.read_text(encoding="utf-8"), render(results)
    after = put_between(before, tables)
    if not args.anew:
        _check_nothing_is_lost(before, tables)
    page.write_text(after, encoding="utf-8")
    (args.docs / "benchmarks.svg").write_text(draw(in_order(results)), encoding="utf-8")
    print(f"written: {page} and {args.docs / 'benchmarks.svg'}")


def put_between(page: str, tables: str) -> str:
    """The page with everything between the markers replaced."""
    before, begin, rest = page.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"The page lacks its markers: put '{BEGIN}' and '{END}' where the tables belong.")
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def _check_nothing_is_lost(page: str, tables: str) -> None:
    """A run of some peers or stages has those of others only where it wrote to the results of an earlier one."""
    lost = lost_figures(page.partition(BEGIN)[2].partition(END)[0], tables)
    if lost:
        more = f", and {len(lost) - TOLD} more" if len(lost) > TOLD else ""
        raise SystemExit(
            f"The results lack what the page has: {'; '.join(lost[:TOLD])}{more}. Measure these into the same "
            "results (make bench-peers PEERS=... STAGES=...), or write the page without them: --anew"
        )


def in_order(results: Row) -> dict[str, Row]:
    """The peers that were run, in the order of the catalogue."""
    known = [peer.name for peer in PEERS]
    peers: dict[str, Row] = results["peers"]
    return dict(sorted(peers.items(), key=lambda item: known.index(item[0]) if item[0] in known else len(known)))


def render(results: Row) -> str:
    peers, reasons = in_order(results), Reasons()
    parts = [_who(results, peers), _quality(peers, reasons), _subset(peers), _search(peers, reasons)]
    parts += [_ingest(peers, reasons), _start(peers, reasons)]
    if lines := reasons.lines():
        parts.append("### What failed, and why\n\n" + "\n".join(lines))
    parts.append("### Not run\n\n" + "\n".join(f"- {name}: {why}." for name, why in NOT_RUN))
    return "\n\n".join(part for part in parts if part)


def _who(results: Row, peers: dict[str, Row]) -> str:
    machine, encoder = results.get("machine", {}), results["embedder"]
    lines = [
        f"On {machine.get('cores')} cores ({machine.get('cpu')}, {machine.get('system')}).",
        _when("Quality", ("quality",), peers),
        _when("Speed and start", ("first", "speed"), peers),
        f"Encoder: all-MiniLM-L6-v2 on onnxruntime {encoder['onnxruntime']}, {encoder['per_s']:.0f} texts of "
        f"{encoder['chars']} characters a second.",
    ]
    head = ["peer", "version", "Python", "run as", "measured"]
    table = _table(head, [_identity(row) for row in peers.values()], left=5)
    return " ".join(line for line in lines if line) + f"\n\n{table}"


def _when(what: str, stages: tuple[str, ...], peers: dict[str, Row]) -> str:
    """Dates and how busy the machine was when each peer was begun."""
    found = [
        row["measured"][stage] for row in peers.values() for stage in stages if stage in row.get("measured", {})
    ]
    if not found:
        return ""
    dates, loads = sorted(part["date"] for part in found), sorted(part["load"] for part in found)
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    return f"{what}: {when}, load average {loads[0]} to {loads[-1]}."


def _identity(row: Row) -> list[str]:
    told = [row["title"], row.get("version", ""), row.get("install", {}).get("python", "-"), row.get("note", "")]
    return [*told, _dates(row.get("measured", {}))]


def _dates(measured: Row) -> str:
    """One for all stages, or which was measured when."""
    dates = {stage: part["date"] for stage, part in measured.items()}
    if len(set(dates.values())) == 1:
        return next(iter(dates.values()))
    return ", ".join(f"{stage} {date}" for stage, date in dates.items()) or "-"


def _quality(peers: dict[str, Row], reasons: Reasons) -> str:
    files = list(dict.fromkeys(name for row in peers.values() for name in row.get("quality", {})))
    if not files:
        return ""
    rows = [[row["title"], *(_scores(row, name, reasons) for name in files)] for row in peers.values()]
    head = ["R@5 / R@10 / N@10", *(f"{name} ({_questions(peers, name)})" for name in files)]
    return "### Quality\n\n" + _table(head, rows)


def _scores(row: Row, file: str, reasons: Reasons) -> str:
    found = row.get("quality", {}).get(file)
    if "error" in row.get("install", {}):
        return reasons.mark(row["title"], "install", row["install"]["error"])
    if found is None:
        return "-"
    if "error" in found:
        return reasons.mark(row["title"], file, found["error"])
    return "in part, below" if found.get("max_units") else scores_of(found)


def scores_of(found: Row) -> str:
    return " / ".join(_share(found[name]) for name in ("recall@5", "recall@10", "ndcg@10"))


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _questions(peers: dict[str, Row], file: str) -> str:
    whole = [row["quality"][file] for row in peers.values() if file in row.get("quality", {})]
    counts = [found["questions"] for found in whole if "questions" in found and not found.get("max_units")]
    return f"{max(counts):,} questions" if counts else "no result"


def _subset(peers: dict[str, Row]) -> str:
    """A peer too slow for whole files, beside Clew on the same part."""
    rows = []
    for row in peers.values():
        for file, found in row.get("quality", {}).items():
            if found.get("max_units") and "error" not in found:
                part = (
                    f"{file}, first {found['corpora']}: {found['units']:,} units, {found['questions']:,} questions"
                )
                rows.append([part, row["title"], scores_of(found)])
                same = peers.get("clew", {}).get("subset", {}).get(file, {})
                if same.get("units") == found["units"]:
                    rows.append([part, peers["clew"]["title"], scores_of(same)])
    return "On part of a file:\n\n" + _table(["part", "peer", "R@5 / R@10 / N@10"], rows, left=2) if rows else ""


def _sizes(peers: dict[str, Row]) -> list[str]:
    return sorted({size for row in peers.values() for size in row.get("speed", {})}, key=int)


def _search(peers: dict[str, Row], reasons: Reasons) -> str:
    sizes = _sizes(peers)
    if not sizes:
        return ""
    head = ["ms"]
    for size in sizes:
        head += [f"{int(size):,}: p50 / p95", "of which embedding", "questions"]
    rows = [
        [row["title"], *(cell for size in sizes for cell in _search_cells(row, size, reasons))]
        for peer in peers.values()
        for row in _states(peer)
    ]
    return "### Search, ten results, embedding of the question included\n\n" + _table(head, rows)


def _states(row: Row) -> list[Row]:
    """A peer that works on in the background is asked right after the import, and once nothing is left to do."""
    settled = {size: found["settled"] for size, found in row.get("speed", {}).items() if "settled" in found}
    if not settled:
        return [row]
    return [
        row | {"title": f"{row['title']}, right after the import"},
        row | {"title": f"{row['title']}, once its background is done", "speed": settled},
    ]


def _search_cells(row: Row, size: str, reasons: Reasons) -> list[str]:
    found = row.get("speed", {}).get(size)
    if found is None:
        return ["-", "-", "-"]
    if "ms_p50" not in found:
        return [reasons.mark(row["title"], f"{int(size):,} memories", found["error"]), "-", "-"]
    embedding = f"{found['embed_ms_p50']:.2f}" if found["embed_ms_p50"] else "none"
    return [f"{_ms(found['ms_p50'])} / {_ms(found['ms_p95'])}", embedding, str(found["questions"])]


def _ms(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _ingest(peers: dict[str, Row], reasons: Reasons) -> str:
    sizes = _sizes(peers)
    if not sizes:
        return ""
    head = [
        "",
        *(f"memories/s to {int(size):,}" for size in sizes),
        *(f"MB more at {int(size):,}" for size in sizes),
    ]
    rows = []
    for row in peers.values():
        parts = [row.get("speed", {}).get(size, {}) for size in sizes]
        rates = [_rate(row, size, part, reasons) for size, part in zip(sizes, parts, strict=True)]
        grown = [f"{part['rss_growth_mb']:,.0f}" if "rss_growth_mb" in part else "-" for part in parts]
        rows.append([row["title"], *rates, *grown])
    return "### Ingest, and the memory that the process gained\n\n" + _table(head, rows)


def _rate(row: Row, size: str, part: Row, reasons: Reasons) -> str:
    rate = f"{part['per_s']:,.0f}" if part.get("per_s", 0) >= 10 else f"{part.get('per_s', 0):.1f}"
    if "ingest_s" in part:
        return rate
    if "error" not in part:
        return "-"
    mark = reasons.mark(row["title"], f"{int(size):,} memories", part["error"])
    return f"{rate}, {mark}" if part.get("per_s") else mark


def _start(peers: dict[str, Row], reasons: Reasons) -> str:
    head = ["", "MB installed", "without .pyc", "packages", "install s", "first recall s"]
    head += ["import / open / store / search", "MB resident"]
    rows = [[row["title"], *_start_cells(row, reasons)] for row in peers.values()]
    return "### From nothing to the first recall\n\n" + _table(head, rows)


def _start_cells(row: Row, reasons: Reasons) -> list[str]:
    install, begun = row.get("install", {}), row.get("first", {})
    if "error" in install:
        return [reasons.mark(row["title"], "install", install["error"]), *["-"] * 6]
    bare = f"{install['mb'] - install.get('compiled_mb', 0):.0f}"
    cells = [f"{install['mb']:.0f}", bare, str(install["packages"]), f"{install['install_s']:.0f}"]
    if "error" in begun:
        return [*cells, reasons.mark(row["title"], "first recall", begun["error"]), "-", "-"]
    if not begun:
        return [*cells, "-", "-", "-"]
    steps = " / ".join(f"{begun[name]:.2f}" for name in ("import_s", "open_s", "store_s", "search_s"))
    return [*cells, f"{begun['s']:.2f}", steps, f"{begun['rss_mb']:.0f}"]


def _table(head: list[str], rows: list[list[str]], *, left: int = 1) -> str:
    """`left` columns are words, the others figures."""
    rule = ["---" if number < left else "---:" for number in range(len(head))]
    lines = [head, rule, *([cell.replace("|", "/") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
