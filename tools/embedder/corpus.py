"""Which texts are taken from which source, and how many: the recipe of the training text.

A `Corpus` is a list of texts, and pairs of indices of texts that say the same or answer each other. All choices
are seeded.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import ours
import sources
import templates


@dataclass(slots=True)
class Corpus:
    texts: list[str] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def add(self, texts: list[str], limit: int, rng: random.Random) -> None:
        unique = list(dict.fromkeys(texts))
        rng.shuffle(unique)
        self.texts += unique[:limit]

    def without(self, texts: list[str]) -> list[str]:
        """Those that are not in yet."""
        taken = set(self.texts)
        return [text for text in texts if text not in taken]

    def add_pairs(self, pairs: list[tuple[str, str]], limit: int, rng: random.Random) -> None:
        unique = list(dict.fromkeys(pairs))
        rng.shuffle(unique)
        for left, right in unique[:limit]:
            self.pairs.append((len(self.texts), len(self.texts) + 1))
            self.texts += [left, right]

    def add_all(self, texts: list[str], pairs: list[tuple[str, str]]) -> None:
        """Each text once, however many pairs it is in."""
        unique = dict.fromkeys([*texts, *(text for pair in pairs for text in pair)])
        at = {text: len(self.texts) + number for number, text in enumerate(unique)}
        self.pairs += dict.fromkeys((at[left], at[right]) for left, right in pairs)
        self.texts += unique


def passages(lines: list[str], count: int, rng: random.Random) -> list[str]:
    """Two to five neighbouring sentences: memories are often longer than one sentence."""
    starts = [rng.randrange(len(lines) - 5) for _ in range(count)]
    return [" ".join(lines[i : i + rng.randint(2, 5)]) for i in starts]


def asked(glosses: list[tuple[str, str]], rng: random.Random) -> list[tuple[str, str]]:
    """A definition as a sentence, and a question that it answers; named people and places come first."""
    named = [g for g in glosses if g[0][:1].isupper()]
    common = [g for g in glosses if not g[0][:1].isupper()]
    rng.shuffle(named)
    rng.shuffle(common)
    return [_question(lemma.split(", ")[0], gloss, rng) for lemma, gloss in named[:12_000] + common[:10_000]]


def _question(name: str, gloss: str, rng: random.Random) -> tuple[str, str]:
    person = name[:1].isupper() and re.search(r"\(\d{4}-", gloss)
    place = re.search(r"\b(city|town|river|capital|island|country|state|mountain|lake) (in|of|on)\b", gloss)
    asks = ["What is {}?", "what does {} mean", "{}?", "Tell me about {}."]
    if person:
        asks = ["Who was {}?", "When was {} born?", "What is {} known for?"]
    elif place:
        asks = ["Where is {}?", "In which country is {} located?", "What is {}?"]
    return rng.choice(asks).format(name), f"{name} {'was' if person else 'is'} {gloss}."


def collect(cache: Path, share: float) -> Corpus:
    """The whole training text; `share` shrinks every kind alike for a quick trial."""
    rng = random.Random(20261115)
    corpus = Corpus()
    glosses, examples = sources.wordnet(cache)
    technical, named = sources.technical(cache, per_package=6000)
    books = sources.books(cache)
    chats = templates.statements_with_questions(60_000, sources.common_nouns(cache), rng)
    talk = sources.small_talk(cache)

    def part(count: int) -> int:
        return int(count * share)

    corpus.add_pairs(chats, part(20_000), rng)
    corpus.add(examples, part(17_200), rng)
    corpus.add_pairs(glosses, part(24_000), rng)
    corpus.add(technical, part(20_000), rng)
    corpus.add_pairs(named, part(4_000), rng)
    corpus.add(books, part(8_000), rng)
    corpus.add_pairs(talk, part(960), rng)
    corpus.add(passages(technical, 20_000, rng), part(3_200), rng)
    corpus.add(passages(books, 20_000, rng), part(1_600), rng)
    # The second helping: the rest of the short everyday texts, then definitions as answers.
    fresh = set(corpus.without([said for said, _ in talk]))
    corpus.add_pairs([pair for pair in talk if pair[0] in fresh], part(1_500), rng)
    corpus.add(corpus.without(examples), part(26_000), rng)
    corpus.add_pairs(asked(glosses, rng), part(22_000), rng)
    corpus.add(corpus.without(technical), part(2_181), rng)
    # Ours: what people keep and how they ask for it in other words.
    said, memories = ours.in_other_words(), ours.memories()
    corpus.add_all(memories[0], said + memories[1])
    return corpus
