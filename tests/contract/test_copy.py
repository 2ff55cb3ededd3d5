"""A whole store into another one: everything arrives, whatever interrupts it, and what does not is noticed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from clew import compose
from clew.clew import Clew
from clew.compose import copy_store
from clew.errors import ClewError, Conflict, NotFound, StoreRefused
from clew.settings import load_settings
from clew.store import copy_sides, queries, sqlite_copy
from clew.store.copy import digest
from filled import ACME, SHOP, fill
from toys import ToldClock, ToyEmbedder, open_toy

if TYPE_CHECKING:
    from clew.bench.postgres_server import PostgresServer

Place = Path | str
PAGES = 30
MOST_PAGES = 45


class Interrupted(Exception):
    """What ends a copy in the middle."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something in every table."""
    path = tmp_path_factory.mktemp("filled") / "clew.db"
    with open_toy(path, embedder=ToyEmbedder()) as clew:
        fill(clew)
    return path


@pytest.fixture
def own(source: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    target = tmp_path / "own.db"
    with closing(apsw.Connection(str(source))) as file:
        file.execute("VACUUM INTO ?", (str(target),))
    return target


@pytest.fixture(params=["postgres", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else tmp_path / "to.db"


@pytest.fixture(scope="module", params=["postgres", "sqlite"])
def copy(request: pytest.FixtureRequest, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A finished copy. Tests may add to it."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            place: Place = tmp_path_factory.mktemp("copied") / "to.db"
        else:
            place = stack.enter_context(request.getfixturevalue("postgres").fresh_database(user="clew_app"))
        copied(source, place)
        yield place


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sqlite_copy", "postgres_copy"):
        monkeypatch.setattr(f"clew.store.{module}.PAGE", 20)


def copied(source: Place, target: Place, *, stop_after: int = 0) -> Any:
    """`stop_after` so many pages."""
    told = 0

    def progress(done: int, total: int) -> None:
        nonlocal told
        told += 1
        assert 0 < done <= total
        if told == stop_after:
            raise Interrupted

    return copy_store(load_settings(environ={}), str(source), str(target), progress=progress)


def side(place: Place) -> Any:
    if isinstance(place, Path):
        return sqlite_copy.open_source(place)
    from clew.store import postgres_copy

    return postgres_copy.open_source(place)


def filled_side(place: Place) -> Any:
    if isinstance(place, Path):
        return sqlite_copy.open_target(place)
    from clew.store import postgres_copy

    return postgres_copy.open_target(place)


def rows(place: Place) -> dict[str, list[int]]:
    """What is in every table, as one number for each row."""
    with closing(side(place)) as opened, opened.snapshot():
        tables = [table for name, table in sorted(opened.tables().items()) if name not in copy_sides.LEFT_OUT]
        named = [copy_sides.Table(t.name, tuple(sorted(t.columns)), t.key) for t in tables]
        return {t.name: sorted(digest(row) for page in opened.pages(t) for row in page) for t in named}


def opened(place: Place) -> Clew:
    clock = ToldClock()
    clock.pass_by(hours=1)
    return open_toy(place, embedder=ToyEmbedder(), clock=clock)


def change(place: Place, statement: str) -> None:
    """In the org acme, behind the back of everybody."""
    if isinstance(place, Path):
        with closing(apsw.Connection(str(place))) as file:
            file.execute(statement)
        return
    import psycopg

    with psycopg.connect(place.replace("clew_app@", "postgres@")) as server:
        server.execute("SET search_path = clew, public")
        server.execute(statement)


# -- everything ----------------------------------------------------------------------------------------


def test_every_table_is_moved_or_left_out_with_a_reason(source: Path, postgres_url: str) -> None:
    with closing(side(source)) as file, closing(side(postgres_url)) as server:
        plans = [copy_sides.plan(one.tables(), other.tables()) for one, other in ((file, server), (server, file))]
        assert [table.name for table in plans[0]] == [table.name for table in plans[1]]
        known = {table.name for table in plans[0]} | copy_sides.LEFT_OUT.keys()
        assert known == file.tables().keys() | server.tables().keys()
        assert all(table.key or "org_id" in table.columns for table in (*plans[0], *plans[1]))


def test_what_others_refer_to_goes_first(source: Path) -> None:
    with closing(side(source)) as file:
        names = [table.name for table in copy_sides.plan(file.tables(), file.tables())]
        refers = {
            name: file._run(f"SELECT DISTINCT \"table\" FROM pragma_foreign_key_list('{name}')") for name in names
        }
    for name, others in refers.items():
        for (other,) in others:
            assert names.index(other) < names.index(name) and name in copy_sides.TAKES_ALONG[other]
    assert names.index("graph_evidence") < names.index("graph_edges")


def test_a_table_that_copying_does_not_know_is_refused() -> None:
    new = copy_sides.Table("novelties", ("id", "text"), ("id",))
    with pytest.raises(StoreRefused, match="novelties"):
        copy_sides.plan({"novelties": new}, {"novelties": new})


def test_the_store_of_these_tests_has_something_in_every_table(source: Path) -> None:
    assert [name for name, found in rows(source).items() if not found] == []


def test_there_and_back_again_every_row_is_what_it_was(source: Path, postgres_url: str, tmp_path: Path) -> None:
    there = copied(source, postgres_url)
    back = copied(postgres_url, tmp_path / "back.db")
    assert rows(source) == rows(postgres_url) == rows(tmp_path / "back.db")
    assert [table.as_json() for table in there.tables] == [table.as_json() for table in back.tables]
    assert there.rows == sum(map(len, rows(source).values())) and not there.resumed


def test_a_copy_answers_as_its_source_does(source: Path, copy: Place) -> None:
    with opened(source) as one, opened(copy) as other:
        for question in ("which port does the API listen on?", "mail at night", "PostgresDB"):
            asked = [clew.recall(question, scope=SHOP).results for clew in (one, other)]
            assert asked[0] and [r.memory.id for r in asked[0]] == [r.memory.id for r in asked[1]]
        around = [clew.graph.neighbors("PostgresDB", scope=SHOP).as_json() for clew in (one, other)]
        assert around[0] == around[1]
        assert other.audit.verify().as_json() == one.audit.verify().as_json()
        assert [dispute.conflict.id for dispute in other.conflicts.list()] == [
            dispute.conflict.id for dispute in one.conflicts.list()
        ]


def test_the_full_text_index_is_made_anew(copy: Place) -> None:
    with opened(copy) as clew, clew.store.read() as tx:
        assert [tx.index.damage(org) for org in ("local", "acme")] == [{}, {}]


def test_what_is_new_after_a_copy_gets_rows_that_nobody_had(source: Path, copy: Place) -> None:
    with closing(side(source)) as file:
        last = file.sequences()["memories"]
    with opened(copy) as clew:
        memory = clew.remember("New after the move", scope=SHOP).memory
        with clew.store.read() as tx:
            assert tx.memories.row_of(memory) > last
        assert clew.recall("new after the move", scope=SHOP).results[0].memory.id == memory.id


def test_who_worked_on_a_session_claims_it_again_with_a_higher_token(copy: Place) -> None:
    with opened(copy) as clew:
        [session] = [one for one in clew.sessions.list() if one.work_type == "bug_fix"]
        token = clew.sessions.claim(session.id, "another")
        assert token > session.fencing_token
        delivery = clew.queue.claim(session.id, "another", token)
        assert delivery and (delivery.text, delivery.attempts) == ("one", 2)


def next_token(place: Place, org: str) -> int:
    with opened(place) as clew:
        token = clew.store.write(lambda tx: tx.leases.claim(org, "work", holder="me", ttl_s=60))
    assert token
    return token


def test_no_token_of_a_lease_is_given_out_again(source: Path, postgres: PostgresServer, target: Place) -> None:
    orgs = ["local", "acme", ""]
    with postgres.fresh_database(user="clew_app") as server:
        copied(source, server)
        last = [max(next_token(server, org) for _ in range(5)) for org in orgs]
        copied(server, target)
    assert all(next_token(target, org) > token for org, token in zip(orgs, last, strict=True))


def test_members_keys_and_orgs_arrive(copy: Place) -> None:
    with opened(copy) as clew:
        assert clew.orgs.routing(user="ann").active == "acme"
        assert [key.name for key in clew.keys.list(org="acme")] == ["ci"]
        assert clew.recall("Acme ships on Fridays", identity=ACME).results


# -- interrupted ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "pages", [1, 9, pytest.param(20, marks=pytest.mark.torture), pytest.param(33, marks=pytest.mark.torture)]
)
def test_a_copy_that_was_interrupted_goes_on(source: Path, target: Place, pages: int) -> None:
    with pytest.raises(Interrupted):
        copied(source, target, stop_after=pages)
    report = copied(source, target)
    assert report.resumed and not report.again
    assert rows(target) == rows(source)


@pytest.mark.usefixtures("small_pages")
def test_a_copy_from_a_server_that_was_interrupted_goes_on(source: Path, postgres_url: str, tmp_path: Path) -> None:
    copied(source, postgres_url)
    for pages in (3, 30):
        with pytest.raises(Interrupted):
            copied(postgres_url, tmp_path / "back.db", stop_after=pages)
    assert not copied(postgres_url, tmp_path / "back.db").again
    assert rows(tmp_path / "back.db") == rows(source)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("pages", [1, 40])
def test_what_changed_in_the_source_meanwhile_is_copied_again(own: Path, target: Place, pages: int) -> None:
    with pytest.raises(Interrupted):
        copied(own, target, stop_after=pages)
    with opened(own) as clew:
        [first, *_rest] = clew.list(scope=SHOP, limit=100)[::-1]
        clew.edit(first.id, content="Changed while nobody copied")
        clew.remember("Came while nobody copied", scope=SHOP)
    report = copied(own, target)
    assert "memories" in report.again
    assert rows(target) == rows(own)


@pytest.mark.usefixtures("small_pages")
def test_an_edge_does_not_count_its_witnesses_twice(own: Path, target: Place) -> None:
    with pytest.raises(Interrupted):
        copied(own, target, stop_after=40)
    change(own, "UPDATE graph_evidence SET sentence = 'another' WHERE edge_row = 1")
    assert {"graph_edges", "graph_evidence"} <= set(copied(own, target).again)
    assert rows(target)["graph_edges"] == rows(own)["graph_edges"]


def test_what_users_gave_up_meanwhile_is_gone_from_the_copy_too(own: Path, target: Place) -> None:
    with pytest.raises(Interrupted):
        copied(own, target, stop_after=MOST_PAGES)
    change(own, "DELETE FROM org_routing")
    change(own, "DELETE FROM org_owner_mappings")
    assert {"org_owner_mappings", "org_routing"} <= set(copied(own, target).again)
    assert rows(target) == rows(own)


def test_what_belongs_to_users_is_emptied_by_no_one_but_a_copy(source: Path, postgres_url: str) -> None:
    copied(source, postgres_url)
    with closing(side(postgres_url)) as server:
        server._all("copy_of_users_clear", table="org_routing")
    assert rows(postgres_url)["org_routing"]


def test_an_unfinished_copy_is_not_opened(source: Path, target: Place) -> None:
    settings = load_settings({"store.url": str(target)}, environ={})
    with pytest.raises(Interrupted):
        copied(source, target, stop_after=PAGES)
    with pytest.raises(StoreRefused, match="unfinished copy") as refused:
        compose.compose(settings, target, in_background=False)
    assert refused.value.code == "COPY_UNFINISHED" and f"clew copy {source} " in refused.value.next
    assert "unfinished copy" in next(check.detail for check in compose.doctor(settings) if not check.ok)
    copied(source, target)
    compose.compose(settings, target, in_background=False).close()


def test_the_doctor_of_a_store_that_is_open_names_an_unfinished_copy(source: Path, target: Place) -> None:
    with pytest.raises(Interrupted):
        copied(source, target, stop_after=3)
    with opened(target) as clew:
        [found] = [check for check in clew.doctor() if check.name == "copy"]
    assert not found.ok and "clew copy" in found.next


def test_killed_at_any_moment_it_goes_on_without_loss(source: Path, target: Place, tmp_path: Path) -> None:
    program = (
        "import sys; from clew.store import sqlite_copy, copy\n"
        "from clew.compose import copy_store; from clew.settings import load_settings\n"
        "import clew.store.postgres_copy as p; sqlite_copy.PAGE = p.PAGE = 3\n"
        "copy_store(load_settings(environ={}), *sys.argv[1:], progress=lambda d, t: print(d, flush=True))"
    )
    words = [sys.executable, "-c", program, str(source), str(target)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=dict(os.environ, CLEW_HOME=str(tmp_path))) as running:
        assert running.stdout
        while int(running.stdout.readline()) < 40:
            pass
        os.kill(running.pid, signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL
    assert copied(source, target).resumed
    assert rows(target) == rows(source)


def test_two_copies_into_one_target_exclude_each_other(source: Path, target: Place) -> None:
    def meddle(done: int, total: int) -> None:
        with pytest.raises(Interrupted):
            copied(source, target, stop_after=12)

    with pytest.raises(StoreRefused) as refused:
        copy_store(load_settings(environ={}), str(source), str(target), progress=meddle)
    assert refused.value.code == "COPY_ELSEWHERE"


# -- proven --------------------------------------------------------------------------------------------


def test_a_damaged_row_is_found_and_named_and_mended_by_the_next_run(source: Path, target: Place) -> None:
    with pytest.raises(Interrupted):
        copied(source, target, stop_after=PAGES)
    change(target, "UPDATE memories SET content = 'spoilt' WHERE org_id = 'acme' AND title = ''")
    with pytest.raises(Conflict, match="memories of org 'acme' has 2 rows, not all the same") as differs:
        copied(source, target)
    assert differs.value.code == "COPY_DIFFERS" and "spoilt" not in str(differs.value)
    copied(source, target)
    assert rows(target) == rows(source)


def test_a_lost_row_is_found_and_counted(source: Path, target: Place) -> None:
    with pytest.raises(Interrupted):
        copied(source, target, stop_after=PAGES)
    change(target, "DELETE FROM audit WHERE org_id = 'acme' AND seq = 1")
    with pytest.raises(Conflict, match=r"audit of org 'acme' has \d+ rows instead of \d+"):
        copied(source, target)


def test_order_does_not_matter_to_a_checksum_but_every_value_does() -> None:
    row = ("a", 1, 1.0, None, b"\x00")
    assert digest(row) == digest(("a", 1, 1.0, None, b"\x00"))
    others = [
        ("b", 1, 1.0, None, b"\x00"),
        ("a", 2, 1.0, None, b"\x00"),
        ("a", 1, 1, None, b"\x00"),
        (*row[:4], b""),
    ]
    assert len({digest(one) for one in (row, *others)}) == 5
    assert digest(("\0", -0.0)) == digest(("\ufffd", 0.0))


# -- refused -------------------------------------------------------------------------------------------


def refused(source: Place, target: Place) -> ClewError:
    with pytest.raises(ClewError) as error:
        copied(source, target)
    assert error.value.next
    return error.value


def test_a_target_that_holds_something_is_refused(source: Path, target: Place) -> None:
    with opened(target) as clew:
        clew.remember("Already here")
    before = rows(target)
    assert refused(source, target).code == "COPY_TARGET_NOT_EMPTY"
    assert rows(target) == before


def begin(place: Place) -> None:
    with closing(filled_side(place)) as to:
        to.begin(copy_sides.plan(to.tables(), to.tables()), "{}")


def test_what_came_just_before_a_copy_begins_is_not_lost(target: Place) -> None:
    with opened(target) as clew:
        clew.remember("Came in between")
    before = rows(target)
    with pytest.raises(Conflict, match="not empty"):
        begin(target)
    assert rows(target) == before
    with closing(side(target)) as found:
        assert found.state() is None


def test_of_two_copies_that_begin_at_once_one_is_refused(target: Place) -> None:
    begin(target)
    with pytest.raises(StoreRefused) as refused:
        begin(target)
    assert refused.value.code == "COPY_ELSEWHERE"


def test_a_server_that_cannot_count_its_rows_is_neither_copied_nor_filled(
    source: Path, postgres_url: str, tmp_path: Path
) -> None:
    copied(source, postgres_url)
    change(postgres_url, "ALTER FUNCTION clew_contents() OWNER TO clew_app")
    for error in (refused(postgres_url, tmp_path / "to.db"), refused(source, postgres_url)):
        assert error.code == "STORE_ROWS_HIDDEN" and "clew migrate" in error.next


def test_a_target_that_was_only_opened_is_empty(source: Path, target: Place) -> None:
    place = target if isinstance(target, Path) else str(target)
    compose.compose(load_settings(environ={}), place, in_background=False).close()
    assert copied(source, target).rows


def test_a_finished_copy_is_not_copied_onto_again(source: Path, target: Place) -> None:
    copied(source, target)
    assert refused(source, target).code == "COPY_TARGET_NOT_EMPTY"


def test_an_unfinished_copy_of_another_store_is_refused(source: Path, own: Path, target: Place) -> None:
    with pytest.raises(Interrupted):
        copied(source, target, stop_after=3)
    assert refused(own, target).code == "COPY_OF_ANOTHER"
    assert refused(target, own.with_name("third.db")).code == "COPY_UNFINISHED"


def test_a_store_is_not_copied_onto_itself(source: Path, postgres_url: str) -> None:
    assert refused(source, source).code == "COPY_ONTO_ITSELF"
    assert refused(source, f"sqlite:///{source}").code == "COPY_ONTO_ITSELF"
    assert refused(postgres_url, postgres_url).code == "COPY_ONTO_ITSELF"


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no\.db"):
        copied(tmp_path / "no.db", tmp_path / "to.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("step", "code"), [(-1, "STORE_OLDER"), (1, "STORE_NEWER")])
def test_a_source_of_another_schema_is_refused_and_stays_as_it_is(own: Path, step: int, code: str) -> None:
    number = queries.newest_migration() + step
    change(own, f"PRAGMA user_version = {number}")
    assert refused(own, own.with_name("to.db")).code == code
    with closing(apsw.Connection(str(own))) as file:
        assert file.pragma("user_version") == number


def test_what_is_no_store_is_refused(tmp_path: Path, source: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a store, but a text that is long enough " * 5)
    assert refused(tmp_path / "notes.txt", tmp_path / "to.db").code == "STORE_FOREIGN"
    assert refused("https://clew.example.org", tmp_path / "to.db").code == "STORE_IS_REMOTE"
    away = refused(source, "postgresql://clew_app:secret@127.0.0.1:1/clew")
    assert away.code == "STORE_UNREACHABLE" and "secret" not in str(away)
