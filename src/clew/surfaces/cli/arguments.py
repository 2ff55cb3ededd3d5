"""Options that several commands share, as data: argparse and shell completion are both made from them.

Nothing here imports the core: `clew --help` must not wait for numpy. The words of closed lists are therefore
repeated here, and a test compares them with the model. Most are suggested, not enforced: the core refuses
an unknown one with a stable code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

TYPES = ("rule", "decision", "fact", "note", "skill")
LAYERS = ("rule", "working", "long_term")
CLASSIFICATIONS = ("public", "internal", "confidential", "restricted")
MODES = ("all", "working", "long_term", "rules_only")
RETRIEVALS = ("lexical", "semantic", "hybrid")
PLANS = ("auto", "no_recall", "minimal", "full", "graph_mode")
FORMATS = ("text", "markdown", "json")
FILES = ("<file>",)  # complete with file names
TIME_FORMS = (  # at the end of the help of every command that takes one
    "TIME: a date such as 2026-05-01 (midnight UTC), a moment such as 2026-05-01T12:00:00Z, or, for what lies "
    "behind us, an age: 90s, 15m, 12h, 30d, 2w"
)


class Arg(NamedTuple):
    """One argument: its flags (or name), what argparse needs, and what completion offers as values."""

    flags: tuple[str, ...]
    options: dict[str, Any]
    suggest: tuple[str, ...] = ()

    @property
    def is_option(self) -> bool:
        return self.flags[0].startswith("-")

    @property
    def takes_value(self) -> bool:
        return self.options.get("action") != "store_true"


def arg(*flags: str, suggest: tuple[str, ...] = (), **options: Any) -> Arg:
    return Arg(flags, options, suggest)


def switch(flag: str, help: str, **options: Any) -> Arg:
    return Arg((flag,), {"action": "store_true", "help": help, **options})


MOST = 2**62  # what a database can hold


def number(text: str) -> int:
    """A whole number from 0; the core knows the upper end."""
    value = int(text)
    if not 0 <= value <= MOST:
        raise ValueError(text)
    return value


def count(text: str) -> int:
    """The same from 1."""
    value = number(text)
    if value < 1:
        raise ValueError(text)
    return value


def counts(text: str) -> list[int]:
    return [count(part) for part in text.split(",")]


def seconds(text: str) -> float:
    """From 0."""
    value = float(text)
    if not 0 <= value <= MOST:
        raise ValueError(text)
    return value


def fraction(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError(text)
    return number


WANTED: dict[Any, str] = {  # of a value that a type above refuses
    number: "a whole number from 0",
    count: "a whole number from 1",
    counts: "whole numbers with commas between them, each from 1",
    seconds: "a number from 0",
    fraction: "a number from 0 to 1",
    int: "a whole number",
    float: "a number",
}
COMMON = (
    switch("--json", "print one JSON document"),
    arg("--home", metavar="DIR", suggest=FILES, help="where memories live (like CLEW_HOME)"),
)
PROJECT = (
    arg("--project", metavar="P", help="the project (default: CLEW_PROJECT, .clew.toml, or the git repository)"),
    switch("--no-project", "no project: what all of them share"),
)
USER = (arg("--user", metavar="U", help="the user whose memories they are (default: shared)"),)
SCOPE = PROJECT + USER
ID_SCOPE = (
    arg("--project", metavar="P", help="as seen from this project: what belongs to it or to none (default: all)"),
    switch("--no-project", "only what belongs to no project"),
    arg(
        "--user",
        metavar="U",
        help="as this user sees it: what is theirs or shared, in all projects or P",
    ),
)
PROVENANCE = (
    arg("--agent", metavar="A", help="the agent"),
    arg("--session", metavar="S", help="the session"),
    arg("--namespace", metavar="N", help="the namespace"),
)
TIMES = (
    arg("--at", metavar="TIME", help="when it happened"),
    arg("--valid-at", metavar="TIME", help="since when it holds"),
    arg("--invalid-at", metavar="TIME", help="until when it holds (a date or a moment)"),
    arg("--expires-at", metavar="TIME", help="when to drop it (a date or a moment)"),
)
_DETAILS = (
    arg("--tag", metavar="X", action="append", help="a tag; may be repeated"),
    arg("--title", help="a title of one line"),
    arg("--category", help="a category"),
    arg("--path", action="append", suggest=FILES, help="a file it is about; may be repeated"),
    arg("--author", help="who said it"),
    arg("--thread", help="the conversation or ticket it comes from"),
    *TIMES,
    arg("--confidence", metavar="F", type=float, help="how sure, 0 to 1"),
    arg(
        "--weight",
        metavar="F",
        type=float,
        help="how much it counts in ranking (1); more is given by who configures the org",
    ),
    arg(
        "--classification",
        metavar="C",
        suggest=CLASSIFICATIONS,
        help=f"{', '.join(CLASSIFICATIONS)}; an owner's counts for more than what the words suggest",
    ),
    arg("--upsert-key", metavar="KEY", help="replace the live memory with the same key"),
    arg("--metadata", metavar="JSON", help="a JSON object"),
)


def _type_and_layer(type_default: str = "", layer_default: str = "") -> tuple[Arg, Arg]:
    return (
        arg("--type", metavar="T", suggest=TYPES, help=f"{', '.join(TYPES)}{type_default}"),
        arg("--layer", metavar="L", suggest=LAYERS, help=f"{', '.join(LAYERS)}{layer_default}"),
    )


# What can be said about a memory when it is written, and changed when it is edited.
NEW_FIELDS = (*_type_and_layer(" (default: note)", " (default: rule for a rule, else long_term)"), *_DETAILS)
FIELDS = (*_type_and_layer(), *_DETAILS)
LIMIT = arg("--limit", metavar="N", type=count,
            help="how many results at most; rules come on top (default: the setting recall.limit, 10)")  # fmt: skip
PLAN = arg("--plan", metavar="M", suggest=PLANS,
           help=f"how much to recall: {', '.join(PLANS)}; with auto the planner decides (full)")  # fmt: skip
RECALL = (
    LIMIT,
    arg("--mode", metavar="M", suggest=MODES, help=f"{', '.join(MODES)} (default: all)"),
    arg("--retrieval", metavar="R", suggest=RETRIEVALS,
        help=f"{', '.join(RETRIEVALS)} (default: the setting recall.retrieval, hybrid)"),
    arg("--type", metavar="T", action="append", suggest=TYPES, help="only this type; may be repeated"),
    arg("--tag", metavar="X", action="append", help="only with this tag; may be repeated"),
    arg("--as-of", metavar="TIME", help="what held at that time (default: now)"),
    switch("--include-superseded", "also what was replaced"),
    switch("--include-invalid", "also what no longer holds"),
    arg("--floor", metavar="F", type=fraction, help="least relevance, 0 to 1"),
    switch("--no-rules", "leave the rules out"),
    PLAN,
    switch("--no-graph", "without the graph"),
    switch("--include-low-confidence", "let the graph also use edges that are barely believed"),
    *PROVENANCE,
)  # fmt: skip
FILTER = (
    arg("--type", metavar="T", action="append", suggest=TYPES, help="only this type; may be repeated"),
    arg("--tag", metavar="X", action="append", help="only with this tag; may be repeated"),
    arg("--layer", metavar="L", suggest=LAYERS, help=f"only this layer: {', '.join(LAYERS)}"),
    *PROVENANCE,
    arg("--older-than", "--before", dest="before", metavar="TIME", help="only what was written before then"),
    arg("--pattern", metavar="GLOB", help="a glob found anywhere in the content"),
    switch("--all-projects", "in every project"),
)
DRY_RUN = switch("--dry-run", "only tell what would happen")
YES = switch("--yes", "do not ask")
