"""What people and agents say that is worth keeping: tasks, rules and decisions of a user, decisions of an agent.
Pure.

Rules of thumb over sentences, no model. They would rather miss something than keep small talk: how often they
are wrong is measured by `tools/capture_junk.py` on labelled sessions.

Who pastes a ticket does not mean what it says. A prompt that looks as if somebody else's words were in it states
no rule and no decision, and what would be one is not told as part of the task either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from clew.hosts.patterns import PHRASES, phrase, sections
from clew.hosts.strip import own_words, prose
from clew.values import dataclass

MAX_READ = 20_000  # characters of a prompt or message that are looked at
MAX_SPOKEN = 1_500  # characters somebody types; more is a document, and its rules are not those of who pasted it
MAX_TASK = 600
MAX_SENTENCE = 300
MAX_RULES = 8  # rules and decisions in one prompt; more in a row is a document
FEW_RULES = 3  # more of them are a list that somebody typed only if they are half of what is said
MIN_ITEM = 8  # characters of what is listed as a rule
MAX_LINES = 10  # of a prompt that somebody typed
MAX_DECISIONS = 3
ENOUGH = 5  # what a task has to say of its own, names counted twice and more
ALONE = 8  # where it does not ask for anything
MASK = "[masked:"

_END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)[\"')\]]*\s+(?=\S)|\n+|(?<=[。！？])(?=\S)"
)
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,2}[.)])\s+")
_MARKS = re.compile(r"\*\*|__|^#{1,6}\s+")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
# Chinese, Japanese, Thai, Lao and Khmer: no spaces between words, which have some two letters each.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_INTRODUCES = re.compile(r"[:\uff1a][*_\s]*$")
_QUOTED = re.compile(r"[\"“”„«»](?:[^\s\"“”„«»]+\s+){3}")
_PIPED = re.compile(r"https?://|www\.|\w\s*\|\s*\w|\$\(|&&|;\s*\w+\s+-", re.IGNORECASE)
_HEADER = re.compile(r"^\s*(?:#{1,6}\s|[*_]{0,2}[A-Z][\w -]{1,20}:[*_]{0,2}\s+\S)")
_FENCED = re.compile(r"^(?:\s*(?:`{3,}|~{3,}|>|\|)| {4,}\S|\t)")
_COMMAND = re.compile(r"^[/!][\w:-]+(?:\s|$)")

_SPECIFIC = re.compile(
    r"`[^`]+`|\"[^\"]{3,}\"|\w+[/._]\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}[-_]?\d*\b|#\d+"
    r"|\b\d+(?:ms|s|kb|mb|px|%)\b"
)
_ASKS = re.compile(
    r"^(?:please\s+)?(?:can|could|would|will) (?:you|we)\b"
    r"|^(?:please|let'?s|how about|i (?:want|need|would like)|i'd like)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:(?:so|and|but|hm+|ok|wait),?\s+)*(?:what'?s?|why|how'?s?|where|which|who|when|is|are|was|were|does|do|did|has|have"
    r"|had|should|shall|am|any idea|anything)\b",
    re.IGNORECASE,
)
# What may stand before a rule or a decision and says nothing: a rule is read by whoever was not there.
_GREETING = r"(?:(?:hi|hello|hey)(?: (?:there|all|again|team|folks|everyone|guys|buddy|claude|codex))?[,.!]\s*)?"
_IDLE = (
    r"ok(?:ay)?|oh|hey|hm+|wait|btw|fyi|also|and|but|so|again|never ?mind|one more thing|actually|by the way"
    r"|yes|yep|yeah|exactly|right|good|great|perfect|nice|cool|sure|thanks|fair enough"
    r"|just so you know|for (?:the record|your information)|heads[ -]?up|first(?: of all|ly)|(?:just )?to be clear"
    r"|(?:quick|small|side|short) (?:note|reminder)|whatever (?:you do|happens)|correction|change of plans?"
    r"|that(?:'s| is) (?:not|no longer) (?:true|right|the case)(?: any ?more)?"
    r"|(?:like |as )?i (?:already )?(?:told you|said)(?: before| already)?(?:,? (?:that|to)\b)?+"
)
_LEAD = (
    rf"^{_GREETING}(?:(?:{_IDLE}|please|pls|plz|remember|don'?t forget|note|important|reminder|rules?|no)"
    r"[,:;.!\s-]+(?:that |to )?)*"
)
_FILLER = re.compile(
    rf"{_GREETING}(?:(?:(?:{_IDLE})[,:;.!\s-]|no(?: wait)?[,:;.!-])[,:;.!\s-]*)*(?=\S)", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:.]\s+|\s(?:and|so|but|then|-+)\s+|\b(?=please\b)", re.IGNORECASE)
# A statement that goes on to ask for something is its reason. Not `use`, `run` or `create`: rules go on like that.
_DECLARED = re.compile(r"(?:we|our|the|this|in this|in our|i|they)\b", re.IGNORECASE)
_THEN = re.compile(r"[,;:.]\s+|\b(?=please\b)")
_WANTED = re.compile(
    r"(?:please |and |so |then ){0,3}(?:add|check|debug|figure out|find|fix|implement|investigate|look|migrate"
    r"|profile|refactor|remove|rename|reproduce|update)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\b(?:the same|likewise|as well|too)\b", re.IGNORECASE)  # with the task before
_FORBIDS = re.compile(r"please (?:do not|don'?t|no|avoid)\b", re.IGNORECASE)  # asks for nothing
_ABOUT = re.compile(
    r"(.{3,80}?)(?: (?:thing|stuff|part|idea|rule|decision))?"
    r"(?:$|[,;:.!](?=\s|$)|\s-+\s|\s(?:and|because|since|again)\s)"
)
# A request that is a rule, though it ends in a question mark.
_POLITE = re.compile(
    _LEAD + r"(?:can|could|would|will) you (?:please |also )*(?:always|never)\b[^?]*\?$", re.IGNORECASE
)
# A rule at the end of a task. Only what is done to a repository: `and never return null` is part of the task.
_BESIDE = re.compile(
    r"(?:[,;]\s+(?:(?:and|but|also|please) ){0,3}|\s(?:and|but) please )"
    r"(?=always (?:use|run|ask|squash|rebase|test|commit|push|bump)\b"
    r"|never (?:use|add|mock|commit|push|merge|deploy|touch|edit|install|import|hard-?code|force|skip|rebase)\b)",
    re.IGNORECASE,
)
# What it is about stands in another sentence.
_DANGLES = re.compile(
    _LEAD + r"(?:(?:can|could|would|will) you (?:please )?|you (?:must|should) |from now on,? )?"
    r"(?:always|never|(?:do not|don'?t) ever) \w+ "
    r"(?:it|them|this|these|those|that(?=\W*$| (?:again|before|after|when|in|on|way)\b))\b",
    re.IGNORECASE,
)
_LASTS = re.compile(r"\b(?:always|never|ever|must|from now on|going forward|any ?more|no longer)\b", re.IGNORECASE)
_SETTLED = re.compile(r"\b(?:decided|agreed|chose|chosen|settled|decision)\b", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|due to)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|unless|otherwise)\b", re.IGNORECASE)
_NAME = re.compile(r"\s[A-Z]\w+")
_BEFORE_NO = r"^(?:(?:hm+|wait|actually|sorry|please|ok(?:ay)?|but|well|no)[,.!\s]+){0,3}"
_BEFORE_TASK = r"^(?:please |now |then |also |but |and |so |next,? |first,? )*"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a user said: the task, in their words, and sentences that hold beyond it."""

    task: str = ""
    rules: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    is_aside: bool = False  # about something of its own, and yet no task: what follows is not for the task before
    takes_back: bool = False  # what the prompt before stated
    takes_back_about: str = ""  # what was ever stated about this
    overrules: bool = False  # what the agent said last


