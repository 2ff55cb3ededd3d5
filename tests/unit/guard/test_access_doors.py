"""Who is not the owner is checked by every verb: the unreadable is not there, the forbidden is denied."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew import Denied, Draft, Filter, Identity, NotFound, Scope
from clew.clew import Clew

SHOP = Scope(project="shop")
BOB, EVE = Identity(user="bob", roles=("member",)), Identity(user="eve", roles=("member",))
BOT = Identity(agent="bot", roles=())
ADMIN = Identity(user="amy", roles=("admin",))
SECRET = "gateway: her social security number is on file"  # restricted, so above an agent's clearance


def exported(memory: Clew, **who: Any) -> list[str]:
    file = io.StringIO()
    memory.export(file, **who)
    return [json.loads(line)["content"] for line in file.getvalue().splitlines()[1:]]


def test_a_member_corrects_and_deletes_what_they_wrote(memory: Clew) -> None:
    stored = memory.remember("gateway is red", scope=SHOP, identity=BOB)
    assert stored.memory.author == "bob"
    assert memory.edit(stored.id, content="gateway is blue", identity=BOB).content == "gateway is blue"
    assert memory.revert(stored.id, 1, identity=BOB).content == "gateway is red"
    assert memory.forget(stored.id, identity=BOB).ids == (stored.id,)
    assert memory.revert(stored.id, 1, identity=BOB).deleted_at is None


def test_a_member_has_no_power_over_what_others_wrote(memory: Clew) -> None:
    id = memory.remember("gateway is red", scope=SHOP, identity=EVE).id
    assert memory.show(id, identity=BOB).id == id
    for refused in (
        lambda: memory.edit(id, content="gateway is blue", identity=BOB),
        lambda: memory.forget(id, identity=BOB),
        lambda: memory.forget(id, hard=True, identity=BOB),
        lambda: memory.revert(id, 1, identity=BOB),
        lambda: memory.remember("gateway is blue", supersedes=id, scope=SHOP, identity=BOB),
        lambda: memory.forget_many(everything=True, scope=SHOP, identity=BOB),
    ):
        with pytest.raises(Denied):
            refused()
    assert memory.show(id).content == "gateway is red"


def test_an_upsert_key_is_no_way_around(memory: Clew) -> None:
    memory.remember("gateway is red", upsert_key="colour", scope=SHOP, identity=EVE)
    with pytest.raises(Denied) as refused:
        memory.remember("gateway is blue", upsert_key="colour", scope=SHOP, identity=BOB)
    assert refused.value.code == "WRITE_DENIED" and "bob" in refused.value.message
    assert memory.remember("gateway is teal", upsert_key="colour", scope=SHOP, identity=EVE).superseded


def test_nobodys_private_memory_is_found_by_another_member(memory: Clew) -> None:
    id = memory.remember("gateway of bob", scope=Scope(user="bob"), identity=BOB).id
    for refused in (
        lambda: memory.show(id, identity=EVE),
        lambda: memory.edit(id, content="x", identity=EVE),
        lambda: memory.forget(id, identity=EVE),
        lambda: memory.history(id, identity=EVE),
    ):
        with pytest.raises(NotFound):
            refused()


def test_an_agent_writes_in_its_project_and_where_there_is_none(memory: Clew) -> None:
    mine = memory.remember("gateway is red", scope=SHOP, identity=BOT)
    assert mine.memory.author is None
    common = memory.remember("gateway for all", identity=BOT)
    assert memory.edit(common.id, content="gateway for everyone", identity=BOT).version == 2
    assert memory.edit(mine.id, content="gateway is blue", scope=SHOP, identity=BOT).version == 2
    with pytest.raises(Denied):
        memory.edit(mine.id, content="gateway is teal", identity=BOT)  # in which project was not said


@pytest.mark.parametrize("verb", ["forget", "export", "forget_many", "forget_many of nothing"])
def test_an_agent_neither_forgets_nor_exports(memory: Clew, verb: str) -> None:
    id = memory.remember("gateway is red", scope=SHOP).id
    calls: dict[str, Any] = {
        "forget": lambda: memory.forget(id, scope=SHOP, identity=BOT),
        "export": lambda: exported(memory, identity=BOT),
        "forget_many": lambda: memory.forget_many(everything=True, scope=SHOP, identity=BOT),
        "forget_many of nothing": lambda: memory.forget_many(Filter(pattern="x"), hard=True, identity=BOT),
    }
    with pytest.raises(Denied) as refused:
        calls[verb]()
    assert refused.value.code in ("DELETE_DENIED", "EXPORT_DENIED")


def test_fc10_what_an_agent_may_not_read_leaves_no_trace_in_any_answer(memory: Clew) -> None:
    secret = memory.remember(SECRET, scope=SHOP).id
    plain = memory.remember("gateway is red", scope=SHOP).id
    recalled = memory.recall("gateway", scope=SHOP, identity=BOT)
    context = memory.context("gateway", scope=SHOP, identity=BOT)
    assert [result.memory.id for result in recalled.results] == [plain] == context.ids
    assert secret not in json.dumps(recalled.as_json()) + json.dumps(context.as_json())
    assert [entry.id for entry in memory.list(scope=SHOP, identity=BOT)] == [plain]
    for refused in (memory.show, memory.history):
        with pytest.raises(NotFound):
            refused(secret, scope=SHOP, identity=BOT)
    with pytest.raises(NotFound):
        memory.why("gateway", secret, scope=SHOP, identity=BOT)


def test_a_page_of_the_list_is_full_whatever_was_left_out(memory: Clew) -> None:
    texts = [SECRET + f" {number}" if number % 2 else f"gateway {number}" for number in range(20)]
    list(memory.remember_many([Draft(content=text) for text in texts], scope=SHOP))
    first = memory.list(scope=SHOP, identity=BOT, limit=6)
    rest = memory.list(scope=SHOP, identity=BOT, limit=6, cursor=first[-1].id)
    assert [len(first), len(rest)] == [6, 4]
    assert not any("social" in entry.content for entry in (*first, *rest))


def test_a_suspended_agent_does_nothing_whoever_it_acts_for(memory: Clew) -> None:
    memory.remember("gateway is red", scope=SHOP)
    memory.policies.agent("bot", suspended=True)
    for who in (BOT, Identity(user="bob", agent="bot", roles=("member",)), Identity(agent="bot")):
        assert not memory.recall("gateway", scope=SHOP, identity=who).results
        assert not memory.stats(identity=who).by_project
        with pytest.raises(Denied):
            memory.remember("gateway is blue", scope=SHOP, identity=who)
        with pytest.raises(Denied):
            memory.link("service:redis", "uses", "service:mail", scope=SHOP, identity=who)
    memory.policies.agent("bot", suspended=False)
    assert memory.recall("gateway", scope=SHOP, identity=BOT).results


def test_a_read_only_agent_reads(memory: Clew) -> None:
    memory.remember("gateway is red", scope=SHOP)
    memory.policies.agent("bot", can_write=False)
    assert memory.recall("gateway", scope=SHOP, identity=BOT).results
    with pytest.raises(Denied):
        memory.remember("gateway is blue", scope=SHOP, identity=BOT)


def test_members_export_what_all_share_and_their_own(memory: Clew) -> None:
    memory.remember("for all")
    memory.remember("of bob", scope=Scope(user="bob"))
    memory.remember("of eve", scope=Scope(user="eve"))
    assert sorted(exported(memory, identity=BOB)) == ["for all", "of bob"]
    assert len(exported(memory)) == 3


def test_an_export_leaves_out_what_a_policy_keeps_in(memory: Clew) -> None:
    memory.remember("for all")
    memory.remember("of the shop", scope=SHOP)
    stays = 'forbid (principal, action == Mem::Action::"export", resource in Mem::Project::"local/shop");'
    memory.policies.load(stays, name="stays")
    assert exported(memory, identity=BOB) == ["for all"] == exported(memory)


def test_an_admin_forgets_what_members_share(memory: Clew) -> None:
    id = memory.remember("gateway is red", scope=SHOP, identity=EVE).id
    assert memory.forget_many(everything=True, scope=SHOP, identity=ADMIN).as_json()["forgotten"] == 1
    assert [entry.id for entry in memory.list(Filter(deleted=True), scope=SHOP, identity=ADMIN)] == [id]
    assert not memory.list(Filter(deleted=True), scope=SHOP, identity=BOB)


def test_the_owner_is_asked_as_soon_as_there_are_added_policies(memory: Clew) -> None:
    memory.remember("gateway is red", scope=SHOP)
    memory.policies.load('forbid (principal, action, resource in Mem::Project::"local/shop");', name="closed")
    assert not memory.recall("gateway", scope=SHOP).results
    with pytest.raises(Denied):
        memory.remember("gateway is blue", scope=SHOP)
    memory.policies.drop("closed")
    assert memory.recall("gateway", scope=SHOP).results


def test_the_owners_plain_calls_do_not_load_cedar(memory: Clew) -> None:
    code = (
        "import sys; from pathlib import Path; from toys import open_toy\n"
        f"with open_toy(Path({str(memory.store.path)!r})) as clew:\n"  # type: ignore[attr-defined]
        "    id = clew.remember('gateway is red').id; clew.recall('gateway'); clew.show(id); clew.list()\n"
        "    clew.edit(id, content='gateway is blue'); clew.forget(id)\n"
        "print([name for name in sys.modules if name in ('cedarpy', 'clew.guard.engine', 'clew.guard.pep')])"
    )
    path = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run([sys.executable, "-c", path + code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_import_is_for_people(memory: Clew, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"content": "gateway is red", "project": "shop", "type": "rule", "origin": "user"}\n')
    memory.policies.agent("bot", can_write=True)
    with pytest.raises(Denied) as refused:
        memory.import_file(file, identity=BOT)
    assert refused.value.code == "IMPORT_DENIED"
    assert memory.import_file(file, identity=Identity(user="mia", roles=("member",))).added == 1
