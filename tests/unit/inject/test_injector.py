"""The injector as a library: outcomes, queries, ranking, budgets. Its ports answer as told."""

from __future__ import annotations

from typing import Any

import pytest
from injector_toys import BOB, SHOP, Agent, Told, event, found, injector

from clew.clew import Clew
from clew.errors import InvalidInput
from clew.inject import DEFAULT_IN_SESSION_CONFIG, InSessionConfig, create_in_session_memory_injector
from clew.inject.bus import VerbBus
from clew.inject.config import DOCUMENTED_NAMES
from clew.inject.injector import InSessionMemoryInjector
from clew.model.inject import OUTCOMES, VerbEvent
from clew.model.scope import Identity, Scope

PATH = "src/pay/vat.py"


# -- configuration -------------------------------------------------------------------------------------


def test_r090_defaults_are_the_documented_ones() -> None:
    config = DEFAULT_IN_SESSION_CONFIG
    assert (config.latency_ms, config.floor, config.budget_tokens, config.max_suggestions) == (100, 0.4, 200, 3)
    assert config.skip_tools == ("TodoWrite", "BashOutput")


def test_r092_only_the_given_keys_change() -> None:
    config = InSessionConfig.of({"minRelevanceScore": 0.6})
    assert config.floor == 0.6
    assert config == InSessionConfig(floor=0.6)


def test_r091_every_documented_name_is_understood() -> None:
    values: dict[str, Any] = {
        name: getattr(DEFAULT_IN_SESSION_CONFIG, own) for name, own in DOCUMENTED_NAMES.items()
    }
    assert InSessionConfig.of(values) == DEFAULT_IN_SESSION_CONFIG
    assert InSessionConfig.of({"disabledForAgents": ["bob"]}).disabled_for_agents == ("bob",)


def test_a_name_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidInput, match="speed"):
        InSessionConfig.of({"speed": 1})


def test_c05_the_injector_is_on_unless_somebody_says_otherwise() -> None:
    assert InSessionConfig().enabled


# -- outcomes ------------------------------------------------------------------------------------------


def test_r093_what_is_found_is_injected(memory: Clew) -> None:
    agent = Agent()
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]), agent)
    result = told.handle_verb_event(event(paths=(PATH,)))
    assert result.outcome == "injected"
    assert agent.heard == [("ses_1", result.block)]
    assert (result.block or "").splitlines()[0] == "## Relevant Past Observations"
    assert f"- [{result.memory_ids[0]}] VAT is rounded per line (weight: 1.00)" in (result.block or "")


def test_one_path_given_as_a_text_is_one_path() -> None:
    assert event(paths="src/pay.py") == event(paths=("src/pay.py",))


def test_r094_disabled_comes_first() -> None:
    store = Told()
    for config in ({"enabled": False}, {"disabledForAgents": ["bob"]}):
        result = injector(store, config=config).handle_verb_event(event(tool="TodoWrite", paths=(PATH,)))
        assert result.outcome == "disabled"
    assert store.asked == []


def test_r095_a_skipped_tool_asks_nothing_of_the_store() -> None:
    store = Told()
    assert injector(store).handle_verb_event(event(tool="BashOutput", paths=(PATH,))).outcome == "skipped"
    assert store.asked == []


def test_r117_a_list_of_tools_replaces_the_default_one_and_extra_ones_add_to_it(memory: Clew) -> None:
    store = Told([found(memory, "VAT is rounded per line", 0.9)])
    replaced = injector(store, config={"skipTools": ["Read"]})
    assert replaced.handle_verb_event(event(tool="TodoWrite", paths=(PATH,))).outcome == "injected"
    added = injector(store, config={"extra_skip_tools": ("Read",)})
    outcomes = [added.handle_verb_event(event(tool=tool, paths=(PATH,))).outcome for tool in ("Read", "TodoWrite")]
    assert outcomes == ["skipped", "skipped"]


def test_r087_without_an_agent_nothing_is_looked_for() -> None:
    store = Told()
    alone = injector(store, identity=Identity(roles=()))
    result = alone.handle_verb_event(VerbEvent(session="ses_1", tool="Edit", paths=(PATH,)))
    assert (result.outcome, result.reason) == ("skipped", "no_agent")
    assert store.asked == []


def test_r096_nothing_found_is_no_match() -> None:
    result = injector(Told()).handle_verb_event(event(paths=(PATH,)))
    assert (result.outcome, result.reason, result.block) == ("no-match", "nothing_found", None)


def test_r097_an_agent_that_cannot_be_spoken_to_gets_it_at_its_next_turn(memory: Clew) -> None:
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]), Agent(supports_message_injection=False))
    result = told.handle_verb_event(event(paths=(PATH,)))
    assert result.outcome == "queued"
    assert [one.block for one in told.drain_pending_for_next_turn("ses_1")] == [result.block]
    assert told.drain_pending_for_next_turn("ses_1") == []


def test_c06_what_the_agent_refuses_waits_for_its_next_turn(memory: Clew) -> None:
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]), Agent(error=OSError("gone")))
    result = told.handle_verb_event(event(paths=(PATH,)))
    assert (result.outcome, result.error) == ("queued", "OSError")
    assert len(told.drain_pending_for_next_turn("ses_1")) == 1


