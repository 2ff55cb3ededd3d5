"""What people and agents say that is worth keeping: tasks, rules, decisions and facts of a user, decisions of an
agent. Pure.

Which sentences of a prompt hold beyond it is told by learnt weights (`lasting.py`), all else by rules of thumb.
They would rather miss something than keep small talk: how often they are wrong is measured by `tools/lasting.py`
on labelled prompts and by `tools/capture_junk.py` on labelled sessions.

Who pastes a ticket does not mean what it says. A prompt that looks as if somebody else's words were in it states
no rule and no decision, and what would be one is not told as part of the task either.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache

from clew.hosts.lasting import ASKS, KINDS, Kind, Weights, evidence, kind_of
from clew.hosts.patterns import PHRASES, phrase, sections
from clew.hosts.strip import own_words, prose
from clew.values import dataclass

MAX_READ = 20_000  # characters of a prompt or message that are looked at
MAX_SPOKEN = 1_500  # characters somebody types; more is a document, and its rules are not those of who pasted it
MAX_TASK = 600
MAX_SENTENCE = 300
MAX_RULES = 8  # statements in one prompt; more in a row is a document
FEW_RULES = 3  # more of them are a list that somebody typed only if they are half of what is said
MIN_ITEM = 8  # characters of what is listed as a rule
MAX_LINES = 10  # of a prompt that somebody typed
MAX_DECISIONS = 3
# What has to speak for it that a sentence lasts; less where it has the form of a rule. `SUSPECT`: that it is not
# passed on where it may be somebody else's. `CERTAIN`: that it is told to every session.
SURE, LIKELY, PLAIN, SUSPECT, CERTAIN = 0.9, 0.4, -1.5, 1.2, 2.5
ENOUGH = 5  # what a task has to say of its own, names counted twice and more
ALONE = 8  # where it does not ask for anything
MASK = "[masked:"

_END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)(?<!\s\?)(?<!\s\?\?)[\"')\]]*\s+(?=\S)|\n+|(?<=[。！？])(?=\S)"
)
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,2}[.)])\s+")
# Emphasis: in pairs, so that `src/**/*.ts` and `**kwargs` stay what they are, and `__init__` is a name.
_BOLD = re.compile(
    r"(?<![\w/*])(?:\*\*(?=[^\s*/])([^\n*]{1,300}?)(?<=\S)\*\*|__(?=[^\s_])([^\n_]{1,300}?)(?<=\S)__)(?![\w/*])"
)
_HEADING = re.compile(r"^#{1,6}\s+")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
# Chinese, Japanese, Thai, Lao and Khmer: no spaces between words, which have some two letters each.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_INTRODUCES = re.compile(r"[:\uff1a][*_\s]*$")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]*)(?:[\"“”»]|$)")
# Types: `string | null` is no pipe.
_TYPE = (
    r"(?:string|number|boolean|null|undefined|None|any|unknown|never|int|str|float|bool|bytes|object"
    r"|Result|Error|Date|Promise|Record|Array|Map|Set|Path)\b(?:\[\])?"
)
_PIPED = re.compile(
    r"https?://|www\.|\w\s*\|\s*\w|\$\(|&&(?! (?:in|or|and|for|between)\b)|;\s*\w+\s+-", re.IGNORECASE
)
_UNION = re.compile(rf"\b{_TYPE}(?:\s*\|\s*{_TYPE})+\b")
_HEADER = re.compile(r"^\s*(?:#{1,6}\s|(?![A-Z]{2,10}-\d+:)[*_]{0,2}[A-Z][\w -]{1,20}:[*_]{0,2}\s+\S)")
_FENCED = re.compile(r"^(?:\s*(?:`{3,}|~{3,}|>|\|)| {4,}\S|\t)")
_TITLE = re.compile(
    r"(?i:hi|hello|dear|hey) (?!(?i:claude|codex|there|again)\b)\w+,|[A-Z]\S*(?: \S+){0,4}(?<![.!?:,;])"
)
# A ticket as its page has it. By itself it is how people name their task: "INV-42: add credit notes".
_TICKET = re.compile(r"(?!ISO|UTF|SHA|RFC|PEP|AES|WCAG)[A-Z]{2,10}-\d+(?:: ?|$| (?=[A-Z]))")
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
    r"ok(?:ay)?|oh|hey|hm+|btw|fyi|also|and|but|so|one more thing|actually|by the way|yes|yep|yeah|exactly"
    r"|(?:wait|again|never ?mind|right|good|great|perfect|nice|cool|sure(?: thing)?|thanks|fair enough"
    r"|note|important|reminder|claude|codex)(?=[,.!;:]| -+ )"
    r"|just so you know|for (?:the record|your information)|heads[ -]?up|first(?: of all|ly)|(?:just )?to be clear"
    r"|(?:quick|small|side|short) (?:note|reminder)|whatever (?:you do|happens)|correction|change of plans?"
    r"|that(?:'s| is) (?:not|no longer) (?:true|right|the case)(?: any ?more)?"
    r"|(?:like |as )?i (?:already )?(?:told you|said)(?: before| already)?(?:,? (?:that|to)\b)?+"
)
_AFTER_IDLE = r"(?:[,:;.!\s]|(?<=\s)-)"  # a hyphen within a word is no pause: "no-verify"
_LEAD = (
    rf"^{_GREETING}(?:(?:{_IDLE}|please|pls|plz|remember|don'?t forget|note|important|reminder|rules?|no)"
    rf"{_AFTER_IDLE}+(?:that |to )?)*"
)
_FILLER = re.compile(
    rf"{_GREETING}(?:(?:(?:{_IDLE}){_AFTER_IDLE}|no(?: wait)?(?:[,:;.!]|\s-)){_AFTER_IDLE}*)*(?=\S)", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:.]\s+|\s(?:and|so|but|then|-+)\s+|\b(?=please\b)", re.IGNORECASE)
_GOES_ON = re.compile(r"\b(?:the same|likewise|as well|too)\b", re.IGNORECASE)  # with the task before
_ABOUT = re.compile(
    r"(.{3,80}?)(?: (?:thing|stuff|part|idea|rule|decision))?(?: (?:now|please|any ?more))?"
    r"(?:$|[,;:.!](?=\s|$)|\s-+\s|\s(?:and|because|since|again)\s)"
)
# A request that is a rule, though it ends in a question mark.
_POLITE = re.compile(
    _LEAD + r"(?:can|could|would|will) (?:you|we) (?:please |also )*(?:always|never|make it a habit)\b[^?]*\?$"
    r"|.*\b(?:from now on|going forward|in (?:the )?future)\b[^?]{0,20}\?$",
    re.IGNORECASE,
)
_BEFORE_ORDER = re.compile(_LEAD + r"(?:(?:can|could|would|will) you (?:please |also )*)?", re.IGNORECASE)
# What it is about stands in another sentence.
_DANGLES = re.compile(
    _LEAD + r"(?:(?:can|could|would|will) you (?:please )?|you (?:must|should) |from now on,? )?"
    r"(?:always|never|(?:do not|don'?t) ever) \w+ "
    r"(?:it|them|this|these|those|that(?=\W*$| (?:again|before|after|when|in|on|way)\b))\b"
    r"|" + _LEAD + r"(?:we|i|you) (?:\w+ ){1,2}(?:it|them|this|these|those|that)\W*$",
    re.IGNORECASE,
)
_WISHED = (
    r"(?:(?:can|could|would|will) you |you (?:can|may|should) |i(?:'d like| want| need) you to |let'?s )?"
    r"(?:please |now |just )*"
)
_PAUSE = r"(?:[,;:]|\s[-–—]+|\.{2,})\s+"
_BREAK = r"(?:[,;]|\s[-–—]+|\.{2,})\s+"  # what follows a colon explains the request before it
_BEFORE_NO = r"^(?:(?:hm+|wait|actually|sorry|please|ok(?:ay)?|but|well|no)[,.!\s]+){0,3}"
_BEFORE_TASK = (
    r"^(?:(?:please|pls|plz|kindly|now|then|also|but|and|so|just|quickly|finally|next|first|afterwards|after that"
    r"|to ?do|step \d+|sorry|oops|go(?: ahead)?(?: and)?|time to|let'?s|you (?:can|should|need to|have to)"
    r"|(?:i|we) (?:want|need|have)(?: you)? to|i'?d like you to)[,:]? )*"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a user said: the task, in their words, and sentences that hold beyond it."""

    task: str = ""
    rules: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()  # of the rules: what somebody wrote down as theirs, whatever words it has
    is_aside: bool = False  # about something of its own, and yet no task: what follows is not for the task before
    is_left_out: bool = False  # something of it, as nobody may keep it: who takes it back means no other
    takes_back: bool = False  # what the prompt before stated
    takes_back_about: str = ""  # what was ever stated about this
    takes_back_all: bool = False  # whatever was ever stated, which nobody does unseen
    overrules: bool = False  # what the agent said last

    @property
    def lasting(self) -> tuple[tuple[str, ...], ...]:
        """What holds beyond it, by kind."""
        return self.rules, self.decisions, self.facts


