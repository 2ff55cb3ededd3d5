"""Benchmark files: what is read as what, and what is refused."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from clew.bench.corpora import NO_CATEGORY, read_corpora
from clew.errors import InvalidInput, NotFound, Unavailable

UNIT = {"id": "u", "text": "said"}
QUESTION = {"id": "q", "text": "asked", "gold": ["u"], "category": "c"}


def corpus(**other: Any) -> dict[str, Any]:
    return {"corpus": "name", "units": [UNIT], "questions": [QUESTION]} | other


def read(folder: Path, *lines: Any) -> list[dict[str, Any]]:
    file = folder / "file.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return list(read_corpora(file))


def test_a_corpus_is_read_as_it_is(tmp_path: Path) -> None:
    corpora = [corpus(topic="kept"), corpus(corpus="other")]
    assert read(tmp_path, *corpora) == corpora


def test_two_corpora_of_one_name_are_refused_as_their_rankings_could_not_be_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="lines 1 and 3 both hold a corpus called '9'"):
        read(tmp_path, corpus(corpus=9), corpus(), corpus(corpus="9"))


def test_numbers_become_texts_and_gold_a_list(tmp_path: Path) -> None:
    units = [{"id": 1, "text": None, "author": 7, "title": None}]
    questions = [{"id": 2, "text": "asked", "gold": 1, "category": 3}, {"id": 4, "text": "b", "gold": [1, "1"]}]
    [found] = read(tmp_path, corpus(corpus=9, units=units, questions=questions))
    assert found["corpus"] == "9"
    assert found["units"] == [{"id": "1", "text": "", "author": "7", "title": None}]
    assert [(one["id"], one["gold"], one["category"]) for one in found["questions"]] == [
        ("2", ["1"], "3"),
        ("4", ["1"], NO_CATEGORY),
    ]


@pytest.mark.parametrize("gold", [None, [], "", [""]])
def test_an_answer_may_be_unknown(tmp_path: Path, gold: list[str] | str | None) -> None:
    without = {"id": "p", "text": "asked", "category": "c"}
    [found] = read(tmp_path, corpus(questions=[QUESTION | {"gold": gold}, without]))
    assert [one["gold"] for one in found["questions"]] == [[], []]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.GZ", "a.data"])
def test_a_packed_file_is_known_by_what_is_in_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(json.dumps(corpus()).encode()))
    assert list(read_corpora(tmp_path / name)) == [corpus()]


def test_a_mark_at_the_beginning_is_no_part_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(corpus()), encoding="utf-8-sig")
    assert list(read_corpora(tmp_path / "a.jsonl")) == [corpus()]


ODD = [
    ([], "no 'corpus'"),
    (7, "no 'corpus'"),
    ({"content": "a memory, not a corpus"}, "no 'corpus'"),
    ({"corpus": "a", "units": []}, "no 'corpus', 'units' or 'questions'"),
    (corpus(corpus=None), "the name in line 1 is neither a text nor a number"),
    (corpus(units={"a": 1}), "'units' of name is no list"),
    (corpus(questions=None), "'questions' of name is no list"),
    (corpus(units=["text"]), "entry 1 in 'units' of name is no object"),
    (corpus(units=[UNIT, UNIT]), "name has two units with the id 'u'"),
    (corpus(units=[{"text": "without an id"}]), "the id of unit 1 of name"),
    (corpus(units=[UNIT, {"id": "v"}]), "unit 2 of name has no text"),
    (corpus(units=[{"id": True, "text": "x"}]), "the id of unit 1 of name"),
    (corpus(questions=[{"text": "x", "gold": []}]), "the id of question 1 of name"),
    (corpus(questions=[{"id": "x"}]), "question 1 of name has no text"),
    (corpus(questions=[QUESTION | {"category": ["c"]}]), "the category of question 1 of name"),
    (corpus(questions=[QUESTION | {"gold": [{}]}]), "the gold of question 1 of name"),
]


@pytest.mark.parametrize(("line", "message"), ODD, ids=[message for _line, message in ODD])
def test_what_is_no_corpus_is_refused_with_its_place(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path, line)
    assert refused.value.code == "BENCH_DATA_INVALID" and message in str(refused.value)


THREE = [corpus(corpus=name) for name in ("one", "two", "three")]
LINES = "".join(json.dumps(one) + "\n" for one in THREE).encode()
PACKED = gzip.compress(LINES)
BROKEN = [
    (b"{not json", "line 1 is no JSON at character 2"),
    (LINES + b'{"corpus": 1,\n', "line 4 is no JSON"),
    (b"\n" + b"[" * 200_000, "line 2 has too long a number, or too many brackets"),
    (LINES + b'{"corpus": "M\xfcller"}', "line 4 is not UTF-8 at byte 14"),
    ("{}".encode("utf-16"), "line 1 is not UTF-8 at byte 1"),
    (b"\x1f\x8bbroken", "it is cut off after line 0"),
    (b"\x1f\x8bbroken and more", "its compressed content is damaged after line 0"),
    (PACKED[:-4], "it is cut off after line 3"),
    (PACKED[:-8] + bytes(4) + PACKED[-4:], "its compressed content is damaged after line 3 (CRC"),
    (PACKED + b"more", "its compressed content is damaged after line 3"),
]


@pytest.mark.parametrize(("content", "cause"), BROKEN, ids=[cause for _content, cause in BROKEN])
def test_a_file_that_holds_no_json_is_refused_with_the_cause_and_the_line(
    tmp_path: Path, content: bytes, cause: str
) -> None:
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        list(read_corpora(tmp_path / "bad.jsonl"))
    assert refused.value.code == "BENCH_DATA_INVALID" and "a corpus per line" in str(refused.value.next)
    assert cause in str(refused.value)


def test_a_file_that_may_not_be_read_is_unavailable_for_that_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: Path, *_args: object, **_more: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))

    (tmp_path / "a.jsonl").write_bytes(LINES)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(Unavailable, match="Permission denied") as refused:
        list(read_corpora(tmp_path / "a.jsonl"))
    assert refused.value.code == "FILE_UNAVAILABLE"


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES.replace(b"\n", b"\r\n"))
    assert list(read_corpora(tmp_path / "a.jsonl")) == THREE


def test_a_file_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as refused:
        list(read_corpora(tmp_path / "missing.jsonl"))
    assert refused.value.code == "FILE_NOT_FOUND"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_since_files_are_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="no regular file"):
        list(read_corpora(tmp_path / "pipe"))
