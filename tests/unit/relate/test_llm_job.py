"""Relations by a language model from a write to the graph: the real queue, client and store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.model.job import Ran
from clew.providers.llm import extra_missing
from llm_server import PAIR, RELATIONS, LlmServer, edge, fails, judged, related
from llm_toys import NEW, OLD, model
from told_relations import ToldEmbedder, edges, rows
from traces import traces

FAR = "The build takes nine minutes on Mondays"
VECTORS = {
    OLD: (1.0, 0.0, 0.0),
    NEW: (0.8, 0.6, 0.0),
    FAR: (0.0, 0.0, 1.0),
}  # a cosine of 0.8 between the first two
SAME = {OLD: (1.0, 0.0), NEW: (0.88, 0.475)}  # similar, and still worth a question


@pytest.fixture
def open_asking(clew_at: Callable[..., Clew], llm_server: LlmServer, tmp_path: Path) -> Callable[..., Clew]:
    def open_it(vectors: Any = VECTORS, *, make_llm: Any = None, **llm: Any) -> Clew:
        asked = {"enabled": True, "model": "toy-model"} | llm
        embedder = ToldEmbedder(vectors)
        make = make_llm or (lambda: model(llm_server))
        return clew_at(tmp_path / "home", embedder=embedder, make_llm=make, llm=asked, relate={"rules": False})

    return open_it


def last_run(clew: Clew, id: str) -> Any:
    return clew.jobs.show(id).runs[0]


def test_t24_a_contradiction_reaches_the_graph_both_ways(
    open_asking: Callable[..., Clew], llm_server: LlmServer
) -> None:
    llm_server.answers[PAIR] = judged("contradicts", 0.92)
    clew = open_asking()
    clew.remember(OLD), clew.remember(NEW)
    assert llm_server.requests == []  # a write waits for none of this
    assert clew.jobs.run().success == 2
    assert edges(clew) == {(OLD, "contradicts", NEW), (NEW, "contradicts", OLD)}


def test_t17_a_refinement_reaches_the_graph_one_way(
    open_asking: Callable[..., Clew], llm_server: LlmServer
) -> None:
    clew = open_asking()
    clew.remember(OLD)
    clew.jobs.run()
    llm_server.answers[PAIR] = judged("refines", 0.88)
    clew.remember(NEW)
    clew.jobs.run()
    assert edges(clew) == {(NEW, "supersedes", OLD)}


def test_t21_relations_found_twice_are_in_the_graph_once(
    open_asking: Callable[..., Clew], llm_server: LlmServer
) -> None:
    clew = open_asking({OLD: (1.0, 0.0), NEW: (0.0, 1.0)})
    clew.remember(OLD)
    clew.jobs.run()
    kinds = ("caused_by", "prefers_over", "depends_on", "specializes")
    condition = edge("conditional_on", None, condition_key="time:now")
    llm_server.answers[RELATIONS] = related(*map(edge, kinds), condition)
    id = clew.remember(NEW).id
    clew.jobs.run()
    first = edges(clew)
    clew.jobs.retry(id)
    clew.jobs.run()
    assert edges(clew) == first == {(NEW, kind, OLD) for kind in kinds} | {(NEW, "conditional_on", "time:now")}
    assert len(rows(clew, "SELECT 1 FROM graph_nodes WHERE node_type = 'condition'")) == 1
    assert len(llm_server.requests) == 2


def test_t25_a_model_that_fails_leaves_likeness_and_the_job_is_done(
    open_asking: Callable[..., Clew], llm_server: LlmServer
) -> None:
    clew = open_asking(SAME)
    clew.remember(OLD)
    clew.jobs.run()
    llm_server.answers = dict.fromkeys((PAIR, RELATIONS), fails(503))
    id = clew.remember(NEW).id
    ran = clew.jobs.run()
    assert (ran.processed, ran.success, ran.degraded, ran.retries, ran.left) == (1, 1, 1, 0, 0)
    assert last_run(clew, id).code == "GRAPH_RELATIONSHIP_PARTIAL_DEGRADE"
    assert last_run(clew, id).message == (
        "relationship_issues=2;GRAPH_LLM_CLASSIFICATION_FAILED:1,GRAPH_LLM_SEMANTIC_EXTRACTION_FAILED:1"
    )
    assert edges(clew) == {(OLD, "similar_to", NEW), (NEW, "similar_to", OLD)}
    assert len(llm_server.requests) == 2 and clew.jobs.run() == Ran()


def test_d3_the_quote_and_the_explanation_are_kept_with_the_witness(
    open_asking: Callable[..., Clew], llm_server: LlmServer
) -> None:
    clew = open_asking()
    clew.remember(OLD)
    clew.jobs.run()
    llm_server.answers[PAIR] = judged("refines", 0.9, "in Postgres now", "It moved.")
    clew.remember(NEW)
    clew.jobs.run()
    found = rows(clew, "SELECT sentence, explanation FROM graph_evidence WHERE origin = 'llm'")
    assert found == [("in Postgres now", "It moved.")]


ERASED = "The hint of the vault is zqquokka 7391, told by Zqann"


@pytest.mark.parametrize("end", [OLD, ERASED, NEW])
def test_i10_nothing_that_a_model_said_of_an_erased_memory_is_left(
    open_asking: Callable[..., Clew], llm_server: LlmServer, tmp_path: Path, end: str
) -> None:
    """Neither as an end of a relation nor as a text that was shown beside them."""
    clew = open_asking(dict.fromkeys((OLD, NEW, ERASED), (1.0, 0.0)))
    secret = {OLD: "zqday", NEW: "zqnow", ERASED: "zqquokka"}[end]
    ids = {text: clew.remember(text if text is ERASED else f"{text} {word}").id
           for text, word in ((ERASED, ""), (OLD, "zqday"))}  # fmt: skip
    clew.jobs.run()
    told = "It needs what the other one says, " + secret
    llm_server.answers[RELATIONS] = related(
        edge("depends_on", 1, explanation=told, evidence=secret),
        edge("caused_by", 2, explanation=told, evidence=secret),
        edge("conditional_on", None, condition_key=f"hint:{secret}", explanation=told),
        edge("conditional_on", None, condition_key=f"time:{secret}", explanation=told),
    )
    ids[NEW] = clew.remember(f"{NEW} zqnow").id
    clew.jobs.run()
    assert {"depends_on", "caused_by"} <= {kind for _one, kind, _other in edges(clew)}
    clew.forget(ids[end], hard=True)
    clew.close()
    assert traces(tmp_path / "home", [secret]) == []


def test_without_the_extra_likeness_goes_on_and_the_run_names_what_is_missing(
    open_asking: Callable[..., Clew],
) -> None:
    def missing() -> Any:
        raise extra_missing()

    clew = open_asking(SAME, make_llm=missing)
    clew.remember(OLD)
    id = clew.remember(NEW).id
    assert clew.jobs.run().success == 2
    assert last_run(clew, id).message == "relationship_issues=1;LLM_EXTRA_MISSING:1"
    assert len(edges(clew, "similar_to")) == 2


def test_what_a_model_said_stays_while_it_does_not_answer(
    open_asking: Callable[..., Clew], llm_server: LlmServer
) -> None:
    llm_server.answers[PAIR] = judged("contradicts")
    clew = open_asking()
    clew.remember(OLD)
    id = clew.remember(NEW).id
    clew.jobs.run()
    llm_server.answers[PAIR] = fails(500)
    clew.jobs.retry(id)
    clew.jobs.run()
    assert len(edges(clew, "contradicts")) == 2


def test_an_exhausted_budget_is_named_in_the_run(open_asking: Callable[..., Clew], llm_server: LlmServer) -> None:
    clew = open_asking(daily_tokens=0)
    clew.remember(OLD)
    id = clew.remember(NEW).id
    clew.jobs.run()
    assert last_run(clew, id).message == "relationship_issues=2;LLM_BUDGET_EXHAUSTED:2"
    assert llm_server.requests == []


def test_switched_off_nothing_is_asked(open_asking: Callable[..., Clew], llm_server: LlmServer) -> None:
    clew = open_asking(enabled=False)
    clew.remember(OLD), clew.remember(NEW)
    assert clew.jobs.run().success == 2 and llm_server.requests == []