def understood_prompt(text: str, weights: Weights | None = None) -> Prompt:
    """Empty for small talk, commands of the host, questions and what was pasted."""
    if _COMMAND.match(text.lstrip()):
        return Prompt()
    written = _written(text[:MAX_READ])
    listed = _listed(text[:MAX_READ])
    left_out = _is_left_out(text[:MAX_READ], written)
    parts = [_pieces(one, listed) for one in written]
    about = _taken_back_about(written)
    about = about if about and _is_own(text[:MAX_READ], parts, {}, weights) else ""
    takes_back = phrase("taken back", _LEAD).match(written[0]) if written else None
    overrules = bool(phrase("overruled", _BEFORE_NO).match("\n".join(written[:2])))
    takes_back_all = bool(written and phrase("taken back all", _LEAD + _WISHED).match(written[0]))
    if takes_back:  # what follows is said instead
        instead = written[0][takes_back.end() :].lstrip(" ,;:.!-")
        written = [instead, *written[1:]] if instead else written[1:]
        parts = [_pieces(one, listed) for one in written]
    if not written or _is_small_talk(" ".join(written)) or phrase("not typed").match(written[0]):
        return Prompt(
            is_left_out=left_out,
            takes_back=bool(takes_back),
            takes_back_about=about,
            takes_back_all=takes_back_all,
            overrules=overrules,
        )
    lasting = _lasting(parts, listed, weights)
    parts = [[one for piece in pieces for one in _rule_apart(piece, lasting, weights)] for pieces in parts]
    lasting |= {one: "rule" for pieces in parts for one in pieces[1:] if _is_rule_behind(one, lasting, weights)}
    rest = list(_rest(written, parts, lasting))
    if not _is_own(text[:MAX_READ], parts, lasting, weights):
        lasting, rest = {}, [one for one in written if not _may_be_an_order(one)]
    task = _task(rest)
    rules, decisions, facts = (_kept(parts, listed, lasting, kind) for kind in KINDS)
    own = tuple(one for one in rules if one in listed)
    is_aside = not task and _weight(rest) > 1 and not any(map(_GOES_ON.search, rest))
    return Prompt(
        task, rules, decisions, facts, own, is_aside, left_out, bool(takes_back), about, takes_back_all, overrules
    )


