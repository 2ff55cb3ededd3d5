"""The switches that live in the store: `clew.projects`, `clew.matrix`. Every change is audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clew.errors import Denied, InvalidInput, NotFound
from clew.lazy import LazyModule
from clew.model.access import AccessContext, Resource
from clew.model.config import MatrixRow, MatrixShown, ProjectConfig, ProjectShown, RecallSettings
from clew.model.kinds import checked
from clew.model.org import LOCAL
from clew.model.scope import Identity, Scope
from clew.verbs import powers

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.inject import gates
    from clew.inject import matrix as matrices
    from clew.ports import Tx
    from clew.remember import key_names
else:
    gates, matrices = LazyModule("clew.inject.gates"), LazyModule("clew.inject.matrix")
    key_names = LazyModule("clew.remember.key_names")

SWITCHES = {"memory": "memory_enabled", "graph": "graph_enabled", "runtime-inject": "runtime_inject_enabled"}


@checked
class ConfigVerbs:
    """Who may change what is decided by the policies: owners and admins configure, operators operate."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def _check(self, identity: Identity, action: str, resource: Resource) -> None:
        [decision] = self._clew._pep.decide(identity, action, [resource], AccessContext(identity.org))
        named = f"{resource.kind} '{resource.id}'" if resource.id else f"the {resource.kind}"
        if not decision:
            asked = "the operator" if action == "operate" else "an owner or admin of the org"
            raise Denied(
                f"'{identity.name}' may not {action} {named}", code=f"{action.upper()}_DENIED", next=f"ask {asked}"
            )
        powers.in_full(self._clew, identity, f"{action} {named}")

    def _note(
        self,
        tx: Tx,
        org: str,
        identity: Identity,
        resource: Resource,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
    ) -> None:
        tx.audit.note(
            org,
            at=self._clew.now(),
            actor=identity.actor,
            action="configure",
            id=resource.id,
            kind=resource.kind,
            detail={"before": dict(before), "after": dict(after)},
        )

    def _resolved(self, org: str, rows: Sequence[MatrixRow]) -> dict[str, RecallSettings]:
        """By work type; those that ship are always there, and those that the settings name for the org."""
        overrides = self._clew.settings.inject.org_overrides
        named = (*matrices.SHIPPED, *(kind for of_org, kind, _tokens in overrides if of_org == org))
        found: dict[str, dict[bool, MatrixRow]] = {name: {} for name in named}
        for row in rows:
            found.setdefault(row.work_type, {})[row.org is not None] = row
        return {
            name: matrices.resolved(name, pair.get(True), pair.get(False), configured=overrides.of(org, name))
            for name, pair in found.items()
        }

    def _org_named(self, org: str | None, identity: Identity) -> str:
        """The id of the caller's own org, or of another that is there: created, or known by what it has here."""
        if org is None or org == identity.org:
            return identity.org
        check_seen(org, identity)
        with self._clew.store.read() as tx:
            created = tx.orgs.find(org)
            if created is None and org not in (LOCAL, *tx.config.orgs()):
                raise NotFound(
                    f"org '{org}' was not found",
                    code="ORG_NOT_FOUND",
                    next="see which there are: clew org list; or create it: clew org create",
                )
        return created.id if created else org


