"""The graph as people look at it is the same on every engine: the same memories, written in the same order, give
the same nodes, edges, ways, facts and files, whoever asks."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clew.clew import Clew
from clew.errors import ClewError
from clew.model.ids import stable_id
from clew.model.memory import Draft
from clew.model.scope import Identity, Reach, Scope
from clew.store.graph_explore import GraphExplore
from toys import START, ToldClock, open_toy

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

ADA, BOB = Identity(user="ada", roles=()), Identity(user="bob", roles=())
READERS: tuple[dict[str, Any], ...] = (
    {},
    {"identity": ADA},
    {"scope": Scope(project="billing", user="bob"), "identity": BOB},
)
SERVICES = ("AuthService", "PaymentService", "OrderService", "MailService")
STORES = ("PostgresDB", "Redis", "Kafka", "Elasticsearch")
RELATIONS = ("depends on", "uses", "is deployed on", "replaces")

Pair = dict[str, Clew]


def id_of(number: int) -> str:
    return stable_id("mem", at_ms=int(START.timestamp() * 1000) + number, digest=number.to_bytes(10, "big"))


# The last four are seen by few or by nobody.
NODES = ("AuthService", "Redis", "topic:caching", "user:ada", "category:operations", "Kafka", id_of(0), id_of(14),
         "SecretVault", id_of(7), id_of(8), "topic:nothing")  # fmt: skip


def drafts() -> Iterator[tuple[Draft, Scope]]:
    """64 memories of two projects and two users: what all may see, what is private, what names other memories."""
    for number in range(64):
        one, two = SERVICES[number % 4], STORES[number // 4 % 4]
        said = f"{one} {RELATIONS[number // 16]} {two}" if number % 3 else f"{one} was slow, see note {number - 1}"
        draft = Draft(
            content=f"{said}. Écrit n° {number}",
            id=id_of(number),
            type=("note", "decision", "fact")[number % 3],
            title=f"Note {number}" if number % 5 == 0 else None,
            tags=(("caching", "Caching", "on call")[number % 3], f"week-{number % 7}"),
            category="Operations" if number % 4 == 0 else None,
            thread=f"thread-{number % 6}" if number % 2 else None,
            author="ada" if number % 8 == 0 else None,
        )
        user = {7: "bob", 11: "ada", 38: "bob"}.get(number)
        yield draft, Scope(project="billing" if number % 4 == 3 else "shop", user=user)


def fill(clew: Clew, count: int = 64) -> None:
    for draft, scope in list(drafts())[:count]:
        clew.remember(draft, scope=scope)


def wait(clew: Clew, **delta: float) -> None:
    assert isinstance(clew.clock, ToldClock)
    clew.clock.pass_by(**delta)


def enrich(clew: Clew) -> None:
    """What people say themselves and take back, what replaces what, and what is gone."""
    shop = Scope(project="shop")
    clew.link("AuthService", "owned_by", "Redis", scope=shop)
    clew.link(id_of(3), "explains", id_of(15), scope=Scope(project="billing"))
    clew.link(id_of(0), "explains", id_of(5), scope=shop)
    clew.link("AuthService", "blocked_by", "Kafka", scope=Scope(project="shop", user="bob"), identity=BOB)
    clew.remember(Draft(content="AuthService uses Vault now", id=id_of(70), supersedes=id_of(1)), scope=shop)
    private = Draft(content="Bob's SecretVault depends on Redis", id=id_of(71))
    clew.remember(private, scope=Scope(project="shop", user="bob"))
    soon = clew.now() + timedelta(minutes=1)
    clew.remember(Draft(content="OrderService uses Lamp", id=id_of(72), expires_at=soon), scope=shop)
    clew.edit(id_of(4), content="AuthService no longer says much")
    clew.forget(id_of(8))
    clew.unlink("AuthService", "owned_by", "Redis", scope=shop)
    wait(clew, hours=1)


@pytest.fixture(scope="module")
def new_pair(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Pair]]:
    with ExitStack() as stack:

        def make() -> Pair:
            url = stack.enter_context(postgres.fresh_database(user="clew_app"))
            places: dict[str, Path | str] = {
                "sqlite": tmp_path_factory.mktemp("store") / "clew.db",
                "postgres": url,
            }
            return {name: stack.enter_context(open_toy(place, clock=ToldClock())) for name, place in places.items()}

        yield make


@pytest.fixture(scope="module")
def both(new_pair: Callable[[], Pair]) -> Pair:
    """For reading only."""
    pair = new_pair()
    for clew in pair.values():
        fill(clew)
        enrich(clew)
    return pair


def asked(clew: Clew, ask: Callable[..., Any], *what: Any, **how: Any) -> Any:
    """The answer, or with what it was refused."""
    try:
        return ask(clew, *what, **how)
    except ClewError as error:
        return error.code, str(error)


def agreed(pair: Pair, ask: Callable[..., Any], *what: Any, **how: Any) -> Any:
    """What both answer; fails where they differ."""
    expected, found = (asked(pair[name], ask, *what, **how) for name in ("sqlite", "postgres"))
    assert found == expected
    return expected


def told(verb: str) -> Callable[..., Any]:
    """What a verb of the graph answers, field by field."""
    return lambda clew, *what, **how: asdict(getattr(clew.graph, verb)(*what, **how))


def exported(clew: Clew, **who: Any) -> str:
    file = io.StringIO()
    clew.graph.export(file, **who)
    return file.getvalue()


@pytest.mark.parametrize("who", READERS)
def test_the_same_nodes_stand_out(both: Pair, who: dict[str, Any]) -> None:
    assert len(agreed(both, told("explore"), limit=100, **who)["nodes"]) > 20


@pytest.mark.parametrize("who", READERS)
def test_the_same_hangs_on_a_node(both: Pair, who: dict[str, Any]) -> None:
    answers = [agreed(both, told("explore"), node, **who) for node in NODES]
    assert any(isinstance(answer, dict) and answer["memories"] for answer in answers)


@pytest.mark.parametrize("who", READERS)
def test_the_same_is_next_to_a_node(both: Pair, who: dict[str, Any]) -> None:
    answers = [agreed(both, told("neighbors"), node, depth=2, limit=30, **who) for node in NODES]
    assert any(isinstance(answer, dict) and answer["neighbors"] for answer in answers)


@pytest.mark.parametrize("who", READERS)
def test_the_same_way_leads_from_here_to_there(both: Pair, who: dict[str, Any]) -> None:
    ends = (("AuthService", "Kafka"), (id_of(2), id_of(40)), ("topic:week-1", "MailService"), ("Vault", "Redis"))
    ways = [agreed(both, told("path"), *pair, **who) for pair in ends]
    assert any(isinstance(way, dict) and way["steps"] for way in ways)


@pytest.mark.parametrize("query", [None, "what does AuthService use"])
def test_the_same_facts_are_told(both: Pair, query: str | None) -> None:
    facts = [agreed(both, told("triplets"), query, **who)["facts"] for who in READERS]
    assert all(facts[:2])


@pytest.mark.parametrize("who", READERS)
def test_the_same_edges_are_listed(both: Pair, who: dict[str, Any]) -> None:
    options: list[dict[str, Any]] = [{}, {"limit": 7}, {"focus": "Redis"}, {"since": START.replace(second=1)}]
    options += [{"categories": ["service", "topic"]}, {"categories": ["decision", "note"], "limit": 20}]
    assert all([agreed(both, told("edges"), **option, **who)["edges"] for option in options][:3])


@pytest.mark.parametrize("limit", [1, 3, 10, 50])
def test_few_counted_one_by_one_are_the_first_of_all(
    both: Pair, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what was counted does not settle it, since some of what is tied to a node is over by then."""
    everything = Reach.everything("local")
    for clew, ahead, days in product(both.values(), (1, 4), (0, 40)):
        monkeypatch.setattr("clew.store.graph_explore.AHEAD", ahead)
        now = clew.now() + timedelta(days=days)
        with clew.store.read() as tx:
            few = tx.explore.connected(everything, now=now, limit=limit)
            monkeypatch.setattr(GraphExplore, "_among_the_most_tied", lambda *_: None)
            assert few == tx.explore.connected(everything, now=now, limit=limit)
        monkeypatch.undo()