def is_certain(stated: str) -> bool:
    """Whether what was kept of a prompt is told to every session: what has the form of a rule, or ends, replaces or
    forbids something, and what leaves little doubt."""
    is_formed = _is_plain_order(stated) or _ends_or_forbids(stated)
    return evidence([stated], 0) >= (0 if is_formed else CERTAIN)


def own_sentences(text: str) -> list[str]:
    """What of a prompt somebody wrote, in the pieces that are judged by themselves."""
    listed = _listed(text[:MAX_READ])
    return [part for one in _written(text[:MAX_READ]) for part in _pieces(one, listed)]


def _taken_back_about(written: Sequence[str]) -> str:
    """What somebody says does not hold any more: `forget what I said about the pro plan, ...`."""
    found = phrase("taken back about", _LEAD + _WISHED).match(written[0]) if written else None
    is_asked = bool(written) and written[0].endswith("?") and not _ASKS.match(written[0])
    about = _ABOUT.match(written[0][found.end() :].rstrip("?")) if found and not is_asked else None
    return about[1].strip() if about and MASK not in about[1] else ""


def without_orders(text: str) -> str:
    """A prompt as it is, or, where somebody else's words seem to be in it, without what would be a rule, a decision
    or something to run."""
    listed = _listed(text)
    parts = [_pieces(one, listed) for one in _written(text)]
    is_own = _is_own(text, parts, _lasting(parts, listed, None), None)
    if is_own and not any(map(_tells_a_secret, sentences(text))):
        return text
    is_left_out = _tells_a_secret if is_own else _is_no_ones
    lines = ([one for one in sentences(line) if not is_left_out(one)] for line in text.splitlines())
    return "\n".join(" ".join(line) for line in lines)


