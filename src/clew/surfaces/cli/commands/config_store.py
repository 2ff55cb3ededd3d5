"""Switches in the store: projects, the recall matrix, orgs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from clew.hosts.known import noted
from clew.model.address import is_shared
from clew.model.config import GateDecision, MatrixShown, ProjectConfig, ProjectShown
from clew.settings import Settings
from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, columns, one_line

_WORDS = {True: "on", False: "off", None: "not said"}


def project_list(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.projects.list()
    document = {"projects": [{"project": name, **config.as_json()} for name, config in found.items()]}
    answer(args, document, lambda style: columns(_project_rows(found)) or ["no project has memories yet"])


def project_show(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        shown, known = memory.projects.show(args.name), list(memory.projects.list())
    odd = _odd_name(args.name, known, settings)
    answer(args, shown.as_json(), lambda style: [*_project_lines(shown, style), *_warned(odd, style)])


def project_set(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        known = list(memory.projects.list())
        config = memory.projects.set(args.name, args.switch, args.value == "on")
    document = {"project": args.name, **config.as_json()}
    told = f"{args.switch} is {args.value} in {one_line(args.name)}"
    odd = _odd_name(args.name, known, settings)
    answer(args, document, lambda style: [style("green", told), *_warned(odd, style)])


def _odd_name(name: str, known: Sequence[str], settings: Settings) -> str:
    """What is wrong with a name under which nothing is: a switch there would switch nothing."""
    note = noted(settings.home, name, shared=is_shared(settings.store.url))
    if note is not None and note.project != name:
        return f"the repository '{name}' goes on as '{note.project}' on this machine: that is its project"
    if name in known:
        return ""
    near = get_close_matches(name, known, n=1)
    meant = f"did you mean '{near[0]}'?" if near else "those that are there: clew project list"
    return f"nothing is remembered in '{name}' yet; {meant}"


def _warned(odd: str, style: Style) -> list[str]:
    return [style("yellow", one_line(odd))] if odd else []


def matrix_show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.matrix.show(org=args.org)
    answer(args, {"matrix": [one.as_json() for one in found]}, lambda style: columns(_matrix_rows(found)))


def matrix_set(args: Namespace) -> None:
    fields = {
        "graph_enabled": None if args.graph is None else args.graph == "on",
        "observation_budget": args.budget,
        "graph_budget": args.graph_budget,
        "top_k": args.top_k,
        "depth": args.depth,
    }
    if all(value is None for value in fields.values()):
        raise usage("nothing is to be set", "give one of --graph, --budget, --graph-budget, --top-k, --depth")
    with opened(settings_of(args)) as memory:
        settings = memory.matrix.set(args.work_type, org=args.org, **fields)
        org = args.org or "all orgs"
    document = {"work_type": args.work_type, "org": args.org, **settings.as_json()}
    answer(args, document, lambda style: [style("green", f"{one_line(args.work_type)} is set for {one_line(org)}")])


def org_list(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        found = memory.orgs.list()
    answer(args, {"orgs": found}, lambda style: map(one_line, found))


def org_features(args: Namespace) -> None:
    given = {"kg_enabled": args.kg, "feedback_weighting": args.weighting}
    changes = {name: value == "on" for name, value in given.items() if value is not None}
    with opened(settings_of(args)) as memory:
        features = memory.orgs.features(args.name, **changes)
    lines = [
        f"graph for every project (kg): {_WORDS[features.kg_enabled]}",
        f"weighting by outcomes: {_WORDS[not features.feedback_weighting_disabled]}",
    ]
    answer(args, features.as_json(), lambda style: lines)


def _project_rows(found: dict[str, ProjectConfig]) -> Iterator[tuple[str, ...]]:
    for name, config in found.items():
        switches = (("memory", config.memory_enabled), ("graph", config.graph_enabled),
                    ("runtime-inject", config.runtime_inject_enabled))  # fmt: skip
        yield (one_line(name), *(f"{switch} {_WORDS[value]}" for switch, value in switches))


def _project_lines(shown: ProjectShown, style: Style) -> Iterator[str]:
    yield style("bold", one_line(shown.project))
    yield from (f"  {line}" for line in columns(_gate_row(name, gate) for name, gate in shown.gates))
    yield "work types"
    yield from (f"  {line}" for line in columns(_gate_row(one_line(name), gate) for name, gate in shown.work_types))


def _gate_row(name: str, gate: GateDecision) -> tuple[str, str, str, str]:
    return name, "open" if gate else "closed", gate.reason, gate.words


def _matrix_rows(found: list[MatrixShown]) -> Iterator[tuple[str, ...]]:
    for one in found:
        settings, sources = one.settings, dict(one.settings.sources)
        yield (
            one_line(one.work_type),
            f"graph {_WORDS[settings.graph_enabled]} ({sources['graph_enabled']})",
            f"budget {settings.observation_budget} ({sources['observation_budget']})",
            f"graph budget {settings.graph_budget} ({sources['graph_budget']})",
            f"top-k {settings.top_k} ({sources['top_k']})",
            f"depth {settings.depth} ({sources['depth']})",
        )
