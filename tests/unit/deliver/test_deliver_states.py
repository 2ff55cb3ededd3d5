"""Which way a session may go, what says more, what is given up: pure rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.deliver.sessions import WorkItem, new_session
from clew.deliver.states import check_move, is_new_epoch, raised
from clew.errors import Conflict
from clew.model.scope import Scope
from clew.model.session import RECEIPTS, STATES, AgentSession
from toys import START

LEGAL = {
    ("queued", "running"), ("queued", "stopped"), ("running", "running"), ("running", "finalizing"),
    ("running", "completed"), ("running", "failed"), ("running", "stopped"), ("finalizing", "completed"),
    ("finalizing", "failed"),
}  # fmt: skip


def a_session(**fields: object) -> AgentSession:
    return replace(new_session(Scope(project="p"), WorkItem(), agent="a", now=START), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("old", "new"), list(product(STATES, STATES)))
def test_only_the_legal_ways_are_open(old: str, new: str) -> None:
    if (old, new) in LEGAL:
        check_move(a_session(state=old), new)
    else:
        with pytest.raises(Conflict):
            check_move(a_session(state=old), new)


@given(st.sampled_from(["", *RECEIPTS]), st.lists(st.sampled_from(RECEIPTS)))
def test_a_receipt_only_rises(first: str, later: list[str]) -> None:
    present, ranks = first, ["", *RECEIPTS]
    for receipt in later:
        before = ranks.index(present)
        present = raised(present, receipt) or present
        assert ranks.index(present) == max(before, ranks.index(receipt))


def test_c09_a_new_epoch_is_another_agent_process_and_not_an_unknown_one() -> None:
    session = a_session(provider_session="one")
    assert is_new_epoch(session, "two")
    assert not is_new_epoch(session, "one")
    assert not is_new_epoch(session, None)
    assert not is_new_epoch(a_session(), "two")
