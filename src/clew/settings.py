"""One typed tree of settings. Nobody else reads settings from the environment or from configuration files; tokens,
keys of models and what hosts and terminals say of themselves are read where they are used, in compose and surfaces.

Path = name everywhere: `[recall] floor = 0.4` in TOML, `CLEW_RECALL__FLOOR`, `settings.recall.floor`,
`clew config show recall.floor`. Later wins: default, preset, user file, project file, environment, call.
Names that the source systems document are accepted as well: see `presets`.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clew.errors import Misconfigured
from clew.presets import DOCUMENTED, PRESET_KEY, VARIABLES, in_our_unit, preset_named
from clew.setting_values import BudgetOverrides, as_number, is_within, range_of, read, wanted_by
from clew.values import dataclass

PROJECT_FILE = ".clew.toml"
USER_FILE = "config.toml"


Narrows = Callable[[Any, Any], Any]


def _setting(
    default: Any, doc: str, *, project: bool = False, narrows: Narrows | None = None, **allowed: Any
) -> Any:
    """`project`: a project's own file may set it. Such a file comes with a cloned repository, so it may
    narrow what Clew does, never say where text is stored or sent. `narrows`: it may set it, and what counts is
    this of what stood before and what the file says: `min` of a switch, which it may only turn off, and of a
    size, `max` of a floor, `_joined` of lists. `allowed`: `choices`, or `least`, `above` and `most`, the ends of a
    number's range."""
    about = {"doc": doc, "project": project or narrows is not None, "narrows": narrows, "choices": ()}
    return field(default=default, metadata={**about, **allowed})


def _joined(before: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *said)))


