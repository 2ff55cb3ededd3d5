"""Spreading activation over arrays, compiled beside the Python that does the same work."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import native
from clew.graph.activation import Activation, Spread
from clew.graph.packed import Arrays, Changes, _told
from clew.model.scope import Reach
from clew.model.times import to_micros
from clew.ports import Store
from clew.recall.arrays import ENTRY, ArrayWalk, Base, Entries, Numbering
from clew.recall.walk import NEVER, Walk

Row = tuple[int, float, float, int, int]  # target, weight, confidence, until, kind

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MOMENT = int(to_micros(NOW))
LAST = 14  # of the nodes of a random graph
UNKNOWN = 10**6
KINDS = {"calls": 0, "mention": 1, "uses": 2}

NODES = st.integers(0, LAST)
ROWS = st.tuples(
    NODES,
    st.sampled_from((1.0, 0.5, 0.5, 0.0)) | st.floats(0, 2),
    st.sampled_from((1.0, 0.5, 0.2, 0.1)) | st.floats(0, 1),
    st.sampled_from((NEVER, NEVER, NEVER, MOMENT - 1, MOMENT, MOMENT + 1)),
    st.integers(0, 2),
)
ENTRIES = st.dictionaries(NODES, st.lists(ROWS, max_size=8), max_size=LAST)
COUNTS = st.none() | st.integers(0, 6)
SETTINGS = st.builds(
    Activation,
    max_steps=st.integers(1, 4),
    decay=st.sampled_from((0.7, 1.0, 0.3)),
    confidence_floor=st.sampled_from((0.2, 0.0)),
    iterations=st.sampled_from((8, 8, 1, 0, 50)),
    beta=st.sampled_from((0.15, 0.15, 0.0, None)),
    top_m=st.integers(0, 7),
    refinement=st.just("personalised"),
    fan_out=COUNTS,
    max_expanded=COUNTS,
)
SEEDS = st.dictionaries(NODES | st.just(UNKNOWN), st.sampled_from((1.0, 0.5, 0.0)) | st.floats(0, 1), max_size=4)


@pytest.fixture(autouse=True)
def has_compiled() -> None:
    if native.compiled is None:
        pytest.skip("not compiled here")


@dataclass(eq=False)
class ToldWalk(ArrayWalk):
    """Reads what it is told, and not a store."""

    told: Mapping[int, Sequence[Row]] = field(default_factory=dict)
    reads: int = 0

    def _read(self, nodes: set[int]) -> None:
        self.reads += bool(nodes)
        self.patched |= {node: packed(self.told.get(node, ())) for node in nodes}


def packed(rows: Sequence[Row]) -> Entries:
    return np.array(list(rows), ENTRY)


def base_of(entries: Mapping[int, Sequence[Row]], memories: Sequence[int]) -> Base:
    nodes = sorted(node for node, rows in entries.items() if rows)
    sizes = [len(entries[node]) for node in nodes]
    rows = packed([row for node in nodes for row in entries[node]])
    ids = [f"m{node}" for node in sorted(memories)]
    return Base(
        nodes=Numbering(np.array(nodes, np.int64)),
        starts=np.array([0, *np.cumsum(sizes, dtype=np.int64), sum(sizes)], np.int64),
        entries=rows,
        kinds=dict(KINDS),
        first_end=int(rows["until"].min(initial=NEVER)),
        memories=Numbering(np.array(sorted(memories), np.int64)),
        memory_ids=ids,
        by_id=dict(zip(ids, sorted(memories), strict=True)),
    )


def walk_over(
    entries: Mapping[int, Sequence[Row]],
    memories: Sequence[int] | None = None,
    *,
    later: Mapping[int, Sequence[Row]] | None = None,
    new: Sequence[int] = (),
    read: Sequence[int] = (),
) -> ToldWalk:
    """`later`: what changed nodes have by now; of those in `read` somebody asked before."""
    told = later or {}
    return ToldWalk(
        base_of(entries, list(range(LAST + 1)) if memories is None else memories),
        cast("Store", None),
        Reach.everything("local"),
        0,
        NOW,
        changed=set(told),
        patched={node: packed(told[node]) for node in read if node in told},
        new_nodes={node: f"n{node}" for node in new},
        told=told,
    )


def assert_the_same(walk: ToldWalk, seeds: dict[int, float], settings: Activation) -> Spread | None:
    """What is compiled, after it was compared; the walks do not share what they read."""
    other = replace(walk, patched=dict(walk.patched))
    found, expected = walk.spread(seeds, settings), Walk.spread(other, seeds, settings)
    assert (found is None) == (expected is None)
    assert set(walk.patched) == set(other.patched)
    if found is None or expected is None:
        return None
    assert type(found) is not type(expected)
    assert found.nodes == expected.nodes
    assert found.scores == expected.scores
    for at in range(len(found.nodes)):
        assert found.activated(at) == expected.activated(at)
    return found


@given(ENTRIES, SEEDS, SETTINGS, st.sets(NODES))
def test_a_graph_that_did_not_change(
    entries: dict[int, list[Row]], seeds: dict[int, float], settings: Activation, memories: set[int]
) -> None:
    assert_the_same(walk_over(entries, list(memories)), seeds, settings)


@given(ENTRIES, ENTRIES, SEEDS, SETTINGS, st.sets(NODES), st.lists(NODES), st.lists(NODES))
def test_a_graph_of_which_nodes_changed(
    entries: dict[int, list[Row]],
    later: dict[int, list[Row]],
    seeds: dict[int, float],
    settings: Activation,
    memories: set[int],
    new: list[int],
    read: list[int],
) -> None:
    assert_the_same(walk_over(entries, list(memories), later=later, new=new, read=read), seeds, settings)


def large(rng: random.Random, size: int, near: int) -> dict[int, list[Row]]:
    """Some nodes lead to very many others, and many entries are alike."""
    return {
        node: [
            (rng.randrange(size), rng.choice((1.0, 0.5)), rng.choice((1.0, 0.6)), NEVER, rng.randrange(3))
            for _ in range(rng.choice((3, near, 5 * near)))
        ]
        for node in range(size)
    }


@pytest.mark.parametrize("seed", range(12))
def test_large_graphs_with_hubs_and_nodes_that_are_alike(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.choice((90, 700, 4_000))
    entries = large(rng, size, 40)
    settings = Activation(
        refinement="personalised", fan_out=rng.choice((64, 7, None)), max_expanded=rng.choice((30, 400, None))
    )
    later = large(rng, size // 3, 20) if seed % 2 else None
    walk = walk_over(entries, rng.sample(range(size), size // 2), later=later, new=[size - 1])
    found = assert_the_same(walk, {node: rng.random() for node in rng.sample(range(size), 10)}, settings)
    assert found
    assert found.nodes


def test_seeds_that_touch_each_other_score_by_what_the_others_give() -> None:
    rows = {0: [(1, 1.0, 0.9, NEVER, 0)], 1: [(0, 1.0, 0.8, NEVER, 1), (2, 1.0, 1.0, NEVER, 2)]}
    found = assert_the_same(walk_over(rows), {0: 1.0, 1: 0.5}, Activation(refinement="personalised"))
    assert found
    assert set(found.nodes) == {0, 1, 2}
    one = found.activated(found.nodes.index(1))
    assert (one.seed, one.path, one.edge_confidences, one.type) == (0, (0, 1), (0.9,), "calls")


def test_nodes_that_changed_are_read_once_for_each_hop() -> None:
    chain: dict[int, list[Row]] = {node: [(node + 1, 1.0, 1.0, NEVER, 0)] for node in range(5)}
    walk = walk_over({}, later=chain)
    settings = Activation(refinement="personalised")
    found = assert_the_same(walk, {0: 1.0}, settings)
    assert found
    assert found.activated(found.nodes.index(3)).path == (0, 1, 2, 3)
    before = walk.reads
    assert before == 4  # three hops, and then what lies between
    assert_the_same(walk, {0: 1.0}, settings)
    assert walk.reads == before


def test_nothing_is_found_in_an_empty_graph_or_without_seeds() -> None:
    settings = Activation(refinement="personalised")
    walk = walk_over({0: [(1, 1.0, 1.0, NEVER, 0)]})
    assert assert_the_same(walk_over({}, []), {0: 1.0, UNKNOWN: 1.0}, settings) is None
    assert assert_the_same(walk, {}, settings) is None
    assert assert_the_same(walk, {0: 1.0}, replace(settings, max_steps=0)) is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("weight", [np.inf, np.nan, 1e308])
def test_weights_that_are_not_finite_are_left_to_numpy(weight: float) -> None:
    rows: list[Row] = [(1, weight, 1.0, NEVER, 0), (2, weight, 1.0, NEVER, 0), (0, 1.0, 1.0, NEVER, 0)]
    walk = walk_over({0: rows, 1: rows, 2: rows})
    settings = Activation(refinement="personalised", decay=1.0)
    found, expected = walk.spread({0: 1.0}, settings), Walk.spread(walk, {0: 1.0}, settings)
    assert (found is None) == (expected is None)
    if found and expected:
        assert found.nodes == expected.nodes


def test_engrams_refinement_and_numbers_too_far_apart_for_a_table_are_left_to_numpy() -> None:
    rows = {0: [(1, 1.0, 1.0, NEVER, 0)], 10**7: [(1, 1.0, 1.0, NEVER, 0)]}
    far, near = walk_over(rows), walk_over({0: rows[0]})
    assert far.base.packed is None
    found = [far.spread({0: 1.0}, Activation(refinement="personalised")), near.spread({0: 1.0}, Activation())]
    assert all(one and one.activated(0).path == (0, 1) for one in found)


# -- what is not as it should be ----------------------------------------------------------------------------

CHAIN = walk_over({node: [(node + 1, 1.0, 1.0, NEVER, 0)] for node in range(4)})
ARRAYS = cast("Arrays", CHAIN.base.packed)
NOTHING = Changes(set(), {}, {}, NEVER, MOMENT)
TOLD = _told(Activation(refinement="personalised"))


def spread(arrays: Any = ARRAYS, changes: Any = NOTHING, seeds: Any = None, told: Any = TOLD) -> Any:
    assert native.compiled is not None
    return native.compiled.spread(arrays, changes, {0: 1.0} if seeds is None else seeds, told)


def test_the_arrays_that_are_damaged_below_are_well_before() -> None:
    nodes, *_rest = spread()
    assert nodes == [1, 2, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"entries": np.zeros((4, 5))},
        {"entries": np.zeros(4, [("target", np.int64), ("rest", "V32")])},
        {"entries": ARRAYS.entries[::2]},
        {"entries": [1, 2]},
        {"starts": ARRAYS.starts.astype(np.int32)},
        {"starts": ARRAYS.starts.astype(np.float64)},
        {"numbers": ARRAYS.numbers.astype(np.int64)},
        {"memories": ARRAYS.memories.astype(np.int64)},
        {"memory_count": "many"},
    ],
)
def test_arrays_of_another_kind_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, BufferError)):
        spread(ARRAYS._replace(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"entries": ARRAYS.entries[:2]},
        {"starts": ARRAYS.starts[:2]},
        {"starts": ARRAYS.starts[:0]},
        {"starts": -ARRAYS.starts - 1},
        {"starts": ARRAYS.starts + 100},
        {"starts": np.array([3, 1, 2, 3, 4, 4])},
        {"starts": ARRAYS.starts * 2**60},
        {"numbers": ARRAYS.numbers + 100},
        {"numbers": ARRAYS.numbers - 100},
        {"numbers": np.full(3, 2**31 - 1, np.int32)},
        {"numbers": ARRAYS.numbers[:0]},
        {"memories": ARRAYS.memories[:0]},
    ],
)
def test_places_that_are_not_there_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((IndexError, ValueError)):
        spread(ARRAYS._replace(**wrong))


def test_entries_that_lead_to_no_node_are_refused() -> None:
    for target in (-1, -2, -(2**63)):
        entries = ARRAYS.entries.copy()
        entries["target"][2] = target
        with pytest.raises(ValueError, match="negative"):
            spread(ARRAYS._replace(entries=entries))


def test_far_nodes_and_kinds_are_only_handed_on() -> None:
    entries = ARRAYS.entries.copy()
    entries["target"][1], entries["kind"] = 2**62, -1
    assert spread(ARRAYS._replace(entries=entries))[0] == [1]


class Odd(int):
    """Never the same as another."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def test_other_arguments_are_refused() -> None:
    assert native.compiled is not None
    for wrong in (
        {"arrays": None},
        {"arrays": ARRAYS[:4]},
        {"changes": []},
        {"changes": NOTHING._replace(changed={0: 1})},
        {"changes": NOTHING._replace(patched=None)},
        {"changes": NOTHING._replace(new_nodes=[])},
        {"changes": NOTHING._replace(now="now")},
        {"changes": NOTHING._replace(changed={0}, patched={0: np.zeros(3)})},
        {"changes": NOTHING._replace(changed={0}, patched={0: None})},
        {"seeds": [0]},
        {"seeds": {"0": 1.0}},
        {"seeds": {0: "1"}},
        {"seeds": {-1: 1.0}},
        {"seeds": {2**64: 1.0}},
        {"seeds": {Odd(0): 1.0, Odd(0): 1.0}},
        {"told": TOLD[:-1]},
        {"told": (*TOLD[:-1], np.zeros(3, np.int64))},
        {"told": ("3", *TOLD[1:])},
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            spread(**wrong)
    with pytest.raises(TypeError):
        native.compiled.spread(ARRAYS)


def test_what_has_to_be_read_first_is_told() -> None:
    assert spread(changes=NOTHING._replace(changed={0, 2, 9})) == [0]
    patched = {0: packed([(2, 1.0, 1.0, NEVER, 0)])}
    assert spread(changes=NOTHING._replace(changed={0, 2, 9}, patched=patched)) == [2]
