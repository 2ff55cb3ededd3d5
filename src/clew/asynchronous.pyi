"""What AsyncClew can do. Made by tools/async_stub.py from the verbs: do not edit."""

import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, TextIO

from clew.clew import Clew
from clew.deliver.rights import SessionRights
from clew.guard.added import InForce
from clew.guard.engine import Problem
from clew.inject.injector import InSessionMemoryInjector
from clew.learn.feedback import FeedbackPolicy
from clew.learn.fingerprint import TechStackFingerprint
from clew.learn.transfer import TransferConfig
from clew.model.access import AddedPolicy
from clew.model.audit import AuditEntry, AuditHead, ChainReport
from clew.model.config import (
    AgentRights,
    GateDecision,
    MatrixShown,
    OrgFeatures,
    ProjectConfig,
    ProjectShown,
    RecallSettings,
)
from clew.model.conflict import Dispute, Merge
from clew.model.explored import Explored, Facts, FoundPath, GraphStatus, Neighborhood
from clew.model.govern import RetentionPolicy
from clew.model.host import Around, HookAnswer, HookFired
from clew.model.inject import Block, ContextInjectionLog, InjectionResult, VerbEvent
from clew.model.job import BackfillState, Job, JobHealth, Ran
from clew.model.key import ApiKey, NewKey
from clew.model.learning import Diagnostics, FeedbackReport, Learnt
from clew.model.listed import GraphChanges, GraphListed
from clew.model.llm import Spent
from clew.model.memory import Draft, Filter, Memory, Remembered, Version
from clew.model.org import Member, Org, Routed, Routing
from clew.model.progress import Progress
from clew.model.quarantine import Quarantined
from clew.model.recalled import Recalled, RecallOptions
from clew.model.replay import Replay
from clew.model.report import WorkReport
from clew.model.reports import FeedbackImpact, Pareto
from clew.model.scope import Identity, Scope
from clew.model.session import AgentSession, Beat, Delivery, Enqueued, Inject, InjectDraft, SessionReport
from clew.model.start import Held, InjectReport
from clew.model.tool_call import ToolCall
from clew.model.upkeep import BackupReport, Check, Stats
from clew.recall.context import Context
from clew.recall.snapshot import Snapshot
from clew.recall.why import Explanation
from clew.recall.xray import Xray
from clew.relate.alike import Suggestion
from clew.relate.conflicts import Resolved
from clew.relate.corroborate import Corroboration
from clew.relate.decay import DecayReport
from clew.relate.edges_file import EdgesImported
from clew.relate.job_report import JobReport
from clew.relate.merge import Merged
from clew.relate.reindex import ReindexReport
from clew.relate.retention import RetentionReport
from clew.relate.unmerge import Undone
from clew.relate.worker import JobRunner
from clew.remember.forget import Preview, Receipt
from clew.remember.imported import ImportReport
from clew.remember.link import Linked
from clew.remember.portable import ExportReport
from clew.rollout.payload import Metrics, RolloutShown, StatusShown, Traced
from clew.rollout.plan import Plan
from clew.verbs.govern import TransferStatus

class AsyncAuditLog:
    async def head(self, *, identity: Identity | None = ...) -> AuditHead | None: ...
    async def list(
        self,
        *,
        limit: int = ...,
        since: datetime | None = ...,
        action: str | None = ...,
        before: int | None = ...,
        identity: Identity | None = ...,
    ) -> Sequence[AuditEntry]: ...
    async def verify(
        self, *, head: AuditHead | str | None = ..., identity: Identity | None = ...
    ) -> ChainReport: ...

