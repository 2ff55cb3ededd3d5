"""Nothing of another org is ever rendered: random memories and facts of five orgs, real policies, real renderer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from builders import Facts, Shelf, end, memory

from clew.guard.pep import Pep
from clew.inject import GraphOptions, build_session_memory_block
from clew.inject.block import Choice
from clew.model.graph_fact import GraphFact
from clew.model.inject import Block, Observation
from clew.model.memory import CLASSIFICATIONS, Memory

ORGS = ("alpha", "bravo", "charlie", "delta", "echo")
PROJECTS = (None, "shop", "till")
TRUSTS = ("user", "agent", "tool", "untrusted")
BATCH = 50  # of memories and of facts in one block
PLAIN = memory()


def random_memory(random: Random, number: int) -> Memory:
    """Every org's text names its org, so that a foreign one can be told by its looks."""
    org = random.choice(ORGS)
    return replace(
        PLAIN,
        id=f"mem_{org}_{number}",
        org=org,
        project=random.choice(PROJECTS),
        user=random.choice((None, None, None, "kim")),
        content=f"{org} knows {number}",
        classification=random.choice((*CLASSIFICATIONS, "unheard-of")),
        trust=random.choice(TRUSTS),
        layer=random.choice(("rule", "long_term")),
    )


def random_fact(random: Random, number: int) -> GraphFact:
    """Ends, witnesses and links may each be of another org: a broken store could do no worse."""
    witness, one, other = (random_memory(random, number * 3 + at) for at in range(3))
    if random.random() < 0.5:
        one, other = replace(one, org=witness.org), replace(other, org=witness.org)
    ends = [
        replace(end(f"{one.org}Node{number}", one, org=one.org, project=one.project), id=f"{one.org}-{at}-{number}")
        for at, one in enumerate((one, other))
    ]
    return GraphFact(ends[0], "uses", ends[1], random.random(), 1.0, (witness,), by_user=random.random() < 0.1)


def blocks(random: Random, count: int) -> Iterator[tuple[str, Block]]:
    pep = Pep()
    for start in range(0, count, BATCH):
        org = random.choice(ORGS)
        found = [
            Observation(random_memory(random, start + at), random.random(), 1.0, transferred_from=None)
            for at in range(BATCH)
        ]
        facts = [random_fact(random, start + at) for at in range(BATCH)]
        yield (
            org,
            build_session_memory_block(
                session_id="ses_1",
                work_type="bug_fix",
                org_id=org,
                project_id=random.choice(PROJECTS),
                query_text="knows",
                store=Shelf(found),
                graph=GraphOptions(Facts(facts), budget_tokens=100_000),
                budget_tokens=100_000,
                pep=pep,
                choice=Choice(limit=BATCH, max_rules=BATCH),
            ),
        )


def check(count: int) -> None:
    shown = {"memories": 0, "triplets": 0}
    for org, block in blocks(Random(count), count):
        foreign = [other for other in ORGS if other != org and other in block.text]
        assert not foreign, f"{org} was shown something of {foreign}"
        assert all(id.startswith(f"mem_{org}_") for id in block.memory_ids)
        assert all(id.startswith(f"{org}-") for id in block.graph_node_ids)
        shown["memories"] += len(block.memory_ids)
        shown["triplets"] += len(block.triplets)
    assert shown["memories"] > count / 100 and shown["triplets"] > count / 500, (
        "a fuzz that shows nothing proves nothing"
    )


def test_r056_fc8_nothing_of_another_org_among_thousands() -> None:
    check(3_000)


@pytest.mark.torture
def test_r056_fc8_nothing_of_another_org_among_a_hundred_thousand() -> None:
    check(100_000)