def understood_prompt(text: str) -> Prompt:
    """Empty for small talk, commands of the host, questions and what was pasted."""
    if _COMMAND.match(text.lstrip()):
        return Prompt()
    written = _written(text[:MAX_READ])
    about = _taken_back_about(written) if _is_own(text[:MAX_READ], written, ()) else ""
    takes_back = phrase("taken back", _LEAD).match(written[0]) if written else None
    overrules = bool(phrase("overruled", _BEFORE_NO).match("\n".join(written[:2])))
    if takes_back:  # what follows is said instead
        instead = written[0][takes_back.end() :].lstrip(" ,;:.!-")
        written = [instead, *written[1:]] if instead else written[1:]
    if not written or _is_small_talk(" ".join(written)) or phrase("not typed").match(written[0]):
        return Prompt(takes_back=bool(takes_back), takes_back_about=about, overrules=overrules)
    written = [part for one in written for part in _parted(one)]
    rules, decisions = _stated(written, _listed(text[:MAX_READ]))
    rest = [one for one in written if one not in rules and one not in decisions]
    if not any(_is_task(one) and not _FORBIDS.match(one) for one in rest):
        weak = tuple(one for one in rest if _is_weak_rule(one))
        rules, rest = rules + weak, [one for one in rest if one not in weak]
    if not _is_own(text[:MAX_READ], written, [*rules, *decisions]):
        rules, decisions = (), ()
        rest = [one for one in rest if not _may_be_an_order(one)]
    task = _task(rest)
    kept_rules, kept_decisions = (
        tuple(_FILLER.sub("", one, count=1) for one in said if MASK not in one) for said in (rules, decisions)
    )
    is_aside = not task and _weight(rest) > 1 and not any(map(_GOES_ON.search, rest))
    return Prompt(task, kept_rules, kept_decisions, is_aside, bool(takes_back), about, overrules)


