"""A Clew elsewhere answers as one here would: the same values, the same errors, and only to whom it knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import Clew, Conflict, Denied, Draft, Filter, Identity, InvalidInput, NotFound, Scope
from clew.errors import ClewError, Misconfigured, StoreRefused, Unavailable
from clew.model.memory import Past
from clew.model.scope import AcrossProjects
from clew.wire.calls import call
from clew.wire.codec import decode_answer, encode_answer, error_document, error_of
from clew.wire.verbs import VERBS

SHOP = Scope(project="shop")


@pytest.fixture(scope="module")
def known(served: Clew) -> str:
    """The id of one of a few memories."""
    texts = (
        "We chose PostgreSQL for src/db.py because of RLS.",
        "PostgreSQL is backed up by backup.sh",
        "Use tabs.",
    )
    [first, *_rest] = served.remember_many([Draft(content=text, type="decision") for text in texts], scope=SHOP)
    served.jobs.run()
    return first.memory.id


READS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "recall": lambda id: {
        "query": "PostgreSQL",
        "scope": SHOP,
        "tags": (),
        "as_of": datetime(2027, 1, 1, tzinfo=UTC),
    },
    "xray": lambda id: {"query": "PostgreSQL", "scope": SHOP},
    "why": lambda id: {"query": "PostgreSQL", "expect": id, "scope": SHOP},
    "context": lambda id: {"query": "PostgreSQL", "scope": SHOP},
    "list": lambda id: {"wanted": Filter(), "scope": SHOP, "limit": 2},
    "show": lambda id: {"id": id},
    "history": lambda id: {"id": id},
    "stats": lambda id: {},
    "doctor": lambda id: {},
    "forget_many": lambda id: {"everything": True, "dry_run": True, "scope": SHOP},
    "graph.status": lambda id: {},
    "graph.neighbors": lambda id: {"node": "PostgreSQL", "scope": SHOP},
    "graph.explore": lambda id: {"scope": SHOP},
    "graph.triplets": lambda id: {"query": "PostgreSQL", "scope": SHOP},
    "graph.edges": lambda id: {"scope": SHOP},
    "jobs.list": lambda id: {},
    "jobs.show": lambda id: {"id": id},
    "jobs.spend": lambda id: {},
    "rollout.show": lambda id: {},
    "rollout.plan": lambda id: {},
    "rollout.metrics": lambda id: {},
    "rollout.status": lambda id: {},
    "rollout.trace": lambda id: {"query": "PostgreSQL", "scope": SHOP},
    "rollout.replay": lambda id: {},
    "matrix.show": lambda id: {},
    "projects.show": lambda id: {"project": "shop"},
    "policies.show": lambda id: {"shipped": True},
    "orgs.routing": lambda id: {},
    "audit.list": lambda id: {},
    "merges.corroboration": lambda id: {"id": id},
    "learn.show": lambda id: {"memory_id": id},
    "learn.impact": lambda id: {},
    "inject.block": lambda id: {"query": "PostgreSQL", "scope": SHOP},
    "retention.run": lambda id: {"dry_run": True},
}


@pytest.mark.parametrize("name", READS)
def test_an_answer_says_the_same_after_its_way(served: Clew, known: str, name: str) -> None:
    answer = attrgetter(name)(served)(**READS[name](known))
    arrived = decode_answer(VERBS[name], encode_answer(VERBS[name], answer))
    assert document(arrived) == document(answer)


def document(answer: Any) -> Any:
    if isinstance(answer, (list, tuple)):
        return [document(one) for one in answer]
    return answer.as_json() if hasattr(answer, "as_json") else answer


@pytest.mark.parametrize("name", [name for name in READS if name not in ("doctor", "rollout.replay")])
def test_a_read_is_answered_over_the_socket(remote: Clew, known: str, name: str) -> None:
    assert attrgetter(name)(remote)(**READS[name](known)) is not None


def test_a_memory_written_from_afar_has_all_its_fields(remote: Clew, served: Clew) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    stored = remote.remember(
        "Deploys happen on Fridays.", type="fact", tags=("a", "b"), at=at, metadata={"n": 1}, scope=SHOP
    )
    assert stored.memory == served.show(stored.memory.id)
    assert (stored.memory.tags, stored.memory.at, stored.memory.metadata) == (("a", "b"), at, {"n": 1})
    edited = remote.edit(stored.memory.id, tags=("c",), expected_version=1)
    assert edited.tags == ("c",) and remote.forget(edited.id, hard=True).ids == (edited.id,)


def test_what_a_user_sees_in_every_project_is_asked_for_from_afar_as_well(remote: Clew, served: Clew) -> None:
    id = served.remember("of ann", scope=Scope(project="shop", user="ann")).id
    assert remote.show(id, scope=AcrossProjects(user="ann")).id == id
    for hidden in (AcrossProjects(user="bob"), Scope(user="ann")):
        with pytest.raises(NotFound):
            remote.show(id, scope=hidden)


def test_many_are_written_as_they_are_asked_for(remote: Clew, served: Clew) -> None:
    handed: list[int] = []

    def drafts() -> Iterator[Draft]:
        for number in range(250):
            handed.append(number)
            yield Draft(content=f"Number {number} of many.")

    stored = remote.remember_many(drafts(), scope=Scope(project="many"))
    assert handed == []
    first = next(stored)
    assert len(handed) < 250 and served.show(first.memory.id).content == "Number 0 of many."
    assert len(list(stored)) == 249


def test_a_session_runs_from_start_to_end(remote: Clew) -> None:
    session = remote.sessions.start(project="shop", work_type="feature", title="Cart")
    token = remote.sessions.claim(session.id, "w1")
    assert remote.queue.enqueue(session.id, "Mind the RLS policies.") is not None
    delivery = remote.queue.claim(session.id, "w1", token)
    assert delivery is not None and remote.queue.ack(session.id, delivery.delivery_id, "w1", token) is True
    ended = remote.sessions.end(
        session.id, "accepted", worker="w1", token=token, files_modified=iter(["src/cart.py"])
    )
    assert ended.state == "completed"


def test_a_value_of_a_topic_is_one_too(remote: Clew, served: Clew) -> None:
    assert remote.graph.flags == served.graph.flags
    assert remote.jobs.portion().processed == 0  # what is due there is not this process's business


def test_a_fingerprint_is_read_from_a_directory_of_this_machine(remote: Clew, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("flask==3.0\n", encoding="utf-8")
    assert "flask" in str(remote.transfer.fingerprint("shop", tmp_path).components)


# -- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [ClewError, Conflict, Denied, InvalidInput, Misconfigured, NotFound, StoreRefused, Unavailable]
)
def test_an_error_arrives_as_what_it_was(kind: type[ClewError]) -> None:
    error = kind("it is so", code="SO", next="do", details={"id": "x"})
    arrived = error_of(error_document(error))
    assert type(arrived) is kind and arrived.as_json() == error.as_json()


def test_an_error_of_a_class_that_is_none_of_ours_is_still_an_error() -> None:
    for kind in ("annotations", "SystemExit", "", "ClewError"):
        assert type(error_of({"error": {"kind": kind, "message": "m"}})) is ClewError
    assert error_of({"error": "no"}) is None


def test_the_error_of_a_verb_is_raised_here(remote: Clew, served: Clew) -> None:
    for clew_ in (served, remote):
        with pytest.raises(NotFound) as refused:
            clew_.show("mem_unknown")
        assert refused.value.code == "MEMORY_NOT_FOUND" and "clew list" in refused.value.next
    stored = remote.remember("Of two versions.")
    with pytest.raises(Conflict):
        remote.edit(stored.memory.id, content="Of three.", expected_version=7)


@pytest.mark.parametrize(
    ("verb", "arguments", "code"),
    [
        ("recall", {"query": 7}, "ARGUMENT_INVALID"),
        ("recall", {"query": "x", "colour": 1}, "ARGUMENT_UNKNOWN"),
        ("recall", {}, "ARGUMENT_MISSING"),
        ("sessions.claim", {"id": "ses_x", "worker": "w", "provider_session": None, "x": 1}, "ARGUMENT_UNKNOWN"),
        ("audit.list", {"before": 10**30}, "ARGUMENT_INVALID"),
        ("recall", {"query": "x", "identity": {"org": "acme"}}, "ARGUMENT_UNKNOWN"),
        ("recall", {"query": "x", "scope": {"organisation": "acme"}}, "ARGUMENT_INVALID"),
        ("remember", {"content": {"content": "x", "past": {}}}, "ARGUMENT_INVALID"),
        ("backup", {}, "VERB_LOCAL"),
        ("keys.authenticate", {"token": "x"}, "VERB_LOCAL"),
        ("hosts.event", {"host": "claude-code"}, "VERB_LOCAL"),
        ("store.close", {}, "VERB_UNKNOWN"),
        ("__class__", {}, "VERB_UNKNOWN"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    memory: Clew, verb: str, arguments: Mapping[str, Any], code: str
) -> None:
    data = {name: json.dumps(value).encode() for name, value in arguments.items()}
    with pytest.raises(ClewError) as refused:
        call(memory, verb, data, identity=Identity())
    assert refused.value.code == code


def test_what_cannot_be_sent_is_refused_here(remote: Clew) -> None:
    for odd in ("half \ud800", object()):
        with pytest.raises(InvalidInput, match="cannot be sent"):
            remote.recall(odd)  # type: ignore[arg-type]


CHANGED_BY_JSON = (b"abc", float("nan"), float("inf"), {"a"}, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("odd", CHANGED_BY_JSON, ids=str)
def test_metadata_that_json_would_change_is_refused_as_in_the_store(
    remote: Clew, served: Clew, odd: object
) -> None:
    draft = Draft(content="Odd metadata.", metadata={"deep": [odd]})
    for memory in (served, remote):
        for remember in (
            lambda memory=memory: memory.remember(draft.content, metadata=draft.metadata),
            lambda memory=memory: memory.remember(draft),
            lambda memory=memory: list(memory.remember_many([draft])),
        ):
            with pytest.raises(InvalidInput) as refused:
                remember()
            assert refused.value.code == "MEMORY_METADATA_INVALID"


def test_a_text_is_no_draft(remote: Clew, served: Clew) -> None:
    for memory in (served, remote):
        with pytest.raises(InvalidInput):
            list(memory.remember_many(["a text"]))  # type: ignore[list-item]


def test_bytes_are_no_text(remote: Clew, served: Clew) -> None:
    for memory in (served, remote):
        with pytest.raises(InvalidInput):
            memory.remember(b"abc")  # type: ignore[arg-type]
        for tags in ((b"x",), iter([b"x"])):
            with pytest.raises(InvalidInput):
                memory.remember("A tag of bytes.", tags=tags)


def test_what_is_no_number_is_not_sent_as_nothing(remote: Clew) -> None:
    with pytest.raises(InvalidInput, match="cannot be sent"):
        remote.recall("Not a number.", floor=float("nan"))


@pytest.mark.parametrize("given", [{"weight": float("nan")}, {"confidence": float("inf")}])
def test_what_is_no_number_is_refused_from_afar_as_at_home(
    remote: Clew, served: Clew, given: dict[str, float]
) -> None:
    said = []
    for memory in (served, remote):
        with pytest.raises(InvalidInput) as refused:
            memory.remember("Not a number.", **given)
        said.append(refused.value.as_json())
    assert said[0] == said[1]


def test_only_an_import_brings_ids_and_a_past_along(remote: Clew) -> None:
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    draft = Draft(content="Long ago.")
    for forged in (
        replace(draft, id="mem_" + "0" * 26),
        replace(draft, past=Past(created_at=moment, updated_at=moment)),
    ):
        with pytest.raises(InvalidInput, match="only an import"):
            remote.remember(forged)
        with pytest.raises(InvalidInput, match="only an import"):
            list(remote.remember_many([draft, forged]))


def test_it_tells_what_can_be_asked_for(remote: Clew) -> None:
    assert {"recall", "remember", "graph", "close"} <= set(dir(remote))
    assert {"neighbors", "activate"} <= set(dir(remote.graph))
    assert not [name for name in (*dir(remote), *dir(remote.graph)) if "." in name]


def test_what_needs_the_store_itself_says_so(remote: Clew) -> None:
    with pytest.raises(InvalidInput, match="from afar") as refused:
        remote.backup(Path("x.db"))
    assert refused.value.code == "VERB_LOCAL"
    with pytest.raises(InvalidInput, match="from afar"):
        remote.jobs.runner()
    with pytest.raises(AttributeError, match="elsewhere"):
        remote.store  # noqa: B018
    with pytest.raises(InvalidInput, match="token"):
        remote.recall("x", identity=Identity("acme"))
    with pytest.raises(TypeError):
        remote.show("a", "b")


# -- who asks ----------------------------------------------------------------------------------------------


@pytest.fixture
def acme(served: Clew, socket_path: Path) -> Iterator[Clew]:
    """With a key of the org Acme, for its member Ann."""
    if "acme" not in served.orgs.list():
        served.orgs.create("Acme", id="acme", owner="otto")
    token = served.keys.create("ann's", org="acme", user="ann").token
    with clew.open(f"unix://{socket_path}", token=token) as connected:
        yield connected


def test_a_key_decides_org_and_user(acme: Clew, served: Clew, known: str) -> None:
    there = Scope(org="acme", project="shop")
    stored = acme.remember("Acme ships on Mondays.", scope=there)
    own = acme.remember("Ann is away on Mondays.")
    assert (stored.memory.org, stored.memory.user) == ("acme", None)
    assert (own.memory.org, own.memory.user) == ("acme", "ann")
    found = acme.recall("Mondays", scope=there).results
    assert {one.memory.id for one in found} == {stored.memory.id, own.memory.id}
    for hidden in (lambda: acme.show(known), lambda: acme.show("mem_unknown")):
        with pytest.raises(NotFound) as refused:
            hidden()
        assert refused.value.code == "MEMORY_NOT_FOUND"
    with pytest.raises(NotFound) as refused:
        acme.recall("x", scope=Scope(org="other"))
    assert refused.value.code == "ORG_NOT_FOUND"


def test_a_scope_that_names_no_org_is_in_that_of_the_key(acme: Clew) -> None:
    stored = acme.remember("Acme closes in August.", scope=Scope(project="shop"))
    assert stored.memory.org == "acme"
    assert [one.memory.id for one in acme.recall("August", scope=Scope(project="shop")).results] == [stored.id]


def test_a_member_is_refused_what_is_for_operators(acme: Clew) -> None:
    for forbidden in (acme.doctor, acme.keys.list, acme.jobs.list):
        with pytest.raises(Denied):
            forbidden()


def test_a_token_of_nobody_is_refused_without_being_told(socket_path: Path) -> None:
    token = "clew_" + "0" * 26 + "_" + "s" * 43
    with clew.open(f"unix://{socket_path}", token=token) as stranger, pytest.raises(Denied) as refused:
        stranger.recall("x")
    assert token not in f"{refused.value} {refused.value.next}"


def test_a_revoked_key_is_refused_on_a_connection_that_is_open(served: Clew, acme: Clew) -> None:
    acme.list()
    for one in served.keys.list(org="acme"):
        served.keys.revoke(one.id, org="acme")
    with pytest.raises(Denied):
        acme.list()


def test_many_threads_share_one_client(remote: Clew, known: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _n: remote.show(known).id, range(40)))
    assert found == [known] * 40


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("recall", {"query": "x", "options": {"limt": 3}}),
        ("list", {"wanted": {"typ": "note"}}),
        ("list", {"scope": {"project": "shop"}}),
        ("transfer.fingerprint", {"project": "shop", "files": 3}),
    ],
)
def test_what_is_no_value_is_refused_as_an_open_store_refuses_it(
    served: Clew, remote: Clew, name: str, given: dict[str, Any]
) -> None:
    for memory in (served, remote):
        with pytest.raises(InvalidInput) as refused:
            attrgetter(name)(memory)(**given)
        assert refused.value.next


def test_what_cannot_be_gone_through_holds_no_drafts(remote: Clew) -> None:
    with pytest.raises(InvalidInput) as refused:
        list(remote.remember_many(3))  # type: ignore[arg-type]
    assert refused.value.message == "drafts is Iterable, not int"


def test_a_lone_tag_is_one_tag_from_afar_too(remote: Clew) -> None:
    stored = remote.remember("The lone tag of the far side.", tags="lone", scope=SHOP).memory
    assert stored.tags == ("lone",)
    assert [one.memory.id for one in remote.recall("lone tag", tags="lone", scope=SHOP).results] == [stored.id]
