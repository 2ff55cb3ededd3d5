"""Edges in files: out of one store, into another, for those who may see them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.errors import InvalidInput, NotFound
from clew.model.scope import Identity, Scope
from clew.model.times import parse_time
from clew.relate.edges_file import BATCH
from toys import ToldClock

SHOP = Scope(project="shop")
ADA, BOB = Identity(user="ada", roles=()), Identity(user="bob", roles=())
OpenAt = Callable[..., Clew]


@pytest.fixture
def clew(clew_at: OpenAt, tmp_path: Path) -> Clew:
    return clew_at(tmp_path / "home")


@pytest.fixture
def other(clew_at: OpenAt, tmp_path: Path) -> Clew:
    return clew_at(tmp_path / "elsewhere")


def text_of(clew: Clew, **who: Any) -> str:
    file = io.StringIO()
    clew.graph.export(file, **who)
    return file.getvalue()


def lines(clew: Clew, **who: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(clew, **who).splitlines()[1:]]


def edges(clew: Clew) -> set[tuple[str, str, str, bool]]:
    return {(line["from"], line["type"], line["to"], line["user"]) for line in lines(clew)}


def move(clew: Clew, other: Clew, folder: Path) -> Path:
    """The memories of one store into another; returns a file with the edges, which are still to come."""
    memories, path = folder / "memories.jsonl", folder / "edges.jsonl"
    with memories.open("w", encoding="utf-8") as file:
        clew.export(file)
    other.import_file(memories)
    path.write_text(text_of(clew), encoding="utf-8")
    return path


def written(folder: Path, *documents: object) -> Path:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return path


def test_a_line_says_what_the_edge_says(clew: Clew) -> None:
    one = clew.remember("AuthService depends on Redis", scope=SHOP).id
    texts = [text for text in text_of(clew).splitlines() if '"format"' in text or '"depends_on"' in text]
    header, line = map(json.loads, texts)
    assert header["format"] == "clew-edges" and header["version"] == 1 and header["checksum"].startswith("sha256:")
    created = line.pop("created_at")
    assert line.pop("last_reinforced_at") == created and parse_time(created)
    assert line == {
        "from": "service:authservice", "from_project": "shop", "to": "service:redis", "to_project": "shop",
        "project": "shop", "type": "depends_on", "label": "depends on", "weight": 1.0, "confidence": 0.95,
        "user": False, "witnesses": [one],
    }  # fmt: skip


def test_everything_comes_over_and_a_second_time_nothing(clew: Clew, other: Clew, tmp_path: Path) -> None:
    one = clew.remember("AuthService depends on Redis", tags=("auth",), scope=SHOP, thread="t").id
    two = clew.remember("It failed because of Redis", scope=SHOP, thread="t").id
    clew.link(one, "contradicts", two)
    clew.link(one, "uses", "Kafka")
    clew.link("AuthService", "owns", "Redis", scope=SHOP)
    path = move(clew, other, tmp_path)
    told = other.graph.import_file(path, dry_run=True)
    before = edges(other)
    done = other.graph.import_file(path)
    assert (told.added, told.known) == (done.added, done.known) and done.added == 4 and not done.skipped
    assert before < edges(other) == edges(clew) and done.checksum == "ok"
    again = other.graph.import_file(path)
    assert (again.added, again.known) == (0, again.read)


def test_a_dry_run_changes_nothing(clew: Clew, other: Clew, tmp_path: Path) -> None:
    one = clew.remember("plain note").id
    clew.link(one, "uses", "Kafka")
    path = move(clew, other, tmp_path)
    before, seen = other.stats(), edges(other)
    assert other.graph.import_file(path, dry_run=True).as_json()["added"] == 1
    assert (other.stats().last_change, other.stats().graph, edges(other)) == (
        before.last_change,
        before.graph,
        seen,
    )


def test_times_and_confidence_come_along(clew: Clew, clock: ToldClock, tmp_path: Path) -> None:
    one, two = clew.remember("first").id, clew.remember("second").id
    path = written(tmp_path, {
        "from": f"memory:{one}", "to": f"memory:{two}", "type": "supports", "weight": 2.5, "confidence": 0.4,
        "witnesses": [one, two], "created_at": "2025-01-01T00:00:00Z", "last_reinforced_at": "2025-06-01T00:00:00Z",
    })  # fmt: skip
    assert clew.graph.import_file(path).added == 1
    [line] = lines(clew)
    assert (line["weight"], line["confidence"], line["witnesses"]) == (2.5, 0.4, [one, two])
    assert (line["created_at"], line["last_reinforced_at"]) == (
        "2025-01-01T00:00:00.000Z",
        "2025-06-01T00:00:00.000Z",
    )


def test_times_of_the_future_are_cut_to_now(clew: Clew, tmp_path: Path) -> None:
    one, two = clew.remember("first").id, clew.remember("second").id
    clew.graph.import_file(written(tmp_path, {"from": one, "to": two, "type": "x", "created_at": "2999-01-01"}))
    assert parse_time(lines(clew)[0]["last_reinforced_at"]) <= clew.now()


def test_a_known_edge_is_left_as_it_is(clew: Clew, tmp_path: Path) -> None:
    one = clew.remember("AuthService depends on Redis").id
    [line] = lines(clew)
    assert clew.graph.import_file(written(tmp_path, line | {"confidence": 0.1, "witnesses": [one]})).known == 1
    assert lines(clew) == [line]


def test_what_a_person_made_is_a_persons_here_too(clew: Clew, tmp_path: Path) -> None:
    clew.remember("AuthService depends on Redis")
    [line] = lines(clew)
    assert clew.graph.import_file(written(tmp_path, line | {"user": True})).added == 1
    assert lines(clew)[0]["user"] and lines(clew)[0]["confidence"] == 1.0


# -- what is left out, and why ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"from": "memory:mem_gone"}, "MEMORY_NOT_FOUND"),
        ({"to": "mem_gone"}, "MEMORY_NOT_FOUND"),
        ({"from": "service:a", "to": "service:b"}, "NO_WITNESS"),
        ({"from": "service:a", "to": "service:b", "witnesses": ["mem_gone"]}, "WITNESS_NOT_FOUND"),
        ({"from": "service:a", "to": "service:b", "user": True}, "NODE_NOT_FOUND"),
        ({"to": "no thing at all"}, "NODE_NOT_FOUND"),
        ({"type": "Not A Word"}, "RELATION_INVALID"),
        ({"type": None}, "EDGE_FIELD_INVALID"),
        ({"from": ""}, "EDGE_END_INVALID"),
        ({"from": 7}, "EDGE_FIELD_INVALID"),
        ({"from": "service:" + "x" * 400}, "EDGE_END_INVALID"),
        ({"weight": -1}, "EDGE_NUMBER_INVALID"),
        ({"weight": 10**400}, "EDGE_NUMBER_INVALID"),
        ({"confidence": 1.5}, "EDGE_NUMBER_INVALID"),
        ({"confidence": True}, "EDGE_NUMBER_INVALID"),
        ({"created_at": "yesterday"}, "TIME_INVALID"),
        ({"witnesses": "mem_x"}, "EDGE_FIELD_INVALID"),
    ],
)
def test_a_line_that_does_not_come_in_is_counted_with_its_reason(
    clew: Clew, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    one, two = clew.remember("first").id, clew.remember("second").id
    line = {"from": one, "to": two, "type": "supports"}
    report = clew.graph.import_file(written(tmp_path, line | change, line))
    assert report.as_json()["reasons"] == {reason: 1}
    assert report.as_json()["skipped"] == [{"line": 1, "reason": reason}] and report.added == 1


def test_an_edge_to_itself_leaves_nothing(clew: Clew, tmp_path: Path) -> None:
    one = clew.remember("first").id
    before = clew.stats().graph
    for name in (one, "service:new"):
        report = clew.graph.import_file(
            written(tmp_path, {"from": name, "to": name, "type": "x", "witnesses": [one]})
        )
        assert report.skipped == [(1, "LINK_TO_ITSELF")]
    assert clew.stats().graph == before


def test_item_4_garbage_is_passed_over_and_counted(clew: Clew, tmp_path: Path) -> None:
    one, two = clew.remember("first").id, clew.remember("second").id
    good = {"from": one, "to": two, "type": "entity", "weight": 1.0, "label": "x", "ts": "2026-01-01T00:00:00Z"}
    path = tmp_path / "entity.jsonl"
    path.write_bytes(b"garbage\n\n[1]\n" + json.dumps(good).encode() + b'\n{"from": NaN}\n\xff\xfe\n{"from": "a"')
    report = clew.graph.import_file(path)
    assert (report.read, report.added, len(report.skipped)) == (6, 1, 5)
    assert [number for number, _reason in report.skipped] == [1, 3, 5, 6, 7]


def test_secrets_in_a_file_of_edges_are_refused_as_names_and_masked_as_labels(clew: Clew, tmp_path: Path) -> None:
    one, key = clew.remember("sessions").id, "ghp_" + "0001aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA"
    named = {"from": one, "to": f"src/{key}.py", "type": "about"}
    said = {"from": one, "to": "Redis", "type": "about", "label": f"uses {key}"}
    report = clew.graph.import_file(written(tmp_path, named, said))
    assert (report.added, report.skipped) == (1, [(1, "NODE_NAME_SECRET")])
    assert key not in text_of(clew) and "uses [masked:github]" in text_of(clew)


def test_item_4_a_file_of_garbage_adds_nothing_and_a_missing_one_is_said_to_be(clew: Clew, tmp_path: Path) -> None:
    path = tmp_path / "entity.jsonl"
    path.write_text("x\ny\n")
    assert (clew.graph.import_file(path).added, edges(clew)) == (0, set())
    with pytest.raises(NotFound) as refused:
        clew.graph.import_file(tmp_path / "nothing.jsonl")
    assert refused.value.code == "FILE_NOT_FOUND"


def test_a_plain_line_belongs_where_its_memory_does(clew: Clew, tmp_path: Path) -> None:
    one = clew.remember("sessions", scope=SHOP).id
    plain = {
        "from": one,
        "to": "Redis",
        "type": "entity",
        "weight": 1,
        "label": "Redis",
        "ts": "2026-01-01T00:00:00Z",
    }
    reinforced = plain | {"type": "causal", "confidence": 0.7, "lastReinforcedAt": "2026-02-01T00:00:00Z"}
    assert clew.graph.import_file(written(tmp_path, plain, reinforced)).added == 2
    found = {line["type"]: line for line in lines(clew) if line["from"] == f"memory:{one}"}
    assert found["entity"]["to_project"] == "shop" == found["entity"]["project"]
    assert (found["entity"]["confidence"], found["causal"]["confidence"]) == (1.0, 0.7)
    assert found["causal"]["last_reinforced_at"].startswith("2026-02-01")
    assert found["entity"]["last_reinforced_at"] == found["entity"]["created_at"] == "2026-01-01T00:00:00.000Z"


def test_a_changed_or_cut_file_is_noticed(clew: Clew, tmp_path: Path) -> None:
    for number in range(3):
        clew.link(clew.remember(f"note {number}").id, "uses", "Kafka")
    whole = text_of(clew)
    path = tmp_path / "edges.jsonl"
    path.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    report = clew.graph.import_file(path)
    assert report.truncated and report.checksum == "mismatch"


@pytest.mark.parametrize(
    ("header", "code"),
    [({"format": "clew-memories", "version": 1}, "IMPORT_FORMAT_UNKNOWN"),
     ({"format": "clew-edges", "version": 2}, "IMPORT_NEWER"),
     ({"format": "clew-edges", "version": "1"}, "IMPORT_FORMAT_UNKNOWN")],
)  # fmt: skip
def test_another_format_is_refused(clew: Clew, tmp_path: Path, header: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clew.graph.import_file(written(tmp_path, header))
    assert refused.value.code == code


def test_many_edges_and_the_same_ones_twice(clew: Clew, tmp_path: Path) -> None:
    one, two = clew.remember("first").id, clew.remember("second").id
    many = [{"from": one, "to": two, "type": f"t{number}"} for number in range(BATCH + 20)]
    path = written(tmp_path, *many, *many[:40])
    told, done = clew.graph.import_file(path, dry_run=True), clew.graph.import_file(path)
    assert (told.added, told.known) == (done.added, done.known) == (BATCH + 20, 40)


# -- rights ----------------------------------------------------------------------------------------


def test_an_export_holds_what_its_reader_may_see(clew: Clew) -> None:
    clew.remember("AuthService depends on Redis", scope=Scope(user="ada"))
    clew.remember("BillingService depends on Kafka", scope=SHOP)
    shared = clew.remember("AuthService depends on Redis, as ever").id
    names = {(line["from"], line["to"]) for line in lines(clew, identity=BOB)}
    assert ("service:billingservice", "service:kafka") in names
    [line] = [line for line in lines(clew, identity=BOB) if line["to"] == "service:redis"]
    assert line["witnesses"] == [shared]
    [line] = [line for line in lines(clew) if line["to"] == "service:redis"]
    assert len(line["witnesses"]) == 2
    assert not [line for line in lines(clew, scope=Scope()) if line.get("project") == "shop"]
    assert lines(clew, identity=Identity(org="acme")) == []


def test_one_brings_in_only_what_one_sees(clew: Clew, tmp_path: Path) -> None:
    secret = clew.remember("ada thinks", scope=Scope(user="ada")).id
    shared = clew.remember("for all").id
    bad = [
        {"from": secret, "to": shared, "type": "x"},
        {"from": "service:a", "to": "service:b", "type": "x", "witnesses": [secret]},
        {"from": "service:a", "from_project": "shop", "to": shared, "type": "x"},
    ]
    report = clew.graph.import_file(written(tmp_path, *bad), identity=BOB, scope=Scope(user="bob"))
    assert [reason for _line, reason in report.skipped] == [
        "MEMORY_NOT_FOUND",
        "WITNESS_NOT_FOUND",
        "PROJECT_NOT_FOUND",
    ]
    assert edges(clew) == set()


def test_a_witness_from_a_file_opens_nothing(clew: Clew, tmp_path: Path) -> None:
    secret = clew.remember("ada thinks of AuthService", scope=Scope(user="ada")).id
    shared = clew.remember("for all").id
    path = written(tmp_path, {"from": secret, "to": shared, "type": "x", "witnesses": [shared]})
    assert clew.graph.import_file(path, identity=ADA).added == 1
    assert lines(clew, identity=BOB) == [] and len(lines(clew, identity=ADA)) == 1


# -- what others keep private ----------------------------------------------------------------------

ADAS, BOBS = Scope(project="shop", user="ada"), Scope(project="shop", user="bob")


def depends(source: str, target: str, **more: Any) -> dict[str, Any]:
    place = {"project": "shop", "from_project": "shop", "to_project": "shop"}
    return {"from": source, "to": target, "type": "depends_on"} | place | more


def seen_from(clew: Clew, node: str, scope: Scope, identity: Identity) -> list[tuple[str, str]]:
    found = clew.graph.neighbors(node, scope=scope, identity=identity).neighbors
    return [(one.edge_type, one.node.key) for one in found]


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_edge_that_only_others_see_is_brought_in_like_a_new_one(
    clew: Clew, tmp_path: Path, dry_run: bool
) -> None:
    clew.remember("AuthService depends on VaultServer", scope=ADAS)
    mine = clew.remember("a note of Bob", scope=BOBS).id
    hidden, new = (
        clew.graph.import_file(
            written(tmp_path, depends("service:authservice", to, witnesses=[mine])),
            scope=BOBS, identity=BOB, dry_run=dry_run,
        ).as_json()
        for to in ("service:vaultserver", "service:redis")
    )  # fmt: skip
    assert hidden == new and hidden["added"] == 1


def test_what_was_brought_in_over_a_hidden_edge_is_seen_and_then_known(clew: Clew, tmp_path: Path) -> None:
    clew.remember("AuthService depends on VaultServer", scope=ADAS)
    mine = clew.remember("a note of Bob", scope=BOBS).id
    path = written(tmp_path, depends("service:authservice", "service:vaultserver", witnesses=[mine]))
    clew.graph.import_file(path, scope=BOBS, identity=BOB)
    assert ("depends_on", "vaultserver") in seen_from(clew, "service:authservice", BOBS, BOB)
    again = clew.graph.import_file(path, scope=BOBS, identity=BOB)
    assert (again.added, again.known) == (0, 1)


def test_a_persons_edge_that_only_others_see_becomes_the_importers(clew: Clew, tmp_path: Path) -> None:
    clew.remember("AuthService depends on VaultServer", scope=ADAS)
    clew.remember("AuthService and VaultServer are old", scope=BOBS)
    path = written(tmp_path, depends("service:authservice", "service:vaultserver", user=True))
    done = clew.graph.import_file(path, scope=BOBS, identity=BOB)
    assert (done.added, done.known) == (1, 0)
    assert ("depends_on", "vaultserver") in seen_from(clew, "service:authservice", BOBS, BOB)
    again = clew.graph.import_file(path, scope=BOBS, identity=BOB)
    assert (again.added, again.known) == (0, 1)


def test_a_persons_edge_from_a_file_is_the_importers_alone(clew: Clew, tmp_path: Path) -> None:
    clew.remember("AuthService and VaultServer are old", scope=SHOP)
    path = written(tmp_path, depends("service:authservice", "service:vaultserver", user=True))
    clew.graph.import_file(path, scope=BOBS, identity=BOB)
    assert not [line for line in lines(clew, scope=ADAS, identity=ADA) if line["type"] == "depends_on"]


def test_an_export_tells_no_more_of_an_edge_than_its_visible_witnesses_say(clew: Clew, clock: ToldClock) -> None:
    clew.remember("OrderApi is powered by the MailServer", scope=ADAS)
    clock.pass_by(days=1)
    clew.remember("OrderApi relies on MailServer", scope=BOBS)
    stated = clew.now()
    clock.pass_by(days=1)
    clew.remember("Still: OrderApi relies on MailServer", scope=ADAS)
    [line] = [line for line in lines(clew, scope=BOBS, identity=BOB) if line["type"] == "depends_on"]
    [whole] = [line for line in lines(clew) if line["type"] == "depends_on"]
    assert "label" not in line and whole["label"]
    assert line["created_at"] == line["last_reinforced_at"] != whole["created_at"]
    assert abs((parse_time(line["created_at"]) - stated).total_seconds()) < 1
    assert line["confidence"] < whole["confidence"]


def test_an_export_leaves_out_what_expired_or_was_superseded(clew: Clew, clock: ToldClock) -> None:
    soon = clock.now() + timedelta(hours=1)
    clew.remember("OrderApi calls MailServer", scope=SHOP, layer="working", expires_at=soon)
    old = clew.remember("BlueApi calls RedApi", scope=SHOP).id
    clew.remember("nothing at all", supersedes=old, scope=SHOP)
    clock.pass_by(hours=2)
    assert not [line for line in lines(clew, scope=SHOP) if line["type"] in ("calls", "supersedes")]