def _taken_back_about(written: Sequence[str]) -> str:
    """What somebody says does not hold any more: `forget what I said about the pro plan, ...`."""
    found = phrase("taken back about", _LEAD).match(written[0]) if written else None
    about = _ABOUT.match(written[0][found.end() :]) if found and not written[0].endswith("?") else None
    return about[1].strip() if about and MASK not in about[1] else ""


def without_orders(text: str) -> str:
    """A prompt as it is, or, where somebody else's words seem to be in it, without what would be a rule, a decision
    or something to run."""
    written = _written(text)
    rules, decisions = _stated(written, _listed(text))
    if _is_own(text, written, [*rules, *decisions]):
        return text
    lines = ([one for one in sentences(line) if not _orders(one)] for line in text.splitlines())
    return "\n".join(" ".join(line) for line in lines)


def decisions_in(message: str) -> tuple[tuple[str, str], ...]:
    """(kind, sentence) of what an agent decided or found out: `decision` or `cause`. At most a few."""
    found: list[tuple[str, str]] = []
    for sentence in sentences(prose(message[:MAX_READ])):
        if not 25 <= len(sentence) <= MAX_SENTENCE or _is_no_statement(sentence) or sentence.endswith(":"):
            continue
        if _PIPED.search(sentence) or _is_to_the_agent(sentence):  # a command or an address that others may follow
            continue
        if phrase("cause").search(sentence):
            found.append(("cause", sentence))
        elif phrase("chose").search(sentence):
            found.append(("decision", sentence))
    return tuple(dict.fromkeys(found))[:MAX_DECISIONS]


def sentences(text: str) -> list[str]:
    """Plain sentences, without bullets and emphasis."""
    parts = (_MARKS.sub("", _BULLET.sub("", part.strip())) for part in _END.split(text))
    return [one for part in parts if (one := " ".join(part.split()))]


