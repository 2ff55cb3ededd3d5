"""The verbs by topic: `clew.graph.neighbors(...)`, `clew.jobs.list()`. Each topic is made when first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clew.lazy import LazyModule, made_once

if TYPE_CHECKING:
    from clew.clew import Clew
    from clew.verbs import config as config_verbs
    from clew.verbs import govern as govern_verbs
    from clew.verbs import graph as graph_verbs
    from clew.verbs import guard as guard_verbs
    from clew.verbs import hosts as host_verbs
    from clew.verbs import inject as inject_verbs
    from clew.verbs import jobs as job_verbs
    from clew.verbs import keys as key_verbs
    from clew.verbs import learn as learn_verbs
    from clew.verbs import orgs as org_verbs
    from clew.verbs import relate as relate_verbs
    from clew.verbs import rollout as rollout_verbs
    from clew.verbs import sessions as session_verbs
else:
    host_verbs, key_verbs = LazyModule("clew.verbs.hosts"), LazyModule("clew.verbs.keys")
    config_verbs, govern_verbs, graph_verbs, guard_verbs, inject_verbs, job_verbs = (
        LazyModule(f"clew.verbs.{name}") for name in ("config", "govern", "graph", "guard", "inject", "jobs")
    )
    learn_verbs, org_verbs, relate_verbs, rollout_verbs, session_verbs = (
        LazyModule(f"clew.verbs.{name}") for name in ("learn", "orgs", "relate", "rollout", "sessions")
    )


class Topics:
    """What class Clew has besides its own verbs."""

    @made_once
    def graph(self) -> graph_verbs.GraphVerbs:
        return graph_verbs.GraphVerbs(cast("Clew", self))

    @made_once
    def sessions(self) -> session_verbs.Sessions:
        return session_verbs.Sessions(cast("Clew", self))

    @made_once
    def queue(self) -> session_verbs.Queue:
        return session_verbs.Queue(cast("Clew", self))

    @made_once
    def inject(self) -> inject_verbs.Injection:
        return inject_verbs.Injection(cast("Clew", self))

    @made_once
    def learn(self) -> learn_verbs.Learning:
        return learn_verbs.Learning(cast("Clew", self))

    @made_once
    def projects(self) -> config_verbs.Projects:
        return config_verbs.Projects(cast("Clew", self))

    @made_once
    def matrix(self) -> config_verbs.Matrix:
        return config_verbs.Matrix(cast("Clew", self))

    @made_once
    def orgs(self) -> org_verbs.Orgs:
        return org_verbs.Orgs(cast("Clew", self))

    @made_once
    def policies(self) -> guard_verbs.Policies:
        return guard_verbs.Policies(cast("Clew", self))

    @made_once
    def quarantine(self) -> guard_verbs.Quarantine:
        return guard_verbs.Quarantine(cast("Clew", self))

    @made_once
    def transfer(self) -> govern_verbs.Transfer:
        return govern_verbs.Transfer(cast("Clew", self))

    @made_once
    def audit(self) -> govern_verbs.AuditLog:
        return govern_verbs.AuditLog(cast("Clew", self))

    @made_once
    def retention(self) -> govern_verbs.Retention:
        return govern_verbs.Retention(cast("Clew", self))

    @made_once
    def jobs(self) -> job_verbs.Jobs:
        return job_verbs.Jobs(cast("Clew", self))

    @made_once
    def conflicts(self) -> relate_verbs.Conflicts:
        return relate_verbs.Conflicts(cast("Clew", self))

    @made_once
    def merges(self) -> relate_verbs.Merges:
        return relate_verbs.Merges(cast("Clew", self))

    @made_once
    def rollout(self) -> rollout_verbs.Rollout:
        return rollout_verbs.Rollout(cast("Clew", self))

    @made_once
    def keys(self) -> key_verbs.Keys:
        return key_verbs.Keys(cast("Clew", self))

    @made_once
    def hosts(self) -> host_verbs.Hosts:
        return host_verbs.Hosts(cast("Clew", self))
