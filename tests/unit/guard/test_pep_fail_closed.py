"""Whatever goes wrong, nobody is let in for it: FC-1 to FC-12."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import cedarpy
import pytest

from clew.errors import Misconfigured
from clew.guard.engine import POLICIES, SCHEMA, Engine
from clew.guard.entities import Question, principal_of, resource_reference
from clew.guard.pep import Pep
from clew.model.access import AccessContext, AddedPolicies, AddedPolicy, Decision, Denial, Resource
from clew.model.config import AgentRights
from clew.model.scope import Identity
from toys import START

BOT = Identity("acme", agent="bot", roles=())
WHERE = AccessContext("acme", "shop")
ROW = Resource("memory", "mem_1", "acme", "shop", classification="internal")
ERRS = '@id("broken") forbid (principal, action, resource) when { context.similarityPct > 0 };'


@pytest.fixture(autouse=True)
def an_engine_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here each one reads and validates for itself, and fails for itself."""
    monkeypatch.setattr("clew.guard.pep.Engine", Engine)


def added(*texts: str, version: int = 1) -> Any:
    policies = [AddedPolicy("acme", f"p{number}", text, 1, "olga", START) for number, text in enumerate(texts)]
    return lambda org: AddedPolicies((0, version), tuple(policies))


def only(pep: Pep, row: Resource | None = ROW, **options: Any) -> Decision:
    who, action, where = options.pop("who", BOT), options.pop("action", "inject"), options.pop("where", WHERE)
    [decision] = pep.decide(who, action, [row], where, **options)
    return decision


def bare(policies: str) -> Any:
    """What Cedar itself answers, with nothing of ours around it."""
    principal = principal_of(BOT, "inject", AgentRights())
    question = Question(principal, "inject", WHERE)  # type: ignore[arg-type]
    schema = cedarpy.Schema.from_str(SCHEMA.read_text())
    uid = resource_reference(ROW)
    known = cedarpy.Entities.from_json_str(question.entities([(uid, ROW)]), schema)
    return cedarpy.is_authorized(question.requests([uid])[0], policies, known)


def unvalidated(tmp_path: Path, more: str) -> Engine:
    """An engine with a policy that errs when it is asked, as one could that the validator was wrong about."""
    engine = Engine()
    loaded = replace(engine.load(), handle=cedarpy.PolicySet.from_str(engine.shipped_text + more))
    engine.load = lambda added=(): loaded  # type: ignore[method-assign, assignment]
    return engine


def test_fc01_an_erring_forbid_alone_is_allowed_by_cedar_and_denied_by_us(tmp_path: Path) -> None:
    raw = bare(POLICIES.read_text() + ERRS)
    assert raw.decision == cedarpy.Decision.Allow and raw.diagnostics.errors
    decision = only(Pep(engine=unvalidated(tmp_path, ERRS)))
    assert not decision and decision.reason == "evaluation_error"


def test_fc01_a_policy_that_could_err_is_refused_by_the_validator() -> None:
    [problem, *_] = Engine().problems(ERRS)
    assert problem.policy == "broken" and "similarityPct" in problem.message


def test_fc01_no_decision_is_a_deny() -> None:
    decision = only(Pep(), Resource("org", "acme", "acme"), action="read")  # an org cannot be read
    assert not decision and decision.reason == "no_decision"


