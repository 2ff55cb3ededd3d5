"""The verbs that can be called from afar, in one table: what may be given by place, and what is answered.

What a verb takes is read from the verb itself, where it is run; a test holds this table against the verbs. Identity
is no argument: it comes from the credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    """`name` is topic.verb, or the verb alone. `reads`: it changes nothing, so it may be asked twice. `extra`:
    whose fields its further keywords are. `takes`: types of arguments that are sent in another form than they are
    taken. Of several answers separated by ' or ', the number of the one that is meant comes with it. `puts`: its
    scope says where something is put or taken from, so it is taken as it was said; the scope of the others says
    where to look, and whoever names no user looks for their own as well."""

    name: str
    places: str
    answer: str
    reads: bool = False
    extra: str = ""
    takes: tuple[tuple[str, str], ...] = ()
    is_value: bool = False  # no call: an attribute
    puts: bool = False


def _reads(name: str, places: str, answer: str, *, extra: str = "", is_value: bool = False) -> Verb:
    return Verb(name, places, answer, True, extra, is_value=is_value)


_ROWS = (
    # -- memories
    Verb("remember", "content", "Remembered", extra="Draft", puts=True),
    Verb("remember_many", "drafts", "list[Remembered]", takes=(("drafts", "list[Draft]"),), puts=True),
    Verb("observe", "call", "Remembered", puts=True),
    Verb("link", "source relation target", "Linked", puts=True),
    Verb("unlink", "source relation target", "Linked", puts=True),
    _reads("recall", "query", "Recalled", extra="RecallOptions"),
    _reads("xray", "query", "Xray", extra="RecallOptions"),
    _reads("why", "query expect", "Explanation", extra="RecallOptions"),
    _reads("context", "query", "Context", extra="RecallOptions"),
    _reads("last_graph_recall", "", "Snapshot | None"),
    _reads("show", "id", "Memory"),
    _reads("list", "wanted", "list[Memory]"),
    Verb("edit", "id", "Memory", extra="Draft"),
    _reads("history", "id", "list[Version]"),
    Verb("revert", "id version", "Memory"),
    Verb("forget", "id", "Receipt"),
    Verb("forget_many", "wanted", "Receipt or Preview", puts=True),
    _reads("stats", "", "Stats"),
    _reads("report", "", "WorkReport"),
    _reads("doctor", "", "list[Check]"),
    # -- the graph
    _reads("graph.status", "", "GraphStatus"),
    _reads("graph.flags", "", "dict[str, bool]", is_value=True),
    _reads("graph.neighbors", "node", "Neighborhood"),
    _reads("graph.path", "start goal", "FoundPath"),
    _reads("graph.explore", "node", "Explored"),
    _reads("graph.triplets", "query", "Facts"),
    _reads("graph.edges", "", "GraphListed"),
    _reads("graph.changes", "after", "GraphChanges"),
    Verb("graph.decay", "", "DecayReport"),
    # -- sessions and their queues
    Verb("sessions.start", "", "AgentSession", puts=True),
    Verb("sessions.claim", "id worker", "int"),
    Verb("sessions.refresh", "id worker token", "Beat"),
    Verb("sessions.finalize", "id worker token", "AgentSession"),
    Verb(
        "sessions.end", "id outcome", "AgentSession",
        takes=(
            ("tool_calls", "list[dict[str, Any]]"), ("files_modified", "list[str]"),
            ("errors", "list[dict[str, Any]]"),
        ),
    ),
    Verb("sessions.stop", "id", "AgentSession"),
    _reads("sessions.show", "id", "AgentSession"),
    _reads("sessions.list", "", "list[AgentSession]"),
    Verb("queue.enqueue", "session text", "Inject | None", extra="InjectDraft"),
    Verb("queue.offer", "draft", "Enqueued"),
    Verb("queue.claim", "session worker token", "Delivery | None"),
    Verb("queue.ack", "session delivery worker token", "bool"),
    _reads("queue.list", "session", "list[Inject]"),
    _reads("queue.dead", "", "list[Inject]"),
    # -- injection
    Verb("inject.start", "session_id", "Block"),
    Verb("inject.start_report", "session_id", "InjectReport"),
    _reads("inject.block", "query", "Block"),
    _reads("inject.log", "session_id", "list[ContextInjectionLog]"),
    Verb("inject.event", "event", "InjectionResult", takes=(("event", "dict[str, Any]"),)),
    _reads("inject.warm", "event", "None"),
    # -- learning
    Verb("learn.feedback", "session_id outcome", "FeedbackReport"),
    Verb("learn.judge", "memory_id verdict", "tuple[Learnt, bool]"),
    _reads("learn.show", "memory_id", "Learnt"),
    _reads("learn.diagnostics", "session_id", "Diagnostics"),
    _reads("learn.impact", "", "FeedbackImpact"),
    _reads("learn.pareto", "", "Pareto"),
    # -- configuration and orgs
    _reads("projects.list", "", "dict[str, ProjectConfig]"),
    _reads("projects.show", "project", "ProjectShown"),
    Verb("projects.set", "project switch on", "ProjectConfig"),
    _reads("matrix.show", "", "list[MatrixShown]"),
    _reads("matrix.resolve", "work_type", "RecallSettings"),
    Verb("matrix.set", "work_type", "RecallSettings", extra="MatrixRow"),
    _reads("orgs.list", "", "list[str]"),
    Verb("orgs.features", "org", "OrgFeatures"),
    Verb("orgs.create", "name", "Org"),
    _reads("orgs.members", "org", "tuple[Member, ...]"),
    Verb("orgs.add_member", "org user role", "Member"),
    Verb("orgs.remove_member", "org user", "None"),
    _reads("orgs.route", "project", "Routed"),
    _reads("orgs.enter", "project", "Identity"),
    _reads("orgs.routing", "", "Routing"),
    Verb("orgs.use", "org", "Routing"),
    Verb("orgs.map", "owner org", "Routing"),
    Verb("orgs.unmap", "owner", "Routing"),
    # -- guarding and governing
    _reads("policies.check", "text", "list[Problem]"),
    Verb("policies.load", "text", "AddedPolicy"),
    Verb("policies.drop", "name", "AddedPolicy"),
    _reads("policies.show", "", "InForce"),
    Verb("policies.agent", "name", "AgentRights", extra="AgentRights"),
    _reads("quarantine.list", "", "list[Quarantined]"),
    _reads("quarantine.show", "id", "Quarantined"),
    _reads("quarantine.find", "id", "Quarantined | None"),
    Verb("quarantine.release", "id", "Remembered"),
    Verb("quarantine.drop", "id", "Quarantined"),
    Verb("transfer.grant", "source dest", "bool"),
    Verb("transfer.revoke", "source dest", "None"),
    _reads("transfer.list", "", "list[TransferStatus]"),
    Verb("transfer.fingerprint", "project files", "TechStackFingerprint", takes=(("files", "dict[str, str]"),)),
    _reads("transfer.fingerprint_of", "project", "TechStackFingerprint | None"),
    _reads("audit.verify", "", "ChainReport"),
    _reads("audit.head", "", "AuditHead | None"),
    _reads("audit.list", "", "list[AuditEntry]"),
    _reads("retention.list", "", "list[RetentionPolicy]"),
    Verb("retention.set", "ttl_days", "RetentionPolicy"),
    Verb("retention.drop", "id", "None"),
    Verb("retention.run", "", "RetentionReport"),
    Verb("keys.create", "name", "NewKey"),
    _reads("keys.list", "", "list[ApiKey]"),
    Verb("keys.revoke", "id", "ApiKey"),
    # -- jobs, conflicts, merges
    _reads("jobs.list", "", "list[Job]"),
    _reads("jobs.show", "id", "JobReport"),
    Verb("jobs.retry", "id", "int"),
    _reads("jobs.health", "", "JobHealth"),
    _reads("jobs.spend", "", "Spent"),
    _reads("jobs.backfill.status", "", "BackfillState"),
    Verb("jobs.backfill.pause", "", "BackfillState"),
    Verb("jobs.backfill.resume", "", "BackfillState"),
    _reads("conflicts.list", "", "list[Dispute]"),
    _reads("conflicts.show", "id", "Dispute"),
    Verb("conflicts.resolve", "id keep", "Resolved"),
    _reads("merges.suggest", "scope", "list[Suggestion]"),
    Verb("merges.merge", "keep others", "Merged"),
    Verb("merges.undo", "id", "Undone"),
    _reads("merges.list", "", "list[Merge]"),
    _reads("merges.corroboration", "id", "Corroboration"),
    # -- hooks of agents
    _reads("hosts.fired", "", "list[HookFired]"),
    # -- the rollout
    _reads("rollout.show", "", "RolloutShown"),
    _reads("rollout.plan", "", "Plan"),
    _reads("rollout.metrics", "since", "Metrics"),
    _reads("rollout.status", "", "StatusShown"),
    _reads("rollout.trace", "query", "Traced"),
    _reads("rollout.replay", "", "Replay"),
    Verb("rollout.set", "mode", "RolloutShown"),
    Verb("rollout.set_default", "strategy", "RolloutShown"),
)  # fmt: skip
VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _ROWS}
TOPICS = frozenset(name.rpartition(".")[0] for name in VERBS) - {""}
WITHOUT_IDENTITY = frozenset(("graph.flags",))  # switches of the installation: the same for everybody

_FILES = "it reads or writes files where it runs: run it where the store is"
_LONG = "it works for as long as there is something to do: run it where the store is"
_SELF = "the server does it by itself"
_INNER = "it is a part of other verbs, which call it where the store is"
# Verbs that only work on an open store, and why.
LOCAL: Mapping[str, str] = {
    **dict.fromkeys(("backup", "export", "import_file", "graph.export", "graph.import_file"), _FILES),
    **dict.fromkeys(("reindex", "jobs.run", "jobs.backfill.run"), _LONG),
    **dict.fromkeys(("resume_jobs", "jobs.runner", "inject.close", "hosts.close", "hosts.capture_waiting"), _SELF),
    **dict.fromkeys(
        (
            "inject.note_shown", "inject.on_session_end", "inject.record", "inject.rollout_gate",
            "learn.on_session_end", "queue.active", "queue.rights", "rollout.documented", "sessions.active",
            "sessions.rights", "transfer.config_for",
        ),
        _INNER,
    ),
    **dict.fromkeys(
        ("hosts.event", "hosts.seen", "hosts.unseen"), "hooks have a route of their own: POST /v1/hooks/HOST"
    ),
    "keys.authenticate": "a server asks for itself whom a token stands for",
}  # fmt: skip
# What a client does for itself: nothing about it needs the store, or the server has done it already.
BY_CLIENT = frozenset(("close", "now", "graph.activate", "jobs.portion", "rollout.flush"))
