"""What leaves the store is only what may be read, and the audit log says who took how much before it goes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clew import Identity, Scope
from clew.clew import Clew
from clew.guard.audit import verify_log
from toys import ToldClock, open_toy

SHOP = Scope(project="shop")
BOB = Identity(user="bob", roles=("member",))
SECRET = "gateway: the annual salary of the on-call engineer is 90,000"
UNREAD = """@id("unread") forbid (principal is Mem::User, action == Mem::Action::"read", resource)
when { resource.classification == "confidential" && !principal.roles.contains("owner") };"""


@pytest.fixture
def clew(place: Path | str, clock: ToldClock) -> Iterator[Clew]:
    with open_toy(place, clock=clock) as clew:
        clew.remember("gateway is red", scope=SHOP)
        clew.remember(SECRET, scope=SHOP, classification="confidential")
        yield clew


def exported(clew: Clew, who: Identity | None = None, **options: Any) -> tuple[set[str], str]:
    file = io.StringIO()
    clew.export(file, identity=who, **options)
    _header, *lines = file.getvalue().splitlines(keepends=True)
    return {json.loads(line)["content"] for line in lines}, sha256("".join(lines).encode()).hexdigest()


def test_what_a_policy_lets_nobody_read_nobody_takes_along(clew: Clew) -> None:
    assert exported(clew, BOB)[0] == {"gateway is red", SECRET}
    clew.policies.load(UNREAD, name="unread")
    assert exported(clew, BOB)[0] == {"gateway is red"}
    assert exported(clew)[0] == {"gateway is red", SECRET}


def test_each_export_is_told_with_who_how_many_and_what(clew: Clew) -> None:
    _texts, digest = exported(clew, BOB, scope=SHOP)
    with clew.store.read() as tx:
        [entry] = tx.audit.latest("local", limit=10, action="export")
        assert verify_log(tx, "local").ok
    assert (entry.actor, entry.kind, entry.content_hash) == ("user:bob", "memory", digest)
    assert json.loads(entry.detail) == {"count": 2, "projects": ["shop"], "users": ["", "bob"]}


def test_the_owners_export_of_everything_and_of_the_graph_are_told_too(clew: Clew) -> None:
    exported(clew)
    clew.graph.export(io.StringIO())
    with clew.store.read() as tx:
        edges, memories = tx.audit.latest("local", limit=10, action="export")
    assert (edges.kind, memories.kind) == ("edge", "memory")
    assert json.loads(memories.detail) == {"count": 2, "projects": "*", "users": "*"}


class GoneAway(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_whoever_goes_away_in_the_middle_is_told_as_well(clew: Clew) -> None:
    with pytest.raises(BrokenPipeError):
        clew.export(GoneAway())
    with clew.store.read() as tx:
        assert len(tx.audit.latest("local", limit=10, action="export")) == 1
