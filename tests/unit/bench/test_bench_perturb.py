"""`clew bench perturb`: other names, other years, the same questions."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.bench.dates import when
from clew.bench.perturb import SHIFTS, measure, moved, perturbed, run, table
from clew.bench.perturb_names import GIVEN
from clew.errors import InvalidInput
from clew.surfaces.cli.parser import parse

UNITS = [
    {"id": "1", "text": "Hey Bob! Ann's dog ran off on 8 May 2023.", "author": "Ann", "at": "2023-05-08T13:56:00"},
    {
        "id": "2",
        "text": "Oh no, Ann! I told ANN to annotate it.",
        "author": "Bob",
        "at": "May-09-2023",
        "thread": "t",
    },
    {
        "id": "3",
        "text": "I met Zelda. I said to Zelda that Zelda said no.",
        "author": "user",
        "title": "Bob and Zelda",
    },
    {"id": "4", "text": "Ask Robert Plumley in Lisbon, in Lisbon or in Lisbon.", "author": None},
    {"id": "5", "text": "", "at": None},
]
QUESTIONS = [
    {"id": "q1", "text": "When did Ann’s dog meet Zelda? On May 8, 2023?", "gold": ["1", "3"], "category": "when"},
    {"id": "q2", "text": "Did the user ask Plumley?", "gold": ["4"], "category": "who"},
]
CORPUS: dict[str, Any] = {"corpus": "talk", "topic": "pets", "units": UNITS, "questions": QUESTIONS}


def other_of(corpus: dict[str, Any], seed: int = 1) -> tuple[dict[str, Any], dict[str, str], int]:
    other, told = perturbed(corpus, seed)
    return other, told["names"], told["years"]


def talk(*texts: str, author: str = "Ann") -> dict[str, Any]:
    units = [{"id": str(at), "text": text, "author": author} for at, text in enumerate(texts)]
    return {"corpus": "talk", "units": units, "questions": []}


def test_ids_gold_categories_and_threads_stay() -> None:
    other, _names, _years = other_of(CORPUS)
    for field in ("id", "thread"):
        assert [unit.get(field) for unit in other["units"]] == [unit.get(field) for unit in UNITS]
    for field in ("id", "gold", "category"):
        assert [question[field] for question in other["questions"]] == [question[field] for question in QUESTIONS]
    assert (other["corpus"], other["topic"]) == ("talk", "pets")
    assert [set(unit) for unit in other["units"]] == [set(unit) for unit in UNITS]


def test_a_person_has_the_same_new_name_as_author_in_texts_titles_and_questions() -> None:
    other, names, _years = other_of(CORPUS)
    ann, bob, zelda = names["Ann"], names["Bob"], names["Zelda"]
    units, [question, _other] = other["units"], other["questions"]
    assert [unit.get("author") for unit in units] == [ann, bob, "user", None, None]
    assert units[0]["text"].startswith(f"Hey {bob}! {ann}'s dog")
    assert units[1]["text"] == f"Oh no, {ann}! I told {ann.upper()} to annotate it."
    assert units[2]["title"] == f"{bob} and {zelda}"
    assert question["text"].startswith(f"When did {ann}’s dog meet {zelda}?")


def test_a_surname_is_the_word_after_a_given_name_and_a_place_is_no_person() -> None:
    other, names, _years = other_of(CORPUS)
    assert other["units"][3]["text"].startswith(f"Ask {names['Robert']} {names['Plumley']} in Lisbon")
    assert other["questions"][1]["text"] == f"Did the user ask {names['Plumley']}?"


def test_a_word_that_also_occurs_in_lower_case_is_no_name() -> None:
    corpus = talk("Thanks Rose! A rose is a rose. I told Rose. Rose's rose. We met Rose.")
    assert other_of(corpus)[0]["units"][0]["text"] == corpus["units"][0]["text"]


def test_a_name_in_an_address_is_one_still_and_changes_there_too() -> None:
    texts = ["I told Darlow that Darlow's film is out", "so Darlow said", "mail darlow.reed@example.com"]
    texts.append("or (see https://films.example/in/darlow-reed/ or films.example/in/darlow)")
    other, names, _years = other_of(talk(*texts))
    told = " ".join(unit["text"] for unit in other["units"])
    assert "darlow" not in told.lower() and told.count(names["Darlow"].lower()) == 3


def test_a_nickname_stays_short_for_the_name_that_it_begins() -> None:
    _other, names, _years = other_of(talk("I told Melanie that Melanie's late", "Melanie and I", author="Mel"))
    assert names["Melanie"].startswith(names["Mel"]) and len(names["Mel"]) == 3


def test_names_that_begin_each_other_stay_apart_where_the_short_form_is_taken() -> None:
    every = " ".join(sorted({name[:3].lower() for name in GIVEN}))
    _other, names, _years = other_of(talk(f"Ask Melanie: {every}", author="Mel"))
    assert not names["Melanie"].startswith(names["Mel"])


def test_an_author_called_like_a_word_is_renamed_only_where_a_name_stands() -> None:
    corpus = talk("Will you come? I will, I will. Thanks, Will. Will's car will do.", author="Will")
    other, names, _years = other_of(corpus)
    will = names["Will"]
    assert other["units"][0]["author"] == will
    assert other["units"][0]["text"] == f"Will you come? I will, I will. Thanks, {will}. {will}'s car will do."


def test_an_author_who_is_once_written_small_is_renamed_there_too() -> None:
    other, names, _years = other_of(talk("hey ann, where are you?", "I saw Ann. So did you, Ann."))
    assert other["units"][0]["text"] == f"hey {names['Ann'].lower()}, where are you?"


def test_new_names_never_run_out() -> None:
    syllables = product("BCDFGHKLMN", "aeiou", "bdfgklmnrst", ("son", "sby"))
    crowd = ["".join(parts) for parts in syllables]
    authors = [{"id": str(at), "text": "", "author": author} for at, author in enumerate(crowd)]
    names = other_of({"corpus": "crowd", "units": authors, "questions": []})[1]
    assert len(set(names.values())) == len(names) == len(crowd)


def test_months_and_weekdays_are_no_people() -> None:
    text = "Hi April, dear Monday, I told April on Monday; April said Monday. See you, April and Monday."
    assert other_of(talk(text))[0]["units"][0]["text"] == text


WORDS = st.sampled_from(
    "Ann Bob Zelda Robert Plumley the dog said hey May 2023 1999 Lisbon, 's . ! rose Rose".split()
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from(["Ann", "Bob", "Zelda Plumley"]), st.integers(0, 9))
def test_no_authors_name_is_left_and_people_stay_apart(texts: list[str], author: str, seed: int) -> None:
    corpus = talk(*texts, author=author)
    other, names, _years = other_of(corpus, seed)
    assert len(set(names.values())) == len(names)
    old = {word.casefold() for text in [*texts, author] for word in re.findall("[^\\W\\d_]+", text)}
    assert not old & {name.casefold() for name in names.values()}
    for unit in other["units"]:
        left = set(re.findall("[^\\W\\d_]+", f"{unit['text']} {unit['author']}"))
        assert not left & set(author.split())
    assert perturbed(corpus, seed) == perturbed(corpus, seed)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, 9))
def test_what_the_same_words_were_are_the_same_words_still(texts: list[str], seed: int) -> None:
    other, names, years = other_of(talk(*texts), seed)
    back = {other: name for name, other in names.items()}
    for text, unit in zip(texts, other["units"], strict=True):
        words = re.sub("[^\\W\\d_]+", lambda match: back.get(match.group(), match.group()), unit["text"])
        assert moved(words, -years) == text


@pytest.mark.parametrize("years", SHIFTS)
@pytest.mark.parametrize(
    "form",
    [
        "{}-05-08", "{}-05-08T13:56:00", "8 May {}", "May 8, {}", "May-08-{}", "05/08/{}", "in {}.", "({}-{})",
        "{}0508", "{}0508T135600Z", "on {}0508.", "8.5.{}", "08.05.{}", "on 8.05.{}.",
    ],
)  # fmt: skip
def test_written_dates_move_by_whole_years(form: str, years: int) -> None:
    assert moved(form.format(2023, 2023), years) == form.format(2023 + years, 2023 + years)


@pytest.mark.parametrize(
    "text",
    [
        "the 1990s",
        "2000.5 km",
        "1.2023",
        "12023",
        "v2023a",
        "'23",
        "1499",
        "2100",
        "2023,5",
        "20231308",
        "20230532",
        "202305081",
        "IMG_20230508",
        "20230508x",
        "a1.2.2023",
    ],
)
def test_what_is_no_year_by_itself_stays(text: str) -> None:
    assert moved(text, -28) == text


@given(st.dates(date(1957, 1, 1), date(2099, 12, 31)), st.sampled_from(SHIFTS))
def test_weekdays_and_distances_stay(day: date, years: int) -> None:
    shifted = date.fromisoformat(moved(day.isoformat(), years))
    assert shifted.weekday() == day.weekday()
    assert (date(2023, 5, 8).replace(year=2023 + years) - shifted) == date(2023, 5, 8) - day


@pytest.mark.parametrize(("told", "day"), [(1683500000, "2023-05-07"), ("1683500000000", "2023-05-07")])
def test_seconds_since_1970_become_the_moved_date(told: Any, day: str) -> None:
    units = [{"id": "1", "text": "in 2023", "at": str(told)}]
    other, _names, years = other_of({"corpus": "talk", "units": units, "questions": []})
    moment, expected = when(other["units"][0]["at"]), when(day)
    assert moment and expected and moment.date() == expected.replace(year=2023 + years).date()


def test_the_role_of_an_agent_gets_a_name_where_that_is_asked_for_and_that_of_a_user_stays() -> None:
    units = [{"id": role, "text": f"an {role} said so", "author": role} for role in ("assistant", "user", "bot")]
    chat: dict[str, Any] = {"corpus": "chat", "units": units, "questions": []}
    assert [unit["author"] for unit in perturbed(chat, 1)[0]["units"]] == ["assistant", "user", "bot"]
    other, told = perturbed(chat, 1, roles=True)
    names = told["names"]
    assert [unit["author"] for unit in other["units"]] == [names["assistant"], "user", names["bot"]]
    assert len({"assistant", "bot", *names.values()}) == 4
    assert [unit["text"] for unit in other["units"]] == [unit["text"] for unit in units]


def test_half_of_a_character_is_copied_as_its_escape(tmp_path: Path) -> None:
    odd = {"corpus": "\ud83d", "units": [{"id": "\ud83d", "text": "bad \ud83d, Ann"}], "questions": []}
    (tmp_path / "odd.jsonl").write_text(json.dumps(odd), encoding="utf-8")
    run([tmp_path / "odd.jsonl"], tmp_path / "out")
    copied = json.loads((tmp_path / "out" / "odd.jsonl").read_bytes())
    assert (copied["corpus"], copied["units"][0]["id"]) == ("\ud83d", "\ud83d")
    assert copied["units"][0]["text"].startswith("bad \ud83d")


@pytest.mark.parametrize("out", ["talk.jsonl", "talk.jsonl/deeper"])
def test_a_place_that_is_no_directory_is_refused(tmp_path: Path, out: str) -> None:
    file = written(tmp_path / "from", "talk.jsonl")
    (tmp_path / "talk.jsonl").touch()
    with pytest.raises(InvalidInput, match="is no directory"):
        run([file], tmp_path / out)


def test_a_place_that_may_not_be_written_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "from", "talk.jsonl")
    monkeypatch.setattr("os.access", lambda *_asked: False)
    with pytest.raises(InvalidInput, match="may not be written to"):
        run([file], tmp_path / "out")


def written(folder: Path, name: str) -> Path:
    text = (json.dumps(CORPUS) + "\n" + json.dumps(CORPUS | {"corpus": "other"}) + "\n").encode()
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


@pytest.mark.parametrize("name", ["talk.jsonl", "talk.jsonl.gz"])
def test_the_copy_has_the_name_and_the_form_of_the_file_and_is_the_same_each_time(
    tmp_path: Path, name: str
) -> None:
    file, seen = written(tmp_path, name), list[tuple[int, int]]()
    report = run([file], tmp_path / "one", seed=3, progress=lambda done, total: seen.append((done, total)))
    run([file], tmp_path / "two", seed=3)
    copied = (tmp_path / "one" / name).read_bytes()
    assert copied == (tmp_path / "two" / name).read_bytes()
    lines = (gzip.decompress(copied) if name.endswith(".gz") else copied).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        perturbed(corpus, 3)[0] for corpus in (CORPUS, CORPUS | {"corpus": "other"})
    ]
    assert seen == [(1, 2), (2, 2)] and name in table(report)
    assert [path.name for path in (tmp_path / "one").iterdir()] == [name]


def test_another_seed_and_another_corpus_give_other_names() -> None:
    corpora = [(CORPUS, 1), (CORPUS, 2), (CORPUS | {"corpus": "other"}, 1)]
    assert len({tuple(sorted(other_of(corpus, seed)[1].items())) for corpus, seed in corpora}) == 3


def test_a_file_is_not_replaced_by_its_copy(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="would be replaced"):
        run([written(tmp_path, "talk.jsonl")], tmp_path)
    with pytest.raises(InvalidInput, match="two files"):
        run([written(tmp_path, "a.jsonl"), written(tmp_path / "more", "a.jsonl")], tmp_path / "out")


@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to])
def test_a_file_is_not_replaced_through_a_link(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    file, out = written(tmp_path, "talk.jsonl"), tmp_path / "out"
    out.mkdir()
    link(out / "talk.jsonl", file)
    with pytest.raises(InvalidInput, match="would be replaced"):
        run([file], out)


def test_a_broken_file_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n{not json")
    with pytest.raises(InvalidInput):
        run([tmp_path / "bad.jsonl"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_line_says_where_to_and_with_which_seed(tmp_path: Path) -> None:
    file = str(written(tmp_path, "talk.jsonl"))
    for words, seed in (([], 1), (["--seed", "7"], 7)):
        report = measure(parse(["bench", "perturb", file, "--out", str(tmp_path / "out"), *words]))
        assert report["seed"] == seed and (tmp_path / "out" / "talk.jsonl").exists()
