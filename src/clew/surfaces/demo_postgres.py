"""`make demo-postgres`: one PostgreSQL for two organisations and many processes, on a throw-away server."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import clew
from clew.bench.postgres_server import PostgresServer

NOTES = {
    "Acme": ("Acme deploys on Tuesdays, after the freeze is lifted.", "Acme's orders are kept in PostgreSQL 18."),
    "Globex": ("Globex deploys every night at two.", "Globex keeps its orders in a spreadsheet, for now."),
}
QUESTION = "when do we deploy?"
SESSIONS, EACH = 20, 5


def main() -> None:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        PostgresServer() as server,
        ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes,
    ):
        _migrate(server, home)
        told = (server.url(user="clew_app"), home)
        with clew.open(told[0], home=home) as memory:
            tokens = _organisations(memory)
        _two_at_once(processes, told, tokens)
        _apart(server, told, tokens)
        _queue(processes, told, tokens["Acme"])
    _say(f"\nThe server is {'still up' if server.is_up() else 'stopped'}, and its folder is gone.")
    _say("Yours: pip install 'clew[postgres]', then CLEW_URL=postgresql://user@host/database clew recall ...")


def _migrate(server: PostgresServer, home: str) -> None:
    started = time.perf_counter()
    with clew.open(server.url(), home=home):
        tables = server.sql("select count(*) from pg_tables where schemaname = 'clew'")
    _say(f"1. An empty database gets its schema: {tables} tables in {time.perf_counter() - started:.1f} s\n")
    guarded = server.sql(
        "select count(*) from pg_class where relrowsecurity and relnamespace = 'clew'::regnamespace"
    )
    _say(f"   {guarded} of them under row-level security; Clew then works as the role clew_app, which owns nothing")


def _organisations(memory: clew.Clew) -> dict[str, str]:
    _say("\n2. Two organisations, a key each\n")
    tokens = {}
    for name in NOTES:
        org = memory.orgs.create(name, owner="kim")
        made = memory.keys.create("demo", org=org.id, user="kim", roles=("owner",), identity=_operator(org.id))
        tokens[name] = made.token
        _say(f"   {org.name:7} org {org.id}, key {made.key.id} (its token is told once)")
    return tokens


def _operator(org: str) -> clew.Identity:
    return clew.Identity(org=org, roles=("owner", "operator"))


def _two_at_once(processes: ProcessPoolExecutor, told: tuple[str, str], tokens: dict[str, str]) -> None:
    _say(f'\n3. Two processes remember and recall at once: "{QUESTION}"\n')
    running = {name: processes.submit(_agent, *told, tokens[name], notes) for name, notes in NOTES.items()}
    for name, answer in running.items():
        _say(f"   {name:7} {answer.result()}")


def _agent(url: str, home: str, token: str, notes: tuple[str, ...]) -> str:
    """One process, with nothing but the address and a key."""
    with clew.open(url, home=home) as memory:
        who = _identified(memory, token)
        for note in notes:
            memory.remember(note, type="fact", scope=clew.Scope(org=who.org), identity=who)
        found = memory.recall(QUESTION, scope=clew.Scope(org=who.org), identity=who, limit=1)
        return found.results[0].memory.content


def _identified(memory: clew.Clew, token: str) -> clew.Identity:
    who = memory.keys.authenticate(token)
    if who is None:
        raise clew.Denied("the demo's key is not known here")
    return who


def _apart(server: PostgresServer, told: tuple[str, str], tokens: dict[str, str]) -> None:
    _say("\n4. Acme cannot see Globex\n")
    with clew.open(told[0], home=told[1]) as memory:
        acme, globex = (_identified(memory, tokens[name]) for name in NOTES)
        everything = memory.list(scope=clew.Scope(org=acme.org), identity=acme, limit=50)
        foreign = [entry for entry in everything if entry.scope.org != acme.org]
        _say(f"   through Clew, with Acme's key: {len(everything)} memories, {len(foreign)} of Globex")
        _say(f"   asking for Globex by name: {_refusal(lambda: _list_of(memory, globex.org, acme))}")
    asked = "select count(*) from clew.memories"
    for setting, statement in (
        ("no organisation", asked),
        (acme.org, f"set clew.org = '{acme.org}'; {asked}"),
        (acme.org, f"set clew.org = '{acme.org}'; {asked} where org_id = '{globex.org}'"),
    ):
        _say(f"   raw SQL as clew_app, for {setting}: {server.sql(statement, user='clew_app')}  <- {statement}")


def _list_of(memory: clew.Clew, org: str, identity: clew.Identity) -> Any:
    return memory.list(scope=clew.Scope(org=org), identity=identity)


def _refusal(action: Callable[[], Any]) -> str:
    try:
        return f"answered {len(action())} memories"
    except clew.ClewError as error:
        return f"{error.code}, {error.message}"


def _queue(processes: ProcessPoolExecutor, told: tuple[str, str], token: str) -> None:
    with clew.open(told[0], home=told[1]) as memory:
        who = _identified(memory, token)
        sessions = [memory.sessions.start(project="shop", identity=who).id for _ in range(SESSIONS)]
        for session in sessions:
            for number in range(EACH):
                memory.queue.enqueue(session, f"note {number} for {session}", identity=who)
    _say(f"\n5. {SESSIONS} sessions with {EACH} injects each, and two workers who want them all\n")
    workers = {name: processes.submit(_worker, *told, token, name, sessions) for name in ("worker-1", "worker-2")}
    delivered = {name: work.result() for name, work in workers.items()}
    for name, ids in delivered.items():
        _say(f"   {name} delivered {len(ids)}")
    every = [id for ids in delivered.values() for id in ids]
    _say(f"   together {len(every)} of {SESSIONS * EACH}, {len(every) - len(set(every))} of them twice")


def _worker(url: str, home: str, token: str, name: str, sessions: list[str]) -> list[str]:
    """Takes every session it can get, and delivers what waits there."""
    delivered: list[str] = []
    with clew.open(url, home=home) as memory:
        who = _identified(memory, token)
        for session in sessions if name == "worker-1" else reversed(sessions):
            try:
                fencing = memory.sessions.claim(session, name, identity=who)
            except clew.Conflict:  # the other worker has it
                continue
            while found := memory.queue.claim(session, name, fencing, identity=who):
                memory.queue.ack(session, found.delivery_id, name, fencing, identity=who)
                delivered.append(found.delivery_id)
    return delivered


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