def _stated(written: Sequence[str], listed: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rules and decisions."""
    rules = tuple(one for one in written if one in listed or _is_rule(one))
    return rules, tuple(one for one in written if one not in rules and _is_decision(one))


def _listed(text: str) -> tuple[str, ...]:
    """What somebody lists as rules: `Our conventions:`, and items below it to the end. Below a task they are part
    of it, and what is to be done once is none."""
    lines = [line.strip() for line in own_words(text).splitlines() if line.strip()]
    at = next((at for at, line in enumerate(lines) if phrase("own list", _LEAD, r"\s*:$").match(line)), None)
    if (
        at is None
        or len(lines) > MAX_LINES
        or any(map(_asks, lines[:at]))
        or not all(map(_BULLET.match, lines[at + 1 :]))
    ):
        return ()
    items = (sentences(_BULLET.sub("", line))[:1] for line in lines[at + 1 :])
    return tuple(one for item in items for one in item if _is_item(one))


def _is_item(sentence: str) -> bool:
    if not MIN_ITEM <= len(sentence) <= MAX_SENTENCE or not _may_state(sentence):
        return False
    return not (
        phrase("done once", "^", r"\b").match(sentence) or phrase("complaint", r"\b", r"\b").search(sentence)
    )


def _parted(sentence: str) -> list[str]:
    """A task and the rule at its end, apart."""
    beside = _BESIDE.search(sentence[:MAX_SENTENCE]) if _is_task(sentence) else None
    return [sentence[: beside.start()], sentence[beside.end() :]] if beside else [sentence]


def _is_not_meant(sentence: str) -> bool:
    is_played = phrase("pretended", _LEAD).match(sentence)
    return bool(is_played or phrase("joked", r"(?<!\w)", r"[\s.!)]*$").search(sentence[-40:]))


def _written(text: str) -> list[str]:
    """The sentences that somebody wrote, without what was pasted between them."""
    lines = own_words(text)
    kept = [
        line for line in prose(lines).splitlines() if not (phrase("pasted", r"^\s*").match(line) or _is_blob(line))
    ]
    return [one for one in sentences("\n".join(kept)) if any(map(str.isalpha, one))]


def _is_own(text: str, written: Sequence[str], stated: Sequence[str]) -> bool:
    """Whether a prompt seems to be in one person's own words, also those that state something. Rather too strict: a
    rule that is missed is said again, one of somebody else would be followed."""
    lines = [line for line in own_words(text).splitlines() if line.strip()]
    foreign = sum(bool(_FENCED.match(line) or phrase("pasted", r"^\s*").match(line)) for line in lines)
    return not (
        len(stated) > MAX_RULES
        or FEW_RULES < len(stated) < len(written) / 2
        or len(lines) > MAX_LINES
        or sum(map(len, written)) > MAX_SPOKEN
        or foreign
        or sum(bool(_HEADER.match(line)) for line in lines) > 1
        or any(line.lstrip().startswith("# ") for line in lines)
        or sum(bool(_INTRODUCES.search(line)) for line in lines) > bool(_listed(text))
        or _QUOTED.search(" ".join(lines))
        or phrase("quotes", r"\b").search(" ".join(lines))
        or any(map(_is_not_meant, written))
        or any(_PIPED.search(one) or _is_to_the_agent(one) for one in stated)
    )


def _may_be_an_order(sentence: str) -> bool:
    """Of a sentence whose author is not known: whether any part of it states something or says what to run."""
    return bool(_HEADER.match(sentence)) or _orders(sentence)


def _orders(sentence: str) -> bool:
    if _PIPED.search(sentence) or _is_to_the_agent(sentence):
        return True
    clauses = _CLAUSE.split(sentence)
    return any(phrase(kind, _LEAD).match(clause) for kind in ("rule", "decision", "order") for clause in clauses)


def _is_to_the_agent(sentence: str) -> bool:
    """Whether it speaks of the user: whoever types says `me`."""
    return bool(phrase("to the agent", r"\b").search(sentence))


def _is_blob(line: str) -> bool:
    return any(len(word) > 120 for word in line.split()) or len(line) > 2_000


def _is_rule(sentence: str) -> bool:
    if not 12 <= len(sentence) <= MAX_SENTENCE or not _may_state(sentence) or _DANGLES.match(sentence):
        return False
    return bool(phrase("rule", _LEAD).match(sentence)) and len(sentence.split()) > 2


def _is_weak_rule(sentence: str) -> bool:
    """What is a rule only where nothing else is asked for."""
    if len(sentence) > MAX_SENTENCE or not _may_state(sentence):
        return False
    return bool(phrase("rule alone", _LEAD).match(sentence)) or _is_told(sentence)


def _is_told(sentence: str) -> bool:
    """Whether it says where something is or how it is kept, and not to have it changed."""
    is_amiss = _asks(sentence) or phrase("amiss", r"\b", r"\b").search(sentence)
    return not is_amiss and bool(phrase("told", _LEAD).match(sentence))


def _is_decision(sentence: str) -> bool:
    if not 15 <= len(sentence) <= MAX_SENTENCE or not _may_state(sentence):
        return False
    is_settled = _SETTLED.search(sentence) or not _CONDITION.search(sentence)
    says_enough = _weight([sentence]) >= 2 or _NAME.search(sentence)
    return bool(phrase("decision", _LEAD).match(sentence) and is_settled and says_enough)


def _may_state(sentence: str) -> bool:
    """Whether it may hold beyond its task: no question, not for once, not what is to be mended, no guess."""
    is_question = "?" in sentence and not _POLITE.match(sentence)
    if is_question or _INTRODUCES.search(sentence) or _is_for_once(sentence) or _wants(sentence):
        return False
    if _LASTS.search(sentence) or _SETTLED.search(sentence):
        return True
    said = _REASON.split(sentence, maxsplit=1)[0]
    is_complaint = _DECLARED.match(said) and phrase("complaint", r"\b", r"\b").search(said)
    is_guess = phrase("unsettled", r"\b", r"\b").search(sentence)
    return not (is_complaint or is_guess or phrase("one place", _LEAD).match(sentence))


def _wants(sentence: str) -> bool:
    """Whether it says how something is and then what to do about it: `we only see it on prod, check the proxy`."""
    first, *rest = _THEN.split(sentence)
    return bool(_DECLARED.match(first)) and any(_WANTED.match(clause) for clause in rest)


def _is_task(sentence: str) -> bool:
    return bool(phrase("task", _BEFORE_TASK, r"\b").match(sentence) or _ASKS.match(sentence))


def _task(rest: Sequence[str]) -> str:
    """The sentences that are left, if together they say enough to be understood later."""
    told = [one for one in rest if not _is_small_talk(one)]
    if not told or all(_is_question(one) for one in told):
        return ""
    # A mere remark is out of date by the next day. What asks in Chinese is not known; small talk is short there.
    asks = any(map(_asks, told)) or any(map(_UNSPACED.search, told))
    if _weight(told) < (ENOUGH if asks else ALONE) or not (asks or _tells_more(told)):
        return ""
    text = ""
    for sentence in told:
        if text and len(text) + len(sentence) >= MAX_TASK:
            break
        text = f"{text} {sentence}".strip()
    return text[:MAX_TASK]


def _tells_more(told: Sequence[str]) -> bool:
    """Than how something went, or where it is: a report, which is a task as well."""
    return not all(phrase("remark", _LEAD).match(one) or _is_told(one) for one in told)


def _asks(sentence: str) -> bool:
    """Whether it asks for something, also in its middle: `it crashes, get it running`."""
    return any(_is_task(clause) for clause in _CLAUSE.split(sentence))


def _is_question(sentence: str) -> bool:
    is_asked = sentence.endswith(("?", "？", "؟")) or bool(_QUESTION.match(sentence))
    return is_asked and not _asks(sentence)


def _weight(told: Sequence[str]) -> int:
    """How much is said that only this prompt says: names count more than words."""
    text = " ".join(told)
    words = {word.lower() for word in _WORD.findall(_UNSPACED.sub(" ", text))} - _follow_up_words()
    unspaced = sum(len(run) // 2 for run in set(_UNSPACED.findall(text)))
    return len(words) + unspaced + 2 * min(3, len(_SPECIFIC.findall(text)))


@cache
def _follow_up_words() -> frozenset[str]:
    """On their own they say nothing that somebody else could use later."""
    return frozenset(" ".join(sections(PHRASES)["follow-up words"]).split())


def _is_small_talk(text: str) -> bool:
    return bool(phrase("small talk", "^(?:", r"\b[\s,.!?;:)-]*+)+$").match(text[:300]))


def _is_for_once(sentence: str) -> bool:
    return bool(phrase("for once", r"\b", r"\b").search(sentence))


def _is_no_statement(sentence: str) -> bool:
    return "?" in sentence or bool(phrase("no statement", r"\b", r"\b").search(sentence))
