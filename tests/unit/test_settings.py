"""Where settings come from, who may set them, and a proof for each that it changes something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clew.errors import InvalidInput, Misconfigured
from clew.settings import PROJECT_FILE, USER_FILE, find_project_file, home_directory, load_settings
from toys import ToldClock, ToyEmbedder, contents, open_toy


def load(home: Path, environ: dict[str, str] | None = None, directory: Path | None = None, **call: Any) -> Any:
    return load_settings(call, home=home, environ=environ or {}, directory=directory)


# -- where values come from ----------------------------------------------------------------------------


def test_call_beats_environment_beats_project_beats_user_file_beats_default(tmp_path: Path) -> None:
    assert load(tmp_path).recall.limit == 10
    (tmp_path / USER_FILE).write_text("[recall]\nlimit = 1")
    assert load(tmp_path).recall.limit == 1
    (tmp_path / PROJECT_FILE).write_text("[recall]\nlimit = 2")
    assert load(tmp_path, directory=tmp_path).recall.limit == 2
    environ = {"CLEW_RECALL__LIMIT": "3"}
    assert load(tmp_path, environ, tmp_path).recall.limit == 3
    assert load(tmp_path, environ, tmp_path, recall={"limit": 4}).recall.limit == 4


def test_sources_of_one_section_are_merged_key_by_key(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text("[recall]\nlimit = 7\nfloor = 0.2")
    recall = load(tmp_path, {"CLEW_RECALL__FLOOR": "0.5"}).recall
    assert (recall.limit, recall.floor, recall.rules_limit) == (7, 0.5, 50)


def test_every_setting_tells_its_value_its_source_and_its_meaning(tmp_path: Path) -> None:
    shown = {path: (value, source, doc) for path, value, source, doc in load(tmp_path, recall={"limit": 3}).items()}
    assert shown["recall.limit"][:2] == (3, "call")
    assert shown["recall.floor"][:2] == (0.0, "default")
    assert all(doc for _value, _source, doc in shown.values())


def test_the_project_file_is_found_upward(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / "a" / PROJECT_FILE).write_text('project = "shop"')
    assert find_project_file(deep) == tmp_path / "a" / PROJECT_FILE
    assert load(tmp_path, directory=deep).project == "shop"


def test_the_environment_may_name_the_project_and_the_store(tmp_path: Path) -> None:
    settings = load(tmp_path, {"CLEW_PROJECT": "shop", "CLEW_URL": "shop.db"})
    assert (settings.project, settings.store.url) == ("shop", "shop.db")


def test_the_home_directory_follows_clew_home(tmp_path: Path) -> None:
    assert home_directory({"CLEW_HOME": str(tmp_path)}) == tmp_path
    assert home_directory({}).name == "clew"


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "near"), [("recall.flor", "recall.floor"), ("remember.max_char", "remember.max_chars")]
)
def test_an_unknown_key_is_refused_with_the_nearest_name(tmp_path: Path, wrong: str, near: str) -> None:
    section, name = wrong.split(".")
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, **{section: {name: 1}})
    assert refused.value.code == "SETTING_UNKNOWN" and near in refused.value.next


def test_an_unknown_name_in_the_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, {"CLEW_RECALL__FLOR": "0.4"})
    assert "CLEW_RECALL__FLOR" in refused.value.message


def test_an_unknown_key_in_a_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text("[recal]\nlimit = 1")
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path)
    assert USER_FILE in refused.value.message


@pytest.mark.parametrize(
    "line", ['[store]\nurl = "x.db"', '[embed]\nurl = "http://elsewhere"', '[embed]\nprovider = "none"']
)
def test_a_project_file_may_not_say_where_text_is_stored_or_sent(tmp_path: Path, line: str) -> None:
    (tmp_path / PROJECT_FILE).write_text(line)
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, directory=tmp_path)
    assert refused.value.code == "SETTING_NOT_FOR_PROJECTS"


@pytest.mark.parametrize("word", ["1", "true", "YES", " on "])
def test_true_words(tmp_path: Path, word: str) -> None:
    assert load(tmp_path, {"CLEW_REMEMBER__STRICT_TOKEN_RULE": word}).remember.strict_token_rule is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_false_words(tmp_path: Path, word: str) -> None:
    assert load(tmp_path, {"CLEW_REMEMBER__STRICT_TOKEN_RULE": word}).remember.strict_token_rule is False


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("recall.limit", "many"),
        ("recall.limit", True),
        ("recall.limit", 1.5),
        ("recall.limit", ""),
        ("recall.floor", "nan"),
        ("recall.floor", "inf"),
        ("recall.floor", [0.4]),
        ("recall.retrieval", "psychic"),
        ("embed.provider", "oracle"),
        ("remember.strict_token_rule", "perhaps"),
        ("remember.working_ttl_hours", "1 day"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(tmp_path: Path, path: str, value: Any) -> None:
    section, name = path.split(".")
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, **{section: {name: value}})
    assert refused.value.code == "SETTING_INVALID" and path in refused.value.message


@pytest.mark.parametrize(
    ("path", "value", "range"),
    [
        ("remember.max_chars", 0, "at least 1"),
        ("remember.working_ttl_hours", 0, "more than 0, at most 8,760"),
        ("remember.working_ttl_hours", 8761, "more than 0, at most 8,760"),
        ("remember.working_max", 0, "at least 1"),
        ("recall.limit", 0, "at least 1, at most 1,000"),
        ("recall.limit", 1001, "at least 1, at most 1,000"),
        ("recall.floor", -0.1, "at least 0, at most 1"),
        ("recall.floor", 1.1, "at least 0, at most 1"),
        ("recall.rules_limit", -1, "at least 0"),
        ("recall.read_model_mb", -1, "at least 0"),
        ("embed.dim", -1, "at least 0"),
        ("embed.batch", 0, "at least 1"),
        ("embed.timeout_s", 0, "more than 0, at most 600"),
        ("embed.timeout_s", 601, "more than 0, at most 600"),
        ("embed.threads", 0, "at least 1"),
        ("embed.unrelated", -1.5, "at least -1, at most 1"),
        ("embed.same", 1.5, "at least -1, at most 1"),
    ],
)
def test_a_number_outside_its_range_is_refused_and_the_range_named(
    tmp_path: Path, path: str, value: float, range: str
) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, **{path: value})
    assert refused.value.code == "SETTING_INVALID" and path in refused.value.message
    assert f"({range})" in refused.value.message


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("remember.working_ttl_hours", 8760.0),
        ("recall.limit", 1),
        ("recall.limit", 1000),
        ("recall.floor", 1.0),
        ("recall.rules_limit", 0),
        ("recall.read_model_mb", 0),
        ("embed.timeout_s", 600.0),
        ("embed.unrelated", -1.0),
    ],
)
def test_the_ends_of_a_range_belong_to_it(tmp_path: Path, path: str, value: float) -> None:
    assert {name: found for name, found, *_ in load(tmp_path, **{path: value}).items()}[path] == value


@pytest.mark.parametrize(("unrelated", "same"), [(0.8, 0.8), (0.9, 0.2)])
def test_unrelated_texts_must_be_further_apart_than_texts_that_say_the_same(
    tmp_path: Path, unrelated: float, same: float
) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, embed={"unrelated": unrelated, "same": same})
    assert refused.value.code == "SETTING_INVALID"
    assert "embed.unrelated" in refused.value.message and "embed.same" in refused.value.message


def test_a_cloned_project_may_not_make_room_for_fewer_working_memories(tmp_path: Path) -> None:
    """They are kept per user over all projects: one project's file would drop what others noted."""
    (tmp_path / PROJECT_FILE).write_text("[remember]\nworking_max = 1")
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, directory=tmp_path)
    assert refused.value.code == "SETTING_NOT_FOR_PROJECTS"


