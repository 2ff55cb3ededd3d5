"""One holder at a time, tokens that only grow, a stale one refused: checked against a model that fits in a dict.

No test waits: a lease of no or negative length has run out by the database's clock as soon as it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from clew.errors import Conflict
from clew.model.ids import new_id
from clew.ports import Store

HOUR = 3600.0


@dataclass
class Lease:
    holder: str
    token: int
    runs: bool
    attempts: int


class LeaseMachine(RuleBasedStateMachine):
    """Whatever a set of workers does with a set of keys, the store answers as the model does."""

    store: Store
    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self.org = new_id("org")  # one that no example before had
        self.leases: dict[str, Lease] = {}
        self.newest = self.claims = 0

    @rule(
        target=tokens,
        key=st.sampled_from("ab"),
        holder=st.sampled_from(["w1", "w2", "w3"]),
        ttl=st.sampled_from([HOUR, 0.0, -HOUR]),
    )
    def claim(self, key: str, holder: str, ttl: float) -> object:
        token = self.store.write(lambda tx: tx.leases.claim(self.org, key, holder=holder, ttl_s=ttl))
        lease = self.leases.get(key)
        if lease and lease.runs and lease.holder != holder:
            assert token is None
            return multiple()
        assert token is not None
        assert token > self.newest
        self.newest, self.claims = token, self.claims + 1
        self.leases[key] = Lease(holder, token, ttl > 0, (lease.attempts if lease else 0) + 1)
        return key, token

    @rule(claimed=tokens, ttl=st.sampled_from([HOUR, 0.0]))
    def renew(self, claimed: tuple[str, int], ttl: float) -> None:
        if self._used(claimed, lambda tx, key, token: tx.leases.renew(self.org, key, token, ttl_s=ttl)):
            self.leases[claimed[0]].runs = ttl > 0

    @rule(claimed=tokens)
    def finish(self, claimed: tuple[str, int]) -> None:
        if self._used(claimed, lambda tx, key, token: tx.leases.finish(self.org, key, token)):
            del self.leases[claimed[0]]

    @rule(claimed=tokens)
    def fail(self, claimed: tuple[str, int]) -> None:
        attempts: list[int] = []
        if self._used(claimed, lambda tx, key, token: attempts.append(tx.leases.fail(self.org, key, token, "why"))):
            assert attempts == [self.leases[claimed[0]].attempts]
            self.leases[claimed[0]].runs = False

    def _used(self, claimed: tuple[str, int], use) -> bool:  # type: ignore[no-untyped-def]
        """Whether the token was good for it; the model knows whether it should have been."""
        key, token = claimed
        lease = self.leases.get(key)
        good = lease is not None and lease.runs and lease.token == token
        try:
            self.store.write(lambda tx: use(tx, key, token))
        except Conflict as error:
            assert not good
            assert error.code == "LEASE_LOST"
            return False
        assert good, "a stale token was accepted"
        return True

    @invariant()
    def another_org_is_not_concerned(self) -> None:
        if self.claims % 5 == 4:
            token = self.store.write(lambda tx: tx.leases.claim(f"{self.org}-other", "a", holder="w9", ttl_s=HOUR))
            assert token is not None


def test_whatever_workers_do_the_store_answers_as_the_model_does(store: Store) -> None:
    machine = type("LeasesOfStore", (LeaseMachine,), {"store": store})
    run_state_machine_as_test(machine, settings=settings(max_examples=30, stateful_step_count=30, deadline=None))


@pytest.fixture
def claim(store: Store):  # type: ignore[no-untyped-def]
    return lambda holder, ttl_s=HOUR: store.write(
        lambda tx: tx.leases.claim("local", "job", holder=holder, ttl_s=ttl_s)
    )


def test_a_running_lease_keeps_others_out(claim) -> None:  # type: ignore[no-untyped-def]
    assert claim("first") == 1
    assert claim("second") is None


def test_a_lease_that_ran_out_can_be_taken_and_its_old_token_is_refused(store: Store, claim) -> None:  # type: ignore[no-untyped-def]
    stale = claim("first", 0)
    fresh = claim("second")
    assert fresh > stale
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.leases.finish("local", "job", stale))
    store.write(lambda tx: tx.leases.finish("local", "job", fresh))


def test_a_stale_token_undoes_the_whole_transaction(store: Store, claim) -> None:  # type: ignore[no-untyped-def]
    stale = claim("first", 0)
    claim("second")
    with pytest.raises(Conflict):
        store.write(lambda tx: (tx.meta.put("work", "done"), tx.leases.finish("local", "job", stale)))
    with store.read() as tx:
        assert tx.meta.get("work") is None
