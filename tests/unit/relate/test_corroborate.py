"""How many independent sources say the same; repeating oneself is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.clew import Clew
from clew.model.memory import Memory
from clew.model.scope import Identity, Scope
from clew.relate.corroborate import independent
from findings import alike
from toys import START

BOB = Identity(user="bob", roles=("member",))
SAYINGS = ("Tea is best green", "the best tea is green", "the green tea is best", "of teas the green one is best")


def said(clew: Clew, text: str, **fields: str) -> str:
    place = {name: fields.pop(name) for name in ("session", "agent", "user") if name in fields}
    return clew.remember(text, scope=Scope(**place), **fields).id  # type: ignore[arg-type]


def count(clew: Clew, id: str) -> int:
    return clew.merges.corroboration(id).corroborated_by


def test_a_memory_alone_is_not_corroborated(memory: Clew) -> None:
    assert count(memory, said(memory, SAYINGS[0])) == 0


def test_near_memories_of_other_people_corroborate(memory: Clew) -> None:
    one, other, third = (
        said(memory, text, author=who) for text, who in zip(SAYINGS, ("ada", "bob", "kim"), strict=False)
    )
    alike(memory, one, other, third)
    assert count(memory, one) == 2
    assert memory.merges.corroboration(one).as_json()["says_the_same"] == sorted((other, third))


def test_one_session_is_one_witness_whoever_speaks_in_it(memory: Clew) -> None:
    one, other = (said(memory, text, session="s1", agent=agent) for text, agent in zip(SAYINGS, "ab", strict=False))
    alike(memory, one, other)
    assert count(memory, one) == 0


def test_a_summary_is_no_witness(memory: Clew) -> None:
    one = said(memory, SAYINGS[0], author="ada")
    summary = memory.remember(SAYINGS[1], parents=(one,), author="bob").id
    alike(memory, one, summary)
    assert (count(memory, one), count(memory, summary)) == (0, 0)


def test_what_was_merged_still_counts(memory: Clew) -> None:
    one, other, third = (
        said(memory, text, author=who) for text, who in zip(SAYINGS, ("ada", "bob", "kim"), strict=False)
    )
    memory.merges.merge(other, [third])
    memory.merges.merge(one, [other])
    assert count(memory, one) == 2


def test_what_was_replaced_by_another_text_does_not(memory: Clew) -> None:
    one = said(memory, SAYINGS[0], author="ada")
    memory.remember("Coffee is best", supersedes=one, author="bob")
    other = said(memory, SAYINGS[1], author="kim")
    alike(memory, other)
    assert count(memory, other) == 0


@pytest.mark.parametrize("relation", ["contradicts", None])
def test_neither_does_what_contradicts_it_or_names_another_number(memory: Clew, relation: str | None) -> None:
    texts = SAYINGS[:2] if relation else ("steep it for 3 minutes", "steep it for 5 minutes")
    one, other = (said(memory, text, author=who) for text, who in zip(texts, ("ada", "bob"), strict=True))
    alike(memory, one, other)
    assert count(memory, one) == (1 if relation else 0)
    if relation:
        memory.link(one, relation, other)
        assert count(memory, one) == 0


def test_what_others_keep_for_themselves_is_not_counted(memory: Clew) -> None:
    one = said(memory, SAYINGS[0], author="kim")
    alike(memory, said(memory, SAYINGS[1], user="ada"), one)
    assert count(memory, one) == 1
    assert memory.merges.corroboration(one, identity=BOB).corroborated_by == 0


def test_corroboration_moves_no_weight(memory: Clew) -> None:
    one, other = (said(memory, text, author=who) for text, who in zip(SAYINGS, ("ada", "bob"), strict=False))
    alike(memory, one, other)
    before = memory.recall("green tea", graph=False)
    assert count(memory, one) == 1
    assert [memory.show(id).weight for id in (one, other)] == [1.0, 1.0]
    assert memory.recall("green tea", graph=False).results == before.results


_NAMES = st.sampled_from((None, "a", "b"))
_PARENTS = st.sampled_from(((), (), ("mem_x",)))
_WITNESSES = st.builds(
    lambda **fields: Memory(**dict.fromkeys(Memory.__slots__) | {"at": START, "parents": ()} | fields),  # type: ignore[arg-type]
    user=_NAMES, author=_NAMES, agent=_NAMES, session=_NAMES, thread=_NAMES,
    origin=st.sampled_from(("user", "agent")), parents=_PARENTS,
)  # fmt: skip


@given(st.lists(_WITNESSES, min_size=1, max_size=8), st.data())
def test_an_echo_of_the_same_origin_never_raises_the_count(witnesses: list[Memory], data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(witnesses))
    echo = replace(source, content="again", parents=source.parents or data.draw(_PARENTS))
    assert independent([*witnesses, echo]) == independent(witnesses)


@given(st.lists(_WITNESSES, max_size=8), _WITNESSES)
def test_a_further_memory_adds_one_source_at_most_and_takes_none_away(
    witnesses: list[Memory], further: Memory
) -> None:
    assert 0 <= independent([*witnesses, further]) - independent(witnesses) <= 1
