"""Configuration, orgs and their members, as answers show them."""

from __future__ import annotations

from typing import Any, Literal

from clew.surfaces.http.shapes.common import ABSENT, Maybe, Shape, When

Role = Literal["owner", "admin", "member", "reviewer"]


class ProjectSwitches(Shape, frozen=True, kw_only=True):
    project: str
    memory_enabled: bool
    graph_enabled: bool | None
    runtime_inject_enabled: bool
    version: int


class ProjectsShown(Shape, frozen=True, kw_only=True):
    projects: list[ProjectSwitches]


class FeaturesShown(Shape, frozen=True, kw_only=True):
    kg_enabled: bool
    feedback_weighting_disabled: bool


class ProjectGate(Shape, frozen=True, kw_only=True):
    open: bool
    reason: str
    words: str


class ProjectShown(ProjectSwitches, frozen=True, kw_only=True):
    org_features: FeaturesShown
    gates: dict[str, ProjectGate]
    work_types: dict[str, ProjectGate]


class WorkTypeShown(Shape, frozen=True, kw_only=True):
    graph_enabled: bool
    observation_budget: int
    graph_budget: int
    top_k: int
    depth: int
    sources: dict[str, str]
    work_type: str
    org: str | Maybe = ABSENT  # absent: of a row for all orgs


class MatrixShown(Shape, frozen=True, kw_only=True):
    matrix: list[WorkTypeShown]


class SettingShown(Shape, frozen=True, kw_only=True):
    path: str
    value: Any
    source: str
    doc: str


class SettingsShown(Shape, frozen=True, kw_only=True):
    settings: list[SettingShown]


class OrgsShown(Shape, frozen=True, kw_only=True):
    orgs: list[str]


class OrgShown(Shape, frozen=True, kw_only=True):
    id: str
    slug: str
    name: str
    created_by: str
    created_at: When


class MemberShown(Shape, frozen=True, kw_only=True):
    """Without a user: the owner of this machine's `local`."""

    role: Role
    user: str | Maybe = ABSENT


class MembersShown(Shape, frozen=True, kw_only=True):
    org: str
    members: list[MemberShown]


class MemberRemoved(Shape, frozen=True, kw_only=True):
    org: str
    removed: bool
    user: str | Maybe = ABSENT


class MappingShown(Shape, frozen=True, kw_only=True):
    owner: str
    org: str


class MembershipShown(Shape, frozen=True, kw_only=True):
    org: str
    slug: str
    role: Role


class RoutingShown(Shape, frozen=True, kw_only=True):
    mode: Literal["auto", "active_workspace"]
    mappings: list[MappingShown]
    member_of: list[MembershipShown]
    active: str | Maybe = ABSENT


class RoutedShown(Shape, frozen=True, kw_only=True):
    org: str
    reason: str
    words: str
    passed: list[str]
    role: str | Maybe = ABSENT