@checked
class Projects(ConfigVerbs):
    """What a project has switched on."""

    __slots__ = ()

    def list(self, *, identity: Identity | None = None) -> dict[str, ProjectConfig]:
        """Every project that has memories or switches, by name; for those who do not look after the org, every
        one in which they may read a memory."""
        identity = identity or Identity()
        is_caretaker = powers.is_caretaker(self._clew, identity)
        with self._clew.store.read() as tx:
            configs = tx.config.projects(identity.org)
            known = tx.edges.projects(identity.org) if is_caretaker else ()
            rows = () if is_caretaker else tx.guarding.rows(self._clew._reach_of_id(None, identity))
        names = {*known, *configs} if is_caretaker else self._read_in(identity, [row for _, row in rows])
        return {name: configs.get(name, ProjectConfig()) for name in sorted(names) if name}

    def _read_in(self, identity: Identity, rows: Sequence[Resource]) -> set[str]:
        context = AccessContext(identity.org, user=identity.user)
        decisions = self._clew._pep.decide(identity, "read", rows, context)
        return {row.project or "" for row, decision in zip(rows, decisions, strict=True) if decision}

    def show(self, project: str, *, identity: Identity | None = None) -> ProjectShown:
        """Its switches, and every gate with its reason."""
        org, graph = (identity or Identity()).org, self._clew.settings.graph
        Scope(org=org, project=project)  # refuses what is no name
        with self._clew.store.read() as tx:
            config, features, rows = tx.config.project(org, project), tx.config.features(org), tx.config.matrix(org)
        open_or_not = (
            ("memory", gates.memory_gate(config)),
            (
                "graph_settings",
                gates.graph_settings_gate(write=graph.write, recall=graph.recall, shadow=graph.shadow),
            ),
            ("rollout", self._clew.inject.rollout_gate(org)),
            ("graph", gates.graph_gate(config, features)),
            ("runtime_inject", gates.delivery_gate(config, setting=self._clew.settings.inject.runtime)),
        )
        types = tuple(
            (name, gates.work_type_gate(recall, name)) for name, recall in self._resolved(org, rows).items()
        )
        return ProjectShown(project, config, features, open_or_not, types)

    def set(self, project: str, switch: str, on: bool | None, *, identity: Identity | None = None) -> ProjectConfig:
        """Switch `memory`, `graph` or `runtime-inject`; None, for the graph alone, leaves it to the org's plan."""
        identity = identity or Identity()
        key_names.check_place(Scope(org=identity.org, project=project))
        field = _switch_named(switch)
        if not isinstance(on, bool) and (on is not None or field != "graph_enabled"):
            raise InvalidInput(f"{switch} is on or off", code="SWITCH_INVALID", next="say on or off")
        resource = Resource("project", project, identity.org, project)
        self._check(identity, "configure", resource)

        def change(tx: Tx) -> ProjectConfig:
            before = tx.config.project(identity.org, project)
            changes: dict[str, Any] = {field: on}
            after = replace(before, **changes)
            if after != before:
                tx.config.put_project(identity.org, project, after, by=identity.actor, at=self._clew.now())
                self._note(tx, identity.org, identity, resource, {field: getattr(before, field)}, {field: on})
            return tx.config.project(identity.org, project)

        return self._clew.store.write(change)


@checked
class Matrix(ConfigVerbs):
    """What each work type gets: the recall matrix. For operators to change, for everybody to see."""

    __slots__ = ()

    def show(self, *, org: str | None = None, identity: Identity | None = None) -> list[MatrixShown]:
        """Every work type that the matrix knows, as it is resolved for an org."""
        identity = identity or Identity()
        named = self._org_named(org, identity)
        with self._clew.store.read() as tx:
            rows = tx.config.matrix(named)
        return [MatrixShown(name, named, settings) for name, settings in self._resolved(named, rows).items()]

    def resolve(
        self, work_type: str | None, *, org: str | None = None, identity: Identity | None = None
    ) -> RecallSettings:
        return matrices.resolve_recall(self._clew, self._org_named(org, identity or Identity()), work_type)

    def set(
        self, work_type: str, *, org: str | None = None, identity: Identity | None = None, **fields: Any
    ) -> RecallSettings:
        """Change single fields of a work type, for one org or for all. Returns what that org gets now."""
        identity = identity or Identity()
        matrices.check_work_type(work_type)
        key_names.refuse_secret(work_type, "work type", code="WORK_TYPE_SECRET")
        resource = Resource("matrix", work_type, org or "")
        self._check(identity, "operate", resource)
        org = None if org is None else self._org_named(org, identity)
        given = {name: value for name, value in fields.items() if value is not None}
        if not given:
            raise InvalidInput(
                "nothing is to be set",
                code="RECALL_MATRIX_INVALID",
                next=f"give one of {', '.join(matrices.FIELDS)}",
            )

        def change(tx: Tx) -> None:
            before = tx.config.matrix_row(org, work_type) or MatrixRow(org, work_type)
            after = matrices.changed(before, given)
            if after != before:
                tx.config.put_matrix(after, by=identity.actor, at=self._clew.now())
                old = {name: getattr(before, name) for name in given}
                self._note(tx, org or identity.org, identity, resource, old, given)

        self._clew.store.write(change)
        return matrices.resolve_recall(self._clew, org or identity.org, work_type)


def _switch_named(switch: str) -> str:
    if switch not in SWITCHES:
        raise InvalidInput(
            f"a project has no switch '{switch[:40]}'",
            code="SWITCH_INVALID",
            next=f"choose one of {', '.join(SWITCHES)}",
        )
    return SWITCHES[switch]


def check_seen(org: str, identity: Identity) -> None:
    """Another org is for operators; to others it is not there."""
    Scope(org=org)
    try:
        identity.check_operator()
    except Denied:
        raise NotFound(
            f"org '{org}' was not found", code="ORG_NOT_FOUND", next=f"use your own org, '{identity.org}'"
        ) from None