def test_r114_whatever_a_store_raises_is_an_answer_and_not_an_error() -> None:
    class Broken:
        def retrieve(self, *_: Any) -> list[Any]:
            raise RuntimeError("secret of a memory")

    result = injector(Broken()).handle_verb_event(event(paths=(PATH,)))
    assert (result.outcome, result.error) == ("no-match", "RuntimeError")
    assert "secret" not in str(result.as_json())


def test_every_outcome_is_a_documented_one(memory: Clew) -> None:
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]))
    events = [event(tool=tool, paths=paths) for tool in ("Edit", "TodoWrite") for paths in ((PATH,), ())]
    assert {told.handle_verb_event(one).outcome for one in events} <= set(OUTCOMES)


# -- seen ----------------------------------------------------------------------------------------------


def test_r113_what_was_handed_over_is_not_said_again(memory: Clew) -> None:
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]))
    outcomes = [told.handle_verb_event(event(paths=(PATH,))).outcome for _ in range(2)]
    assert outcomes == ["injected", "no-match"]
    assert told.handle_verb_event(event("ses_2", paths=(PATH,))).outcome == "injected"


def test_r099_a_forgotten_session_hears_everything_again(memory: Clew) -> None:
    store = Told([found(memory, "VAT is rounded per line", 0.9)])
    told = injector(store, Agent(supports_message_injection=False))
    told.handle_verb_event(event(paths=(PATH,)))
    told.forget_session("ses_1")
    assert told.drain_pending_for_next_turn("ses_1") == []
    assert told.handle_verb_event(event(paths=(PATH,))).outcome == "queued"


def test_the_same_event_twice_is_looked_at_once(memory: Clew) -> None:
    store = Told([found(memory, "VAT is rounded per line", 0.9)])
    told = injector(store)
    for phase in ("pre", "pre", "post"):
        told.handle_verb_event(event(event_id="e1", phase=phase, paths=(PATH,)))
    assert len(store.asked) == 1


def test_a_post_event_whose_pre_event_never_came_is_looked_at(memory: Clew) -> None:
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]))
    assert told.handle_verb_event(event(event_id="e1", phase="post", paths=(PATH,))).outcome == "injected"


def test_a_failure_is_a_new_question(memory: Clew) -> None:
    store = Told(by_text={"KeyError: vat": [found(memory, "VAT needs a country", 0.9)]})
    told = injector(store)
    assert told.handle_verb_event(event(event_id="e1", paths=(PATH,))).outcome == "no-match"
    failed = event(event_id="e1", phase="failure", paths=(PATH,), query="KeyError: vat")
    assert told.handle_verb_event(failed).outcome == "injected"


# -- queries -------------------------------------------------------------------------------------------


def test_r101_the_path_and_the_text_are_asked_for_and_merged_by_the_better_relevance(memory: Clew) -> None:
    once, twice = found(memory, "VAT is rounded", 0.45), found(memory, "cents are integers", 0.5)
    better = found(memory, "cents are integers", 0.8)  # the same memory: the store deduplicates
    store = Told(by_text={PATH: [once, twice], "rounding": [better]})
    result = injector(store).handle_verb_event(event(paths=(PATH, "src/other.py"), query="rounding"))
    assert [query.text for query in store.asked] == [PATH, "rounding"]
    assert result.memory_ids == (better.id, once.id)


@pytest.mark.parametrize(
    ("fields", "texts"),
    [({"paths": (PATH,)}, [PATH]), ({"query": "rounding"}, ["rounding"]), ({}, []), ({"query": "  "}, [])],
)
def test_r102_only_what_the_event_says_is_asked(fields: dict[str, Any], texts: list[str]) -> None:
    store = Told()
    result = injector(store).handle_verb_event(event(**fields))
    assert [query.text for query in store.asked] == texts
    assert result.outcome == "no-match"


def test_r105_the_floor_is_on_a_scale_where_higher_is_better(memory: Clew) -> None:
    at, below = found(memory, "at the floor", 0.4), found(memory, "below the floor", 0.399)
    result = injector(Told([at, below])).handle_verb_event(event(query="rounding"))
    assert result.memory_ids == (at.id,)


def test_r103_the_boost_may_lift_a_memory_over_the_floor(memory: Clew) -> None:
    about, other = found(memory, "rounding", 0.25, paths=(PATH,)), found(memory, "cookies", 0.25)
    result = injector(Told([about, other])).handle_verb_event(event(paths=(PATH,)))
    assert result.memory_ids == (about.id,)


def test_r104_weights_order_what_passed_the_floor(memory: Clew) -> None:
    better, proven = found(memory, "relevant", 0.9, weight=0.5), found(memory, "proven", 0.6, weight=1.0)
    result = injector(Told([better, proven])).handle_verb_event(event(query="rounding"))
    assert result.memory_ids == (proven.id, better.id)


