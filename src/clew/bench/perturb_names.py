"""Other names for the people of a corpus: who is a person there, and what they are called instead. Pure.

A person is who wrote something, whoever has a common given name, the word after such a name, and any
capitalised word that stands often enough within sentences and is spoken of as a person. None of them may occur
in lower case in the same corpus, but in addresses: then it is a word. A few places and products pass for people;
they are renamed as consistently, which harms nothing.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import chain, product

from clew.recall.question import ASSISTANTS
from clew.values import dataclass

WORD = re.compile(r"[^\W\d_]+")
_UNBROKEN = re.compile(r"\S+")
SHORT = 3  # letters, at least, of a name that is short for one that it begins
OFTEN = 3  # occurrences within sentences from which a word is considered at all
ASTRAY = 0.1  # share of them after an article or a preposition of place beyond which it is no person
SPOKEN_OF = 0.05  # least share of them in which it is spoken of as one

_STARTS = frozenset('.!?:;\n\r…"“”(*[-–—>#|•')  # a capital after these says nothing
_CALENDAR = frozenset(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday christmas easter".split()
)
_NO_PERSON_AFTER = frozenset(
    "the a an this these those my your our his her their its every each last next in at near on into "
    "across during within throughout outside via".split()
)
_PERSON_AFTER = frozenset(
    "hey hi hello dear thanks mr mrs ms dr named called friend brother sister mother father mom dad wife husband "
    "partner son daughter colleague mentor boss cousin uncle aunt neighbor neighbour actor actress singer "
    "author".split()
)
_PERSON_BEFORE = frozenset(
    "says said tells told asks asked thinks thought likes liked loves loved wants wanted feels felt mentioned "
    "suggested recommended married born wrote plays played".split()
)
# Common given names that are hardly ever anything else; the same serve as the new ones.
GIVEN = (
    "Aaron Abigail Adam Adrian Agnes Alan Albert Alejandro Alexander Alfred Alice Alicia Alison Amanda Amelia "
    "Amir Amy Andrea Andrew Angela Anita Anna Anne Annette Anthony Arthur Audrey Barbara Beatrice Benjamin "
    "Bernard Beth Bianca Brandon Brenda Brian Bridget Bruno Calvin Camille Carla Carlos Carmen Caroline "
    "Catherine Cecilia Charles Christina Christine Christopher Claire Clara Claudia Colin Craig Cynthia "
    "Daniel Danielle David Deborah Denise Dennis Derek Diana Diane Dimitri Dominic Donald Donna Dorothy "
    "Douglas Duncan Edgar Edith Edmund Edward Edwin Eileen Elaine Eleanor Elena Elizabeth Ellen Emily Emma "
    "Enrique Eric Erica Erik Ernest Esther Ethan Eugene Evan Evelyn Felix Fernando Fiona Frances Francesca "
    "Frederick Gabriel Gareth Gary Gavin Geoffrey George Gerald Gina Gloria Gordon Graham Greg Gregory Greta "
    "Gustav Hannah Harold Harriet Heather Heidi Helen Helena Henrik Henry Howard Hugo Ian Igor Ingrid Irene "
    "Isaac Isabel Ivan Jacob Jacqueline James Janet Janice Jasmine Jason Jeffrey Jennifer Jeremy Jessica Joan "
    "Joanna John Jonas Jonathan Joseph Josephine Joshua Joyce Judith Julia Julian Julie Justin Karen "
    "Katherine Kathleen Keith Kenneth Kevin Kimberly Kristen Kurt Larry Lars Laura Lauren Lawrence Leah "
    "Leonard Leonie Leslie Liam Linda Lisa Lorenzo Louise Lucas Lucia Lucy Luis Lydia Magnus Malcolm Marcus "
    "Margaret Maria Marianne Marie Marina Mario Marion Marisa Martha Martin Mateo Matthew Maureen Megan "
    "Melanie Melissa Michael Michelle Miguel Milena Miriam Monica Nadia Naomi Natalie Nathan Nicholas Nicole "
    "Nigel Nina Noah Nora Olga Oliver Olivia Oscar Pablo Pamela Patricia Patrick Paul Paula Pauline Pedro "
    "Peter Philip Philippa Priya Rachel Ralph Raymond Rebecca Renata Ricardo Richard Robert Roberta Roger "
    "Roland Ronald Rosalind Rosemary Rupert Russell Ruth Ryan Samantha Samuel Sandra Sarah Sebastian Sharon "
    "Sheila Shirley Silvia Simon Sofia Sonia Sophie Stefan Stella Stephanie Stephen Steven Stuart Susan "
    "Susanne Sylvia Tamara Tanya Teresa Theodore Theresa Thomas Timothy Tobias Tracy Ursula Valerie Vanessa "
    "Vera Veronica Victor Vincent Vivian Walter Wendy William Winston Yolanda Yusuf Yvonne Zachary Zoe"
).split()
_GIVEN_SET = frozenset(GIVEN)
_FRONT = "Ash Bel Brad Carl Dun Elm Fen Gar Hal Ing Kirk Lang Mor Nor Pres Rad Stan Thorn Wal Whit Wyn".split()
_BACK = "berg bury by combe dale feld gard hurst ler ley mann mere sen stead sted ton vik wick worth".split()


@dataclass(slots=True)
class Words:
    """How each word of a corpus is written, and what stands around it."""

    lower: Counter[str] = field(default_factory=Counter)
    capital: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)  # of these, not the first of a sentence
    astray: Counter[str] = field(default_factory=Counter)  # of these, after an article or a preposition of place
    person: Counter[str] = field(default_factory=Counter)  # spoken of as a person
    surnames: Counter[str] = field(default_factory=Counter)  # right after a common given name
    all: set[str] = field(default_factory=set)  # whatever its case, to keep new names apart from old words

    def read(self, text: str) -> None:
        before, end = "", -1  # the word before, and where it ended
        addresses = [found.span() for found in _UNBROKEN.finditer(text) if is_address(found.group())]
        for match in WORD.finditer(text):
            word, adjoins = match.group(), match.start() == end + 1 and text[end : match.start()] == " "
            self.all.add(word.casefold())
            if word[0].islower():
                self.lower[word] += not any(start <= match.start() < stop for start, stop in addresses)
                if adjoins and word in _PERSON_BEFORE:
                    self.person[before] += 1
            elif is_name_like(word):
                self._read_capital(word, text, match, before if adjoins else "")
            before, end = word, match.end()

    def _read_capital(self, word: str, text: str, match: re.Match[str], before: str) -> None:
        self.capital[word] += 1
        if before in _GIVEN_SET:
            self.surnames[word] += 1
        if is_within_sentence(text, match.start()):
            self.within[word] += 1
            self.astray[word] += before.lower() in _NO_PERSON_AFTER
        if before.lower() in _PERSON_AFTER or is_possessive(text, match.end()):
            self.person[word] += 1

    def people(self) -> set[str]:
        """The names of people that the texts speak of."""
        given = {word for word in self.capital if word in _GIVEN_SET}
        often = {
            word
            for word, times in self.within.items()
            if times >= OFTEN and self.person[word] >= SPOKEN_OF * times and self.astray[word] <= ASTRAY * times
        }
        return {word for word in given | set(self.surnames) | often if not self.lower[word.lower()]}

    def is_common(self, name: str) -> bool:
        """Will and Mark are words too: more often written small than as a name."""
        return self.lower[name.lower()] > self.within[name]


def is_address(text: str) -> bool:
    """Of a mailbox or a page, in whatever brackets."""
    host, slash, _page = text.partition("/")
    return "@" in text or "://" in text or bool(slash and "." in host)


def is_name_like(word: str) -> bool:
    return len(word) > 1 and word.istitle() and word.lower() not in _CALENDAR


def is_within_sentence(text: str, start: int) -> bool:
    while start and text[start - 1] == " ":
        start -= 1
    return start > 0 and text[start - 1] not in _STARTS


def is_possessive(text: str, end: int) -> bool:
    return text[end : end + 2] in ("'s", "’s")


@dataclass(frozen=True, slots=True)
class Renaming:
    """What each name becomes. `doubtful` ones are also common words: only where a name stands are they one."""

    names: dict[str, str]
    doubtful: frozenset[str] = frozenset()
    roles: dict[str, str] = field(default_factory=dict)  # of agents, as authors alone: in texts it is a word

    def text(self, text: str) -> str:
        return WORD.sub(self._word, text)

    def capitalised(self) -> dict[str, str]:
        return {name: other for name, other in self.names.items() if name.istitle()} | self.roles

    def author(self, name: str) -> str:
        if name in self.roles:
            return self.roles[name]
        return WORD.sub(lambda match: self.names.get(match.group(), match.group()), name)

    def _word(self, match: re.Match[str]) -> str:
        word, text = match.group(), match.string
        if word in self.doubtful and not (
            is_possessive(text, match.end()) or is_within_sentence(text, match.start())
        ):
            return word
        return self.names.get(word, word)


def renaming(texts: Iterable[str], authors: Iterable[str], seed: bytes, *, roles: bool = False) -> Renaming:
    """Other names for the authors and for the people in the texts; the same for the same seed. `roles`: for
    authors that are called by what an agent is, too."""
    authors, words = list(authors), Words()
    for text in texts:
        words.read(text)
    wrote = [part for author in authors for part in WORD.findall(author) if is_author_name(part)]
    chosen = random.Random(seed)
    taken = words.all | {part.casefold() for part in wrote}
    given, surnames = _new_names(taken, chosen)
    new: dict[str, str] = {}
    known = words.people() | set(wrote)
    longer = {name: _longer(name, known) for name in known}
    for name in sorted(known, key=lambda name: (longer[name] != "", name)):
        is_surname = bool(words.surnames[name]) and name not in _GIVEN_SET
        short = new.get(longer[name], "")[: len(name)]
        is_free = len(short) == len(name) and short.casefold() not in taken
        new[name] = short if is_free else next(surnames if is_surname else given)
        taken.add(new[name].casefold())
    doubtful = frozenset(part for part in wrote if words.is_common(part))
    small = {name.lower(): other.lower() for name, other in new.items() if name not in doubtful}
    upper = {name.upper(): other.upper() for name, other in new.items()}
    agents = {author: next(given) for author in authors if roles and author in ASSISTANTS}
    return Renaming(small | upper | new, doubtful, agents)


def _longer(name: str, known: Iterable[str]) -> str:
    """The name that it is short for, as Mel is for Melanie: the longest that it begins."""
    longer = [other for other in known if other != name and other.startswith(name) and len(name) >= SHORT]
    return max(longer, key=lambda other: (len(other), other), default="")


def is_author_name(part: str) -> bool:
    """Authors in lower case are roles (user, assistant), and no names; neither are forms of address."""
    return len(part) > 1 and part[0].isupper() and part.lower() not in _PERSON_AFTER


def _new_names(taken: set[str], chosen: random.Random) -> tuple[Iterator[str], Iterator[str]]:
    """Given names and surnames, endlessly, without those that are taken when it is their turn."""
    given, made = list(GIVEN), [front + back for front, back in product(_FRONT, _BACK)]
    chosen.shuffle(given)
    chosen.shuffle(made)
    unused = (name for name in _ever_longer(made) if name.casefold() not in taken)
    return chain((name for name in given if name.casefold() not in taken), unused), unused


def _ever_longer(names: list[str]) -> Iterator[str]:
    while True:
        yield from names
        names = [front + name.lower() for name in names for front in _FRONT]
