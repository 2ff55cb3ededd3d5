"""A question in parts: who asks for several things at once is answered by memories that say one of them each. Pure.

A memory that says best which port the gateway has belongs into the answer, however little it says of the
certificate and the deploy that the rest of the question is about. An article that has half of what is asked, too.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from clew.recall.analyse import term_hashes

Floats = NDArray[np.float32]

# Where something else begins: at punctuation, and at words that join or add a phrase. What they are in other
# languages is not known here: there a question between two commas is one part.
_BETWEEN = re.compile(
    r"[,;:?!.]+(?:\s|$)"
    r"|\b(?:and|or|but|when|while|after|before|that|which|who|whose|where|with|for|from|about)\b",
    re.IGNORECASE,
)


def parts_of(text: str, terms: NDArray[np.uint32]) -> Floats:
    """(parts, terms): 1 for the terms of a question that each of its parts has."""
    if not _BETWEEN.search(text):
        found = np.empty((1, len(terms)), np.float32)
        found.fill(1)  # `ones` takes three times as long
        return found
    place = {term: at for at, term in enumerate(terms.tolist())}
    said = [[place[term] for term in term_hashes(part) if term in place] for part in _BETWEEN.split(text)]
    said = [part for part in said if part] or [list(range(len(place)))]
    found = np.zeros((len(said), len(place)), np.float32)
    for row, part in zip(found, said, strict=True):
        row[part] = 1
    return found


def by_clause(parts: Floats, given: Floats) -> dict[str, Floats]:
    """Per candidate, how near it comes to the best one for a part of the question: for the part where it comes
    nearest, and for all of them together. `given`: (terms, candidates), what each term gives to each."""
    share = np.einsum("pt,tc->pc", parts, given)  # not `@`: BLAS now and then warns of numbers that are not there
    share /= np.maximum(share.max(axis=1, initial=0, keepdims=True), np.float32(1e-6))
    return {"clause_best": share.max(axis=0), "clauses": np.square(share).sum(axis=0)}
