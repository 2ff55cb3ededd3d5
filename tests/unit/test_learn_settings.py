"""Each setting of section `learn` changes something: one test per setting, named test_learn_<setting>_is_live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.clew import Clew
from clew.inject.candidates import RetrievalQuery
from clew.learn import apply_feedback
from clew.model.graph import NodeRef, node_id, uuid_text
from clew.model.inject import ContextInjectionLog
from clew.model.scope import Scope
from toys import open_toy

SHOP = Scope(project="shop")
NODE = uuid_text(node_id("local", "shop", NodeRef("service", "authservice")))


@contextmanager
def world(folder: Path, **learn: Any) -> Iterator[Clew]:
    with open_toy(folder / f"{len(list(folder.iterdir()))}.db", learn=learn) as clew:
        yield clew


# -- how far an outcome moves a weight -----------------------------------------------------------------


def after(folder: Path, outcome: str, *, delivered: bool = True, **learn: Any) -> tuple[float, float]:
    """The weights of a memory and of a node, both 0.5 before, after one session."""
    with world(folder, **learn) as clew:
        id = clew.remember("AuthService is slow on Mondays", scope=SHOP, weight=0.5).memory.id
        session = clew.sessions.start(project="shop").id
        log = ContextInjectionLog(
            session_id=session,
            project_id="shop",
            observation_ids=(id,),
            graph_node_ids=(NODE,),
            delivered=delivered,
        )
        clew.store.write(lambda tx: tx.injections.put(log, at=clew.now()))
        apply_feedback(clew, org_id="local", session_id=session, outcome=outcome)
        with clew.store.read() as tx:
            node = tx.learning.node("local", NODE)
        assert node
        return clew.show(id).weight, node.weight


def test_learn_alpha_success_is_live(tmp_path: Path) -> None:
    assert after(tmp_path, "accepted")[0] == pytest.approx(0.55)
    assert after(tmp_path, "accepted", alpha_success=0.4)[0] == pytest.approx(0.7)


def test_learn_alpha_failure_is_live(tmp_path: Path) -> None:
    assert after(tmp_path, "rejected")[0] == pytest.approx(0.425)
    assert after(tmp_path, "rejected", alpha_failure=0.4)[0] == pytest.approx(0.3)


def test_learn_alpha_graph_is_live(tmp_path: Path) -> None:
    assert after(tmp_path, "accepted")[1] == pytest.approx(0.55)
    assert after(tmp_path, "accepted", alpha_graph=0.4)[1] == pytest.approx(0.7)


def test_learn_rework_score_is_live(tmp_path: Path) -> None:
    assert after(tmp_path, "rework")[0] == pytest.approx(0.425)
    assert after(tmp_path, "rework", rework_score=0.5)[0] == pytest.approx(0.5)


def test_learn_graph_rework_score_is_live(tmp_path: Path) -> None:
    assert after(tmp_path, "rework")[1] == pytest.approx(0.5)
    assert after(tmp_path, "rework", graph_rework_score=0.0)[1] == pytest.approx(0.45)


def test_learn_undelivered_is_live(tmp_path: Path) -> None:
    moved = [after(tmp_path, "rejected", delivered=False, undelivered=how)[0] for how in ("full", "scaled", "off")]
    assert moved == pytest.approx([0.425, 0.5 * (1 - 0.15 / 4), 0.5])


# -- what it does to a block ---------------------------------------------------------------------------

# In the order of relevance for the question "redis cache eviction"; the first has failed a lot.
TEXTS = (("redis cache eviction", 0.2), ("redis cache eviction at night", 1.0), ("redis cache", 1.0))


def lines(folder: Path, weights: tuple[float, ...] = (), **learn: Any) -> list[str]:
    """The texts of a session's first block, in their order."""
    with world(folder, **learn) as clew:
        for (text, weight), other in zip(TEXTS, weights or (1.0,) * len(TEXTS), strict=True):
            clew.remember(text, scope=SHOP, weight=other if weights else weight)
        return in_block(clew)


def in_block(clew: Clew) -> list[str]:
    session = clew.sessions.start(project="shop", work_type="bug_fix", issue="redis cache eviction")
    block = clew.inject.start(session.id, dry_run=True)
    return [clew.show(id).content for id in block.memory_ids]


