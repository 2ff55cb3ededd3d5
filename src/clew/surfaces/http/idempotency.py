"""A request that names an Idempotency-Key is done once: sent again, it gets the answer of the first time.

The same key with another request is 422, and 409 while the first is under way. The answer is kept after what was
asked for is durable, in a transaction of its own: a request whose server crashed in between may be done again when
it is sent again after a minute. The same memory stays one even then, since the same text of one place is.

Answers are kept for a day, for the credential that asked, and only those of success: what failed may be tried
again. They go with a hard forget, since they may quote what is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from clew.errors import ClewError
from clew.model.kept import Kept, KeptKey
from clew.surfaces.http.response import Response
from clew.verbs.serving import Serving

HEADER = "idempotency-key"
REPLAYED = "Idempotency-Replayed"


def request_hash(method: str, path: str, query: bytes, body: bytes) -> bytes:
    digest = sha256()
    for part in (method.encode(), path.encode(), query, body):
        digest.update(b"%d:" % len(part) + part)
    return digest.digest()


def once(serving: Serving, named: KeptKey, request: bytes, do: Callable[[], Response]) -> Response:
    kept = serving.begin(named, request)
    if kept.status:
        headers = dict(kept.headers)
        return Response(kept.status, kept.answer, headers.pop("Content-Type", ""), headers | {REPLAYED: "true"})
    try:
        response = do()
    except BaseException:
        _drop(serving, named, kept)
        raise
    headers = response.headers | {"Content-Type": response.media_type}
    serving.finish(named, kept, status=response.status, headers=headers, answer=response.body)
    return response


def _drop(serving: Serving, named: KeptKey, kept: Kept) -> None:
    try:
        serving.drop(named, kept)
    except ClewError:  # the store has its own troubles: the key is taken over in a minute
        return