def test_the_same_is_counted(both: Pair) -> None:
    for who in READERS:
        assert agreed(both, told("status"), **who)["counted"]


@pytest.mark.parametrize("who", READERS)
def test_the_same_edges_are_written_to_a_file(both: Pair, who: dict[str, Any]) -> None:
    assert agreed(both, exported, **who).count("\n") > 50


def test_the_same_changes_are_told(both: Pair) -> None:
    answers = [agreed(both, told("changes"), 0, **who) for who in READERS]
    assert any(isinstance(found, dict) and found["changes"] for found in answers)


def test_the_doctor_finds_the_same_in_the_graph(both: Pair) -> None:
    def checks(clew: Clew) -> list[Any]:
        return [check for check in clew.doctor() if check.name.startswith(("graph", "edge", "decay"))]

    assert agreed(both, checks)


def test_edges_of_a_file_come_in_alike(both: Pair, new_pair: Callable[[], Pair], tmp_path: Path) -> None:
    memories, edges, billing = tmp_path / "memories.jsonl", tmp_path / "edges.jsonl", Scope(project="billing")
    with memories.open("w", encoding="utf-8") as file:
        both["sqlite"].export(file, scope=billing)
    edges.write_text(exported(both["sqlite"], scope=billing), encoding="utf-8")
    others = new_pair()
    assert agreed(others, lambda clew: clew.import_file(memories).as_json())
    assert agreed(others, lambda clew: clew.graph.import_file(edges).as_json())["added"]
    agreed(others, exported)


def test_edges_lose_the_same_confidence_over_time(new_pair: Callable[[], Pair]) -> None:
    pair = new_pair()
    for clew in pair.values():
        fill(clew, 24)
        clew.link("AuthService", "owned_by", "Redis", scope=Scope(project="shop"))
        wait(clew, days=120)

    def report(clew: Clew, **options: Any) -> dict[str, Any]:
        return clew.graph.decay(**options).as_json() | {"duration_ms": 0}

    assert agreed(pair, report, dry_run=True)["edges_decayed"]
    agreed(pair, report)
    agreed(pair, exported)


def test_what_dangles_is_found_and_swept_alike(new_pair: Callable[[], Pair]) -> None:
    pair = new_pair()

    def break_it(tx: Any) -> None:
        """As a bug would: edges without their nodes, witnesses without their edges."""
        session = tx.session
        edges = session.all("edges_of_node", org_id="local", node_row=node_of(tx))
        for row in sorted(row for row, _from, _to in edges)[:2]:
            session.run("edge_delete", org_id="local", row=row)
        session.run("links_delete", org_id="local", memory_row=1)

    def node_of(tx: Any) -> int:
        return int(tx.graph.own_nodes("local", [id_of(0)])[id_of(0)])

    def sweep(clew: Clew) -> Any:
        before = clew.store.write(lambda tx: tx.edges.dangling("local"))
        touched = clew.store.write(lambda tx: tx.edges.sweep("local"))
        return before, len(touched), clew.store.write(lambda tx: tx.edges.dangling("local")), exported(clew)

    for clew in pair.values():
        fill(clew, 16)
        clew.store.write(break_it)
    before, _touched, after, _left = agreed(pair, sweep)
    assert before and not after
