"""The store: transactions over one engine. Steps get a `Tx` and never see a connection."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from clew.errors import InvalidInput
from clew.lazy import LazyModule
from clew.model.scope import Reach
from clew.store.graph import GraphTable
from clew.store.index import IndexTable
from clew.store.ledger import Audit, ChangeLog, Leases, Meta
from clew.store.memories import MemoryTable
from clew.store.session import Engine, Session

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

    from clew.model.upkeep import BackupReport, Check, Stats
    from clew.ports import Joining
    from clew.store import backup, edges, graph_explore, postgres_upkeep, sqlite, upkeep
    from clew.store import config as config_table
    from clew.store import conflicts as conflict_table
    from clew.store import guarding as guard_table
    from clew.store import hosts as host_table
    from clew.store import injections as injection_table
    from clew.store import injects as inject_table
    from clew.store import jobs as job_table
    from clew.store import keys as key_table
    from clew.store import learning as learning_table
    from clew.store import orgs as org_table
    from clew.store import report as report_table
    from clew.store import rollout as rollout_table
    from clew.store import serving as serving_table
    from clew.store import sessions as session_table
    from clew.store import spend as spend_table
    from clew.store import transfers as transfer_table
else:
    backup, edges, graph_explore, upkeep = (
        LazyModule(f"clew.store.{name}") for name in ("backup", "edges", "graph_explore", "upkeep")
    )
    postgres_upkeep, sqlite = LazyModule("clew.store.postgres_upkeep"), LazyModule("clew.store.sqlite")
    config_table, guard_table, injection_table, inject_table = (
        LazyModule(f"clew.store.{name}") for name in ("config", "guarding", "injections", "injects")
    )
    learning_table, session_table, transfer_table = (
        LazyModule(f"clew.store.{name}") for name in ("learning", "sessions", "transfers")
    )

    host_table, key_table = LazyModule("clew.store.hosts"), LazyModule("clew.store.keys")
    report_table, serving_table = LazyModule("clew.store.report"), LazyModule("clew.store.serving")
    conflict_table, job_table, org_table, rollout_table, spend_table = (
        LazyModule(f"clew.store.{name}") for name in ("conflicts", "jobs", "orgs", "rollout", "spend")
    )

T = TypeVar("T")
R = TypeVar("R")


class Tx:
    """The tables, bound to one transaction."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.memories = MemoryTable(session)
        self.index = IndexTable(session)
        self.changes = ChangeLog(session)
        self.graph = GraphTable(session)
        self.audit = Audit(session)

    @cached_property
    def edges(self) -> edges.EdgeTable:
        return edges.EdgeTable(self.session)

    @cached_property
    def explore(self) -> graph_explore.GraphExplore:
        return graph_explore.GraphExplore(self.session)

    @property
    def is_open(self) -> bool:
        """False once an error made the engine undo the whole transaction."""
        return self.session.is_open

    def savepoint(self) -> AbstractContextManager[None]:
        """A part that is undone alone when it fails."""
        return self.session.savepoint()

    @cached_property
    def config(self) -> config_table.ConfigTable:
        return config_table.ConfigTable(self.session)

    @cached_property
    def sessions(self) -> session_table.SessionTable:
        return session_table.SessionTable(self.session)

    @cached_property
    def injects(self) -> inject_table.InjectTable:
        return inject_table.InjectTable(self.session)

    @cached_property
    def injections(self) -> injection_table.InjectionTable:
        return injection_table.InjectionTable(self.session)

    @cached_property
    def learning(self) -> learning_table.LearningTable:
        return learning_table.LearningTable(self.session)

    @cached_property
    def guarding(self) -> guard_table.GuardTable:
        return guard_table.GuardTable(self.session)

    @cached_property
    def transfers(self) -> transfer_table.TransferTable:
        return transfer_table.TransferTable(self.session)

    @cached_property
    def jobs(self) -> job_table.JobTable:
        return job_table.JobTable(self.session)

    @cached_property
    def spend(self) -> spend_table.SpendTable:
        return spend_table.SpendTable(self.session)

    @cached_property
    def conflicts(self) -> conflict_table.ConflictTable:
        return conflict_table.ConflictTable(self.session)

    @cached_property
    def rollout(self) -> rollout_table.RolloutTable:
        return rollout_table.RolloutTable(self.session)

    @cached_property
    def orgs(self) -> org_table.OrgTable:
        return org_table.OrgTable(self.session)

    @cached_property
    def keys(self) -> key_table.KeyTable:
        return key_table.KeyTable(self.session)

    @cached_property
    def replays(self) -> key_table.ReplayTable:
        return key_table.ReplayTable(self.session)

    @cached_property
    def serving(self) -> serving_table.ServingTable:
        return serving_table.ServingTable(self.session)

    @cached_property
    def hosts(self) -> host_table.HostTable:
        return host_table.HostTable(self.session)

    @cached_property
    def reports(self) -> report_table.ReportTable:
        return report_table.ReportTable(self.session)

    @cached_property
    def leases(self) -> Leases:
        return Leases(self.session)

    @cached_property
    def meta(self) -> Meta:
        return Meta(self.session)