@pytest.mark.parametrize("path", ["inject.enabled", "inject.runtime", "hooks.inject", "hooks.capture"])
@pytest.mark.parametrize(("user", "project"), [(False, True), (True, False)])
def test_a_cloned_project_switches_off_and_never_on_again(
    tmp_path: Path, path: str, user: bool, project: bool
) -> None:
    section, name = path.split(".")
    (tmp_path / USER_FILE).write_text(f"[{section}]\n{name} = {str(user).lower()}")
    (tmp_path / PROJECT_FILE).write_text(f"[{section}]\n{name} = {str(project).lower()}")
    settings = load(tmp_path, directory=tmp_path)
    assert getattr(getattr(settings, section), name) is False
    assert settings.sources[path] == str(tmp_path / (PROJECT_FILE if user else USER_FILE))  # who switched it off


@pytest.mark.parametrize("name", ["disabled_for_agents", "extra_skip_tools"])
def test_a_cloned_project_adds_to_what_is_kept_quiet(tmp_path: Path, name: str) -> None:
    (tmp_path / USER_FILE).write_text(f'[inject]\n{name} = ["codex", "Bash"]')
    (tmp_path / PROJECT_FILE).write_text(f'[inject]\n{name} = ["Read", "Bash"]')
    assert getattr(load(tmp_path, directory=tmp_path).inject, name) == ("codex", "Bash", "Read")
    environ = {f"CLEW_INJECT__{name.upper()}": "Grep"}  # the user's own word
    assert getattr(load(tmp_path, environ, tmp_path).inject, name) == ("Grep",)


