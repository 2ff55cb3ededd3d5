"""What hooks tell over HTTP: any text on this machine's socket, forwarded events with any key."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from routes_driver import Api, Got

from clew.clew import Clew
from clew.hosts.around import around_of
from clew.hosts.events import MAX_BYTES
from clew.hosts.named import allow_name
from clew.hosts.off import switch_off
from clew.model.host import Limits
from clew.model.scope import Identity, Scope
from clew.surfaces.hooks.telling import around
from fake_host import ABOUT_RETRY, recorded, shown

ANN, BOB = Identity("acme", "ann", roles=("member",)), Identity("acme", "bob", roles=("member",))
AGENT = Identity("acme", agent="robin", roles=())
AROUND = {"project": "shop", "branch": "fix/SHOP-31-retry-charge", "root": "/home/dev/shop"}


@pytest.fixture
def api(memory: Clew) -> Api:
    return Api(memory)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    git = tmp_path / "shop" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/fix/SHOP-31-retry-charge\n")
    return tmp_path / "shop"


def told(api: Api, body: bytes | dict[str, Any], *, host: str = "claude-code", id: str | None = None) -> Got:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Clew-Event-Id": id or uuid4().hex}
    return api("POST", f"/v1/hooks/{host}", content=("application/json", data), headers=headers)


def forwarded(api: Api, fixture: str, who: Identity, *, around: Any = AROUND, **changes: Any) -> Got:
    body = {"event": recorded("claude-code", fixture) | changes, "event_id": uuid4().hex, "around": around}
    return api("POST", "/v1/hooks/claude-code/forwarded", body, who=who)


def test_a_hook_is_answered_with_what_it_has_to_print(api: Api, memory: Clew, shop: Path) -> None:
    memory.remember(ABOUT_RETRY, scope=Scope(project="shop"))
    got = told(api, recorded("claude-code", "SessionStart.startup") | {"cwd": str(shop)})
    assert got.status == 200
    assert got.headers["content-type"].startswith("text/plain")
    assert ABOUT_RETRY in shown(got.body.decode())


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe\x00", b"[1]", b'{"session_id": 7}'])
def test_what_a_host_sends_is_never_an_error(api: Api, body: bytes) -> None:
    got = told(api, body)
    assert (got.status, got.body) == (200, b"")


def test_a_large_event_is_taken_and_a_larger_one_is_not(api: Api) -> None:
    event = recorded("claude-code", "PostToolUse")
    assert told(api, event | {"tool_response": "x" * (MAX_BYTES - 2_000)}).status == 200
    assert told(api, event | {"tool_response": "x" * (2 * MAX_BYTES)}).status == 413


def test_an_event_needs_an_id_and_a_known_host(api: Api) -> None:
    assert told(api, recorded("claude-code", "Stop"), id="../x").code == "EVENT_ID_INVALID"
    assert told(api, recorded("claude-code", "Stop"), host="emacs").status == 404


def test_what_is_off_here_is_not_kept(api: Api, memory: Clew, shop: Path) -> None:
    switch_off(memory.home, shop)
    told(api, recorded("claude-code", "UserPromptSubmit") | {"cwd": str(shop)})
    assert memory.hosts.fired() == []


def test_the_project_file_narrows(api: Api, memory: Clew, shop: Path) -> None:
    memory.remember(ABOUT_RETRY, scope=Scope(project="web"))
    (shop / ".clew.toml").write_text('project = "web"\n[hooks]\ncapture = false\n')
    allow_name(memory.home, shop, "web")
    got = told(api, recorded("claude-code", "SessionStart.startup") | {"cwd": str(shop)})
    assert ABOUT_RETRY in shown(got.body.decode())
    assert memory.hosts.capture_waiting() == 0


def test_a_cloned_repository_does_not_choose_whose_memories_it_is_told(api: Api, memory: Clew, shop: Path) -> None:
    memory.remember(ABOUT_RETRY, scope=Scope(project="bank"))
    (shop / ".clew.toml").write_text('project = "bank"\n')
    got = told(api, recorded("claude-code", "SessionStart.startup") | {"cwd": str(shop)})
    assert ABOUT_RETRY not in shown(got.body.decode())
    assert [session.project for session in memory.sessions.list()] == ["shop"]


@pytest.mark.parametrize(
    ("says", "looks", "skipped"),
    [
        ("runtime = false", False, ()),
        ("enabled = false", False, ()),
        ('disabled_for_agents = ["claude-code"]', False, ()),
        ('extra_skip_tools = ["Edit"]', True, ("Edit",)),
        ("floor = 0.5", True, ()),
        ('skip_tools = ["Edit"]', True, ("TodoWrite", "BashOutput", "Edit")),
    ],
)
def test_the_project_file_narrows_what_is_looked_for(
    memory: Clew, shop: Path, says: str, looks: bool, skipped: tuple[str, ...]
) -> None:
    (shop / ".clew.toml").write_text(f"[inject]\n{says}\n")
    seen = around("claude-code", recorded("claude-code", "PostToolUse") | {"cwd": str(shop)}, home=memory.home)
    assert (seen.looks, seen.skipped) == (looks, skipped)
    assert around_of(asdict(seen)) == seen  # as it is told to a Clew elsewhere


@pytest.mark.parametrize(
    ("says", "limits"),
    [
        ("floor = 0.9", Limits(floor=0.9)),
        ("max_suggestions = 1\nbudget_tokens = 80", Limits(max_suggestions=1, budget_tokens=80)),
        ("latency_ms = 50", Limits(latency_ms=50)),
        ("floor = 0.1", Limits()),
    ],
)
def test_the_project_file_bounds_what_hooks_bring(memory: Clew, shop: Path, says: str, limits: Limits) -> None:
    (shop / ".clew.toml").write_text(f"[inject]\n{says}\n")
    seen = around("claude-code", recorded("claude-code", "PostToolUse") | {"cwd": str(shop)}, home=memory.home)
    assert seen.inject and seen.limits == limits
    assert around_of(json.loads(json.dumps(asdict(seen)))) == seen


def test_what_the_user_says_about_injection_is_no_limit_of_the_project(memory: Clew, shop: Path) -> None:
    """The daemon knows it, and the environment may have said otherwise."""
    (memory.home / "config.toml").write_text("[inject]\nfloor = 0.9\n")
    (shop / ".clew.toml").write_text("[recall]\nlimit = 3\n")
    seen = around("claude-code", recorded("claude-code", "PostToolUse") | {"cwd": str(shop)}, home=memory.home)
    assert seen.limits == Limits()


@pytest.mark.parametrize("odd", [None, 7, {"floor": "high", "latency_ms": True, "max_suggestions": -1}])
def test_limits_of_the_wrong_kind_are_none(odd: Any) -> None:
    assert around_of({"limits": odd}).limits == Limits()


def test_a_forwarded_event_belongs_to_whoever_sends_it(api: Api, memory: Clew) -> None:
    memory.remember(ABOUT_RETRY, scope=Scope("acme", "shop"), identity=Identity("acme"))
    assert ABOUT_RETRY in shown(forwarded(api, "SessionStart.startup", ANN).body.decode())
    [session] = memory.sessions.list(identity=ANN)
    assert (session.org, session.user, session.agent) == ("acme", "ann", "claude-code")
    assert memory.hosts.fired() == []


def test_a_session_of_somebody_else_is_not_answered(api: Api, memory: Clew) -> None:
    forwarded(api, "SessionStart.startup", ANN)
    [session] = memory.sessions.list(identity=ANN)
    memory.queue.enqueue(session.id, "for ann", identity=ANN)
    for who in (BOB, AGENT, Identity("globex", "gus", roles=("owner",))):
        got = forwarded(api, "UserPromptSubmit", who, prompt=f"as {who.actor}")
        assert b"for ann" not in got.body
    assert memory.queue.list(session.id, identity=ANN)[-1].state == "pending"
    assert b"for ann" in forwarded(api, "UserPromptSubmit", ANN).body


def test_an_agents_key_runs_its_sessions_as_that_agent(api: Api, memory: Clew) -> None:
    forwarded(api, "SessionStart.startup", AGENT)
    [session] = memory.sessions.list(identity=AGENT)
    assert session.agent == "robin"


def test_a_forwarded_event_makes_nobody_look_at_files(api: Api, memory: Clew, shop: Path) -> None:
    (shop / ".clewignore").write_text("*\n")
    forwarded(api, "UserPromptSubmit", ANN, around={}, cwd=str(shop))
    [session] = memory.sessions.list(identity=ANN)
    assert session.project is None


@pytest.mark.parametrize("around", [{"project": 7}, {"held": {"a": 1}}, {"is_off": "yes"}, {"unknown": 1}])
def test_what_was_looked_up_wrongly_elsewhere_is_no_error(api: Api, around: dict[str, Any]) -> None:
    assert forwarded(api, "SessionStart.startup", ANN, around=around).status == 200
