"""Who asks. Identity comes from the credential alone: nothing else in a request is looked at.

On the socket, without a credential: whoever runs this Clew, owner of `local`; the system tells that the other end
is the same user. On loopback: the token of this installation, which only that user can read, or an API key.
Anywhere else and with any credential that is given: an API key.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from clew.model.scope import Identity
from clew.surfaces.http.limits import Failures
from clew.surfaces.http.names import LOCAL_TOKEN
from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.request import LOOPBACK, PROCESS, SOCKET, Request
from clew.surfaces.http.route import Credential

if TYPE_CHECKING:
    from clew import Clew

MAX_TOKEN = 200
_OWNER = Credential(Identity(), is_local=True, key="local")


class Authenticator:
    """`owner_uid`: who runs this Clew; None where the system has no such thing. `local_token` is '' where none is
    accepted."""

    def __init__(
        self,
        clew: Clew,
        *,
        local_token: str = "",
        owner_uid: int | None = None,
    ) -> None:
        self._clew = clew
        self._local_token = local_token.encode()
        self._owner_uid = owner_uid
        self._failures = Failures()

    def __call__(self, request: Request) -> Credential:
        token = request.token
        if token is None:
            return self._without(request)
        if self._is_local_token(request, token):  # also while others guess: nobody guesses 256 bits
            return _OWNER
        credential = self._by_key(token)  # a hash and one look by its index, for right ones and wrong ones
        if credential is None:
            self._failures.note(request.client)
            raise _refused("the credential is not valid")
        return credential

    def _without(self, request: Request) -> Credential:
        if request.via == PROCESS or (request.via == SOCKET and request.peer_uid == self._owner_uid):
            return _OWNER
        raise _refused("a credential is needed")

    def _is_local_token(self, request: Request, token: str) -> bool:
        is_near = request.via in (PROCESS, SOCKET, LOOPBACK)
        is_equal = hmac.compare_digest(token.encode("latin-1", "replace"), self._local_token)
        return bool(self._local_token) and is_near and is_equal

    def _by_key(self, token: str) -> Credential | None:
        if not token.startswith("clew_") or token.startswith(LOCAL_TOKEN) or len(token) > MAX_TOKEN:
            return None
        identity = self._clew.keys.authenticate(token)
        return None if identity is None else Credential(identity, key=token[:31])


def needs_the_store(request: Request) -> bool:
    """Whether finding out who asks takes a look into the store, and so a worker thread."""
    token = request.token
    return token is not None and not token.startswith(LOCAL_TOKEN)


def _refused(message: str) -> Refusal:
    return Refusal(
        401,
        message,
        code="UNAUTHENTICATED",
        next="send `Authorization: Bearer` with a key: clew key create NAME --user USER",
    )
