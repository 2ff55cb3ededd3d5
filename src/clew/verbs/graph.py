"""The verbs about the graph, as `clew.graph.neighbors(...)`: one method each, which hands over to a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from clew.errors import Misconfigured
from clew.lazy import LazyModule
from clew.model.kinds import checked
from clew.model.limit import check_limit
from clew.model.progress import Progress, no_progress
from clew.model.scope import Identity, Reach
from clew.model.times import zoned
from clew.verbs import powers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from os import PathLike
    from typing import TextIO

    from clew.clew import Clew
    from clew.graph import case as cases
    from clew.guard import audit as auditing
    from clew.model.explored import Explored, Facts, FoundPath, GraphStatus, Neighborhood
    from clew.model.listed import GraphChanges, GraphListed
    from clew.model.scope import Scope
    from clew.recall import explore as exploring
    from clew.recall import graph_status as counting
    from clew.recall import listed as listing
    from clew.recall import named
    from clew.recall import path as connecting
    from clew.recall import recall as recalling
    from clew.recall import triplets as telling
    from clew.relate import decay as decaying
    from clew.relate import edges_file
    from clew.remember.portable import ExportReport
else:
    cases, auditing = LazyModule("clew.graph.case"), LazyModule("clew.guard.audit")
    exploring, counting, listing, named, connecting, recalling, telling = (
        LazyModule(f"clew.recall.{name}")
        for name in ("explore", "graph_status", "listed", "named", "path", "recall", "triplets")
    )
    decaying, edges_file = LazyModule("clew.relate.decay"), LazyModule("clew.relate.edges_file")


@checked
class GraphVerbs:
    """Who asks, in which scope, is the business of the Clew it belongs to."""

    __slots__ = ("_clew",)

    def __init__(self, clew: Clew) -> None:
        self._clew = clew

    # -- reading -----------------------------------------------------------------------------------

    def status(self, *, scope: Scope | None = None, identity: Identity | None = None, top: int = 10) -> GraphStatus:
        """How much there is, what is pending, what went wrong; for the owner the whole org."""
        with self._view(self._reach_of_id(scope, identity), scope, identity) as view:
            return counting.graph_status(view, self.flags, top=top)

    @property
    def flags(self) -> dict[str, bool]:
        """The switches of this installation, by their documented names."""
        settings = self._clew.settings
        return {
            "mappingEnabled": settings.graph.write,
            "retrievalEnabled": settings.graph.recall,
            "llmExtractionEnabled": settings.llm.enabled,
        }

    def neighbors(
        self,
        node: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        limit: int = 20,
        edge_type: str | None = None,
        depth: int = 1,
    ) -> Neighborhood:
        """What is next to a node, and which memories say so."""
        with self._view(self._reach(scope, identity, all_projects), scope, identity) as view:
            return exploring.neighbors(view, node, limit=limit, edge_type=edge_type or "", depth=depth)

    def path(
        self,
        start: str,
        goal: str,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        max_hops: int = 4,
    ) -> FoundPath:
        """The shortest and, among these, surest way between two nodes."""
        with self._view(self._reach(scope, identity, all_projects), scope, identity) as view:
            return connecting.path(view, start, goal, max_hops=max_hops)

    def explore(
        self,
        node: str | None = None,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        limit: int = 20,
    ) -> Explored:
        """The nodes on which most hangs, or the edges and memories of one of them."""
        with self._view(self._reach(scope, identity, all_projects), scope, identity) as view:
            return exploring.explore(view, node, limit=limit)

    def triplets(
        self,
        query: str | None = None,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        limit: int = 10,
    ) -> Facts:
        """Facts that matter to a question; without one, the surest."""
        reach = self._reach(scope, identity, all_projects)
        found = self._recalled(query, reach) if query is not None else []
        with self._view(reach, scope, identity) as view:
            return telling.triplets(view, query, found, limit=limit)

    def edges(
        self,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        all_projects: bool = False,
        limit: int = 500,
        focus: str | None = None,
        categories: Sequence[str] | None = None,
        since: datetime | None = None,
    ) -> GraphListed:
        """The graph as a list, newest edges first: of one node, between nodes of some kinds, since a moment."""
        since = zoned("since", since)
        with self._view(self._reach(scope, identity, all_projects), scope, identity) as view:
            return listing.edges_listed(view, limit=limit, focus=focus, categories=categories, since=since)

    def changes(
        self,
        after: int | None = None,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        limit: int = 500,
    ) -> GraphChanges:
        """What changed since a number of the change log, as ids of what may be seen; without one, where it ends."""
        check_limit(limit)
        who, place = identity or Identity(), self._clew._reach_of_id(scope, identity)
        with self._clew.store.read() as tx:
            if nothing := listing.nothing_new(tx, place.org, after):
                return nothing
        door, reach = self._clew._doors.door(identity, scope), self._reach_of_id(scope, identity)
        is_owner = door.pep is None and reach == Reach.everything(who.org)
        with self._view(reach, scope, identity) as view:
            return listing.changes_since(
                view, after, limit=limit, may_read=lambda found: door.may("read", found), is_owner=is_owner
            )

    @staticmethod
    def activate(case: Mapping[str, object]) -> list[dict[str, object]]:
        """Run one activation that is written down in a file. Needs no store."""
        return cases.activate_case(case)

    # -- upkeep ------------------------------------------------------------------------------------

    def decay(self, *, dry_run: bool = False, identity: Identity | None = None) -> decaying.DecayReport:
        """Let edges that nothing reinforces lose confidence, in all orgs. For the store's operator."""
        powers.operator(self._clew, identity, "let edges of all orgs decay")
        policy, now = self._clew._decay_policy, self._clew.now()
        if dry_run:
            return decaying.preview(self._clew.store, policy, now)
        if not policy.edge_decay:
            raise Misconfigured(
                "edges do not decay here", code="EDGE_DECAY_OFF", next="set graph.edge_decay to true"
            )
        return decaying.decay(self._clew.store, policy, now)

    def export(
        self,
        file: TextIO,
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        progress: Progress = no_progress,
    ) -> ExportReport:
        """Write every edge as JSON Lines: for the owner the whole org, unless a scope narrows it."""
        door = self._clew._doors.door(identity, scope)
        door.check_action("export")
        reach, now = self._reach_of_id(scope, identity), self._clew.now()
        note = partial(auditing.note_export, self._clew.store, reach, kind="edge", door=door, now=now)
        with self._view(reach, scope, identity) as view:
            return edges_file.export_edges(view.tx, view.reach, file, now=now, progress=progress, note=note)

    def import_file(
        self,
        path: str | PathLike[str],
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> edges_file.EdgesImported:
        """Bring in edges whose memories are here and visible; running it again adds nothing."""
        store, door = self._clew.store, self._clew._doors.door(identity, scope)
        self._clew._graph_policy.check_write()
        door.check_place()
        with self._view(self._reach_of_id(scope, identity), scope, identity) as view:
            reach, now = view.reach, view.now
        giver = edges_file.Giver(reach, door.may if door.pep else None, (identity or Identity()).trust)
        return edges_file.import_edges(path, store, giver, now=now, dry_run=dry_run, progress=progress)

    def _recalled(self, query: str, reach: Reach) -> list[tuple[str, float]]:
        options = self._clew._options(None, {"limit": telling.SEED_MEMORIES, "floor": 0.0, "counted": False})
        found = recalling.recall(query, reach, options, reader=self._clew._reader, now=self._clew.now())
        return telling.recalled_seeds(found.results)

    @contextmanager
    def _view(self, reach: Reach, scope: Scope | None, identity: Identity | None) -> Iterator[named.View]:
        with self._clew.store.read() as tx:
            exact = self._clew._doors.door(identity, scope).exact(tx, reach)
            yield named.View(tx, exact, self._clew.now())

    def _reach(self, scope: Scope | None, identity: Identity | None, all_projects: bool) -> Reach:
        """Without a scope every project, but as in recall no other user's private memories."""
        asked = self._clew._scope(scope, identity)
        reach = Reach.across_projects(asked) if all_projects or scope is None else Reach.of(asked)
        return self._clew._doors.door(identity, scope).narrowed(reach)

    def _reach_of_id(self, scope: Scope | None, identity: Identity | None) -> Reach:
        reach = self._clew._reach_of_id(scope, identity)
        return self._clew._doors.door(identity, scope).narrowed(reach)
