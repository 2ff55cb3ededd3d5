"""`clew.inject.event`: tool calls of real sessions, through recall and Cedar onto the queue and into the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from injector_toys import SHOP, logged, ranked, running, said

from clew.clew import Clew
from clew.errors import InvalidInput, NotFound
from clew.model.inject import VerbEvent
from clew.model.scope import Identity, Scope
from toys import ToyEmbedder

PATH = "src/pay/vat.py"
NOTE = "VAT is rounded per line, never on the total"
NO_CONFIDENCES = """forbid (principal, action == Mem::Action::"inject", resource)
when { resource.classification == "confidential" };"""


def deny_by_policy(clew: Clew) -> None:
    clew.policies.load(NO_CONFIDENCES, name="none")


def deny_by_clearance(clew: Clew) -> None:
    clew.policies.agent("bob", clearance=1)


@pytest.fixture
def shop(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """A project with one note about a file."""
    clew = clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})
    clew.remember(NOTE, scope=SHOP, paths=(PATH,))
    return clew


def test_r085_a_match_is_put_on_the_durable_queue(shop: Clew) -> None:
    session = running(shop)
    result = said(shop, session, paths=(PATH,))
    [queued] = shop.queue.list(session.id)
    assert (result.outcome, result.delivery_id, result.block) == ("queued", queued.delivery_id, queued.text)
    assert (queued.phase, queued.observation_ids) == ("in_session", result.memory_ids)


def test_a_hint_is_packed_to_what_the_queue_takes(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, embedder=ToyEmbedder(), inject={"latency_ms": 10_000}, deliver={"max_text_bytes": 200})
    for number in range(3):
        clew.remember(f"消費税は行ごとに丸める {number}", scope=SHOP, paths=(PATH,))
    session = running(clew)
    result = said(clew, session, paths=(PATH,))
    assert result.outcome == "queued"
    assert len(result.memory_ids) in (1, 2) and len(result.block.encode()) <= 200


def test_a_rehearsal_says_marks_and_logs_nothing(shop: Clew) -> None:
    session = running(shop)
    event = VerbEvent(session=session.id, tool="Edit", paths=(PATH,), event_id="e1")
    shop.inject.warm(event)
    shop.inject.warm(VerbEvent(session="ses_nobody", tool="Edit"))
    assert (shop.queue.list(session.id), logged(shop, session)) == ([], [])
    assert shop.inject.event(event).outcome == "queued"


def test_r067_the_worker_is_handed_it_on_its_next_beat(shop: Clew) -> None:
    session = shop.sessions.start(project="shop", agent="bob")
    token = shop.sessions.claim(session.id, "w1")
    result = said(shop, session, paths=(PATH,))
    beat = shop.sessions.refresh(session.id, "w1", token)
    assert beat.inject is not None
    assert beat.inject.delivery_id == result.delivery_id


def test_the_log_row_of_a_push_says_what_was_shown(shop: Clew) -> None:
    session = running(shop, work_type="bug_fix")
    result = said(shop, session, event_id="e1", paths=(PATH,))
    [row] = logged(shop, session)
    assert (row.phase, row.event_id, row.outcome, row.delivered) == ("in_session", "e1", "queued", True)
    assert (row.observation_ids, row.delivery_id) == (result.memory_ids, result.delivery_id)
    assert (row.budget_tokens, row.actual_tokens, row.work_type) == (200, result.tokens, "bug_fix")
    assert row.query_text == PATH


def test_r070_what_found_nothing_is_logged_behind_the_answer(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    first = clew_at(tmp_path, inject={"latency_ms": 10_000})
    session = running(first)
    assert said(first, session, query="zebra crossing").outcome == "no-match"
    first.close()  # writes what was handed to the writer
    [row] = logged(clew_at(tmp_path), session)
    assert (row.outcome, row.delivered, row.observation_ids) == ("no-match", False, ())


def test_both_ranks_of_every_candidate_are_logged(shop: Clew) -> None:
    session = running(shop)
    result = said(shop, session, paths=(PATH,))
    [row] = logged(shop, session)
    assert ranked(shop, row.id) == [(result.memory_ids[0], True, 0)]


def test_r082_what_the_start_block_said_is_not_repeated(shop: Clew) -> None:
    session = running(shop, title="VAT is rounded per line")
    assert shop.inject.start(session.id).memory_ids
    result = said(shop, session, paths=(PATH,))
    assert (result.outcome, result.reason, result.deduplicated) == ("no-match", "seen", True)


def test_c11_another_process_knows_what_was_said(shop: Clew, clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    session = running(shop)
    assert said(shop, session, paths=(PATH,)).outcome == "queued"
    other = clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})
    assert said(other, session, paths=(PATH,)).reason == "seen"


def test_r081_another_session_hears_it_all_the_same(shop: Clew) -> None:
    said(shop, running(shop), paths=(PATH,))
    assert said(shop, running(shop), paths=(PATH,)).outcome == "queued"


def test_c06_two_processes_that_say_the_same_at_once_say_it_once(
    shop: Clew, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    other = clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})
    session = running(shop)
    for clew in (shop, other):  # both have met the session before anything was said
        said(clew, session, query="zebra crossing")
    first, second = (said(clew, session, paths=(PATH,)) for clew in (shop, other))
    assert (first.outcome, second.outcome, second.deduplicated) == ("queued", "queued", True)
    assert first.delivery_id == second.delivery_id
    assert len(shop.queue.list(session.id)) == 1


def test_r086_r062_toggled_off_everything_runs_and_nothing_is_pushed(shop: Clew) -> None:
    shop.projects.set("shop", "runtime-inject", False)
    session = running(shop)
    result = said(shop, session, paths=(PATH,))
    assert (result.outcome, result.reason) == ("suppressed", "inject_off")
    assert result.memory_ids
    assert shop.queue.list(session.id) == []
    assert said(shop, session, paths=(PATH,)).outcome == "suppressed"  # nothing was handed over: nothing was seen


def test_r075_what_is_suppressed_is_logged_as_not_delivered(shop: Clew) -> None:
    shop.projects.set("shop", "runtime-inject", False)
    session = running(shop)
    result = said(shop, session, paths=(PATH,))
    shop.remember("wait for the writer", scope=SHOP)
    [row] = logged(shop, session)
    assert (row.outcome, row.delivered, row.observation_ids) == ("suppressed", False, result.memory_ids)


def test_memory_off_looks_for_nothing(shop: Clew) -> None:
    shop.projects.set("shop", "memory", False)
    result = said(shop, running(shop), paths=(PATH,))
    assert (result.outcome, result.reason) == ("skipped", "memory_off")


def test_r087_only_a_running_session_with_an_agent_is_looked_at(shop: Clew) -> None:
    waiting, stage = shop.sessions.start(project="shop"), running(shop, agent=None)
    ended = running(shop)
    shop.sessions.end(ended.id)
    reasons = [said(shop, session, paths=(PATH,)).reason for session in (waiting, stage, ended)]
    assert reasons == ["not_running", "no_agent", "not_running"]


def test_c16_the_agent_and_the_project_are_the_sessions_whatever_the_event_says(shop: Clew) -> None:
    shop.remember("of another project", scope=Scope(project="bank"), paths=("src/bank.py",))
    session = running(shop)
    result = said(shop, session, project="bank", agent="mallory", paths=("src/bank.py",))
    assert result.outcome == "no-match"


def test_r108_scope_org_finds_what_other_projects_know(shop: Clew) -> None:
    shop.remember("the bank file is upper case", scope=Scope(project="bank"), paths=("src/bank.py",))
    session = running(shop)
    assert said(shop, session, paths=("src/bank.py",)).outcome == "no-match"
    assert said(shop, session, paths=("src/bank.py",), memory_scope="org").outcome == "queued"


def test_r108_scope_session_finds_only_what_this_session_noted(shop: Clew) -> None:
    session = running(shop)
    assert said(shop, session, paths=(PATH,), memory_scope="session").outcome == "no-match"
    mine = shop.remember(
        "the total is rounded, too", scope=Scope(project="shop", session=session.id), paths=(PATH,)
    )
    assert said(shop, session, paths=(PATH,), memory_scope="session").memory_ids == (mine.id,)


def test_r109_a_namespace_restricts_exactly(shop: Clew) -> None:
    ops = shop.remember("page the owner of VAT", scope=Scope(project="shop", namespace="ops"), paths=(PATH,))
    assert said(shop, running(shop), paths=(PATH,), memory_namespace="ops").memory_ids == (ops.id,)


def test_r109_a_namespace_restricts_facts_too(shop: Clew) -> None:
    ops = Scope(project="shop", namespace="ops")
    shop.remember("page the owner of VatService", scope=ops, paths=(PATH,))
    shop.remember("VatService depends on LedgerDB", scope=SHOP)
    shop.remember("PagerService calls VatService", scope=ops, paths=("src/pager.py",))
    shop.link("VatService", "uses", "PagerService", scope=SHOP)
    facts = {
        namespace: {(one.source_entity, one.relationship, one.target_entity) for one in result.triplets}
        for namespace in ("ops", None)
        if (result := said(shop, running(shop), paths=(PATH,), memory_namespace=namespace))
    }
    assert facts["ops"] == {("PagerService", "calls", "VatService")}
    assert facts[None] > facts["ops"]


def test_r108_one_sessions_memories_are_all_that_facts_come_from(shop: Clew) -> None:
    session = running(shop)
    shop.remember("VatService rounds per line", scope=Scope(project="shop", session=session.id), paths=(PATH,))
    shop.remember("VatService depends on LedgerDB", scope=SHOP)
    result = said(shop, session, paths=(PATH,), query="VatService rounds", memory_scope="session")
    assert result.memory_ids and not result.triplets


@pytest.mark.parametrize("crowd", [{"origin": "web"}, {"classification": "restricted"}])
def test_what_may_not_be_told_does_not_silence_a_hint(shop: Clew, crowd: dict[str, str]) -> None:
    note = shop.remember("LedgerService closes at midnight in Lisbon", scope=SHOP).id
    for number in range(40):
        shop.remember(f"LedgerService closes at midnight, page {number}", scope=SHOP, **crowd)
    assert note in said(shop, running(shop), query="LedgerService closes at midnight").memory_ids


@pytest.mark.parametrize("deny", [deny_by_policy, deny_by_clearance])
def test_what_a_policy_denies_does_not_silence_a_hint(shop: Clew, deny: Callable[[Clew], object]) -> None:
    note = shop.remember("LedgerService closes at midnight in Lisbon", scope=SHOP).id
    for number in range(40):
        text = f"LedgerService closes at midnight, page {number}"
        shop.remember(text, scope=SHOP, classification="confidential")
    assert said(shop, running(shop), query="LedgerService closes at midnight").memory_ids == ()
    deny(shop)
    session = running(shop)
    result = said(shop, session, query="LedgerService closes at midnight")
    assert result.memory_ids == (note,)
    assert "denied" in {one.reason for one in result.skipped}


def test_another_users_private_memory_is_not_injected(shop: Clew) -> None:
    shop.remember("kim dislikes cents", scope=Scope(project="shop", user="kim"), paths=("src/kim.py",))
    session = running(shop, user="lee")
    assert said(shop, session, paths=("src/kim.py",)).outcome == "no-match"


def test_what_a_label_keeps_from_a_tool_call_is_named_in_the_log(shop: Clew) -> None:
    hidden = shop.remember("The PCI scope ends here", scope=SHOP, paths=("src/kim.py",)).id
    session = running(shop)
    assert said(shop, session, paths=("src/kim.py",)).outcome == "no-match"
    shop.remember("wait for the writer", scope=SHOP)
    assert logged(shop, session)[-1].denied_ids == (hidden,)


def test_an_unknown_session_and_one_of_another_org_are_not_found(shop: Clew) -> None:
    session = running(shop)
    with pytest.raises(NotFound):
        shop.inject.event(VerbEvent(session="ses_nobody", tool="Edit", paths=(PATH,)))
    with pytest.raises(NotFound):
        shop.inject.event(
            VerbEvent(session=session.id, tool="Edit", paths=(PATH,)),
            identity=Identity(org="acme", roles=("owner",)),
        )


def test_an_event_that_cannot_be_read_is_refused_with_the_next_move(shop: Clew) -> None:
    with pytest.raises(InvalidInput) as refused:
        shop.inject.event({"session": "ses_1", "tool": "Edit", "phase": "never"})
    assert (refused.value.code, bool(refused.value.next)) == ("EVENT_INVALID", True)


def test_a_secret_in_a_command_is_not_logged(shop: Clew) -> None:
    session = running(shop)
    said(shop, session, tool="Grep", query="deploy with password=hunter2hunter2 now")
    shop.remember("wait for the writer", scope=SHOP)
    [row] = logged(shop, session)
    assert "hunter2" not in row.query_text


def test_a_full_queue_keeps_silent_and_says_so(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    clew = clew_at(tmp_path, embedder=ToyEmbedder(), inject={"latency_ms": 10_000}, deliver={"max_pending": 1})
    clew.remember(NOTE, scope=SHOP, paths=(PATH,))
    session = running(clew)
    clew.queue.enqueue(session.id, "something before")
    result = said(clew, session, paths=(PATH,))
    assert (result.outcome, result.reason) == ("suppressed", "queue_full")


def test_weighting_can_be_switched_off_and_both_ranks_still_logged(
    clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    orders = []
    for weighting in (True, False):
        learn = {"weighting": weighting}
        clew = clew_at(tmp_path / str(weighting), inject={"latency_ms": 10_000}, learn=learn)
        better = clew.remember(f"{NOTE} {PATH}", scope=SHOP, paths=(PATH,), weight=0.5)
        proven = clew.remember("tax of a line", scope=SHOP, paths=(PATH,), weight=1.0)
        ids = said(clew, running(clew), paths=(PATH,), query=NOTE).memory_ids
        orders.append([{better.id: "better", proven.id: "proven"}[id] for id in ids])
    assert orders == [["proven", "better"], ["better", "proven"]]


def test_events_given_as_json_are_read(shop: Clew) -> None:
    session = running(shop)
    result = shop.inject.event({"v": 1, "session": session.id, "phase": "pre", "tool": "Edit", "paths": [PATH]})
    assert result.outcome == "queued"


def test_r084_hooks_told_to_the_bus_are_answered_on_the_queue(shop: Clew) -> None:
    session = running(shop)
    hook = {"kind": "pre-tool-use", "sessionId": session.id, "toolUseId": "t1", "toolName": "Edit"}
    assert shop.inject.bus is shop.inject.bus
    assert shop.inject.bus.emit_hook(hook | {"toolInput": {"file_path": PATH}}) == 1
    assert len(shop.queue.list(session.id)) == 1


def test_r114_the_bus_survives_a_session_that_is_not_there(shop: Clew) -> None:
    hook = {"kind": "pre-tool-use", "sessionId": "ses_nobody", "toolUseId": "t1", "toolName": "Edit"}
    assert shop.inject.bus.emit_hook(hook) == 1


def test_r099_what_an_ended_session_had_seen_is_let_go(shop: Clew) -> None:
    session = running(shop)
    said(shop, session, paths=(PATH,))
    shop.sessions.end(session.id)
    assert not shop.inject.injector._seen._sessions


SECRET = "ghp_" + "A1b2C3d4E5f6" * 3


@pytest.mark.parametrize(
    ("tool", "query"),
    [
        ("Read", ("word " * 100)[:480] + f" {SECRET}"),
        ("Bash", "mysql --password hunter2xyz shop"),
        ("Read", "x " * 2_040 + f" {SECRET}"),
    ],
)
def test_what_was_asked_is_masked_before_it_is_cut(shop: Clew, tool: str, query: str) -> None:
    session = running(shop)
    said(shop, session, tool=tool, query=query)
    shop.remember("wait for the writer", scope=SHOP)
    [row] = logged(shop, session)
    assert SECRET[:8] not in row.query_text and "hunter2xyz" not in row.query_text
    assert len(row.query_text) <= 500


@pytest.mark.parametrize(
    ("event_id", "kept"), [("toolu_01:a.b@c-d", True), (SECRET, False), ("a b", False), ("x" * 121, False)]
)
def test_only_what_is_an_id_is_kept_as_one(shop: Clew, event_id: str, kept: bool) -> None:
    session = running(shop)
    for _ in range(2):  # the second time it is known
        said(shop, session, event_id=event_id, paths=(PATH,))
    [row] = logged(shop, session)
    assert (row.event_id == event_id) is kept
    assert row.event_id and (kept or row.event_id.startswith("sha256:"))


def test_a_project_whose_memory_is_off_is_told_nowhere(shop: Clew) -> None:
    for number in range(25):
        text = f"LedgerService closes at midnight, branch {number}"
        shop.remember(text, scope=Scope(project="bank"))
    here = shop.remember("LedgerService closes at midnight in Lisbon", scope=Scope(project="till")).id
    asked = {"query": "LedgerService closes at midnight", "memory_scope": "org"}
    shop.projects.set("bank", "memory", False)
    assert said(shop, running(shop), **asked).memory_ids == (here,)
    shop.projects.set("till", "memory", False)
    result = said(shop, running(shop), **asked)
    assert result.memory_ids == () and "memory_off" in {one.reason for one in result.skipped}


def test_what_waits_of_a_project_whose_memory_is_switched_off_is_not_told(shop: Clew) -> None:
    shop.remember("LedgerService closes at midnight in Lisbon", scope=Scope(project="bank"))
    session = shop.sessions.start(project="shop", agent="bob")
    token = shop.sessions.claim(session.id, "w1")
    asked = {"query": "LedgerService closes at midnight in Lisbon", "memory_scope": "org"}
    assert said(shop, session, **asked).outcome == "queued"
    shop.projects.set("bank", "memory", False)
    assert shop.queue.claim(session.id, "w1", token) is None
    assert [one.reason for one in shop.queue.list(session.id)] == ["source_gone"]
    shop.projects.set("bank", "memory", True)
    assert said(shop, session, event_id="again", **asked).outcome == "queued"
    assert shop.queue.claim(session.id, "w1", token)


def test_fc10_an_agent_does_not_hear_of_what_it_may_not_read(shop: Clew) -> None:
    hidden = shop.remember("Rebate is rounded per line", scope=SHOP, classification="restricted", paths=("a/b.py",))
    for identity, reasons in ((Identity(), ["denied"]), (Identity(agent="bob", roles=()), [])):
        result = shop.inject.event(
            {"session": running(shop).id, "tool": "Edit", "paths": ["a/b.py"]}, identity=identity
        )
        assert [one.reason for one in result.skipped if one.id == hidden.id] == reasons
        assert (result.reason == "denied") is bool(reasons)


def test_fc10_nor_does_its_start_block_name_it(shop: Clew) -> None:
    shop.remember("Rebate depends on Kafka", scope=SHOP, classification="restricted")
    session = running(shop, title="Rebate Kafka")
    told = [shop.inject.start(session.id, identity=who) for who in (None, Identity(agent="bob", roles=()))]
    assert ["denied" in {one.reason for one in block.skipped} for block in told] == [True, False]
    assert [block.graph_status for block in told] == ["all_denied", "no_match"]
    assert shop.inject.log(session.id)[-1].graph_status == "all_denied"