def decisions_in(message: str) -> tuple[tuple[str, str], ...]:
    """(kind, sentence) of what an agent decided or found out: `decision` or `cause`. At most a few."""
    found: list[tuple[str, str]] = []
    for sentence in sentences(prose(message[:MAX_READ])):
        if not 25 <= len(sentence) <= MAX_SENTENCE or _is_no_statement(sentence) or sentence.endswith(":"):
            continue
        if _is_piped(sentence) or _is_to_the_agent(sentence):  # a command or an address that others may follow
            continue
        if _tells_a_secret(sentence):
            continue
        if phrase("cause").search(sentence):
            found.append(("cause", sentence))
        elif phrase("chose").search(sentence):
            found.append(("decision", sentence))
    return tuple(dict.fromkeys(found))[:MAX_DECISIONS]


def sentences(text: str) -> list[str]:
    """Plain sentences, without bullets and emphasis."""
    text = _BOLD.sub(lambda bold: bold[1] or _named(bold[2]), text)
    parts = (_HEADING.sub("", _BULLET.sub("", part.strip())) for part in _END.split(text))
    return [one for part in parts if (one := " ".join(part.split()))]


def _named(within: str) -> str:
    """What stands between two underscores each: a name keeps them."""
    return within if " " in within else f"__{within}__"


def _lasting(parts: Sequence[Sequence[str]], listed: Sequence[str], weights: Weights | None) -> dict[str, Kind]:
    """The pieces of a prompt that hold beyond it, and what they are."""
    said = [part for one in parts for part in one]
    begins = {one[0] for one in parts}
    found: dict[str, Kind] = {}
    for at, part in enumerate(said):
        if part in listed:
            found[part] = "rule"
        elif _may_last(part) and (
            evidence(said, at, weights) >= (LIKELY if _ends_or_forbids(part) else SURE)
            or _is_said_plainly(part, weights, is_behind=part not in begins)
        ):
            before = said[at - 1] if at and _says_little(part) else ""
            if not before or _is_small_talk(before):
                found[part] = kind_of(said, at, weights)
            elif before in found:
                found[part] = found[before]
    return found


def _rule_apart(piece: str, lasting: Container[str], weights: Weights | None) -> list[str]:
    """What explains a request, and the rule behind it: `a refund is a posting, we never delete postings`. What
    lasts as a whole stays whole."""
    apart = phrase("goes on to rule", _BREAK + "(?=", ")").split(piece, maxsplit=1)
    is_rule = len(apart) == 2 and piece not in lasting and _is_rule_behind(apart[1], lasting, weights)
    return apart if is_rule else [piece]


def _is_rule_behind(piece: str, lasting: Container[str], weights: Weights | None) -> bool:
    begins = phrase("goes on to rule", "^").match(piece)
    said = _FILLER.sub("", piece, count=1)
    return bool(begins) and piece not in lasting and _may_last(piece) and evidence([said], 0, weights) >= SURE


