"""The server itself over HTTP: alive, ready, what it counted, and what this API is."""

from __future__ import annotations

from typing import Any, Literal

from clew.surfaces.http.problems import Refusal
from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes.common import Shape
from clew.surfaces.http.standing import Standing


class Alive(Shape, frozen=True, kw_only=True):
    status: Literal["ok"]


class Ready(Shape, frozen=True, kw_only=True):
    ready: bool


def healthz(_call: Call) -> Any:
    return {"status": "ok"}


def readyz(call: Call) -> Any:
    reasons = _standing(call).health.reasons()
    if reasons:
        refusal = Refusal(
            503,
            f"it is not ready: {', '.join(dict.fromkeys(reason.check for reason in reasons))}",
            code="NOT_READY",
            next="see details; clew doctor looks closer",
        )
        refusal.details = {"reasons": [reason._asdict() for reason in reasons]}
        raise refusal
    return {"ready": True}


def metrics(call: Call) -> Any:
    from clew.surfaces.http.metrics import rendered  # brings its library along

    return rendered(_standing(call))


def openapi(_call: Call) -> Any:
    from clew.surfaces.http.openapi import document

    return document()


def _standing(call: Call) -> Standing:
    return call.server or Standing(call.clew)


ROUTES = (
    Route("GET", "/healthz", "healthz", "The process is alive.", healthz, Alive, is_open=True, is_urgent=True),
    Route("GET", "/readyz", "readyz", "It does its work; 503 says what does not.", readyz, Ready, is_urgent=True),
    Route(
        "GET", "/metrics", "metrics", "Counts for Prometheus.", metrics, str,
        for_operators=True, produces="text/plain; version=0.0.4; charset=utf-8",
    ),
    Route("GET", "/openapi.json", "openapi", "This document.", openapi, dict[str, Any], is_open=True),
)  # fmt: skip
