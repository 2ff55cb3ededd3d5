"""What a transaction tells the server beside its queries: how it begins and ends, what it locks, its org."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from clew.store.postgres_wire import statement

# A part of an org, such as a session, has writers of its own, beside those of other parts but not of the whole org.
# A write also leaves its number behind: after a crash the server may give the number of a transaction that it lost
# to another one, so that alone does not tell whose commit it was. A writer that stops in the middle of a
# transaction, as a machine that sleeps does, holds up the others for half a minute at most.
NUMBERED = """WITH numbered AS (
  INSERT INTO clew_writes (writer, number) VALUES (%(writer)s, %(number)s)
  ON CONFLICT (writer) DO UPDATE SET number = excluded.number, at = excluded.at)
SELECT pg_current_xact_id()::text"""
UNNUMBERED = "SELECT pg_current_xact_id()::text, set_config('synchronous_commit', 'off', true)"
# What a write asks is found by its key, whatever the values: planning it anew would take longer than doing it.
_BOUND = "set_config('clew.org', %(org)s, true), set_config('plan_cache_mode', 'force_generic_plan', true)"
_LIMITED = "set_config('idle_in_transaction_session_timeout', '30s', true)"
_ORG_LOCK = f"pg_advisory_xact_lock(%(whole)s), {_BOUND}"
_PART_LOCK = f"pg_advisory_xact_lock_shared(%(whole)s), pg_advisory_xact_lock(%(part)s), {_BOUND}"
# By whether it is durable, and whether it names a part.
LOCKS = {
    (is_durable, is_part): f"{number}, {_PART_LOCK if is_part else _ORG_LOCK}, {_LIMITED}"
    for is_durable, number in ((True, NUMBERED), (False, UNNUMBERED))
    for is_part in (True, False)
}
# The same for one that is sent whole, with its COMMIT: nobody asks what became of it, nor does it stop half-way.
LOCKS_OF_WHOLE = {
    (is_durable, is_part): f"SELECT {_PART_LOCK if is_part else _ORG_LOCK}{durably}"
    for is_durable, durably in ((True, ""), (False, ", set_config('synchronous_commit', 'off', true)"))
    for is_part in (True, False)
}
READ = statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "begin_read")
# Whatever the server's default: each query sees what the last left.
WRITE = statement("BEGIN ISOLATION LEVEL READ COMMITTED", "begin_write")
COMMIT = statement("COMMIT", "commit")
NOT_DURABLE = statement("SET LOCAL synchronous_commit = off")
LOCK_TIMEOUT = statement("SELECT set_config('lock_timeout', %(wait_ms)s, true)")
BIND = statement("SELECT set_config('clew.org', %(org)s, true)")
PLAN_ONCE = statement("SELECT set_config('plan_cache_mode', 'force_generic_plan', true)", "plan_once")
PLAN_EACH = statement("SELECT set_config('plan_cache_mode', 'auto', true)", "plan_each")
SAVEPOINT, RELEASE = statement("SAVEPOINT part"), statement("RELEASE part")
UNDO = statement("ROLLBACK TO part")
# Nothing to do where the owner's functions are from before that one.
YOUNG = statement(
    "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace"
    " AND c.relkind = 'r' AND c.reltuples <= 0 AND to_regprocedure('clew_look_at(text)') IS NOT NULL"
)
LOOK_AT = statement("SELECT clew_look_at(%(table)s)")


@lru_cache(maxsize=4_096)  # each beat of a session asks for both of its locks
def lock_number(org: str, name: str) -> int:
    digest = blake2b(f"{org}\x1f{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
