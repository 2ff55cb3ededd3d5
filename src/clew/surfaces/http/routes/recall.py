"""Questions over HTTP: recall, context, why, X-ray. None of them changes anything."""

from __future__ import annotations

from typing import Any

from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.shapes import recall as shapes
from clew.surfaces.http.shapes.memories import utc
from clew.verbs.contexts import context_payload

_NAMED = ("limit", "retrieval", "floor", "plan")  # None: as the settings say
_GIVEN = (
    "mode", "types", "tags", "include_superseded", "include_invalid", "rules", "agent", "session", "namespace",
    "graph", "include_low_confidence",
)  # fmt: skip


def recall(call: Call) -> Any:
    asked = call.body
    found = call.clew.recall(asked.query, scope=call.scope(asked), identity=call.identity, **_options(asked))
    return found.as_json()


def context(call: Call) -> Any:
    asked = call.body
    found = call.clew.context(
        asked.query,
        scope=call.scope(asked),
        identity=call.identity,
        strategy=asked.strategy,
        depth=asked.depth,
        graph_limit=asked.graph_limit,
        **_options(asked),
    )
    return context_payload(call.clew, found, query=asked.query, mode=asked.mode, org=call.identity.org)


def why(call: Call) -> Any:
    asked = call.body
    told = call.clew.why(
        asked.query, asked.expect, scope=call.scope(asked), identity=call.identity, **_options(asked)
    )
    return told.as_json()


def xray(call: Call) -> Any:
    asked = call.body
    laid_open = call.clew.xray(
        asked.query, budget=asked.budget, scope=call.scope(asked), identity=call.identity, **_options(asked)
    )
    return laid_open.as_json()


def _options(asked: shapes.Asked) -> dict[str, Any]:
    named = {name: value for name in _NAMED if (value := getattr(asked, name, None)) is not None}
    given = {name: getattr(asked, name) for name in _GIVEN if hasattr(asked, name)}
    return named | given | {"as_of": utc(asked.as_of)}


ROUTES = (
    Route(
        "POST", "/v1/recall", "recall", "What is known about a question, best first, with reasons.", recall,
        answer=shapes.RecalledShown, body=shapes.RecallAsked, reads_only=True,
    ),
    Route(
        "POST", "/v1/context", "context", "Rules and memories about a question, then what the graph adds.", context,
        answer=shapes.ContextShown, body=shapes.ContextAsked, reads_only=True,
    ),
    Route(
        "POST", "/v1/why", "why", "At which stage an expected memory was lost, or at which rank it was found.", why,
        answer=shapes.ExplanationShown, body=shapes.WhyAsked, reads_only=True, also=(404,),
    ),
    Route(
        "POST", "/v1/xray", "xray", "A recall laid open: scores, filters, ways through the graph.", xray,
        answer=shapes.XrayShown, body=shapes.XrayAsked, reads_only=True,
    ),
)  # fmt: skip