def test_learn_weighting_is_live(tmp_path: Path) -> None:
    assert lines(tmp_path)[0] != TEXTS[0][0]
    assert lines(tmp_path, weighting=False)[0] == TEXTS[0][0]


def test_learn_ranking_is_live(tmp_path: Path) -> None:
    """Half the weight is half the score when multiplied; neutral, it is the weight of what is untried."""
    weights = (0.5, 0.5, 1.0)
    assert lines(tmp_path, weights)[0] == "redis cache"
    assert lines(tmp_path, weights, ranking="neutral")[-1] == "redis cache"


def failed(clew: Clew, times: int) -> None:
    """The first text was in so many sessions that failed."""
    id = clew.remember(TEXTS[0][0], scope=SHOP).memory.id
    clew.remember(TEXTS[1][0], scope=SHOP)
    for _ in range(times):
        session = clew.sessions.start(project="shop").id
        log = ContextInjectionLog(session_id=session, project_id="shop", observation_ids=(id,), delivered=True)
        clew.store.write(lambda tx, log=log: tx.injections.put(log, at=clew.now()))
        clew.learn.feedback(session, "rejected")


def test_learn_retire_below_is_live(tmp_path: Path) -> None:
    for below, shown in ((0.1, True), (0.5, False)):
        with world(tmp_path, retire_below=below) as clew:
            failed(clew, 5)
            assert (TEXTS[0][0] in in_block(clew)) is shown


def test_learn_retire_samples_is_live(tmp_path: Path) -> None:
    for samples, shown in ((5, False), (6, True)):
        with world(tmp_path, retire_below=0.5, retire_samples=samples) as clew:
            failed(clew, 5)
            assert (TEXTS[0][0] in in_block(clew)) is shown


def explored(folder: Path, chance: float) -> bool:
    """Whether something got into a block by chance; there is more to say than fits."""
    with world(folder, explore=chance) as clew:
        for at in range(40):
            clew.remember(f"redis cache eviction number {at} " + "and more words about it " * 10, scope=SHOP)
        session = clew.sessions.start(project="shop", work_type="chore", issue="redis cache eviction")
        block = clew.inject.start(session.id, dry_run=True)
        return any(one.explored for one in block.candidates)


def test_learn_explore_is_live(tmp_path: Path) -> None:
    assert explored(tmp_path, 1.0) and not explored(tmp_path, 0.0)


# -- transfer between projects ---------------------------------------------------------------------------


def brought_over(folder: Path, *web: str, **learn: Any) -> list[tuple[float, float]]:
    """Weight and relevance of what project shop, built with Next 15, has to say to project web."""
    with world(folder, **learn) as clew:
        for project, packages in (("shop", ["next@15"]), ("web", web or ["next@15"])):
            wanted = dict(package.split("@") for package in packages)
            clew.transfer.fingerprint(project, {"package.json": json.dumps({"dependencies": wanted})})
        clew.transfer.grant("shop", "web")
        clew.remember("payment retries need a key", scope=SHOP, type="decision", weight=0.8)
        config = clew.transfer.config_for(clew.sessions.start(project="web"))
        assert config
        query = RetrievalQuery(text="payment retries")
        found = config.wrap(clew.inject.memories).retrieve(Scope(project="web"), query)
        return [(one.weight, one.relevance) for one in found]


def test_learn_transfer_multiplier_is_live(tmp_path: Path) -> None:
    [(half, _)], [(fifth, _)] = brought_over(tmp_path), brought_over(tmp_path, transfer_multiplier=0.2)
    assert (half, fifth) == (pytest.approx(0.4), pytest.approx(0.16))


def test_learn_transfer_apply_to_is_live(tmp_path: Path) -> None:
    [(_, both)], [(_, weight)] = brought_over(tmp_path), brought_over(tmp_path, transfer_apply_to="weight")
    assert weight == pytest.approx(2 * both)


def test_learn_transfer_threshold_is_live(tmp_path: Path) -> None:
    three_of_four = ("next@15", "zod@latest")
    assert brought_over(tmp_path, *three_of_four, transfer_threshold=0.75)
    assert not brought_over(tmp_path, *three_of_four, transfer_threshold=0.76)


def test_learn_transfer_ignore_versions_is_live(tmp_path: Path) -> None:
    assert not brought_over(tmp_path, "next@16")
    assert brought_over(tmp_path, "next@16", transfer_ignore_versions=True)
