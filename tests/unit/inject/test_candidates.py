"""Candidates: what recall finds, as observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from clew.clew import Clew
from clew.inject import RetrievalQuery
from clew.model.memory import Draft, Memory
from clew.model.scope import Identity, Scope
from toys import open_toy

SHOP = Scope(project="shop")


def test_a_candidate_has_an_absolute_relevance_and_its_weight(memory: Clew) -> None:
    memory.remember("login uses cookies", scope=SHOP, weight=0.7)
    [found] = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login cookies"))
    assert 0 < found.relevance <= 1 and found.weight == 0.7 and found.led_by is None


def test_rules_come_only_when_asked_for(memory: Clew) -> None:
    memory.remember("always sign commits", scope=SHOP, type="rule")
    assert not memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login"))
    assert memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", rules=True))


def test_the_newest_that_users_said_in_the_project_come_whatever_is_asked_and_what_forbids(memory: Clew) -> None:
    def heard(text: str, project: str = "shop", captured: str = "rule") -> str:
        return memory.remember(text, scope=Scope(project=project), type="rule", layer="long_term",
                               origin="user_prompt", metadata={"captured": captured}).id  # fmt: skip

    wanted = {heard("never use npm")}
    heard("always sign commits")
    wanted |= {heard("keep lines short"), heard("let us use cents", captured="decision")}
    heard("other projects use tabs", "web"), heard("the user asked for tea", captured="task")
    unsure = {"captured": "rule", "unsure": True}
    memory.remember("serial is the box", scope=SHOP, type="rule", layer="long_term", metadata=unsure)
    memory.remember("rules that people remember stand by themselves", scope=SHOP, type="rule")
    ask = RetrievalQuery(text="login", heard=2)
    found = memory.inject.memories.retrieve(SHOP, ask)
    assert {one.id for one in found if one.heard} == wanted
    for scope, query in ((SHOP, RetrievalQuery(text="login")), (Scope(), ask)):
        assert not any(one.heard for one in memory.inject.memories.retrieve(scope, query))


def test_what_is_unsure_takes_no_place_of_what_is_certain(memory: Clew) -> None:
    kept = {"scope": SHOP, "type": "rule", "layer": "long_term"}
    sure = memory.remember("never push to main", metadata={"captured": "rule"}, **kept)
    for number in range(51):
        memory.remember(f"the box number {number}", metadata={"captured": "rule", "unsure": True}, **kept)
    found = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", heard=5))
    assert [one.id for one in found if one.heard] == [sure.memory.id]


def test_what_is_less_sure_comes_along_where_it_may_be_the_news_of_what_is_told(memory: Clew) -> None:
    kept = {"scope": SHOP, "type": "decision", "layer": "long_term"}
    unsure = {"captured": "decision", "unsure": True}
    memory.remember("pnpm is slow", at=memory.now() - timedelta(days=9), metadata=unsure, **kept)
    old = memory.remember(
        "we use pnpm here", at=memory.now() - timedelta(days=5), metadata={"captured": "rule"}, **kept
    )
    news = memory.remember("we're back on npm, no pnpm", metadata=unsure, **kept)
    memory.remember("we're done with the header", metadata=unsure, **kept)
    found = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", heard=5))
    assert [one.id for one in found if one.heard] == [news.memory.id, old.memory.id]


@pytest.mark.parametrize(
    ("old", "new", "is_news"),
    [
        ("we use pnpm", "we are back on npm", True),
        ("jest for tests", "vitest runs in jsdom", True),
        ("tabs, always", "spaces in the new files", True),
        ("poetry add, not pip", "the uv cache is warm", True),
        ("never touch the legacy importer", "the legacy importer is mine now", True),
        ("we use pnpm", "jest is slow", False),
        ("keep lines under 100 characters", "the demo has 100 seats", False),
        ("squash merge is ok, always", "flaky tests are ok in the sandbox", False),
        ("port 3000 belongs to grafana", "3000 rows per page", False),
        ("named exports are fine", "the header looks fine", False),
        ("dont push to main", "i dont like the header", False),
    ],
)
def test_news_names_the_same_or_what_is_used_in_its_place(memory: Clew, old: str, new: str, is_news: bool) -> None:
    kept = {"scope": SHOP, "type": "rule", "layer": "long_term", "trust": "agent"}
    memory.remember(old, at=memory.now() - timedelta(days=5), metadata={"captured": "rule"}, **kept)
    memory.remember(new, metadata={"captured": "rule", "unsure": True}, **kept)
    found = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", heard=5))
    assert (new in {one.memory.content for one in found if one.heard}) == is_news


def test_a_rule_that_was_heard_and_no_longer_holds_is_not_told(memory: Clew) -> None:
    over = memory.now() - timedelta(days=1)
    kept = {"scope": SHOP, "type": "rule", "layer": "long_term", "metadata": {"captured": "rule"}}
    memory.remember("always sign commits", valid_at=over - timedelta(days=1), invalid_at=over, **kept)
    holds = memory.remember("never use npm", **kept)
    found = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", heard=5))
    assert [one.id for one in found if one.heard] == [holds.memory.id]


def test_what_may_not_be_told_takes_no_place_of_rules_that_may(memory: Clew) -> None:
    kept = {"scope": SHOP, "type": "rule", "layer": "long_term", "metadata": {"captured": "rule"}}
    ids = [memory.remember(f"rule number {number}", **kept).memory.id for number in range(4)]
    ask = RetrievalQuery(
        text="login", heard=2, refused=lambda asked: {one.id: "denied" for one in asked if one.id in ids[2:]}
    )
    heard = {one.id: one.withheld for one in memory.inject.memories.retrieve(SHOP, ask) if one.heard}
    assert heard == {ids[0]: "", ids[1]: "", ids[2]: "denied", ids[3]: "denied"}


def test_hundreds_that_may_not_be_told_keep_nobody_from_what_may(memory: Clew) -> None:
    secret = [Draft(content=f"login secret {number}") for number in range(300)]
    denied = {one.id for one in memory.remember_many(secret, scope=SHOP)}
    told = memory.remember("login and logout share a page", scope=SHOP).id
    asked: list[int] = []

    def refused(memories: Sequence[Memory]) -> dict[str, str]:
        asked.append(len(memories))
        return {one.id: "denied" for one in memories if one.id in denied}

    found = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login secret", limit=5, refused=refused))
    assert [one.id for one in found if not one.withheld] == [told]
    assert len(asked) < 8  # few questions, each about many


def test_what_the_graph_leads_to_says_so(tmp_path: Path) -> None:
    with open_toy(tmp_path / "clew.db") as clew:
        near = clew.remember("login uses AuthService", scope=SHOP)
        far = clew.remember("AuthService depends on RedisCache", scope=SHOP)
        found = {one.id: one for one in clew.inject.memories.retrieve(SHOP, RetrievalQuery(text="login"))}
        assert found[far.id].led_by == near.id and found[far.id].relevance == 0
        alone = clew.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", graph=False))
        assert far.id not in {one.id for one in alone}


def test_scope_session_and_namespace_restrict_and_the_org_widens(memory: Clew) -> None:
    here = Scope(project="shop", session="ses_1", namespace="ns")
    own = memory.remember("login here", scope=here).id
    memory.remember("login there", scope=Scope(project="till"))
    retrieve = memory.inject.memories.retrieve
    assert len(retrieve(SHOP, RetrievalQuery(text="login", all_projects=True))) == 2
    for asked in ({"session": "ses_1"}, {"namespace": "ns"}, {}):
        assert [one.id for one in retrieve(SHOP, RetrievalQuery(text="login", **asked))] == [own]
    assert not retrieve(SHOP, RetrievalQuery(text="login", namespace="other"))


def test_another_orgs_memories_are_not_candidates(memory: Clew) -> None:
    memory.remember("login", scope=Scope("acme", "shop"), identity=Identity("acme"))
    assert not memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login", all_projects=True))


def test_a_query_without_words_finds_nothing(memory: Clew) -> None:
    memory.remember("login", scope=SHOP)
    assert memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="  ", rules=True)) == []


@pytest.mark.parametrize(("rejections", "retired"), [(4, False), (16, True)])
def test_what_outcomes_made_worthless_is_marked(memory: Clew, rejections: int, retired: bool) -> None:
    memory.remember("login uses cookies", scope=SHOP)
    for _ in range(rejections):
        session = memory.sessions.start(project="shop", title="login cookies", work_type="bug_fix")
        memory.sessions.claim(session.id, "w")
        memory.inject.start(session.id)
        memory.sessions.end(session.id, "rejected")
    [found] = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login cookies"))
    assert found.retired is retired


def test_with_a_margin_only_what_stands_out_is_read_and_says_from_what(memory: Clew) -> None:
    for number in range(3):
        memory.remember(f"redis note number {number}", scope=SHOP)
    right = memory.remember("redis sentinel failover quorum", scope=SHOP).id
    query = RetrievalQuery(text="redis sentinel failover quorum", limit=4, margin=0.4)
    [found] = memory.inject.memories.retrieve(SHOP, query)
    everything = memory.inject.memories.retrieve(SHOP, replace(query, margin=None))
    assert (found.id, found.background) == (right, min(one.relevance for one in everything))
    assert len(everything) == 4


def test_with_a_floor_rules_need_it_too(memory: Clew) -> None:
    memory.remember("never deploy on fridays", type="rule", scope=SHOP)
    query = RetrievalQuery(text="redis sentinel", rules=True)
    assert len(memory.inject.memories.retrieve(SHOP, query)) == 1
    assert memory.inject.memories.retrieve(SHOP, replace(query, floor=0.2)) == []


@pytest.mark.parametrize("crowd", [{"origin": "web"}, {"classification": "restricted"}])
def test_what_is_never_told_unasked_takes_no_place_of_what_is(memory: Clew, crowd: dict[str, str]) -> None:
    note = memory.remember("login uses cookies", scope=SHOP).id
    many = [memory.remember(f"login uses cookies login {number}", scope=SHOP, **crowd).id for number in range(9)]
    found = memory.inject.memories.retrieve(SHOP, RetrievalQuery(text="login uses cookies", limit=3))
    assert found[0].id == note and found[0].background == 0.0
    assert 0 < len(found) <= 4 and {one.id for one in found[1:]} <= set(many)  # to say why not


def test_a_memory_that_may_be_told_again_takes_its_place(memory: Clew) -> None:
    note = memory.remember("login uses cookies", scope=SHOP, classification="restricted").id
    plain = memory.remember("login uses cookies for a year", scope=SHOP).id
    asked = RetrievalQuery(text="login uses cookies", limit=1)
    assert [one.id for one in memory.inject.memories.retrieve(SHOP, asked)] == [plain, note]
    memory.edit(note, classification="internal")
    assert len(memory.inject.memories.retrieve(SHOP, asked)) == 1