def test_r106_at_most_three_suggestions(memory: Clew) -> None:
    many = [found(memory, f"note {number}", 0.9 - number / 100) for number in range(5)]
    result = injector(Told(many)).handle_verb_event(event(query="rounding"))
    assert result.memory_ids == tuple(one.id for one in many[:3])


def test_r106_at_most_200_tokens(memory: Clew) -> None:
    many = [found(memory, f"{number} " + "long " * 80, 0.9) for number in range(3)]
    result = injector(Told(many)).handle_verb_event(event(query="rounding"))
    assert 0 < result.tokens <= 200
    assert len(result.memory_ids) == 2


def test_c04_without_a_budget_of_its_own_the_work_types_counts(memory: Clew) -> None:
    many = [found(memory, f"{number} " + "long " * 80, 0.9) for number in range(3)]
    told = injector(Told(many), config={"budgetTokens": None, "workType": "feature"})
    result = told.handle_verb_event(event(query="rounding"))
    assert 200 < result.tokens <= 400


def test_a_query_is_cut_before_anything_reads_it() -> None:
    store = Told()
    injector(store).handle_verb_event(event(query="wordy " * 100_000))
    assert len(store.asked[0].text.encode()) <= 4_096


# -- scopes --------------------------------------------------------------------------------------------


def test_r108_scopes_are_asked_of_the_store() -> None:
    store = Told()
    for scope in ("project", "org", "session"):
        injector(store).handle_verb_event(event(query="rounding", memory_scope=scope))
    assert [(one.all_projects, one.session) for one in store.asked] == [
        (False, None),
        (True, None),
        (False, "ses_1"),
    ]


def test_r108_a_store_that_answers_too_much_widens_nothing(memory: Clew) -> None:
    foreign = found(memory, "of another project", 0.9, scope=Scope(project="bank"))
    mine = found(memory, "of this session", 0.9, scope=Scope(project="shop", session="ses_1"))
    documented = found(memory, "in documented words", 0.9, metadata={"sessionId": "ses_1"})
    store = Told([foreign, mine, documented, found(memory, "of no session", 0.9)])
    asked = {
        scope: set(injector(store).handle_verb_event(event(query="rounding", memory_scope=scope)).memory_ids)
        for scope in ("session", "project")
    }
    assert asked["session"] == {mine.id, documented.id}
    assert foreign.id not in asked["project"]


def test_r109_a_namespace_is_matched_exactly(memory: Clew) -> None:
    ops = found(memory, "for operations", 0.9, scope=Scope(project="shop", namespace="ops"))
    documented = found(memory, "for operations, too", 0.9, metadata={"namespace": "ops"})
    store = Told([ops, documented, found(memory, "for nobody in particular", 0.9)])
    told = injector(store).handle_verb_event(event(query="rounding", memory_namespace="ops"))
    assert set(told.memory_ids) == {ops.id, documented.id}
    assert injector(store).handle_verb_event(event(query="rounding", memory_namespace="op")).outcome == "no-match"


# -- rights --------------------------------------------------------------------------------------------


def test_r115_cedar_decides_about_every_memory(memory: Clew) -> None:
    """By the shipped policies: no restricted memory is ever injected."""
    fine, restricted = found(memory, "fine", 0.9), found(memory, "restricted", 0.9, classification="restricted")
    told = InSessionMemoryInjector(
        Told([fine, restricted]), Agent(), identity=BOB, config={"latencyBudgetMs": 10_000}
    )
    result = told.handle_verb_event(event(query="rounding"))
    assert result.memory_ids == (fine.id,)
    assert [(one.id, one.reason) for one in result.skipped] == [(restricted.id, "denied")]


def test_what_came_from_the_web_is_not_injected_as_fact(memory: Clew) -> None:
    foreign = found(memory, "the forum says so", 0.9, origin="web")
    assert injector(Told([foreign])).handle_verb_event(event(query="rounding")).outcome == "no-match"


def test_memories_of_another_org_are_dropped_whatever_policies_say(memory: Clew) -> None:
    foreign = found(memory, "theirs", 0.9)
    told = injector(Told([foreign]), identity=Identity(org="acme", agent="bob", roles=()))
    assert told.handle_verb_event(event(query="rounding")).outcome == "no-match"


# -- the bus -------------------------------------------------------------------------------------------


def test_r080_it_listens_to_the_bus_until_it_is_unsubscribed(memory: Clew) -> None:
    agent, bus = Agent(), VerbBus()
    told = injector(Told([found(memory, "VAT is rounded per line", 0.9)]), agent)
    with told.subscribe_to_verb_bus(bus):
        bus.emit(event(paths=(PATH,)))
    bus.emit(event("ses_2", paths=(PATH,)))
    assert [session for session, _text in agent.heard] == ["ses_1"]


def test_the_documented_constructor_makes_the_same(memory: Clew) -> None:
    store = Told([found(memory, "VAT is rounded per line", 0.9, scope=SHOP)])
    told = create_in_session_memory_injector(store, Agent(), {"maxSuggestionsPerEvent": 1}, identity=BOB)
    assert isinstance(told, InSessionMemoryInjector)
    assert told.config.max_suggestions == 1
