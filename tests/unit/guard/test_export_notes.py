"""The audit log's word about an export is owed by others; the owner of a store gets what is theirs without it."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable

import apsw
import pytest

from clew import ClewError, Identity, Scope
from clew.clew import Clew

SHOP = Scope(project="shop")
OWNER, BOB = Identity(), Identity(user="bob", roles=("member",))
OTHERS = [BOB, Identity(org="acme", user="ann")]
REFUSE = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no more'); END"


@pytest.fixture
def shop(memory: Clew) -> Clew:
    memory.remember("gateway is red in src/gateway.py", scope=SHOP)
    return memory


def kept(memory: Clew) -> int:
    with memory.store.read() as tx:
        return len(tx.audit.latest("local", limit=10, action="export"))


@pytest.mark.parametrize(
    "of", [lambda clew: clew.export, lambda clew: clew.graph.export], ids=["memories", "edges"]
)
def test_the_owner_need_not_wait_for_another_process_to_export(
    shop: Clew, of: Callable[[Clew], Callable[[io.StringIO], object]], caplog: pytest.LogCaptureFixture
) -> None:
    other = apsw.Connection(str(shop.store.path))  # type: ignore[attr-defined]
    other.execute("BEGIN IMMEDIATE")
    file = io.StringIO()
    with caplog.at_level(logging.WARNING, "clew.guard.audit"):
        of(shop)(file)  # a write proper would wait for 30 s and fail
    assert len(file.getvalue().splitlines()) == 2 and "STORE_BUSY" in caplog.text
    other.execute("ROLLBACK")
    assert kept(shop) == 0
    of(shop)(io.StringIO())
    assert kept(shop) == 1


@pytest.mark.parametrize("who", OTHERS, ids=["member", "owner of an org"])
def test_nobody_else_gets_a_line_that_is_not_told(shop: Clew, who: Identity) -> None:
    other = apsw.Connection(str(shop.store.path))  # type: ignore[attr-defined]
    other.execute(REFUSE)
    file = io.StringIO()
    for export in (shop.export, shop.graph.export):
        with pytest.raises(ClewError):
            export(file, identity=who)
    assert file.getvalue() == ""
    shop.export(file)
    assert len(file.getvalue().splitlines()) == 2
