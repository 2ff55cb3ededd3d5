"""Which route a request means. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clew.errors import ClewError, Misconfigured
from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.request import Request
from clew.surfaces.http.route import Envelope, Route

Pattern = tuple[str, ...]


class Router:
    """Fixed paths by name, others by the number of their parts; the fixed part of a path wins over a free one."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._free: dict[int, dict[Pattern, dict[str, Route]]] = {}
        self._envelopes: dict[str, Envelope | None] = {}  # of fixed paths
        for route in routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        if "{" in route.path:
            parts = tuple(route.path.split("/")[1:])
            methods = self._free.setdefault(len(parts), {}).setdefault(parts, {})
        else:
            methods = self._fixed.setdefault(route.path, {})
            self._envelopes.setdefault(route.path, route.envelope)
        if route.method in methods:
            raise Misconfigured(f"{route.method} {route.path} is there twice", code="ROUTE_TWICE")
        methods[route.method] = route

    def find(self, request: Request) -> tuple[Route, Mapping[str, str]]:
        values: dict[str, str] = {}
        methods = self._fixed.get(request.path)
        if methods is None:
            methods, values = self._free_path(request.segments)
        route = methods.get("GET" if request.is_head else request.method)
        if route is None:
            raise Refusal(
                405,
                f"{request.method[:20]} is not possible here",
                code="METHOD_NOT_ALLOWED",
                next=f"use {' or '.join(sorted(methods))}",
                headers={"Allow": ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))},
            )
        return route, values

    def envelope_at(self, request: Request) -> Envelope | None:
        """The own shape of the answers at a path, if any: also for what is refused before a route is found."""
        return self._envelopes.get(request.path)

    def _free_path(self, segments: list[str]) -> tuple[dict[str, Route], dict[str, str]]:
        found = [pattern for pattern in self._free.get(len(segments), {}) if _matches(pattern, segments)]
        if not found:
            raise no_route()
        pattern = min(found, key=lambda parts: [part.startswith("{") for part in parts])
        values = {
            part[1:-1]: segment for part, segment in zip(pattern, segments, strict=True) if part.startswith("{")
        }
        return self._free[len(segments)][pattern], values


def _matches(pattern: Pattern, segments: list[str]) -> bool:
    return all(
        bool(segment) if part.startswith("{") else part == segment
        for part, segment in zip(pattern, segments, strict=True)
    )


def no_route() -> ClewError:
    return Refusal(
        404, "there is no such route", code="ROUTE_NOT_FOUND", next="see /openapi.json for those there are"
    )
