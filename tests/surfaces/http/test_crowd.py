"""Whoever connects and says nothing keeps nobody out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.surfaces.http import crowd
from clew.surfaces.http.crowd import MAX_CONNECTIONS, OF_ONE, peer_of, who_leaves
from clew.values import dataclass

NEAR, FAR, OTHER = "", "192.0.2.7", "192.0.2.8"


@dataclass
class Peer:
    peer: str
    came: float
    is_heard: bool = False


def connected(*peers: tuple[str, int], heard: bool = False) -> list[Peer]:
    return [Peer(peer, at, heard) for at, peer in enumerate(peer for peer, many in peers for _ in range(many))]


def arrived(peer: str, before: list[Peer], **how: int) -> Peer | None:
    """Who leaves when one more comes; the newcomer as None-but-told by identity."""
    newcomer = Peer(peer, 1e9)
    return who_leaves(newcomer, [*before, newcomer], **how)


@pytest.mark.parametrize("peer", [NEAR, OTHER])
def test_nobody_leaves_while_there_is_room(peer: str) -> None:
    assert arrived(peer, connected((FAR, OF_ONE))) is None


def test_of_an_address_that_has_its_share_the_first_silent_one_leaves() -> None:
    before = connected((OTHER, 3), (FAR, OF_ONE))
    before[3].is_heard = True
    assert arrived(FAR, before) is before[4]


def test_an_address_that_uses_all_its_places_gets_no_more() -> None:
    leaves = arrived(FAR, connected((FAR, OF_ONE), heard=True))
    assert leaves is not None and leaves.came == 1e9


def test_behind_a_proxy_on_this_machine_nobody_is_counted_until_all_places_are_taken() -> None:
    assert arrived(NEAR, connected((NEAR, MAX_CONNECTIONS - 1))) is None


def test_when_all_places_are_taken_the_first_silent_one_leaves_for_whoever_comes() -> None:
    before = connected((NEAR, MAX_CONNECTIONS))
    before[0].is_heard = True
    assert arrived(OTHER, before) is before[1]


def test_the_share_of_an_address_may_be_set() -> None:
    before = connected((FAR, 2))
    assert arrived(FAR, before, of_one=2) is before[0] and arrived(FAR, before, of_one=3) is None


@given(st.lists(st.tuples(st.sampled_from([NEAR, FAR, OTHER]), st.booleans()), max_size=600))
def test_there_are_never_more_than_there_is_room_for_and_who_was_heard_stays(
    arrivals: list[tuple[str, bool]],
) -> None:
    present: list[Peer] = []
    for at, (peer, is_heard) in enumerate(arrivals):
        newcomer = Peer(peer, at)
        present.append(newcomer)
        if leaves := who_leaves(newcomer, present, of_one=9):
            assert not leaves.is_heard
            present.remove(leaves)
        newcomer.is_heard = is_heard
        assert len(present) <= crowd.MAX_CONNECTIONS
        assert sum(one.peer == FAR for one in present) <= 9


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("", ""),
        (None, ""),
        (("127.0.0.1", 5), ""),
        (("127.8.0.1", 5), ""),
        (("::1", 5, 0, 0), ""),
        (("::ffff:127.0.0.1", 5, 0, 0), ""),
        (("192.0.2.7", 5), "192.0.2.7"),
        (("::ffff:192.0.2.7", 5, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3::4", 5, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::/64"),
    ],
)
def test_an_address_stands_for_whoever_can_choose_it(name: object, peer: str) -> None:
    assert peer_of(name) == peer
