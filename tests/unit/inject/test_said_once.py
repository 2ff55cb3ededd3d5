"""Said once, wherever it was said: at the start, by another process, by a tool call at the same time.

And again when it never reached the agent.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from injector_toys import SHOP, logged, running, said

from clew.clew import Clew
from clew.inject.live import InStore
from clew.model.inject import InjectionResult
from clew.model.session import AgentSession
from toys import ToyEmbedder

PATH = "src/pay/vat.py"
BOTH = "VAT is rounded per line and the ledger replays webhooks"


@pytest.fixture
def shop(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """A project with one note about a file and one that only words lead to."""
    clew = clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})
    clew.remember("VAT is rounded per line", scope=SHOP, paths=(PATH,))
    clew.remember("the ledger replays webhooks", scope=SHOP)
    return clew


def times_said(clew: Clew, session: AgentSession) -> Counter[str]:
    live = [one for one in clew.queue.list(session.id) if one.state not in ("cancelled", "dead")]
    return Counter(id for one in live for id in one.observation_ids)


def off_and_on(clew: Clew, session: AgentSession, token: int) -> None:
    """What waits is cancelled by the beat that finds delivery switched off."""
    clew.projects.set("shop", "runtime-inject", False)
    assert clew.sessions.refresh(session.id, "w1", token).inject is None
    clew.projects.set("shop", "runtime-inject", True)


def claimed(clew: Clew) -> tuple[AgentSession, int]:
    session = clew.sessions.start(project="shop", agent="bob")
    return session, clew.sessions.claim(session.id, "w1")


def test_r082_a_start_block_after_the_first_event_is_not_repeated(shop: Clew) -> None:
    session = running(shop, title=BOTH)
    assert said(shop, session, query="zebra crossing").outcome == "no-match"
    assert shop.inject.start(session.id).memory_ids
    result = said(shop, session, paths=(PATH,))
    assert (result.outcome, result.reason, result.deduplicated) == ("no-match", "seen", True)
    assert max(times_said(shop, session).values()) == 1


def test_c11_what_another_process_said_since_is_not_said_with_something_new(
    shop: Clew, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    other = clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})
    session = running(shop)
    for clew in (shop, other):  # both have met the session before anything was said
        said(clew, session, query="zebra crossing")
    first = said(shop, session, paths=(PATH,))
    result = said(other, session, paths=(PATH,), query=BOTH)
    assert (result.outcome, result.reason) == ("no-match", "seen")
    rest = said(other, session, paths=(PATH,), query=BOTH)  # it knows by now, and says what is new
    assert rest.outcome == "queued" and not set(rest.memory_ids) & set(first.memory_ids)


def test_a_row_about_what_was_said_already_claims_to_have_shown_nothing(shop: Clew) -> None:
    session = running(shop, title=BOTH)
    said(shop, session, query="zebra crossing")
    shop.inject.start(session.id)
    said(shop, session, event_id="e2", paths=(PATH,))
    shop.remember("wait for the writer", scope=SHOP)
    row = logged(shop, session)[-1]
    assert (row.event_id, row.outcome, row.delivered, row.observation_ids) == ("e2", "no-match", False, ())


def test_c06_tools_called_at_once_never_say_a_memory_twice(shop: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked before either has pushed."""
    looked = threading.Barrier(2)
    session, results = running(shop), list[InjectionResult]()
    seen = shop.inject.injector._seen
    of = seen.of
    monkeypatch.setattr(seen, "of", lambda *asked, **how: (of(*asked, **how), looked.wait(10))[0])
    events = ({"paths": (PATH,)}, {"paths": (PATH,), "query": BOTH})
    threads = [
        threading.Thread(target=lambda one=one: results.append(said(shop, session, **one))) for one in events
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(result.outcome for result in results) == ["no-match", "queued"]
    assert max(times_said(shop, session).values()) == 1


def test_one_event_sent_by_many_at_once_is_looked_at_once(shop: Clew) -> None:
    session, results = running(shop), list[InjectionResult]()
    shop.inject.warm()
    threads = [
        threading.Thread(target=lambda: results.append(said(shop, session, event_id="e1", paths=(PATH,))))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert Counter(result.outcome for result in results) == {"queued": 1, "skipped": 5}
    shop.remember("wait for the writer", scope=SHOP)
    assert len(logged(shop, session)) == 1


def test_what_was_cancelled_may_be_said_again(shop: Clew) -> None:
    session, token = claimed(shop)
    first = said(shop, session, paths=(PATH,))
    off_and_on(shop, session, token)
    again = said(shop, session, paths=(PATH,), query=BOTH)
    assert again.outcome == "queued" and set(first.memory_ids) <= set(again.memory_ids)


def test_another_process_takes_what_was_cancelled_for_new(
    shop: Clew, clew_at: Callable[..., Clew], tmp_path: Path
) -> None:
    session, token = claimed(shop)
    first = said(shop, session, paths=(PATH,))
    off_and_on(shop, session, token)
    other = clew_at(tmp_path / "home", embedder=ToyEmbedder(), inject={"latency_ms": 10_000})
    again = said(other, session, paths=(PATH,), query=BOTH)
    assert again.outcome == "queued" and set(first.memory_ids) <= set(again.memory_ids)


def test_what_was_given_up_may_be_said_again(shop: Clew) -> None:
    session, token = claimed(shop)
    first = said(shop, session, paths=(PATH,))
    assert shop.sessions.refresh(session.id, "w1", token).inject
    shop.sessions.refresh(session.id, "w1", token, dead={first.delivery_id or "": "broken"})
    again = said(shop, session, paths=(PATH,), query=BOTH)
    assert again.outcome == "queued" and set(first.memory_ids) <= set(again.memory_ids)


def test_what_was_acknowledged_stays_said(shop: Clew) -> None:
    session, token = claimed(shop)
    first = said(shop, session, paths=(PATH,))
    shop.sessions.refresh(session.id, "w1", token)
    shop.sessions.refresh(session.id, "w1", token, acked=[first.delivery_id or ""])
    assert said(shop, session, paths=(PATH,)).reason == "seen"


def test_only_what_left_the_queue_makes_a_session_be_looked_up_again(
    shop: Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, token = claimed(shop)
    asked, shown = list[object](), InStore.shown
    monkeypatch.setattr(InStore, "shown", lambda self, key: (asked.append(key), shown(self, key))[1])
    for query in ("zebra crossing", "VAT is rounded per line", "the ledger replays webhooks", "zebra again"):
        said(shop, session, query=query)
    assert len(asked) == 1
    off_and_on(shop, session, token)
    said(shop, session, query="zebra crossing")
    assert len(asked) == 2


ASKED_FOR = "round VAT per line and replay the webhooks of the ledger"


@pytest.fixture
def both(shop: Clew) -> tuple[str, str]:
    """What was asked for, and what was changed for it, which quotes that."""
    asked = shop.remember(f"The user asked: {ASKED_FOR}", scope=SHOP).memory.id
    changed = shop.remember(f'Files changed for "{ASKED_FOR}": {PATH}.', scope=SHOP, paths=(PATH,)).memory.id
    return asked, changed


def test_what_another_line_says_in_full_is_not_said_at_the_start(shop: Clew, both: tuple[str, str]) -> None:
    asked, changed = both
    block = shop.inject.start(running(shop, title=ASKED_FOR).id)
    assert changed in block.memory_ids and asked not in block.memory_ids
    assert (asked, "said_by_another") in [(one.id, one.reason) for one in block.skipped]


def test_what_another_line_has_said_in_full_is_no_hint(shop: Clew, both: tuple[str, str]) -> None:
    asked, changed = both
    session = running(shop, title="zebra crossing")
    assert changed in said(shop, session, paths=(PATH,)).memory_ids
    assert asked not in said(shop, session, query=ASKED_FOR).memory_ids


def test_a_decision_is_said_beside_what_was_changed_for_it(shop: Clew, both: tuple[str, str]) -> None:
    decision = shop.remember(ASKED_FOR, scope=SHOP, type="decision").memory.id
    assert {decision, both[1]} <= set(shop.inject.start(running(shop, title=ASKED_FOR).id).memory_ids)


def test_an_error_that_was_mended_is_said_with_what_mended_it_alone(shop: Clew) -> None:
    error = 'failed with exit status 1: "ERR_OSSL_EVP_UNSUPPORTED in webpack"'
    keep = {
        "failure": f"Command `npm run build` (Bash) {error}.",
        "fix": f"Command `make web` (Bash) {error}; later fixed by `NODE_OPTIONS=--legacy make web`.",
    }
    ids = {kind: shop.remember(text, scope=SHOP, metadata={"captured": kind}) for kind, text in keep.items()}
    asked = {"tool": "Bash", "phase": "failure", "query": "ERR_OSSL_EVP_UNSUPPORTED in webpack"}
    told = said(shop, running(shop, title="zebra crossing"), **asked)
    assert told.memory_ids == (ids["fix"].memory.id,)
    shop.forget(ids["fix"].memory.id)
    told = said(shop, running(shop, title="zebra crossing"), **asked)
    assert told.memory_ids == (ids["failure"].memory.id,)