def _is_said_plainly(sentence: str, weights: Weights | None, *, is_behind: bool) -> bool:
    """What has the form of a rule needs less to be one, whatever stands around it; behind a request it needs as
    much as others. `Remember to ...` speaks for it as well."""
    if not _is_plain_order(sentence):
        return False
    order = _BEFORE_ORDER.sub("", sentence).rstrip("?")
    alone = evidence([sentence], 0, weights)
    return alone >= SURE if is_behind else max(alone, evidence([order], 0, weights)) >= PLAIN


def _kept(
    parts: Sequence[Sequence[str]], listed: Container[str], lasting: Mapping[str, Kind], kind: Kind
) -> tuple[str, ...]:
    """Without what leads to it, and together with what says little by itself: `no default exports! named only`."""
    texts: list[str] = []
    before = ""
    for part in dict.fromkeys(part for one in parts for part in one):
        if lasting.get(part) == kind:
            if texts and lasting.get(before) == kind and part not in listed and _says_little(part):
                texts[-1] = f"{texts[-1]} {part}"
            else:
                texts.append(_FILLER.sub("", part, count=1))
        before = part
    return tuple(texts)


def _rest(written: Sequence[str], parts: Sequence[Sequence[str]], lasting: Mapping[str, Kind]) -> Iterator[str]:
    """Sentences without what lasts of them. A fact in a prompt that asks for something tells what it is about."""
    is_asked = any(_asks(piece) for pieces in parts for piece in pieces if piece not in lasting)
    gone = {piece for piece, kind in lasting.items() if kind != "fact" or not is_asked}
    for sentence, pieces in zip(written, parts, strict=True):
        left = [piece for piece in pieces if piece not in gone]
        if left:
            yield sentence if len(left) == len(pieces) else " ".join(left)


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
    if not MIN_ITEM <= len(sentence) <= MAX_SENTENCE or ASKS.search(sentence) or _INTRODUCES.search(sentence):
        return False
    if _tells_a_secret(sentence):
        return False
    is_once = phrase("done in a list").match(sentence) or _is_of_the_moment(sentence)
    return not (is_once or phrase("amiss", r"\b", r"\b").search(sentence))


def _is_of_the_moment(sentence: str) -> bool:
    """Said of now, or of how it went."""
    went = phrase("went", _LEAD).match(sentence)
    return bool(went or phrase("for the moment", r"\b", r"\b").search(sentence))


def _pieces(sentence: str, listed: Container[str]) -> list[str]:
    return [sentence] if sentence in listed else _parted(sentence)


def _parted(sentence: str) -> list[str]:
    """What is asked for and what is stated beside it, apart: `we never seed preview, so fix that script`."""
    if len(sentence) > MAX_SENTENCE or phrase("one piece", _LEAD).match(sentence):
        return [sentence]
    apart = phrase("goes on to ask", _PAUSE + "(?=", ")")
    parts = [sentence]
    if _is_task(sentence):
        parts = phrase("goes on to tell", _BREAK + "(?=", ")").split(sentence, maxsplit=1)
    return [part for one in parts for part in apart.split(one, maxsplit=1)]


def _is_not_meant(sentence: str) -> bool:
    is_played = phrase("pretended", _LEAD).match(sentence) or phrase("for a text", _BEFORE_TASK).match(sentence)
    return bool(
        is_played
        or phrase("played", r"\b").search(sentence)
        or phrase("joked", r"(?<!\w)", r"[\s.!)]*$").search(sentence[-40:])
    )


def _written(text: str) -> list[str]:
    """The sentences that somebody wrote, without what was pasted between them."""
    lines = own_words(text)
    kept = [
        line for line in prose(lines).splitlines() if not (phrase("pasted", r"^\s*").match(line) or _is_blob(line))
    ]
    said = sentences("\n".join(kept))
    return [one for one in said if any(map(str.isalpha, one)) and not _tells_a_secret(one)]


def _is_left_out(text: str, written: Sequence[str]) -> bool:
    """Whether something was said that goes before all else: what unlocks something, or all of it."""
    said = own_words(text)
    return (not written and any(map(str.isalpha, said))) or any(map(_tells_a_secret, sentences(said)))


def _tells_a_secret(sentence: str) -> bool:
    """What a password is, in plain words, where no mask sees it. What else is said of passwords is none."""
    return bool(phrase("tells a secret", r"\b").search(sentence[:MAX_READ]))


