"""A request as it arrived: read once, looked at by everybody."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, unquote

from clew.errors import InvalidInput
from clew.surfaces.http.problems import Refusal

# How it came. Only the last two can be reached by what a browser runs.
PROCESS, SOCKET, LOOPBACK, NETWORK = "process", "socket", "loopback", "network"
MAX_PARAMETERS = 100
# Two of these in one request: whoever stands between may have looked at the other one.
_ONCE = frozenset(
    (b"host", b"authorization", b"content-type", b"origin", b"idempotency-key", b"if-match", b"sec-fetch-site")
)


class Request:
    """`via` says how it came, `peer_uid` who is at the other end of the socket where the system tells."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self.method: str = scope["method"]
        self.raw_path: bytes = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        self.query_string: bytes = scope["query_string"]
        self.headers = _headers(scope["headers"])
        state = scope.get("state") or {}
        self.via: str = state.get("via", PROCESS)
        self.peer_uid: int | None = state.get("peer_uid")
        client = scope.get("client")
        self.client: str = f"uid {self.peer_uid}" if self.via == SOCKET else str(client[0]) if client else ""

    @property
    def is_head(self) -> bool:
        """Asks what GET would answer, without its body, which is left out where it would be written."""
        return self.method == "HEAD"

    @cached_property
    def path(self) -> str:
        return self.raw_path.decode("latin-1")

    @cached_property
    def segments(self) -> list[str]:
        """Taken apart before they are decoded, so that an id may hold a slash."""
        try:
            return [unquote(part, errors="strict") for part in self.path.split("/")[1:]]
        except UnicodeDecodeError:
            raise not_utf8("the path") from None

    @property
    def token(self) -> str | None:
        """What stands behind `Authorization: Bearer`; '' for any other scheme."""
        given = self.headers.get("authorization")
        if given is None:
            return None
        scheme, _, token = given.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @cached_property
    def parameters(self) -> list[tuple[str, str]]:
        if not self.query_string:
            return []
        try:
            text = self.query_string.decode("ascii")
            return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
        except UnicodeDecodeError:
            raise not_utf8("the query") from None
        except ValueError:
            raise InvalidInput(
                f"there are more than {MAX_PARAMETERS} query parameters",
                code="REQUEST_INVALID",
                next="ask in several requests",
            ) from None

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def content_length(self) -> int | None:
        given = self.headers.get("content-length", "")
        return int(given) if given.isascii() and given.isdigit() else None

    @property
    def has_content(self) -> bool:
        return bool(self.content_length) or "transfer-encoding" in self.headers


def _headers(given: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in given:
        if name in _ONCE and name.decode("latin-1") in headers:
            raise Refusal(
                400,
                f"the header {name.decode('latin-1')} is there twice",
                code="REQUEST_INVALID",
                next="send it once",
            )
        headers[name.decode("latin-1")] = value.decode("latin-1")
    return headers


def not_utf8(what: str) -> InvalidInput:
    return InvalidInput(f"{what} is not valid UTF-8", code="INVALID_UTF8", next="encode it as UTF-8")
