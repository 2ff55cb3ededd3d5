"""BM25 beside a plain implementation of its formula, and the share of the query that a memory covers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.memory import Draft
from clew.model.scope import Scope
from clew.recall.analyse import hash_term, terms
from clew.recall.corpus import Corpus
from clew.recall.lexical import K1, MAX_TERMS, B, score_terms
from clew.recall.segment import build_segment
from clew.remember.prepare import WritePolicy, draft_memory, index_terms
from toys import START, contents, open_toy, weight_of

pytestmark = pytest.mark.usefixtures("by_both")

WORDS = "gateway port queue cache deploy index retry budget".split()
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=12)


def corpus_of(*blocks: list[str]) -> Corpus:
    segments = tuple(build_segment([row_of(text) for text in texts], 1) for texts in blocks)
    return Corpus(segments, np.ones(sum(map(len, blocks)), np.bool_), 1)


def row_of(text: str) -> tuple[Any, ...]:
    memory, _ = draft_memory(Draft(content=text), Scope(), now=START, policy=WritePolicy())
    indexed = index_terms(memory)
    fields = (memory.id, "long_term", "note", 0, None, None, 0, 0, 1.0, 1, "", "", "")
    return (*fields, indexed.length, indexed.terms, None)


def plain_bm25(texts: list[str], query: list[str]) -> list[float]:
    documents = [Counter(terms(text)) for text in texts]
    mean = sum(document.total() for document in documents) / len(documents)
    scores = [0.0] * len(documents)
    for word in query:
        having = sum(word in document for document in documents)
        weight = weight_of(hash_term(word), len(documents), having)
        for at, document in enumerate(documents):
            often = document[word]
            scores[at] += weight * often * (K1 + 1) / (often + K1 * (1 - B + B * document.total() / mean))
    return scores


@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
@settings(deadline=None, max_examples=40)
def test_scores_are_those_of_the_formula(texts: list[str], words: list[str]) -> None:
    query = list(dict.fromkeys(term for word in words for term in terms(word)))
    scored = score_terms(corpus_of(texts), [hash_term(term) for term in query])
    assert scored.score == pytest.approx(plain_bm25(texts, query), abs=1e-4)


@given(TEXTS, TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
@settings(deadline=None, max_examples=40)
def test_segments_do_not_change_a_score(one: list[str], other: list[str], words: list[str]) -> None:
    asked = [hash_term(terms(word)[0]) for word in words]
    together, apart = score_terms(corpus_of(one + other), asked), score_terms(corpus_of(one, other), asked)
    assert apart.score == pytest.approx(together.score, abs=1e-5)
    assert apart.covered == pytest.approx(together.covered, abs=1e-5)


@given(TEXTS, st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, unique=True))
@settings(deadline=None, max_examples=40)
def test_the_covered_share_lies_between_0_and_1_and_is_1_for_a_memory_with_every_word(
    texts: list[str], words: list[str]
) -> None:
    asked = [hash_term(terms(word)[0]) for word in words]
    covered = score_terms(corpus_of([*texts, " ".join(words)]), asked).covered
    assert covered.min() >= 0 and covered.max() <= 1 + 1e-6
    assert covered[-1] == pytest.approx(1, abs=1e-5)


@given(st.integers(1, 10**7).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))))
def test_a_word_weighs_something_and_the_less_the_more_memories_have_it(case: tuple[int, int]) -> None:
    size, frequency = case
    for word in ("gateway", "use"):
        weight = weight_of(hash_term(word), size, frequency)
        assert weight > 0
        assert frequency == 0 or weight < weight_of(hash_term(word), size, frequency - 1)


def test_a_common_word_of_the_language_weighs_less_than_a_name() -> None:
    assert weight_of(hash_term("use"), 10, 1) < weight_of(hash_term("pgbouncer"), 10, 1)


def test_of_a_pasted_page_the_rarest_words_decide() -> None:
    common = [f"common{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(MAX_TERMS)]
    corpus = corpus_of([" ".join(common), " ".join(common), "needle"])
    scored = score_terms(corpus, [hash_term(terms(word)[0]) for word in [*common, "needle"]])
    assert scored.score[2] > 0


def test_a_scope_counts_by_itself(tmp_path: Path) -> None:
    """What another project writes changes no score here."""
    with open_toy(tmp_path / "c.db") as memory:
        memory.remember("gateway port", scope=Scope(project="a"))
        before = memory.recall("gateway", scope=Scope(project="a")).results[0].why
        for number in range(20):
            memory.remember(f"gateway gateway {number}", scope=Scope(project="b"))
        assert memory.recall("gateway", scope=Scope(project="a")).results[0].why == before


def test_the_rarer_word_decides(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        for text in ("gateway one", "gateway two", "gateway three", "quota four"):
            memory.remember(text)
        assert contents(memory.recall("gateway quota"))[0] == "quota four"
