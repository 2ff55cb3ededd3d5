"""Who has a place on a listener: whoever connects and says nothing does not keep others out. Pure.

In: who connects, and all that are connected, the newcomer among them. Out: who has to leave, if anybody. Whoever
sent a whole head was asked for a credential by then, and is left alone; of those that were not heard yet the first
to come goes. One address has at most so many places, however few are taken, and pushes out none but its own. On
loopback, where a proxy may stand for everybody, addresses are not counted, nor on the unix socket.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Any, Protocol, TypeVar

MAX_CONNECTIONS = 256  # of one listener at once: with three of them, below what a process may open on most systems
OF_ONE = 64  # of one address, unless the settings say otherwise
_OWN_NETWORK = 64  # bits: what one customer of a provider has of IPv6, to choose addresses from


class Connected(Protocol):
    peer: str  # '' where it stands for many
    came: float
    is_heard: bool


T = TypeVar("T", bound=Connected)


def who_leaves(newcomer: T, all: Collection[T], *, of_one: int = OF_ONE) -> T | None:
    """None while there is room; the newcomer itself where nobody else can be asked to."""
    alike = [one for one in all if one.peer == newcomer.peer] if newcomer.peer else []
    crowd: Collection[T] = alike if len(alike) > of_one else all
    if crowd is all and len(all) <= MAX_CONNECTIONS:
        return None
    silent = [one for one in crowd if not one.is_heard and one is not newcomer]
    return min(silent, key=lambda one: one.came, default=newcomer)


def peer_of(name: Any) -> str:
    """Whom the name of the other end of a connection stands for, as the system gives it."""
    try:
        address = ipaddress.ip_address(name[0].partition("%")[0])
    except (AttributeError, IndexError, TypeError, ValueError):  # of a unix socket
        return ""
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback:
        return ""
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, _OWN_NETWORK), strict=False))
