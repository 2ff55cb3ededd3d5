"""The start of a session: computed, logged, queued, once, and whatever fails the session goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import Broken, NoMan, Shelf, observation
from injector_toys import ranked

from clew.clew import Clew
from clew.deliver import run_beats
from clew.errors import Conflict, NotFound
from clew.inject import inject_context_for_claimed_session
from clew.model.inject import ContextInjectionLog
from clew.model.scope import Identity, Scope
from clew.model.session import AgentSession
from clew.providers.static import StaticEmbedder
from toys import ToyEmbedder

SHOP = Scope(project="shop")


@pytest.fixture
def shop(memory: Clew) -> Clew:
    memory.remember("AuthService depends on PostgresDB", scope=SHOP)
    memory.remember("The login loop came from the session cookie of AuthService", scope=SHOP)
    return memory


def claimed(clew: Clew, **item: Any) -> AgentSession:
    asked = {"project": "shop", "work_type": "bug_fix", "issue": "SHOP-7", "title": "Fix login loop in AuthService"}
    session = clew.sessions.start(**(asked | item))
    clew.sessions.claim(session.id, "worker-1")
    return clew.sessions.show(session.id)


def last(clew: Clew, session: AgentSession) -> ContextInjectionLog:
    return clew.inject.log(session.id)[-1]


def test_r061_r065_r067_a_block_is_logged_and_queued_as_it_is(shop: Clew) -> None:
    session = claimed(shop)
    block = shop.inject.start(session.id)
    [inject] = shop.queue.list(session.id)
    assert (inject.text, inject.phase, inject.observation_ids) == (block.text, "start", block.memory_ids)
    entry = last(shop, session)
    assert entry.delivered and entry.delivery_id == inject.delivery_id and entry.outcome == "injected"


def test_r071_c03_the_row_says_what_was_rendered_and_what_it_cost(shop: Clew) -> None:
    session = claimed(shop)
    block = shop.inject.start(session.id)
    entry = last(shop, session)
    assert entry.query_text == "SHOP-7 Fix login loop in AuthService" and entry.work_type == "bug_fix"
    assert (entry.budget_tokens, entry.graph_budget_tokens, entry.graph_status) == (750, 500, "ok")
    assert (entry.actual_observation_tokens, entry.actual_graph_tokens) == (
        block.observation_tokens,
        block.graph_tokens,
    )
    assert entry.observation_ids == block.memory_ids and entry.graph_edge_keys == block.graph_edge_keys
    assert entry.id and entry.timestamp and entry.org_id == "local" and entry.project_id == "shop"


def test_what_is_known_about_something_else_gives_no_facts(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    memory = clew_at(tmp_path / "real", embedder=StaticEmbedder())
    text = "The start page of ReportService depends on Kafka and Zookeeper and a nightly export of the whole ledger"
    memory.remember(text, scope=SHOP)
    memory.remember("AuthService depends on Redis", scope=SHOP)
    title = "Fix login loop in AuthService after the redirect from the identity provider of the customer"
    block = memory.inject.start(claimed(memory, title=title).id)
    assert [one.target_entity for one in block.triplets] == ["Redis"]


def test_r060_a_session_that_nobody_claimed_gets_nothing(shop: Clew) -> None:
    session = shop.sessions.start(project="shop", title="Fix login")
    with pytest.raises(Conflict, match="not claimed"):
        shop.inject.start(session.id)
    assert inject_context_for_claimed_session(shop, session.id).error == "SESSION_NOT_CLAIMED"
    assert not shop.inject.log(session.id)


def test_a_dry_run_writes_nothing_and_needs_no_claim(shop: Clew) -> None:
    session = shop.sessions.start(project="shop", title="Fix login loop in AuthService")
    assert shop.inject.start(session.id, dry_run=True).text
    assert not shop.inject.log(session.id) and not shop.queue.list(session.id)


def test_r062_r075_r077_switched_off_it_is_computed_and_logged_but_not_queued(shop: Clew) -> None:
    shop.projects.set("shop", "runtime-inject", False)
    session = claimed(shop)
    assert shop.inject.start(session.id).text
    entry = last(shop, session)
    assert not shop.queue.list(session.id)
    assert (entry.delivered, entry.outcome) == (False, "suppressed") and entry.observation_ids


def test_r003_memory_off_leaves_only_a_row_that_says_so(shop: Clew) -> None:
    shop.projects.set("shop", "memory", False)
    shop.inject.starter.memories.retrieve = None  # type: ignore[attr-defined]  # nothing may be looked for
    session = claimed(shop)
    assert shop.inject.start(session.id).text == ""
    entry = last(shop, session)
    assert (entry.graph_status, entry.outcome, entry.delivered) == ("memory_off", "disabled", False)
    assert not shop.inject.failures


def test_r061_r042_an_empty_block_is_logged_and_never_queued(memory: Clew) -> None:
    session = claimed(memory)
    assert inject_context_for_claimed_session(memory, session.id).reason == "empty"
    assert not memory.queue.list(session.id) and last(memory, session).graph_status == "no_match"


def test_r063_a_second_claim_changes_nothing(shop: Clew) -> None:
    session = claimed(shop)
    shop.inject.start(session.id)
    shop.sessions.claim(session.id, "worker-1")
    report = inject_context_for_claimed_session(shop, session.id)
    assert report.deduplicated and report.delivered and report.reason == "known"
    assert len(shop.queue.list(session.id)) == len(shop.inject.log(session.id)) == 1


def test_r063_another_block_is_another_row_and_another_inject(shop: Clew) -> None:
    session = claimed(shop)
    shop.inject.start(session.id)
    shop.remember("login loop in AuthService: see SHOP-7", scope=SHOP)
    assert not shop.inject.start_report(session.id).deduplicated
    assert len(shop.queue.list(session.id)) == len(shop.inject.log(session.id)) == 2


@pytest.mark.parametrize("is_handed_over", [True, False])
def test_a_weight_that_moved_is_no_reason_to_say_it_again(shop: Clew, is_handed_over: bool) -> None:
    session = claimed(shop)
    first = shop.inject.start(session.id)
    if is_handed_over:
        token = shop.sessions.claim(session.id, "worker-1")
        delivery = shop.queue.claim(session.id, "worker-1", token)
        assert delivery and shop.queue.ack(session.id, delivery.delivery_id, "worker-1", token)
    other = claimed(shop)
    shop.inject.start(other.id)
    shop.sessions.end(other.id, outcome="rejected")
    report = shop.inject.start_report(session.id)
    assert report.block.text != first.text
    assert (report.delivered, report.reason, report.deduplicated) == (True, "known", True)
    assert len(shop.queue.list(session.id)) == len(shop.inject.log(session.id)) == 1


def test_what_is_left_of_a_block_that_will_not_be_delivered_is_said(shop: Clew) -> None:
    gone = shop.remember("login loop in AuthService: see SHOP-7", scope=SHOP)
    session = claimed(shop)
    token = shop.sessions.claim(session.id, "worker-1")
    shop.inject.start(session.id)
    shop.forget(gone.id)
    left = shop.inject.start(session.id).text
    delivery = shop.queue.claim(session.id, "worker-1", token)
    assert delivery and delivery.text == left


def told_and_acknowledged(clew: Clew, session: AgentSession) -> str:
    """What a start brings the agent now; '' for nothing."""
    token = clew.sessions.claim(session.id, "worker-1")
    clew.inject.start(session.id)
    delivery = clew.queue.claim(session.id, "worker-1", token)
    if delivery is None:
        return ""
    assert clew.queue.ack(session.id, delivery.delivery_id, "worker-1", token)
    return delivery.text


def test_a_correction_that_is_taken_back_is_said(shop: Clew) -> None:
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    other = shop.remember("The login loop of AuthService: see SHOP-7", scope=SHOP)
    session = claimed(shop)
    assert "redis" in told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is memcached")
    assert "memcached" in told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is redis")
    shop.forget(other.id)
    assert "redis" in told_and_acknowledged(shop, session)
    assert told_and_acknowledged(shop, session) == ""


def test_a_block_that_is_right_again_is_said_again(shop: Clew) -> None:
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    session = claimed(shop)
    first = told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is memcached")
    second = told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is redis")
    third = told_and_acknowledged(shop, session)
    assert third == first != second
    assert [one.state for one in shop.queue.list(session.id)] == ["acked", "acked", "acked"]
    assert told_and_acknowledged(shop, session) == ""


def handed_out(clew: Clew, session: AgentSession) -> str:
    """What a start brings its worker now, which says nothing of it any more; '' for nothing."""
    token = clew.sessions.claim(session.id, "worker-1")
    clew.inject.start(session.id)
    delivery = clew.queue.claim(session.id, "worker-1", token)
    return delivery.text if delivery else ""


def test_a_correction_that_is_taken_back_before_it_is_acknowledged_is_corrected(shop: Clew) -> None:
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    session = claimed(shop)
    first = told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is memcached")
    assert "memcached" in handed_out(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is redis")
    assert told_and_acknowledged(shop, session) == first
    assert told_and_acknowledged(shop, session) == ""


def test_a_correction_that_never_left_the_queue_needs_no_other(shop: Clew) -> None:
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    session = claimed(shop)
    told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is memcached")
    shop.inject.start(session.id)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is redis")
    assert told_and_acknowledged(shop, session) == ""


def test_what_was_handed_out_and_taken_back_comes_under_another_id_when_it_is_right_again(shop: Clew) -> None:
    """A worker may have given it, and gives none twice that it knows."""
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    session = claimed(shop)
    told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is memcached")
    corrected = handed_out(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is redis")
    told_and_acknowledged(shop, session)
    shop.edit(cache.id, content="The login loop of AuthService: its cache is memcached")
    assert told_and_acknowledged(shop, session) == corrected
    told = shop.queue.list(session.id)
    assert [one.state for one in told] == ["acked", "cancelled", "acked", "acked"]
    assert told[1].text == told[3].text == corrected


class Corrected:
    """An agent whose memory is corrected in one turn, and as it was before in a later one."""

    def __init__(self, clew: Clew, session: AgentSession, id: str) -> None:
        self._clew, self._session, self._id = clew, session, id
        self._turns = ["", "memcached", "", "redis", ""]
        self.heard: list[str] = []

    def inject(self, text: str) -> None:
        self.heard.append(text)

    def wait(self, seconds: float) -> bool:
        if name := self._turns.pop(0):
            self._clew.edit(self._id, content=f"The login loop of AuthService: its cache is {name}")
            self._clew.inject.start(self._session.id)
        return not self._turns


def test_a_worker_that_has_given_a_block_gives_it_again_when_it_is_right_again(shop: Clew) -> None:
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    session = claimed(shop)
    agent = Corrected(shop, session, cache.id)
    run_beats(agent, clew=shop, session_id=session.id, worker_id="worker-1", beat_s=0)
    assert ["redis" in text for text in agent.heard] == [True, False, True]


def test_what_is_told_once_more_in_vain_was_delivered_the_first_time(shop: Clew) -> None:
    cache = shop.remember("The login loop of AuthService: its cache is redis", scope=SHOP)
    session = claimed(shop)
    for name in ("memcached", "redis"):
        told_and_acknowledged(shop, session)
        shop.edit(cache.id, content=f"The login loop of AuthService: its cache is {name}")
    shop.inject.start(session.id)
    shop.sessions.end(session.id)
    assert [entry.delivered for entry in shop.inject.log(session.id)] == [True, True, False]
    assert shop.report().delivered == 2


def test_r063_switched_on_between_two_claims_the_second_delivers(shop: Clew) -> None:
    shop.projects.set("shop", "runtime-inject", False)
    session = claimed(shop)
    shop.inject.start(session.id)
    shop.inject.start(session.id)
    shop.projects.set("shop", "runtime-inject", True)
    shop.inject.start(session.id)
    assert [entry.delivered for entry in shop.inject.log(session.id)] == [False, True]


@pytest.mark.parametrize(
    ("switch", "work_type", "status"),
    [("graph", "bug_fix", "graph_off"), (None, "chore", "work_type_excluded"), (None, "bug_fix", "ok")],
)
def test_r001_r073_c15_both_gates_and_their_reasons(
    shop: Clew, switch: str | None, work_type: str, status: str
) -> None:
    if switch:
        shop.projects.set("shop", switch, False)
    session = claimed(shop, work_type=work_type)
    block = shop.inject.start(session.id)
    assert last(shop, session).graph_status == status
    assert bool(block.graph_node_ids) == ("Knowledge Graph" in block.text) == (status == "ok")


@pytest.mark.parametrize("setting", ["write", "recall"])
def test_the_settings_of_the_graph_close_it_for_every_project(
    clew_at: Callable[..., Clew], tmp_path: Path, setting: str
) -> None:
    clew = clew_at(tmp_path, graph={setting: False})
    clew.remember("AuthService depends on PostgresDB", scope=SHOP)
    session = claimed(clew)
    clew.inject.start(session.id)
    assert last(clew, session).graph_status == "graph_off"


def test_the_matrix_rules_budgets_top_k_and_depth(shop: Clew) -> None:
    shop.matrix.set("bug_fix", org="local", observation_budget=33, graph_budget=9, top_k=1, depth=1)
    block = shop.inject.start(claimed(shop).id)
    assert (block.budget_tokens, block.graph_budget_tokens) == (33, 9)
    assert block.observation_tokens <= 33 and block.graph_status == "over_budget"


def test_r022_the_work_item_comes_from_the_session_alone(shop: Clew) -> None:
    session = claimed(shop, issue=None, title=None, description=None, issue_id="9f0c")
    shop.inject.start(session.id)
    assert last(shop, session).query_text == "9f0c"


def test_every_candidate_is_logged_with_both_ranks(shop: Clew) -> None:
    session = claimed(shop)
    block = shop.inject.start(session.id)
    entry = last(shop, session)
    ranks = ranked(shop, entry.id)
    assert {id for id, is_injected, _rank in ranks if is_injected} == set(block.memory_ids) and len(ranks) == 2


def test_the_orgs_weighting_switch_is_heard(shop: Clew) -> None:
    near, far = (observation(text, id=f"mem_{text}", relevance=relevance, weight=weight)
                 for text, relevance, weight in (("near", 0.9, 0.1), ("far", 0.5, 1.0)))  # fmt: skip
    starter = replace(shop.inject.starter, memories=Shelf([near, far]))
    session = claimed(shop)
    assert starter.start(session, dry_run=True).block.memory_ids == ("mem_far", "mem_near")
    shop.orgs.features(feedback_weighting=False)
    assert starter.start(session, dry_run=True).block.memory_ids == ("mem_near", "mem_far")


def test_a_session_of_another_org_is_not_found(shop: Clew) -> None:
    session = claimed(shop)
    with pytest.raises(NotFound):
        shop.inject.start(session.id, identity=Identity("acme"))


def test_a_session_is_served_by_whoever_runs_the_workers_of_its_org(shop: Clew) -> None:
    acme = Identity("acme", user="ops", roles=("operator",))
    shop.remember("AuthService depends on PostgresDB", scope=Scope("acme", "shop"), identity=Identity("acme"))
    session = shop.sessions.start(project="shop", title="Fix AuthService", identity=acme)
    shop.sessions.claim(session.id, "w", identity=acme)
    assert inject_context_for_claimed_session(shop, session.id).error == "SESSION_NOT_FOUND"
    report = inject_context_for_claimed_session(shop, session.id, identity=acme)
    assert report.delivered and "PostgresDB" in report.block.text


def test_c16_a_stage_without_an_agent_is_shown_nothing(shop: Clew) -> None:
    session = claimed(shop, agent=None)
    assert shop.inject.start(session.id).text == "" and last(shop, session).graph_status == "all_denied"


# -- whatever fails ------------------------------------------------------------------------------------


class BrokenEmbedder(ToyEmbedder):
    def embed(self, texts: Any) -> Any:
        raise RuntimeError("no model")


def test_r057_an_embedder_that_fails_leaves_words(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    good = clew_at(tmp_path, embedder=ToyEmbedder())
    good.remember("AuthService depends on PostgresDB", scope=SHOP)
    clew = clew_at(tmp_path, embedder=BrokenEmbedder())
    session = claimed(clew)
    assert "PostgresDB" in clew.inject.start(session.id).text and last(clew, session).delivered


@pytest.mark.parametrize(
    ("part", "statuses"),
    [("memories", {"ok"}), ("engine", {"error"}), ("pep", {"error"}), ("switches", {"error"}), ("transfer", {"ok"}),
     ("summaries", {"ok"})],
)  # fmt: skip
def test_r064_r075_a_part_that_fails_costs_only_its_part(shop: Clew, part: str, statuses: set[str]) -> None:
    session = claimed(shop)
    broken: Any = Broken().anything if part in ("transfer", "summaries") else Broken()
    report = replace(shop.inject.starter, **{part: broken}).start(session)
    entry = last(shop, session)
    assert entry.graph_status in statuses and entry.observation_ids == report.block.memory_ids
    assert bool(report.block.memory_ids) == (part not in ("memories", "pep", "switches"))


def test_r057_policies_that_deny_all_leave_an_empty_block_and_a_row(shop: Clew) -> None:
    session = claimed(shop)
    report = replace(shop.inject.starter, pep=NoMan()).start(session)
    assert report.block.text == "" and last(shop, session).graph_status == "all_denied"


def test_r064_a_queue_that_fails_does_not_cost_the_log_row(shop: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    session = claimed(shop)
    monkeypatch.setattr("clew.inject.start.queue.put", Broken().put)
    report = inject_context_for_claimed_session(shop, session.id)
    assert (report.delivered, report.error, report.reason) == (False, "RuntimeError", "enqueue_failed")
    assert report.log_id == last(shop, session).id and not last(shop, session).delivered
    assert shop.inject.failures == {"enqueue": 1}


def test_r064_a_full_queue_is_no_failure(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, deliver={"max_pending": 1})
    clew.remember("AuthService depends on PostgresDB", scope=SHOP)
    session = claimed(clew)
    clew.queue.enqueue(session.id, "something else")
    report = inject_context_for_claimed_session(clew, session.id)
    assert (report.delivered, report.reason, report.error) == (False, "queue_full", None)
    assert not last(clew, session).delivered


@pytest.mark.parametrize("most_bytes", [700, 2_000, 4_000])
def test_a_block_is_packed_to_what_the_queue_takes(
    clew_at: Callable[..., Clew], tmp_path: Path, most_bytes: int
) -> None:
    clew = clew_at(tmp_path, deliver={"max_text_bytes": most_bytes})
    clew.remember("SHOP-7 AuthService depends on PostgresDB, 接続は切断される", scope=SHOP)
    for number in range(9):
        clew.remember(f"SHOP-7 {number}: " + "接続は六十秒後に切断される。" * 9, scope=SHOP)
    for _ in range(2):  # and a summary of the first
        session = claimed(clew, work_type="bug_fix")
        report = clew.inject.start_report(session.id)
        clew.sessions.end(session.id, outcome="accepted", summary="接続は切断される。" * 20)
    assert (report.delivered, report.reason) == (True, "")
    assert most_bytes / 2 < len(report.block.text.encode()) <= most_bytes
    assert any(one.reason == "over_budget" for one in report.block.skipped)


def test_r076_a_log_that_fails_does_not_cost_the_session(shop: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    session = claimed(shop)
    monkeypatch.setattr("clew.inject.start.write_log", Broken().write)
    report = inject_context_for_claimed_session(shop, session.id)
    assert report.block.text and report.log_id is None and report.error == "RuntimeError"
    assert not shop.queue.list(session.id), "the inject and its row are one transaction"
    assert shop.inject.failures == {"enqueue": 1, "log": 1}


def test_r064_a_store_that_is_gone_raises_nothing(shop: Clew) -> None:
    session = claimed(shop)
    starter = shop.inject.starter
    shop.close()
    report = starter.start(session)
    assert report.block.text == "" and report.error == "STORE_CLOSED"
    assert inject_context_for_claimed_session(shop, session.id).error == "STORE_CLOSED"


def test_r012_only_the_projects_switch_decides_whether_anything_is_delivered(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    clew = clew_at(tmp_path, inject={"enabled": False})  # that is about tool calls
    clew.remember("AuthService depends on PostgresDB", scope=SHOP)
    assert clew.inject.start_report(claimed(clew).id).delivered
    clew.projects.set("shop", "runtime-inject", False)
    assert not clew.inject.start_report(claimed(clew).id).delivered


def test_r074_what_the_row_names_is_what_an_outcome_teaches(shop: Clew) -> None:
    session = claimed(shop)
    [first, *_rest] = shop.inject.start(session.id).memory_ids
    shop.sessions.end(session.id, "rejected")
    assert shop.show(first).weight == pytest.approx(0.85)


def test_c08_the_block_is_text_for_whatever_channel(shop: Clew) -> None:
    session = claimed(shop)
    block = shop.inject.start(session.id)
    beat = shop.sessions.refresh(session.id, "worker-1", session.fencing_token)
    assert beat.inject and beat.inject.text == block.text
