"""Transfer between projects, retention and the audit log: `clew.transfer`, `clew.retention`, `clew.audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.errors import InvalidInput, NotFound
from clew.lazy import LazyModule
from clew.model.access import AccessContext, Resource
from clew.model.govern import Grant, StoredFingerprint
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.scope import Identity, Scope
from clew.model.times import zoned
from clew.values import dataclass
from clew.verbs import powers

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from datetime import datetime
    from os import PathLike

    from clew.clew import Clew
    from clew.deliver import queue as queueing
    from clew.guard import audit as auditing
    from clew.learn import fingerprint as fingerprints
    from clew.learn import transfer as transferring
    from clew.model.audit import AuditEntry, AuditHead, ChainReport
    from clew.model.govern import RetentionPolicy
    from clew.model.memory import Memory
    from clew.model.session import AgentSession
    from clew.ports import Tx
    from clew.relate import retention as retaining
    from clew.remember import key_names
else:
    auditing, queueing = LazyModule("clew.guard.audit"), LazyModule("clew.deliver.queue")
    fingerprints, transferring = LazyModule("clew.learn.fingerprint"), LazyModule("clew.learn.transfer")
    key_names, retaining = LazyModule("clew.remember.key_names"), LazyModule("clew.relate.retention")


@dataclass(frozen=True, slots=True)
class TransferStatus:
    """A grant, how alike its projects are, and why it brings nothing over if it does not."""

    grant: Grant
    similarity_pct: int
    why_not: str = ""

    def as_json(self) -> dict[str, Any]:
        told = {"similarity_pct": self.similarity_pct, "works": not self.why_not}
        return self.grant.as_json() | told | ({"why_not": self.why_not} if self.why_not else {})


@checked
class Transfer:
    """Memories of one project for another."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def grant(self, source: str, dest: str, *, identity: Identity | None = None) -> bool:
        """Let memories of `source` be shown in `dest`; False when they could be before. For owner and admin."""
        identity = powers.administrator(self._clew, identity, "grant a transfer")
        _check_pair(identity.org, source, dest)
        for project in (source, dest):
            key_names.check_place(Scope(org=identity.org, project=project))
        return self._clew.store.write(partial(self._grant, source=source, dest=dest, identity=identity))

    def revoke(self, source: str, dest: str, *, identity: Identity | None = None) -> None:
        """End a grant. What waits to be shown is taken back; what was shown already cannot be."""
        identity = powers.administrator(self._clew, identity, "revoke a transfer")
        _check_pair(identity.org, source, dest)
        self._clew.store.write(partial(self._revoke, source=source, dest=dest, identity=identity))

    def list(self, *, identity: Identity | None = None) -> Sequence[TransferStatus]:
        """Every grant of the org, and whether it brings anything over. For owner, admin and operator."""
        org = powers.caretaker(self._clew, identity, "look at what is granted").org
        with self._clew.store.read() as tx:
            grants = tx.transfers.grants(org)
            projects = {project for grant in grants for project in (grant.source, grant.dest)}
            known = {project: _components(tx, org, project) for project in projects}
        return [self._status(org, grant, known) for grant in grants]

    def fingerprint(
        self, project: str, files: Mapping[str, str] | str | PathLike[str], *, identity: Identity | None = None
    ) -> fingerprints.TechStackFingerprint:
        """Read what a project is built with, from texts or from a directory, and keep it."""
        identity = powers.person(self._clew, identity, project, "say what a project is built with")
        key_names.check_place(Scope(org=identity.org, project=project))
        texts = files if isinstance(files, Mapping) else fingerprints.read_manifests(files)
        found = fingerprints.fingerprint_project(texts)
        if not found.manifest_hash:
            raise NotFound(
                "no manifest was found",
                code="MANIFEST_NOT_FOUND",
                next="name a directory with a package.json, go.mod, pyproject.toml, Cargo.toml, requirements.txt "
                "or Gemfile",
            )
        self._clew.store.write(partial(self._put_fingerprint, project=project, found=found, identity=identity))
        return found

    def fingerprint_of(
        self, project: str, *, identity: Identity | None = None
    ) -> fingerprints.TechStackFingerprint | None:
        """As it was last read; None if nobody looked."""
        org = self._clew.sessions.active(identity).org
        with self._clew.store.read() as tx:
            stored = tx.transfers.fingerprint(org, project)
        return fingerprints.TechStackFingerprint(stored.components, stored.manifest_hash) if stored else None

    def config_for(self, session: AgentSession) -> transferring.TransferConfig | None:
        """What a block for this session needs to bring memories over; None where nobody granted anything."""
        org, dest = session.org, session.project
        if dest is None or not self._sources(org, dest):
            return None
        learn = self._clew.settings.learn
        return transferring.TransferConfig(
            dest_project=dest,
            grants=partial(self._sources, org, dest),
            components=partial(self._components, org),
            allowed=partial(self._allowed, session),
            weights=partial(self._weights, org, dest),
            retired=partial(self._retired, org, dest),
            threshold=learn.transfer_threshold,
            ignore_versions=learn.transfer_ignore_versions,
            multiplier=learn.transfer_multiplier,
            apply_to=learn.transfer_apply_to,
        )

    # -- reading -------------------------------------------------------------------------------------

    def _sources(self, org: str, dest: str) -> Sequence[str]:
        with self._clew.store.read() as tx:
            sources = [grant.source for grant in tx.transfers.grants_into(org, dest)]
        return [source for source in sources if self._remembers(org, source)]

    def _remembers(self, org: str, project: str) -> bool:
        """A project whose memory is off lends none of it."""
        return self._clew.inject.switches.of(org, project, None).project.memory_enabled

    def _components(self, org: str, project: str) -> AbstractSet[str] | None:
        with self._clew.store.read() as tx:
            return _components(tx, org, project)

    def _weights(self, org: str, dest: str, ids: Sequence[str]) -> Mapping[str, float]:
        with self._clew.store.read() as tx:
            return tx.transfers.weights(org, dest, ids)

    def _retired(self, org: str, dest: str, ids: Sequence[str]) -> AbstractSet[str]:
        learn = self._clew.settings.learn
        with self._clew.store.read() as tx:
            return tx.transfers.retired(org, dest, ids, below=learn.retire_below, samples=learn.retire_samples)

    def _allowed(self, session: AgentSession, memories: Sequence[Memory], percent: int) -> Sequence[bool]:
        """By Cedar, with the grants as they are now."""
        identity = Identity(session.org, session.user, session.agent, ())
        context = AccessContext(
            session.org, session.project, session=session.id, user=session.user, similarity_pct=percent
        )
        grants = self._sources(session.org, session.project or "")
        rows = [Resource.of_memory(memory) for memory in memories]
        decisions = self._clew._pep.decide(identity, "transfer", rows, context, grants=grants)
        return [decision.allowed for decision in decisions]

    def _status(self, org: str, grant: Grant, known: Mapping[str, AbstractSet[str] | None]) -> TransferStatus:
        learn = self._clew.settings.learn
        sides = [known[project] or frozenset() for project in (grant.source, grant.dest)]
        percent = fingerprints.similarity_pct(*sides, ignore_versions=learn.transfer_ignore_versions)
        share = fingerprints.jaccard(*sides, ignore_versions=learn.transfer_ignore_versions)
        unknown = [project for project in (grant.source, grant.dest) if known[project] is None]
        why_not = ""
        if not grant.is_in_force:
            why_not = "it was revoked"
        elif not self._remembers(org, grant.source):
            why_not = f"the memory of {grant.source} is off: clew project set {grant.source} memory on"
        elif unknown:
            why_not = f"what {unknown[0]} is built with is not known: clew transfer fingerprint"
        elif share < learn.transfer_threshold:
            why_not = f"they are {percent} % alike; learn.transfer_threshold is {learn.transfer_threshold:g}"
        elif not self._policies_allow(org, grant, percent):
            why_not = f"no policy allows it for projects that are {percent} % alike: clew policy show"
        return TransferStatus(grant, percent, why_not)

    def _policies_allow(self, org: str, grant: Grant, percent: int) -> bool:
        """Whether they would let an ordinary agent have an ordinary memory."""
        row = Resource("memory", "new", org, grant.source, classification="internal")
        context = AccessContext(org, grant.dest, similarity_pct=percent)
        agent = Identity(org, agent="agent", roles=())
        [decision] = self._clew._pep.decide(agent, "transfer", [row], context, grants=[grant.source])
        return decision.allowed

    # -- writing -------------------------------------------------------------------------------------

    def _grant(self, tx: Tx, *, source: str, dest: str, identity: Identity) -> bool:
        now = self._clew.now()
        is_new = tx.transfers.grant(identity.org, source, dest, by=identity.actor, now=now)
        if is_new:
            _note(tx, identity, now, action="grant_transfer", kind="project", id=dest, detail={"source": source})
        return is_new

    def _revoke(self, tx: Tx, *, source: str, dest: str, identity: Identity) -> None:
        now = self._clew.now()
        if not tx.transfers.revoke(identity.org, source, dest, now=now):
            raise NotFound(
                f"no transfer from '{source}' to '{dest}' is granted",
                code="GRANT_NOT_FOUND",
                next="look at what is granted: clew transfer list",
            )
        queueing.revoke(tx, identity.org, project=dest, now=now)
        _note(tx, identity, now, action="revoke_transfer", kind="project", id=dest, detail={"source": source})

    def _put_fingerprint(
        self, tx: Tx, *, project: str, found: fingerprints.TechStackFingerprint, identity: Identity
    ) -> None:
        now = self._clew.now()
        before = tx.transfers.fingerprint(identity.org, project)
        if before and before.manifest_hash == found.manifest_hash and before.components == found.components:
            return
        stored = StoredFingerprint(project, found.components, found.manifest_hash, now)
        tx.transfers.put_fingerprint(identity.org, stored)
        detail = {"manifests": found.manifest_hash, "components": len(found.components)}
        _note(tx, identity, now, action="fingerprint", kind="project", id=project, detail=detail)


