"""Each setting of section `inject` changes something: one test per setting, named test_inject_<setting>_is_live."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.model.host import Limits
from clew.model.inject import Block, InjectionResult, VerbEvent
from clew.model.scope import Identity, Scope
from toys import ToyEmbedder, open_toy

SHOP = Scope(project="shop")


# -- the block at the start ------------------------------------------------------------------------------


def start_block(folder: Path, *, of_type: str | None = "bug_fix", **inject: Any) -> Block:
    """Of a project with two rules, three memories and a session that ended before."""
    with open_toy(folder / f"{len(list(folder.iterdir()))}.db", inject=inject) as clew:
        for text in ("always sign commits", "never push on Fridays"):
            clew.remember(text, scope=SHOP, type="rule")
        for text in ("login needs cookies", "login", "cookies need a domain, a path and a name"):
            clew.remember(text, scope=SHOP)
        before = clew.sessions.start(project="shop", issue="SHOP-1", title="login again")
        clew.sessions.claim(before.id, "w")
        clew.sessions.end(before.id, summary="it was the cookie")
        session = clew.sessions.start(project="shop", issue="SHOP-1", title="login needs tea", work_type=of_type)
        return clew.inject.start(session.id, dry_run=True)


def test_inject_start_floor_is_live(tmp_path: Path) -> None:
    everything, rules_alone = (len(start_block(tmp_path, start_floor=floor).memory_ids) for floor in (0.0, 1.0))
    assert everything > rules_alone == 2


def test_inject_start_candidates_is_live(tmp_path: Path) -> None:
    assert [len(start_block(tmp_path, start_candidates=most, start_floor=0).memory_ids) for most in (1, 2)] == [
        3,
        4,
    ]


def test_inject_max_rules_is_live(tmp_path: Path) -> None:
    shown = [start_block(tmp_path, max_rules=most).text for most in (0, 1, 2)]
    assert [text.count("sign commits") + text.count("Fridays") for text in shown] == [0, 1, 2]


def test_inject_summaries_is_live(tmp_path: Path) -> None:
    assert "Related Past Sessions" not in start_block(tmp_path).text
    assert "SHOP-1" in start_block(tmp_path, summaries=True).text.split("## Related Past Sessions")[1]


def test_inject_work_type_is_live(tmp_path: Path) -> None:
    budgets = [start_block(tmp_path, of_type=None, work_type=name).budget_tokens for name in ("feature", "chore")]
    assert budgets == [400, 300]


# -- on tool calls ---------------------------------------------------------------------------------------

PAY = "src/pay/vat.py"
Answer = Callable[..., InjectionResult]


@dataclass
class HangingModel(ToyEmbedder):
    hangs: bool = False
    release: threading.Event = field(default_factory=threading.Event)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.hangs:
            self.release.wait(30)
        return super().embed(texts)


@contextmanager
def called(
    folder: Path, *, notes: int = 1, embedder: Any = None, released: threading.Event | None = None, **inject: Any
) -> Iterator[Answer]:
    """A running session in a project with notes about one file, and how its tool calls are answered. The writer is
    held up until `released`, where one is given."""
    settings = {"latency_ms": 10_000} | inject
    name = f"calls-{len(list(folder.iterdir()))}.db"
    with open_toy(folder / name, embedder=embedder, inject=settings) as clew:
        for number in range(notes):
            clew.remember(f"VAT rule {number}: " + "round it per line " * 20, scope=SHOP, paths=(PAY,))
        session = clew.sessions.start(project="shop", agent="bob", work_type="bug_fix")
        clew.sessions.claim(session.id, "w1")
        clew.inject.warm()
        if released is not None:
            clew.store.submit(lambda _tx: released.wait(30))
        yield lambda tool="Edit", **event: clew.inject.event(
            VerbEvent(**{"session": session.id, "tool": tool, "paths": (PAY,)} | event)
        )


def outcome(folder: Path, tool: str = "Edit", **inject: Any) -> str:
    with called(folder, **inject) as call:
        return call(tool).outcome


def test_inject_enabled_is_live(tmp_path: Path) -> None:
    assert [outcome(tmp_path, enabled=enabled) for enabled in (True, False)] == ["queued", "disabled"]


def test_inject_latency_ms_is_live(tmp_path: Path) -> None:
    """The writer is held up: the caller waits for as long as it says, and no longer."""
    waited = []
    for latency_ms in (5, 50):
        released = threading.Event()
        with called(tmp_path, released=released, latency_ms=latency_ms) as call:
            result = call()
            released.set()
        assert result.outcome == "budget-exceeded"
        waited.append(result.ms)
    assert waited[0] < waited[1]
    assert waited[1] >= 50


def test_inject_floor_is_live(tmp_path: Path) -> None:
    def found(floor: float) -> int:
        with called(tmp_path, floor=floor) as call:
            return len(call(paths=(), query="VAT rule nobody ever wrote about quokkas").memory_ids)

    assert [found(floor) for floor in (0.0, 0.9)] == [1, 0]


def test_inject_budget_tokens_is_live(tmp_path: Path) -> None:
    tokens = []
    for budget in (100, 200, 0):  # 0: what the work type has, which is 750 for a bug fix
        with called(tmp_path, notes=9, budget_tokens=budget, max_suggestions=9) as call:
            tokens.append(call().tokens)
    assert 0 < tokens[0] <= 100 < tokens[1] <= 200 < tokens[2] <= 750


def test_inject_max_suggestions_is_live(tmp_path: Path) -> None:
    counts = []
    for most in (1, 2):
        with called(tmp_path, notes=3, max_suggestions=most, budget_tokens=1_000) as call:
            counts.append(len(call().memory_ids))
    assert counts == [1, 2]


@pytest.mark.parametrize(
    "limits", [Limits(floor=1.0), Limits(max_suggestions=0), Limits(budget_tokens=5), Limits(latency_ms=0)]
)
def test_what_a_projects_file_leaves_of_an_injection_on_a_tool_call_counts(tmp_path: Path, limits: Limits) -> None:
    with open_toy(tmp_path / "limits.db", inject={"latency_ms": 10_000}) as clew:
        clew.remember("VAT is rounded per line", scope=SHOP, paths=(PAY,))
        session = clew.sessions.start(project="shop", agent="bob")
        clew.sessions.claim(session.id, "w1")
        clew.inject.warm()
        event = VerbEvent(session=session.id, tool="Edit", query="is VAT rounded at all, and where?")
        assert not clew.inject._event(event, Identity(), limits).memory_ids
        assert clew.inject._event(event, Identity(), Limits()).memory_ids


def test_inject_skip_tools_is_live(tmp_path: Path) -> None:
    assert [outcome(tmp_path, "TodoWrite", skip_tools=tools) for tools in (("TodoWrite",), ("Read",))] == [
        "skipped",
        "queued",
    ]


def test_inject_extra_skip_tools_is_live(tmp_path: Path) -> None:
    assert outcome(tmp_path, "Edit", extra_skip_tools=("Edit",)) == "skipped"
    assert outcome(tmp_path, "TodoWrite", extra_skip_tools=("Edit",)) == "skipped"  # the default list stays


def test_inject_disabled_for_agents_is_live(tmp_path: Path) -> None:
    """Whoever the event says it is: the session's agent counts."""
    assert outcome(tmp_path, disabled_for_agents=("bob",)) == "disabled"
    assert outcome(tmp_path, disabled_for_agents=("kim",)) == "queued"


