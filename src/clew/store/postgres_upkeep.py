"""The health of a store on PostgreSQL: the server, the schema, the walls between orgs, the indices, the clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.model.times import CLOCK_SLACK, from_micros, to_rfc3339
from clew.model.upkeep import Check
from clew.store import queries
from clew.store.postgres_schema import setup_hash, vector_indices
from clew.store.upkeep import DAMAGE, REINDEX, unfinished_copy

if TYPE_CHECKING:
    from clew.store.store import Store

FEW_LEFT = 10  # connections that should be free on the server


def checks(store: Store, now: datetime) -> list[Check]:
    found: list[Check] = []
    looks: list[tuple[str, Callable[[], Iterator[Check]]]] = [
        ("server", partial(_server, store)),
        ("schema", partial(_schema, store)),
        ("copy", partial(unfinished_copy, store)),
        ("isolation", partial(_isolation, store)),
        ("index", partial(_index, store)),
        ("clock", partial(_clock, store, now)),
    ]
    for name, look in looks:
        try:
            found += look()
        except ClewError as error:
            found.append(Check(name, False, error.message, error.next))
    return found


def _server(store: Store) -> Iterator[Check]:
    with store.read() as tx:
        version, vector, used, most = tx.session.one("server_facts") or ("?", "?", 0, 0)
    detail = f"PostgreSQL {version}, pgvector {vector}, {used} of {most} connections in use"
    if most - used < FEW_LEFT:
        yield Check("server", False, detail, "raise max_connections, or lower store.connections")
    else:
        yield Check("server", True, detail)


def _schema(store: Store) -> Iterator[Check]:
    with store.read() as tx:
        found, setup = tx.session.schema(), tx.session.value("setup_found")
    known = queries.newest_migration()
    if found > known:
        detail = f"the database has schema {found}, this Clew knows up to {known}"
        yield Check("schema", False, detail, "upgrade Clew: pip install -U clew")
    elif found < known:
        yield Check(
            "schema", False, f"the database has schema {found} of {known}", "as its owner run: clew migrate"
        )
    elif setup != setup_hash():
        detail = f"schema {found}, but functions and rights of another version"
        yield Check("schema", False, detail, "as its owner run: clew migrate")
    else:
        yield Check("schema", True, f"schema {found}")


def _isolation(store: Store) -> Iterator[Check]:
    with store.read() as tx:
        open_tables = [table for (table,) in tx.session.all("tables_unforced")]
        role, is_bound = tx.session.one("role_facts") or ("?", 0)
        owners = [owner for (owner,) in tx.session.all("owners")]
    if len(owners) > 1:
        detail = f"tables and functions belong to several roles: {', '.join(owners)}"
        yield Check(
            "isolation", False, detail, f"as an administrator: REASSIGN OWNED BY {owners[-1]} TO {owners[0]}"
        )
    elif open_tables:
        detail = f"row-level security is not forced on {', '.join(open_tables[:3])}"
        yield Check("isolation", False, detail, "as the owner of the schema run: clew migrate")
    elif not is_bound:
        detail = f"row-level security does not bind the role '{role}'"
        yield Check("isolation", False, detail, "take SUPERUSER, BYPASSRLS and ownership away from it")
    else:
        yield Check("isolation", True, f"row-level security binds '{role}' on every table of an org")


def _index(store: Store) -> Iterator[Check]:
    damage: Counter[str] = Counter()
    with store.read() as tx:
        broken = [name for (name,) in tx.session.all("indices_invalid")]
        there = {name for name, *_rest in tx.session.all("vector_indices")}
        for org in tx.config.orgs():
            damage.update(tx.index.damage(org))
    worst = next((name for name in DAMAGE if damage[name]), None)
    missing = [name for name in vector_indices() if name not in there]
    if missing:
        detail = f"the index {missing[0]} is missing: it was dropped to fill the database"
        yield Check("index", False, detail, "as the owner of the schema run: clew migrate")
    elif broken:
        yield Check("index", False, f"the index {broken[0]} is not valid", f"run: REINDEX INDEX clew.{broken[0]}")
    elif worst:
        yield Check("index", False, DAMAGE[worst].format(damage[worst]), REINDEX)
    else:
        yield Check("index", True, "every memory is in the index, and nothing else is")


def _clock(store: Store, now: datetime) -> Iterator[Check]:
    with store.read() as tx:
        theirs, newest = from_micros(tx.session.value("clock")), tx.memories.newest()
    told = f"the server's clock says {to_rfc3339(theirs)}, ours {to_rfc3339(now)}"
    if abs(theirs - now) > CLOCK_SLACK:
        yield Check("clock", False, told, "set the clocks of both machines")
    elif newest is not None and newest > now + CLOCK_SLACK:
        move = "set the clocks; if they are right now, run: clew reindex"
        yield Check("clock", False, f"the newest memory is of {to_rfc3339(newest)}", move)
    else:
        yield Check("clock", True, "both clocks agree")