@checked
class AuditLog:
    """Who did what; each entry sealed by the next. For owner, admins and operators of the org."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def verify(self, *, head: AuditHead | str | None = None, identity: Identity | None = None) -> ChainReport:
        """Whether the log of the org is as it was written; `head` is what `head()` gave earlier, kept elsewhere."""
        org = powers.caretaker(self._clew, identity, "verify the audit log").org
        expected = auditing.parse_head(head) if isinstance(head, str) else head
        with self._clew.store.read() as tx:
            return auditing.verify_log(tx, org, head=expected)

    def head(self, *, identity: Identity | None = None) -> AuditHead | None:
        """The last entry's number and hash; None for an empty log."""
        org = powers.caretaker(self._clew, identity, "look at the audit log").org
        with self._clew.store.read() as tx:
            return tx.audit.head(org)

    def list(
        self,
        *,
        limit: int = 50,
        since: datetime | None = None,
        action: str | None = None,
        before: int | None = None,
        identity: Identity | None = None,
    ) -> Sequence[AuditEntry]:
        """Newest first; `before` is the number of the last entry of the page before."""
        org = powers.caretaker(self._clew, identity, "look at the audit log").org
        check_limit(limit)
        since = zoned("since", since)
        with self._clew.store.read() as tx:
            return tx.audit.latest(org, limit=limit, since=since, action=action or "", before=before)


