"""Whatever order the events of a host come in: what was said is heard once, in its order, by the main thread
alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from clew.clew import Clew
from clew.model.host import Around
from fake_host import FakeHost
from toys import ToldClock

# Not its end: a session that ends takes along what waits in it, for nobody is there to hear it.
MAIN = (
    "SessionStart.resume", "SessionStart.clear", "SessionStart.compact", "SessionStart.fork", "UserPromptSubmit",
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "PreCompact", "Notification",
)  # fmt: skip
OF_AGENTS = ("SubagentStart", "PostToolUse.subagent", "SubagentStop")


class Script:
    """One session of random events. What is said is said by the user, so that it survives a compaction."""

    def __init__(self, host: FakeHost, clock: ToldClock, seed: int) -> None:
        self.host, self.clock, self.chance = host, clock, Random(seed)
        self.said: list[str] = []
        self.heard: list[str] = []
        self.ids: list[tuple[str, str]] = []

    def run(self, steps: int) -> None:
        self.tell("SessionStart.startup")
        for _ in range(steps):
            getattr(self, self.chance.choice(("go_on", "go_on", "go_on", "ask_agent", "say", "repeat", "wait")))()
        while len(self.heard) < len(self.said):
            before = len(self.heard)
            self.tell("UserPromptSubmit")
            assert len(self.heard) > before, "what was said is lost"

    def tell(self, event: str) -> None:
        id = uuid4().hex
        self.ids.append((event, id))
        text = self.host.tell(event, event_id=id, prompt_id=id)
        self.heard += [text] if text else []

    def go_on(self) -> None:
        self.tell(self.chance.choice(MAIN))

    def ask_agent(self) -> None:
        agent = self.chance.choice(("a1", "a2"))
        assert self.host.tell(self.chance.choice(OF_AGENTS), agent_id=agent, prompt_id=uuid4().hex) == ""

    def say(self) -> None:
        self.said.append(f"text {len(self.said)}")
        self.host.clew.queue.enqueue(self.host.ours().id, self.said[-1], kind="user")

    def repeat(self) -> None:
        event, id = self.chance.choice(self.ids)
        assert self.host.tell(event, event_id=id, prompt_id=id) == ""

    def wait(self) -> None:
        self.clock.pass_by(minutes=self.chance.random() * 3)


def run(clew: Clew, clock: ToldClock, seeds: range, *, steps: int) -> None:
    for seed in seeds:
        script = Script(FakeHost(clew, around=Around(project="p")), clock, seed)
        script.run(steps)
        assert script.heard == script.said, f"seed {seed}"
    assert not clew.hosts.failures


def test_what_is_said_is_heard_once_and_in_order(memory: Clew, clock: ToldClock) -> None:
    run(memory, clock, range(8), steps=20)


@pytest.mark.torture
def test_many_sequences(clew_at: Callable[..., Clew], clock: ToldClock, tmp_path: Path) -> None:
    run(clew_at(tmp_path), clock, range(1_000, 1_300), steps=40)