def _is_own(text: str, parts: Sequence[Sequence[str]], lasting: Container[str], weights: Weights | None) -> bool:
    """Whether a prompt seems to be in one person's own words, also those that state something. Rather too strict: a
    rule that is missed is said again, one of somebody else would be followed."""
    lines = [line for line in own_words(text).splitlines() if line.strip()]
    said = [part for one in parts for part in one]
    foreign = any(_FENCED.match(line) or phrase("pasted", r"^\s*").match(line) for line in lines)
    if (
        len(lines) > MAX_LINES
        or sum(map(len, said)) > MAX_SPOKEN
        or foreign
        or sum(bool(_HEADER.match(line)) for line in lines) > 1
        or _has_title(text, weights)
        or sum(bool(_INTRODUCES.search(line)) for line in lines) > bool(_listed(text))
        or any(len(quoted[1].split()) > 3 for quoted in _QUOTED.finditer(" ".join(lines)))
        or phrase("quotes", r"\b").search(" ".join(lines))
        or any(map(_is_not_meant, said))
    ):
        return False
    stated = [part for part in said if part in lasting or _may_state(part, weights)]
    return not (
        len(stated) > MAX_RULES
        or FEW_RULES < len(stated) < len(parts) / 2
        or any(_is_piped(one) or _is_to_the_agent(one) for one in stated)
    )


def _has_title(text: str, weights: Weights | None) -> bool:
    """A heading, or a short first line that says nothing by itself, and an empty one below it: of a document, a
    mail, a page."""
    lines = own_words(text).splitlines()
    if any(map(_HEADING.match, map(str.strip, lines))):
        return True
    first = lines[0].strip() if lines else ""
    if (key := _TICKET.match(first)) and (any(map(str.strip, lines[1:])) or not _asks(first[key.end() :])):
        return True
    is_apart = len(lines) > 1 and not lines[1].strip()
    return is_apart and bool(_TITLE.fullmatch(first)) and not _says_something(first, weights)


def _says_something(line: str, weights: Weights | None) -> bool:
    is_list = phrase("own list", _LEAD, r"\s*$").match(line)
    return bool(is_list) or _is_small_talk(line) or _asks(line) or _may_state(line, weights)


def _may_state(sentence: str, weights: Weights | None = None) -> bool:
    """Whether it may be meant to last, whoever said it."""
    if _INTRODUCES.search(sentence):
        return False
    seems_so = evidence([sentence], 0, weights) >= SUSPECT and kind_of([sentence], 0, weights) != "fact"
    return seems_so or bool(phrase("suspect order", _LEAD).match(sentence))


def _is_plain_order(sentence: str) -> bool:
    """Whether it has the form of a rule or a decision: `never ...`, `from now on ...`, `we decided ...`."""
    return bool(phrase("plain order", _LEAD).match(sentence))


def _ends_or_forbids(sentence: str) -> bool:
    """Whether it has the form of a change of mind or of a prohibition: `it's X now, not Y`, `do not use X`."""
    return bool(phrase("ends or forbids", _LEAD).match(sentence))


def _may_be_an_order(sentence: str) -> bool:
    """Of a sentence whose author is not known: whether any part of it states something or says what to run."""
    return bool(_HEADER.match(sentence)) or _orders(sentence)


def _orders(sentence: str) -> bool:
    if _is_piped(sentence) or _is_to_the_agent(sentence):
        return True
    clauses = _CLAUSE.split(sentence)
    return _may_state(sentence) or any(_may_state(one) or phrase("order", _LEAD).match(one) for one in clauses)


def _is_no_ones(sentence: str) -> bool:
    return _orders(sentence) or _tells_a_secret(sentence)


def _is_to_the_agent(sentence: str) -> bool:
    """Whether it speaks of the user: whoever types says `me`."""
    return bool(phrase("to the agent", r"\b").search(sentence))


def _is_piped(sentence: str) -> bool:
    return bool(_PIPED.search(_UNION.sub("", sentence)))