@checked
class Retention:
    """How long what is kept. For the owner and admins of the org; operators may look."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    def list(self, *, identity: Identity | None = None) -> Sequence[RetentionPolicy]:
        org = powers.caretaker(self._clew, identity, "look at how long memories are kept").org
        with self._clew.store.read() as tx:
            return tx.transfers.retention(org)

    def set(
        self,
        ttl_days: float,
        *,
        action: str = "soft",
        project: str | None = None,
        classification: str | None = None,
        type: str | None = None,
        identity: Identity | None = None,
    ) -> RetentionPolicy:
        """Keep what this describes for so many days; what is left out holds for all."""
        identity = powers.administrator(self._clew, identity, "set how long memories are kept")
        key_names.check_place(Scope(org=identity.org, project=project))
        policy = retaining.new_policy(
            ttl_days=ttl_days, action=action, project=project, classification=classification, type=type,
            created_by=identity.actor,
        )  # fmt: skip
        now = self._clew.now()
        self._clew.store.write(partial(retaining.set_policy, org=identity.org, policy=policy, now=now))
        return policy

    def drop(self, id: str, *, identity: Identity | None = None) -> None:
        """Keep them without limit again, or for as long as a less specific policy says."""
        identity = powers.administrator(self._clew, identity, "set how long memories are kept")
        drop = partial(retaining.drop_policy, org=identity.org, id=id)
        self._clew.store.write(partial(drop, actor=identity.actor, now=self._clew.now()))

    def run(self, *, dry_run: bool = False, identity: Identity | None = None) -> retaining.RetentionReport:
        """Apply the policies of the org now; it also happens by itself, once a day."""
        identity = powers.administrator(self._clew, identity, "apply retention policies")
        return retaining.run(self._clew.store, identity.org, self._clew.now(), dry_run=dry_run)


def _check_pair(org: str, source: str, dest: str) -> None:
    for project in (source, dest):
        Scope(org=org, project=project)
    if source == dest:
        raise InvalidInput(f"'{source}' is both ends", code="GRANT_TO_ITSELF", next="name two different projects")


def _components(tx: Tx, org: str, project: str) -> AbstractSet[str] | None:
    stored = tx.transfers.fingerprint(org, project)
    return stored.components if stored else None


def _note(
    tx: Tx, identity: Identity, now: datetime, *, action: str, kind: str, id: str, detail: Mapping[str, Any]
) -> None:
    tx.audit.note(identity.org, at=now, actor=identity.actor, action=action, kind=kind, id=id, detail=detail)
