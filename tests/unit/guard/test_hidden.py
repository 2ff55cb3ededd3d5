"""What someone may not read is neither named nor counted, whichever words they ask with and whatever they try."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew import ClewError, Conflict, Draft, Identity, InvalidInput, NotFound, Scope
from clew.clew import Clew
from clew.model.memory import Memory
from clew.model.recalled import Trace
from toys import ToyEmbedder

DEAL = Scope(project="deal")
BOT = Identity(agent="bot", roles=())
BOB = Identity(user="bob", roles=("member",))
UNKNOWN = "mem_00000000000000000000000000"
HIDDEN, ABSENT = "Globex", "Initech"  # a word of the hidden memory, and one of none


@pytest.fixture
def deal(memory: Clew) -> Clew:
    memory.remember("the merger with Globex needs HsmBox", classification="restricted", scope=DEAL, upsert_key="m")
    memory.remember("Hooli sends a status note", scope=DEAL)
    memory.remember("the HsmBox sits in Zurich", scope=DEAL)
    return memory


@pytest.fixture
def without(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """The same without the hidden memory."""
    clew = clew_at(tmp_path / "without", embedder=ToyEmbedder())
    clew.remember("Hooli sends a status note", scope=DEAL)
    clew.remember("the HsmBox sits in Zurich", scope=DEAL)
    return clew


def hidden_in(clew: Clew) -> Memory:
    [found] = [memory for memory in clew.list(scope=DEAL) if memory.classification == "restricted"]
    return found


def close_by_policy(clew: Clew) -> None:
    """The restricted memory once more, hidden by an added policy from everybody."""
    hidden = hidden_in(clew)
    clew.edit(hidden.id, classification="internal")
    clew.policies.load(f'forbid (principal, action, resource == Mem::Observation::"{hidden.id}");', name="no")


# -- what a recall tells -----------------------------------------------------------------------------


@pytest.mark.parametrize("word", [HIDDEN, ABSENT, "Hooli", f"Hooli {HIDDEN}", f"Hooli {ABSENT}"])
def test_an_agents_recall_has_no_trace_whatever_it_asks(deal: Clew, word: str) -> None:
    assert deal.recall(word, scope=DEAL, identity=BOT).trace == Trace()
    assert deal.xray(word, scope=DEAL, identity=BOT).filters == ()


@pytest.mark.parametrize("retrieval", ["lexical", "hybrid"])
@pytest.mark.parametrize("word", [HIDDEN, f"Hooli {HIDDEN}", "who needs the HsmBox"])
def test_an_agents_recall_is_as_if_the_hidden_were_not_there(
    deal: Clew, without: Clew, word: str, retrieval: str
) -> None:
    ask: dict[str, Any] = {"scope": DEAL, "identity": BOT, "retrieval": retrieval, "limit": 1}
    seen = [(found.relevance, found.rank, found.why) for found in deal.recall(word, **ask).results]
    assert seen == [(found.relevance, found.rank, found.why) for found in without.recall(word, **ask).results]


def test_what_an_added_policy_hides_takes_no_place_of_what_may_be_read(memory: Clew) -> None:
    about = "the payroll vault rotation runbook"
    secret = [Draft(content=f"{about}, step {n}", classification="confidential") for n in range(12)]
    list(memory.remember_many(secret, scope=DEAL))
    notes = [memory.remember(f"a public note about rotation, {n}", scope=DEAL).id for n in range(6)]
    memory.policies.load(
        'forbid (principal is Mem::User, action == Mem::Action::"read", resource) when '
        '{ resource.classification == "confidential" && !principal.roles.contains("owner") };',
        name="conf",
    )
    found = memory.recall(about, scope=DEAL, identity=BOB, limit=5)
    assert len(found.results) == 5 and {one.memory.id for one in found.results} <= set(notes)
    assert [one.rank for one in found.results] == [1, 2, 3, 4, 5] and found.trace == Trace()
    context = memory.context(about, scope=DEAL, identity=BOB, limit=5)
    assert len(context.long_term) == 5


def test_so_is_one_of_a_scope_that_is_searched_on_disk(deal: Clew) -> None:
    deal._reader.corpora._max_bytes = 1
    found = deal.recall(f"Hooli {HIDDEN}", scope=DEAL, identity=BOT, retrieval="lexical").results
    other = deal.recall(f"Hooli {ABSENT}", scope=DEAL, identity=BOT, retrieval="lexical").results
    assert [one.memory.content for one in found] == ["Hooli sends a status note"]
    assert [(one.relevance, one.why) for one in found] == [(one.relevance, one.why) for one in other]


@pytest.mark.parametrize("closed", [False, True])
def test_an_agents_context_tells_nothing_of_the_hidden(deal: Clew, closed: bool) -> None:
    if closed:
        close_by_policy(deal)
    ask = {"scope": DEAL, "identity": BOT, "retrieval": "lexical", "strategy": "hybrid_graph"}
    found, other = (deal.context(word, **ask) for word in (HIDDEN, ABSENT))
    assert found.as_json() == other.as_json()
    assert "recall" not in found.trace and found.trace["lexical_candidates"] is None


def test_with_an_added_policy_ranks_count_only_what_may_be_read(deal: Clew) -> None:
    close_by_policy(deal)
    [found] = deal.recall("Globex Hooli", scope=DEAL, identity=BOB, retrieval="lexical").results
    assert (found.rank, found.why[0].rank) == (1, None)


def test_a_new_label_hides_at_once_and_shows_at_once(deal: Clew) -> None:
    hidden = hidden_in(deal)
    for label, count in (("restricted", 0), ("internal", 1), ("restricted", 0)):
        deal.edit(hidden.id, classification=label)
        found = deal.recall(HIDDEN, scope=DEAL, identity=BOT, retrieval="lexical", graph=False).results
        assert len(found) == count
    assert deal.recall(HIDDEN, scope=DEAL, retrieval="lexical").results


@pytest.mark.parametrize("who", [Identity(), BOB])
def test_those_from_whom_nothing_is_hidden_keep_their_trace(deal: Clew, who: Identity) -> None:
    for word in (HIDDEN, ABSENT):
        assert deal.recall(word, scope=DEAL, identity=who).trace.stages[0].into == 3
    assert deal.context(HIDDEN, scope=DEAL, identity=who).trace["recall"]["stages"]


def test_what_was_planned_away_is_told_to_everybody(deal: Clew) -> None:
    found = deal.recall("thanks", plan="no_recall", scope=DEAL, identity=BOT)
    assert found.trace.notes["plan"]["effective"] == "no_recall"


def test_stats_count_what_may_be_read(deal: Clew, without: Clew) -> None:
    assert deal.stats().memories == deal.stats(identity=BOB).memories == 3
    seen, other = deal.stats(identity=BOT), without.stats(identity=BOT)
    assert (seen.memories, seen.vectors, seen.content_bytes) == (2, other.vectors, other.content_bytes)
    close_by_policy(deal)
    assert (deal.stats(identity=BOT).memories, deal.stats().memories) == (2, 3)


# -- why ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("limit", [1, 10])
def test_why_names_no_hidden_memory_and_no_rank_among_them(deal: Clew, closed: bool, limit: int) -> None:
    hidden = hidden_in(deal).id
    if closed:
        close_by_policy(deal)
    [near] = [memory.id for memory in deal.list(scope=DEAL) if "Zurich" in memory.content]
    ask: dict[str, Any] = {"scope": DEAL, "identity": BOT, "retrieval": "lexical", "limit": limit}
    explained = deal.why("the merger with Globex needs", near, **ask)
    assert hidden not in json.dumps(explained.as_json())
    if not closed:
        assert explained == deal.why("the takeover of Initech wants", near, **ask)
    else:
        assert explained.rank is None and "rank" not in explained.reason


def test_the_owner_is_told_by_which_way(deal: Clew) -> None:
    [near] = [memory.id for memory in deal.list(scope=DEAL) if "Zurich" in memory.content]
    explained = deal.why("the merger with Globex needs", near, scope=DEAL, retrieval="lexical")
    assert explained.rank and hidden_in(deal).id in explained.reason


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempt", "error", "code"),
    [
        (lambda clew, _id: clew.remember("x", upsert_key="m", scope=DEAL, identity=BOT), Conflict,
         "MEMORY_KEY_TAKEN"),
        (lambda clew, _id: clew.edit(own(clew), upsert_key="m", scope=DEAL, identity=BOT), Conflict,
         "MEMORY_KEY_TAKEN"),
        (lambda clew, _id: clew.edit(own(clew), content="the merger with Globex needs HsmBox", scope=DEAL,
                                     identity=BOT), Conflict, "MEMORY_DUPLICATE"),
        (lambda clew, id: clew.remember("x", supersedes=id, scope=DEAL, identity=BOT), NotFound,
         "MEMORY_NOT_FOUND"),
    ],
)  # fmt: skip
def test_a_refusal_does_not_name_what_is_in_the_way(
    deal: Clew, attempt: Callable[[Clew, str], object], error: type[ClewError], code: str
) -> None:
    hidden = hidden_in(deal).id
    with pytest.raises(error) as refused:
        attempt(deal, hidden)
    assert refused.value.code == code
    if error is Conflict:
        assert hidden not in refused.value.message + refused.value.next


def own(clew: Clew) -> str:
    return clew.remember("a note of my own", scope=DEAL, identity=BOT).id


def test_the_owner_is_told_what_is_in_the_way(deal: Clew) -> None:
    with pytest.raises(Conflict) as refused:
        deal.edit(own(deal), upsert_key="m")
    assert hidden_in(deal).id in refused.value.message


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("field", ["supersedes", "parents"])
def test_a_hidden_id_is_answered_like_an_unknown_one(deal: Clew, field: str, replaced: bool) -> None:
    hidden = hidden_in(deal).id
    if replaced:
        deal.remember("the merger is off", supersedes=hidden, classification="restricted", scope=DEAL)
    answers = []
    for id in (hidden, UNKNOWN):
        given: Any = {field: (id,) if field == "parents" else id}
        with pytest.raises(NotFound) as refused:
            deal.remember("x", scope=DEAL, identity=BOT, **given)
        answers.append((refused.value.message.replace(id, ""), refused.value.next, refused.value.code))
    assert answers[0] == answers[1]


def test_who_replaced_a_memory_is_not_named_if_hidden(deal: Clew) -> None:
    mine = own(deal)
    by = deal.remember("it is secret now", supersedes=mine, classification="restricted", scope=DEAL).id
    with pytest.raises(Conflict) as refused:
        deal.remember("x", supersedes=mine, scope=DEAL, identity=BOT)
    assert refused.value.code == "MEMORY_SUPERSEDED" and by not in refused.value.message + refused.value.next


def test_the_beginning_of_an_id_finds_and_counts_only_what_may_be_read(memory: Clew) -> None:
    for number in range(3):
        memory.remember(f"hidden {number}", id=f"mem_samestart{number}", classification="restricted", scope=DEAL)
    with pytest.raises(InvalidInput, match="3 memories start"):
        memory.show("mem_samestart", scope=DEAL)
    verbs: list[Callable[..., object]] = [memory.show, memory.history, memory.forget, memory.graph.neighbors]
    for verb in verbs:
        with pytest.raises(NotFound, match=r"mem_samestart(?![0-9])"):
            verb("mem_samestart", scope=DEAL, identity=BOT)
    memory.remember("readable", id="mem_samestart8", scope=DEAL)
    assert memory.show("mem_samestart", scope=DEAL, identity=BOT).content == "readable"
    memory.remember("readable too", id="mem_samestart9", scope=DEAL)
    with pytest.raises(InvalidInput, match="several memories start"):
        memory.show("mem_samestart", scope=DEAL, identity=BOT)


def test_a_verdict_on_a_hidden_memory_does_not_complete_its_id(deal: Clew) -> None:
    hidden = hidden_in(deal).id
    with pytest.raises(NotFound) as refused:
        deal.learn.judge(hidden[:-3], "wrong", scope=DEAL, identity=BOT)
    assert hidden not in refused.value.message
