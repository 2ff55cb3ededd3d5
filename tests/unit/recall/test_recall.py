"""A question in, memories out, each with the reasons it is there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew import Draft, Identity, InvalidInput, NotFound, Scope, Unavailable
from clew.model.space import VectorSpace
from toys import START, ToldClock, ToyEmbedder, contents, open_toy

pytestmark = pytest.mark.usefixtures("by_both")

SYNONYMS = {"automobile": "car", "vehicle": "car", "repair": "fix", "mend": "fix"}


@pytest.fixture
def words(tmp_path: Path, clock: ToldClock) -> Any:
    """Without vectors: words decide alone."""
    with open_toy(tmp_path / "words.db", clock=clock) as opened:
        yield opened


@pytest.fixture
def meaning(tmp_path: Path, clock: ToldClock) -> Any:
    with open_toy(tmp_path / "meaning.db", clock=clock, embedder=ToyEmbedder(synonyms=SYNONYMS)) as opened:
        yield opened


def fill(memory: Any, *texts: str, **fields: Any) -> list[str]:
    return [saved.id for saved in memory.remember_many(Draft(content=text, **fields) for text in texts)]


# -- layers --------------------------------------------------------------------------------------------


def test_rules_come_first_then_working_then_long_term(words: Any) -> None:
    words.remember("gateway gateway gateway: a note")
    words.remember("the gateway is what I work on", layer="working")
    words.remember("Never restart the gateway by day", type="rule")
    layers = [result.memory.layer for result in words.recall("gateway").results]
    assert layers == ["rule", "working", "long_term"]


def test_rules_are_there_whatever_is_asked(words: Any) -> None:
    fill(words, "Never force-push", "Tests before merging", type="rule")
    assert sorted(contents(words.recall("lunch"))) == ["Never force-push", "Tests before merging"]
    assert contents(words.recall("merging"))[0] == "Tests before merging"


def test_at_most_three_working_memories_are_shown_and_the_rest_is_long_term(words: Any) -> None:
    fill(words, *(f"gateway step {n}" for n in range(6)), layer="working")
    fill(words, *(f"gateway fact {n}" for n in range(9)))
    layers = [result.memory.layer for result in words.recall("gateway", limit=5).results]
    assert layers == ["working"] * 3 + ["long_term"] * 2


def test_one_long_term_memory_is_shown_even_when_working_ones_fill_the_limit(words: Any) -> None:
    fill(words, "gateway step", layer="working")
    fill(words, "gateway fact")
    assert len(words.recall("gateway", limit=1).results) == 2


@pytest.mark.parametrize(
    ("mode", "layers"),
    [
        ("all", ["rule", "working", "long_term"]),
        ("working", ["working"]),
        ("long_term", ["long_term"]),
        ("rules_only", ["rule"]),
    ],
)
def test_a_mode_shows_its_layers_only(words: Any, mode: str, layers: list[str]) -> None:
    for layer in ("rule", "working", "long_term"):
        words.remember(f"gateway in {layer}", layer=layer)
    assert [result.memory.layer for result in words.recall("gateway", mode=mode).results] == layers


def test_rules_may_be_left_out(words: Any) -> None:
    words.remember("Never restart the gateway", type="rule")
    assert contents(words.recall("gateway", rules=False)) == []


def test_without_a_question_the_newest_come_first(words: Any) -> None:
    ids = [words.remember(f"number {n}").id for n in range(12)]
    words.edit(ids[0], tags=("touched",))
    shown = [result.memory.id for result in words.recall("", limit=3).results]
    assert shown == [ids[0], ids[11], ids[10]]


def test_among_equals_the_newest_come_first_however_many_there_are(words: Any) -> None:
    ids = [words.remember(f"gateway {chr(97 + n // 26)}{chr(97 + n % 26)}x").id for n in range(60)]
    shown = [result.memory.id for result in words.recall("gateway", limit=5).results]
    assert shown == ids[::-1][:5]


# -- what is left out ----------------------------------------------------------------------------------


def test_superseded_memories_are_left_out_unless_asked_for(words: Any) -> None:
    old = words.remember("We use MySQL")
    words.remember("We use PostgreSQL", supersedes=old.id)
    assert contents(words.recall("use")) == ["We use PostgreSQL"]
    assert sorted(contents(words.recall("use", include_superseded=True))) == ["We use MySQL", "We use PostgreSQL"]


def test_invalid_memories_are_left_out_unless_asked_for(words: Any, clock: ToldClock) -> None:
    words.remember("The freeze is on", invalid_at=START + timedelta(days=1))
    assert len(words.recall("freeze").results) == 1
    clock.pass_by(days=2)
    assert contents(words.recall("freeze")) == []
    assert contents(words.recall("freeze", include_superseded=True)) == []
    assert contents(words.recall("freeze", include_invalid=True)) == ["The freeze is on"]


def test_what_is_not_valid_yet_is_left_out(words: Any, clock: ToldClock) -> None:
    words.remember("The new gateway is live", valid_at=START + timedelta(days=2))
    assert contents(words.recall("gateway")) == []
    clock.pass_by(days=3)
    assert contents(words.recall("gateway")) == ["The new gateway is live"]


def test_as_of_answers_what_held_at_that_time(words: Any, clock: ToldClock) -> None:
    old = words.remember("We use MySQL")
    clock.pass_by(days=10)
    words.remember("We use PostgreSQL", supersedes=old.id)
    assert contents(words.recall("use", as_of=START + timedelta(days=5))) == ["We use MySQL"]
    assert contents(words.recall("use", as_of=START + timedelta(days=15))) == ["We use PostgreSQL"]
    assert contents(words.recall("use", as_of=START - timedelta(days=1))) == []


@pytest.mark.parametrize(
    "options",
    [{"types": ("decision",)}, {"tags": ("db", "none")}, {"agent": "a"}, {"session": "s"}, {"namespace": "n"}],
)
def test_a_filter_shows_only_what_fits(words: Any, options: dict[str, Any]) -> None:
    scope = Scope(agent="a", session="s", namespace="n")
    words.remember("gateway one", scope=scope, type="decision", tags=("db",))
    words.remember("gateway two", scope=Scope(agent="b", session="t", namespace="m"), tags=("net",))
    assert contents(words.recall("gateway", **options)) == ["gateway one"]


def test_agent_session_and_namespace_restrict_only_when_asked(words: Any) -> None:
    words.remember("gateway one", scope=Scope(agent="a", session="s", namespace="n"))
    assert contents(words.recall("gateway", scope=Scope(agent="b", session="t"))) == ["gateway one"]


def test_what_shares_neither_word_nor_meaning_is_left_out(words: Any) -> None:
    words.remember("Ports start at 8000")
    assert contents(words.recall("lunch")) == []


def test_the_floor_acts_on_relevance(meaning: Any) -> None:
    fill(meaning, "gateway timeouts doubled", "gateway colours")
    recalled = meaning.recall("gateway timeouts doubled", floor=0.6)
    assert all(result.relevance >= 0.6 for result in recalled.results)
    assert contents(recalled) == ["gateway timeouts doubled"]


# -- any text is a question ----------------------------------------------------------------------------

AWKWARD = [
    '"unbalanced', "a AND OR NOT (", "--drop table", "title:gateway", "gateway*", "^gateway", "😀🔥", "'", "\\",
    "NEAR(a b, 5)", "{gateway}", "a\x00b", "\ud800", "-", ":", "  ", "%_", "gateway " * 12_500, "漢" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("query", AWKWARD, ids=range(len(AWKWARD)))
@pytest.mark.parametrize("read_model_mb", [0, 64])
def test_awkward_texts_are_valid_questions(tmp_path: Path, query: str, read_model_mb: int) -> None:
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(), recall={"read_model_mb": read_model_mb}) as memory:
        fill(memory, "the gateway is slow", "漢字 on the door", "three")
        for retrieval in ("lexical", "semantic", "hybrid"):
            memory.recall(query, retrieval=retrieval)


@given(query=st.text(st.characters(exclude_categories=()), max_size=100))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_any_text_is_a_valid_question(meaning: Any, query: str) -> None:
    if not meaning.list():
        fill(meaning, "the gateway is slow", "漢字", "é 😀 'quoted'")
    assert all(0 <= result.relevance <= 1 for result in meaning.recall(query).results)


def test_a_question_as_long_as_a_document_is_cut_and_says_so(words: Any) -> None:
    words.remember("gateway")
    recalled = words.recall("gateway " + "x" * 100_000)
    assert contents(recalled) == ["gateway"] and recalled.trace.notes["query_cut_to"] == 8_000


SPELLINGS = ["AuthService", "auth_service", "src/auth/service.py"]


@pytest.mark.parametrize("asked", [*SPELLINGS, "auth service"])
@pytest.mark.parametrize("written", SPELLINGS)
def test_an_identifier_is_found_in_any_spelling(words: Any, asked: str, written: str) -> None:
    fill(words, f"{written} retries twice", "Ports start at 8000", "The queue is full")
    assert contents(words.recall(asked)) == [f"{written} retries twice"]


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_exact_identifier_passes_the_floor_without_a_near_vector(words: Any, name: str) -> None:
    fill(words, f"{name} retries twice", "Ports start at 8000", "The queue is full")
    assert contents(words.recall(name, floor=0.4)) == [f"{name} retries twice"]


@pytest.mark.parametrize(("text", "query"), [("認証サービスを再起動する", "認証"), ("数据库连接池已满", "连接池")])
def test_chinese_and_japanese_text_is_found(words: Any, text: str, query: str) -> None:
    fill(words, text, "Ports start at 8000")
    assert contents(words.recall(query)) == [text]


# -- meaning -------------------------------------------------------------------------------------------


def test_meaning_finds_what_shares_no_word(meaning: Any) -> None:
    fill(meaning, "automobile mend", "lunch at noon")
    assert contents(meaning.recall("fix car"))[0] == "automobile mend"


class PinnedEmbedder(ToyEmbedder):
    """Meaning as a test says: texts of one group point the same way, groups are at right angles."""

    groups = (("fix car", "vehicle repair"), ("fix lunch",), ("gateway",))

    def embed(self, texts: Any) -> Any:
        return np.array([[text in group for group in self.groups] for text in texts], np.float32)

    @property
    def space(self) -> VectorSpace:
        return VectorSpace("pinned", "1", 3, 0.1, 0.9)


def test_t37_a_memory_whose_vector_equals_the_querys_comes_before_one_that_shares_a_word(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", embedder=PinnedEmbedder()) as memory:
        fill(memory, "vehicle repair", "fix lunch", "gateway")
        assert contents(memory.recall("fix car")) == ["vehicle repair", "fix lunch"]


class DownEmbedder(ToyEmbedder):
    def embed(self, texts: Any) -> Any:
        raise Unavailable("the endpoint is down", code="EMBED_DOWN")


class DoubleEmbedder(ToyEmbedder):
    """A plug-in that answers in double precision."""

    def embed(self, texts: Any) -> Any:
        return super().embed(texts).astype(np.float64)


class ColumnsEmbedder(ToyEmbedder):
    """A plug-in that keeps its numbers column by column."""

    def embed(self, texts: Any) -> Any:
        return np.asfortranarray(super().embed([*texts, "one more"]))[: len(texts)]


def test_a_model_may_answer_in_double_precision(tmp_path: Path) -> None:
    answers = []
    for embedder in (ToyEmbedder(), DoubleEmbedder()):
        with open_toy(tmp_path / f"{type(embedder).__name__}.db", embedder=embedder) as memory:
            for text in ("the gateway port", "a bicycle", "gateways of the east"):
                memory.remember(text)
            found = memory.recall("gateway")
            answers.append([(one.memory.content, one.relevance, one.rank_score) for one in found.results])
    assert answers[0] == answers[1] != []


def test_a_question_whose_vector_is_no_number_is_answered_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder()) as memory:
        memory.remember("the gateway port")
        monkeypatch.setattr(ToyEmbedder, "embed", lambda self, texts: np.full((len(texts), self.dim), np.nan))
        found = memory.recall("gateway")
    assert [one.relevance for one in found.results] == [1.0]
    assert found.trace.notes["semantic"] == "query_embedding_unavailable"


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param(lambda _row: None, id="nothing"),
        pytest.param(lambda row: row[:5], id="shorter"),
        pytest.param(lambda row: np.tile(row, 2), id="longer"),
        pytest.param(lambda row: row[0], id="one number"),
        pytest.param(lambda row: np.stack([row, row]), id="several rows"),
    ],
)
def test_a_question_whose_vector_is_none_of_its_space_is_answered_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: Callable[[Any], Any]
) -> None:
    row = ToyEmbedder(dim=64).embed(["gateway port"])[0]
    with open_toy(tmp_path / "clew.db", embedder=ToyEmbedder(dim=64)) as memory:
        fill(memory, *(f"gateway {number}" for number in range(30)))
        monkeypatch.setattr(ToyEmbedder, "embed", lambda _self, _texts: [answered(row + 0.1)])
        found = memory.recall("gateway", limit=3)
    assert len(found.results) == 3
    assert found.trace.notes["semantic"] == "query_embedding_unavailable"


def test_a_model_may_answer_with_numbers_that_do_not_lie_side_by_side(tmp_path: Path) -> None:
    answers = []
    for embedder in (ToyEmbedder(dim=64), ColumnsEmbedder(dim=64)):
        with open_toy(tmp_path / f"{type(embedder).__name__}.db", embedder=embedder) as memory:
            fill(memory, *(f"the gateway number {number}" for number in range(30)))
            found = memory.recall("gateway 7", limit=30)
            assert "semantic" not in found.trace.notes
            answers.append(sorted((one.memory.content, one.relevance, one.rank_score) for one in found.results))
    assert answers[0] == answers[1] != []


@pytest.mark.parametrize("embedder", [None, DownEmbedder()])
def test_t37_without_a_query_vector_words_answer_and_the_trace_says_so(tmp_path: Path, embedder: Any) -> None:
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(synonyms=SYNONYMS)) as memory:
        fill(memory, "vehicle repair", "fix lunch")
    with open_toy(tmp_path / "c.db", embedder=embedder) as memory:
        recalled = memory.recall("fix car")
    assert contents(recalled) == ["fix lunch"]
    assert recalled.trace.notes["semantic"] == "query_embedding_unavailable"


def test_t37_without_stored_vectors_words_answer_and_the_trace_says_so(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db") as memory:
        fill(memory, "vehicle repair", "fix lunch")
    with open_toy(tmp_path / "c.db", embedder=ToyEmbedder(synonyms=SYNONYMS)) as memory:
        recalled = memory.recall("fix car")
        assert contents(recalled) == ["fix lunch"]
        assert recalled.trace.notes["semantic"] == "vectors_unavailable"
        memory.remember("one with a vector")
        assert memory.recall("fix car").trace.notes["semantic"] == "partial_vector_coverage"


def test_lexical_retrieval_ignores_meaning_and_semantic_ignores_words(meaning: Any) -> None:
    fill(meaning, "vehicle repair", "fix lunch at noon in town")
    assert contents(meaning.recall("fix car", retrieval="lexical")) == ["fix lunch at noon in town"]
    assert contents(meaning.recall("fix car", retrieval="semantic"))[0] == "vehicle repair"


# -- reasons -------------------------------------------------------------------------------------------

SOURCES = {"lexical", "semantic", "graph", "rule", "working", "boost"}


@pytest.mark.parametrize("query", ["gateway", "fix car", "lunch", ""])
def test_every_result_says_why_it_is_there(meaning: Any, query: str) -> None:
    fill(meaning, "gateway one", "vehicle repair", "lunch at noon")
    fill(meaning, "Never restart the gateway", type="rule")
    fill(meaning, "gateway now", layer="working")
    recalled = meaning.recall(query)
    assert recalled.results
    for result in recalled.results:
        assert result.why and {reason.source for reason in result.why} <= SOURCES


def test_a_reason_carries_the_rank_the_raw_score_and_the_relevance_of_its_evidence(meaning: Any) -> None:
    fill(meaning, "fix the car", "automobile", "lunch")
    best = meaning.recall("fix the car").results[0]
    lexical, semantic = best.why
    assert (lexical.source, lexical.rank, lexical.relevance) == ("lexical", 1, 1.0)
    assert (semantic.source, semantic.rank) == ("semantic", 1) and semantic.raw == pytest.approx(1, abs=1e-3)


def test_a_weight_moves_the_rank_and_not_the_relevance(words: Any) -> None:
    plain, heavy = fill(words, "gateway one"), fill(words, "gateway a b c d", weight=9.0)
    fill(words, "other", "thing")
    first, second = words.recall("gateway").results
    assert ([first.memory.id], [second.memory.id]) == (heavy, plain)
    assert first.relevance == second.relevance
    assert [reason.source for reason in first.why] == ["lexical", "boost"]


def test_the_trace_accounts_for_every_memory(words: Any, clock: ToldClock) -> None:
    fill(words, *(f"gateway {n}" for n in range(20)), "lunch")
    old = words.remember("gateway old")
    words.remember("gateway new", supersedes=old.id)
    stages = {stage.name: stage for stage in words.recall("gateway", limit=5).trace.stages}
    assert stages["gather"].into == 23 and stages["read"].out == 5
    for name in ("filter", "rank"):
        stage = stages[name]
        assert stage.into - stage.out == sum(removed.count for removed in stage.removed)
    assert [(removed.reason, removed.ids) for removed in stages["filter"].removed] == [("superseded", (old.id,))]


def test_ranks_count_from_1_and_order_follows_the_rank_score_within_a_layer(meaning: Any) -> None:
    fill(meaning, *(f"gateway {'fast ' * n}" for n in range(1, 9)))
    results = meaning.recall("fast gateway").results
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    scores = [result.rank_score for result in results]
    assert scores == sorted(scores, reverse=True)


def test_recall_writes_nothing(meaning: Any) -> None:
    fill(meaning, "gateway one")
    meaning.recall("gateway")
    before = meaning.store.data_version()
    for query in ("gateway", "", "fix"):
        meaning.recall(query)
    assert meaning.store.data_version() == before


# -- who asks, and how ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"mode": "some"}, {"retrieval": "psychic"}, {"limit": 0}, {"limit": 1001}, {"types": ("diary",)},
     {"as_of": datetime(2026, 1, 1)}],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(words: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        words.recall("gateway", **options)


def test_another_org_is_not_found(words: Any) -> None:
    with pytest.raises(NotFound) as refused:
        words.recall("gateway", scope=Scope(org="rival"), identity=Identity(org="acme"))
    assert refused.value.code == "ORG_NOT_FOUND"
