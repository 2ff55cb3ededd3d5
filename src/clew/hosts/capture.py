"""What is kept of what hooks tell, without a model. Pure: `capture_run.py` writes it.

    facts_of(event, around)    one event -> a small JSON object, masked and bounded, or None: what is stored of it
    drafts_of(facts, new=...)  the facts of one host session in order -> memories, each with the event that ended it
    report_of(facts)           the same facts -> what `clew.sessions.end(...)` is told

Facts are reduced when the event comes, so that nothing lies in the store that could not become a memory: no
output of tools but the line that says what went wrong, no prompt but its sentences of substance, no path that
is ignored.

INVARIANT: what an event completes depends on it and on what came before, never on what comes later. So capturing
event by event gives what capturing a whole session gives, and doing it again gives the same texts, which are known
by their hash. What the agent says after it read something from elsewhere (the web, foreign MCP servers) may be the
words of a page: it is kept as untrusted, and never injected. So it is where its beginning is unknown.

A session is longer than what is looked back at. So each fact, once it was captured, carries what was so before it
(`carried_into`): whether anything had been read from elsewhere, and the task. Looking may begin at any of them.

What our rules take for a rule, a decision or a task of the user is a guess about a text that may have been
pasted: it has an agent's trust, so that the tripwire looks at it, and no rule of it leads the blocks until somebody
says so (`clew remember`, `clew edit`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from shlex import quote
from types import MappingProxyType
from typing import Any

from clew.guard.trust import OBSERVED
from clew.hosts import reduce
from clew.hosts.reduce import EDIT, PROMPT, RUN
from clew.hosts.said import is_certain
from clew.hosts.shell import WORTH_KNOWING, programs_in
from clew.model.host import ASKED, STATED, Around, HookEvent
from clew.model.memory import Draft, Memory
from clew.model.session import SessionReport
from clew.model.tool_call import ToolCall
from clew.recall.analyse import hash_term, terms
from clew.recall.common import informativeness
from clew.remember.observe import draft_of_call
from clew.values import dataclass

MENDING = frozenset({"package", "migrate", "build", "deploy", "change"})  # kinds of commands that may be a fix
ACTING = frozenset({"package", "migrate", "deploy"})  # that a no to what was done means as well
RUN_FIELDS = frozenset({"tool", "command", "key", "kind"})
TAKEN_BACK = "taken back"
TAKEN_BACK_ABOUT = "taken back about"
CARRIED = "was"  # what was so before a fact
GUESSED = "agent"  # trust of what we take for the user's words
UNSURE: Mapping[str, Any] = MappingProxyType({"unsure": True})  # of what is told only where it fits
DOCS = (".md", ".mdx", ".markdown", ".rst", ".adoc")
MAX_EDITS = 2  # files named beside a failure that went away
MAX_ABOUT = 3  # files changed in a turn that what is said at its end is about
PATIENCE = 3  # turns after which a failure that nobody fixed is told as it is
MAX_LISTED = 8  # files named in a text
MAX_PATHS = 32
MAX_FAILURES = 20  # that wait for their fix
SAYS_ENOUGH = 1.2  # of what is taken back by its topic: a single word of the language may be about anything
TASK_CHARS = 160  # of a task quoted beside the files it changed
MAX_NAMED = 5  # memories that may be meant by what is to be forgotten
_CLAUSES = re.compile(r"(?:[,;.:]\s+|\s)(?:and|but|while)\s+|[,;.]\s+")
# Of the same: why, since when, for whom, what not.
_GOES_ON = re.compile(
    r"(?:it|its|they|their|this|that|these|those|which|who|where|because|since|as|so|for|with|without|until|except"
    r"|only|not|no|never|instead|if|when|unless|after|before|from|by|on|in|at|to|also|then|even)\b"
    r"|\w+ (?:it|them|that)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"\b(?:never|no|not|cannot|dont|avoid)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """A stored event that says something. `told` is what `facts_of` gave."""

    event_id: str
    at: datetime
    told: Mapping[str, Any]
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """One memory to be, the event that completed it, and whose it is. `kind`: task, rule, decision, edit, command,
    failure, fix, statement; or TAKEN_BACK, of what is not to be one any more; or TAKEN_BACK_ABOUT, which is no
    memory but names what the rule or decision was about."""

    kind: str
    draft: Draft
    event_id: str
    agent_id: str | None = None


def facts_of(event: HookEvent, around: Around) -> Mapping[str, Any] | None:
    """What an event says that may be worth keeping; None for nothing, or where nothing may be kept."""
    is_wanted = around.capture and not around.is_off
    return reduce.reduced(event, around) if is_wanted else None


def drafts_of(facts: Sequence[Fact], *, new: Collection[str] | None = None) -> list[Captured]:
    """The memories that these facts of one host session make, in order; with `new`, only those that an event among
    these ids completed."""
    story = _Story()
    for fact in facts:
        story.take(fact)
    return [one for one in story.captured if new is None or one.event_id in new]


def standing(captured: Sequence[Captured]) -> list[Captured]:
    """What is left of these at the end."""
    back = {id(one.draft) for one in captured if one.kind == TAKEN_BACK}
    return [one for one in captured if id(one.draft) not in back and one.kind != TAKEN_BACK_ABOUT]


def one_about(topic: str, stated: Sequence[Memory], asked: Sequence[Memory] = ()) -> Memory | None:
    """The one that has the words of a topic together and in their order, of what was stated, else of what was
    asked for; of several nobody knows. None of a topic that says too little, no rule or decision that forbids:
    what it guards against would happen unseen, and none that says something else as well: that would go with it."""
    if sum(informativeness(hash_term(term)) for term in set(terms(topic))) < SAYS_ENOUGH:
        return None
    about = _about(topic, [one for one in stated if one.layer != "rule"]) or _about(topic, asked)
    is_sure = len(about) == 1 and not _is_guard(about[0]) and (about[0] in asked or not _says_more(about[0], topic))
    return about[0] if is_sure else None


def those_about(topic: str, stated: Sequence[Memory]) -> list[Memory]:
    """Which may be meant, where none was forgotten: those that have its words, else those with most of them."""
    wanted = set(terms(topic))
    near = [one for one in stated if 2 * len(wanted.intersection(terms(one.content))) > len(wanted)]
    return (_about(topic, stated) or near)[:MAX_NAMED]


def nothing_forgotten(ids: Sequence[str]) -> str:
    """What the agent is told, so that it does not say that it is done. Ids alone: what they say is shown by those
    who may read it."""
    named = ", ".join(ids)
    return (
        "Clew has not forgotten anything: several memories may be meant, or the one that is forbids something or "
        f"says something else as well. Close to it: {named}. `clew show ID` shows one and `clew forget ID` forgets "
        "it. Tell the user so, and do not say that it is forgotten."
    )


ALL_KEPT = (
    "Clew has not forgotten anything: no prompt makes it forget everything. `clew list` shows what there is, "
    "`clew forget ID` forgets one memory and `clew forget --all` all of this project. Tell the user so, and do not "
    "say that it is forgotten."
)


def _says_more(memory: Memory, topic: str) -> bool:
    """Whether another clause than that of the topic states something of its own."""
    clauses = [one for one in _CLAUSES.split(memory.content) if len(set(terms(one))) > 1]
    beside = [one for one in clauses if not _has_phrase(one, topic)]
    return len(clauses) > len(beside) and any(not _GOES_ON.match(one) for one in beside)


def _about(topic: str, said: Sequence[Memory]) -> list[Memory]:
    return [one for one in said if _has_phrase(one.content, topic)]


def _is_guard(memory: Memory) -> bool:
    return memory.type in ("rule", "decision") and bool(_FORBIDS.search(memory.content))


def _words(text: str) -> list[tuple[str, ...]]:
    """The terms of each word: `1.3` is one, so that `1` is not found in it."""
    return [tuple(terms(word)) for word in text.split()]


def _has_phrase(text: str, phrase: str) -> bool:
    """A path has the words of what it is called in any order: the legacy tests are in `tests/legacy`."""
    words, wanted = _words(text), _words(phrase)
    if any(words[at : at + len(wanted)] == wanted for at in range(len(words))):
        return True
    named = {term for word in wanted for term in word}
    return any(named == set(terms(word.replace("/", " "))) for word in text.split() if "/" in word)


def changed_for(task: str) -> str:
    """How what was changed for a task, or for a decision, begins: whatever is taken back is not quoted either."""
    return f'Files changed for "{_quoted(task)}": '


def carried_into(facts: Sequence[Fact]) -> list[dict[str, Any]]:
    """For each of these facts what it has to carry, to be stored with it."""
    story, carried = _Story(), []
    for fact in facts:
        story.restore(fact)
        carried.append(story.carried())
        story.take(fact)
    return carried


def report_of(facts: Sequence[Fact]) -> SessionReport:
    """What a session did, for its summary. The agent's words are left out once it read from elsewhere."""
    story = _Story()
    for fact in facts:
        story.take(fact)
    return SessionReport(
        summary=" ".join([*(f"Asked: {task}" for task in story.tasks[:1]), *story.statements[-3:]]) or None,
        tool_calls=tuple(_call_entry(fact.told) for fact in facts if fact.told.get("k") in (RUN, EDIT)),
        files_modified=tuple(story.changed),
        errors=tuple(_error_entry(fact.told, story) for fact in facts if fact.told.get("failed")),
    )


