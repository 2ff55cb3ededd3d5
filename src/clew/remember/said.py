"""Whether a sentence states what it says, as far as rules can tell. Pure.

In: a sentence in which each thing is one character. Out: whether it states anything, whether what one word of it
says is denied or taken back, and from where on all is supposed, hoped for or heard.
"""

from __future__ import annotations

import re

from clew.remember.phrases import MARKS, NEGATIONS, Sentence, clause_of

# Before a cue they deny or ask, up to where `_DENIED_FROM` has it; suppositions reach to the end of the sentence.
_CONTRACTED = "do does did is are was were wo ca could should would has have had must need".split()
_DENIALS = NEGATIONS.union(
    "why how what who where avoid avoids stop stopped except excluding besides unlike ruled revert reverts "
    "reverted undo undoes undid".split(),
    [f"{verb}n{mark}t" for verb in _CONTRACTED for mark in "'’"],
)
_DENIED_FROM = frozenset("but while whereas so because then since".split())  # not "that": no proof that it does
# Said behind it, or around it: "depends on Redis no longer", "the claim that A uses B is false".
_TAKEN_BACK = re.compile(
    r"(?:[^\s,;]+ ){1,8}?no (?:longer|more)(?=$|[,;])"
    r"|.*, (?:which|that) is (?:(?:no longer|not) (?:true|so|the case)|untrue)(?!\w)"
    r"|.* (?:-|–|—|->|→) (?:not any ?more|no longer(?: true)?|not true|removed|reverted|outdated|obsolete)"
    r"(?=$|,| (?:since|in|as of) )"
    r"|.*, (?:but )?(?:now|today|nowadays),? (?:it|they) (?:(?:does|do|is|are) not|(?:does|do|is|are)n['’]t)(?!\w)"
)
_CALLED_FALSE = re.compile(
    r"(?:that|the (?:statement|claim|assumption|idea|belief|rumou?r|theory))(?!\w).* (?:is|was) "
    r"(?:false|untrue|wrong|incorrect|not true|a myth)$"
)
_MARKED_FALSE = re.compile(
    r"[(\[](?:now )?(?:false|untrue|wrong|incorrect|not true|no longer true|outdated|obsolete|removed|reverted"
    r"|rejected|planned|proposed|todo|tbd|wip|not (?:yet|any ?more)|unverified|unconfirmed|citation needed|until)"
    r"(?:(?: (?:any ?more|now|today|since|as of|in|for)(?![^\W])|[,;:]| (?:-|–|—) |(?<=until) )[^()\[\]]*)?[)\]]"
    r"|[❌✗✘🚫]",
    re.IGNORECASE,
)
# "Rejected: A uses B", "Option 2: A uses B", "Before: A uses B".
_LABELLED = re.compile(
    r"(?:[^\s:]+ )?(?:false|untrue|wrong|incorrect|rejected|declined|discarded|abandoned|withdrawn|forbidden|"
    r"prohibited|obsolete|outdated|deprecated|reverted|past|previously|formerly|never|not|no|don['’]t|bad|anti-?pattern|question|"
    r"draft|wish ?list|to-be|(?:hypothesis|assumption)(?: [^\s:]+)?|"
    r"goals?|acceptance criteri(?:a|on)|scenario|(?:expected|desired|wanted|target|next|future)(?: [^\s:]+)?|"
    r"fail(?:s|ed) with|error message|output|prints|requirements?|feature request|user story|"
    r"(?:before|option|alternative|example|old|legacy|previous|former)(?: [^\s:]+)?):(?= )"
)
_OPEN_TASK = re.compile(r"(?:[-*+•] |\d+[.)] )?\[ \] ")
# What was so then; what was replaced then still is.
_THEN = re.compile(
    r"(?:before|prior to|back in) (?:\w+ )?(?:19|20)\d\d(?!\w)|(?:in the past|back then|in those days)(?!\w)"
    r"|in (?:the|our) (?:old|previous|former|original|initial|first) "
)
_AHEAD = re.compile(
    r"\Aonce [^,]{3,80},|(?<!\w)(?:when|once|as soon as) (?:it is )?(?:merged|released|deployed|shipped)(?!\w)"
    r"|(?<!\w)(?:in (?:the )?future|next (?:week|month|quarter|sprint|year|release)|tomorrow|(?<!as )soon)(?!\w)"
)
_NOW = re.compile(r"(?<!\w)(?:now|nowadays|today|currently|since then|these days)(?!\w)")  # from here on it is so
_CHANGES = frozenset("moved migrated switched ported transitioned replaced swapped superseded deprecated".split())
_CHANGED_BACK = re.compile(
    r".* (?:(?:moved|switched|went|rolled|migrated|changed) (?:(?:it|this|that|them|everything) )?back(?! in \d)"
    r"|(?:was|were|got|been|but|later|since|then) (?:later |since |then )?(?:reverted|undone)|and back"
    r"|only (?:in|for|on)|(?:in|for|on) [^\s,;]+ only(?=$|[,;]))(?!\w)"
)
_NEARLY = frozenset("almost nearly partially partly".split())
# "All services but A", "everything but A"; not "all tests pass but A ...".
_ALL_BUT = re.compile(
    r"(?<!\w)(?:(?:all|every|no)(?: other)? [^\s,;]+|everything|anything|nothing|none) but (?:the )?[\ue000-\uf8ff]"
)
_SUPPOSITIONS = frozenset(
    "should could would might may must will if whether suppose supposing assume assumes assumed assuming maybe "
    "perhaps consider considering unless want wants wish hope hopefully plan plans planned todo unclear unsure "
    "wonder probably possibly let's let’s until shall ought supposed propose proposed proposal idea ideally "
    "imagine ensure ensures ensuring sure verify check try doubt doubts doubted deny denies denied myth "
    "hypothetically pretend allegedly supposedly rumour rumor rumours rumors misconception misconceptions fallacy "
    "formerly previously originally historically likely unlikely suspected possible potential probable presumed "
    "alleged".split()
)
# What others said or what somebody believes is no fact. What the user said is first-hand.
_MAYBE = "apparently|seemingly|reportedly|presumably|iirc|afaik|afaict"
_HEARSAY = re.compile(
    rf"(?<!\w)(?:{_MAYBE}|hears?|heard|thinks?|thought|believes?|believed|reckons?|seems?|seemed|appears? to"
    r"|(?:goal|aim|objective|intention|understanding|impression|theory) (?:is|was) (?:that|to|for)"
    r"|according to|(?:i|we|my) (?:guess|guessed|suspect|suspected|feel)|claimed"
    r"|(?:claims?|argues|argued|insists|insisted|mentions|mentioned|suggests|suggested|reports|reported|asserts|expects)"
    r"(?: that|(?= [\ue000-\uf8ff] ))|(?:asks|asked|requests|requested|demands|demanded) (?:that|for)"
    r"|in theory|on paper|officially|in principle|(?:in|on) the (?:diagram|docs|documentation|readme|spec|wiki|mock"
    r"|mock-?up|whiteboard|slides|prototype|sketch)"
    r"|(?<!user )(?<!(?<!\w)i )(?<!(?<!\w)we )(?<!(?<!\w)as )(?:say|says|said|told))(?!\w)"
)
# Behind what it is said of: "A uses B, I think".
_HEARD = re.compile(
    rf",? (?:{_MAYBE}|allegedly|supposedly|probably|possibly|perhaps|maybe)(?:,|$)"
    r"|,? or so [^,]{1,40}$|,? at least (?:it|they) (?:did|was|were|used to)(?!\w)"
    r"|, (?![^,]{0,40}user )[^,]{1,40} (?:thinks?|thought|believes?|guess|suspects?|reckons?|hears?|heard|says?"
    r"|said|claims?|claimed|told)(?: me| us)?(?:,|$)"
)
_USED_TO = re.compile(r"(?<!\w)used to$")  # depend on it
_ASKS = re.compile(
    r"(?:do|does|did|is|are|was|were|should|could|can|would|why|what|which|who|how|where)(?!\w)(?!.*,)"
)


