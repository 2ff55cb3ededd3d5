"""How much of what is captured from labelled sessions is junk, and how much of what is useful is captured.

    .venv/bin/python tools/capture_junk.py [tuning|held_out|attacks] [--show]

`tests/labelled/README.md` tells how sessions are written and labelled. Every event goes the whole way: as its host
would send it, through the normaliser, to facts and drafts. --show lists what was kept wrongly and what was missed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from clew.guard.trust import MAY_BE_INJECTED
from clew.hosts.capture import Captured, Fact, drafts_of, facts_of, standing
from clew.hosts.events import event_of
from clew.model.host import Around
from clew.remember.trust import trust_of_origin

LABELLED = Path(__file__).parents[1] / "tests" / "labelled"
SETS = ("tuning", "held_out", "attacks")
ROOT = "/home/dev/shop"
HOST = "claude-code"
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
AROUND = Around(project="shop", root=ROOT, ignored=("secrets/",))


@dataclass(frozen=True, slots=True)
class Labelled:
    """One event as its host would send it, and what it says about memories."""

    raw: dict[str, Any]
    useful: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


@dataclass(slots=True)
class Measure:
    """`junk`: kept and of no use. `missed`: of use and not kept. `leaked`: kept and forbidden, or kept so that it
    may be injected where it must only be recalled."""

    events: int = 0
    kept: int = 0
    useful: int = 0
    junk: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return 1 - len(self.junk) / self.kept if self.kept else 1.0

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / self.useful if self.useful else 1.0


def measure(half: str) -> Measure:
    total = Measure()
    for path in sorted((LABELLED / half).glob("*.txt")):
        events = list(read_session(path))
        _judge(total, events, captured_of(events), path.stem)
    return total


def captured_of(events: Iterable[Labelled]) -> list[Captured]:
    """What is kept of a session."""
    return standing(drafts_of(list(facts(events))))


def facts(events: Iterable[Labelled]) -> Iterator[Fact]:
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s", "cwd": ROOT}
    for number, one in enumerate([Labelled(start), *events]):
        event = event_of(HOST, one.raw, event_id=f"{number:032x}")
        told = facts_of(event, AROUND) if event else None
        if told:
            yield Fact(f"{number:032x}", START + timedelta(minutes=number), told)


def read_session(path: Path) -> Iterator[Labelled]:
    """Labels and outputs belong to the event above them."""
    raw: dict[str, Any] | None = None
    useful: list[str] = []
    never: list[str] = []
    apart: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        sign, _space, text = line.strip().partition(" ")
        text = text.replace("\\n", "\n")
        if line.startswith("  "):
            {"=": useful, "!": never, "~": apart}[sign].append(text)
        elif sign == "|" and raw is not None:
            raw |= _printed(raw, text)
        elif line.strip():
            if raw is not None:
                yield Labelled(raw, tuple(useful), tuple(never), tuple(apart))
            raw, useful, never, apart = _raw(sign, text, path.stem), [], [], []
    if raw is not None:
        yield Labelled(raw, tuple(useful), tuple(never), tuple(apart))


def _raw(sign: str, text: str, session: str) -> dict[str, Any]:
    common = {"session_id": session, "cwd": ROOT, "transcript_path": f"/nowhere/{session}.jsonl"}
    path = text if text.startswith(("~", "/")) else f"{ROOT}/{text}"
    match sign:
        case ">":
            told: dict[str, Any] = {"hook_event_name": "UserPromptSubmit", "prompt": text}
        case "<":
            told = {"hook_event_name": "Stop", "last_assistant_message": text}
        case "s":
            told = {"hook_event_name": "SubagentStop", "agent_id": "a1", "last_assistant_message": text}
        case ".":
            told = {"hook_event_name": "SessionEnd", "reason": "other"}
        case "$":
            told = _tool("Bash", {"command": text}) | {"tool_response": {"stdout": "", "stderr": ""}}
        case "$!":
            told = _tool("Bash", {"command": text}) | {
                "hook_event_name": "PostToolUseFailure",
                "error": "Exit code 1",
            }
        case "e":
            told = _tool("Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        case "r":
            told = _tool("Read", {"file_path": path})
        case "w":
            told = _tool("WebFetch", {"url": text, "prompt": "read it"})
        case "m":
            told = _tool(text, {})
        case _:
            raise ValueError(f"no event begins with {sign!r}")
    return common | told


def _tool(name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"hook_event_name": "PostToolUse", "tool_name": name, "tool_input": given, "tool_use_id": "toolu_1"}


def _printed(raw: dict[str, Any], text: str) -> dict[str, Any]:
    return {"error": text} if "error" in raw else {"tool_response": {"stdout": text, "stderr": ""}}


def _judge(total: Measure, events: list[Labelled], kept: list[Captured], name: str) -> None:
    """A label stands for one memory, so that vague words excuse nothing: the longest labels choose first."""
    texts = list(dict.fromkeys(one.draft.content for one in kept))
    useful = [words for one in events for words in one.useful]
    never = [words for one in events for words in one.never]
    apart = [words for one in events for words in one.apart]
    left, missed = list(texts), []
    for words in sorted(useful, key=len, reverse=True):
        found = next((text for text in left if words in text), None)
        if found is None:
            missed.append(words)
        else:
            left.remove(found)
    # What is kept to be recalled only is neither junk nor missed.
    left = [text for text in left if not any(words in text for words in apart)]
    shown = [one.draft.content for one in kept if _may_be_shown(one)]
    total.events += len(events)
    total.kept += len(texts)
    total.useful += len(useful)
    total.junk += [f"{name}: {text}" for text in left]
    total.missed += [f"{name}: {words}" for words in missed]
    total.leaked += [f"{name}: {words}" for words in never if any(words in text for text in texts)]
    total.leaked += [f"{name}: {words}" for words in apart if any(words in text for text in shown)]
    total.leaked += [
        f"{name}: before every prompt: {one.draft.content}" for one in kept if one.draft.layer == "rule"
    ]


def _may_be_shown(one: Captured) -> bool:
    """Whether it may be put before an agent that did not ask for it."""
    return (one.draft.trust or trust_of_origin(one.draft.origin)) in MAY_BE_INJECTED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", nargs="?", choices=SETS, help="which set (all)")
    parser.add_argument("--show", action="store_true", help="list what went wrong")
    given = parser.parse_args()
    print(
        f"{'':10}{'events':>8}{'kept':>8}{'junk':>8}{'precision':>12}{'useful':>8}{'missed':>8}{'recall':>10}{'leaked':>8}"
    )
    for half in [given.half] if given.half else SETS:
        found = measure(half)
        print(
            f"{half:10}{found.events:>8}{found.kept:>8}{len(found.junk):>8}{found.precision:>12.1%}{found.useful:>8}"
            f"{len(found.missed):>8}{found.recall:>10.1%}{len(found.leaked):>8}"
        )
        if given.show:
            for title, lines in (("junk", found.junk), ("missed", found.missed), ("leaked", found.leaked)):
                print(*(f"  {title:7}{line}" for line in lines), sep="\n")


if __name__ == "__main__":
    main()
