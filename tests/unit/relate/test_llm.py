"""Relations by a language model: what is asked, what counts, what happens when it does not work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.model.memory import Memory
from clew.model.relation import CLASSIFICATION_FAILED, EXTRACTION_FAILED
from clew.relate.llm import LlmPolicy, LlmRelations
from clew.relate.spend import Spend, SpendPolicy
from llm_server import NAN, PAIR, RELATIONS, LlmServer, drops, edge, fails, garbage, judged, related, says
from llm_toys import NEW, OLD, near, pair, relations
from toys import ToldClock


def found(findings: Any) -> list[tuple[str, str, bool]]:
    return [(one.type, one.target, one.reversed) for one in findings]


# -- pairs ---------------------------------------------------------------------------------------------


def test_t16_a_contradiction_is_found(memory: Clew, llm_server: LlmServer) -> None:
    """Both ways: the type is symmetric, and symmetric findings are written both ways."""
    old, new = pair(memory)
    llm_server.answers[PAIR] = judged("contradicts", 0.92)
    findings, issues = relations(memory, llm_server).find(new, [near(old, 0.8)], [])
    assert found(findings) == [("contradicts", old.id, False)] and issues == []
    assert (findings[0].confidence, findings[0].origin, findings[0].weight) == (0.92, "llm", 1.0)


@pytest.mark.parametrize("days", [-1, 1])
def test_t17_a_refinement_supersedes_from_new_to_old_whatever_the_dates(
    memory: Clew, llm_server: LlmServer, days: int
) -> None:
    old, new = pair(memory)
    old = replace(old, created_at=new.created_at + timedelta(days=days))
    llm_server.answers[PAIR] = judged("refines", 0.88)
    findings, _ = relations(memory, llm_server).find(new, [near(old)], [])
    assert found(findings) == [("supersedes", old.id, False)]
    assert f"Memory A, which was there before. Id: {old.id}" in llm_server.requests[0].user


@pytest.mark.parametrize(("threshold", "count"), [(0.8, 0), (0.5, 1)])
def test_t18_a_judgement_below_the_threshold_does_not_count(
    memory: Clew, llm_server: LlmServer, threshold: float, count: int
) -> None:
    old, new = pair(memory)
    llm_server.answers[PAIR] = judged("contradicts", 0.5)
    findings, issues = relations(memory, llm_server, pair_confidence=threshold).find(new, [near(old)], [])
    assert len(findings) == count and issues == []


def test_t19_a_pair_that_fails_is_one_issue_and_the_others_go_on(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    other = memory.remember("Sessions live in Redis").memory
    llm_server.script = [fails(500), judged("contradicts")]
    findings, issues = relations(memory, llm_server).find(new, [near(old), near(other)], [])
    assert [(one.code, one.stage, one.memory, one.candidate) for one in issues] == [
        (CLASSIFICATION_FAILED, "classification", new.id, old.id)
    ]
    assert found(findings) == [("contradicts", other.id, False)]


def test_t20_an_extraction_that_fails_is_one_issue_and_pairs_stay(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    llm_server.answers |= {PAIR: judged("contradicts"), RELATIONS: fails(500)}
    findings, issues = relations(memory, llm_server, context_limit=20).find(new, [near(old)], [old])
    assert [(one.code, one.stage, one.candidate) for one in issues] == [
        (EXTRACTION_FAILED, "semantic_extraction", "")
    ]
    assert len(findings) == 1


@pytest.mark.parametrize("relationship", ["agrees", "unrelated"])
def test_agreement_and_no_relation_are_no_edge(memory: Clew, llm_server: LlmServer, relationship: str) -> None:
    old, new = pair(memory)
    llm_server.answers[PAIR] = judged(relationship, 1.0)
    assert relations(memory, llm_server).find(new, [near(old)], []) == ([], [])


@pytest.mark.parametrize(
    ("similarity", "is_asked"), [(0.69, False), (0.70, True), (0.90, True), (0.91, False), (NAN, False)]
)
@pytest.mark.parametrize("ends", [(0.70, 0.90), (0.90, 0.70)])
def test_pairs_within_the_band_are_judged_ends_included_in_either_order(
    memory: Clew, llm_server: LlmServer, ends: tuple[float, float], similarity: float, is_asked: bool
) -> None:
    old, new = pair(memory)
    asking = relations(memory, llm_server, min_similarity=ends[0], max_similarity=ends[1])
    asking.find(new, [near(old, similarity)], [])
    assert bool(llm_server.requests) is is_asked


def test_one_call_for_each_pair_and_none_for_itself_or_nothing(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    blank = replace(old, id="mem_blank", content="  ")
    relations(memory, llm_server).find(new, [near(old), near(new), near(blank)], [])
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [judged("replaces"), says([1, 2]), says({"edges": []}), garbage(), garbage(b""), says("not JSON"), fails(503)],
)
def test_a_wrong_answer_is_the_issue_of_its_pair(memory: Clew, llm_server: LlmServer, answer: Any) -> None:
    old, new = pair(memory)
    llm_server.answers[PAIR] = answer
    findings, issues = relations(memory, llm_server).find(new, [near(old)], [])
    assert findings == [] and [one.code for one in issues] == [CLASSIFICATION_FAILED]
    assert "SAID" not in issues[0].detail and OLD not in issues[0].detail and NEW not in issues[0].detail


def test_a_confidence_that_is_no_number_does_not_count(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    llm_server.answers[PAIR] = judged("contradicts", NAN)
    assert relations(memory, llm_server).find(new, [near(old)], []) == ([], [])


def test_the_witness_has_the_quote_and_the_explanation(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    llm_server.answers[PAIR] = judged("contradicts", 0.9, "not in Redis", "One says Redis, one Postgres.")
    [finding], _ = relations(memory, llm_server).find(new, [near(old)], [])
    assert (finding.sentence, finding.explanation) == ("not in Redis", "One says Redis, one Postgres.")


def test_a_quote_of_the_other_memory_is_no_quote_of_this_one(memory: Clew, llm_server: LlmServer) -> None:
    """The sentence is shown as one of the memory at hand."""
    old, new = pair(memory)
    llm_server.answers[PAIR] = judged("contradicts", 0.9, "for a day", "They differ.")
    [finding], _ = relations(memory, llm_server).find(new, [near(old)], [])
    assert (finding.sentence, finding.explanation) == ("", "They differ. for a day")


# -- semantic relations ----------------------------------------------------------------------------------


def asked_about(clew: Clew, server: LlmServer, *edges: Any, **policy: Any) -> tuple[Memory, Memory, list[Any]]:
    old, new = pair(clew)
    server.answers[RELATIONS] = related(*edges)
    findings, issues = relations(clew, server, **{"context_limit": 20} | policy).find(new, [], [old])
    assert issues == []
    return old, new, findings


def test_t21_five_relations_are_five_findings_each_time(memory: Clew, llm_server: LlmServer) -> None:
    kinds = ("caused_by", "prefers_over", "depends_on", "specializes")
    condition = edge("conditional_on", None, condition_key="time:now")
    old, new, first = asked_about(memory, llm_server, *map(edge, kinds), condition)
    again, _ = relations(memory, llm_server, context_limit=20).find(new, [], [old])
    assert found(first) == [*((kind, old.id, False) for kind in kinds), ("conditional_on", "time:now", False)]
    assert again == first


def test_t22_content_may_be_a_list_of_parts(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    llm_server.answers[PAIR] = says({"relationship": "contradicts", "confidence": 0.9}, parts=3)
    findings, _ = relations(memory, llm_server).find(new, [near(old)], [])
    assert found(findings) == [("contradicts", old.id, False)]


def test_the_direction_is_honoured_for_memories_and_conditions(memory: Clew, llm_server: LlmServer) -> None:
    condition = edge("conditional_on", None, condition_key="time:now", direction="to_new")
    *_, findings = asked_about(memory, llm_server, edge("caused_by", direction="to_new"), condition)
    assert [one.reversed for one in findings] == [True, True]


def test_relations_count_from_the_threshold_on(memory: Clew, llm_server: LlmServer) -> None:
    edges = (edge("caused_by", confidence=0.6), edge("depends_on", confidence=0.59))
    *_, findings = asked_about(memory, llm_server, *edges)
    assert [one.type for one in findings] == ["caused_by"]


def test_a_short_text_or_no_context_asks_for_no_relations(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    asking = relations(memory, llm_server, context_limit=20)
    assert asking.find(new, [], []) == asking.find(new, [], [new]) == ([], [])
    assert asking.find(replace(new, content="x" * 19), [], [old]) == ([], [])
    assert llm_server.requests == []


def test_no_more_context_is_shown_than_allowed(memory: Clew, llm_server: LlmServer) -> None:
    _, new = pair(memory)
    recent = [memory.remember(f"Redis note number {number}").memory for number in range(4)]
    relations(memory, llm_server, context_limit=2).find(new, [], [new, *recent])
    assert llm_server.requests[0].user.count("Recent memory") == 2


def test_evidence_for_a_condition_that_is_no_quote_is_not_kept(memory: Clew, llm_server: LlmServer) -> None:
    """It could be of another text that was shown: a condition is seen by all who see the memory."""
    condition = edge("conditional_on", None, condition_key="time:now", evidence="for a day")
    *_, [finding] = asked_about(memory, llm_server, condition)
    assert (finding.sentence, finding.explanation) == ("", "so it is")


# -- what is sent ----------------------------------------------------------------------------------------


def test_a_secret_that_got_into_the_store_is_masked_before_it_leaves(memory: Clew, llm_server: LlmServer) -> None:
    """Rules are added; what was stored before them may still hold what they mask."""
    old, new = pair(memory)
    secret = "ghp_" + "a1B2c3D4e5" * 4
    old, new = replace(old, content=f"{OLD} {secret}"), replace(new, title=f"token {secret}")
    relations(memory, llm_server, context_limit=20).find(new, [near(old)], [old])
    assert len(llm_server.requests) == 2
    assert not any(secret in str(request) for request in llm_server.requests)


LABELS = ("public", "internal", "confidential", "restricted", "unheard-of")


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("limit", LABELS[:3])
def test_nothing_above_the_allowed_label_is_sent(
    memory: Clew, llm_server: LlmServer, limit: str, label: str
) -> None:
    """Neither as the subject nor as a candidate nor as context."""
    old, new = pair(memory)
    allowed = label in LABELS[: LABELS.index(limit) + 1]
    asking = relations(memory, llm_server, context_limit=20, max_classification=limit)
    labelled = replace(old, classification=label, content="A labelled text of some length")
    public = replace(new, classification="public")
    asking.find(public, [near(labelled)], [labelled])
    asking.find(replace(labelled, id="mem_b"), [near(public)], [public])
    sent = "".join(request.user for request in llm_server.requests)
    assert ("A labelled text" in sent) is allowed
    assert (NEW in sent) is allowed  # alone there is nothing to ask about it


def test_what_a_label_withholds_is_counted_and_no_issue(memory: Clew, llm_server: LlmServer) -> None:
    old, new = pair(memory)
    secret = replace(old, classification="confidential")
    assert relations(memory, llm_server, context_limit=20).find(new, [near(secret)], [secret]) == ([], [])
    rows = {row.task: (row.withheld, row.calls) for row in memory.jobs.spend().rows}
    assert rows == {"classification": (1, 0), "semantic_extraction": (1, 0)}


def test_context_with_a_higher_label_than_the_memory_is_not_shown(memory: Clew, llm_server: LlmServer) -> None:
    """What the model says of it would be stored with the memory and read by those who may read that."""
    old, new = pair(memory)
    relations(memory, llm_server, context_limit=20).find(replace(new, classification="public"), [], [old])
    assert llm_server.requests == []


# -- limits ----------------------------------------------------------------------------------------------


def many(clew: Clew, count: int) -> list[Any]:
    return [near(clew.remember(f"Sessions are in Redis, note {number}").memory) for number in range(count)]


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"calls_per_minute": 2}, "LLM_RATE_LIMITED"), ({"daily_tokens": 1_700}, "LLM_BUDGET_EXHAUSTED")],
)
def test_what_is_exhausted_is_one_issue_and_no_call(
    memory: Clew, llm_server: LlmServer, limits: dict[str, Any], code: str
) -> None:
    """A call takes six hundred tokens, and about as many are expected before it is made."""
    _, new = pair(memory)
    llm_server.answers[PAIR] = says({"relationship": "agrees"}, tokens=(500, 100))
    _, issues = relations(memory, llm_server, spend=limits).find(new, many(memory, 5), [])
    assert [(one.code, one.candidate) for one in issues] == [(code, "")]
    assert "3 pairs were not judged" in issues[0].detail
    assert len(llm_server.requests) == 2


def test_a_failing_endpoint_is_left_alone_after_three_failures(memory: Clew, llm_server: LlmServer) -> None:
    _, new = pair(memory)
    llm_server.answers[PAIR] = fails(503)
    _, issues = relations(memory, llm_server).find(new, many(memory, 6), [])
    assert len(llm_server.requests) == 3
    assert [one.code for one in issues] == [CLASSIFICATION_FAILED] * 4
    assert "LLM_PAUSED: the language model failed 3 times in a row" in issues[-1].detail
    assert issues[-1].detail.endswith("3 pairs were not judged")


def test_it_is_asked_again_when_the_pause_is_over(memory: Clew, llm_server: LlmServer, clock: ToldClock) -> None:
    old, new = pair(memory)
    asking = relations(memory, llm_server)
    llm_server.script = [fails(503)] * 3
    asking.find(new, many(memory, 4), [])
    assert asking.find(new, [near(old)], [])[1] and len(llm_server.requests) == 3
    clock.pass_by(minutes=2)
    assert asking.find(new, [near(old)], []) == ([], []) and len(llm_server.requests) == 4


def test_an_endpoint_that_asks_for_time_gets_it_at_once(
    memory: Clew, llm_server: LlmServer, clock: ToldClock
) -> None:
    _, new = pair(memory)
    asking, others = relations(memory, llm_server), many(memory, 3)
    llm_server.script = [fails(429, retry_after="30")]
    asking.find(new, others, [])
    assert len(llm_server.requests) == 1
    clock.pass_by(seconds=31)
    asking.find(new, others, [])
    assert len(llm_server.requests) == 4


def test_a_text_that_the_model_declines_says_nothing_about_the_endpoint(
    memory: Clew, llm_server: LlmServer
) -> None:
    _, new = pair(memory)
    llm_server.answers[PAIR] = says({}, ended="refusal")
    _, issues = relations(memory, llm_server).find(new, many(memory, 5), [])
    assert len(llm_server.requests) == 5
    assert all(one.detail.startswith("LLM_REFUSED") for one in issues)


def test_questions_about_one_memory_end_before_its_lease(memory: Clew, llm_server: LlmServer) -> None:
    _, new = pair(memory)
    asking = relations(memory, llm_server, patience_s=0.004)  # every look at the clock is a millisecond
    _, issues = asking.find(new, many(memory, 9), [])
    assert 0 < len(llm_server.requests) < 9
    assert [one.code for one in issues] == [CLASSIFICATION_FAILED] and "LLM_OUT_OF_TIME" in issues[0].detail


@pytest.mark.parametrize(
    ("answer", "is_paid"),
    [
        (drops(judged("agrees")), True),  # it was asked, and may charge for it
        (fails(503), False),
        (says({}, ended="length", tokens=(500, 100)), True),
        (judged("replaces"), True),
    ],
)
def test_a_call_that_failed_counts_as_what_it_may_have_cost(
    memory: Clew, llm_server: LlmServer, answer: Any, is_paid: bool
) -> None:
    old, new = pair(memory)
    llm_server.script = [answer]
    relations(memory, llm_server).find(new, [near(old)], [])
    [row] = memory.jobs.spend().rows
    assert (row.calls, row.failures, bool(row.input_tokens)) == (1, 1, is_paid)
    assert row.last_failure.startswith("LLM_")


# -- never raises ----------------------------------------------------------------------------------------


class Raising:
    """A plug-in that raises what plug-ins raise."""

    name = "raising"

    def ask(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"the text was: {OLD}")


def test_t19_whatever_a_model_raises_is_an_issue_without_its_words(memory: Clew) -> None:
    old, new = pair(memory)
    purse = Spend(memory.store, SpendPolicy(), now=memory.now)
    asking = LlmRelations(Raising, LlmPolicy(), purse, now=memory.now)  # type: ignore[arg-type]
    findings, issues = asking.find(new, [near(old)], [old])
    assert findings == []
    assert [(one.code, one.detail) for one in issues] == [
        (CLASSIFICATION_FAILED, "RuntimeError"),
        (EXTRACTION_FAILED, "RuntimeError"),
    ]


def test_without_a_purse_nothing_is_asked(
    clew_at: Callable[..., Clew], llm_server: LlmServer, tmp_path: Path
) -> None:
    """A store that cannot be written to cannot say what was spent."""
    clew = clew_at(tmp_path / "home")
    old, new = pair(clew)
    asking = relations(clew, llm_server, context_limit=20)
    clew.store.close()
    findings, issues = asking.find(new, [near(old)], [old])
    assert findings == [] and [one.code for one in issues] == [CLASSIFICATION_FAILED, EXTRACTION_FAILED]
    assert llm_server.requests == []
