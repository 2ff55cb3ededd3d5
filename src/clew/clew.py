"""Class Clew: one method per verb. Each checks who asks, hands over to a step, and returns its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from clew.model.memory import Draft, Filter, Memory, Remembered, Version
from clew.model.recalled import Recalled, RecallOptions
from clew.model.scope import Identity, Reach, Scope
from clew.model.upkeep import BackupReport, Check, Stats
from clew.ports import Clock, Embedder, Store
from clew.recall.corpus import Corpora
from clew.recall.recall import Reader, recall
from clew.recall.why import Explanation, why
from clew.relate.background import BackgroundEmbedding
from clew.relate.checkup import attempt, check_analyser, check_embedder, check_erasing
from clew.relate.embed import embed_missing, pack_vectors
from clew.relate.reindex import ReindexReport, reindex
from clew.remember import forget as forgetting
from clew.remember.edit import apply_edit, edited, must_get, reverted, text_changed, version_of
from clew.remember.forget import Preview, Receipt
from clew.remember.portable import (
    ExportReport,
    ImportReport,
    Progress,
    Target,
    export_memories,
    import_file,
    no_progress,
)
from clew.remember.prepare import WritePolicy, embedding_text, index_terms
from clew.remember.remember import remember
from clew.settings import Settings


class Clew:
    """Memory for coding agents. Thread-safe; use as a context manager, or call `close()`."""

    def __init__(
        self,
        *,
        store: Store,
        make_embedder: Callable[[], Embedder | None],
        clock: Clock,
        settings: Settings,
        in_background: bool = True,
    ) -> None:
        self.store = store
        self.clock = clock
        self.settings = settings
        self._make_embedder = make_embedder
        self._in_background = in_background
        self._policy = WritePolicy(
            max_chars=settings.remember.max_chars,
            working_ttl_hours=settings.remember.working_ttl_hours,
            working_max=settings.remember.working_max,
            strict_token_rule=settings.remember.strict_token_rule,
        )

    # -- remember ----------------------------------------------------------------------------------

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
        return next(iter(self.remember_many([draft], scope=scope, identity=identity)))

    def remember_many(
        self, drafts: Iterable[Draft], *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Iterator[Remembered]:
        """Store many in batches; what was yielded is durable. Nothing happens until it is iterated."""
        scope = self._scope(scope, identity)
        yield from remember(
            drafts,
            scope,
            store=self.store,
            embedder=self.embedder,
            clock=self.clock,
            policy=self._policy,
        )

    # -- recall ------------------------------------------------------------------------------------

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
        scope = self._scope(scope, identity)
        recalled = recall(
            query,
            Reach.of(scope),
            self._options(options, changes),
            reader=self._reader,
            now=self.clock.now(),
        )
        if "vectors" in recalled.trace.notes and self._in_background and self.background:
            self.background.start()
        return recalled

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
        return why(
            query,
            expect,
            scope,
            self._options(options, changes),
            reader=self._reader,
            now=self.clock.now(),
        )

    # -- single memories ---------------------------------------------------------------------------

    def show(self, id: str, *, scope: Scope | None = None, identity: Identity | None = None) -> Memory:
        with self.store.read() as tx:
            return must_get(tx, self._reach_of_id(scope, identity), id, now=self.clock.now())

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
        scope = self._scope(scope, identity)
        reach = Reach.across_projects(scope) if all_projects else Reach.of(scope)
        with self.store.read() as tx:
            return tx.memories.find(reach, wanted or Filter(), now=self.clock.now(), limit=limit, cursor=cursor)

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
        reach = self._reach_of_id(scope, identity)
        with self.store.read() as tx:
            old = must_get(tx, reach, id, now=self.clock.now())
        if expected_version is not None:
            old = replace(old, version=expected_version)
        new, _masked = edited(old, changes, now=self.clock.now(), policy=self._policy)
        return self._put(old, new, "edited")

    def history(
        self, id: str, *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Sequence[Version]:
        """Every state, oldest first; the last one is the present."""
        with self.store.read() as tx:
            memory = must_get(tx, self._reach_of_id(scope, identity), id, deleted=True)
            return tx.memories.versions(memory)

    def revert(
        self, id: str, version: int, *, scope: Scope | None = None, identity: Identity | None = None
    ) -> Memory:
        """Make an earlier state the present one; also brings back what was softly forgotten."""
        with self.store.read() as tx:
            old = must_get(tx, self._reach_of_id(scope, identity), id, deleted=True)
            target = version_of(tx, old, version)
        return self._put(old, reverted(old, target, self.clock.now()), "reverted")

    def _put(self, old: Memory, new: Memory, change: str) -> Memory:
        indexed = None
        if text_changed(old, new) or old.deleted_at is not None:
            [(vector, space)] = pack_vectors(self.embedder, [embedding_text(new.title, new.content)])
            indexed = replace(index_terms(new), vector=vector, space=space)
        return self.store.write(partial(apply_edit, old=old, new=new, indexed=indexed, change=change))

    # -- forget ------------------------------------------------------------------------------------

    def forget(
        self, id: str, *, hard: bool = False, scope: Scope | None = None, identity: Identity | None = None
    ) -> Receipt:
        """Soft: out of every answer, history kept. Hard: no trace of the text is left in the store."""
        identity = identity or Identity()
        with self.store.read() as tx:
            memory = must_get(tx, self._reach_of_id(scope, identity), id, deleted=hard)
        return forgetting.forget(
            self.store,
            [memory],
            hard=hard,
            now=self.clock.now(),
            actor=identity.user or identity.agent or "owner",
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
        """Forget what a filter matches in exactly this project and user; `dry_run` only tells."""
        identity = identity or Identity()
        scope = self._scope(scope, identity)
        reach = Reach.across_projects(scope) if all_projects else Reach.place(scope)
        with self.store.read() as tx:
            found = forgetting.matching(
                tx, reach, wanted or Filter(), everything=everything, hard=hard, now=self.clock.now()
            )
        if dry_run:
            return forgetting.preview(found)
        actor = identity.user or identity.agent or "owner"
        return forgetting.forget(self.store, found, hard=hard, now=self.clock.now(), actor=actor)

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
        """Write every memory as JSON Lines: for the owner the whole org, unless a scope narrows it."""
        reach = self._reach_of_id(scope, identity)
        if scope is not None and all_projects:
            reach = Reach.across_projects(scope)
        with self.store.read() as tx:
            return export_memories(tx, reach, file, progress=progress)

    def import_file(
        self,
        path: Path,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Bring in an export, or notes such as CLAUDE.md; running it again adds nothing."""
        identity = identity or Identity()
        target = Target(
            store=self.store,
            write=self.remember_many,
            policy=self._policy,
            now=self.clock.now(),
            identity=identity,
            scope=scope and self._scope(scope, identity),
            dry_run=dry_run,
        )
        return import_file(path, target, progress=progress)

    def backup(self, path: Path, *, overwrite: bool = False, progress: Progress = no_progress) -> BackupReport:
        """Copy the whole store, all orgs and history included, while it is in use."""
        return self.store.backup(path, overwrite=overwrite, progress=progress)

    # -- upkeep ------------------------------------------------------------------------------------

    def stats(self, *, identity: Identity | None = None) -> Stats:
        """How much there is of what, and what it takes on the disk."""
        return self.store.stats(self._reach_of_id(None, identity), self.embedder.space.key if self.embedder else "")

    def doctor(self) -> Sequence[Check]:
        """Look at everything that can break; each finding names its remedy."""
        checks = self.store.checks(self.clock.now())
        for check in (check_analyser, check_erasing, partial(check_embedder, self._make_embedder)):
            checks += attempt(check, self.store)
        return checks

    def reindex(self, progress: Progress = no_progress) -> ReindexReport:
        """Make terms, full text and missing vectors anew with the present analyser and embedder."""
        return reindex(self.store, self.embedder, progress=progress)

    def embed_missing(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Make the vectors that are missing in the present model's space."""
        return embed_missing(self.store, self.embedder, progress=progress) if self.embedder else 0

    @cached_property
    def background(self) -> BackgroundEmbedding | None:
        """Fills in missing vectors while this process lives; `done` of `total` tells how far it is."""
        return BackgroundEmbedding(self.store, self.embedder) if self.embedder else None

    def close(self) -> None:
        if "background" in self.__dict__ and self.background:
            self.background.stop()
        self.store.close()

    def __enter__(self) -> Clew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- parts, made when first needed ---------------------------------------------------------------

    @cached_property
    def embedder(self) -> Embedder | None:
        return self._make_embedder()

    @cached_property
    def _reader(self) -> Reader:
        space = self.embedder.space if self.embedder else None
        corpora = Corpora(self.store, space=space, max_bytes=self.settings.recall.read_model_mb << 20)
        return Reader(self.store, corpora, self.embedder, rules_limit=self.settings.recall.rules_limit)

    def _options(self, options: RecallOptions | None, changes: dict[str, Any]) -> RecallOptions:
        given = options or RecallOptions(
            limit=self.settings.recall.limit,
            floor=self.settings.recall.floor,
            retrieval=self.settings.recall.retrieval,
        )
        return replace(given, **changes)

    def _scope(self, scope: Scope | None, identity: Identity | None) -> Scope:
        identity = identity or Identity()
        scope = scope or Scope(org=identity.org, user=identity.user)
        identity.check(scope)
        return scope

    def _reach_of_id(self, scope: Scope | None, identity: Identity | None) -> Reach:
        """An id is looked up in the whole org unless a scope narrows it; other users' stay hidden."""
        identity = identity or Identity()
        if scope is not None:
            return Reach.of(self._scope(scope, identity))
        if "owner" in identity.roles:
            return Reach.everything(identity.org)
        return Reach.across_projects(Scope(org=identity.org, user=identity.user))

    @property
    def home(self) -> Path:
        return self.settings.home

    def now(self) -> datetime:
        return self.clock.now()
