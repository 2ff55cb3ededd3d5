import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.remember.trust import TRUST_OF_ORIGIN, TRUSTS, trust_of, trust_of_origin

levels = st.sampled_from(TRUSTS)


def rank(level: str) -> int:
    return TRUSTS.index(level)


def test_levels_rise_from_the_web_to_the_user() -> None:
    assert TRUSTS == ("untrusted", "tool", "agent", "user")


@pytest.mark.parametrize(
    ("origin", "trust"),
    [
        ("user_prompt", "user"),
        ("agent_inference", "agent"),
        ("tool_output:local", "tool"),
        ("tool_output:web", "untrusted"),
        ("tool_output", "untrusted"),
        ("mcp:github", "untrusted"),
        ("import", "tool"),
        ("import:old-notes", "tool"),
        ("somewhere", "untrusted"),
        ("", "untrusted"),
    ],
)
def test_trust_follows_from_the_origin(origin: str, trust: str) -> None:
    assert trust_of_origin(origin) == trust


def test_every_origin_has_a_known_trust() -> None:
    assert set(TRUST_OF_ORIGIN.values()) <= set(TRUSTS)


def test_a_summary_of_web_text_stays_untrusted() -> None:
    assert trust_of("agent", ["user", "untrusted", "tool"]) == "untrusted"


def test_a_memory_without_parents_keeps_its_own_trust() -> None:
    assert [trust_of(level, ()) for level in TRUSTS] == list(TRUSTS)


def test_an_unknown_level_counts_as_untrusted() -> None:
    assert trust_of("admin", []) == "untrusted"
    assert trust_of("user", ["User"]) == "untrusted"


@given(levels, st.lists(levels))
def test_trust_is_the_lowest_of_own_and_parents(own: str, parents: list[str]) -> None:
    assert rank(trust_of(own, parents)) == min(map(rank, [own, *parents]))


@given(levels, st.lists(levels), st.lists(levels))
def test_another_parent_never_raises_trust(own: str, parents: list[str], more: list[str]) -> None:
    assert rank(trust_of(own, parents + more)) <= rank(trust_of(own, parents))


@given(st.lists(st.tuples(levels, st.lists(levels)), min_size=1))
def test_no_chain_of_derivations_launders_a_source(chain: list[tuple[str, list[str]]]) -> None:
    source = trust = chain[0][0]
    for own, others in chain:
        trust = trust_of(own, [trust, *others])
    assert rank(trust) <= rank(source)


@given(levels, st.lists(levels))
def test_the_order_of_the_parents_does_not_matter(own: str, parents: list[str]) -> None:
    assert trust_of(own, sorted(parents, reverse=True)) == trust_of(own, iter(parents))
