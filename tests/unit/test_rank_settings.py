"""A proof for every setting of the last look that it changes something, and in which direction."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clew.model.memory import Draft
from clew.model.recalled import Result
from clew.recall.ranker import LEAST
from clew.settings import load_settings
from toys import ToyEmbedder, open_toy

WORDS = (
    "amber basil cedar daisy ember fern garnet heron iris jade koala lemon mango nectar olive "
    "poppy quartz raven sable tulip umber violet willow xenon yarrow zinnia"
).split()


def said(content: str, **fields: Any) -> Draft:
    return Draft(content=content, **fields)


FILLING = [said(f"{word} lies beside {other}") for word, other in pairwise(WORDS)]


def found(folder: Path, query: str, *drafts: Draft, **rank: bool) -> list[Result]:
    """What a question finds among these and some that have nothing to do with it. Nothing is found by the graph,
    which would follow the same threads."""
    path = folder / f"{len(list(folder.iterdir()))}.db"
    embedder, off = ToyEmbedder(dim=256), {"recall": False, "write": False}
    with open_toy(path, embedder=embedder, graph=off, rank=rank) as memory:
        assert len(list(memory.remember_many([*drafts, *FILLING]))) >= LEAST
        return memory.recall(query, limit=40).results


def share(results: list[Result], content: str, over: str) -> float:
    """How many times the score of another a memory has."""
    scores = {result.memory.content: result.rank_score for result in results}
    return scores[content] / scores[over]


def order(results: list[Result], *among: str) -> list[str]:
    return [result.memory.content for result in results if result.memory.content in among]


def both(folder: Path, query: str, *drafts: Draft, setting: str) -> tuple[list[Result], list[Result]]:
    """With everything, and without one."""
    return found(folder, query, *drafts), found(folder, query, *drafts, **{setting: False})


REPLY, ALIKE = "parked behind mill", "parked behind barn"
TALK = (
    said("where has the bicycle gone?", thread="a"),
    said(REPLY, thread="a"),
    said("where has the parcel gone?", thread="b"),
    said(ALIKE, thread="b"),
)


def test_rank_refine_is_live(tmp_path: Path) -> None:
    """Without it nobody looks a last time, whatever the others say."""
    query = "bicycle parked"
    on, off = both(tmp_path, query, *TALK, setting="refine")
    assert order(on, REPLY, ALIKE)[0] == REPLY
    assert share(on, REPLY, ALIKE) > 1.01 and share(off, REPLY, ALIKE) == pytest.approx(1)
    others: dict[str, bool] = dict.fromkeys(("neighbours", "threads", "authors", "times", "titles", "hops"), False)
    bare = found(tmp_path, query, *TALK, refine=False, **others)
    assert [one.rank_score for one in off] == [one.rank_score for one in bare]


def test_rank_neighbours_is_live(tmp_path: Path) -> None:
    """A reply to a question that is about the bicycle, beside one to another question."""
    on, off = both(tmp_path, "bicycle parked", *TALK, setting="neighbours")
    assert order(on, REPLY, ALIKE) == [REPLY, ALIKE]
    assert share(on, REPLY, ALIKE) > 1.01 * share(off, REPLY, ALIKE)


def test_rank_threads_is_live(tmp_path: Path) -> None:
    """Much was said about the bicycle in one of two threads; what is between keeps it from being a neighbour."""
    drafts = [said(f"the bicycle and the {word}", thread="a") for word in WORDS[:12]]
    drafts += [said(f"{word} and {word}", thread="a") for word in WORDS[:3]]
    drafts += [said(f"{word} for lunch", thread="b") for word in WORDS[5:9]]
    mine, other = "it was parked in front", "it was parked on top"
    drafts += [said(mine, thread="a"), said(other, thread="b")]
    on, off = both(tmp_path, "where was the bicycle parked", *drafts, setting="threads")
    assert share(on, mine, other) > 1.01 * share(off, mine, other)


def test_rank_authors_is_live(tmp_path: Path) -> None:
    """Whoever is called Ann is asked about, not whoever is spoken to."""
    hers, to_her = "green tea for breakfast", "Ann, tea for Ann"
    drafts = (said(hers, author="Ann"), said(to_her, author="Bob"))
    on, off = both(tmp_path, "which tea does Ann like", *drafts, setting="authors")
    assert order(on, hers, to_her) == [hers, to_her]
    assert order(off, hers, to_her) == [to_her, hers]


def test_rank_times_is_live(tmp_path: Path) -> None:
    then, later = "the garage was painted blue", "the garage was painted white"
    drafts = (
        said(then, at=datetime(2024, 5, 7, tzinfo=UTC), valid_at=datetime(2024, 5, 7, tzinfo=UTC)),
        said(later, at=datetime(2024, 9, 7, tzinfo=UTC), valid_at=datetime(2024, 9, 7, tzinfo=UTC)),
    )
    on, off = both(tmp_path, "how was the garage painted on 7 May 2024", *drafts, setting="times")
    assert order(on, then, later) == [then, later] and share(on, then, later) > 1.5 * share(off, then, later)


def test_rank_times_reads_what_asks_for_a_time(tmp_path: Path) -> None:
    told, untold = "garage painted yesterday", "garage painted carefully"
    on, off = both(tmp_path, "when was the garage painted", said(told), said(untold), setting="times")
    assert order(on, told, untold) == [told, untold]
    assert share(on, told, untold) > 1.01 * share(off, told, untold)


def test_rank_titles_is_live(tmp_path: Path) -> None:
    """Both have the words; only one has them as its name."""
    entitled, other = "it stands in the north", "it stands in the south, they say of the Harbour Bridge"
    drafts = (said(entitled, title="Harbour Bridge"), said(other, title="Rumours"))
    on, off = both(tmp_path, "where stands the Harbour Bridge", *drafts, setting="titles")
    assert order(on, entitled, other) == [entitled, other]
    assert share(on, entitled, other) > 1.01 * share(off, entitled, other)


def test_rank_hops_is_live(tmp_path: Path) -> None:
    """The first names the town, and only the town leads from it to its mayor."""
    mayor, alike = "mayor of Quimper: Dubois", "mayor of Rennes: Lambert"
    drafts = (said("the bakery moved to Quimper"), said(mayor), said(alike))
    on, off = both(tmp_path, "bakery mayor", *drafts, setting="hops")
    assert order(on, mayor, alike) == [mayor, alike]
    assert share(on, mayor, alike) > 1.01 * share(off, mayor, alike)


@pytest.mark.parametrize("name", ["refine", "neighbours", "threads", "authors", "times", "titles", "hops"])
def test_a_project_may_switch_each_off_in_its_own_file(tmp_path: Path, name: str) -> None:
    (tmp_path / ".clew.toml").write_text(f"[rank]\n{name} = false\n", encoding="utf-8")
    settings: Any = load_settings(home=tmp_path / "home", directory=tmp_path, environ={})
    assert getattr(settings.rank, name) is False
