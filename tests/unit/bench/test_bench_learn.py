"""`clew bench learn`: the fit beside what can be worked out by hand, and the command from file to weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.bench import learn
from clew.bench.fitting import PENALTY, Example, _loss, fit
from clew.bench.ingest import Asking, Losses
from clew.bench.learn import FOLDS, measure
from clew.errors import InvalidInput, NotFound
from clew.recall.features import NAMES
from clew.recall.ranker import LEAST, Ranked, look_at
from clew.surfaces.cli.main import main
from clew.surfaces.cli.parser import parse

Floats = NDArray[np.float64]


def example(features: Any, answers: Any, group: str = "a") -> Example:
    return Example(group, np.array(features, np.float32), np.array(answers, np.bool_))


def random_examples(count: int = 12, *, scale: float = 1.0) -> list[Example]:
    """Noisy, so that no weights put every answer first. The second feature is of another scale."""
    rng = np.random.default_rng(5)
    found = []
    for number in range(count):
        features = rng.standard_normal((6, 3)).astype(np.float32)
        answers = np.zeros(6, np.bool_)
        answers[np.argmax(features @ [1, 0.5, 0] + rng.gumbel(size=6))] = True
        if number % 3 == 0:
            answers[number % 6] = True  # some have two
        found.append(Example("a", features * np.array([1, scale, 1], np.float32), answers))
    return found


def loss_at(weights: Floats, examples: list[Example], *, penalty: float = PENALTY) -> float:
    """Written down anew: the mean of -log of the chance of each answer, and the penalty on weights of features of
    unit spread. All examples are of one group."""
    spread = np.concatenate([one.features for one in examples]).std(axis=0, dtype=np.float64)
    scores = [one.features.astype(np.float64) @ weights for one in examples]
    of_answers = [
        float(np.log(np.exp(score).sum()) - score[one.answers].mean())
        for one, score in zip(examples, scores, strict=True)
    ]
    return float(np.mean(of_answers)) + penalty / 2 * float(np.square(weights * spread).sum())


# -- the fit -------------------------------------------------------------------------------------------


def test_what_tells_answers_apart_has_a_weight_and_what_does_not_has_none() -> None:
    """The first feature is 1 for the answer, the second is always the same, the third says nothing."""
    examples = [example([[1, 3, at % 2], [0, 3, 0], [0, 3, 1]], [True, False, False]) for at in range(10)]
    found = fit(examples)
    assert found[0] > 3 and found[1] == pytest.approx(0, abs=1e-6) and abs(found[2]) < found[0] / 10
    for one in examples:
        assert np.argmax(one.features @ found) == 0


def test_two_candidates_and_one_feature_are_a_logistic_regression() -> None:
    """The answer has 1 and the other 0 in three of four, and the other way round in one: without a penalty the
    chance of the one with 1 is 3/4, so its weight is the logarithm of 3."""
    examples = [example([[1], [0]], [at > 0, at == 0]) for at in range(4)]
    assert fit(examples, penalty=1e-9)[0] == pytest.approx(np.log(3), rel=1e-4)


def test_two_answers_share_a_question() -> None:
    """Half a chance each is the best there is: a feature that only one of them has is worth nothing."""
    assert fit([example([[1], [0]], [True, True])])[0] == pytest.approx(0, abs=1e-9)


def test_the_slope_is_zero_at_what_was_found() -> None:
    examples = random_examples()
    found, step = fit(examples), 1e-4
    for axis in np.eye(3):
        ahead, behind = (loss_at(found + sign * step * axis, examples) for sign in (1, -1))
        assert (ahead - behind) / (2 * step) == pytest.approx(0, abs=1e-3)
        assert min(ahead, behind) > loss_at(found, examples)


def test_slope_and_bend_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    parts = [(one.features.astype(np.float64), one.answers / one.answers.sum()) for one in random_examples(4)]
    counts, at, step = np.array([0.1, 0.2, 0.3, 0.4]), rng.standard_normal(3), 1e-5
    _value, slope, bend = _loss(parts, counts, at, 0.1)
    for axis in range(3):
        ahead, behind = (_loss(parts, counts, at + sign * step * np.eye(3)[axis], 0.1) for sign in (1, -1))
        assert (ahead[0] - behind[0]) / (2 * step) == pytest.approx(slope[axis], abs=1e-6)
        assert (ahead[1] - behind[1]) / (2 * step) == pytest.approx(bend[axis], abs=1e-5)


def test_the_same_examples_give_the_same_weights() -> None:
    assert fit(random_examples()).tolist() == fit(random_examples()).tolist()


@pytest.mark.parametrize("scale", [10.0, 0.01])
def test_a_feature_of_another_scale_has_a_weight_of_the_inverse_scale(scale: float) -> None:
    plain, scaled = fit(random_examples()), fit(random_examples(scale=scale))
    assert scaled * [1, scale, 1] == pytest.approx(plain, rel=1e-3)


def test_groups_count_alike_however_many_questions_they_have() -> None:
    """One group says that 1 answers, the other that 0 does; the second asks a hundred times as often."""
    few = [example([[1], [0]], [True, False], "few")]
    many = [example([[1], [0]], [False, True], "many")] * 100
    assert fit(few + many)[0] == pytest.approx(0, abs=1e-6)
    together = [example(one.features, one.answers, "one") for one in few + many]
    assert fit(together)[0] < -2


def test_questions_without_an_answer_among_their_candidates_say_nothing() -> None:
    examples = random_examples()
    unanswered = example(np.full((4, 3), 9.0), [False] * 4, "b")
    assert fit([*examples, unanswered]).tolist() == fit(examples).tolist()
    with pytest.raises(ValueError, match="no example has an answer"):
        fit([unanswered])


# -- the command ---------------------------------------------------------------------------------------

THINGS = "gateway kettle bicycle garden piano ladder mirror anchor lantern basket".split()
PLACES = "harbour attic cellar station library meadow workshop kitchen tower bridge".split()


def corpus(**changes: Any) -> dict[str, Any]:
    """Thirty turns in five threads, and a question about every other thing."""
    units = []
    for number in range(30):
        thing, place = THINGS[number % 10], PLACES[number // 3 % 10]
        said = f"where is the {thing}?" if number < 10 else f"the {thing} {number} stands in the {place}"
        author = "Ann" if number % 2 else "Bob"
        units.append({"id": number, "text": said, "author": author, "thread": f"t{number % 5}", "at": "2024-05-01"})
    questions = [
        {"id": f"q{at}", "text": f"Where does the {thing} stand?", "gold": [10 + at, 20 + at],
         "category": "odd" if at % 2 else "even"}
        for at, thing in enumerate(THINGS[:6])
    ]  # fmt: skip
    return {"corpus": "things", "units": units, "questions": questions} | changes


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    return written(tmp_path, corpus())


def written(folder: Path, *corpora: dict[str, Any]) -> Path:
    path = folder / "things.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in corpora), encoding="utf-8")
    return path


def learnt(file: Path, *more: str, out: str = "weights.json") -> dict[str, Any]:
    words = ["bench", "learn", str(file), "--out", str(file.parent / out), "--embedder", "static", *more]
    return measure(parse(words))


def test_a_file_of_questions_becomes_a_file_of_weights(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def looking(*args: Any) -> Ranked:
        found = look_at(*args)
        seen.append(len(found.features))
        return found

    monkeypatch.setattr("clew.bench.learn.look_at", looking)
    report = learnt(file)
    told = json.loads(file.with_name("weights.json").read_text(encoding="utf-8"))
    assert told == {"made_by": "clew bench learn"} | {part: report[part] for part in ("weights", "trees")}
    assert {name for tree in told["trees"] for name, _at in tree["above"]} <= told["weights"].keys()
    assert list(told["weights"]) == list(NAMES) and seen == [len(NAMES)] * 6
    assert any(told["weights"].values()) and all(np.isfinite(list(told["weights"].values())))
    assert report["questions"] == {"things.jsonl": 6}


def test_what_was_held_out_is_told_by_file_and_category(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.with_name("weights.json")
    assert main(["bench", "learn", str(file), "--out", str(out), "--embedder", "static"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith(f"held out, by {FOLDS} folds"))
    names = list(json.loads(out.read_text(encoding="utf-8"))["weights"])
    assert [line.split()[0] for line in lines[head - len(names) : head]] == names
    rows = {" ".join(line.split()[:-5]): line.split()[-5:] for line in lines[head + 1 :]}
    assert {"things.jsonl (6)", "even", "odd"} <= rows.keys()
    assert all(0 <= float(cell) <= 1 for row in rows.values() for cell in row)


def test_one_set_of_weights_is_learnt_from_the_candidates_of_several_embedders(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def asking(name: str, corpus: dict[str, Any], how: Asking, losses: Losses) -> Any:
        asked.append(how.embedder)
        return found(name, corpus, replace(how, embedder="static"), losses)

    found = learn._asked
    monkeypatch.setattr(learn, "_asked", asking)
    monkeypatch.setattr(Asking, "check", lambda _asking: None)  # there is no other one
    words = ["bench", "learn", str(file), "--out", str(file.with_name("both.json")), "--embedder", "static,other"]
    report = measure(parse(words))
    assert asked == ["static", "other"]
    labels = ["things.jsonl, static", "things.jsonl, other"]
    assert report["questions"] == dict.fromkeys(labels, 6) and list(report["held_out"]) == labels


def test_every_question_is_held_out_once(file: Path) -> None:
    [(name, groups)] = learnt(file)["held_out"].items()
    assert name == "things.jsonl" and [groups[group]["questions"] for group in ("all", "even", "odd")] == [6, 3, 3]


def test_it_learns_the_same_twice_and_asks_only_as_much_as_it_is_told_to(file: Path) -> None:
    seen: list[tuple[int, int]] = []
    words = ["bench", "learn", str(file), "--out", str(file.with_name("again.json")), "--embedder", "static"]
    report = measure(parse([*words, "--limit-questions", "3"]), lambda done, total: seen.append((done, total)))
    assert report["weights"] == learnt(file, "--limit-questions", "3")["weights"]
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)] and report["questions"] == {"things.jsonl": 3}


def test_a_category_that_is_left_out_is_asked_but_not_learnt_from(file: Path) -> None:
    report = learnt(file, "--leave-out", "odd")
    only_even = [question for question in corpus()["questions"] if question["category"] == "even"]
    other = learnt(written(file.parent, corpus(questions=only_even)), out="even.json")
    assert report["weights"] == pytest.approx(other["weights"], abs=1e-3)
    assert report["held_out"]["things.jsonl"]["odd"]["questions"] == 3


def test_a_directory_that_is_not_there_is_refused_before_anything_is_asked(file: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        learnt(file.with_name("unread.jsonl"), out="nowhere/weights.json")
    assert refused.value.code == "BENCH_NO_DIRECTORY"


def test_an_unknown_category_to_leave_out_is_refused_before_anything_is_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "_asked", None)
    with pytest.raises(InvalidInput) as refused:
        learnt(file, "--leave-out", "odd,evne")
    assert refused.value.code == "BENCH_CATEGORY_UNKNOWN" and "'evne'" in str(refused.value)
    assert "even, odd" in str(refused.value.next)


def test_weights_without_a_place_are_refused_before_anything_is_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "_asked", None)
    for out in (".", file.name):
        with pytest.raises(InvalidInput, match=r"cannot be written|is what is read"):
            learnt(file, out=out)
    monkeypatch.setattr("os.access", lambda *_asked: False)
    with pytest.raises(InvalidInput) as refused:
        learnt(file)
    assert refused.value.code == "BENCH_NO_PLACE"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_what_was_learnt_is_told_also_when_it_cannot_be_written(file: Path) -> None:
    report = measure(parse(["bench", "learn", str(file), "--out", "/dev/full", "--embedder", "static"]))
    assert report["not_written"]["file"] == "/dev/full" and report["held_out"]


@pytest.mark.parametrize(
    "changes",
    [{"questions": []}, {"questions": [{"id": "q", "text": "where", "gold": [], "category": "a"}]},
     {"units": corpus()["units"][: LEAST - 1]}],
    ids=["no questions", "no gold", "too few units"],
)  # fmt: skip
def test_a_file_that_teaches_nothing_is_refused(file: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        learnt(written(file.parent, corpus(**changes)))
    assert refused.value.code == "BENCH_DATA_INVALID" and not file.with_name("weights.json").exists()


def test_a_file_that_is_not_there_is_told_so(file: Path) -> None:
    with pytest.raises(NotFound) as refused:
        learnt(file.with_name("nothing.jsonl"))
    assert refused.value.code == "FILE_NOT_FOUND"


def test_leaving_everything_out_is_refused_in_words(file: Path) -> None:
    with pytest.raises(InvalidInput):
        learnt(file, "--leave-out", "odd,even")


def test_answers_that_no_unit_is_are_refused_in_words(file: Path) -> None:
    questions = [question | {"gold": ["no such unit"]} for question in corpus()["questions"]]
    with pytest.raises(InvalidInput):
        learnt(written(file.parent, corpus(questions=questions)))


def test_what_is_lost_of_a_file_is_told(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    units = [*corpus()["units"], {"id": "p", "text": "<private>all of it</private>"}]
    units[0] = units[0] | {"at": "some day"}
    out = str(file.with_name("weights.json"))
    assert main(["bench", "learn", str(written(file.parent, corpus(units=units))), "--out", out]) == 0
    shown = capsys.readouterr().out
    assert "1 units are nothing that Clew keeps" in shown and "unit p of things" in shown
    assert "1 units have a time that is not understood, and count as said now: 'some day'" in shown