@dataclass(slots=True)
class _Failure:
    fact: Fact
    turn: int
    edited: dict[str, None] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _OfFiles:
    """What was told of files that were changed, and what tells it of others."""

    note: Captured
    files: tuple[str, ...]
    tell: Callable[[Sequence[str], Fact], None]


@dataclass(slots=True)
class _Story:
    """A session told event by event: what is open, and what became of it."""

    captured: list[Captured] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    claimed: list[Captured] = field(default_factory=list)  # what the next prompt may overrule
    commands: list[tuple[Captured, Mapping[str, Any]]] = field(default_factory=list)  # and of which run, the same
    stated: list[Captured] = field(default_factory=list)  # what the next prompt may take back
    turn: int = 0
    task: str = ""
    edited: dict[str, None] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)  # in the whole session
    loose: set[str] = field(default_factory=set)  # changed since git was last given something
    of_files: list[_OfFiles] = field(default_factory=list)
    told: set[tuple[str, str]] = field(default_factory=set)  # task and file, told already
    failures: dict[str, _Failure] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    is_tainted: bool = True  # until it is known from its beginning
    is_begun: bool = False

    def restore(self, fact: Fact) -> None:
        """At the first fact: what was so before it, if that is known."""
        before = None if self.is_begun else fact.told.get(CARRIED)
        self.is_begun = True
        if isinstance(before, Mapping):
            self.is_tainted, self.task = not before.get("clean"), str(before.get("task", ""))

    def carried(self) -> dict[str, Any]:
        # Of the task as much as `_quoted` needs to say the same of it.
        parts = {"task": self.task[: TASK_CHARS + 1]} if self.task else {}
        before = parts | ({} if self.is_tainted else {"clean": True})
        return {CARRIED: before} if before else {}

    def take(self, fact: Fact) -> None:
        self.restore(fact)
        undoes = self._undo(fact)
        match fact.told.get("k"):
            case "start":
                self._end_turn(fact, is_last=True)
                self.task, self.is_tainted, self.stated, self.claimed, self.commands = "", False, [], [], []
            case "prompt":
                self._end_turn(fact)
                self._prompt(fact)
            case "edit":
                self._edit(fact)
            case "run" if fact.told.keys() >= RUN_FIELDS:
                self._run(fact, undoes=undoes)
            case "elsewhere":
                self.is_tainted = True
            case "say":
                self._say(fact)
            case "end":
                self._end_turn(fact, is_last=True)

    # -- one event ---------------------------------------------------------------------------------

    def _prompt(self, fact: Fact) -> None:
        told = fact.told
        self.is_tainted |= bool(told.get("elsewhere"))
        self._take_back(fact)
        self._overrule(fact)
        if told.get("aside"):
            self.task = ""
        if told.get("decisions"):
            self.task = told["decisions"][0]
        for kind in STATED:
            for text in told.get(f"{kind}s", ()):
                draft = _said_by_user(text, fact, type=kind)
                is_sure = kind == "fact" or text in told.get("certain", ()) or is_certain(text)
                self._keep(kind, draft if is_sure else replace(draft, metadata=UNSURE), fact)
        said = [one for one in self.captured if one.event_id == fact.event_id and one.kind in STATED]
        is_other = told.get("aside") or told.get("left_out")
        self.stated = said or ([] if is_other else self.stated)  # small talk in between changes nothing
        if task := told.get("task", ""):
            self.stated = []  # whoever forgets that means the task
            self.task = task
            self.tasks.append(task)
            # As what happened: a bare "delete the old tables" would be an order to whoever reads it later.
            content = f"{ASKED}{task}"
            self._keep("task", _said_by_user(content, fact, type="note"), fact)

    def _take_back(self, fact: Fact) -> None:
        if fact.told.get("back"):
            quoted = tuple(changed_for(one.draft.content) for one in self.stated)
            made = [one for one in self.captured if one.kind == "edit" and one.draft.content.startswith(quoted)]
            self._withdraw([*self.stated, *made], fact)
            self.task = "" if self.task in {one.draft.content for one in self.stated} else self.task
            self.stated = []
        if about := fact.told.get("back_about"):
            self.task, self.tasks = "", [one for one in self.tasks if not _has_phrase(one, about)]
            draft = Draft(content=about, at=fact.at)
            self.captured.append(Captured(TAKEN_BACK_ABOUT, draft, fact.event_id, fact.agent_id))

    def _overrule(self, fact: Fact) -> None:
        """What the agent concluded or did, and the user says no to, is not told to the next one as if it held."""
        if fact.told.get("overrules"):
            denied = [(note, ran) for note, ran in self.commands if _is_denied(ran, fact.told)]
            self._withdraw([*self.claimed, *(note for note, _ran in denied)], fact)
            self.succeeded -= {ran["key"] for _note, ran in denied}
            claims = {one.draft.content for one in self.claimed}
            self.statements = [one for one in self.statements if one not in claims]
        self.claimed, self.commands = [], []

    def _withdraw(self, notes: Sequence[Captured], fact: Fact) -> None:
        self.captured += [replace(one, kind=TAKEN_BACK, event_id=fact.event_id) for one in notes]
        gone = [one for one in self.of_files if any(one.note is note for note in notes)]
        files = {path for one in gone for path in one.files}
        self.of_files = [one for one in self.of_files if one not in gone]
        self.told = {(task, path) for task, path in self.told if path not in files}  # changed anew, they are told

    def _undo(self, fact: Fact) -> bool:
        """Files that are again as they were, or are gone, were not changed, whatever was told of them. Whether
        there are any: what only takes back what was done mends nothing."""
        put_back, removed = (_listed_in(fact.told, name) for name in ("put_back", "removed"))
        gone = {path for path in self.loose if _is_in(path, put_back)}
        gone |= {path for path in self.changed if _is_in(path, removed)}
        self.loose = set() if fact.told.get("keeps") else self.loose - gone
        for edited in (self.edited, self.changed, *(failure.edited for failure in self.failures.values())):
            for path in gone.intersection(edited):
                del edited[path]
        for one in [one for one in self.of_files if gone.intersection(one.files)]:
            self._withdraw([one.note], fact)
            one.tell([path for path in one.files if path not in gone], fact)
        return bool(gone)

    def _edit(self, fact: Fact) -> None:
        changed = dict.fromkeys(_paths(fact))
        self.edited |= changed
        self.changed |= changed
        self.loose |= changed.keys()
        for failure in self.failures.values():
            failure.edited |= changed

    def _run(self, fact: Fact, *, undoes: bool) -> None:
        told = fact.told
        self.is_tainted |= bool(told.get("elsewhere"))
        if told.get("failed"):
            self._failed(fact)
        elif told.get("ok"):
            self._worked(fact)
        is_mending = told.get("ok") and (told["kind"] in MENDING or told.get("fixes")) and not undoes
        for key, failure in self.failures.items():
            if is_mending and key != told["key"]:
                failure.ran.append(_command(_with(" ".join(told.get("set", ())), told)))

    def _failed(self, fact: Fact) -> None:
        key = fact.told["key"]
        known = self.failures.get(key)
        if known:  # again, perhaps for another reason: the last one counts, what was tried stays
            known.fact = fact
        elif len(self.failures) < MAX_FAILURES:
            self.failures[key] = _Failure(fact, self.turn)

    def _worked(self, fact: Fact) -> None:
        told = fact.told
        failure = self.failures.pop(self._failed_as(told), None)
        if failure and (given := _newly_set(told, failure.fact.told)):
            failure.ran.append(_command(_with(given, told)))
        fix, files = _fix(failure) if failure else ("", ())
        if failure and (fix or files):
            self._tell_fix(failure.fact, fix, files, fact)
        elif told["kind"] in WORTH_KNOWING and told.get("general") and told["key"] not in self.succeeded:
            self._observe("command", fact, at=fact)
            self.commands.append((self.captured[-1], told))
        self.succeeded.add(told["key"])  # told by its fix as well

    def _tell_fix(self, failed: Fact, fix: str, files: Sequence[str], at: Fact) -> None:
        if fix or files:
            self._observe("fix", failed, at=at, fixed_by=fix, files=files)
            self._claim(files, partial(self._tell_fix, failed, fix))

    def _failed_as(self, told: Mapping[str, Any]) -> str:
        """The key of the failure that it mends: its own, or that of the same tests with or without a browser."""
        key: str = told["key"]
        same = [one for one, failed in self.failures.items() if key == failed.fact.told.get("whole")]
        return next((one for one in (key, str(told.get("whole")), *same) if one in self.failures), key)

    def _say(self, fact: Fact) -> None:
        for kind, text in fact.told.get("said", ()):
            if self.is_tainted and kind == "cause":
                continue  # what is so, and why, may be the claim of a page
            if not self.is_tainted:
                self.statements.append(text)
            draft = Draft(
                content=text,
                type="decision" if kind == "decision" else "fact",
                origin="agent_inference",
                trust="untrusted" if self.is_tainted else None,
                paths=_paths(fact) or self._changed(fact),
            )
            self._keep("statement", draft, fact)
            self.claimed.append(self.captured[-1])
        if not fact.agent_id:
            self._end_turn(fact)
            if fact.told.get("asks"):  # a no to what it asks denies nothing of what it says and did
                self.claimed, self.commands = [], []

    def _changed(self, fact: Fact) -> tuple[str, ...]:
        """The files that what the agent says at the end of its turn is about, if they are few: it seldom names
        them, and without them nobody who opens one is told."""
        is_known = not (fact.agent_id or self.is_tainted) and len(self.edited) <= MAX_ABOUT
        return tuple(self.edited) if is_known else ()

    # -- the end of a turn -------------------------------------------------------------------------

    def _end_turn(self, fact: Fact, *, is_last: bool = False) -> None:
        self._tell_edits(fact)
        self.turn += fact.told.get("k") != PROMPT
        for key, failure in list(self.failures.items()):
            if is_last or self.turn - failure.turn >= PATIENCE:
                del self.failures[key]
                if failure.fact.told["kind"] in WORTH_KNOWING and failure.fact.told.get("error"):
                    self._observe("failure", failure.fact, at=fact)

    def _tell_edits(self, fact: Fact) -> None:
        """One memory for what a turn changed; files without a task say nothing."""
        files, self.edited = [path for path in self.edited if (self.task, path) not in self.told], {}
        if self.task:
            self._tell_changed(self.task, files, fact)

    def _tell_changed(self, task: str, files: Sequence[str], fact: Fact) -> None:
        if files:
            self.told |= {(task, path) for path in files}
            content = f"{changed_for(task)}{_listed(files)}."
            self._keep("edit", Draft(content=content, origin=OBSERVED, paths=tuple(files[:MAX_PATHS])), fact)
            self._claim(files, partial(self._tell_changed, task))

    def _claim(self, files: Sequence[str], tell: Callable[[Sequence[str], Fact], None]) -> None:
        """What was told last may be overruled, or tell of files that are brought back."""
        self.claimed.append(self.captured[-1])
        self.of_files.append(_OfFiles(self.captured[-1], tuple(files), tell))

    # -- keeping -----------------------------------------------------------------------------------

    def _observe(
        self, kind: str, fact: Fact, *, at: Fact, fixed_by: str | None = None, files: Sequence[str] = ()
    ) -> None:
        told = fact.told
        call = ToolCall(
            tool=told["tool"],
            command=_command(told),
            exit_status=told.get("status") if told.get("failed") else 0,
            error_line=told.get("error") or ("failed" if told.get("failed") and not told.get("status") else None),
            fixed_by=fixed_by,
            id=told.get("id"),
            at=fact.at,
        )
        draft = draft_of_call(call, edited=files)
        self._keep(kind, replace(draft, paths=tuple(dict.fromkeys([*_paths(fact), *files]))[:MAX_PATHS]), at)

    def _keep(self, kind: str, draft: Draft, fact: Fact) -> None:
        metadata = {**draft.metadata, "captured": kind}
        whole = replace(draft, at=draft.at or fact.at, metadata=metadata)
        self.captured.append(Captured(kind, whole, fact.event_id, fact.agent_id))


