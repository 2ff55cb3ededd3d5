"""What is known of a request so far, for whoever goes on with it or has to say what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

from clew.surfaces.http.request import Request
from clew.surfaces.http.response import Response
from clew.surfaces.http.route import Credential, Envelope, Route

UNKNOWN = "unknown"


class Asked:
    __slots__ = (
        "began", "credential", "envelope", "gone", "if_match", "max_bytes", "refused", "request", "route", "values",
        "when_gone",
    )  # fmt: skip

    def __init__(self) -> None:
        self.began = perf_counter()
        self.request: Request | None = None
        self.route: Route | None = None
        self.values: Mapping[str, str] = {}  # of the path
        self.credential: Credential | None = None
        self.max_bytes = 0  # of the body
        self.envelope: Envelope | None = None  # of the path, whatever is wrong with the request
        self.if_match: int | None = None
        self.refused: Response | None = None  # before its body was looked at
        self.gone: Callable[[], object] | None = None
        self.when_gone: Callable[[Callable[[], object]], None] | None = None  # the connection's own

    @property
    def name(self) -> str:
        return self.route.name if self.route else UNKNOWN

    @property
    def the_route(self) -> Route:
        assert self.route is not None
        return self.route

    @property
    def the_request(self) -> Request:
        assert self.request is not None
        return self.request

    @property
    def who(self) -> Credential:
        assert self.credential is not None
        return self.credential

    @property
    def needs_only_its_body(self) -> bool:
        """Whether a worker can answer as soon as the body is there."""
        route = self.the_route if self.refused is None and self.credential is not None else None
        return route is not None and not route.to_file and route.on_loop is None

    def note_leaving(self) -> None:
        """Before an answer is sent: what it asked to be called when the connection ends."""
        if self.gone is not None and self.when_gone is not None:
            self.when_gone(self.gone)