def _smaller_budget(before: int, said: int) -> int:
    """0 is no size but what the work type has, and nobody knows here which of the two is less."""
    return min(before, said) or before


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoreSettings:
    """Where memories live."""

    url: str = _setting(
        "",
        "where memories live: a file, postgresql:// of a database, https:// of a Clew elsewhere, or empty: clew.db"
        " at home (also CLEW_URL)",
    )
    connections: int = _setting(8, "most connections to a PostgreSQL database, per process", least=2)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RememberSettings:
    """What may be written, and how long it stays."""

    max_chars: int = _setting(500_000, "longest content of one memory, in characters", least=1)
    working_ttl_hours: float = _setting(24.0, "how long a working memory lives", project=True, above=0, most=8_760)
    working_max: int = _setting(200, "working memories kept per user", least=1)
    strict_token_rule: bool = _setting(True, "the bare word 'token' makes a memory confidential")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecallSettings:
    """How much is found, and by what evidence."""

    limit: int = _setting(
        10, "results of one recall when the caller names no limit", project=True, least=1, most=1_000
    )
    minimal_limit: int = _setting(
        4, "results of one recall that the planner keeps minimal", project=True, least=1, most=1_000
    )
    floor: float = _setting(0.0, "least relevance of a result, 0 to 1", project=True, least=0, most=1)
    retrieval: str = _setting(
        "hybrid", "what evidence to use", project=True, choices=("lexical", "semantic", "hybrid")
    )
    rules_limit: int = _setting(50, "rules shown at most with one recall", project=True, least=0)
    read_model_mb: int = _setting(512, "memory for search indices; as much for vectors of larger scopes", least=0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankSettings:
    """What the last look at the best candidates takes into account. Each can be switched off by itself."""

    refine: bool = _setting(True, "order the best candidates by more than their words and meaning", project=True)
    neighbours: bool = _setting(True, "look at what was said just before and after", project=True)
    threads: bool = _setting(True, "prefer threads in which much was found", project=True)
    authors: bool = _setting(True, "read the name of an author as whose words are asked for", project=True)
    times: bool = _setting(True, "read dates in a question, and what asks for a time", project=True)
    titles: bool = _setting(True, "prefer memories whose title the question names", project=True)
    hops: bool = _setting(True, "follow rare words from the best candidates to what else is asked", project=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbedSettings:
    """What makes vectors, and how its cosines are read."""

    provider: str = _setting(
        "static", "which model makes vectors", choices=("static", "minilm", "endpoint", "none")
    )
    url: str = _setting("", "base address of an OpenAI-compatible endpoint, with provider 'endpoint'")
    model: str = _setting("", "model name at the endpoint")
    dim: int = _setting(0, "length of the endpoint's vectors", least=0)
    key_env: str = _setting("CLEW_EMBED_KEY", "environment variable that holds the endpoint's key")
    timeout_s: float = _setting(10.0, "how long one request to the endpoint may take", above=0, most=600)
    batch: int = _setting(64, "texts per request to the endpoint", least=1)
    unrelated: float = _setting(0.1, "cosine of unrelated texts under the endpoint's model", least=-1, most=1)
    same: float = _setting(0.8, "cosine of texts that say the same under the endpoint's model", least=-1, most=1)
    threads: int = _setting(2, "threads of the MiniLM model", least=1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GraphSettings:
    """Defaults follow engram.md 9, except that the graph and its decay are on. A project may switch the graph
    and bound its walks; how scores come about, what is kept and what is measured is the user's."""

    write: bool = _setting(True, "keep the graph up to date on every write", project=True)
    recall: bool = _setting(True, "let recall walk the graph", project=True)
    assist: bool = _setting(True, "let the graph assist plan full, too", project=True)
    planner: bool = _setting(True, "plan how much to recall, in mode auto")
    broad_intent: bool = _setting(True, "questions such as 'what led to' make the planner choose the graph")
    assist_min_seeds: int = _setting(
        3, "seeds that plan full needs before the graph assists it", project=True, least=1
    )
    max_steps: int = _setting(3, "edges walked from a seed at most", project=True, least=0, most=8)
    max_seeds: int = _setting(10, "results a walk starts from at most", project=True, least=1, most=64)
    max_expanded: int = _setting(30, "memories a walk adds at most", project=True, least=1, most=500)
    min_seed_score: float = _setting(0.3, "least relevance of a seed", project=True, least=0, most=1)
    confidence_floor: float = _setting(0.2, "edges below it are not walked", project=True, least=0, most=1)
    iterations: int = _setting(8, "rounds of refinement after a walk", project=True, least=0, most=100)
    decay: float = _setting(0.7, "share of activation that one edge passes on", least=0, most=1)
    inhibition: bool = _setting(True, "strongly activated memories dampen weaker ones")
    inhibition_beta: float = _setting(0.15, "how strongly memories dampen weaker ones", least=0, most=1)
    inhibition_top_m: int = _setting(7, "how many stronger memories dampen one", least=0, most=1_000)
    activation_weight: float = _setting(0.65, "activation's part in a blended score", least=0, most=1)
    blend_min: float = _setting(0.05, "least blended score", least=0, most=1)
    blend_max: float = _setting(0.95, "greatest blended score", least=0, most=1)
    refinement: str = _setting(
        "personalised", "refine towards the seeds, or as Engram does", choices=("personalised", "compat")
    )
    fan_out: int = _setting(64, "edges followed from one node at most", project=True, least=1, most=10_000)
    entity_edges: bool = _setting(True, "connect memories about the same entity")
    time_edges: bool = _setting(True, "connect memories that follow each other")
    causal_edges: bool = _setting(True, "connect cause and effect")
    mention_edges: bool = _setting(True, "connect a memory with what it mentions")
    max_entity_edges: int = _setting(10, "entity edges written for one memory at most", least=0, most=100)
    session_adjacency: bool = _setting(True, "outside a thread, the session's previous memory is the predecessor")
    edge_decay: bool = _setting(True, "edges that nothing reinforces lose confidence")
    decay_cadence_hours: float = _setting(168.0, "how often edges are looked through for decay", above=0)
    decay_window_days: float = _setting(90.0, "how long an edge keeps its confidence", above=0)
    decay_per_window: float = _setting(0.1, "confidence lost per window", least=0, most=1)
    decay_floor: float = _setting(0.1, "confidence that decay leaves", least=0, most=1)
    visibility_threshold: float = _setting(0.2, "decay reports edges below it as faded", least=0, most=1)
    snapshot: bool = _setting(False, "write a snapshot file about each recall that walked the graph")
    snapshots_kept: int = _setting(20, "how many snapshot files are kept", least=1, most=1_000)
    shadow: bool = _setting(False, "return what recall finds without the graph, record what it would add")
    shadow_sample: float = _setting(0.1, "share of recalls that are compared in the shadow", least=0, most=1)
    explain: bool = _setting(True, "results say by which way the graph led to them", project=True)
    explain_tool: bool = _setting(True, "let one ask what the graph did in the last recall: clew graph explain")
    expand_depth: int = _setting(1, "edges between a result and what is appended", project=True, least=0, most=2)
    expand_limit: int = _setting(8, "memories appended at most", project=True, least=1, most=50)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InjectSettings:
    """Defaults are Rensei's (rensei.md R-090). What the org and the project allow is stored: `clew project`."""

    enabled: bool = _setting(True, "look for something to inject on tool calls", narrows=min)
    runtime: bool = _setting(
        True, "push blocks to running sessions, where the project's switch is on as well", narrows=min
    )
    org_overrides: BudgetOverrides = _setting(
        BudgetOverrides(), 'tokens of memories at the start, by org and work type: {"acme": {"feature": 300}}'
    )
    latency_ms: int = _setting(
        100, "how long a tool call's injection may take at most", narrows=min, least=1, most=10_000
    )
    floor: float = _setting(0.4, "least relevance of what is injected on a tool call", narrows=max, least=0, most=1)
    budget_tokens: int = _setting(
        200, "tokens injected per tool call; 0: what the work type has", narrows=_smaller_budget, least=0
    )
    max_suggestions: int = _setting(3, "memories injected per tool call at most", narrows=min, least=1, most=50)
    skip_tools: tuple[str, ...] = _setting(
        ("TodoWrite", "BashOutput"), "tools that are never looked at", narrows=_joined
    )
    extra_skip_tools: tuple[str, ...] = _setting((), "more tools that are never looked at", narrows=_joined)
    disabled_for_agents: tuple[str, ...] = _setting((), "agents that get nothing on tool calls", narrows=_joined)
    work_type: str = _setting("feature", "the work type of a session that names none", project=True)
    threads: int = _setting(8, "tool calls looked at at once; when all are stuck, nothing is", least=1, most=64)
    start_floor: float = _setting(0.2, "least relevance of what is injected at the start", least=0, most=1)
    start_candidates: int = _setting(20, "memories considered for the start", least=1, most=500)
    max_rules: int = _setting(5, "rules at the head of the start block at most", least=0, most=50)
    summaries: bool = _setting(False, "tell of related past sessions at the start")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeliverSettings:
    """Defaults follow rensei.md 2.9 and 2.10."""

    beat_s: float = _setting(30.0, "how often a worker says it is alive", above=0, most=3_600)
    lease_s: float = _setting(90.0, "how long a silent worker keeps its session", above=0, most=86_400)
    max_attempts: int = _setting(20, "deliveries of one inject before it is given up", least=1, most=10_000)
    max_pending: int = _setting(32, "injects that wait in one session at most", least=1, most=10_000)
    max_text_bytes: int = _setting(16_384, "length of one inject at most", least=1)
    late_ack_s: float = _setting(
        3_600.0, "how long after its end a session's delivery may be acknowledged", least=0, most=31_536_000
    )
    redeliver_on_new_epoch: bool = _setting(False, "a new agent process gets the start block again")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnSettings:
    """Defaults follow rensei.md 2.3, 2.4 and its contradictions C-10, C-17, C-18."""

    weighting: bool = _setting(True, "let weights order what is injected; off, they are still learnt and logged")
    alpha_success: float = _setting(0.1, "how far an accepted session moves a memory's weight", least=0, most=1)
    alpha_failure: float = _setting(0.15, "how far a failed session moves a memory's weight", least=0, most=1)
    alpha_graph: float = _setting(0.1, "how far a session moves the weight of a node or edge", least=0, most=1)
    rework_score: float = _setting(0.0, "what rework says about a memory, 0 to 1", least=0, most=1)
    graph_rework_score: float = _setting(0.5, "what rework says about a node or edge, 0 to 1", least=0, most=1)
    undelivered: str = _setting(
        "full", "what an outcome teaches about text the agent never saw", choices=("full", "scaled", "off")
    )
    ranking: str = _setting(
        "weight", "multiply by the weight, or let weights also lift", choices=("weight", "neutral")
    )
    retire_below: float = _setting(0.1, "weight below which a memory is no longer injected", least=0, most=1)
    retire_samples: int = _setting(5, "outcomes before a memory can be retired", least=1)
    explore: float = _setting(0.0, "chance that a little-tried memory takes the last place", least=0, most=1)
    transfer_multiplier: float = _setting(0.5, "what a memory of another project counts", least=0, most=1)
    transfer_apply_to: str = _setting("both", "what the multiplier applies to", choices=("both", "weight"))
    transfer_threshold: float = _setting(0.7, "least likeness of two projects' technology", least=0, most=1)
    transfer_ignore_versions: bool = _setting(False, "compare technology without versions")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RelateSettings:
    """What happens after a write. Defaults follow memories_sh.md 4, 5.3 and 13."""

    in_process: bool = _setting(True, "do the jobs that writes leave behind while this process lives")
    similarity_threshold: float = _setting(
        0.85, "least likeness of two memories that are connected as similar", least=0, most=1
    )
    max_k: int = _setting(20, "nearest memories that are looked at after a write", least=0, most=200)
    max_similar: int = _setting(5, "memories that one is connected with as similar at most", least=0, most=50)
    rules: bool = _setting(True, "look for contradictions by rules, without a language model")
    max_attempts: int = _setting(5, "how often a job is tried before it is set aside", least=1, most=100)
    retry_base_s: float = _setting(
        1.0, "pause before the second attempt; doubled for each further", above=0, most=60
    )
    retry_max_s: float = _setting(60.0, "longest pause between two attempts", above=0, most=3_600)
    lease_s: float = _setting(300.0, "how long a job may take before another worker tries it", above=0, most=86_400)
    backfill_batch: int = _setting(64, "memories that get their vectors at once when they are made up for", least=1)
    backfill_pause_ms: int = _setting(25, "pause between two such batches", least=0, most=60_000)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LlmSettings:
    """Relations found by a language model; off until configured. Defaults follow memories_sh.md 5 and 13."""

    enabled: bool = _setting(False, "let a language model look for relations between memories")
    provider: str = _setting("openai", "whose interface the endpoint speaks", choices=("openai", "anthropic"))
    url: str = _setting("", "base address of the endpoint; empty: the provider's own")
    model: str = _setting("", "model name at the endpoint")
    key_env: str = _setting("CLEW_LLM_KEY", "environment variable that holds the endpoint's key")
    timeout_s: float = _setting(30.0, "how long one request may take", above=0, most=600)
    min_similarity: float = _setting(0.70, "least likeness of a pair that is judged", least=0, most=1)
    max_similarity: float = _setting(0.90, "greatest likeness of a pair that is judged", least=0, most=1)
    pair_confidence: float = _setting(0.70, "least confidence of a judgement that counts", least=0, most=1)
    context_limit: int = _setting(20, "recent memories that relations are looked for to", least=0, most=100)
    semantic_confidence: float = _setting(0.60, "least confidence of a relation that counts", least=0, most=1)
    min_chars: int = _setting(20, "length from which a text is looked through for relations", least=0)
    max_classification: str = _setting(
        "internal", "highest label of a memory that is sent", choices=("public", "internal", "confidential")
    )
    daily_tokens: int = _setting(1_000_000, "tokens that an org may use per day; 0: none at all", least=0)
    calls_per_minute: int = _setting(60, "requests that an org may make per minute", least=1)
    input_price: float = _setting(0.0, "price of a million tokens sent, for the readout", least=0)
    output_price: float = _setting(0.0, "price of a million tokens received, for the readout", least=0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RolloutSettings:
    """Defaults follow memories_sh.md 7. The mode itself is stored per org: `clew rollout set`."""

    window_hours: float = _setting(24.0, "length of the two windows that the gate compares", least=1, most=168)
    autopilot: bool = _setting(False, "move from off to shadow to canary when the plan recommends it")
    strategy_autopilot: bool = _setting(
        True, "let two ready windows make the graph the default, and a bad one take it back"
    )
    keep_days: float = _setting(7.0, "how long counted requests are kept", least=2, most=365)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServeSettings:
    """The server. Where it listens is said when it is started, not here."""

    max_body_kb: int = _setting(1_024, "largest body of a request", least=1, most=1_048_576)
    rate_per_s: float = _setting(1_000.0, "requests per second that one credential may make", above=0)
    burst: int = _setting(2_000, "requests that one credential may make at once", least=1)
    connections_per_address: int = _setting(
        64, "connections that one address may have on the network", least=1, most=256
    )
    threads: int = _setting(8, "requests worked on at the same time", least=1, most=256)
    answer_tokens: int = _setting(2_000, "size of an answer over MCP, unless one is named", least=200, most=20_000)
    shutdown_s: float = _setting(10.0, "how long a stop waits for requests under way", least=0, most=600)
    oldest_job_s: float = _setting(600.0, "a job due for longer, while none is done, means not ready", above=0)
    hosts: tuple[str, ...] = _setting((), "names under which clients reach this server on the network")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HookSettings:
    """What the hooks of agents are answered, and what is kept of what they tell."""

    inject: bool = _setting(True, "let hooks bring memories to the agent", narrows=min)
    capture: bool = _setting(True, "keep prompts, edits, commands, errors and decisions of agents", narrows=min)
    answer_ms: int = _setting(600, "how long a hook waits for its block at most", least=1, most=30_000)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Settings:
    """Every section, and where each value came from that is not a default."""

    home: Path
    store: StoreSettings = StoreSettings()
    remember: RememberSettings = RememberSettings()
    recall: RecallSettings = RecallSettings()
    rank: RankSettings = RankSettings()
    embed: EmbedSettings = EmbedSettings()
    graph: GraphSettings = GraphSettings()
    inject: InjectSettings = InjectSettings()
    deliver: DeliverSettings = DeliverSettings()
    learn: LearnSettings = LearnSettings()
    relate: RelateSettings = RelateSettings()
    llm: LlmSettings = LlmSettings()
    rollout: RolloutSettings = RolloutSettings()
    serve: ServeSettings = ServeSettings()
    hooks: HookSettings = HookSettings()
    project: str | None = None  # named by the project file
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def items(self) -> Iterator[tuple[str, Any, str, str]]:
        """(path, value, where it came from, what it means) for every setting."""
        for path, meta in _known().items():
            section, name = path.split(".")
            yield path, getattr(getattr(self, section), name), self.sources.get(path, "default"), meta["doc"]


_SECTIONS: Mapping[str, type[Any]] = {
    "store": StoreSettings,
    "remember": RememberSettings,
    "recall": RecallSettings,
    "rank": RankSettings,
    "embed": EmbedSettings,
    "graph": GraphSettings,
    "inject": InjectSettings,
    "deliver": DeliverSettings,
    "learn": LearnSettings,
    "relate": RelateSettings,
    "llm": LlmSettings,
    "rollout": RolloutSettings,
    "serve": ServeSettings,
    "hooks": HookSettings,
}
# Names that stand outside the tree: where it begins, and short forms of common settings.
_SPECIAL = (
    "CLEW_HOME", "CLEW_URL", "CLEW_PROJECT", "CLEW_PRESET", "CLEW_TOKEN", "CLEW_EMBED_KEY", "CLEW_LLM_KEY",
    "CLEW_DEBUG",
)  # fmt: skip
_TOP_LEVEL = ("project", PRESET_KEY)  # keys of a file that are no settings


def load_settings(
    overrides: Mapping[str, Any] = MappingProxyType({}),
    *,
    home: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    directory: Path | None = None,
) -> Settings:
    """Read every source in order. An unknown key is refused with the nearest known one."""
    home = home or home_directory(environ)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    of_project = _project_layer(directory)
    layers = [
        (str(home / USER_FILE), _flat(_read_toml(home / USER_FILE), str(home / USER_FILE))),
        *of_project,
        *_variables_of_the_sources(environ),
        ("environment", _from_environment(environ)),
        ("call", _flat(dict(overrides), "call")),
    ]
    _check_project(layers)
    project = _taken("project", layers)
    preset, preset_values = preset_named(_taken(PRESET_KEY, layers) or "")
    for source, layer in [(f"preset {preset}", preset_values), *layers]:
        for path, value in layer.items():
            parsed = _parsed(path, value, source)
            narrows = _meta(path)["narrows"] if (source, layer) in of_project else None
            if narrows is not None:
                before = values.get(path, _meta(path)["default"])
                parsed = narrows(before, parsed)
                if parsed == before:
                    continue
            values[path], sources[path] = parsed, source
    return _assembled(home, values, sources, project)


def _check_project(layers: Iterable[tuple[str, dict[str, Any]]]) -> None:
    for source, layer in layers:
        if not isinstance(value := layer.get("project"), str | None):
            raise Misconfigured(
                f"{source}: project is {str(value)[:40]!r}, expected {wanted_by('str')}",
                code="SETTING_INVALID",
                next='write it in quotes: project = "NAME"',
            )


def _taken(key: str, layers: Iterable[tuple[str, dict[str, Any]]]) -> Any:
    """Remove a key that is no setting from every layer; the last one that has it decides."""
    found = [layer.pop(key) for _source, layer in layers if key in layer]
    return found[-1] if found else None


def home_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """CLEW_HOME, or where this platform keeps data of programs."""
    if environ.get("CLEW_HOME"):
        return Path(environ["CLEW_HOME"]).expanduser().absolute()
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/clew").expanduser()
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / "clew"
    return Path(environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "clew"


def find_project_file(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        if (folder / PROJECT_FILE).is_file():
            return folder / PROJECT_FILE
    return None


def project_named_in(file: Path) -> str | None:
    """What a project file calls its project, if it says so; '' says that there is none."""
    named = _read_toml(file).get("project")
    return named or None if isinstance(named, str) else None


def _project_layer(directory: Path | None) -> list[tuple[str, dict[str, Any]]]:
    file = find_project_file(directory) if directory else None
    if file is None:
        return []
    layer = _flat(_read_toml(file), str(file))
    for path in layer:
        if path not in _TOP_LEVEL and not _meta(path)["project"]:
            raise Misconfigured(
                f"{file} may not set {path}",
                code="SETTING_NOT_FOR_PROJECTS",
                next="move it to your own config.toml (clew config show tells where) or the environment",
            )
    return [(str(file), layer)]


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors begin with a byte order mark
        import tomllib  # only for a file that is there: it would cost every start some milliseconds

        return tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):  # the store will say so where it matters
        return {}
    except RecursionError:
        raise Misconfigured(
            f"{file} is nested too deeply", code="CONFIG_UNREADABLE", next="correct the file"
        ) from None
    except (OSError, ValueError) as error:  # not UTF-8 and not TOML are both ValueErrors
        told, move = (
            (error.strerror, "make it a file that you may read, and its directory, too")
            if isinstance(error, OSError)
            else (error, "correct the file")
        )
        raise Misconfigured(f"{file} cannot be read: {told}", code="CONFIG_UNREADABLE", next=move) from error


def _variables_of_the_sources(environ: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"environment variable {name}", {path: _in_unit(name, environ[name])})
        for name, path in VARIABLES.items()
        if environ.get(name)
    ]


def _in_unit(documented: str, value: str) -> Any:
    """What is no number is left for `_parsed` to refuse."""
    number = as_number(float, value)
    return value if number is None or in_our_unit(documented, number) == number else in_our_unit(documented, number)


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in sorted(environ.items()):
        if name == "CLEW_URL" and value:
            found["store.url"] = value
        elif name == "CLEW_PROJECT" and value:
            found["project"] = value
        elif name == "CLEW_PRESET" and value:
            found[PRESET_KEY] = value
        elif name.startswith("CLEW_") and "__" in name:
            path = name.removeprefix("CLEW_").lower().replace("__", ".")
            _meta(path, f"environment variable {name}")
            found[path] = value
        elif name.startswith("CLEW_") and name not in _SPECIAL:
            _refuse_typing_error(name)
    return found


def _refuse_typing_error(name: str) -> None:
    """CLEW_HOM and CLEW_RECALL_FLOOR are mistakes worth stopping for; a name that resembles none of ours may be
    somebody else's."""
    settings = (f"CLEW_{path.upper().replace('.', '__')}" for path in _known())
    near = [one for one in settings if one.replace("__", "_") == name] or _nearest(name, _SPECIAL, cutoff=0.8)
    if near:
        raise Misconfigured(
            f"there is no environment variable {name}",
            code="SETTING_UNKNOWN",
            next=f"did you mean {near[0]}?",
        )


def _flat(tree: Mapping[str, Any], source: str) -> dict[str, Any]:
    """{'recall': {'floor': 0.4}} and {'recall.floor': 0.4} both become the latter."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and key not in DOCUMENTED:
            flat |= {f"{key}.{name}": item for name, item in value.items()}
        else:
            flat[key] = value
    flat = _in_our_names(flat, source)
    for path in flat:
        if path not in _TOP_LEVEL:
            _meta(path, source)
    return flat


def _in_our_names(flat: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Documented names become ours. In one place our own name wins over a documented one; of two documented
    switches for one setting, the one that is on."""
    translated: dict[str, Any] = {}
    for name in (name for name in flat if name in DOCUMENTED):
        path = DOCUMENTED[name]
        value = _parsed(path, _clamped(name, flat[name]), f"{source}, {name}")
        translated[path] = value or translated.get(path, value)
    return translated | {path: value for path, value in flat.items() if path not in DOCUMENTED}


def _clamped(documented: str, value: Any) -> Any:
    """Under a documented name a number is cut to its range, as its source does, and to a whole one if it must
    be; under our own name it would be refused. What is no number is left for `_parsed` to refuse."""
    meta = _meta(DOCUMENTED[documented])
    number = None if meta["type"] == "bool" else as_number(float, value)
    if number is None:
        return value
    number = in_our_unit(documented, number)
    number = max(meta.get("least", number), min(number, meta.get("most", number)))
    return math.floor(number) if meta["type"] == "int" else number


def _meta(path: str, source: str = "") -> Mapping[str, Any]:
    known = _known()
    if path in known:
        return known[path]
    near = _nearest(path, [*known, *DOCUMENTED, *_TOP_LEVEL])
    raise Misconfigured(
        f"{source + ': ' if source else ''}there is no setting '{path}'",
        code="SETTING_UNKNOWN",
        next=f"did you mean '{near[0]}'?" if near else "list them: clew config show",
    )


@cache
def _known() -> Mapping[str, Mapping[str, Any]]:
    return {
        f"{section}.{entry.name}": {**entry.metadata, "type": entry.type, "default": entry.default}
        for section, cls in _SECTIONS.items()
        for entry in fields(cls)
    }


def _parsed(path: str, value: Any, source: str) -> Any:
    meta = _meta(path, source)
    parsed = read(value, meta["type"])
    if parsed is None or (meta["choices"] and parsed not in meta["choices"]) or not is_within(parsed, meta):
        if source == "environment":
            source = f"environment variable CLEW_{path.upper().replace('.', '__')}"
        expected = " or ".join(meta["choices"]) or f"{wanted_by(meta['type'])}{range_of(meta)}"
        raise Misconfigured(
            f"{source}: {path} is {str(value)[:40]!r}, expected {expected}",
            code="SETTING_INVALID",
            next=f"correct {path}",
        )
    return parsed


def _assembled(home: Path, values: Mapping[str, Any], sources: dict[str, str], project: str | None) -> Settings:
    settings = Settings(home=home, project=project, sources=MappingProxyType(sources))
    for section, cls in _SECTIONS.items():
        changed = {path.split(".", 1)[1]: value for path, value in values.items() if path.startswith(section + ".")}
        if changed:
            settings = replace(settings, **{section: replace(cls(), **changed)})
    _check_scale(settings.embed)
    return settings


def _check_scale(embed: EmbedSettings) -> None:
    if embed.unrelated >= embed.same:
        raise Misconfigured(
            f"embed.unrelated is {embed.unrelated}, not below embed.same, {embed.same}",
            code="SETTING_INVALID",
            next="measure both: the cosine of texts that have nothing in common, and of texts that say the same",
        )


def _nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    from difflib import get_close_matches  # only mistakes need it

    return get_close_matches(name, list(known), n=1, cutoff=cutoff)
