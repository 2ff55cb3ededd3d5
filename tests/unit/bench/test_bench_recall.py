"""`clew bench recall` through the public paths, on a corpus of a few lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.bench.ablations import ladder
from clew.bench.metrics import CHOSEN, FIGURES
from clew.bench.recall import measure, run, table
from clew.errors import InvalidInput, Misconfigured, NotFound
from clew.surfaces.cli.parser import parse

CORPUS: dict[str, Any] = {
    "corpus": "talk",
    "units": [
        {"id": 1, "text": "Ann: the gateway listens on port 8000", "author": "Ann", "at": "2024-05-01 12:00"},
        {"id": 2, "text": "Bob: lunch is at noon", "author": "Bob", "thread": "t", "title": "Food"},
        {"id": 3, "text": "Bob: lunch is at noon"},
        {"id": 4, "text": ""},
    ],
    "questions": [
        {"id": "q1", "text": "which port does the gateway use", "gold": ["1"], "category": "fact"},
        {"id": "q2", "text": "when is lunch", "gold": ["2", "3"], "category": "time"},
    ],
}


def written(folder: Path, name: str = "talk.jsonl") -> Path:
    text = json.dumps(CORPUS) + "\n\n"
    if name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(text.encode()))
    else:
        (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))


def test_every_question_is_asked_and_scored(tmp_path: Path) -> None:
    report = run([written(tmp_path)], embedder="none", rankings=tmp_path / "ranked.jsonl")
    [(name, entry)] = report["files"].items()
    assert (name, entry["units"], entry["scores"]["all"]["questions"]) == ("talk.jsonl", 4, 2)
    assert entry["scores"]["fact"]["recall@2"] == entry["scores"]["time"]["recall@2"] == 1
    ranked = [json.loads(line)["ranked"] for line in (tmp_path / "ranked.jsonl").read_text().splitlines()]
    assert ranked[0][0] == "1" and set(ranked[1][:2]) == {"2", "3"}


def test_units_that_say_the_same_share_a_memory_and_are_both_ranked(tmp_path: Path) -> None:
    report = run([written(tmp_path)], embedder="none", rankings=None, limit_questions=2)
    assert report["files"]["talk.jsonl"]["scores"]["time"]["ndcg@10"] == 1


def test_a_compressed_file_is_read_too_and_the_report_is_a_table(tmp_path: Path) -> None:
    report = run([written(tmp_path, "talk.jsonl.gz")], embedder="none", rankings=None)
    lines = table(report).splitlines()
    assert any(line.strip().startswith("fact") for line in lines) and "talk.jsonl.gz" in lines[1]


def test_progress_is_told_in_questions_of_all_files(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    files = [written(tmp_path), written(tmp_path, "talk.jsonl.gz")]
    run(files, embedder="none", rankings=None, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("relate", [True, False])
def test_what_the_writes_leave_behind_is_done_before_the_first_question_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relate: bool
) -> None:
    left: list[int] = []
    recall = clew.Clew.recall

    def watched(self: clew.Clew, *args: Any, **more: Any) -> clew.Recalled:
        left.append(len(self.jobs.list()))
        return recall(self, *args, **more)

    monkeypatch.setattr(clew.Clew, "recall", watched)
    report = run([written(tmp_path)], embedder="none", rankings=None, relate=relate)
    assert report["relate"] is relate
    assert set(left) == ({0} if relate else {3})


def test_every_figure_has_an_interval(tmp_path: Path) -> None:
    report = run([written(tmp_path)], embedder="none")
    for entry in report["files"]["talk.jsonl"]["scores"].values():
        assert set(entry["interval"]) == set(FIGURES)
        assert all(low <= entry[figure] <= high for figure, (low, high) in entry["interval"].items())


def test_a_mean_over_chosen_categories_is_a_row_of_its_own(tmp_path: Path) -> None:
    report = run([written(tmp_path)], embedder="none", categories=["time", "fact"])
    assert report["files"]["talk.jsonl"]["scores"][CHOSEN]["questions"] == 2
    assert any(line.strip().startswith("chosen categories") for line in table(report).splitlines())


def test_a_category_that_only_another_file_has_is_named_as_missing(tmp_path: Path) -> None:
    other = CORPUS | {"questions": CORPUS["questions"][:1]}
    (tmp_path / "other.jsonl").write_text(json.dumps(other), encoding="utf-8")
    report = run([written(tmp_path), tmp_path / "other.jsonl"], embedder="none", categories=["time", "fact"])
    assert report["files"]["other.jsonl"]["categories_missing"] == ["time"]
    assert CHOSEN not in report["files"]["other.jsonl"]["scores"]
    assert "without time" in table(report)


def test_a_category_that_no_file_has_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(InvalidInput) as refused:
        run(
            [written(tmp_path)],
            embedder="none",
            categories=["tim"],
            progress=lambda done, _total: seen.append(done),
        )
    assert refused.value.code == "BENCH_CATEGORY_UNKNOWN" and "fact, time" in str(refused.value.next) and not seen


def test_files_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    files = [written(tmp_path), written(tmp_path / "copy")]
    assert set(run(files, embedder="none")["files"]) == {str(file) for file in files}
    assert set(run([files[0], files[0]], embedder="none")["files"]) == {"talk.jsonl"}


def test_a_run_against_its_own_rankings_gains_nothing(tmp_path: Path) -> None:
    file, ranked = written(tmp_path), tmp_path / "ranked.jsonl"
    run([file], embedder="none", rankings=ranked)
    [line, _other] = [json.loads(line) for line in ranked.read_text().splitlines()]
    assert (line["file"], line["corpus"], line["question"]) == ("talk.jsonl", "talk", "q1")
    report = run([file], embedder="none", baseline=ranked)
    compared = report["files"]["talk.jsonl"]["against_baseline"]
    assert (compared["pairs"], compared["only_here"], compared["only_in_baseline"]) == (2, 0, 0)
    assert compared["gains"]["all"]["recall@2"] == {
        "gain": 0.0,
        "interval": [0.0, 0.0],
        "counts": False,
        "worse": False,
    }


def baseline_of(folder: Path, *lines: dict[str, Any]) -> Path:
    (folder / "baseline.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder / "baseline.jsonl"


def test_gains_over_a_baseline_are_paired_and_what_only_one_side_has_is_counted(tmp_path: Path) -> None:
    here = {"file": "talk.jsonl", "corpus": "talk"}
    baseline = baseline_of(
        tmp_path,
        here | {"question": "q1", "ranked": ["4", "3", "1"]},
        here | {"question": "gone", "ranked": ["1"]},
        here | {"file": "more.jsonl", "question": "q1", "ranked": ["1"]},
    )
    report = run([written(tmp_path)], embedder="none", baseline=baseline)
    compared = report["files"]["talk.jsonl"]["against_baseline"]
    assert (compared["pairs"], compared["only_here"], compared["only_in_baseline"]) == (1, 1, 1)
    gain = {"gain": 1.0, "interval": [1.0, 1.0], "counts": True, "worse": False}
    assert compared["gains"]["fact"]["recall@2"] == gain
    assert compared["gains"]["fact"]["ndcg@10"]["gain"] == 0.5  # 1 against 1 / log2(4)
    assert report["baseline"]["other_files"] == {"more.jsonl": 1}
    shown = table(report)
    assert "1 questions in both, 1 only here, 1 only there" in shown
    assert "only in the baseline: 1 questions of more.jsonl" in shown


def test_a_loss_beyond_chance_is_called_worse_and_no_gain(tmp_path: Path) -> None:
    gone = {"id": "q3", "text": "lunch", "gold": ["1"], "category": "gone"}
    file = with_questions(tmp_path, PORT, gone)
    here = {"file": "other.jsonl", "corpus": "talk", "ranked": ["1"]}
    baseline = baseline_of(tmp_path, here | {"question": "q1"}, here | {"question": "q3"})
    report = run([file], embedder="none", baseline=baseline)
    lines = [line.rstrip() for line in table(report).splitlines() if "counts:" in line]
    assert lines[-1].endswith("counts: none, worse: R@2 R@5 R@10 R@20 N@10")  # the category that is never found
    assert lines[1].endswith("counts: none")


LINE = {"corpus": "talk", "question": "q1", "ranked": ["4", "3", "1"]}
ODD_LINES = [
    (b'["f"]', "line 1 has no 'corpus', 'question' or 'ranked'"),
    (json.dumps(LINE).encode() + b'\n{"corpus": "c", "question": "q"}', "line 2 has no 'corpus'"),
    (json.dumps(LINE | {"ranked": 7}).encode(), "'ranked' in line 1 is no list"),
    (json.dumps(LINE | {"ranked": "b0"}).encode(), "'ranked' in line 1 is no list"),
    (json.dumps(LINE | {"ranked": [["b0"]]}).encode(), "'ranked' in line 1 is no list"),
    (b"\n{not json", "line 2 is no JSON"),
    (b'{"corpus": "\xfc"}', "line 1 is not UTF-8"),
]


@pytest.mark.parametrize(("lines", "why"), ODD_LINES)
def test_a_baseline_that_holds_no_rankings_is_refused(tmp_path: Path, lines: bytes, why: str) -> None:
    (tmp_path / "baseline.jsonl").write_bytes(lines)
    with pytest.raises(InvalidInput) as refused:
        run([written(tmp_path)], embedder="none", baseline=tmp_path / "baseline.jsonl")
    assert refused.value.code == "BENCH_BASELINE_INVALID" and "--rankings" in str(refused.value.next)
    assert why in str(refused.value)


def test_a_baseline_that_is_not_there_is_not_found_and_a_directory_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        run([written(tmp_path)], embedder="none", baseline=tmp_path / "missing.jsonl")
    assert missing.value.code == "FILE_NOT_FOUND"
    with pytest.raises(InvalidInput, match="it is a directory"):
        run([written(tmp_path)], embedder="none", baseline=tmp_path)


@pytest.mark.parametrize("named", [{}, {"file": None}, {"file": "old-name.jsonl"}])
def test_questions_are_paired_by_corpus_and_id_where_no_file_of_the_baseline_is_measured(
    tmp_path: Path, named: dict[str, Any]
) -> None:
    baseline = baseline_of(tmp_path, LINE | named, LINE | named | {"question": "gone"})
    report = run([written(tmp_path)], embedder="none", baseline=baseline)
    compared = report["files"]["talk.jsonl"]["against_baseline"]
    assert (compared["pairs"], compared["only_here"]) == (1, 1)
    assert compared["gains"]["fact"]["recall@2"]["gain"] == 1
    assert report["baseline"]["pairs"] == 1
    assert report["baseline"]["other_files"] == {named.get("file") or "": 1}
    shown = table(report)
    assert "baseline.jsonl: 1 questions in all" in shown
    assert f"1 questions of {named.get('file') or 'no file that is named'}" in shown


def test_files_of_one_name_are_paired_with_the_one_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    files = [written(tmp_path), written(tmp_path / "copy")]
    baseline = tmp_path / "ranked.jsonl"
    run([files[0]], embedder="none", rankings=baseline)
    report = run(files, embedder="none", baseline=baseline)
    assert [entry["against_baseline"]["pairs"] for entry in report["files"].values()] == [2, 2]
    assert report["baseline"] == {"file": str(baseline), "pairs": 4, "other_files": {}}


def test_a_file_measured_alone_finds_its_rankings_among_those_of_two_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    files = [written(tmp_path), written(tmp_path / "copy")]
    baseline = tmp_path / "ranked.jsonl"
    run(files, embedder="none", rankings=baseline)
    report = run(files[1:], embedder="none", baseline=baseline)
    assert report["baseline"] == {"file": str(baseline), "pairs": 2, "other_files": {str(files[0]): 2}}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([LINE | {"corpus": "tale"}], "it has question 'q1' of 'tale', the files have question 'q1' of 'talk'"),
        ([LINE | {"file": "a.jsonl"}, LINE | {"file": "b.jsonl"}], "more than once"),
        ([LINE, LINE], "more than once"),
        ([], "it has no question"),
    ],
)
def test_a_baseline_that_no_question_finds_itself_in_is_refused_before_anything_is_measured(
    tmp_path: Path, lines: list[dict[str, Any]], why: str
) -> None:
    asked: list[object] = []
    with pytest.raises(InvalidInput) as refused:
        run(
            [written(tmp_path)],
            embedder="none",
            baseline=baseline_of(tmp_path, *lines),
            progress=lambda *told: asked.append(told),
        )
    assert refused.value.code == "BENCH_BASELINE_UNPAIRED" and why in str(refused.value) and not asked


def test_a_baseline_says_nothing_of_questions_without_answers(tmp_path: Path) -> None:
    file = with_questions(tmp_path, LUNCH | {"gold": []}, PORT)
    ranked = tmp_path / "ranked.jsonl"
    run([file], embedder="none", rankings=ranked)
    compared = run([file], embedder="none", baseline=ranked)["files"]["other.jsonl"]["against_baseline"]
    assert (compared["pairs"], compared["only_here"], compared["only_in_baseline"]) == (1, 0, 0)
    with pytest.raises(InvalidInput, match="no question has a known answer"):
        run([with_questions(tmp_path, PORT | {"gold": []})], embedder="none", baseline=ranked)


@pytest.mark.parametrize("option", ["--rankings", "--baseline"])
@pytest.mark.parametrize("name", ["", "-"])
def test_an_option_that_names_no_file_is_refused(tmp_path: Path, option: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{option} '{name}' names no file"):
        measure(parse(["bench", "recall", str(written(tmp_path)), f"{option}={name}"]))


@pytest.mark.parametrize("name", ["nowhere/ranked.jsonl", "", "talk.jsonl"])
def test_rankings_without_a_place_are_refused_before_anything_is_measured(tmp_path: Path, name: str) -> None:
    file, asked = written(tmp_path), []
    with pytest.raises(InvalidInput, match=r"no directory|cannot be written|is what is read"):
        run([file], embedder="none", rankings=tmp_path / name, progress=lambda *told: asked.append(told))
    assert not asked and json.loads(file.read_text())["corpus"] == "talk"


def test_a_baseline_is_not_replaced_by_the_rankings_that_are_compared_with_it(tmp_path: Path) -> None:
    ranked = baseline_of(tmp_path, LINE)
    with pytest.raises(InvalidInput, match="is what is read"):
        run([written(tmp_path)], embedder="none", rankings=ranked, baseline=ranked)
    assert json.loads(ranked.read_text()) == LINE


def test_compressed_rankings_are_a_baseline_like_others(tmp_path: Path) -> None:
    file, ranked = written(tmp_path), tmp_path / "ranked.jsonl.gz"
    run([file], embedder="none", rankings=ranked)
    assert gzip.decompress(ranked.read_bytes()).startswith(b'{"file": "talk.jsonl"')
    assert run([file], embedder="none", baseline=ranked)["baseline"]["pairs"] == 2


def with_questions(folder: Path, *questions: dict[str, Any]) -> Path:
    file = folder / "other.jsonl"
    file.write_text(json.dumps(CORPUS | {"questions": questions}), encoding="utf-8")
    return file


PORT, LUNCH = CORPUS["questions"]


def test_a_question_without_a_known_answer_is_ranked_and_not_scored(tmp_path: Path) -> None:
    hidden = {key: value for key, value in LUNCH.items() if key != "gold"}
    file = with_questions(tmp_path, PORT, hidden)
    report = run([file], embedder="none", rankings=tmp_path / "ranked.jsonl", ablations=ladder())
    entry = report["files"]["other.jsonl"]
    assert (entry["scores"]["all"]["questions"], entry["without_gold"]) == (1, 1)
    ranked = {
        line["question"]: line["ranked"]
        for line in map(json.loads, (tmp_path / "ranked.jsonl").read_text().splitlines())
    }
    assert ranked["q1"][0] == "1" and set(ranked["q2"][:2]) == {"2", "3"}


def test_a_file_without_any_answers_is_ranked_and_told_as_such(tmp_path: Path) -> None:
    file = with_questions(tmp_path, PORT | {"gold": []})
    report = run([file], embedder="none", ablations=ladder())
    assert report["files"]["other.jsonl"]["scores"] == {}
    assert "1 questions have no known answer: ranked, not scored" in table(report)


def test_a_category_called_as_a_mean_leaves_the_mean_alone(tmp_path: Path) -> None:
    file = with_questions(tmp_path, PORT | {"category": "all"}, LUNCH | {"gold": ["4"]})
    scores = run([file], embedder="none")["files"]["other.jsonl"]["scores"]
    assert scores["all"]["questions"] == 2 and scores["category 'all'"]["recall@2"] == 1


def test_questions_of_one_name_are_compared_one_by_one(tmp_path: Path) -> None:
    file, ranked = with_questions(tmp_path, PORT, LUNCH | {"id": "q1"}), tmp_path / "ranked.jsonl"
    run([file], embedder="none", rankings=ranked)
    compared = run([file], embedder="none", baseline=ranked)["files"]["other.jsonl"]["against_baseline"]
    assert (compared["pairs"], compared["only_here"], compared["only_in_baseline"]) == (2, 0, 0)
    assert compared["gains"]["all"]["ndcg@10"]["gain"] == 0


def test_files_without_a_question_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InvalidInput, match="no question to ask"):
        run([tmp_path / "empty.jsonl"], embedder="none")


def test_a_file_without_a_question_among_others_is_told_as_such(tmp_path: Path) -> None:
    report = run([written(tmp_path), with_questions(tmp_path)], embedder="none")
    assert "other.jsonl: 4 units, no question to ask" in table(report)


def test_labels_are_cut_to_what_a_memory_takes(tmp_path: Path) -> None:
    units = [{"id": 1, "text": "the gateway listens on port 8000", "title": "t" * 500, "author": "a" * 500}]
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps(CORPUS | {"units": units, "questions": [PORT]}))
    assert run([file], embedder="none")["files"]["long.jsonl"]["scores"]["all"]["recall@2"] == 1


def with_units(folder: Path, *units: dict[str, Any], **changes: Any) -> Path:
    file = folder / "more.jsonl"
    lines = json.dumps(CORPUS | {"units": [*CORPUS["units"], *units]} | changes)
    file.write_text(lines, encoding="utf-8")
    return file


def test_a_unit_that_clew_keeps_nothing_of_is_left_out_and_told_and_never_found(tmp_path: Path) -> None:
    odd = [
        {"id": "s", "text": "<private>all of it is private</private>"},
        {"id": "l", "text": "word " * 100_001},
        {"id": "c", "text": "\u0001"},
        {"id": "n", "text": "a NUL\0 within"},
        {"id": "h", "text": "half of a \ud83d"},
    ]
    hidden = {"id": "q3", "text": "private", "gold": ["s"], "category": "hidden"}
    file = with_units(tmp_path, *odd, questions=[PORT, LUNCH, hidden])
    report = run([file], embedder="none")
    entry = report["files"]["more.jsonl"]
    assert entry["units"] == 9 and entry["left_out"]["count"] == 5
    assert [said.partition(":")[0] for said in entry["left_out"]["such_as"]] == [
        f"unit {id} of talk" for id in ("s", "l", "c")
    ]
    assert entry["scores"]["hidden"]["recall@20"] == 0 and entry["scores"]["fact"]["recall@2"] == 1
    shown = table(report)
    assert "5 units are nothing that Clew keeps: left out, and never found" in shown
    assert "500,004 characters; the limit is 500,000" in shown and "gold" not in shown


def test_units_of_one_text_whose_labels_are_lost_are_counted(tmp_path: Path) -> None:
    same = "Bob: lunch  is at noon"
    more = [
        {"id": "a", "text": same, "author": "Ann", "thread": "t", "title": "Food"},
        {"id": "b", "text": same, "author": "Bob", "thread": "t", "title": "Food"},
        {"id": "c", "text": same, "at": "2024-05-02"},
    ]
    report = run([with_units(tmp_path, *more)], embedder="none")
    lost = {"count": 2, "such_as": ["unit a of talk with unit 2", "unit c of talk with unit 2"]}
    assert report["files"]["more.jsonl"]["merged"] == lost
    assert "2 units say what another says, and lose what is theirs of author" in table(report)


def test_a_unit_left_out_is_named_with_its_reason(tmp_path: Path) -> None:
    file = with_units(tmp_path, {"id": "n", "text": "a NUL\0 within"}, {"id": "h", "text": "half of a \ud83d"})
    assert run([file], embedder="none")["files"]["more.jsonl"]["left_out"]["such_as"] == [
        "unit n of talk: the content holds a NUL character",
        "unit h of talk: the content holds half of a character",
    ]


@pytest.mark.parametrize("odd", ["\0", "\ud83d"])
def test_odd_labels_and_questions_end_no_run(tmp_path: Path, odd: str) -> None:
    labels = dict.fromkeys(("title", "author", "thread", "at"), f"a{odd}b")
    file = with_units(
        tmp_path,
        {"id": "o", "text": "a parcel arrived", **labels},
        questions=[PORT, {"id": "o", "text": f"which parcel {odd}", "gold": ["o"], "category": odd}],
    )
    report = run([file], embedder="static", rankings=tmp_path / "ranked.jsonl")
    assert report["files"]["more.jsonl"]["scores"]["all"]["recall@2"] == 1
    assert "left_out" not in report["files"]["more.jsonl"]


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "\ud83d", "n" * 5_000])
def test_a_corpus_may_be_called_anything(tmp_path: Path, name: str) -> None:
    report = run([with_units(tmp_path, corpus=name)], embedder="none")
    assert report["files"]["more.jsonl"]["scores"]["all"]["recall@2"] == 1
    assert "left_out" not in report["files"]["more.jsonl"]


def test_times_that_are_not_understood_are_counted(tmp_path: Path) -> None:
    told = ["March 15, 2024", "03/04/2024", "yesterday", None, "", 1710460800, "last week", "May 2023"]
    units = [{"id": f"t{at}", "text": f"thing {at}", "at": time} for at, time in enumerate(told)]
    report = run([with_units(tmp_path, *units)], embedder="none")
    lost = {"count": 4, "such_as": ["'03/04/2024'", "'yesterday'", "'last week'"]}
    assert report["files"]["more.jsonl"]["times_not_read"] == lost
    assert "4 units have a time that is not understood" in table(report)


def test_gold_that_is_no_unit_is_counted(tmp_path: Path) -> None:
    file = with_units(tmp_path, questions=[PORT, LUNCH | {"gold": ["2", "nope", "none"]}])
    report = run([file], embedder="none")
    assert report["files"]["more.jsonl"]["gold_not_found"]["count"] == 2
    assert "as gold are not there, and count as misses: nope of question q2; none of question q2" in table(report)
    [only_the_first] = run([file], embedder="none", limit_questions=1)["files"].values()
    assert "gold_not_found" not in only_the_first


def test_ablations_without_the_graph_are_refused() -> None:
    with pytest.raises(InvalidInput, match="--ablations"):
        measure(parse(["bench", "recall", "talk.jsonl", "--ablations", "--no-graph"]))


def test_an_embedder_without_a_name_is_refused() -> None:
    for name in ("", " ", "static,minilm"):
        with pytest.raises(InvalidInput, match="--embedder"):
            parse(["bench", "recall", "talk.jsonl", "--embedder", name])


def test_names_do_not_break_the_table(tmp_path: Path) -> None:
    odd = {"id": "o\r", "text": "", "at": "yester\u2028day"}
    report = run([with_units(tmp_path, odd, questions=[PORT | {"category": "two\nlines\tand"}])], embedder="none")
    shown = table(report)
    assert "  two\\nlines\\tand " in shown
    assert shown.splitlines() == shown.split("\n") and len(shown.split("\n")) == 8


def test_the_command_line_asks_for_ablations_a_baseline_and_categories(tmp_path: Path) -> None:
    file, ranked = str(written(tmp_path)), str(tmp_path / "ranked.jsonl")
    common = ["bench", "recall", file, "--embedder", "none"]
    measure(parse([*common, "--rankings", ranked]))
    report = measure(parse([*common, "--ablations", "--baseline", ranked, "--categories", "fact, time"]))
    entry = report["files"]["talk.jsonl"]
    assert [step["name"] for step in entry["ablations"]] == [step.name for step in ladder()]
    assert entry["against_baseline"]["pairs"] == 2
    assert CHOSEN in entry["scores"] and CHOSEN in entry["against_baseline"]["gains"]


def test_a_model_that_is_not_there_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    """Recall would do without it, and the figures would be those of words alone."""
    asked: list[object] = []
    with pytest.raises(Misconfigured) as refused:
        run([written(tmp_path)], embedder="minilm", progress=lambda *told: asked.append(told))
    assert refused.value.code in ("MODEL_MISSING", "EXTRA_MISSING") and (0, 2) not in asked[1:]


def test_what_is_set_otherwise_is_told_and_what_an_option_says_is_not_told_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = run([written(tmp_path)], embedder="none")
    assert (report["clew"], report["settings"]) == (clew.__version__, {})
    assert f"measured by Clew {clew.__version__}, with settings as they come, embedder none" in table(report)
    for name, value in {
        "RANK__REFINE": "false",
        "EMBED__URL": "http://me:secret@host",
        "SERVE__BURST": "7",
    }.items():
        monkeypatch.setenv(f"CLEW_{name}", value)
    report = run([written(tmp_path)], embedder="none")
    assert report["settings"] == {"rank.refine": False, "embed.url": "(an address)"}
    assert "with rank.refine = False, embed.url = (an address), embedder none" in table(report)


def test_settings_and_models_are_those_of_the_home_that_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.toml").write_text('embed.provider = "none"\n')
    words = ["bench", "recall", str(written(tmp_path)), "--home", str(other)]
    assert measure(parse(words))["embedder"] == "none"
