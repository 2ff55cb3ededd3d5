"""The tools, each a verb: what is asked for goes in, a document with ids and provenance comes out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from clew import ClewError, Draft, Filter, InvalidInput, NotFound
from clew.model.times import parse_time
from clew.surfaces.mcp import arguments as given
from clew.surfaces.mcp.answers import Document, encoded, fit, fit_text, tokens
from clew.surfaces.mcp.caller import Caller
from clew.verbs import told

MORE = "ask with a larger max_tokens, or for less; memory_show with ids and offset=cut_at goes on with a text"
CURSOR = 35  # tokens that are kept free for it: an imported id may have 120 characters
_BLOCK_SHARES = (0.7, 0.5, 0.3, 0.15)  # of the answer; the rest is ids and the form


# -- reading -------------------------------------------------------------------------------------------


def recall(caller: Caller, asked: given.Recall) -> Document:
    changes: dict[str, Any] = {"types": tuple(asked.types or ()), "tags": tuple(asked.tags or ())}
    changes["session"] = asked.session or None
    if asked.limit is not None:
        changes["limit"] = asked.limit
    scope = caller.scope(asked.project)
    found = caller.clew.recall(asked.query, scope=scope, identity=caller.who, **changes)
    document: Document = {"results": [told.result_told(one, explain=asked.explain) for one in found.results]}
    if found.conflicts:
        document["conflicts"] = [
            {"ids": [one.memory_a_id, one.memory_b_id], "kind": one.edge_type, "next": one.suggestion}
            for one in found.conflicts
        ]
    if asked.explain:
        document["explain"] = told.trace_told(found.trace)
    return fit(document, "results", caller.size(asked.max_tokens), spare=("explain", "conflicts"), ask=MORE)


def show(caller: Caller, asked: given.Show) -> Document:
    """Those that are found; those that are not are named, and all of them missing is an error."""
    scope, found, missing = caller.scope_of_id(asked.project), [], []
    ids = dict.fromkeys(asked.ids)
    for id in ids:
        try:
            found.append(caller.clew.show(id, scope=scope, identity=caller.who))
        except ClewError as error:
            missing.append(told.name(id))
            if error.exit_code != 3 or len(ids) == 1:
                raise
    if not found:
        raise NotFound(
            f"{', '.join(missing)} were not found", code="MEMORY_NOT_FOUND", next="ask again with memory_recall"
        )
    document: Document = {"memories": [_shown(memory, asked.offset) for memory in found]}
    if missing:
        document["not_found"] = missing
    return fit(document, "memories", caller.size(asked.max_tokens), ask=MORE)


def _shown(memory: Any, offset: int) -> Document:
    text = told.text_of(memory)
    document = told.memory_told(memory, text=text[offset:]) | {"version": memory.version}
    return document | ({"offset": offset} if offset else {})


def timeline(caller: Caller, asked: given.Timeline) -> Document:
    size = caller.size(asked.max_tokens)
    if asked.id:
        scope = caller.scope_of_id(asked.project)
        history = caller.clew.history(asked.id, scope=scope, identity=caller.who)
        versions = [told.version_told(one) for one in reversed(history)]
        return fit({"id": told.name(asked.id), "entries": versions[: asked.limit]}, "entries", size, ask=MORE)
    before = parse_time(asked.before, now=datetime.now(UTC)) if asked.before else None
    wanted = Filter(types=tuple(asked.types or ()), session=asked.session or None, before=before)
    scope = caller.scope(asked.project)
    page = caller.clew.list(
        wanted, scope=scope, identity=caller.who, limit=asked.limit, cursor=asked.cursor or None
    )
    document = fit(
        {"entries": [told.memory_told(memory) for memory in page]},
        "entries",
        size - CURSOR,
        ask="go on from `cursor`",
    )
    told_of = len(document["entries"])
    if told_of and (told_of < len(page) or len(page) == asked.limit):
        document["cursor"] = page[told_of - 1].id
    elif "truncated" in document:
        document["next"] = MORE  # in the room that the cursor does not take
    return document


def context(caller: Caller, asked: given.Context) -> Document:
    size = caller.size(asked.max_tokens)
    if asked.session:
        block = caller.clew.inject.start(asked.session, dry_run=True, identity=caller.who)
        return fit_text(_block(block), size, ask="ask with a larger max_tokens")
    scope, document = caller.scope(asked.project), {}
    for share in _BLOCK_SHARES:
        budget = int(size * share)
        block = caller.clew.inject.block(asked.query or "", budget_tokens=budget, scope=scope, identity=caller.who)
        document = _block(block)
        if tokens(encoded(document)) <= size:
            break
    return fit_text(document, size, ask="ask with a larger max_tokens")


def _block(block: Any) -> Document:
    """Only what users and agents stated is in a block; what was found and is not trusted is in `recall`."""
    left_out: dict[str, int] = {}
    for one in block.skipped:
        left_out[one.reason] = left_out.get(one.reason, 0) + 1
    document = {"text": block.text, "tokens": block.tokens, "memory_ids": list(block.memory_ids)}
    return document | ({"skipped": left_out} if left_out else {})


# -- writing -------------------------------------------------------------------------------------------


def remember(caller: Caller, asked: given.Remember) -> Document:
    draft = Draft(
        content=asked.content,
        type=asked.type,
        title=asked.title or None,
        tags=tuple(asked.tags or ()),
        paths=tuple(asked.paths or ()),
        origin=asked.origin,
        trust=None if asked.origin != "user" else "agent",  # the model says that the user said so
        supersedes=asked.supersedes or None,
    )
    place = caller.place(asked.project, asked.session)
    stored = caller.clew.remember(draft, scope=place, identity=caller.who)
    return _stored(stored)


def _stored(stored: Any) -> Document:
    document: Document = {"id": stored.id, "deduplicated": stored.deduplicated} | told.provenance(stored.memory)
    if stored.superseded:
        document["superseded"] = stored.superseded
    if stored.masked:
        document["masked"] = list(stored.masked)
    if stored.label_because:
        document["label_because"] = stored.label_because
    if stored.quarantined:
        document |= {
            "quarantined": list(stored.quarantined),
            "next": "it is kept apart until a person releases it: clew quarantine list",
        }
    return document


def edit(caller: Caller, asked: given.Edit) -> Document:
    changes: dict[str, Any] = {
        name: value for name in ("content", "title", "type") if (value := getattr(asked, name)) is not None
    }
    if asked.tags is not None:
        changes["tags"] = tuple(asked.tags)
    if not changes:
        raise InvalidInput("nothing is to be changed", code="EDIT_EMPTY", next="give content, title, type or tags")
    memory = caller.clew.edit(
        asked.id,
        scope=caller.scope_of_id(asked.project),
        identity=caller.who,
        expected_version=asked.expected_version,
        **changes,
    )
    return {"id": memory.id, "version": memory.version} | told.provenance(memory)


def forget(caller: Caller, asked: given.Forget) -> Document:
    """Softly: a person can bring it back."""
    scope = caller.scope_of_id(asked.project)
    receipt = caller.clew.forget(asked.id, scope=scope, identity=caller.who)
    return {"forgotten": [told.name(id) for id in receipt.ids], "next": "a person can undo it: clew revert"}


# -- the graph -----------------------------------------------------------------------------------------


def graph(caller: Caller, asked: given.Graph) -> Document:
    run: dict[str, Callable[[Caller, given.Graph], Document]] = {
        "neighbors": _neighbors, "path": _path, "triplets": _triplets,
    }  # fmt: skip
    document = run[asked.kind](caller, asked)
    size = caller.size(asked.max_tokens)
    return fit(document, "edges", size, spare=("memories",), ask="ask with a smaller limit or a larger max_tokens")


def _neighbors(caller: Caller, asked: given.Graph) -> Document:
    node, scope = _named(asked.node, "node"), caller.scope(asked.project)
    found = caller.clew.graph.neighbors(
        node, scope=scope, identity=caller.who, limit=asked.limit, depth=asked.depth
    )
    document: Document = {"node": told.node_told(found.node)}
    trusts = trusting(caller)
    document["edges"] = [told.neighbor_told(one, trusts) for one in found.neighbors]
    document["memories"] = [told.linked_told(one, trusts) for one in found.memories]
    return document


def _path(caller: Caller, asked: given.Graph) -> Document:
    scope = caller.scope(asked.project)
    found = caller.clew.graph.path(
        _named(asked.node, "node"), _named(asked.to, "to"), scope=scope, identity=caller.who
    )
    return {"confidence": round(found.confidence, 4), "edges": told.path_told(found, trusting(caller))}


def _triplets(caller: Caller, asked: given.Graph) -> Document:
    scope = caller.scope(asked.project)
    found = caller.clew.graph.triplets(asked.query, scope=scope, identity=caller.who, limit=asked.limit)
    trusts = trusting(caller)
    return {"edges": [told.fact_told(fact, trusts) for fact in found.facts]}


def _named(value: str | None, name: str) -> str:
    if not value:
        raise InvalidInput(f"`{name}` is missing", code="ARGUMENTS_INVALID", next=f"name the {name}")
    return value


def trusting(caller: Caller) -> Callable[[str], bool]:
    """Whether the memory of an id is trusted. Each is looked up once."""

    @cache
    def is_trusted(id: str) -> bool:
        try:
            return told.is_trusted(caller.clew.show(id, identity=caller.who))
        except ClewError:  # gone meanwhile
            return False

    return is_trusted


# -- the queue -----------------------------------------------------------------------------------------


def claim(caller: Caller, asked: given.Claim) -> Document:
    found = caller.clew.queue.claim(asked.session, asked.worker, asked.token, identity=caller.who)
    if found is None:
        return {"delivery_id": None, "text": ""}
    document = {"delivery_id": found.delivery_id, "text": found.text, "kind": found.kind}
    more = "it stays yours until queue_ack: claim again with a larger max_tokens"
    return fit_text(document, caller.size(asked.max_tokens), ask=more)


def ack(caller: Caller, asked: given.Ack) -> Document:
    counted = caller.clew.queue.ack(
        asked.session, asked.delivery_id, asked.worker, asked.token, receipt="confirmed", identity=caller.who
    )
    return {"acked": counted}
