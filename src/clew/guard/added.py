"""Policies beside the shipped ones: looked at, loaded, dropped.

In: a text and a name. Out: the policy with its version. It is in force when this returns, in every process by its
next question. One that does not parse or validate, or takes the id of another, is refused, and what was in force
stays; loaded twice, the second takes the place of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from clew.errors import InvalidInput, Misconfigured, NotFound
from clew.guard.engine import Engine, Problem
from clew.model.access import AddedPolicy
from clew.model.config import AgentRights
from clew.model.scope import Identity, Scope
from clew.model.upkeep import Check
from clew.ports import Store, Tx
from clew.values import dataclass

MAX_ADDED = 50  # files per org: every policy is looked at for every question
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class InForce:
    """The policies of an org, by their ids."""

    org: str
    version: str
    shipped: tuple[str, ...]
    added: tuple[tuple[AddedPolicy, tuple[str, ...]], ...]
    is_grouped: bool
    shipped_text: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "org": self.org,
            "version": self.version,
            "shipped": list(self.shipped),
            "added": [{**policy.as_json(), "ids": list(ids)} for policy, ids in self.added],
            "decisions_shared_by_attributes": self.is_grouped,
        } | ({"shipped_text": self.shipped_text} if self.shipped_text else {})


def in_force(tx: Tx, engine: Engine, org: str, *, with_text: bool = False) -> InForce:
    added = tx.guarding.policies(org)
    loaded = engine.load(added)
    described = tuple((policy, engine.ids_of(policy.text, policy.name)) for policy in added)
    text = engine.shipped_text if with_text else ""
    return InForce(org, loaded.version, engine.shipped.ids, described, loaded.is_grouped, text)


def problems_with(tx: Tx, engine: Engine, text: str, *, org: str, name: str) -> list[Problem]:
    """Beside the shipped policies and the others that are in force; the one it would replace does not count."""
    others = [policy for policy in tx.guarding.policies(org) if (policy.org, policy.name) != (org, name)]
    taken = [id for policy in others for id in engine.ids_of(policy.text, policy.name)]
    found = engine.problems(text, taken=(*engine.shipped.ids, *taken))
    if not found and sum(policy.org == org for policy in others) >= MAX_ADDED:
        found = [Problem(1, "", f"there are {MAX_ADDED} added policies already")]
    return found


def load(
    tx: Tx, engine: Engine, text: str, *, org: str, name: str, identity: Identity, now: datetime
) -> AddedPolicy:
    problems = problems_with(tx, engine, text, org=org, name=checked_name(name))
    if problems:
        raise refused(name, problems)
    policy = tx.guarding.put_policy(org, name, text, by=identity.actor, at=now)
    _note(tx, "policy_load", policy, identity, now)
    return policy


def drop(tx: Tx, *, org: str, name: str, identity: Identity, now: datetime) -> AddedPolicy:
    found = [policy for policy in tx.guarding.policies(org) if (policy.org, policy.name) == (org, name)]
    if not found:
        raise NotFound(
            f"there is no added policy '{name[:64]}'", code="POLICY_NOT_FOUND", next="list them: clew policy show"
        )
    tx.guarding.drop_policy(org, name, at=now)
    _note(tx, "policy_drop", found[0], identity, now)
    return found[0]


def check_policies(store: Store) -> Iterator[Check]:
    """Whether the policies of every org can be loaded: where they cannot, everything is denied."""
    engine = Engine()
    try:
        engine.load()
        with store.read() as tx:
            orgs = tx.guarding.policy_orgs() or ["local"]
            for org in orgs:
                engine.load(tx.guarding.policies(org))
    except ImportError:
        yield Check("policies", False, "Cedar cannot be loaded", "install it: pip install cedarpy")
    except Misconfigured as error:
        yield Check("policies", False, error.message, error.next)
    else:
        yield Check("policies", True, f"{len(engine.shipped.ids)} shipped; what was added is valid")


def set_rights(
    tx: Tx, org: str, agent: str, changes: Mapping[str, Any], *, identity: Identity, now: datetime
) -> AgentRights:
    """Change what is known of an agent; what is not named stays."""
    Scope(agent=agent)  # refuses what cannot be the name of one
    rights = replace(tx.guarding.rights(org, agent), **changes)
    _check_rights(rights)
    tx.guarding.put_rights(org, agent, rights, by=identity.actor, at=now)
    tx.audit.note(
        org, at=now, actor=identity.actor, action="agent_rights", id=agent, kind="agent", detail=rights.as_json()
    )
    return rights


def _check_rights(rights: AgentRights) -> None:
    """What is no bool would be kept as one: a "no" as a yes."""
    if type(rights.clearance) is not int or rights.clearance not in range(4):
        raise InvalidInput(
            f"a clearance of {rights.clearance} does not exist", code="CLEARANCE_INVALID", next="give 0 to 3"
        )
    for name in ("suspended", "can_write"):
        if not isinstance(getattr(rights, name), bool):
            raise InvalidInput(f"{name} is true or false", code="RIGHTS_INVALID", next="say True or False")


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"'{name[:64]}' cannot be the name of a policy",
            code="POLICY_NAME_INVALID",
            next="use up to 64 letters, digits, dots, dashes and underscores",
        )
    return name


def refused(name: str, problems: Sequence[Problem]) -> InvalidInput:
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InvalidInput(
        f"the policy '{name}' is not valid: line {first.line}: {first.message}{more}",
        code="POLICY_INVALID",
        next="see all of it with: clew policy check FILE; what was in force stays",
        details={"problems": [problem.as_json() for problem in problems]},
    )


def _note(tx: Tx, action: str, policy: AddedPolicy, identity: Identity, now: datetime) -> None:
    tx.audit.note(
        policy.org or identity.org,
        at=now,
        actor=identity.actor,
        action=action,
        id=policy.name,
        content_hash=sha256(policy.text.encode()).hexdigest(),
        kind="policy",
        detail={"org": policy.org or "*", "version": policy.version},
    )
