"""Transfers between projects, the audit log and retention over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from clew.surfaces.http.route import Call, Limit, Route
from clew.surfaces.http.shapes import govern as shapes
from clew.surfaces.http.shapes.common import DryRun, Moment, Name, Seq, Shape, moment, next_page

_Hash = Annotated[str, Meta(max_length=200)]


class Transfer(Shape, frozen=True, kw_only=True):
    """Memories of `source` may be shown in `dest`; not the other way round."""

    source: Name
    dest: Name


class Manifests(Shape, frozen=True, kw_only=True):
    """Texts of manifests by path: package.json, go.mod, pyproject.toml, Cargo.toml, requirements.txt, Gemfile."""

    files: Annotated[dict[str, str], Meta(max_length=1_000)]


class AuditWanted(Shape, frozen=True, kw_only=True):
    """`cursor` is what the page before named as `next_cursor`."""

    limit: Limit = 50
    since: Moment | None = None
    action: Name | None = None
    cursor: Seq | None = None


class HeadGiven(Shape, frozen=True, kw_only=True):
    """`head` is what was kept elsewhere, earlier."""

    head: _Hash | None = None


class RetentionWanted(Shape, frozen=True, kw_only=True):
    """What is left out holds for all."""

    ttl_days: Annotated[float, Meta(gt=0, le=36_500)]
    action: Literal["soft", "hard"] = "soft"
    project: Name | None = None
    classification: Literal["public", "internal", "confidential", "restricted"] | None = None
    type: Literal["rule", "decision", "fact", "note", "skill"] | None = None


def transfers(call: Call) -> Any:
    return {"grants": [status.as_json() for status in call.clew.transfer.list(identity=call.identity)]}


def grant(call: Call) -> Any:
    pair = call.body
    changed = call.clew.transfer.grant(pair.source, pair.dest, identity=call.identity)
    return {"source": pair.source, "dest": pair.dest, "granted": True, "changed": changed}


def revoke(call: Call) -> Any:
    pair = call.query
    call.clew.transfer.revoke(pair.source, pair.dest, identity=call.identity)
    return {"source": pair.source, "dest": pair.dest, "granted": False, "changed": True}


def fingerprint(call: Call) -> Any:
    name = call.path["project"]
    found = call.clew.transfer.fingerprint(name, call.body.files, identity=call.identity)
    return {"project": name, **found.as_json()}


def fingerprint_of(call: Call) -> Any:
    name = call.path["project"]
    found = call.clew.transfer.fingerprint_of(name, identity=call.identity)
    return {"project": name, **found.as_json()} if found else None


def audit(call: Call) -> Any:
    asked = call.query
    found = call.clew.audit.list(
        limit=asked.limit + 1,
        since=moment(call, asked.since),
        action=asked.action,
        before=asked.cursor,
        identity=call.identity,
    )
    more = next_page(found, asked.limit, lambda entry: str(entry.seq))
    return {"entries": [entry.as_json() for entry in found[: asked.limit]]} | more


def head(call: Call) -> Any:
    found = call.clew.audit.head(identity=call.identity)
    return {"head": str(found) if found else None}


def verify(call: Call) -> Any:
    return call.clew.audit.verify(head=call.query.head, identity=call.identity).as_json()


def retention(call: Call) -> Any:
    return {"policies": [policy.as_json() for policy in call.clew.retention.list(identity=call.identity)]}


def set_retention(call: Call) -> Any:
    wanted = call.body
    names = ("action", "project", "classification", "type")
    about = {name: getattr(wanted, name) for name in names}
    return call.clew.retention.set(wanted.ttl_days, **about, identity=call.identity).as_json()


def drop_retention(call: Call) -> Any:
    call.clew.retention.drop(call.path["id"], identity=call.identity)
    return {"id": call.path["id"], "dropped": True}


def run_retention(call: Call) -> Any:
    return call.clew.retention.run(dry_run=call.body.dry_run, identity=call.identity).as_json()


_TRANSFERS, _FINGERPRINT, _RETENTION = "/v1/transfers", "/v1/projects/{project}/fingerprint", "/v1/retention"

ROUTES = (
    Route("GET", _TRANSFERS, "transfer.list", "Every grant of the org, and whether it brings anything over.",
          transfers, shapes.GrantsShown),
    Route("PUT", _TRANSFERS, "transfer.grant", "Let memories of one project be shown in another.", grant,
          shapes.GrantChanged, body=Transfer),
    Route("DELETE", _TRANSFERS, "transfer.revoke", "End a grant.", revoke, shapes.GrantChanged, query=Transfer,
          also=(404,)),
    Route("PUT", _FINGERPRINT, "transfer.fingerprint", "Say what a project is built with, by its manifests.",
          fingerprint, shapes.FingerprintShown, body=Manifests, also=(404,)),
    Route("GET", _FINGERPRINT, "transfer.fingerprint_of", "What a project is built with; null if nobody said.",
          fingerprint_of, shapes.FingerprintShown | None, also=(404,)),
    Route("GET", "/v1/audit", "audit.list", "Who did what, newest first.", audit, shapes.AuditPage,
          query=AuditWanted),
    Route("GET", "/v1/audit/head", "audit.head", "The last entry's number and hash, to be kept elsewhere.", head,
          shapes.HeadShown),
    Route("GET", "/v1/audit/verify", "audit.verify", "Whether the log is as it was written.", verify,
          shapes.ChainShown, query=HeadGiven),
    Route("GET", _RETENTION, "retention.list", "How long what is kept.", retention, shapes.RetentionsShown),
    Route("PUT", _RETENTION, "retention.set", "Keep what this describes for so many days.", set_retention,
          shapes.RetentionShown, body=RetentionWanted),
    Route("DELETE", f"{_RETENTION}/{{id}}", "retention.drop", "Keep them without this limit.", drop_retention,
          shapes.Dropped, also=(404,)),
    Route("POST", f"{_RETENTION}/run", "retention.run", "Apply the policies of the org now.", run_retention,
          shapes.RetentionRan, body=DryRun, is_idempotent=True),
)  # fmt: skip
