"""Presets and documented names: what they set, what they clamp, and who wins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.errors import Misconfigured
from clew.presets import DOCUMENTED, PRESETS, VARIABLES
from clew.setting_values import BudgetOverrides
from clew.settings import PROJECT_FILE, USER_FILE, Settings, load_settings

GRAPH_AND_LIMITS = ("graph.write", "graph.recall", "graph.assist", "recall.limit", "recall.minimal_limit")


def load(home: Path, environ: dict[str, str] | None = None, directory: Path | None = None, **call: Any) -> Settings:
    return load_settings(call, home=home, environ=environ or {}, directory=directory)


def shown(settings: Settings, path: str) -> tuple[Any, str]:
    """Value and source, as `clew config show` tells them."""
    return next((value, source) for name, value, source, _doc in settings.items() if name == path)


def value_of(home: Path, path: str, **call: Any) -> Any:
    return shown(load(home, **call), path)[0]


# -- what a preset sets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("conservative", (False, False, False, 5, 2)),
        ("balanced", (False, False, False, 8, 4)),
        ("research-max", (True, True, True, 12, 6)),
        ("local-llm-heavy", (False, False, False, 8, 4)),
    ],
)
def test_a_preset_sets_the_graph_and_the_limits(tmp_path: Path, name: str, values: tuple[Any, ...]) -> None:
    settings = load(tmp_path, memoryOsPreset=name)
    assert tuple(shown(settings, path) for path in GRAPH_AND_LIMITS) == tuple(
        (it, f"preset {name}") for it in values
    )


def test_a_preset_leaves_everything_else_alone(tmp_path: Path) -> None:
    plain, preset = set(load(tmp_path).items()), set(load(tmp_path, memoryOsPreset="research-max").items())
    assert {path for path, *_rest in preset - plain} == set(GRAPH_AND_LIMITS)


def test_without_a_preset_the_graph_is_on(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert [shown(settings, path) for path in GRAPH_AND_LIMITS] == [
        (it, "default") for it in (True, True, True, 10, 4)
    ]


def test_every_value_of_every_preset_is_a_setting_of_ours_and_in_range(tmp_path: Path) -> None:
    for values in PRESETS.values():
        settings = load(tmp_path, **values)
        assert {path: shown(settings, path)[0] for path in values} == values


# -- how a preset is chosen ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["research", " research-max ", "\tresearch\n"])
def test_an_alias_and_blanks_around_a_name_are_understood(tmp_path: Path, name: str) -> None:
    assert shown(load(tmp_path, memoryOsPreset=name), "recall.limit") == (12, "preset research-max")


@pytest.mark.parametrize(
    ("wrong", "near"), [("balance", "balanced"), ("Conservative", "conservative"), ("reserch", "research")]
)
def test_an_unknown_preset_is_refused_with_the_nearest_name(tmp_path: Path, wrong: str, near: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, memoryOsPreset=wrong)
    assert refused.value.code == "SETTING_INVALID" and wrong in refused.value.message
    assert f"'{near}'" in refused.value.next


@pytest.mark.parametrize("wrong", ["zzz", 7])
def test_a_preset_that_resembles_none_is_refused_with_all_names(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, memoryOsPreset=wrong)
    assert all(name in refused.value.next for name in PRESETS)


def test_call_beats_environment_beats_project_beats_user_file_in_choosing(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text('memoryOsPreset = "conservative"')
    assert load(tmp_path).recall.limit == 5
    (tmp_path / PROJECT_FILE).write_text('memoryOsPreset = "balanced"')
    assert load(tmp_path, directory=tmp_path).recall.limit == 8
    environ = {"CLEW_PRESET": "research"}
    assert load(tmp_path, environ, tmp_path).recall.limit == 12
    assert load(tmp_path, environ, tmp_path, memoryOsPreset="conservative").recall.limit == 5


def test_a_blank_name_is_no_preset_and_undoes_one_chosen_below(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text('memoryOsPreset = "conservative"')
    assert shown(load(tmp_path, memoryOsPreset=" "), "recall.limit") == (10, "default")
    assert load(tmp_path, {"CLEW_PRESET": ""}).recall.limit == 5


def test_a_typing_error_in_the_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, {"CLEW_PRESETT": "balanced"})
    assert "CLEW_PRESET" in refused.value.next


# -- an explicit setting wins over a preset, wherever each comes from ------------------------------------


@pytest.mark.parametrize("line", ["[graph]\nwrite = true", "multiGraphMemoryEnabled = true"])
@pytest.mark.parametrize("file", [USER_FILE, PROJECT_FILE])
def test_a_file_wins_over_a_preset_named_in_the_call(tmp_path: Path, file: str, line: str) -> None:
    (tmp_path / file).write_text(line)
    settings = load(tmp_path, directory=tmp_path, memoryOsPreset="conservative")
    assert shown(settings, "graph.write") == (True, str(tmp_path / file))
    assert shown(settings, "graph.recall") == (False, "preset conservative")


def test_environment_and_call_win_over_a_preset(tmp_path: Path) -> None:
    environ = {"CLEW_PRESET": "balanced", "CLEW_RECALL__LIMIT": "20", "GRAPH_MAPPING_ENABLED": "true"}
    settings = load(tmp_path, environ, graph={"recall": True})
    assert (settings.recall.limit, settings.graph.write, settings.graph.recall) == (20, True, True)
    assert settings.graph.assist is False


# -- documented names ------------------------------------------------------------------------------------


def test_every_documented_name_stands_for_a_setting_of_ours(tmp_path: Path) -> None:
    known = {path for path, *_rest in load(tmp_path).items()}
    assert {*DOCUMENTED.values(), *VARIABLES.values()} <= known


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_name_sets_what_it_stands_for(tmp_path: Path, name: str) -> None:
    path = DOCUMENTED[name]
    before, _source = shown(load(tmp_path), path)
    others = {bool: not before, tuple: ["a word"], BudgetOverrides: {"acme": {"feature": 300}}}
    value: Any = others.get(type(before), 86_400_000 if "Decay" in name else 1)
    after, source = shown(load(tmp_path, **{name: value}), path)
    assert (after != before, type(after), source) == (True, type(before), "call")


def test_a_documented_name_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text("maxGraphTraversalSteps = 5\n[graph]\ndecay = 0.5")
    assert (load(tmp_path).graph.max_steps, load(tmp_path).graph.decay) == (5, 0.5)


@pytest.mark.parametrize(
    "lines",
    ["orgOverrides = { acme = { feature = 300, chore = 0 } }", "[orgOverrides.acme]\nfeature = 300\nchore = 0",
     "[inject.org_overrides.acme]\nfeature = 300\nchore = 0"],
)  # fmt: skip
def test_budgets_of_orgs_are_read_from_a_file(tmp_path: Path, lines: str) -> None:
    (tmp_path / USER_FILE).write_text(lines)
    assert load(tmp_path).inject.org_overrides.as_json() == {"acme": {"feature": 300, "chore": 0}}


def test_budgets_of_orgs_are_read_from_the_environment_as_json(tmp_path: Path) -> None:
    settings = load(tmp_path, {"CLEW_INJECT__ORG_OVERRIDES": '{"acme": {"feature": 300}}'})
    assert settings.inject.org_overrides.of("acme", "feature") == 300


@pytest.mark.parametrize(
    "wrong", [{"acme": 300}, {"acme": {"feature": -1}}, {"acme": {"feature": "many"}}, ["acme"], "{", 7]
)
def test_budgets_of_orgs_that_make_no_sense_are_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, orgOverrides=wrong)
    assert refused.value.code == "SETTING_INVALID" and "orgOverrides" in refused.value.message


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("maxGraphTraversalSteps", -4, 0),
        ("maxGraphTraversalSteps", 0, 0),
        ("maxGraphTraversalSteps", 99, 8),
        ("maxEntityGraphEdgesPerMemory", -9, 0),
        ("graphExpansionActivationWeight", 2, 1.0),
        ("graphExpansionBlendMin", -1, 0.0),
        ("graphExpansionBlendMax", 9, 1.0),
        ("graphAssistMinSeedResults", 0, 1),
        ("graphAssistMinSeedResults", 2.9, 2),
        ("graphTraversalPageRankIterations", "7.6", 7),
        ("graphTraversalPageRankIterations", -3, 0),
        ("graphTraversalConfidenceFloor", -0.5, 0.0),
    ],
)
def test_a_number_under_a_documented_name_is_clamped_as_its_source_does(
    tmp_path: Path, name: str, given: Any, kept: float
) -> None:
    value = value_of(tmp_path, DOCUMENTED[name], **{name: given})
    assert (value, type(value)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("path", "value"), [("graph.max_steps", -4), ("graph.max_steps", 1.5), ("graph.activation_weight", 2)]
)
def test_the_same_number_under_our_own_name_is_refused(tmp_path: Path, path: str, value: float) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, **{path: value})
    assert refused.value.code == "SETTING_INVALID"


@pytest.mark.parametrize(
    ("name", "ms", "kept"),
    [
        ("graphEdgeDecayCadenceMs", 604_800_000, 168.0),
        ("graphEdgeDecayWindowMs", 7_776_000_000, 90.0),
        ("graphEdgeDecayCadenceMs", 5, 1 / 60),
        ("graphEdgeDecayWindowMs", -1, 1 / 1440),
    ],
)
def test_milliseconds_become_hours_or_days_and_are_a_minute_at_least(
    tmp_path: Path, name: str, ms: int, kept: float
) -> None:
    assert value_of(tmp_path, DOCUMENTED[name], **{name: ms}) == pytest.approx(kept)


@pytest.mark.parametrize("value", ["many", True, None, [3], float("nan"), float("inf")])
def test_what_is_no_number_is_refused_under_the_name_that_was_used(tmp_path: Path, value: Any) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, maxGraphTraversalSteps=value)
    assert refused.value.code == "SETTING_INVALID"
    assert "maxGraphTraversalSteps" in refused.value.message and "graph.max_steps" in refused.value.message


@pytest.mark.parametrize("recall", [True, False])
@pytest.mark.parametrize("assist", [True, False])
def test_either_documented_shadow_switch_is_enough(tmp_path: Path, recall: bool, assist: bool) -> None:
    call = {"graphRecallShadowEnabled": recall, "graphAssistShadowEvalEnabled": assist}
    assert value_of(tmp_path, "graph.shadow", **call) is (recall or assist)


def test_in_one_place_our_own_name_wins_over_a_documented_one(tmp_path: Path) -> None:
    assert load(tmp_path, graph={"max_steps": 2}, maxGraphTraversalSteps=5).graph.max_steps == 2


def test_a_later_place_wins_whatever_name_it_uses(tmp_path: Path) -> None:
    (tmp_path / USER_FILE).write_text("[graph]\nmax_steps = 2")
    assert load(tmp_path, maxGraphTraversalSteps=5).graph.max_steps == 5
    (tmp_path / USER_FILE).write_text("maxGraphTraversalSteps = 5")
    assert load(tmp_path, {"CLEW_GRAPH__MAX_STEPS": "2"}).graph.max_steps == 2


def test_a_mistyped_documented_name_is_refused_with_the_nearest(tmp_path: Path) -> None:
    for wrong, near in [("graphRecalEnabled", "graphRecallEnabled"), ("memoryOSPreset", "memoryOsPreset")]:
        with pytest.raises(Misconfigured) as refused:
            load(tmp_path, **{wrong: True})
        assert refused.value.code == "SETTING_UNKNOWN" and near in refused.value.next


def test_documented_names_belong_to_the_top_level(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured):
        load(tmp_path, graph={"maxGraphTraversalSteps": 2})


@pytest.mark.parametrize(
    "line", ["graphRecallEnabled = false", "maxGraphTraversalSteps = 1", "[graph]\nfan_out = 8"]
)
def test_a_project_may_switch_the_graph_and_bound_its_walks(tmp_path: Path, line: str) -> None:
    (tmp_path / PROJECT_FILE).write_text(line)
    assert str(tmp_path / PROJECT_FILE) in load(tmp_path, directory=tmp_path).sources.values()


@pytest.mark.parametrize(
    "line", ["graphRecallSnapshotEnabled = true", "[graph]\nsnapshot = true", "timeGraphEnabled = false"]
)
def test_a_project_may_not_set_the_rest_under_any_name(tmp_path: Path, line: str) -> None:
    (tmp_path / PROJECT_FILE).write_text(line)
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, directory=tmp_path)
    assert refused.value.code == "SETTING_NOT_FOR_PROJECTS"


# -- documented variables --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIABLES)
def test_a_documented_variable_is_read_and_named_as_the_source(tmp_path: Path, name: str) -> None:
    default, _source = shown(load(tmp_path, {}), VARIABLES[name])
    said, meant = ("false", False) if isinstance(default, bool) else ("1", type(default)(1))
    said = "1000" if name.endswith(("RETRY_BASE_MS", "RETRY_MAX_MS", "TIMEOUT_MS")) else said  # ours are seconds
    assert shown(load(tmp_path, {name: said}), VARIABLES[name]) == (meant, f"environment variable {name}")


def test_a_clew_variable_beats_a_documented_one(tmp_path: Path) -> None:
    environ = {"GRAPH_MAPPING_ENABLED": "false", "CLEW_GRAPH__WRITE": "true"}
    assert shown(load(tmp_path, environ), "graph.write") == (True, "environment")


def test_a_documented_variable_beats_files(tmp_path: Path) -> None:
    (tmp_path / PROJECT_FILE).write_text("[graph]\nrecall = true")
    assert load(tmp_path, {"GRAPH_RETRIEVAL_ENABLED": "0"}, tmp_path).graph.recall is False


def test_an_empty_documented_variable_is_as_good_as_none(tmp_path: Path) -> None:
    assert load(tmp_path, {"GRAPH_MAPPING_ENABLED": ""}).graph.write is True


def test_a_documented_variable_that_is_no_switch_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path, {"GRAPH_MAPPING_ENABLED": "perhaps"})
    assert "GRAPH_MAPPING_ENABLED" in refused.value.message
