"""Memories of one project for another: grant, likeness, label, policies; discounted, marked, never written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.errors import Denied, InvalidInput, NotFound
from clew.inject.candidates import RetrievalQuery
from clew.learn import CrossProjectTransferStore, apply_feedback, create_cross_project_transfer_store
from clew.learn.transfer import MAX_PEERS, ROWS_PER_PEER, TransferConfig, room_for
from clew.model.inject import ContextInjectionLog, Observation
from clew.model.memory import Draft, Memory
from clew.model.scope import Identity, Scope
from clew.remember.prepare import WritePolicy, draft_memory
from toys import START

STACK = frozenset(f"lib:{n}" for n in range(10))
HERE = Scope(project="web")
QUERY = RetrievalQuery(text="retry the payment", limit=20)


@dataclass
class Shelf:
    """A memory store that holds what it was given, by project, and remembers what it was asked for."""

    rows: Mapping[str, Sequence[Memory]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        self.asked.append(scope.project or "")
        return [Observation(memory, 0.8, memory.weight) for memory in self.rows.get(scope.project or "", ())]


def row(n: int, project: str = "shop", **fields: Any) -> Memory:
    draft = Draft(content=f"{project} says {n}", type=fields.pop("type", "decision"))
    memory, _masked = draft_memory(draft, Scope(project=project), now=START, policy=WritePolicy())
    return replace(memory, **fields)


def rows(count: int, project: str = "shop", **fields: Any) -> list[Memory]:
    return [row(n, project, **fields) for n in range(count)]


def config(**changes: Any) -> TransferConfig:
    """A grant from shop to web, which are built alike; every policy says yes."""
    plain: dict[str, Any] = {
        "dest_project": "web",
        "grants": lambda: ["shop"],
        "components": lambda project: STACK,
        "allowed": lambda memories, percent: [True] * len(memories),
    }
    return TransferConfig(**plain | changes)


def brought(shelf: Shelf, scope: Scope = HERE, query: RetrievalQuery = QUERY, **changes: Any) -> list[Observation]:
    found = CrossProjectTransferStore(shelf, config(**changes)).retrieve(scope, query)
    return [one for one in found if one.transferred_from]


# -- what is needed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("granted", "alike", "allowed"), list(product((True, False), repeat=3)))
def test_all_three_are_needed(granted: bool, alike: bool, allowed: bool) -> None:
    found = brought(
        Shelf({"shop": rows(3)}),
        grants=lambda: ["shop"] if granted else [],
        components=lambda project: STACK if alike or project == "web" else {"lib:0"},
        allowed=lambda memories, percent: [allowed] * len(memories),
    )
    assert bool(found) == (granted and alike and allowed)


def test_the_checks_come_in_their_order_and_none_comes_after_a_no() -> None:
    seen: list[str] = []
    shelf = Shelf({"shop": rows(1)})

    def compared(project: str) -> frozenset[str]:
        seen.append(project)
        return STACK if project == "web" else frozenset()

    assert not brought(shelf, grants=list, components=compared)
    assert (seen, shelf.asked) == ([], ["web"])
    assert not brought(shelf, components=compared)
    assert (seen, shelf.asked) == (["web", "shop"], ["web", "web"])


@pytest.mark.parametrize(("common", "works"), [(7, True), (6, False)])
def test_seven_in_ten_are_enough(common: int, works: bool) -> None:
    source = frozenset(sorted(STACK)[:common])
    shelf = Shelf({"shop": rows(1)})
    assert bool(brought(shelf, components=lambda project: STACK if project == "web" else source)) is works


def test_the_policies_are_told_the_likeness_in_per_cent() -> None:
    told: list[int] = []

    def decide(memories: Sequence[Memory], percent: int) -> list[bool]:
        told.append(percent)
        return [True] * len(memories)

    seven = frozenset(sorted(STACK)[:7])
    brought(Shelf({"shop": rows(1)}), allowed=decide, components=lambda p: STACK if p == "web" else seven)
    assert told == [70]


@pytest.mark.parametrize(
    "fields",
    [
        {"classification": "confidential"}, {"classification": "restricted"}, {"user": "ada"},
        {"origin": "observed"}, {"origin": "observed:edit"}, {"origin": "tool_output:local"}, {"origin": "web"},
        {"tool_call": "call_1"},
        {"trust": "untrusted"}, {"trust": "tool"}, {"layer": "working"}, {"layer": "rule"}, {"project": None},
        {"project": "third"}, {"org": "other"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_never_brought_over(fields: dict[str, Any]) -> None:
    asked: list[Memory] = []

    def decide(memories: Sequence[Memory], percent: int) -> list[bool]:
        asked.extend(memories)
        return [True] * len(memories)

    assert not brought(Shelf({"shop": [replace(row(1), **fields)]}), allowed=decide)
    assert not asked


def test_a_project_gives_nothing_to_itself() -> None:
    assert not brought(Shelf({"web": rows(3, "web")}), grants=lambda: ["web"])


@pytest.mark.parametrize(
    ("scope", "query"),
    [
        (Scope(project="other"), QUERY),
        (Scope(), QUERY),
        (HERE, replace(QUERY, all_projects=True)),
        (HERE, replace(QUERY, session="ses_1")),
    ],
)
def test_it_answers_only_for_its_own_project(scope: Scope, query: RetrievalQuery) -> None:
    assert not brought(Shelf({"shop": rows(3)}), scope, query)


def test_fewer_answers_than_rows_bring_nothing_over() -> None:
    assert not brought(Shelf({"shop": rows(3)}), allowed=lambda memories, percent: [True])


# -- how it counts -------------------------------------------------------------------------------------------


def test_c18_weight_and_relevance_are_halved_and_it_is_marked() -> None:
    [one] = brought(Shelf({"shop": [row(1, weight=0.6)]}))
    assert (one.weight, one.relevance) == (0.3, 0.4)
    assert one.transferred_from == "shop"
    assert dict(one.memory.metadata) == {"source_project": "shop", "transferred": True}


def test_c18_the_multiplier_can_apply_to_the_weight_alone() -> None:
    [one] = brought(Shelf({"shop": [row(1)]}), apply_to="weight", multiplier=0.25)
    assert (one.weight, one.relevance) == (0.25, 0.8)


def test_a_weight_that_was_learnt_here_replaces_the_discounted_one() -> None:
    memory = row(1)
    [one] = brought(Shelf({"shop": [memory]}), weights=lambda ids: {memory.id: 0.91})
    assert (one.weight, one.relevance) == (0.91, 0.4)


def test_versions_can_be_ignored() -> None:
    stacks = {"web": {"framework:next", "framework:next@15"}, "shop": {"framework:next", "framework:next@16"}}
    shelf = Shelf({"shop": rows(1)})
    assert not brought(shelf, components=stacks.get)
    assert brought(shelf, components=stacks.get, ignore_versions=True)


# -- how many ------------------------------------------------------------------------------------------------


def test_at_most_five_peers_the_most_alike_and_five_rows_of_each() -> None:
    projects = [f"p{n}" for n in range(8)]
    stacks = {project: frozenset(sorted(STACK)[: 10 - n % 3]) for n, project in enumerate(projects)}
    shelf = Shelf({project: rows(9, project) for project in projects})
    found = brought(
        shelf, query=replace(QUERY, limit=99), grants=lambda: projects, components=lambda p: stacks.get(p, STACK)
    )
    by_peer = [one.transferred_from for one in found]
    assert set(by_peer) == {"p0", "p1", "p3", "p4", "p6"} and len(set(by_peer)) == MAX_PEERS
    assert all(by_peer.count(project) == ROWS_PER_PEER for project in set(by_peer))


@given(st.integers(0, 60), st.integers(1, 60))
def test_at_most_three_in_ten_come_from_elsewhere_unless_there_is_nothing_here(own: int, limit: int) -> None:
    room = room_for(own, most=limit)
    assert room == limit if not own else room * 10 <= 3 * (own + room) and (room + 1) * 10 > 3 * (own + room + 1)


def test_own_rows_stay_and_come_first() -> None:
    shelf = Shelf({"web": rows(7, "web"), "shop": rows(9)})
    found = CrossProjectTransferStore(shelf, config()).retrieve(HERE, QUERY)
    assert [one.transferred_from for one in found] == [None] * 7 + ["shop"] * 3


def test_what_is_known_here_is_not_brought_over_again() -> None:
    same = row(1)
    own = replace(row(2, "web"), content=same.content, content_hash=same.content_hash)
    shelf = Shelf({"web": [own, *rows(9, "web")], "shop": [same]})
    assert not brought(shelf)


def test_insights_come_before_notes_at_the_same_score() -> None:
    shelf = Shelf({"web": rows(3, "web"), "shop": [row(1, type="note"), row(2, type="decision")]})
    assert [one.memory.type for one in brought(shelf)] == ["decision"]


def test_a_failure_leaves_what_was_found_here(caplog: pytest.LogCaptureFixture) -> None:
    def broken(project: str) -> frozenset[str]:
        raise RuntimeError(f"secret of {project}")

    shelf = Shelf({"web": rows(2, "web"), "shop": rows(2)})
    found = create_cross_project_transfer_store(shelf, config(components=broken)).retrieve(HERE, QUERY)
    assert len(found) == 2
    assert "nothing was transferred: RuntimeError" in caplog.text and "secret" not in caplog.text


# -- with a store, its grants and Cedar ---------------------------------------------------------------------------

MANIFESTS = {"package.json": '{"dependencies": {"next": "15", "react": "18", "zod": "3"}}'}
SAID = "payment retries need an idempotency key"


def prepared(memory: Clew, *, grant: bool = True) -> str:
    """Two projects built alike, one of which knows something; its id."""
    for project in ("shop", "web"):
        memory.transfer.fingerprint(project, MANIFESTS)
    if grant:
        memory.transfer.grant("shop", "web")
    return memory.remember(SAID, scope=Scope(project="shop"), type="decision").id


def block_of(memory: Clew, project: str = "web", **session: Any) -> Any:
    started = memory.sessions.start(project=project, title="retry the payment with an idempotency key", **session)
    return memory.inject.start(started.id, dry_run=True)


def test_r043_a_granted_project_appears_in_the_start_block_and_without_a_grant_none_does(memory: Clew) -> None:
    id = prepared(memory, grant=False)
    assert id not in block_of(memory).memory_ids
    memory.transfer.grant("shop", "web")
    block = block_of(memory)
    assert block.memory_ids == (id,) and f"[from shop] {SAID}" in block.text
    memory.transfer.revoke("shop", "web")
    assert block_of(memory).memory_ids == ()


def test_a_project_whose_memory_is_off_lends_nothing(memory: Clew) -> None:
    prepared(memory)
    memory.projects.set("shop", "memory", False)
    assert block_of(memory).memory_ids == ()
    assert memory.transfer.list()[0].why_not == "the memory of shop is off: clew project set shop memory on"


def test_a_grant_has_one_direction(memory: Clew) -> None:
    prepared(memory)
    here = memory.remember("payment retries of web use an idempotency key", scope=HERE, type="decision").id
    assert here not in block_of(memory, "shop").memory_ids


@pytest.mark.parametrize(
    ("label", "works"), [("public", True), ("internal", True), ("confidential", False), ("restricted", False)]
)
def test_only_public_and_internal_are_brought_over_whatever_the_grant(
    memory: Clew, label: str, works: bool
) -> None:
    id = prepared(memory)
    memory.edit(id, classification=label)
    assert (id in block_of(memory).memory_ids) is works


def test_cedar_alone_would_refuse_what_lies_below_seventy(memory: Clew) -> None:
    id = prepared(memory)
    session = memory.sessions.start(project="web")
    configured = memory.transfer.config_for(session)
    assert configured
    row = memory.show(id)
    assert [configured.allowed([row], percent)[0] for percent in (70, 69)] == [True, False]
    assert not configured.allowed([replace(row, classification="confidential")], 100)[0]
    memory.transfer.revoke("shop", "web")
    assert not configured.allowed([row], 100)[0]


def test_a_session_without_an_agent_gets_nothing(memory: Clew) -> None:
    prepared(memory)
    configured = memory.transfer.config_for(memory.sessions.start(project="web", agent=None))
    assert configured and not configured.wrap(memory.inject.memories).retrieve(HERE, QUERY)


def test_orgs_never_meet(memory: Clew) -> None:
    prepared(memory)
    other = Identity(org="other")
    memory.transfer.fingerprint("web", MANIFESTS, identity=other)
    session = memory.sessions.start(project="web", scope=Scope(org="other"), identity=other)
    assert memory.transfer.config_for(session) is None
    assert not memory.transfer.list(identity=other)


def test_nothing_is_written_for_the_source(memory: Clew) -> None:
    id = prepared(memory)
    before = memory.show(id), memory.audit.head()
    block_of(memory)
    assert (memory.show(id), memory.audit.head()) == before


def test_an_outcome_here_moves_the_weight_here_and_not_there(memory: Clew) -> None:
    id = prepared(memory)
    session = memory.sessions.start(project="web")
    log = ContextInjectionLog(session_id=session.id, project_id="web", observation_ids=(id,), delivered=True)
    memory.store.write(lambda tx: tx.injections.put(log, at=memory.now()))
    apply_feedback(memory, org_id="local", session_id=session.id, outcome="rejected")
    configured = memory.transfer.config_for(session)
    assert configured
    [one] = configured.wrap(memory.inject.memories).retrieve(HERE, QUERY)
    assert one.weight == pytest.approx(0.5 * 0.85) and memory.show(id).weight == 1.0


# -- verbs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rejections", "is_shown"), [(4, True), (16, False)])
def test_what_outcomes_here_made_worthless_is_not_shown_here_any_more(
    memory: Clew, rejections: int, is_shown: bool
) -> None:
    id = prepared(memory)
    for _ in range(rejections):
        session = memory.sessions.start(project="web", work_type="bug_fix", title="payment gateway idle")
        memory.sessions.claim(session.id, "w")
        memory.inject.start(session.id)
        memory.sessions.end(session.id, "rejected")
    assert (id in block_of(memory).memory_ids) is is_shown
    assert id in block_of(memory, "shop").memory_ids


def test_grants_are_for_owner_and_admin_and_audited(memory: Clew) -> None:
    with pytest.raises(Denied):
        memory.transfer.grant("shop", "web", identity=Identity(user="ada", roles=("member",)))
    assert memory.transfer.grant("shop", "web", identity=Identity(user="eve", roles=("admin",)))
    assert not memory.transfer.grant("shop", "web")
    memory.transfer.revoke("shop", "web")
    told = [(entry.action, entry.actor, entry.id, entry.detail) for entry in memory.audit.list()]
    assert told == [
        ("revoke_transfer", "owner", "web", '{"source":"shop"}'),
        ("grant_transfer", "user:eve", "web", '{"source":"shop"}'),
    ]


def test_a_pair_must_be_two_and_a_grant_that_is_not_there_cannot_be_revoked(memory: Clew) -> None:
    with pytest.raises(InvalidInput, match="both ends"):
        memory.transfer.grant("shop", "shop")
    with pytest.raises(NotFound):
        memory.transfer.revoke("shop", "web")


def test_the_list_says_what_works_and_why_not(memory: Clew) -> None:
    prepared(memory)
    memory.transfer.grant("shop", "new")
    memory.transfer.fingerprint("old", {"Gemfile": 'gem "rails"'})
    memory.transfer.grant("old", "web")
    memory.transfer.grant("gone", "web")
    memory.transfer.revoke("gone", "web")
    told = {(one.grant.source, one.grant.dest): one for one in memory.transfer.list()}
    assert told["shop", "web"].as_json()["works"] and told["shop", "web"].similarity_pct == 100
    assert "what new is built with is not known" in told["shop", "new"].why_not
    assert told["old", "web"].why_not.startswith("they are 0 % alike")
    assert told["gone", "web"].why_not == "it was revoked"


def test_a_threshold_below_the_policies_own_is_told(memory: Clew, clew_at: Callable[..., Clew]) -> None:
    stacks = {
        "shop": {"requirements.txt": "django\nnumpy\n"},
        "web": {"requirements.txt": "django\nnumpy\nredis\n"},
    }
    for project, files in stacks.items():
        memory.transfer.fingerprint(project, files)
    memory.transfer.grant("shop", "web")
    assert memory.transfer.list()[0].as_json()["works"]  # 3 of 4
    memory.transfer.fingerprint("web", {"requirements.txt": "django\nnumpy\nredis\npandas\n"})
    lower = clew_at(memory.home, learn={"transfer_threshold": 0.5})
    assert "no policy allows it" in lower.transfer.list()[0].why_not  # 3 of 5


def test_a_fingerprint_is_kept_once_and_needs_a_manifest(memory: Clew) -> None:
    memory.transfer.fingerprint("shop", MANIFESTS)
    memory.transfer.fingerprint("shop", MANIFESTS)
    found = memory.transfer.fingerprint_of("shop")
    assert found and found.frameworks == ("next", "next@15", "react", "react@18")
    assert len(memory.audit.list(action="fingerprint")) == 1
    assert memory.transfer.fingerprint_of("web") is None
    with pytest.raises(NotFound, match="no manifest"):
        memory.transfer.fingerprint("shop", {"README.md": "x"})


def test_an_agent_alone_cannot_say_what_a_project_is_built_with(memory: Clew) -> None:
    with pytest.raises(Denied):
        memory.transfer.fingerprint("web", MANIFESTS, identity=Identity(agent="claude", roles=()))
