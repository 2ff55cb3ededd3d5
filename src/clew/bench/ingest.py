"""A corpus of a benchmark file in a store of its own, through the public write path, and what did not get there as
the file has it.

Author, thread, time and title of a unit become what they are in Clew. A unit that Clew keeps nothing of, all of it
private or too long, is left out and thereby never found: one of them ends no run of hours.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

import clew
from clew.bench.ablations import FULL, Ablation
from clew.bench.dates import when
from clew.compose import make_embedder
from clew.errors import InvalidInput
from clew.model.memory import NOTHING
from clew.remember.observe import refuse_reserved
from clew.remember.prepare import draft_memory
from clew.settings import Settings
from clew.values import dataclass

LABEL_CHARS = 240  # of a title, an author or a thread are taken, as many as a memory can have
PROJECT_CHARS = 200
TOLD = 3  # examples of what was lost
_NO_NAME = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")  # what no project is called


@dataclass(frozen=True, slots=True)
class Asking:
    """How the corpora are kept and asked: `steps` are the ways to ask, the last one being what everybody gets."""

    embedder: str | None = None
    graph: bool = True
    relate: bool = False
    limit_questions: int | None = None
    steps: tuple[Ablation, ...] = (FULL,)
    home: Path | None = None  # whose settings and models are used, if not those of everything else

    @property
    def settings(self) -> dict[str, Any]:
        """By path. What writes leave to be done later is done before the first question, or not at all: not
        meanwhile."""
        chosen = {"embed.provider": self.embedder} if self.embedder else {}
        return {"graph.write": self.graph, "relate.in_process": False} | chosen

    def opened(self, store: Path, more: Mapping[str, Any] = NOTHING) -> clew.Clew:
        return clew.open(store, home=self.home, **_sections(self.settings | dict(more)))

    def in_force(self) -> Settings:
        """With those of the user and of the directory this runs in."""
        with tempfile.TemporaryDirectory() as folder, self.opened(Path(folder) / "bench.db") as memory:
            return memory.settings

    def check(self) -> None:
        """Recall does without a model that fails. A figure must not: it would be that of words alone."""
        with tempfile.TemporaryDirectory() as folder, self.opened(Path(folder) / "bench.db") as memory:
            model = make_embedder(memory.settings.embed, memory.settings.home)
            if model is not None:
                model.embed(["is it there?"])

    def of(self, corpus: dict[str, Any]) -> list[dict[str, Any]]:
        """The questions that are asked."""
        questions: list[dict[str, Any]] = corpus["questions"][: self.limit_questions]
        return questions


def _sections(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by path as `clew.open` takes them."""
    sections: dict[str, Any] = {}
    for path, value in settings.items():
        section, name = path.split(".")
        sections.setdefault(section, {})[name] = value
    return sections


@dataclass(slots=True)
class Losses:
    """What figures are lower for, and nobody would see: by kind, each one that was lost."""

    left_out: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    times_not_read: list[str] = field(default_factory=list)
    gold_not_found: list[str] = field(default_factory=list)

    def of_questions(self, questions: list[dict[str, Any]], units: list[dict[str, Any]]) -> None:
        """Gold that is no unit of the corpus."""
        known = {unit["id"] for unit in units}
        self.gold_not_found += [
            f"{one} of question {question['id']}"
            for question in questions
            for one in question["gold"]
            if one not in known
        ]

    def as_json(self) -> dict[str, Any]:
        lost = {name: getattr(self, name) for name in _TOLD}
        return {name: {"count": len(of), "such_as": of[:TOLD]} for name, of in lost.items() if of}


_TOLD = {
    "left_out": "{count} units are nothing that Clew keeps: left out, and never found. {such_as}",
    "merged": "{count} units say what another says, and lose what is theirs of author, thread, time and title: "
    "{such_as}",
    "times_not_read": "{count} units have a time that is not understood, and count as said now: {such_as}",
    "gold_not_found": "{count} units that questions have as gold are not there, and count as misses: {such_as}",
}


def lost(report: Mapping[str, Any]) -> Iterator[str]:
    """What `Losses.as_json` has put into a report, in words."""
    for name, words in _TOLD.items():
        if name in report:
            such_as = "; ".join(report[name]["such_as"])
            more = ", ..." if report[name]["count"] > TOLD else ""
            yield words.format(count=report[name]["count"], such_as=such_as + more)


@contextmanager
def ingested(
    corpus: dict[str, Any], asking: Asking, losses: Losses
) -> Iterator[tuple[Path, clew.Scope, dict[str, list[str]]]]:
    """A store of this corpus alone, the scope it is in, and its units by memory."""
    scope = clew.Scope(project=_NO_NAME.sub(" ", corpus["corpus"])[:PROJECT_CHARS].strip() or "corpus")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        store = Path(folder) / "bench.db"
        with asking.opened(store) as memory:
            units = _ingest(memory, corpus, scope, losses)
            if asking.relate:
                memory.jobs.run()
        yield store, scope, units


def _ingest(memory: clew.Clew, corpus: dict[str, Any], scope: clew.Scope, losses: Losses) -> dict[str, list[str]]:
    """Unit ids by memory id; units that say the same share a memory."""
    kept: list[tuple[str, clew.Draft]] = []
    for unit in corpus["units"]:
        draft = _draft(unit)
        if why := _refused(memory, draft, scope):
            losses.left_out.append(f"unit {unit['id']} of {corpus['corpus']}: {why}")
            continue
        kept.append((unit["id"], draft))
        if draft.at is None and unit.get("at"):
            losses.times_not_read.append(repr(unit["at"]))
    by_memory: dict[str, list[tuple[str, clew.Draft]]] = {}
    remembered = memory.remember_many([draft for _unit, draft in kept], scope=scope)
    for (unit, draft), one in zip(kept, remembered, strict=True):
        sharing = by_memory.setdefault(one.id, [])
        sharing.append((unit, draft))
        if _has_other_labels(draft, than=sharing[0][1]):
            losses.merged.append(f"unit {unit} of {corpus['corpus']} with unit {sharing[0][0]}")
    return {id: [unit for unit, _draft_of_it in sharing] for id, sharing in by_memory.items()}


def _has_other_labels(draft: clew.Draft, *, than: clew.Draft) -> bool:
    names = ("title", "author", "thread", "at")
    return any(getattr(draft, name) not in (None, getattr(than, name)) for name in names)


def _refused(memory: clew.Clew, draft: clew.Draft, scope: clew.Scope) -> str:
    """Why it cannot be kept. Asked before anything is written: there one refusal is that of all."""
    try:
        draft_memory(refuse_reserved(draft), scope, now=memory.now(), policy=memory._policy)
    except InvalidInput as error:
        return error.message
    return ""


def _draft(unit: dict[str, Any]) -> clew.Draft:
    """Labels are cut to what a memory takes."""
    title, author, thread = ((unit.get(name) or "")[:LABEL_CHARS] for name in ("title", "author", "thread"))
    return clew.Draft(
        content=unit["text"].strip() or "(empty)",
        title=title or None,
        author=author or None,
        thread=thread or None,
        at=when(unit.get("at")),
    )