def _is_blob(line: str) -> bool:
    return any(len(word) > 120 for word in line.split()) or len(line) > 2_000


def _may_last(sentence: str) -> bool:
    """No question, nothing to be done once, nothing that introduces what follows, and nothing whose subject stands
    elsewhere or is masked."""
    is_question = ASKS.search(sentence) and not _POLITE.match(sentence)
    return MIN_ITEM <= len(sentence) <= MAX_SENTENCE and not (
        is_question
        or _is_done_once(_FILLER.sub("", sentence, count=1))
        or _is_of_the_moment(sentence)
        or phrase("denied", _BEFORE_NO).match(_FILLER.sub("", sentence, count=1))
        or not _own_words(sentence)
        or MASK in sentence
        or _INTRODUCES.search(sentence)
        or _DANGLES.match(sentence)
    )


def _is_done_once(sentence: str) -> bool:
    """Whoever reads it later would do it again."""
    if phrase("done once", _BEFORE_TASK).match(sentence):
        return not phrase("each time", r"\b", r"\b").search(sentence)
    is_order = phrase("orders", _BEFORE_TASK).match(sentence)
    return bool(is_order) and not phrase("whenever", r"\b", r"\b").search(sentence)


def _is_task(sentence: str) -> bool:
    return bool(phrase("task", _BEFORE_TASK, r"\b").match(sentence) or _ASKS.match(sentence))


def _task(rest: Sequence[str]) -> str:
    """The sentences that are left, if together they say enough to be understood later."""
    told = [one for one in rest if not _is_small_talk(one)]
    if not told or all(_is_question(one) for one in told):
        return ""
    # A mere remark is out of date by the next day. What asks in Chinese is not known; small talk is short there.
    asks = any(map(_asks, told)) or any(map(_UNSPACED.search, told))
    if not asks and phrase("denied", _BEFORE_NO).match(told[0]):  # and tells what is so instead
        return ""
    if _weight(told) < (ENOUGH if asks else ALONE) or not (asks or _tells_more(told)):
        return ""
    text = ""
    for sentence in told:
        if text and len(text) + len(sentence) >= MAX_TASK:
            break
        text = f"{text} {sentence}".strip()
    return text[:MAX_TASK]


def _tells_more(told: Sequence[str]) -> bool:
    """Than how something went: a report, which is a task as well."""
    return not (phrase("chatter", _LEAD).match(told[0]) or all(phrase("remark", _LEAD).match(one) for one in told))


def _asks(sentence: str) -> bool:
    """Whether it asks for something, also in its middle: `it crashes, get it running`."""
    return any(_is_task(clause) for clause in _CLAUSE.split(sentence))


def _is_question(sentence: str) -> bool:
    is_asked = sentence.endswith(("?", "？", "؟")) or bool(_QUESTION.match(sentence))
    return is_asked and not _asks(sentence)


def _weight(told: Sequence[str]) -> int:
    """How much is said that only this prompt says: names count more than words."""
    text = " ".join(told)
    words = {word.lower() for word in _WORD.findall(_UNSPACED.sub(" ", text))} - _words_of("follow-up words")
    unspaced = sum(len(run) // 2 for run in set(_UNSPACED.findall(text)))
    return len(words) + unspaced + 2 * min(3, len(_SPECIFIC.findall(text)))


@cache
def _words_of(section: str) -> frozenset[str]:
    return frozenset(" ".join(sections(PHRASES)[section]).split())


def _own_words(sentence: str) -> set[str]:
    """What a rule is about: not what makes it one."""
    return {word.lower() for word in _WORD.findall(sentence)} - _words_of("words of rules")


def _says_little(sentence: str) -> bool:
    """Behind another one: what it is about may stand there."""
    return len(_own_words(sentence)) < 2 and not _is_plain_order(sentence)


def _is_small_talk(text: str) -> bool:
    return bool(phrase("small talk", "^(?:", r"\b[\s,.!?;:)-]*+)+$").match(text[:300]))


def _is_no_statement(sentence: str) -> bool:
    return "?" in sentence or bool(phrase("no statement", r"\b", r"\b").search(sentence))