@pytest.mark.parametrize(
    ("name", "usual", "narrower", "wider"),
    [
        ("floor", 0.4, 0.9, 0.1),
        ("latency_ms", 100, 50, 500),
        ("budget_tokens", 200, 80, 900),
        ("max_suggestions", 3, 1, 9),
    ],
)
def test_a_cloned_project_bounds_what_is_injected_and_never_widens_it(
    tmp_path: Path, name: str, usual: float, narrower: float, wider: float
) -> None:
    def told(value: float) -> tuple[float, str | None]:
        (tmp_path / PROJECT_FILE).write_text(f"[inject]\n{name} = {value}")
        settings = load(tmp_path, directory=tmp_path)
        return getattr(settings.inject, name), settings.sources.get(f"inject.{name}")

    assert told(narrower) == (narrower, str(tmp_path / PROJECT_FILE))
    assert told(wider) == (usual, None)
    (tmp_path / USER_FILE).write_text(f"[inject]\n{name} = {narrower}")
    assert told(usual) == (narrower, str(tmp_path / USER_FILE))


@pytest.mark.parametrize(("user", "project", "counts"), [(200, 0, 200), (0, 900, 0)])
def test_the_budget_of_a_work_type_is_no_small_one(tmp_path: Path, user: int, project: int, counts: int) -> None:
    (tmp_path / USER_FILE).write_text(f"[inject]\nbudget_tokens = {user}")
    (tmp_path / PROJECT_FILE).write_text(f"budgetTokens = {project}")
    assert load(tmp_path, directory=tmp_path).inject.budget_tokens == counts


def test_a_cloned_project_may_narrow_by_the_documented_names(tmp_path: Path) -> None:
    lines = ("minRelevanceScore = 0.9", "budgetTokens = 80", "maxSuggestionsPerEvent = 1", "latencyBudgetMs = 50")
    (tmp_path / PROJECT_FILE).write_text("\n".join((*lines, 'skipTools = ["Read"]')))
    inject = load(tmp_path, directory=tmp_path).inject
    assert (inject.floor, inject.budget_tokens, inject.max_suggestions, inject.latency_ms) == (0.9, 80, 1, 50)
    assert inject.skip_tools == ("TodoWrite", "BashOutput", "Read")


def test_without_a_file_nothing_that_reads_files_is_imported(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from clew.settings import load_settings; "
    code += "load_settings(home=Path(sys.argv[1]), environ={}); print('tomllib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", [USER_FILE, PROJECT_FILE])
def test_a_byte_order_mark_before_a_file_is_no_trouble(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[recall]\nlimit = 3", encoding="utf-8-sig")
    assert load(tmp_path, directory=tmp_path).recall.limit == 3


def test_a_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text("[recall\nlimit = ")
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path)
    assert refused.value.code == "CONFIG_UNREADABLE" and USER_FILE in refused.value.message


def test_a_file_that_cannot_be_opened_is_not_to_be_corrected(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).mkdir()
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path)
    assert "may read" in refused.value.next and refused.value.message.count(USER_FILE) == 1


# -- each setting is live ------------------------------------------------------------------------------
# Each proof runs the same steps under two values and returns what a caller would see.


def see(tmp_path: Path, steps: Callable[[Any], Any], value: dict[str, Any], **parts: Any) -> Any:
    with open_toy(tmp_path / f"{len(list(tmp_path.iterdir()))}.db", **parts, **value) as memory:
        return steps(memory)


def remember_ten(memory: Any, **fields: Any) -> None:
    for number in range(10):
        memory.remember(f"The gateway has number {number}", **fields)


def test_remember_max_chars_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> int:
        return len(memory.remember("x" * 20).memory.content)

    assert see(tmp_path, steps, {"remember": {"max_chars": 20}}) == 20
    with pytest.raises(InvalidInput):
        see(tmp_path, steps, {"remember": {"max_chars": 19}})


def test_remember_working_ttl_hours_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> timedelta:
        saved = memory.remember("now in the parser", layer="working").memory
        return saved.expires_at - saved.created_at

    assert see(tmp_path, steps, {"remember": {"working_ttl_hours": 2}}) == timedelta(hours=2)
    assert see(tmp_path, steps, {}) == timedelta(hours=24)


def test_remember_working_max_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> int:
        remember_ten(memory, layer="working")
        return len(memory.list())

    assert see(tmp_path, steps, {"remember": {"working_max": 4}}) == 4
    assert see(tmp_path, steps, {}) == 10


def test_remember_strict_token_rule_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> str:
        return memory.remember("Each token costs four characters").memory.classification

    assert see(tmp_path, steps, {"remember": {"strict_token_rule": True}}) == "confidential"
    assert see(tmp_path, steps, {"remember": {"strict_token_rule": False}}) == "internal"