def _said_by_user(content: str, fact: Fact, *, type: str) -> Draft:
    return Draft(
        content=content, type=type, layer="long_term", origin="user_prompt", trust=GUESSED, paths=_paths(fact)
    )


def _fix(failure: _Failure) -> tuple[str, tuple[str, ...]]:
    """What was done between a failure and the first time it worked: the commands, and the files that were edited
    last. Of many nobody knows which it was."""
    commands = list(dict.fromkeys(failure.ran))[-2:]
    told = failure.fact.told
    about = f"{told['command']} {told.get('error', '')}"
    files = [path for path in failure.edited if not _is_doc(path) or path.rpartition("/")[2] in about]
    return ", ".join(commands), tuple(files[-MAX_EDITS:])


def _is_denied(ran: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """A no says nothing of tests and builds that ran, unless it names what they were run with."""
    stated = [told.get("task", ""), *(text for kind in STATED for text in told.get(f"{kind}s", ()))]
    said = {word.strip("`'\"") for text in stated for word in re.split(r"[\s,;:.!?]+", text.lower())}
    return ran["kind"] in ACTING or not said.isdisjoint(programs_in(ran["command"]))


def _newly_set(told: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """The variables with which a command worked that failed without them."""
    return " ".join(one for one in told.get("set", ()) if one not in before.get("set", ()))


def _with(given: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
    """A command with the variables that are set for it."""
    return {**told, "command": f"{given} {told['command']}".lstrip()}


def _command(told: Mapping[str, Any]) -> str:
    """As it can be run again, from the root of the repository."""
    folder, command = told.get("folder"), str(told["command"])
    return f"cd {quote(folder)} && {command}" if isinstance(folder, str) else command


def _is_doc(path: str) -> bool:
    return path.endswith(DOCS) or path.startswith(("docs/", "doc/"))


def _listed(files: Sequence[str]) -> str:
    more = len(files) - MAX_LISTED
    return ", ".join(files[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def _quoted(text: str) -> str:
    """One line that cannot end the quotes around it, cut between words."""
    line = text.replace('"', "'")
    return line if len(line) <= TASK_CHARS else line[:TASK_CHARS].rpartition(" ")[0] + " ..."


def _paths(fact: Fact) -> tuple[str, ...]:
    return _listed_in(fact.told, "paths")[:MAX_PATHS]


def _listed_in(told: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(path for path in told.get(name, ()) if isinstance(path, str))


def _is_in(path: str, places: Sequence[str]) -> bool:
    return any(place in (path, ".") or path.startswith(f"{place}/") for place in places)


def _call_entry(told: Mapping[str, Any]) -> Mapping[str, Any]:
    paths = told.get("paths") or ()
    entry: dict[str, Any] = {"tool": told.get("tool", ""), "success": not told.get("failed")}
    return entry | ({"file": paths[0]} if paths else {})


def _error_entry(told: Mapping[str, Any], story: _Story) -> Mapping[str, Any]:
    message, tool = told.get("error") or "failed", told.get("tool", "")
    return {"message": message, "tool": tool, "recoverable": told.get("key") in story.succeeded}