def test_inject_threads_is_live(tmp_path: Path) -> None:
    """The model hangs: with a single thread the second call has nobody left to look at it."""
    reasons = []
    for threads in (1, 2):
        model = HangingModel()
        with called(tmp_path, embedder=model, threads=threads, latency_ms=20) as call:
            model.hangs = True
            reasons.append([call().reason for _ in range(2)])
            model.release.set()
    assert reasons == [["deadline", "all_busy"], ["deadline", "deadline"]]


def test_inject_runtime_is_live(tmp_path: Path) -> None:
    """Off, everything is looked for and nothing is pushed; the project's own switch cannot widen that."""
    assert [outcome(tmp_path, runtime=on) for on in (True, False)] == ["queued", "suppressed"]
    for on in (True, False):
        with open_toy(tmp_path / f"start-{on}.db", runtimeInjectEnabled=on) as clew:
            clew.projects.set("shop", "runtime-inject", True)
            clew.remember("login needs cookies", scope=SHOP, type="rule")
            session = clew.sessions.start(project="shop", issue="SHOP-1", title="login")
            clew.sessions.claim(session.id, "w")
            clew.inject.start(session.id)
            assert bool(clew.queue.list(session.id)) is on and len(clew.inject.log(session.id)) == 1
            gate = dict(clew.projects.show("shop").gates)["runtime_inject"]
            assert gate.is_open is on and ("inject.runtime" in gate.words) is not on


def test_inject_org_overrides_is_live(tmp_path: Path) -> None:
    overrides = {"local": {"bug_fix": 300, "triage": 90}, "acme": {"bug_fix": 200}}
    assert start_block(tmp_path).budget_tokens == 750
    assert start_block(tmp_path, org_overrides=overrides).budget_tokens == 300
    with open_toy(tmp_path / "overridden.db", orgOverrides=overrides) as clew:
        shown = {one.work_type: one.settings for one in clew.matrix.show()}
        assert shown["triage"].observation_budget == 90 and shown["feature"].observation_budget == 400
        assert dict(shown["bug_fix"].sources)["observation_budget"] == "settings"
        assert clew.matrix.set("bug_fix", observation_budget=50).observation_budget == 300  # that is for all
        assert clew.matrix.set("bug_fix", org="local", observation_budget=60).observation_budget == 60
