"""The queue of a session over HTTP: put in, hand out one at a time, acknowledge."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.model.session import InjectDraft
from clew.surfaces.http.route import Call, Route
from clew.surfaces.http.routes.sessions import Held
from clew.surfaces.http.shapes import sessions as shapes
from clew.surfaces.http.shapes.common import Id, Limited, Name, Shape, Text

_Ids = Annotated[tuple[Id, ...], Meta(max_length=1_000)]


class InjectWanted(Shape, frozen=True, kw_only=True):
    """A text for the agent. Only a user speaks as the user."""

    text: Text
    kind: Literal["memory", "user"] = "memory"
    phase: Literal["start", "in_session"] = "in_session"
    agent: Name | None = None
    observation_ids: _Ids = ()
    node_ids: _Ids = ()
    source_ids: _Ids = ()


class QueueWanted(Shape, frozen=True, kw_only=True):
    state: shapes.InjectState | None = None


class AckWanted(Held, frozen=True, kw_only=True):
    receipt: shapes.Receipt = "consumed"


def enqueue(call: Call) -> Any:
    wanted = call.body
    draft = InjectDraft(
        call.path["id"],
        wanted.text,
        kind=wanted.kind,
        phase=wanted.phase,
        agent=wanted.agent,
        observation_ids=wanted.observation_ids,
        node_ids=wanted.node_ids,
        source_ids=wanted.source_ids,
    )
    return call.clew.queue.offer(draft, identity=call.identity).as_json()


def list_injects(call: Call) -> Any:
    found = call.clew.queue.list(call.path["id"], state=call.query.state, identity=call.identity)
    return {"injects": [inject.as_json() for inject in found]}


def claim(call: Call) -> Any:
    held = call.body
    delivery = call.clew.queue.claim(call.path["id"], held.worker, held.token, identity=call.identity)
    return delivery.as_json() if delivery else None


def ack(call: Call) -> Any:
    held, path = call.body, call.path
    acked = call.clew.queue.ack(
        path["id"], path["delivery"], held.worker, held.token, receipt=held.receipt, identity=call.identity
    )
    return {"acked": acked}


def dead(call: Call) -> Any:
    found = call.clew.queue.dead(limit=call.query.limit, identity=call.identity)
    return {"injects": [inject.as_json() for inject in found]}


_QUEUE = "/v1/sessions/{id}/queue"

ROUTES = (
    Route(
        "POST", _QUEUE, "queue.enqueue", "Put a text at the end of the queue; the same text is there once.",
        enqueue, shapes.EnqueuedShown, body=InjectWanted, also=(404, 409), is_idempotent=True,
    ),
    Route(
        "GET", _QUEUE, "queue.list", "What is queued for a session, first in first.", list_injects,
        shapes.InjectsShown, query=QueueWanted, also=(404,),
    ),
    Route(
        "POST", f"{_QUEUE}/claim", "queue.claim",
        "What is next for the agent: the same until it is acknowledged; null when there is nothing.",
        claim, shapes.DeliveryShown | None, body=Held, also=(404,),
    ),
    Route(
        "POST", f"{_QUEUE}/{{delivery}}/ack", "queue.ack", "The agent has it; twice is once.", ack, shapes.Acked,
        body=AckWanted, also=(404, 409),
    ),
    Route(
        "GET", "/v1/queue/dead", "queue.dead", "What was given up in the org, with its reason, newest first.", dead,
        shapes.InjectsShown, query=Limited,
    ),
)  # fmt: skip
