"""The job after a write: vectors, neighbours, rules; saved as one, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.model.job import Done, Failed, Job
from clew.model.relation import CLASSIFICATION_FAILED, LLM, SYNC_FAILED, Finding, Issue
from clew.model.scope import Scope
from clew.relate.relate import NOT_ACTIVE, REQUEST_FAILED, RESPONSE_INVALID, Relator
from lease_clock import LeaseClock
from told_relations import SHOP, OpenAt, ToldEmbedder, both_ways, edges, open_told, remember, replace, rows

NEAR = {"one": [1.0, 0.0], "two": [1.0, 0.1], "three": [0.0, 1.0]}


def answer(clew: Clew, id: str, *, llm: Any = None, operation: str = "add") -> Done | Failed:
    """What the handler makes of a job for this memory."""
    now = clew.clock.now()
    job = Job("local", "relate", id, operation, "leased", 1, 1, now, "", "", now, now, token=1)
    relator = clew.jobs._relator
    [made] = Relator(relator._sources, relator._policy, graph=relator._graph, llm=llm).handle([job])
    return made


def remote(clew_at: OpenAt, folder: Path, **embedder: Any) -> tuple[Clew, ToldEmbedder]:
    """The write path does not wait for it: vectors come with the job."""
    told = ToldEmbedder(NEAR, is_remote=True, **embedder)
    return clew_at(folder / "home", embedder=told), told


def graph(clew: Clew) -> list[tuple[Any, ...]]:
    return rows(clew, "SELECT * FROM graph_edges") + rows(clew, "SELECT * FROM graph_evidence")


class FakeLlm:
    """Says what it is told."""

    def __init__(self, findings: list[Finding], issues: list[Issue]) -> None:
        self.findings, self.issues = findings, issues
        self.heard: list[tuple[str, list[str], list[str]]] = []

    def find(self, memory: Any, neighbours: Any, recent: Any) -> tuple[list[Finding], list[Issue]]:
        near = [one.memory.content for one in neighbours]
        self.heard.append((memory.content, near, [one.content for one in recent]))
        return self.findings, self.issues


def test_t24_a_new_memory_is_connected_with_its_neighbour(clew_at: OpenAt, tmp_path: Path) -> None:
    clew, _told = remote(clew_at, tmp_path)
    remember(clew, *NEAR)
    ran = clew.jobs.run()
    assert (ran.processed, ran.success) == (3, 3)
    assert edges(clew) == both_ways("similar_to", "one", "two")


def test_run_twice_it_changes_nothing(clew_at: OpenAt, tmp_path: Path) -> None:
    clew, told = remote(clew_at, tmp_path)
    ids = remember(clew, *NEAR)
    clew.jobs.run()
    before, asked = graph(clew), list(told.asked)
    for id in ids:
        made = answer(clew, id)
        assert isinstance(made, Done)
        assert made.save is not None
        clew.store.write(made.save)
    assert graph(clew) == before
    assert told.asked == asked


def test_all_missing_vectors_of_a_batch_are_asked_for_at_once(clew_at: OpenAt, tmp_path: Path) -> None:
    clew, told = remote(clew_at, tmp_path)
    remember(clew, *NEAR)
    clew.jobs.run()
    assert sorted(told.asked) == sorted(NEAR)


def test_t26_i11_a_vector_that_is_stored_is_not_asked_for_again(clew_at: OpenAt, tmp_path: Path) -> None:
    clew, told = remote(clew_at, tmp_path)
    leases = LeaseClock(clew.store)  # type: ignore[arg-type]
    [_one, _two] = remember(clew, "one", "two")
    rows(clew, """CREATE TRIGGER fails BEFORE INSERT ON graph_edges WHEN new.edge_type = 'similar_to'
                  BEGIN SELECT RAISE(ABORT, 'told to'); END""")  # fmt: skip
    assert clew.jobs.run().retries == 2
    [job, _other] = clew.jobs.list()
    assert job.code == SYNC_FAILED
    assert rows(clew, "SELECT count(*) FROM memory_embeddings") == [(2,)]
    rows(clew, "DROP TRIGGER fails")
    leases.pass_by(60)
    assert clew.jobs.run().success == 2
    assert len(told.asked) == 2
    assert edges(clew) == both_ways("similar_to", "one", "two")


def test_a_failing_embedder_is_tried_again_and_its_words_are_not_kept(clew_at: OpenAt, tmp_path: Path) -> None:
    clew, _told = remote(clew_at, tmp_path, failing=OSError("one: the text itself"))
    [one] = remember(clew, "one")
    assert answer(clew, one) == Failed(REQUEST_FAILED, "OSError")


def test_an_answer_that_is_no_vector_is_not_asked_for_again(clew_at: OpenAt, tmp_path: Path) -> None:
    clew, told = remote(clew_at, tmp_path)
    [one] = remember(clew, "one")
    told.told = NEAR | {"one": [float("nan"), 0.0]}
    made = answer(clew, one)
    assert isinstance(made, Failed)
    assert (made.code, made.retryable) == (RESPONSE_INVALID, False)


def test_a_memory_that_is_gone_or_over_is_skipped(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, two, three] = remember(clew, *NEAR)
    clew.forget(one)
    clew.forget(two, hard=True)
    clew.edit(three, expires_at=clew.clock.now())
    assert [answer(clew, id) for id in (one, two, three)] == [Done(skipped=NOT_ACTIVE)] * 3


def test_while_the_graph_is_not_written_nothing_is_looked_for(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR, graph={"write": False})
    [one, _two] = remember(clew, "one", "two")
    assert answer(clew, one) == Done(skipped="GRAPH_WRITE_OFF")


def test_without_an_embedder_rules_still_work(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = clew_at(tmp_path / "home")
    texts = ("AuthService listens on port 8443.", "AuthService listens on port 9443.")
    remember(clew, *texts)
    clew.jobs.run()
    assert edges(clew) == both_ways("contradicts", *texts)


def test_without_an_embedder_memories_that_share_words_are_compared(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = clew_at(tmp_path)
    texts = ("The gateway listens on port 8080", "The gateway listens on port 9090")
    remember(clew, *texts)
    clew.jobs.run()
    assert edges(clew) == both_ways("contradicts", *texts)


def test_a_remote_model_is_asked_also_while_the_graph_is_not_written(clew_at: OpenAt, tmp_path: Path) -> None:
    model = ToldEmbedder({"one": [1, 0]}, is_remote=True)
    clew = clew_at(tmp_path, embedder=model, graph={"write": False})
    remember(clew, "one")
    clew.jobs.run()
    assert model.asked == ["one"]


def test_nothing_is_saved_of_a_text_that_changed_meanwhile(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, _two] = remember(clew, "one", "two")
    made = answer(clew, one)
    assert isinstance(made, Done)
    assert made.save is not None
    clew.edit(one, content="three")
    with pytest.raises(Exception, match="changed meanwhile"):
        clew.store.write(made.save)
    assert not edges(clew)
    clew.jobs.run()
    assert not edges(clew)


def test_an_edit_of_the_tags_meanwhile_costs_nothing(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, _two] = remember(clew, "one", "two")
    made = answer(clew, one)
    clew.edit(one, tags=("new",))
    assert isinstance(made, Done)
    assert made.save is not None
    clew.store.write(made.save)
    assert edges(clew) == both_ways("similar_to", "one", "two")


def test_w8_who_spoke_of_a_text_that_changed_is_asked_again(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = clew_at(tmp_path / "home")
    fact, change = "AuthService uses Redis for sessions.", "AuthService no longer uses Redis for sessions."
    [old, new] = remember(clew, fact, change)
    clew.jobs.run()
    clew.edit(old, content="AuthService uses Redis for caching.")
    assert edges(clew) == {(change, "supersedes", "AuthService uses Redis for caching.")}
    clew.jobs.run()
    assert not edges(clew)
    clew.edit(old, content=fact)
    clew.edit(new, content=change + " It is gone.")
    clew.jobs.run()
    assert edges(clew) == {(change + " It is gone.", "supersedes", fact)}
    assert not clew.jobs.list()  # nobody asks in circles


def test_a_memory_that_was_never_mapped_is_mapped_first(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR, graph={"write": False})
    remember(clew, "one", "two")
    clew.close()
    again = open_told(clew_at, tmp_path, NEAR)
    assert again.jobs.run().success == 2
    assert edges(again) <= both_ways("similar_to", "one", "two")
    assert ("two", "similar_to", "one") in edges(again)


def test_a_language_model_gets_neighbours_and_the_newest_and_adds_what_it_finds(
    clew_at: OpenAt, tmp_path: Path
) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, two, _three] = remember(clew, *NEAR)
    llm = FakeLlm([Finding("depends_on", two, 0.9, LLM)], [])
    made = answer(clew, one, llm=llm)
    assert isinstance(made, Done)
    assert made.save is not None
    clew.store.write(made.save)
    assert llm.heard == [("one", ["two", "three"], ["three", "two"])]
    assert ("one", "depends_on", "two") in edges(clew)


def test_what_a_model_said_before_stays_while_it_does_not_answer(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, two, _three] = remember(clew, *NEAR)
    replace(clew, one, Finding("depends_on", two, 0.9, LLM))
    issue = Issue(CLASSIFICATION_FAILED, "classification", one)
    made = answer(clew, one, llm=FakeLlm([], [issue]))
    assert isinstance(made, Done)
    assert made.issues == (issue,)
    assert made.save is not None
    clew.store.write(made.save)
    assert ("one", "depends_on", "two") in edges(clew)


def test_the_scope_of_the_memory_is_as_far_as_it_looks(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    remember(clew, "one", scope=Scope(project="other"))
    [_two] = remember(clew, "two", scope=SHOP)
    clew.jobs.run()
    assert not edges(clew)


PORTS = ("AuthService listens on port 8443.", "AuthService listens on port 9443.")


def saved(clew: Clew, made: Done | Failed) -> None:
    assert isinstance(made, Done) and made.save is not None
    clew.store.write(made.save)


@pytest.mark.parametrize("changes", [{"content": "AuthService is gone."}, {"paths": ("a.py",)}, {"author": "ada"}])
def test_nothing_is_saved_against_a_neighbour_that_changed_meanwhile(
    clew_at: OpenAt, tmp_path: Path, changes: dict[str, Any]
) -> None:
    clew = clew_at(tmp_path / "home")
    [old, new] = remember(clew, *PORTS)
    clew.jobs.run()
    made = answer(clew, new)
    clew.edit(old, **changes)
    saved(clew, made)
    assert sorted(job.subject for job in clew.jobs.list()) == sorted([old, new])
    clew.jobs.run()
    still = both_ways("contradicts", *PORTS) if "content" not in changes else set()
    assert edges(clew) == still


def test_likeness_to_a_neighbour_that_changed_meanwhile_is_not_saved_either(
    clew_at: OpenAt, tmp_path: Path
) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, two] = remember(clew, "one", "two")
    clew.jobs.run()
    made = answer(clew, one)
    clew.edit(two, content="three")
    clew.jobs.run()
    saved(clew, made)
    assert not edges(clew)
    assert [job.subject for job in clew.jobs.list()] == [one]


def test_a_neighbour_that_is_gone_asks_nobody_again(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = clew_at(tmp_path / "home")
    [old, new] = remember(clew, *PORTS)
    clew.jobs.run()
    made = answer(clew, new)
    clew.forget(old)
    saved(clew, made)
    assert not clew.jobs.list()


def test_w8_everybody_who_spoke_of_a_text_that_changed_is_asked_again(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, {"hub": [1.0, 0.0]}, relate={"rules": False})
    [hub, *others] = remember(clew, "hub", *(f"spoke {number}" for number in range(50)))
    clew.jobs.run()
    for other in others:
        replace(clew, other, Finding("depends_on", hub, 0.9, LLM))
    clew.edit(hub, content="another hub")
    clew.jobs.run(limit=1)
    asked = {job.subject: job.operation for job in clew.jobs.list(limit=100)}
    assert asked == dict.fromkeys(others, "neighbour")


def test_an_edit_that_waits_for_a_new_model_still_asks_who_spoke_of_it(clew_at: OpenAt, tmp_path: Path) -> None:
    fact, change = "AuthService uses Redis for sessions.", "AuthService no longer uses Redis for sessions."
    with open_told(clew_at, tmp_path, NEAR) as before:
        [old, _new] = remember(before, fact, change)
        before.jobs.run()
    with clew_at(tmp_path / "told") as without:
        without.edit(old, content="Bananas are yellow.")
    clew = open_told(clew_at, tmp_path, NEAR)
    assert clew.jobs.backfill.run().done == 1
    clew.jobs.run()
    assert not edges(clew)


@pytest.mark.parametrize(
    ("off", "texts"), [({"rules": False}, PORTS), ({"max_similar": 0}, ("one", "two"))], ids=["rules", "likeness"]
)
def test_what_is_switched_off_finds_nothing_any_more(
    clew_at: OpenAt, tmp_path: Path, off: dict[str, Any], texts: tuple[str, str]
) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    ids = remember(clew, *texts)
    clew.jobs.run()
    assert edges(clew)
    clew.close()
    again = open_told(clew_at, tmp_path, NEAR, relate=off)
    for id in ids:
        again.jobs.retry(id)
    again.jobs.run()
    assert not edges(again)


def test_likeness_that_is_switched_off_goes_also_without_a_model(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, _two] = remember(clew, "one", "two")
    clew.jobs.run()
    clew.close()
    again = clew_at(tmp_path / "told", relate={"max_similar": 0})
    again.jobs.retry(one)
    again.jobs.run()
    assert not edges(again)


def test_a_switch_of_model_does_not_pay_for_the_same_texts_again(clew_at: OpenAt, tmp_path: Path) -> None:
    clew = open_told(clew_at, tmp_path, NEAR)
    [one, two, _three] = remember(clew, *NEAR)
    replace(clew, one, Finding("depends_on", two, 0.9, LLM))
    llm = FakeLlm([], [])
    saved(clew, answer(clew, one, llm=llm, operation="backfill"))
    assert not llm.heard
    assert ("one", "depends_on", "two") in edges(clew)  # what it said before holds