def test_recall_limit_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> int:
        remember_ten(memory)
        return len(memory.recall("gateway").results)

    assert see(tmp_path, steps, {"recall": {"limit": 3}}) == 3
    assert see(tmp_path, steps, {"recall": {"limit": 8}}) == 8


def test_recall_floor_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> list[str]:
        memory.remember("gateway timeouts doubled")
        memory.remember("gateway colours")
        return contents(memory.recall("gateway timeouts doubled"))

    assert len(see(tmp_path, steps, {})) == 2
    assert see(tmp_path, steps, {"recall": {"floor": 0.9}}) == ["gateway timeouts doubled"]


def test_recall_retrieval_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> list[str]:
        memory.remember("automobile repairs")
        return contents(memory.recall("car repairs"))

    toy = ToyEmbedder(synonyms={"car": "automobile", "repairs": "automobile"})
    assert see(tmp_path, steps, {"recall": {"retrieval": "semantic"}}, embedder=toy) == ["automobile repairs"]
    assert see(tmp_path, steps, {"recall": {"retrieval": "semantic"}}, embedder=None) == []


def test_recall_rules_limit_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> int:
        remember_ten(memory, type="rule")
        return len(memory.recall("anything").results)

    assert see(tmp_path, steps, {"recall": {"rules_limit": 2}}) == 2
    assert see(tmp_path, steps, {}) == 10


def test_recall_read_model_mb_is_live(tmp_path: Path) -> None:
    def steps(memory: Any) -> bool:
        remember_ten(memory)
        return "read_model" in memory.recall("gateway").trace.notes

    assert see(tmp_path, steps, {"recall": {"read_model_mb": 0}})
    assert not see(tmp_path, steps, {"recall": {"read_model_mb": 1}})


def test_a_setting_given_with_the_call_wins_over_the_tree(tmp_path: Path) -> None:
    with open_toy(tmp_path / "c.db", clock=ToldClock(), recall={"limit": 3}) as memory:
        remember_ten(memory)
        assert len(memory.recall("gateway", limit=5).results) == 5


def test_no_setting_is_without_a_proof() -> None:
    """store.url and embed.* are proved in the tests of `compose`, where they are used; graph.* has a file."""
    names = ("test_settings.py", "test_compose.py", "test_graph_settings.py", "test_inject_settings.py")
    names += ("test_deliver_settings.py", "test_learn_settings.py", "test_relate_settings.py")
    names += ("test_llm_settings.py", "test_rollout_settings.py", "test_mcp_settings.py")
    names += ("test_serve_settings.py", "test_hooks_settings.py", "test_rank_settings.py")
    proofs = "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)
    known = [path for path, *_rest in load_settings(home=Path(), environ={}).items()]
    unproved = [path for path in known if f"def test_{path.replace('.', '_')}_is_live" not in proofs]
    assert not unproved, f"prove that these change something: {', '.join(unproved)}"


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("CLEW_PROJEKT", "CLEW_PROJECT"),
        ("CLEW_RECALL_FLOOR", "CLEW_RECALL__FLOOR"),
        ("CLEW_INJECT_BUDGET_TOKENS", "CLEW_INJECT__BUDGET_TOKENS"),
    ],
)
def test_a_typing_error_in_a_variable_of_ours_is_refused(tmp_path: Path, wrong: str, near: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        load_settings(home=tmp_path, environ={wrong: "1"})
    assert near in refused.value.next


@pytest.mark.parametrize("name", ["CLEW_OF_ANOTHER_TOOL", "CLEW_BANANAS"])
def test_a_variable_that_resembles_none_of_ours_is_left_alone(tmp_path: Path, name: str) -> None:
    assert load_settings(home=tmp_path, environ={name: "x"}).project is None


@pytest.mark.parametrize("value", ["5", "true", '["a"]'])
def test_a_project_that_is_no_text_is_refused_with_its_file(tmp_path: Path, value: str) -> None:
    (tmp_path / PROJECT_FILE).write_text(f"project = {value}")
    with pytest.raises(Misconfigured) as refused:
        load_settings(home=tmp_path / "home", environ={}, directory=tmp_path)
    assert refused.value.code == "SETTING_INVALID"
    assert refused.value.message.startswith(f"{tmp_path / PROJECT_FILE}: project is ")


def test_a_file_that_is_nested_too_deeply_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / PROJECT_FILE).write_text(f"x = {'[' * 5000}{']' * 5000}")
    with pytest.raises(Misconfigured, match="nested too deeply"):
        load_settings(home=tmp_path, environ={}, directory=tmp_path)


def test_a_wrong_value_in_the_environment_is_told_with_its_variable(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        load_settings(home=tmp_path, environ={"CLEW_RECALL__LIMIT": "abc"})
    assert refused.value.message.startswith("environment variable CLEW_RECALL__LIMIT: recall.limit is 'abc'")
