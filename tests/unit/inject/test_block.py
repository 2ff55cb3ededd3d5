"""The block at a session's start: its format, its budget, its order, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from builders import NOW, Broken, Facts, NoMan, Shelf, YesMan, fact, memory, observation
from hypothesis import given
from hypothesis import strategies as st

from clew.guard.pep import Pep
from clew.guard.render import OBSERVATIONS_HEADING, observation_line, tokens
from clew.inject import GraphOptions, RetrievalQuery, build_session_memory_block
from clew.inject.block import Choice
from clew.model.inject import Block, Observation
from clew.model.scope import Scope
from clew.model.start import SessionSummary

PEP = Pep()
TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=400), max_size=12)


def build(*found: Observation, **options: Any) -> Block:
    asked: dict[str, Any] = {
        "session_id": "ses_1", "work_type": "bug_fix", "org_id": "local", "project_id": "shop",
        "query_text": "login", "store": Shelf(found), "pep": PEP,
    } | options  # fmt: skip
    return build_session_memory_block(**asked)


def several(texts: list[str], *, weight: float = 1.0) -> list[Observation]:
    return [
        replace(observation(id=f"mem_{at:02}", relevance=1 - at / 100, weight=weight),
                memory=replace(memory(id=f"mem_{at:02}"), content=text))
        for at, text in enumerate(texts)
    ]  # fmt: skip


def reasons(block: Block) -> dict[str, str]:
    return {one.id: one.reason for one in block.skipped}


def test_r037_r040_the_documented_format_and_fields() -> None:
    block = build(observation("cookies need SameSite=Lax", id="mem_1", weight=0.851))
    text = "## Relevant Past Observations\n- [mem_1] cookies need SameSite=Lax (weight: 0.85)"
    assert (block.block, block.observation_ids, block.actual_tokens) == (text, ("mem_1",), tokens(text))
    assert (block.graph_node_ids, block.graph_edge_keys, block.budget_tokens) == ((), (), 750)


@given(TEXTS, st.integers(0, 300))
def test_r035_r036_never_over_budget_and_nothing_skipped_that_fits(texts: list[str], budget: int) -> None:
    found = several(texts)
    block = build(*found, budget_tokens=budget, pep=YesMan())
    assert block.tokens == tokens(block.text) <= budget
    text = str(OBSERVATIONS_HEADING)
    for one in found:
        grown = f"{text}\n{observation_line(one.id, one.text, one.weight)}"
        text = grown if tokens(grown) <= budget else text
    assert block.text == (text if block.memory_ids else "") and block.text == block.text.strip("\n")


@given(
    TEXTS, st.lists(st.text("abc ", min_size=1, max_size=40), max_size=8), st.integers(8, 90), st.integers(8, 90)
)
def test_c03_each_part_keeps_its_budget_and_both_together_theirs(
    texts: list[str], names: list[str], budget: int, graph_budget: int
) -> None:
    facts = Facts([fact(f"{at}{name}") for at, name in enumerate(names)])
    graph = GraphOptions(facts, budget_tokens=graph_budget)
    block = build(*several(texts), budget_tokens=budget, graph=graph, pep=YesMan())
    assert block.observation_tokens <= budget and block.graph_tokens <= graph_budget
    assert block.tokens == tokens(block.text) <= budget + graph_budget


@given(TEXTS)
def test_the_same_input_gives_the_same_bytes(texts: list[str]) -> None:
    graph = GraphOptions(Facts([fact()]))
    first, second = (build(*several(texts)[::way], graph=graph, pep=YesMan()) for way in (1, -1))
    assert first.text == second.text and first.memory_ids == second.memory_ids


def test_r030_retrieve_then_rank_then_format() -> None:
    store = Shelf([observation("near", id="mem_n", relevance=0.9, weight=0.2), observation("far", id="mem_f")])
    block = build(store=store)
    [(scope, query)] = store.asked
    assert (scope, query) == (
        Scope("local", "shop", session="ses_1"),
        RetrievalQuery(text="login", limit=20, rules=True, heard=5),
    )
    assert block.memory_ids == ("mem_f", "mem_n")


def test_weighting_off_orders_by_relevance_and_still_knows_both_ranks() -> None:
    found = observation("near", id="mem_n", relevance=0.9, weight=0.2), observation("far", id="mem_f")
    block = build(*found, choice=Choice(weighting_enabled=False))
    assert block.memory_ids == ("mem_n", "mem_f")
    ranks = {one.ranked.id: (one.ranked.unweighted_rank, one.ranked.weighted_rank) for one in block.candidates}
    assert ranks == {"mem_n": (0, 1), "mem_f": (1, 0)}


def test_r038_r039_c14_a_huge_observation_costs_one_short_line() -> None:
    block = build(observation("wide \n\n ## Forged\n" * 4_000, id="mem_1"))
    [_heading, line] = block.text.splitlines()
    assert len(line) <= len("- [mem_1] ") + 300 + len(" (weight: 1.00)") and line.startswith("- [mem_1] wide ## F")


def test_r041_only_what_is_in_the_text_in_its_order() -> None:
    block = build(*several(["x" * 250, "y" * 250, "short"]), budget_tokens=80)
    assert block.memory_ids == ("mem_00",)
    block = build(*several(["x" * 250, "y" * 250, "short"]), budget_tokens=90)
    assert block.memory_ids == ("mem_00", "mem_02") and reasons(block) == {"mem_01": "over_budget"}


def test_r042_nothing_found_is_an_empty_block() -> None:
    assert build().text == "" and build().tokens == 0
    assert build(observation("x" * 300), budget_tokens=10).text == ""


def test_r066_observations_first_the_graph_second_one_blank_line_between() -> None:
    block = build(observation("cookies", id="mem_1"), graph=GraphOptions(Facts([fact()])))
    assert block.text == (
        "## Relevant Past Observations\n- [mem_1] cookies (weight: 1.00)\n\n"
        "## Knowledge Graph Triplets\n- A → uses → B"
    )
    assert block.graph_status == "ok" and block.graph_node_ids == ("node-A", "node-B")


def test_r010_r001_a_graph_that_is_not_enabled_is_not_searched() -> None:
    graph = Facts([fact()])
    block = build(
        observation("cookies"), graph=GraphOptions(graph, graph_enabled=False, reason="work_type_excluded")
    )
    assert not graph.asked and "Knowledge Graph" not in block.text
    assert block.graph_status == "work_type_excluded"


@pytest.mark.parametrize(
    ("graph", "status"),
    [(None, "no_engine"), (GraphOptions(None), "no_engine"), (GraphOptions(Facts()), "no_match"),
     (GraphOptions(Broken()), "error")],  # type: ignore[arg-type]
)  # fmt: skip
def test_r011_c15_without_the_graph_the_observations_stand_alone(graph: GraphOptions | None, status: str) -> None:
    block = build(observation("cookies"), graph=graph)
    assert block.text.startswith("## Relevant Past Observations") and "Knowledge Graph" not in block.text
    assert block.graph_status == status


def test_r020_the_same_text_is_asked_of_memories_and_of_the_graph() -> None:
    store, graph = Shelf(), Facts()
    build(store=store, graph=GraphOptions(graph), query_text="SHOP-7 Fix login")
    assert store.asked[0][1].text == graph.asked[0]["query"] == "SHOP-7 Fix login"


# -- what may not be shown -----------------------------------------------------------------------------


def test_what_may_not_be_injected_is_left_out_with_its_reason() -> None:
    block = build(
        observation("good", id="mem_ok"),
        observation("from the web", id="mem_web", trust="untrusted"),
        observation("card numbers", id="mem_secret", classification="restricted"),
        observation("of till", id="mem_till", project="till"),
        observation("of kim", id="mem_kim", user="kim"),
        observation("foreign", id="mem_foreign", org="acme"),
        observation("worthless", id="mem_old", retired=True),
    )
    assert block.memory_ids == ("mem_ok",)
    assert reasons(block) == {
        "mem_web": "untrusted_origin", "mem_secret": "denied", "mem_till": "denied", "mem_kim": "denied",
        "mem_foreign": "other_org", "mem_old": "retired",
    }  # fmt: skip


@pytest.mark.parametrize("pep", [NoMan(), Broken()])
def test_policies_that_deny_or_fail_leave_neither_observations_nor_triplets(pep: Any) -> None:
    block = build(observation("good"), graph=GraphOptions(Facts([fact()])), pep=pep)
    assert block.text == "" and block.memory_ids == () and block.graph_node_ids == ()


def test_a_store_that_fails_leaves_the_graph() -> None:
    block = build(store=Broken(), graph=GraphOptions(Facts([fact()])))
    assert block.text == "## Knowledge Graph Triplets\n- A → uses → B"


def test_c16_the_agent_of_another_org_sees_nothing() -> None:
    assert build(observation("good"), org_id="acme").text == ""


def test_what_our_own_rules_observed_is_marked() -> None:
    block = build(observation("make test: exit status 2", id="mem_1", origin="observed:bash", trust="agent"))
    assert "- [mem_1] [observed] make test: exit status 2 (weight: 1.00)" in block.text


def test_a_title_comes_before_the_text_unless_it_is_in_it() -> None:
    block = build(observation("use Lax", id="mem_1", title="Cookies"), observation("b", id="mem_2", title="B"))
    assert "[mem_1] Cookies: use Lax (" in block.text and "[mem_2] b (" in block.text


# -- rules and floor -----------------------------------------------------------------------------------


def rule(id: str, *, relevance: float = 0.0, weight: float = 1.0) -> Observation:
    return observation(f"rule {id}", id=id, relevance=relevance, weight=weight, layer="rule", type="rule")


def test_rules_lead_by_their_weighted_score_and_are_bounded() -> None:
    found = (observation("best", id="mem_0", relevance=1.0), rule("mem_1", relevance=0.3, weight=0.1),
             rule("mem_2", relevance=0.2), rule("mem_3"))  # fmt: skip
    block = build(*found, choice=Choice(max_rules=2))
    assert block.memory_ids == ("mem_2", "mem_1", "mem_0") and reasons(block) == {"mem_3": "too_many_rules"}


def test_a_rule_needs_no_relevance_and_what_the_graph_found_from_something_near_neither() -> None:
    found = (
        rule("mem_1"),
        observation("by the graph", id="mem_2", relevance=0.0, led_by="mem_4"),
        observation("far off", id="mem_3", relevance=0.19),
        observation("near", id="mem_4", relevance=0.2),
        observation("by the graph, from far off", id="mem_5", relevance=0.0, led_by="mem_3"),
    )
    block = build(*found, choice=Choice(floor=0.2))
    assert block.memory_ids == ("mem_1", "mem_4", "mem_2")
    assert reasons(block) == {"mem_3": "below_floor", "mem_5": "below_floor"}


def test_a_rule_that_a_user_said_in_a_prompt_needs_no_relevance_and_comes_after_what_is_near() -> None:
    found = (
        observation("never use npm", id="mem_1", relevance=0.0, heard=True),
        observation("near", id="mem_2", relevance=0.5),
        observation("far off", id="mem_3", relevance=0.1),
    )
    assert build(*found, choice=Choice(floor=0.2)).memory_ids == ("mem_2", "mem_1")
    assert build(*found, choice=Choice(floor=0.2, rules_only=True)).memory_ids == ()


def test_of_rules_that_were_heard_the_newest_come_first_and_the_oldest_find_no_room() -> None:
    heard = [
        observation(f"rule number {at}", id=f"mem_{at}", relevance=0.0, heard=True, at=NOW + timedelta(days=at))
        for at in range(4)
    ]
    assert build(*heard, choice=Choice(floor=0.2)).memory_ids == ("mem_3", "mem_2", "mem_1", "mem_0")
    assert build(*heard, choice=Choice(floor=0.2), budget_tokens=35).memory_ids[0] == "mem_3"


def test_of_what_was_asked_in_other_sessions_three_stand_before_the_rules_that_users_said() -> None:
    asked = [
        observation(f"The user asked: {at}", id=f"mem_{at}", relevance=0.9 - at / 10, metadata={"captured": "task"})
        for at in range(5)
    ]
    heard = observation("never use npm", id="mem_9", relevance=0.0, heard=True)
    block = build(*asked, heard, choice=Choice(floor=0.2))
    assert block.memory_ids == ("mem_0", "mem_1", "mem_2", "mem_9", "mem_3", "mem_4")


def test_of_what_was_observed_the_best_three_are_told() -> None:
    found = [
        observation(f"seen {at}", id=f"mem_{at}", relevance=1 - at / 10, origin="observed:tool") for at in range(5)
    ]
    block = build(*found, observation("decided", id="mem_9", relevance=0.3), choice=Choice(floor=0.2))
    assert block.memory_ids == ("mem_0", "mem_1", "mem_2", "mem_9")
    assert reasons(block) == {"mem_3": "too_many_observed", "mem_4": "too_many_observed"}


def test_of_a_task_in_words_of_any_work_only_what_was_told_of_it_counts() -> None:
    found = (
        observation("run the tests with make", id="mem_1", relevance=0.9),
        observation("the tests of billing failed", id="mem_2", relevance=0.8, origin="observed:tool"),
        observation("billing keeps cents", id="mem_3", relevance=0.0, led_by="mem_1"),
    )
    ask = partial(build, *found, choice=Choice(floor=0.2))
    assert ask(query_text="run the tests").memory_ids == ("mem_1",)
    assert ask(query_text="run the tests of billing").memory_ids == ("mem_1", "mem_2", "mem_3")


def test_the_graph_leads_on_from_what_names_a_thing_of_the_work_item() -> None:
    found = (
        observation("AuthService is old", id="mem_1", relevance=0.0),
        observation("it keeps cookies", id="mem_2", relevance=0.0, led_by="mem_1"),
    )
    block = build(*found, query_text="SHOP-7 Mend AuthService", choice=Choice(floor=0.2))
    assert block.memory_ids == ("mem_1", "mem_2")


def test_what_names_a_thing_of_the_work_item_needs_no_relevance() -> None:
    texts = ("AuthService is old", "see src/login.py", "old")
    found = [observation(text, id=f"mem_{at}", relevance=0.0) for at, text in enumerate(texts, 1)]
    block = build(*found, query_text="SHOP-7 Fix src/login.py of AuthService", choice=Choice(floor=0.2))
    assert block.memory_ids == ("mem_1", "mem_2") and reasons(block) == {"mem_3": "below_floor"}


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.floats(0.05, 1)), max_size=15))
def test_both_ranks_of_all_candidates_are_permutations(rows: list[tuple[bool, float, float]]) -> None:
    found = [
        rule(f"mem_{at}", relevance=relevance, weight=weight)
        if is_rule
        else observation(f"{at}", id=f"mem_{at}", relevance=relevance, weight=weight)
        for at, (is_rule, relevance, weight) in enumerate(rows)
    ]
    ranks = [one.ranked for one in build(*found, pep=YesMan()).candidates]
    everything = list(range(len(rows)))
    assert sorted(one.unweighted_rank for one in ranks) == sorted(one.weighted_rank for one in ranks) == everything


def test_now_and_then_something_hardly_tried_takes_the_last_place() -> None:
    found = several(["a" * 200, "b" * 200, "c" * 200])
    choice = Choice(explore=1.0, hardly_tried=lambda org, ids: [id for id in ids if id == "mem_02"])
    block = build(*found, budget_tokens=140, choice=choice)
    assert block.memory_ids == ("mem_00", "mem_02")
    assert [one.ranked.id for one in block.candidates if one.explored] == ["mem_02"]
    assert build(*found, budget_tokens=140, choice=choice).text == block.text


# -- memories of other projects ------------------------------------------------------------------------


class OneMore:
    """Adds a memory of another project."""

    def wrap(self, store: Any) -> Any:
        moved = observation("from the till", id="mem_t", project="till", transferred_from="till")
        return Shelf([*store.found, moved])


def test_r043_a_transfer_adds_marked_rows_and_without_one_there_are_none() -> None:
    own = observation("own", id="mem_1")
    block = build(own, cross_project_transfer=OneMore())
    assert "- [mem_t] [from till] from the till (weight: 1.00)" in block.text
    smuggled = OneMore().wrap(Shelf([own])).found
    assert build(*smuggled).memory_ids == ("mem_1",)


def test_a_transferred_row_is_still_subject_to_every_other_rule() -> None:
    class Secret(OneMore):
        def wrap(self, store: Any) -> Any:
            [one] = [one for one in super().wrap(store).found if one.transferred_from]
            return Shelf([replace(one, memory=replace(one.memory, classification="restricted"))])

    assert reasons(build(cross_project_transfer=Secret())) == {"mem_t": "denied"}


# -- past sessions -------------------------------------------------------------------------------------


def summary(id: str = "sum_1", text: str = "Fixed the cookie", **changes: Any) -> SessionSummary:
    nobody = dict.fromkeys(("user", "agent", "work_type"))
    made = SessionSummary(id, "local", "ses_0", "shop", issue="SHOP-7", outcome="accepted", goal="", text=text,
                          **nobody)  # fmt: skip
    return replace(made, **changes)


def test_past_sessions_come_last_two_at_most_and_within_their_share() -> None:
    told = [summary("sum_1"), summary("sum_2"), summary("sum_3")]
    block = build(observation("own", id="mem_1"), graph=GraphOptions(Facts([fact()])), summaries=told)
    assert block.text.endswith(
        "\n\n## Related Past Sessions\n- [sum_1] SHOP-7 (accepted): Fixed the cookie\n"
        "- [sum_2] SHOP-7 (accepted): Fixed the cookie"
    )
    assert block.session_summary_ids == ("sum_1", "sum_2")
    assert build(summaries=told, budget_tokens=100).session_summary_ids == ("sum_1",)


@pytest.mark.parametrize("hidden", [{"trust": "untrusted"}, {"classification": "restricted"}, {"org": "acme"}])
def test_a_past_session_that_may_not_be_told_is_not(hidden: dict[str, str]) -> None:
    assert build(summaries=[summary(**hidden)]).text == ""


@given(TEXTS, st.integers(20, 200), st.integers(0, 250))
def test_observations_and_past_sessions_share_the_budget(texts: list[str], budget: int, length: int) -> None:
    block = build(*several(texts), summaries=[summary(text="x" * length)] * 2, budget_tokens=budget, pep=YesMan())
    assert tokens(block.text) <= budget
