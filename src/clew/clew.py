"""Class Clew: one method per verb. Each checks who asks, hands over to a step, and returns its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO
from weakref import ref

from clew.errors import ClewError, Misconfigured, NotFound, Unavailable
from clew.lazy import LazyModule, made_once
from clew.model.ids import check_cursor
from clew.model.kinds import checked, takes
from clew.model.limit import check_limit
from clew.model.memory import Draft, Filter, Memory, Remembered, Version
from clew.model.progress import Progress, no_progress
from clew.model.recalled import Recalled, RecallOptions
from clew.model.scope import OWNER, AcrossProjects, Identity, Reach, Scope
from clew.relate.courtesy import Courtesy
from clew.verbs.topics import Topics

if TYPE_CHECKING:
    from datetime import datetime
    from os import PathLike
    from pathlib import Path
    from types import TracebackType

    from clew.guard import added as added_policies
    from clew.guard import audit as auditing
    from clew.guard import doors
    from clew.guard import pep as enforcing
    from clew.guard import quarantine as quarantined
    from clew.guard import stored as stored_rights
    from clew.hosts import checkup as host_checkup
    from clew.model.config import AgentRights
    from clew.model.host import Around
    from clew.model.report import WorkReport
    from clew.model.tool_call import ToolCall
    from clew.model.upkeep import BackupReport, Check, Stats
    from clew.ports import Clock, Embedder, LanguageModel, Store, Tx
    from clew.recall import context as contexts
    from clew.recall import corpus, ranker, why, xray
    from clew.recall import graph as through
    from clew.recall import graphs as walking
    from clew.recall import recall as recalling
    from clew.recall import snapshot as snapshots
    from clew.recall.context import Context
    from clew.recall.snapshot import Snapshot
    from clew.recall.why import Explanation
    from clew.recall.xray import Xray
    from clew.relate import background, checkup, decay, embed, reindex, upkeep, worker
    from clew.relate import llm as asking
    from clew.relate import spend as spending
    from clew.relate.background import BackgroundUpkeep
    from clew.relate.reindex import ReindexReport
    from clew.relate.upkeep import Looks
    from clew.relate.worker import BackgroundJobs, JobRunner
    from clew.remember import edit, forget, portable, prepare
    from clew.remember import graph as mapping
    from clew.remember import link as linking
    from clew.remember import observe as observing
    from clew.remember import remember as remembering
    from clew.remember.forget import Preview, Receipt
    from clew.remember.imported import ImportReport
    from clew.remember.link import Linked
    from clew.remember.portable import ExportReport
    from clew.rollout import meter as metering
    from clew.rollout import state as rolling
    from clew.rollout import upkeep as judging
    from clew.rollout.standing import Standing
    from clew.settings import Settings
    from clew.verbs import powers
    from clew.verbs import report as reporting
else:
    # A recall in a fresh process needs a third of this: docs/performance.md.
    contexts, corpus, recalling, through, walking, why = (
        LazyModule(f"clew.recall.{name}") for name in ("context", "corpus", "recall", "graph", "graphs", "why")
    )
    ranker, snapshots, xray = (LazyModule(f"clew.recall.{name}") for name in ("ranker", "snapshot", "xray"))
    background, checkup, embed, reindex, worker = (
        LazyModule(f"clew.relate.{name}") for name in ("background", "checkup", "embed", "reindex", "worker")
    )
    decay, linking, upkeep = (
        LazyModule(f"clew.{name}") for name in ("relate.decay", "remember.link", "relate.upkeep")
    )
    edit, forget, portable, prepare, remembering = (
        LazyModule(f"clew.remember.{name}") for name in ("edit", "forget", "portable", "prepare", "remember")
    )
    auditing, quarantined = LazyModule("clew.guard.audit"), LazyModule("clew.guard.quarantine")
    host_checkup, reporting = LazyModule("clew.hosts.checkup"), LazyModule("clew.verbs.report")
    powers = LazyModule("clew.verbs.powers")
    mapping, observing = LazyModule("clew.remember.graph"), LazyModule("clew.remember.observe")
    asking, spending = LazyModule("clew.relate.llm"), LazyModule("clew.relate.spend")
    judging, metering, rolling = (LazyModule(f"clew.rollout.{name}") for name in ("upkeep", "meter", "state"))
    added_policies, doors, enforcing, stored_rights = (
        LazyModule(f"clew.guard.{name}") for name in ("added", "doors", "pep", "stored")
    )


@checked
class Clew(Topics):
    """Memory for coding agents. Thread-safe; use as a context manager, or call `close()`."""

    def __init__(
        self,
        *,
        store: Store,
        make_embedder: Callable[[], Embedder | None],
        clock: Clock,
        settings: Settings,
        in_background: bool = True,
        make_llm: Callable[[], LanguageModel | None] | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings
        self._make_embedder = make_embedder
        self._make_llm = make_llm or (lambda: None)
        self._in_background = in_background
        self._courtesy = Courtesy()  # of what works in the background towards those who ask

    # -- remember ----------------------------------------------------------------------------------

    @takes(Draft)
    def remember(
        self,
        content: str | Draft,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        **fields: Any,
    ) -> Remembered:
        """Store one memory; durable when it returns."""
        draft = replace(content, **fields) if isinstance(content, Draft) else Draft(content=content, **fields)
        [stored] = self.remember_many([draft], scope=scope, identity=identity)
        return remembering.stored(stored)

    def remember_many(
        self, drafts: Iterable[Draft], *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Iterator[Remembered]:
        """Store many in batches; what was yielded is durable. Nothing happens until it is iterated. What cannot be
        stored beside what its writer may not see is `refused`, alone of its batch."""
        return self._write(map(observing.refuse_reserved, drafts), scope=scope, identity=identity)

    def observe(
        self, call: ToolCall, *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Remembered:
        """Record a call of a local tool in our own words; shown as observed wherever it is injected."""
        [stored] = self._write([observing.draft_of_call(call)], scope=scope, identity=identity)
        return replace(
            remembering.stored(stored), masked=tuple(sorted({*stored.masked, *observing.secrets_in(call)}))
        )

    def _write(
        self, drafts: Iterable[Draft], *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Iterator[Remembered]:
        scope = self._scope(scope, identity)
        door = self._doors.door(identity, scope)
        storing = remembering.remember(
            door.signed(drafts),
            scope,
            store=self.store,
            embedder=self._near_embedder,
            clock=self.clock,
            policy=self._policy,
            graph=self._graph_policy,
            trust=(identity or Identity()).trust,
            actor=(identity or Identity()).actor,
            check=door.check_new if door.pep else None,
            may=door.asked,
            may_configure=door.may_lower,
        )
        is_left = False
        try:
            for stored in storing:
                is_left = True
                yield stored
            is_left = False
        finally:  # whoever stops early, or fails in a later batch, has stored what came before
            self._jobs_are_waiting()
            if is_left and self._in_background:
                self.background_upkeep.start()
        if self._looks.after_write(self._look_after_graph, self.clock.now()) and self._in_background:
            self.background_upkeep.start()

    def link(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> Linked:
        """State an edge yourself, between memories (by id) and things (by name); it stays until `unlink`."""
        reach, who = self._reach_of_id(scope, identity), identity or Identity()
        door = self._doors.door(identity, scope)
        self._graph_policy.check_write()
        door.check_place()
        if who.trust != "user":
            quarantined.refuse_suspicious((source, relation, target), "what is to be linked")
        link = partial(linking.link, source=source, relation=relation, target=target, now=self.clock.now())
        return self.store.write(lambda tx: link(tx, door.exact(tx, reach), may=door.asked, actor=who.actor))

    def unlink(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> Linked:
        """Take back what `link` stated; what memories state stays."""
        reach, policy, who = self._reach_of_id(scope, identity), self._graph_policy, identity or Identity()
        door = self._doors.door(identity, scope)
        policy.check_write()
        door.check_place()
        unlink = partial(linking.unlink, source=source, relation=relation, target=target, policy=policy)
        unlink = partial(unlink, may=door.asked, actor=who.actor)
        # As of when it is written, as an edit.
        return self.store.write(lambda tx: unlink(tx, door.exact(tx, reach), now=self.clock.now()))

    # -- recall ------------------------------------------------------------------------------------

    @takes(RecallOptions)
    def recall(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        options: RecallOptions | None = None,
        **changes: Any,
    ) -> Recalled:
        """What is known about the query, best first, with reasons and a trace."""
        recalled = self._recalled(query, scope, identity, self._options(options, changes))
        return recalled if self.settings.graph.explain else recalled.without_ways()

    def _recalled(
        self, query: str, scope: Scope | None, identity: Identity | None, options: RecallOptions
    ) -> Recalled:
        self._courtesy.asked()
        scope = self._scope(scope, identity)
        door: doors.Door | None = None

        def reach() -> Reach:
            """Not looked at when nothing is recalled."""
            nonlocal door
            door = self._doors.door(identity, scope)
            return door.narrowed(Reach.of(scope))

        with self.store.at_one_moment():
            recalled, run = recalling.recall_and_run(
                query,
                reach,
                options,
                reader=self._reader,
                now=self.clock.now(),
                refused=lambda: door.refused if door else None,
            )
        if "vectors" in recalled.trace.notes and self._in_background and self.background:
            self.background.start()
        if run is not None and self.settings.graph.snapshot:
            kept = self.settings.graph.snapshots_kept
            snapshots.keep_snapshot(recalled, run, query, directory=self._snapshots_at, kept=kept)
        if run is None or door is None:
            return recalled
        told = door.recalled(recalled)
        return (
            told
            if door.pep is None
            else replace(told, results=door.without_hidden_parents(self.store, told.results))
        )

    @takes(RecallOptions)
    def xray(
        self,
        query: str,
        *,
        budget: int | None = None,
        scope: Scope | None = None,
        identity: Identity | None = None,
        options: RecallOptions | None = None,
        **changes: Any,
    ) -> Xray:
        """A recall laid open; `budget` also tells which results fit into so many characters."""
        xray.check_request(query, budget)
        changes = {"counted": False} | changes
        recalled = self._recalled(query, scope, identity, self._options(options, changes))
        return xray.xray_of(recalled, query=query, at=self.clock.now(), budget=budget)

    @takes(RecallOptions)
    def why(
        self,
        query: str,
        expect: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        options: RecallOptions | None = None,
        **changes: Any,
    ) -> Explanation:
        """At which stage an expected memory was lost, or at which rank it was found."""
        scope = self._scope(scope, identity)
        with self.store.at_one_moment():
            door = self._doors.door(identity, scope)
            if door.pep:  # what may not be read is not explained either
                expect = self.history(expect, identity=identity)[-1].memory.id
            return why.why(
                query,
                expect,
                door.narrowed(Reach.of(scope)),
                self._reach_of_id(None, identity),
                self._options(options, changes),
                reader=self._reader,
                now=self.clock.now(),
                alone=door.has_added,
            )

    @takes(RecallOptions)
    def context(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        options: RecallOptions | None = None,
        strategy: str | None = None,
        depth: int | None = None,
        graph_limit: int | None = None,
        **changes: Any,
    ) -> Context:
        """Rules and memories about the query; with strategy `hybrid_graph`, then what the graph adds to them.
        Without a strategy, the default of the org."""
        self._courtesy.asked()
        scope = self._scope(scope, identity)
        graph = self.settings.graph
        asked = contexts.Expanding(
            strategy,
            depth=graph.expand_depth if depth is None else depth,
            limit=graph.expand_limit if graph_limit is None else graph_limit,
            is_on=graph.recall and graph.write,
        )
        with self.store.at_one_moment():
            door = self._doors.door(identity, scope)
            found = contexts.context(
                query,
                door.narrowed(Reach.of(scope)),
                self._options(options, changes),
                asked,
                reader=self._reader,
                now=self.clock.now(),
                refused=door.refused,
            )
        told = door.context(found)
        names = ("rules", "working", "long_term", "added") if door.pep else ()
        kept: dict[str, Any] = {
            name: door.without_hidden_parents(self.store, getattr(told, name)) for name in names
        }
        return replace(told, **kept)

    def last_graph_recall(self, *, identity: Identity | None = None) -> Snapshot | None:
        """What the graph did in the last recall that kept a snapshot, whoever asked: so for the operator."""
        powers.operator(self, identity, "look at what others recalled")
        if not self.settings.graph.explain_tool:
            raise Misconfigured(
                "explaining the last recall through the graph is switched off",
                code="GRAPH_EXPLAIN_OFF",
                next="set graph.explain_tool to true",
            )
        return snapshots.read_snapshot(self._snapshots_at / snapshots.LAST)

    # -- single memories ---------------------------------------------------------------------------

    def show(self, id: str, *, scope: Scope | None = None, identity: Identity | None = None) -> Memory:
        reach, door = self._reach_of_id(scope, identity), self._doors.door(identity, scope)
        with self._or_held(id, identity), self.store.read() as tx:
            found = edit.must_get(tx, reach, id, now=self.clock.now(), may=door.asked)
        [told] = door.without_hidden_parents(self.store, [found])
        return told

    @contextmanager
    def _or_held(self, id: str, identity: Identity | None) -> Iterator[None]:
        """What is not found is said to be in quarantine, to those who may review it."""
        try:
            yield
        except NotFound:
            if self.quarantine.find(id, identity=identity):
                raise quarantined.is_held(id) from None
            raise

    def list(
        self,
        wanted: Filter | None = None,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Sequence[Memory]:
        """Newest first. `cursor` is the id of the last memory of the page before."""
        check_limit(limit)
        scope = self._scope(scope, identity)
        reach = Reach.across_projects(scope) if all_projects else Reach.of(scope)
        door = self._doors.door(identity, scope)
        with self.store.read() as tx:
            find = partial(tx.memories.find, reach, wanted or Filter(), now=self.clock.now())
            if cursor is not None:
                check_cursor(cursor, "mem", is_known=partial(door.is_seen, tx, reach))
            found = door.page(lambda count, after: find(limit=count, cursor=after), limit, cursor)
        return door.without_hidden_parents(self.store, found)

    @takes(Draft)
    def edit(
        self,
        id: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        expected_version: int | None = None,
        **changes: Any,
    ) -> Memory:
        """Change fields of a memory; the state before becomes history."""
        reach, door = self._reach_of_id(scope, identity), self._doors.door(identity, scope)
        with self._or_held(id, identity), self.store.read() as tx:
            old = edit.must_get(tx, reach, id, now=self.clock.now(), may=door.asked)
        door.must("write", old, asked=id)  # first: what else is wrong would tell that it is there
        if expected_version is not None:
            old = replace(old, version=expected_version)
        trust = (identity or Identity()).trust
        policy = replace(
            self._policy,
            may_lower="classification" in changes and door.may_lower(),
            may_weigh=not _is_heavier(changes.get("weight", old.weight), old) or door.may_lower(),
        )
        new, _masked = edit.edited(old, changes, now=self.clock.now(), policy=policy, trust=trust)
        door.check_author(old, new)
        door.must_write(old, new)
        return self._put(old, new, "edited", door)

    def history(
        self, id: str, *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Sequence[Version]:
        """Every state that may be read, oldest first; the last one is the present."""
        reach, door = self._reach_of_id(scope, identity), self._doors.door(identity, scope)
        with self._or_held(id, identity), self.store.read() as tx:
            memory = edit.must_get(tx, reach, id, deleted=True, may=door.asked)
            versions = tx.memories.versions(memory)
        kept = door.readable(versions, lambda version: edit.as_held_by(memory, version))
        return door.without_hidden_parents(self.store, kept)

    def revert(
        self,
        id: str,
        version: int,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        expected_version: int | None = None,
    ) -> Memory:
        """Make an earlier state the present one; also brings back what was softly forgotten."""
        reach, door = self._reach_of_id(scope, identity), self._doors.door(identity, scope)
        with self._or_held(id, identity), self.store.read() as tx:
            old = edit.must_get(tx, reach, id, deleted=True, may=door.asked)
            target = edit.version_of(tx, old, version)
        door.must("read", edit.as_held_by(old, target))
        if expected_version is not None:
            old = replace(old, version=expected_version)
        new = edit.reverted(old, target, self.clock.now())
        door.must_write(old, new)
        return self._put(old, new, "reverted", door)

    def _put(self, old: Memory, new: Memory, change: str, door: doors.Door) -> Memory:
        indexed = None
        if edit.text_changed(old, new) or old.deleted_at is not None:
            text = prepare.embedding_text(new.title, new.content)
            [(vector, space)] = embed.pack_vectors(self._near_embedder, [text])
            indexed = prepare.index_terms(new, vector, space)
        apply = partial(edit.apply_edit, old=old, indexed=indexed, change=change, graph=self._graph_policy)
        apply = partial(apply, may=door.asked, actor=door.identity.actor)
        # As of when it is written: what was put on a queue while this was made says what was so before.
        stored = self.store.write(lambda tx: apply(tx, new=replace(new, updated_at=self.clock.now())))
        self._jobs_are_waiting()
        [told] = door.without_hidden_parents(self.store, [stored])
        return told

    # -- forget ------------------------------------------------------------------------------------

    def forget(
        self,
        id: str,
        *,
        hard: bool = False,
        scope: Scope | None = None,
        identity: Identity | None = None,
        expected_version: int | None = None,
    ) -> Receipt:
        """Soft: out of every answer, history kept. Hard: no trace of the text is left in the store."""
        identity = identity or Identity()
        reach, door = self._reach_of_id(scope, identity), self._doors.door(identity, scope)
        with self._or_held(id, identity), self.store.read() as tx:
            memory = edit.must_get(tx, reach, id, deleted=hard, may=door.asked)
        door.must("delete", memory, asked=id)
        return forget.forget(
            self.store,
            [memory],
            hard=hard,
            now=self.clock.now(),
            actor=identity.actor,
            expected_version=expected_version,
        )

    def forget_many(
        self,
        wanted: Filter | None = None,
        *,
        everything: bool = False,
        hard: bool = False,
        dry_run: bool = False,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
    ) -> Receipt | Preview:
        """Forget what a filter matches in exactly this project and user; `dry_run` only tells. What was changed
        since the filter matched it stays, and the receipt names it."""
        identity = identity or Identity()
        scope = self._scope(scope, identity)
        reach = Reach.across_projects(scope) if all_projects else Reach.place(scope)
        door = self._doors.door(identity, scope)
        door.check_action("delete")
        with self.store.read() as tx:
            found = forget.matching(
                tx, reach, wanted or Filter(), everything=everything, hard=hard, now=self.clock.now()
            )
        found = door.readable(found, lambda memory: memory)
        door.must("delete", *found)
        if dry_run:
            return forget.preview(found)
        return forget.forget(
            self.store, found, hard=hard, now=self.clock.now(), actor=identity.actor, keep_changed=True
        )

    # -- in and out --------------------------------------------------------------------------------

    def export(
        self,
        file: TextIO,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        progress: Progress = no_progress,
    ) -> ExportReport:
        """Write every memory as JSON Lines: for the owner the whole org, unless a scope narrows it.

        Then it is what belongs to its project, or to any with `all_projects`, and to its user: where it names none,
        what all share and the caller's own.
        """
        portable.check_open(file)
        identity = identity or Identity()
        reach = self._reach_of_id(scope, identity)
        if scope is not None:
            reach = Reach.belonging(scope, own=identity.user, all_projects=all_projects)
        door = self._doors.door(identity, scope)
        door.check_action("export")
        now = self.clock.now()
        note = partial(auditing.note_export, self.store, reach, kind="memory", door=door, now=now)
        with self.store.read() as tx:
            may = door.may_each("read", "export")
            return portable.export_memories(tx, reach, file, progress=progress, note=note, may=may)

    def import_file(
        self,
        path: str | PathLike[str],
        *,
        scope: Scope | None = None,
        notes_project: str | None = None,
        around: Around | None = None,
        identity: Identity | None = None,
        replace: bool = False,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Bring in an export, notes such as CLAUDE.md, or transcripts; running it again adds nothing.

        An export knows its projects and the others do not: `scope` replaces those of each, `notes_project` is for
        notes and transcripts. With `around`, only sessions that began there are taken of transcripts, and of notes
        that lie there it is told what an earlier import brought and they say no more; `replace` forgets that.
        """
        identity = identity or Identity()
        door = self._doors.door(identity, scope)
        door.check_action("import")
        target = portable.Target(
            store=self.store,
            write=self._write,  # an export of our own may hold what was observed
            policy=self._policy,
            may_weigh=door.may_lower(),
            may_sign=door.may_sign,
            now=self.clock.now(),
            identity=identity,
            scope=scope and self._scope(scope, identity),
            notes_project=notes_project,
            around=around,
            replace=replace,
            dry_run=dry_run,
            may_read=door.may_each("read"),
            forget=partial(self.forget, identity=identity),
        )
        return portable.import_file(path, target, progress=progress)

    def backup(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        identity: Identity | None = None,
        progress: Progress = no_progress,
    ) -> BackupReport:
        """Copy the whole store, all orgs and history included, while it is in use. For its operator."""
        powers.operator(self, identity, "copy the whole store")
        return self.store.backup(path, overwrite=overwrite, progress=progress)

    # -- upkeep ------------------------------------------------------------------------------------

    def stats(self, *, identity: Identity | None = None) -> Stats:
        """How much there is of what, among what may be read unless the owner asks, and what it takes on the disk:
        that is for the store's operator."""
        space, who = self.embedder.space.key if self.embedder else "", identity or Identity()
        reach = self._reach_of_id(None, identity)
        if "owner" not in who.roles or who.agent:
            with self.store.read() as tx:
                reach = self._doors.door(identity, None).exact(tx, reach)
        found = self.store.stats(reach, space)
        return found if who.runs_the_store else found.without_file()

    def report(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        identity: Identity | None = None,
    ) -> WorkReport:
        """What Clew did, over a week unless told otherwise: sessions, pushes, receipts, tokens, captures."""
        return reporting.report(self, since=since, until=until, project=project, identity=identity)

    def doctor(self, *, identity: Identity | None = None) -> Sequence[Check]:
        """Look at everything that can break; each finding names its remedy. For the store's operator."""
        (identity or Identity()).check_operator()
        checks = self.store.checks(self.clock.now())
        for check in (
            checkup.check_analyser,
            checkup.check_compiled,
            checkup.check_erasing,
            checkup.check_graph,
            checkup.check_decay,
            checkup.check_jobs,
            partial(checkup.check_sessions, now=self.clock.now()),
            checkup.check_audit,
            added_policies.check_policies,
            partial(host_checkup.check_hooks, org=(identity or Identity()).org, now=self.clock.now()),
            partial(checkup.check_embedder, self._make_embedder),
            partial(checkup.check_llm, self._make_llm),
        ):
            checks += checkup.attempt(check, self.store)
        return checks

    def reindex(self, progress: Progress = no_progress, *, identity: Identity | None = None) -> ReindexReport:
        """Make terms, full text and missing vectors anew, for all orgs. For the store's operator."""
        powers.operator(self, identity, "make the indices anew")
        graph = self._graph_policy
        return reindex.reindex(self.store, self.embedder, graph=graph, clock=self.clock, progress=progress)

    @made_once
    def background(self) -> background.BackgroundEmbedding | None:
        """Fills in missing vectors while this process lives; `done` of `total` tells how far it is."""
        if self.embedder is None:
            return None
        return background.BackgroundEmbedding(self.store, self.embedder, self._backfill_policy)

    @made_once
    def background_upkeep(self) -> BackgroundUpkeep:
        """Goes on with what the portion after a write left of the graph's upkeep."""
        return background.BackgroundUpkeep(self._look_after_graph)

    @made_once
    def background_jobs(self) -> BackgroundJobs:
        """Does what writes left behind while this process lives."""
        whole = ref(self)  # a Clew that was let go without being closed is not kept alive by its own jobs

        def runner() -> JobRunner:
            if (clew := whole()) is None:
                raise Unavailable("the store is closed", code="STORE_CLOSED", next="open it again")
            return clew.jobs.runner()

        return worker.BackgroundJobs(runner, is_wanted=lambda: whole() is not None)

    def _jobs_are_waiting(self) -> None:
        if self._in_background and self.settings.relate.in_process:
            self.background_jobs.nudge()

    def resume_jobs(self) -> None:
        """Go on with what an earlier process left behind, if there is anything: one look into an index."""
        with self.store.read() as tx:
            is_waiting = tx.jobs.next_due_s() is not None
        if is_waiting:
            self._jobs_are_waiting()

    @made_once
    def _looks(self) -> Looks:
        return upkeep.Looks(self.store)

    def _look_after_graph(self) -> bool:
        return upkeep.upkeep(self.store, self._graph_policy, self._decay_policy, self.clock.now())

    def close(self) -> None:
        self._in_background = False  # what is let go of from now on begins nothing
        if "background" in self.__dict__ and self.background:
            self.background.stop()
        if "background_upkeep" in self.__dict__:
            self.background_upkeep.stop()
        if "background_jobs" in self.__dict__:
            self.background_jobs.stop()
        if "hosts" in self.__dict__:
            self.hosts.close()
        if "inject" in self.__dict__:
            self.inject.close()
        if "_meter" in self.__dict__:
            self._meter.close()
        if "_denials" in self.__dict__:
            self._denials.close()
        self.store.close()
        if "_reader" in self.__dict__:
            self._reader.graphs.close()

    def __enter__(self) -> Clew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- parts, made when first needed ---------------------------------------------------------------

    @made_once
    def embedder(self) -> Embedder | None:
        """None when vectors are switched off, or when the model cannot be had: words do without it."""
        try:
            return self._make_embedder()
        except ClewError as error:
            import logging

            message = "no vectors: %s [%s]. Next: %s"
            logging.getLogger(__name__).warning(message, error.message, error.code, error.next)
            return None

    @property
    def _near_embedder(self) -> Embedder | None:
        """For the write path: one behind a network is not waited for, its vectors come with the jobs."""
        return None if self.embedder is None or self.embedder.is_remote else self.embedder

    @made_once
    def _asked_embedder(self) -> Embedder | None:
        """For questions, whose answer somebody waits for."""
        if self.embedder is None or not self.embedder.is_remote:
            return self.embedder
        from clew.recall.rested import Rested

        return Rested(self.embedder)

    @made_once
    def _stored_rights(self) -> stored_rights.StoredRights:
        return stored_rights.StoredRights(self.store)

    @made_once
    def _pep(self) -> enforcing.Pep:
        """Decides by the shipped policies and those of the org; brings Cedar along. Refuses to start with a
        shipped set that is not valid."""
        pep = enforcing.Pep(self._stored_rights.policies, rights_of=self._rights, on_denial=self._denials.add)
        pep.start()
        return pep

    @made_once
    def _denials(self) -> auditing.Denials:
        return auditing.Denials(self.store, self.clock.now)

    def _rights(self, org: str, agent: str) -> AgentRights:
        return self._stored_rights.rights(org, agent)

    @made_once
    def _doors(self) -> doors.Doors:
        return doors.Doors(self._stored_rights, lambda: self._pep)

    @made_once
    def _policy(self) -> prepare.WritePolicy:
        remember = self.settings.remember
        return prepare.WritePolicy(
            max_chars=remember.max_chars,
            working_ttl_hours=remember.working_ttl_hours,
            working_max=remember.working_max,
            strict_token_rule=remember.strict_token_rule,
        )

    @made_once
    def _graph_policy(self) -> mapping.GraphPolicy:
        graph = self.settings.graph
        names = mapping.GraphPolicy.__slots__
        return mapping.GraphPolicy(**{name: getattr(graph, name) for name in names})

    @made_once
    def _backfill_policy(self) -> embed.BackfillPolicy:
        relate = self.settings.relate
        return embed.BackfillPolicy(batch=relate.backfill_batch, pause_ms=relate.backfill_pause_ms)

    @made_once
    def _decay_policy(self) -> decay.DecayPolicy:
        graph = self.settings.graph
        names = decay.DecayPolicy.__slots__
        return decay.DecayPolicy(**{name: getattr(graph, name) for name in names})

    @made_once
    def _llm_relations(self) -> asking.LlmRelations | None:
        """None while no language model is wanted; one that cannot be had says so in each job."""
        llm = self.settings.llm
        if not llm.enabled:
            return None
        names = [name for name in asking.LlmPolicy.__slots__ if name != "patience_s"]
        limits = {name: getattr(llm, name) for name in names}
        policy = asking.LlmPolicy(**limits, patience_s=self.settings.relate.lease_s / 2)
        return asking.LlmRelations(self._make_llm, policy, self._spend, now=self.clock.now)

    @made_once
    def _spend(self) -> spending.Spend:
        llm = self.settings.llm
        prices = spending.SpendPolicy(**{name: getattr(llm, name) for name in spending.SpendPolicy.__slots__})
        return spending.Spend(self.store, prices, now=self.clock.now)

    @made_once
    def _reader(self) -> recalling.Reader:
        space = self.embedder.space if self.embedder else None
        corpora = corpus.Corpora(self.store, space=space, max_bytes=self.settings.recall.read_model_mb << 20)
        recall, graph, rank = self.settings.recall, self.settings.graph, self.settings.rank
        names = through.GraphOptions.__slots__
        return recalling.Reader(
            self.store,
            corpora,
            self._asked_embedder,
            walking.Graphs(self.store, max_bytes=recall.read_model_mb << 20, in_background=self._in_background),
            rules_limit=recall.rules_limit,
            minimal_limit=recall.minimal_limit,
            planner=graph.planner,
            broad_intent=graph.broad_intent,
            graph=through.GraphOptions(**{name: getattr(graph, name) for name in names}),
            rank=ranker.RankOptions(**{name: getattr(rank, name) for name in ranker.RankOptions.__slots__}),
            standing=self._standing,
            count=self._meter.count,
        )

    def _standing(self, reach: Reach, now: datetime) -> Standing:
        """How far the graph is rolled out for a reach."""
        project = (reach.projects[-1] or None) if reach.projects else None
        return self._rollout_state.of(reach.org, project=project, now=now)

    @made_once
    def _rollout_state(self) -> rolling.RolloutState:
        return rolling.RolloutState(self.store, window_hours=self.settings.rollout.window_hours)

    @made_once
    def _rollout_policy(self) -> judging.RolloutPolicy:
        rollout, graph = self.settings.rollout, self.settings.graph
        return judging.RolloutPolicy(
            window_hours=rollout.window_hours,
            keep_days=rollout.keep_days,
            autopilot=rollout.autopilot,
            strategy_autopilot=rollout.strategy_autopilot,
            is_on=graph.write and graph.recall,
        )

    @made_once
    def _meter(self) -> metering.Meter:
        def look_after(tx: Tx, org: str, now: datetime) -> None:
            judging.look_after(tx, org, self._rollout_policy, now=now)

        rest_s = self._courtesy.rest_s if self._in_background else float  # a process that ends soon rests for 0.0 s
        return metering.Meter(self.store, look_after, rest_s=rest_s)

    def _options(self, options: RecallOptions | None, changes: dict[str, Any]) -> RecallOptions:
        if options is not None:
            return replace(options, **changes) if changes else options
        recall = self.settings.recall
        given: dict[str, Any] = {"limit": recall.limit, "floor": recall.floor, "retrieval": recall.retrieval}
        return RecallOptions(**given | changes)

    def _scope(self, scope: Scope | None, identity: Identity | None) -> Scope:
        identity = identity or OWNER
        scope = Scope(org=identity.org, user=identity.user) if scope is None else scope
        identity.check(scope)
        return scope

    def _reach_of_id(self, scope: Scope | None, identity: Identity | None) -> Reach:
        """An id is looked up in the whole org unless a scope narrows it; other users' stay hidden."""
        identity = identity or Identity()
        if isinstance(scope, AcrossProjects):
            return Reach.across_projects(self._scope(scope, identity))
        if scope is not None:
            return Reach.of(self._scope(scope, identity))
        if "owner" in identity.roles:
            return Reach.everything(identity.org)
        return Reach.across_projects(Scope(org=identity.org, user=identity.user))

    @property
    def home(self) -> Path:
        return self.settings.home

    @property
    def _snapshots_at(self) -> Path:
        return self.home / "state" / "graph"

    def now(self) -> datetime:
        return self.clock.now()


def _is_heavier(weight: Any, old: Memory) -> bool:
    """Than it is: what weighs that much already may be given back as it was read."""
    return not isinstance(weight, int | float) or weight > old.weight