def test_fc02_an_exception_of_the_engine_denies_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pep = Pep()
    assert only(pep)
    pep.forget()

    def fail(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(cedarpy, "is_authorized_batch", fail)
    monkeypatch.setattr("clew.guard.engine.cedarpy", cedarpy)
    assert {(entry.allowed, entry.reason) for entry in pep.decide(BOT, "read", [ROW, ROW], WHERE)} == {
        (False, "engine_error")
    }
    assert pep.health == "RuntimeError"


def test_fc02_without_cedar_everything_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.lazy import LazyModule

    monkeypatch.setitem(sys.modules, "cedarpy", None)
    monkeypatch.setattr("clew.guard.engine.cedarpy", LazyModule("cedarpy"))
    pep = Pep()
    assert only(pep).reason == "engine_unavailable" and pep.health


@pytest.mark.parametrize("text", [None, "permit (principal", "", "permit (principal, action, resource);"])
def test_fc02_a_missing_or_invalid_shipped_set_does_not_start(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "policies.cedar"
    if text is not None:
        file.write_text(text)
    pep = Pep(engine=Engine(policies=file))
    with pytest.raises(Misconfigured) as refused:
        pep.start()
    assert refused.value.code == "POLICIES_INVALID"
    assert only(pep).reason == "policies_invalid" and pep.health


def test_fc02_health_recovers_with_the_store() -> None:
    failing = [True]

    def source(org: str) -> AddedPolicies:
        if failing.pop() if failing else False:
            raise OSError
        return AddedPolicies()

    pep = Pep(source)
    assert not only(pep) and pep.health
    assert only(pep) and not pep.health


@pytest.mark.parametrize(
    ("who", "action", "where", "reason"),
    [
        (Identity("", agent="bot", roles=()), "read", WHERE, "missing_org"),
        (Identity("acme", "bob", roles=("member",)), "inject", WHERE, "missing_agent"),
        (Identity("acme"), "transfer", WHERE, "missing_agent"),
        (Identity("acme", roles=("member",)), "read", WHERE, "missing_principal"),
        (BOT, "read", AccessContext(""), "missing_org"),
        (BOT, "peek", WHERE, "unknown_action"),
    ],
)
def test_fc03_without_an_org_or_a_name_cedar_is_not_asked(
    who: Identity, action: str, where: AccessContext, reason: str
) -> None:
    assert only(Pep(), who=who, action=action, where=where).reason == reason


def test_fc04_what_was_not_loaded_is_denied() -> None:
    odd = [None, replace(ROW, kind="file"), replace(ROW, id=""), replace(ROW, org="")]
    reasons = [entry.reason for entry in Pep().decide(BOT, "read", odd, WHERE)]
    assert reasons == ["missing_entity", "missing_entity", "missing_entity", "missing_org"]


@pytest.mark.parametrize("label", ["", "secret", "PUBLIC", "internal "])
def test_fc04_an_unknown_label_counts_as_restricted(label: str) -> None:
    decision = only(Pep(), replace(ROW, classification=label), rights=AgentRights(clearance=3))
    assert not decision and decision.policies == ("forbid.inject.restricted",)


def test_fc05_an_attribute_of_the_wrong_kind_is_denied_not_guessed() -> None:
    odd = replace(ROW, quarantined="no")  # type: ignore[arg-type]
    assert only(Pep(), odd).reason == "engine_error"


def test_fc05_rights_are_looked_up_when_the_caller_gives_none() -> None:
    pep = Pep(rights_of=lambda org, agent: AgentRights(suspended=(org, agent) == ("acme", "bot")))
    assert only(pep).policies == ("forbid.suspended",)
    assert only(pep, who=replace(BOT, agent="other"))


def test_fc07_another_number_of_answers_denies_all(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = cedarpy.is_authorized_batch
    monkeypatch.setattr("clew.guard.engine.cedarpy", cedarpy)
    monkeypatch.setattr(cedarpy, "is_authorized_batch", lambda *given: ask(*given)[1:])
    decisions = Pep().decide(BOT, "read", [ROW, replace(ROW, classification="public")], WHERE)
    assert [entry.reason for entry in decisions] == ["count_mismatch"] * 2


def test_fc08_another_orgs_row_is_dropped_before_cedar_is_asked() -> None:
    everything = Pep(added("permit (principal, action, resource);"))
    theirs = replace(ROW, org="rival", shared_with=("acme",), classification="public")
    assert only(everything, theirs).reason == "cross_org"


def test_fc09_a_bad_new_set_leaves_the_old_one_in_force() -> None:
    versions = [AddedPolicies(), added("forbid (principal, action", version=2)("acme")]
    pep = Pep(lambda org: versions[0])
    assert only(pep)
    versions.pop(0)
    assert only(pep) and "not valid" in pep.health
    versions[0] = added("forbid (principal, action, resource);", version=3)("acme")
    assert not only(pep) and not pep.health


def test_fc09_a_process_that_never_saw_the_old_set_denies() -> None:
    assert only(Pep(added("forbid (principal, action"))).reason == "policies_invalid"


def test_fc10_a_denial_is_logged_with_its_policies_and_without_content() -> None:
    heard: list[Denial] = []
    pep = Pep(on_denial=heard.append)
    only(pep, replace(ROW, quarantined=True))
    only(pep)
    [denial] = pep.log
    assert heard == [denial] and pep.counts == {"forbid.quarantined": 1}
    assert denial.as_json() == {
        "org": "acme", "principal": "agent:bot", "action": "inject", "kind": "memory", "id": "mem_1",
        "reason": "forbidden", "policies": ["forbid.quarantined"],
    }  # fmt: skip


def test_fc10_the_log_is_bounded_and_a_listener_that_fails_changes_nothing() -> None:
    def fail(_: Denial) -> None:
        raise RuntimeError

    pep = Pep(on_denial=fail)
    rows = [replace(ROW, id=f"mem_{number}", quarantined=True) for number in range(1_200)]
    assert not any(pep.decide(BOT, "read", rows, WHERE))
    assert len(pep.log) == 1_000 and pep.counts.total() == 1_200


def test_fc11_too_late_denies_everything_and_keeps_nothing() -> None:
    times = iter(range(1_000))
    pep = Pep(clock=lambda: float(next(times)))
    decisions = pep.decide(BOT, "read", [ROW, None], WHERE, deadline_s=0.5)
    assert [entry.reason for entry in decisions] == ["timeout", "timeout"]
    assert only(pep, deadline_s=100.0) and not pep.health


def test_fc11_an_answer_that_comes_too_late_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    pep = Pep(clock=lambda: now[0])
    ask = pep.engine.ask

    def slow(*question: Any) -> list[Decision]:
        now[0] += 0.2
        return ask(*question)

    monkeypatch.setattr(pep.engine, "ask", slow)
    assert only(pep, deadline_s=0.1).reason == "timeout"
    assert only(pep, deadline_s=0.3)


def test_fc12_a_decision_is_kept_for_a_while_and_asked_again_after(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    pep = Pep(clock=lambda: now[0], ttl_s=600.0)  # never more than 60
    asked = _count_questions(pep, monkeypatch)
    for now[0] in (0.0, 59.0, 61.0):
        assert only(pep)
    assert asked == [1, 1]
    pep.forget()
    assert only(pep) and len(asked) == 3


def test_fc12_whatever_a_decision_rests_on_is_part_of_its_key() -> None:
    pep = Pep()
    assert only(pep)
    assert not only(pep, replace(ROW, quarantined=True))
    assert not only(pep, rights=AgentRights(suspended=True))
    assert not only(pep, where=replace(WHERE, project="blog"))
    assert not only(pep, who=replace(BOT, org="rival"))
    assert only(pep)


def test_rows_alike_share_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    pep = Pep()
    asked = _count_questions(pep, monkeypatch)
    rows = [replace(ROW, id=f"mem_{number}", quarantined=number % 2 == 0) for number in range(100)]
    decisions = pep.decide(BOT, "inject", rows, WHERE)
    assert [entry.allowed for entry in decisions] == [number % 2 == 1 for number in range(100)]
    assert asked == [2]


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ('forbid (principal, action, resource == Mem::Observation::"mem_7");', False),
        ('forbid (principal, action, resource) when { resource in Mem::GraphNode::"n" };', False),
        ('permit (principal, action, resource) unless { resource in [Mem::Observation::"mem_7"] };', False),
        ('forbid (principal, action, resource in Mem::Project::"acme/other");', True),
        ('forbid (principal == Mem::Agent::"acme/other", action, resource);', True),
    ],
)  # fmt: skip
def test_a_policy_that_names_a_row_ends_the_sharing(text: str, shared: bool) -> None:
    pep = Pep(added(text))
    assert pep.in_force("acme").is_grouped is shared


def test_orgs_that_added_the_same_share_one_set() -> None:
    """A set takes 150 kB, and every user of a server has an org."""
    pep = Pep(lambda org: added("forbid (principal, action, resource);")(org) if org == "acme" else AddedPolicies())
    assert pep.in_force("user:ann") is pep.in_force("user:bob")
    assert pep.in_force("acme") is not pep.in_force("user:ann")


def test_a_policy_that_names_a_row_decides_just_that_row() -> None:
    pep = Pep(added('forbid (principal, action, resource == Mem::Observation::"mem_7");'))
    rows = [replace(ROW, id=f"mem_{number}") for number in range(9)]
    allowed = [entry.allowed for entry in pep.decide(BOT, "inject", rows, WHERE)]
    assert allowed == [number != 7 for number in range(9)]


def test_projects_of_two_orgs_never_have_the_same_id() -> None:
    where_it_is = 'context has project && context.project == Mem::Project::"a/b/c"'
    pep = Pep(added(f"forbid (principal, action, resource) when {{ {where_it_is} }};"))
    one, other = AccessContext("a", "b/c"), AccessContext("a/b", "c")
    for where, allowed in (one, False), (other, True):
        row = replace(ROW, org=where.org, project=where.project)
        assert only(pep, row, who=replace(BOT, org=where.org), action="read", where=where).allowed is allowed


def test_many_threads_get_the_same_answers() -> None:
    pep = Pep()
    rows = [replace(ROW, id=str(number), deleted=number % 3 == 0) for number in range(30)]
    expected = [number % 3 != 0 for number in range(30)]
    answers: list[list[bool]] = []

    def ask() -> None:
        for _ in range(20):
            answers.append([entry.allowed for entry in pep.decide(BOT, "inject", rows, WHERE)])
            pep.forget()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 80 and all(answer == expected for answer in answers)


def _count_questions(pep: Pep, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    asked: list[int] = []
    ask = pep.engine.ask

    def counted(loaded: Any, requests: Any, entities: str) -> Any:
        asked.append(len(requests))
        return ask(loaded, requests, entities)

    monkeypatch.setattr(pep.engine, "ask", counted)
    return asked