class AsyncConflicts:
    async def list(
        self,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        everything: bool = ...,
        limit: int = ...,
    ) -> Sequence[Dispute]: ...
    async def resolve(
        self, id: str, keep: str, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Resolved: ...
    async def show(self, id: str, *, scope: Scope | None = ..., identity: Identity | None = ...) -> Dispute: ...

class AsyncGraphVerbs:
    async def activate(self, case: Mapping[str, object]) -> list[dict[str, object]]: ...
    async def changes(
        self,
        after: int | None = ...,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        limit: int = ...,
    ) -> GraphChanges: ...
    async def decay(self, *, dry_run: bool = ..., identity: Identity | None = ...) -> DecayReport: ...
    async def edges(
        self,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        limit: int = ...,
        focus: str | None = ...,
        categories: Sequence[str] | None = ...,
        since: datetime | None = ...,
    ) -> GraphListed: ...
    async def explore(
        self,
        node: str | None = ...,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        limit: int = ...,
    ) -> Explored: ...
    async def export(
        self, file: TextIO, *, scope: Scope | None = ..., identity: Identity | None = ..., progress: Progress = ...
    ) -> ExportReport: ...
    async def flags(self) -> dict[str, bool]: ...
    async def import_file(
        self,
        path: str | PathLike[str],
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        dry_run: bool = ...,
        progress: Progress = ...,
    ) -> EdgesImported: ...
    async def neighbors(
        self,
        node: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        limit: int = ...,
        edge_type: str | None = ...,
        depth: int = ...,
    ) -> Neighborhood: ...
    async def path(
        self,
        start: str,
        goal: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        max_hops: int = ...,
    ) -> FoundPath: ...
    async def status(
        self, *, scope: Scope | None = ..., identity: Identity | None = ..., top: int = ...
    ) -> GraphStatus: ...
    async def triplets(
        self,
        query: str | None = ...,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        limit: int = ...,
    ) -> Facts: ...

class AsyncHosts:
    async def capture_waiting(self, *, limit: int = ...) -> int: ...
    async def close(self) -> None: ...
    async def event(
        self,
        host: str,
        raw: bytes | Mapping[str, Any],
        *,
        event_id: str,
        around: Around,
        received_at: datetime | None = ...,
        replayed: bool = ...,
        identity: Identity | None = ...,
    ) -> HookAnswer: ...
    async def fired(self, *, identity: Identity | None = ...) -> list[HookFired]: ...
    async def seen(self, event_id: str, *, identity: Identity | None = ...) -> None: ...
    async def unseen(self, event_id: str) -> None: ...

class AsyncInjection:
    async def block(
        self,
        query: str = ...,
        *,
        budget_tokens: int = ...,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
    ) -> Block: ...
    async def close(self) -> None: ...
    async def event(
        self, event: VerbEvent | Mapping[str, Any], *, identity: Identity | None = ...
    ) -> InjectionResult: ...
    async def injector(self) -> InSessionMemoryInjector: ...
    async def log(self, session_id: str, *, identity: Identity | None = ...) -> list[ContextInjectionLog]: ...
    async def note_shown(
        self, session_id: str, ids: Collection[str], *, identity: Identity | None = ...
    ) -> None: ...
    async def on_session_end(self, session: AgentSession, report: SessionReport | None = ...) -> None: ...
    async def record(self, log: ContextInjectionLog) -> str: ...
    async def rollout_gate(self, org: str, project: str | None = ...) -> GateDecision: ...
    async def start(self, session_id: str, *, dry_run: bool = ..., identity: Identity | None = ...) -> Block: ...
    async def start_report(
        self,
        session_id: str,
        *,
        dry_run: bool = ...,
        held: Held | None = ...,
        most_tokens: int = ...,
        rules_only: bool = ...,
        identity: Identity | None = ...,
    ) -> InjectReport: ...
    async def warm(self, event: VerbEvent | None = ..., *, identity: Identity | None = ...) -> None: ...

class AsyncBackfill:
    async def pause(self, *, identity: Identity | None = ...) -> BackfillState: ...
    async def resume(self, *, identity: Identity | None = ...) -> BackfillState: ...
    async def run(self, progress: Progress = ..., *, identity: Identity | None = ...) -> BackfillState: ...
    async def status(self, *, identity: Identity | None = ...) -> BackfillState: ...

class AsyncJobs:
    @property
    def backfill(self) -> AsyncBackfill: ...
    async def health(self, *, identity: Identity | None = ...) -> JobHealth: ...
    async def list(
        self,
        *,
        state: str | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        identity: Identity | None = ...,
    ) -> list[Job]: ...
    async def portion(self) -> Ran: ...
    async def retry(
        self, id: str | None = ..., *, everything: bool = ..., identity: Identity | None = ...
    ) -> int: ...
    async def run(
        self,
        *,
        limit: int | None = ...,
        seconds: float | None = ...,
        forever: bool = ...,
        told: Callable[[Ran], None] | None = ...,
        identity: Identity | None = ...,
    ) -> Ran: ...
    async def runner(self, *, batch: int | None = ...) -> JobRunner: ...
    async def show(self, id: str, *, identity: Identity | None = ...) -> JobReport: ...
    async def spend(self, *, since: datetime | None = ..., identity: Identity | None = ...) -> Spent: ...

class AsyncKeys:
    async def authenticate(self, token: str) -> Identity | None: ...
    async def create(
        self,
        name: str,
        *,
        org: str | None = ...,
        user: str | None = ...,
        agent: str | None = ...,
        roles: Sequence[str] = ...,
        expires: datetime | None = ...,
        identity: Identity | None = ...,
    ) -> NewKey: ...
    async def list(
        self, *, org: str | None = ..., limit: int = ..., cursor: str | None = ..., identity: Identity | None = ...
    ) -> list[ApiKey]: ...
    async def revoke(self, id: str, *, org: str | None = ..., identity: Identity | None = ...) -> ApiKey: ...

class AsyncLearning:
    async def diagnostics(self, session_id: str, *, identity: Identity | None = ...) -> Diagnostics: ...
    async def feedback(
        self, session_id: str, outcome: str, *, identity: Identity | None = ...
    ) -> FeedbackReport: ...
    async def impact(
        self,
        *,
        since: datetime | None = ...,
        until: datetime | None = ...,
        project: str | None = ...,
        identity: Identity | None = ...,
    ) -> FeedbackImpact: ...
    async def judge(
        self,
        memory_id: str,
        verdict: str,
        *,
        corrected_by: str | None = ...,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
    ) -> tuple[Learnt, bool]: ...
    async def on_session_end(
        self, session: AgentSession, report: SessionReport | None = ...
    ) -> FeedbackReport | None: ...
    async def pareto(
        self,
        *,
        since: datetime | None = ...,
        until: datetime | None = ...,
        project: str | None = ...,
        identity: Identity | None = ...,
    ) -> Pareto: ...
    async def policy(self) -> FeedbackPolicy: ...
    async def show(
        self, memory_id: str, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Learnt: ...

class AsyncMatrix:
    async def resolve(
        self, work_type: str | None, *, org: str | None = ..., identity: Identity | None = ...
    ) -> RecallSettings: ...
    async def set(
        self, work_type: str, *, org: str | None = ..., identity: Identity | None = ..., **fields: Any
    ) -> RecallSettings: ...
    async def show(self, *, org: str | None = ..., identity: Identity | None = ...) -> list[MatrixShown]: ...

class AsyncMerges:
    async def corroboration(
        self, id: str, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Corroboration: ...
    async def list(self, *, identity: Identity | None = ..., limit: int = ...) -> Sequence[Merge]: ...
    async def merge(
        self,
        keep: str,
        others: Sequence[str],
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        dry_run: bool = ...,
    ) -> Merged: ...
    async def suggest(
        self, scope: Scope | None = ..., *, identity: Identity | None = ..., limit: int = ...
    ) -> Sequence[Suggestion]: ...
    async def undo(self, id: str, *, identity: Identity | None = ...) -> Undone: ...

class AsyncOrgs:
    async def add_member(
        self, org: str, user: str | None, role: str = ..., *, identity: Identity | None = ...
    ) -> Member: ...
    async def create(
        self,
        name: str,
        *,
        slug: str | None = ...,
        id: str | None = ...,
        owner: str | None = ...,
        identity: Identity | None = ...,
    ) -> Org: ...
    async def enter(
        self, project: str | None = ..., *, org: str | None = ..., identity: Identity | None = ...
    ) -> Identity: ...
    async def features(
        self,
        org: str | None = ...,
        *,
        kg_enabled: bool | None = ...,
        feedback_weighting: bool | None = ...,
        identity: Identity | None = ...,
    ) -> OrgFeatures: ...
    async def list(self, *, identity: Identity | None = ...) -> list[str]: ...
    async def map(
        self, owner: str, org: str, *, user: str | None = ..., identity: Identity | None = ...
    ) -> Routing: ...
    async def members(self, org: str, *, identity: Identity | None = ...) -> tuple[Member, ...]: ...
    async def remove_member(self, org: str, user: str | None, *, identity: Identity | None = ...) -> None: ...
    async def route(
        self,
        project: str | None = ...,
        *,
        org: str | None = ...,
        user: str | None = ...,
        identity: Identity | None = ...,
    ) -> Routed: ...
    async def routing(self, *, user: str | None = ..., identity: Identity | None = ...) -> Routing: ...
    async def unmap(self, owner: str, *, user: str | None = ..., identity: Identity | None = ...) -> Routing: ...
    async def use(
        self, org: str | None = ..., *, mode: str = ..., user: str | None = ..., identity: Identity | None = ...
    ) -> Routing: ...

class AsyncPolicies:
    async def agent(self, name: str, *, identity: Identity | None = ..., **changes: Any) -> AgentRights: ...
    async def check(
        self, text: str, *, name: str = ..., org: str | None = ..., identity: Identity | None = ...
    ) -> list[Problem]: ...
    async def drop(self, name: str, *, org: str | None = ..., identity: Identity | None = ...) -> AddedPolicy: ...
    async def load(
        self, text: str, *, name: str, org: str | None = ..., identity: Identity | None = ...
    ) -> AddedPolicy: ...
    async def show(
        self, *, shipped: bool = ..., org: str | None = ..., identity: Identity | None = ...
    ) -> InForce: ...

class AsyncProjects:
    async def list(self, *, identity: Identity | None = ...) -> dict[str, ProjectConfig]: ...
    async def set(
        self, project: str, switch: str, on: bool | None, *, identity: Identity | None = ...
    ) -> ProjectConfig: ...
    async def show(self, project: str, *, identity: Identity | None = ...) -> ProjectShown: ...

class AsyncQuarantine:
    async def drop(self, id: str, *, identity: Identity | None = ...) -> Quarantined: ...
    async def find(self, id: str, *, identity: Identity | None = ...) -> Quarantined | None: ...
    async def list(
        self,
        *,
        project: str | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        identity: Identity | None = ...,
    ) -> list[Quarantined]: ...
    async def release(self, id: str, *, identity: Identity | None = ...) -> Remembered: ...
    async def show(self, id: str, *, identity: Identity | None = ...) -> Quarantined: ...

class AsyncQueue:
    async def ack(
        self,
        session: str,
        delivery: str,
        worker: str,
        token: int,
        *,
        receipt: str = ...,
        identity: Identity | None = ...,
    ) -> bool: ...
    async def active(self, identity: Identity | None) -> Identity: ...
    async def claim(
        self, session: str, worker: str, token: int, *, identity: Identity | None = ...
    ) -> Delivery | None: ...
    async def dead(self, *, limit: int = ..., identity: Identity | None = ...) -> Sequence[Inject]: ...
    async def enqueue(
        self, session: str, text: str, *, identity: Identity | None = ..., **fields: Any
    ) -> Inject | None: ...
    async def list(
        self, session: str, *, state: str | None = ..., identity: Identity | None = ...
    ) -> Sequence[Inject]: ...
    async def offer(self, draft: InjectDraft, *, identity: Identity | None = ...) -> Enqueued: ...
    async def rights(self, identity: Identity | None) -> SessionRights: ...

class AsyncRetention:
    async def drop(self, id: str, *, identity: Identity | None = ...) -> None: ...
    async def list(self, *, identity: Identity | None = ...) -> Sequence[RetentionPolicy]: ...
    async def run(self, *, dry_run: bool = ..., identity: Identity | None = ...) -> RetentionReport: ...
    async def set(
        self,
        ttl_days: float,
        *,
        action: str = ...,
        project: str | None = ...,
        classification: str | None = ...,
        type: str | None = ...,
        identity: Identity | None = ...,
    ) -> RetentionPolicy: ...

class AsyncRollout:
    async def documented(self, trace: Mapping[str, Any], org: str) -> dict[str, Any]: ...
    async def flush(self) -> None: ...
    async def metrics(self, since: datetime | None = ..., *, identity: Identity | None = ...) -> Metrics: ...
    async def plan(self, *, identity: Identity | None = ...) -> Plan: ...
    async def replay(
        self,
        *,
        since: datetime | None = ...,
        project: str | None = ...,
        limit: int | None = ...,
        top: int | None = ...,
        identity: Identity | None = ...,
    ) -> Replay: ...
    async def set(self, mode: str, *, identity: Identity | None = ...) -> RolloutShown: ...
    async def set_default(self, strategy: str, *, identity: Identity | None = ...) -> RolloutShown: ...
    async def show(self, *, identity: Identity | None = ...) -> RolloutShown: ...
    async def status(
        self, *, scope: Scope | None = ..., identity: Identity | None = ..., top: int = ...
    ) -> StatusShown: ...
    async def trace(
        self,
        query: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        strategy: str | None = ...,
        depth: int | None = ...,
        graph_limit: int | None = ...,
        limit: int = ...,
        mode: str = ...,
        include_rules: bool = ...,
    ) -> Traced: ...

class AsyncSessions:
    async def active(self, identity: Identity | None) -> Identity: ...
    async def claim(
        self, id: str, worker: str, *, provider_session: str | None = ..., identity: Identity | None = ...
    ) -> int: ...
    async def end(
        self,
        id: str,
        outcome: str | None = ...,
        *,
        state: str = ...,
        worker: str | None = ...,
        token: int | None = ...,
        summary: str | None = ...,
        tool_calls: Iterable[Mapping[str, Any]] = ...,
        files_modified: Iterable[str] = ...,
        errors: Iterable[Mapping[str, Any]] = ...,
        identity: Identity | None = ...,
    ) -> AgentSession: ...
    async def finalize(
        self, id: str, worker: str, token: int, *, identity: Identity | None = ...
    ) -> AgentSession: ...
    async def list(
        self,
        *,
        project: str | None = ...,
        state: str | None = ...,
        limit: int = ...,
        identity: Identity | None = ...,
    ) -> Sequence[AgentSession]: ...
    async def refresh(
        self,
        id: str,
        worker: str,
        token: int,
        *,
        acked: Collection[str] | str = ...,
        dead: Mapping[str, str] | None = ...,
        held: str | None = ...,
        take: bool = ...,
        identity: Identity | None = ...,
    ) -> Beat: ...
    async def rights(self, identity: Identity | None) -> SessionRights: ...
    async def show(self, id: str, *, identity: Identity | None = ...) -> AgentSession: ...
    async def start(
        self,
        *,
        project: str | None = ...,
        work_type: str | None = ...,
        issue: str | None = ...,
        title: str | None = ...,
        description: str | None = ...,
        issue_id: str | None = ...,
        agent: str | None = ...,
        user: str | None = ...,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
    ) -> AgentSession: ...
    async def stop(self, id: str, *, identity: Identity | None = ...) -> AgentSession: ...

class AsyncTransfer:
    async def config_for(self, session: AgentSession) -> TransferConfig | None: ...
    async def fingerprint(
        self, project: str, files: Mapping[str, str] | str | PathLike[str], *, identity: Identity | None = ...
    ) -> TechStackFingerprint: ...
    async def fingerprint_of(
        self, project: str, *, identity: Identity | None = ...
    ) -> TechStackFingerprint | None: ...
    async def grant(self, source: str, dest: str, *, identity: Identity | None = ...) -> bool: ...
    async def list(self, *, identity: Identity | None = ...) -> Sequence[TransferStatus]: ...
    async def revoke(self, source: str, dest: str, *, identity: Identity | None = ...) -> None: ...

def open_async(
    url: str | os.PathLike[str] | None = ...,
    *,
    token: str | None = ...,
    home: str | os.PathLike[str] | None = ...,
    **settings: Any,
) -> AsyncClew: ...

class AsyncClew:
    def __init__(self, clew: Clew | Callable[[], Clew], *, threads: int = ...) -> None: ...
    async def __aenter__(self) -> AsyncClew: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    async def close(self) -> None: ...
    @property
    def clew(self) -> Clew: ...
    def remember_many(
        self,
        drafts: Iterable[Draft] | AsyncIterable[Draft],
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
    ) -> AsyncIterator[Remembered]: ...
    @property
    def audit(self) -> AsyncAuditLog: ...
    async def backup(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = ...,
        identity: Identity | None = ...,
        progress: Progress = ...,
    ) -> BackupReport: ...
    @property
    def conflicts(self) -> AsyncConflicts: ...
    async def context(
        self,
        query: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        options: RecallOptions | None = ...,
        strategy: str | None = ...,
        depth: int | None = ...,
        graph_limit: int | None = ...,
        **changes: Any,
    ) -> Context: ...
    async def doctor(self, *, identity: Identity | None = ...) -> Sequence[Check]: ...
    async def edit(
        self,
        id: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        expected_version: int | None = ...,
        **changes: Any,
    ) -> Memory: ...
    async def export(
        self,
        file: TextIO,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        progress: Progress = ...,
    ) -> ExportReport: ...
    async def forget(
        self,
        id: str,
        *,
        hard: bool = ...,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        expected_version: int | None = ...,
    ) -> Receipt: ...
    async def forget_many(
        self,
        wanted: Filter | None = ...,
        *,
        everything: bool = ...,
        hard: bool = ...,
        dry_run: bool = ...,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
    ) -> Receipt | Preview: ...
    @property
    def graph(self) -> AsyncGraphVerbs: ...
    async def history(
        self, id: str, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Sequence[Version]: ...
    @property
    def hosts(self) -> AsyncHosts: ...
    async def import_file(
        self,
        path: str | PathLike[str],
        *,
        scope: Scope | None = ...,
        notes_project: str | None = ...,
        around: Around | None = ...,
        identity: Identity | None = ...,
        replace: bool = ...,
        dry_run: bool = ...,
        progress: Progress = ...,
    ) -> ImportReport: ...
    @property
    def inject(self) -> AsyncInjection: ...
    @property
    def jobs(self) -> AsyncJobs: ...
    @property
    def keys(self) -> AsyncKeys: ...
    async def last_graph_recall(self, *, identity: Identity | None = ...) -> Snapshot | None: ...
    @property
    def learn(self) -> AsyncLearning: ...
    async def link(
        self, source: str, relation: str, target: str, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Linked: ...
    async def list(
        self,
        wanted: Filter | None = ...,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        all_projects: bool = ...,
        limit: int = ...,
        cursor: str | None = ...,
    ) -> Sequence[Memory]: ...
    @property
    def matrix(self) -> AsyncMatrix: ...
    @property
    def merges(self) -> AsyncMerges: ...
    async def now(self) -> datetime: ...
    async def observe(
        self, call: ToolCall, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Remembered: ...
    @property
    def orgs(self) -> AsyncOrgs: ...
    @property
    def policies(self) -> AsyncPolicies: ...
    @property
    def projects(self) -> AsyncProjects: ...
    @property
    def quarantine(self) -> AsyncQuarantine: ...
    @property
    def queue(self) -> AsyncQueue: ...
    async def recall(
        self,
        query: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        options: RecallOptions | None = ...,
        **changes: Any,
    ) -> Recalled: ...
    async def reindex(self, progress: Progress = ..., *, identity: Identity | None = ...) -> ReindexReport: ...
    async def remember(
        self, content: str | Draft, *, scope: Scope | None = ..., identity: Identity | None = ..., **fields: Any
    ) -> Remembered: ...
    async def report(
        self,
        *,
        since: datetime | None = ...,
        until: datetime | None = ...,
        project: str | None = ...,
        identity: Identity | None = ...,
    ) -> WorkReport: ...
    async def resume_jobs(self) -> None: ...
    @property
    def retention(self) -> AsyncRetention: ...
    async def revert(
        self,
        id: str,
        version: int,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        expected_version: int | None = ...,
    ) -> Memory: ...
    @property
    def rollout(self) -> AsyncRollout: ...
    @property
    def sessions(self) -> AsyncSessions: ...
    async def show(self, id: str, *, scope: Scope | None = ..., identity: Identity | None = ...) -> Memory: ...
    async def stats(self, *, identity: Identity | None = ...) -> Stats: ...
    @property
    def transfer(self) -> AsyncTransfer: ...
    async def unlink(
        self, source: str, relation: str, target: str, *, scope: Scope | None = ..., identity: Identity | None = ...
    ) -> Linked: ...
    async def why(
        self,
        query: str,
        expect: str,
        *,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        options: RecallOptions | None = ...,
        **changes: Any,
    ) -> Explanation: ...
    async def xray(
        self,
        query: str,
        *,
        budget: int | None = ...,
        scope: Scope | None = ...,
        identity: Identity | None = ...,
        options: RecallOptions | None = ...,
        **changes: Any,
    ) -> Xray: ...