class Store:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._left = _Left()

    @property
    def left_behind(self) -> int:
        """How often a write of this process left something of the graph for later."""
        return self._left.count

    @property
    def location(self) -> str:
        """As it may be shown."""
        return self.engine.location

    @property
    def path(self) -> Path:
        """Of the file; a store on a server has none."""
        return Path(self.engine.location)

    def read(self) -> AbstractContextManager[Tx]:
        """One snapshot."""
        return _Reading(self.engine.read())

    def write(
        self, action: Callable[[Tx], T], *, durable: bool = True, savepoint: bool = True, lock: str = ""
    ) -> T:
        """One transaction, change log included; everything or nothing. `savepoint=False`: each change of the action
        may stand alone, which spares the engine from being able to undo it."""
        return self.engine.write(_Bound(action, self._left), durable=durable, savepoint=savepoint, lock=lock)

    def submit(self, action: Callable[[Tx], T], *, durable: bool = True, org: str = "") -> Future[T]:
        """The same without waiting; what was handed over is written before the store closes, and before what this
        process writes of `org` later."""
        return self.engine.submit(_Bound(action, self._left), durable=durable, org=org)

    def write_unless_busy(self, action: Callable[[Tx], None], *, wait_ms: int) -> None:
        """A transaction of the caller's own, not durable; Unavailable when another holds the store for longer."""
        self.engine.write_unless_busy(_Bound(action, self._left), wait_ms=wait_ms)

    def purge(self) -> bool:
        return self.engine.purge()

    def aside(self) -> Sequence[str]:
        """The names of the copies that restores put aside."""
        return backup.kept_aside(self.path) if self.engine.name == "sqlite" else ()

    def open_aside(self, name: str) -> Store:
        return Store(sqlite.open_engine(self.path.with_name(name)))

    def sizes(self) -> tuple[int, int]:
        """Bytes of the store, and of its log."""
        return self.engine.sizes()

    def backup(
        self, target: str | PathLike[str], *, overwrite: bool = False, progress: Callable[[int, int], None]
    ) -> BackupReport:
        if self.engine.name != "sqlite":
            raise InvalidInput(
                f"{self.location} is backed up by the tools of its server",
                code="BACKUP_IS_THE_SERVERS",
                next="run: pg_dump; or copy it to a file: clew copy URL FILE",
            )
        return backup.backup(self.path, Path(target), overwrite=overwrite, progress=progress)

    def stats(self, reach: Reach, space: str) -> Stats:
        with self.read() as tx:
            return upkeep.stats(tx, self, reach, space)

    def checks(self, now: datetime) -> list[Check]:
        if self.engine.name == "sqlite":
            return upkeep.checks(self, now)
        return postgres_upkeep.checks(self, now)

    def has_counted(self, org: str, name: str) -> bool | None:
        """Whether a counter of an org or of the store ever moved; None where a transaction tells as cheaply."""
        return self.engine.has_counted(org, name)

    def data_version(self) -> tuple[int, int]:
        return self.engine.data_version()

    def at_one_moment(self) -> AbstractContextManager[None]:
        """Within it this thread looks once whether anything has changed."""
        return self.engine.at_one_moment()

    def listen(self, channel: str, told: Callable[[], object]) -> bool:
        return self.engine.listen(channel, told)

    def close(self) -> None:
        self.engine.close()


class _Reading:
    """The tables of a session, for as long as it lasts. A generator takes twice as long, and every recall reads."""

    __slots__ = ("_session",)

    def __init__(self, session: AbstractContextManager[Session]) -> None:
        self._session = session

    def __enter__(self) -> Tx:
        return Tx(self._session.__enter__())

    def __exit__(self, *raised: Any) -> bool | None:
        return self._session.__exit__(*raised)


class _Left:
    """Counts what is left for later. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.count = 0

    def add(self, number: int) -> None:
        with self._lock:
            self.count += number


class _Bound(Generic[T]):
    """An action on the tables as one on a session. Several that join may be run together: `ports.Joining`."""

    __slots__ = ("_action", "_left")

    def __init__(self, action: Callable[[Tx], T], left: _Left) -> None:
        self._action = action
        self._left = left

    def __call__(self, session: Session) -> T:
        return self._flushed(session, self._action)

    @property
    def joins(self) -> Hashable:
        return getattr(self._action, "joins", None)

    def together(self, session: Session, others: Sequence[_Bound[T]]) -> list[T]:
        actions = [other._action for other in others]
        return self._flushed(session, lambda tx: cast("Joining[T]", self._action).together(tx, actions))

    def _flushed(self, session: Session, action: Callable[[Tx], R]) -> R:
        tx = Tx(session)
        result = action(tx)
        tx.changes.flush()
        tx.index.flush()
        if tx.graph.left:
            self._left.add(tx.graph.left)
        return result