def doubted_from(flat: str, words: list[str]) -> int:
    """The place of the first word that is no more than supposed or heard."""
    doubt = next((i for i, word in enumerate(words) if word.rstrip(MARKS) in _SUPPOSITIONS), len(words))
    hearsay = _HEARSAY.search(flat)
    return min(doubt, flat.count(" ", 0, hearsay.start())) if hearsay else doubt


def is_said(sentence: Sentence) -> bool:
    flat = sentence.flat
    is_other = _ASKS.match(flat) or _CALLED_FALSE.match(flat) or _LABELLED.match(flat) or _HEARD.search(flat)
    is_ahead = _AHEAD.search(flat) is not None
    return not (is_other or is_ahead or _MARKED_FALSE.search(sentence.text) or _OPEN_TASK.match(sentence.text))


def is_denied(sentence: Sentence, index: int, at: int) -> bool:
    """Whether what the word at this place states is denied before it, or taken back behind it."""
    word, flat = sentence.words[index], sentence.flat
    before = clause_of(sentence.words[:index], _DENIED_FROM)
    if not _DENIALS.isdisjoint(before) or (index and sentence.words[index - 1] in _NEARLY):
        return True
    if _USED_TO.search(" ".join(before)) or _TAKEN_BACK.match(flat, at) or _ALL_BUT.search(flat, 0, at):
        return True
    if word in _CHANGES:
        return _CHANGED_BACK.match(flat, at) is not None
    return _THEN.match(flat) is not None and not _NOW.search(flat, 0, at)
