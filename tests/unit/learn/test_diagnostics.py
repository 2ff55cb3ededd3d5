"""How a session went: why it failed, what helped, what misled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lessons import remembered, shown, tell

from clew.clew import Clew
from clew.errors import NotFound
from clew.learn import classify_failure
from clew.learn.diagnostics import MAX_MESSAGE, helpful
from clew.model.learning import Diagnostics
from clew.model.scope import Identity
from clew.model.session import SessionReport


def error(message: str, tool: str = "Bash", *, recoverable: bool = False) -> dict[str, Any]:
    return {"message": message, "tool": tool, "recoverable": recoverable}


def call(tool: str, *, success: bool = True, file: str | None = None) -> dict[str, Any]:
    return {"tool": tool, "success": success} | ({"file": file} if file else {})


def ended(clew: Clew, session: str, outcome: str | None, **report: Any) -> Diagnostics:
    clew.learn.on_session_end(replace(clew.sessions.show(session), outcome=outcome), SessionReport(**report))
    return clew.learn.diagnostics(session)


# -- why it failed -------------------------------------------------------------------------------------

TEST = call("pytest", success=False)
LINT, REGRESSION, OTHER = error("eslint found 3 problems"), error("it broke what worked"), error("disk is full")


@pytest.mark.parametrize(
    ("calls", "errors", "files", "category"),
    [
        ([TEST], [LINT, REGRESSION], [], "test_failure"),
        ([], [REGRESSION, LINT], [], "style"),
        ([], [OTHER, REGRESSION], [], "regression"),
        ([], [OTHER], [], "incomplete"),
        ([], [OTHER], ["a.py"], "wrong_approach"),
        ([], [], ["a.py"], "other"),
        ([], [], [], "incomplete"),
        ([call("pytest")], [], ["a.py"], "other"),
        ([call("run_tests", success=False)], [], ["a.py"], "test_failure"),
        ([call("npm test", success=False)], [], ["a.py"], "test_failure"),
        ([call("latest-news", success=False)], [], ["a.py"], "other"),
        ([call("prettier", success=False)], [], ["a.py"], "style"),
    ],
)
def test_a_failure_is_classified_in_the_documented_order(
    calls: list[Any], errors: list[Any], files: list[str], category: str
) -> None:
    assert classify_failure(tool_calls=calls, errors=errors, files_modified=files) == category


def test_a_failed_session_keeps_everything_and_says_why(memory: Clew) -> None:
    id = remembered(memory, "Redis holds sessions")
    told = {"tool_calls": (TEST, call("Edit", file="a.py")), "errors": (error("again", recoverable=True), OTHER)}
    found = ended(memory, shown(memory, id), "rework", files_modified=("a.py",), **told)
    assert (found.failure_category, found.failure_context) == ("test_failure", "disk is full")
    assert found.observation_ids == (id,) and len(found.tool_calls) == 2 and len(found.errors) == 2


def test_an_accepted_session_keeps_little(memory: Clew) -> None:
    told = {"tool_calls": (TEST,), "errors": (OTHER,)}
    found = ended(memory, shown(memory, "mem_x"), "accepted", files_modified=("a.py",), **told)
    assert (found.tool_calls, found.errors, found.failure_category) == ((), (), "")
    assert found.files_modified == ("a.py",)


def test_an_outcome_that_comes_later_finds_what_was_reported_at_the_end(memory: Clew) -> None:
    session = shown(memory, "mem_x")
    assert ended(memory, session, None, errors=(LINT,), files_modified=("a.py",)).failure_category == ""
    memory.learn.feedback(session, "rejected")
    assert memory.learn.diagnostics(session).failure_category == "style"


def test_a_session_that_nobody_ended_has_a_row_after_its_outcome(memory: Clew) -> None:
    session = shown(memory, "mem_x")
    tell(memory, session, "rejected")
    assert memory.learn.diagnostics(session).failure_category == "incomplete"


def test_errors_are_masked_and_cut(memory: Clew) -> None:
    secret = "ghp_" + "a1B2" * 9
    long = error(f"push with {secret} failed " + "x" * 5_000)
    [kept] = ended(memory, shown(memory, "mem_x"), "rejected", errors=(long,)).errors
    assert secret not in kept["message"] and "[masked:" in kept["message"] and len(kept["message"]) == MAX_MESSAGE


def test_diagnostics_of_another_org_are_not_found(memory: Clew) -> None:
    session = shown(memory, "mem_x")
    tell(memory, session, "rejected")
    with pytest.raises(NotFound):
        memory.learn.diagnostics(session, identity=Identity(org="other"))


# -- what helped and what misled -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "file", "meets"),
    [
        ("src/app.py", "src/app.py", True),
        ("src/app.py", "/home/kim/shop/src/app.py", True),
        ("./src/", "src/app.py", True),
        ("src\\app.py", "src/app.py", True),
        ("app.py", "src/myapp.py", False),
        ("src", "srcs/app.py", False),
        ("", "src/app.py", False),
    ],
)
def test_a_memory_helped_if_it_is_about_a_file_that_was_changed(path: str, file: str, meets: bool) -> None:
    assert helpful([file], {"m": [path]}) == (("m",) if meets else ())


def test_what_helped_is_named_only_when_the_session_was_accepted(memory: Clew) -> None:
    about, other = (remembered(memory, text, paths=[path]) for text, path in (("one", "a.py"), ("two", "b.py")))
    for outcome, expected in (("accepted", (about,)), ("rejected", ())):
        found = ended(memory, shown(memory, about, other), outcome, files_modified=("src/a.py",))
        assert found.helpful_ids == expected


def test_what_misled_is_named_from_the_fourth_failure_on(memory: Clew) -> None:
    id, fresh = remembered(memory, "Redis holds sessions"), remembered(memory, "mail goes out at night")
    named = [ended(memory, shown(memory, id), "rejected").misleading_ids for _ in range(3)]
    assert named == [(), (), ()]
    assert ended(memory, shown(memory, id, fresh), "rejected").misleading_ids == (id,)
    assert memory.learn.show(id).history[-1].alpha == pytest.approx(0.30)
