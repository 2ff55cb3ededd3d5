"""Silent unless sure: which of the memories found for a tool call are certainly about it. Pure.

A relevance above the floor is not enough in the middle of an agent's work: a stray hint costs more than a missing
one. So a memory must also
- found by the path: be about this file (its paths say so, or, when it has none, its text names the file or uses
  every word of the file's name). One that lists other files is about those; a folder has no such name;
- found by the text: stand out from what the same question finds anyway, and share words with it: two; or, if it
  stands out by more, a single one that is a name and no word of the language, or the only subject of what a
  person asks. A shell command always needs two,
  and an error as much as two names say, or half of a short one: every second one has `error`, `not found` or
  `run ... first` in it. That a command works is no news to whoever runs one, nor that it failed once: only how the
  very same was mended, and what shares words with it besides the command that failed;
- found by the program of a command: be a rule that names it, and speaks against it or shares another word with the
  command, or a decision that speaks against it; found by what a command adds: be a rule about adding such things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from clew.guard.trust import is_told_unasked
from clew.inject.asking import ADDING, FRAME, PATH, PROGRAM, Question
from clew.inject.boost import is_about_path, paths_of
from clew.model.inject import Observation
from clew.recall.analyse import hash_term, terms
from clew.recall.common import informativeness

READ_CHARS = 2_000  # of a memory, when its words are compared
CANDIDATES = 20  # asked of the store per question
ERROR_SAYS = 2.0  # how much the words that an error shares with a memory must say; a name says 1
ONE_WORD = 0.1  # by so much more a memory must stand out that shares a single word
ONE_SUBJECT = 0.12  # the same where a person asks about this word alone, which may be one of the language
SUBJECT_SAYS, SUBJECT_SHARE = 0.75, 0.6  # how much it must say, and of what the question says in all
RULE, DECISION = "rule", "decision"
OF_COMMANDS = ("command", "failure", "fix")  # captured of a command that ran
_COMMAND = re.compile(r"Command `(?:cd (?P<folder>[^`\s]+) && )?(?P<command>[^`]+)`")  # by `remember/observe.py`
OF_RULES = (PROGRAM, ADDING)  # only rules answer these, and decisions against a program
_AGAINST = (  # and up to two words between that and what it speaks against
    r"(?:\b(?:never|not|no|avoid|over|instead of|rather than|stop"
    r"|(?:moved?|switch(?:ed)?|migrated?)(?: away)? from)|n['\u2019]t)"
    r"(?: (?:ever|use|using|run|running|call|calling|plain|bare|the|with)){0,2} ['\"`]?"
)


def is_sure(
    candidate: Observation, question: Question, *, path: str | None, background: float, floor: float
) -> bool:
    if question.kind == PATH:
        return path is not None and _is_about(candidate, path, question)
    if question.kind in OF_RULES:
        is_rule, is_decision = (candidate.memory.type == kind for kind in (RULE, DECISION))
        return (is_rule and _is_rule_about(candidate, question)) or (
            is_decision and _is_against(candidate, question)
        )
    if question.is_command and not _is_news(candidate, question):
        return False
    above = candidate.relevance - background - floor
    return above >= 0 and _shares_words(candidate, question, above=above)


def background_of(found: Sequence[Observation]) -> float:
    """What a question finds anyway: the last of as many as were asked for, of what may be told."""
    best = sorted(
        (one.relevance for one in found if not one.withheld and is_told_unasked(one.memory)), reverse=True
    )
    return best[CANDIDATES - 1] if len(best) >= CANDIDATES else 0.0


def _is_about(candidate: Observation, path: str, question: Question) -> bool:
    if is_about_path(candidate.memory, path):
        return True
    return not paths_of(candidate.memory) and bool(question.words) and question.words <= _words(candidate)


def _is_news(candidate: Observation, question: Question) -> bool:
    """To whoever runs a command: most that failed once works today."""
    captured = str(candidate.memory.metadata.get("captured", ""))
    if captured not in OF_COMMANDS:
        return True
    found = _COMMAND.match(candidate.memory.content)
    if captured == "command" or found is None:
        return False
    if question.runs == found["command"] and _is_there(question.folder, found["folder"] or ""):
        return captured == "fix"
    own = frozenset(terms(found[0]))
    return len((question.words & _words(candidate)) - own) >= 2


def _is_there(goes_to: str, folder: str) -> bool:
    """Whether a command line goes where the other was run, as far as it tells: nobody says where it begins."""
    if goes_to.startswith(("/", "~")) and not folder:
        return True
    return not goes_to or f"/{goes_to}".endswith(f"/{folder}")


def _is_rule_about(candidate: Observation, question: Question) -> bool:
    words, named = _words(candidate), frozenset(terms(question.text))
    if question.kind == ADDING:
        return bool(words & named and words & question.words)
    if not named or not named <= words:
        return False
    return _is_against(candidate, question) or bool(question.words & words - named)


def _is_against(candidate: Observation, question: Question) -> bool:
    """It speaks against the program that a command runs."""
    content = candidate.memory.content[:READ_CHARS]
    against = rf"{_AGAINST}{re.escape(question.text)}(?![\w-])"
    return question.kind == PROGRAM and re.search(against, content, re.IGNORECASE) is not None


def _shares_words(candidate: Observation, question: Question, *, above: float) -> bool:
    shared = question.words & _words(candidate)
    if question.is_error and _says(shared) < min(ERROR_SAYS, _says(question.words) / 2):
        return False
    if question.is_command or len(shared) != 1:
        return len(shared) >= 2
    if above >= ONE_WORD and _says(shared) >= 1:
        return True
    return question.is_asked and above >= ONE_SUBJECT and _is_subject(shared, question)


def _is_subject(shared: frozenset[str], question: Question) -> bool:
    """Whether the question is about nothing but this word: "what did we say about rounding again?", and not
    "should the button have round corners?"."""
    subject = question.words - FRAME
    return SUBJECT_SAYS <= _says(shared & subject) >= SUBJECT_SHARE * _says(subject)


def _says(words: Iterable[str]) -> float:
    return sum(informativeness(hash_term(word)) for word in words)


def _words(candidate: Observation) -> frozenset[str]:
    memory = candidate.memory
    parts = (memory.title or "", memory.content[:READ_CHARS], *memory.tags, *paths_of(memory))
    return frozenset(terms("\n".join(parts)))
