"""Facts of a session become memories: once, each with where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.hosts.capture import Captured, Fact, carried_into, drafts_of, report_of, standing, those_about
from clew.model.memory import Memory

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
START = {"k": "start"}
TASK = {"k": "prompt", "task": "Make the login test stable"}
STOP = {"k": "say"}
END = {"k": "end"}
FETCHED = {"k": "elsewhere"}
DECIDED = {"k": "say", "said": [["decision", "I chose A instead of B."], ["cause", "The leak was caused by C."]]}


def edit(*paths: str) -> dict[str, Any]:
    return {"k": "edit", "tool": "Edit", "paths": list(paths)}


def run(command: str, *, error: str | None = None, kind: str = "test", **more: Any) -> dict[str, Any]:
    ending: dict[str, Any] = {"failed": True, "status": 1, "error": error} if error else {"ok": True}
    return (
        {"k": "run", "tool": "Bash", "command": command, "key": command, "kind": kind, "general": True}
        | ending
        | more
    )


def facts(*told: dict[str, Any]) -> list[Fact]:
    return [Fact(f"e{at}", AT + timedelta(minutes=at), one) for at, one in enumerate([START, *told])]


def kept(*told: dict[str, Any]) -> list[Captured]:
    return drafts_of(facts(*told))


def texts(found: Sequence[Captured], kind: str) -> list[str]:
    return [one.draft.content for one in found if one.kind == kind]


def test_what_is_not_certain_is_told_only_where_it_fits() -> None:
    sure, unsure, fact = kept(
        {"k": "prompt", "rules": ["Always use tabs.", "the tall one"], "facts": ["It is old."]}
    )
    assert "unsure" not in sure.draft.metadata
    assert unsure.draft.metadata["unsure"] is True
    assert (fact.kind, fact.draft.type, fact.draft.origin) == ("fact", "fact", "user_prompt")


def a_memory(content: str) -> Memory:
    return Memory(**dict.fromkeys(Memory.__slots__) | {"content": content})  # type: ignore[arg-type]


def test_half_of_the_words_are_not_near_and_more_are() -> None:
    half, more = a_memory("Tenants see a plan."), a_memory("Webhooks go to tenants on a plan.")
    assert those_about("tenants pro plan webhooks", [half, more]) == [more]


def test_those_with_the_very_words_are_named_without_those_that_are_near() -> None:
    near, exact = a_memory("The plan of the pro tenants has webhooks."), a_memory("Webhooks: the pro plan only.")
    assert those_about("pro plan", [near, exact]) == [exact]
    assert those_about("pro plan", [near]) == [near]


def test_what_the_user_said_is_the_users_and_what_the_agent_said_the_agents() -> None:
    found = kept(TASK | {"rules": ["Always use tabs."], "decisions": ["We decided on tabs."]}, DECIDED)
    assert [(one.kind, one.draft.type, one.draft.origin) for one in found] == [
        ("rule", "rule", "user_prompt"),
        ("decision", "decision", "user_prompt"),
        ("task", "note", "user_prompt"),
        ("statement", "decision", "agent_inference"),
        ("statement", "fact", "agent_inference"),
    ]


def test_what_was_taken_from_a_prompt_claims_neither_the_users_trust_nor_a_place_in_every_prompt() -> None:
    found = kept(TASK | {"rules": ["Always use tabs."], "decisions": ["We decided on tabs."]})
    assert {(one.draft.layer, one.draft.trust) for one in found} == {("long_term", "agent")}


def test_a_task_is_told_as_what_happened_and_not_as_an_order() -> None:
    assert texts(kept(TASK), "task") == ["The user asked: Make the login test stable"]


def test_the_edits_of_a_turn_are_one_memory() -> None:
    found = kept(TASK, edit("a.py"), edit("b.py"), edit("a.py"), STOP)
    assert texts(found, "edit") == ['Files changed for "Make the login test stable": a.py, b.py.']
    [changed] = [one for one in found if one.kind == "edit"]
    assert (changed.draft.origin, changed.draft.paths) == ("observed", ("a.py", "b.py"))


def test_going_on_with_a_task_tells_only_of_new_files() -> None:
    found = kept(TASK, edit("a.py"), STOP, {"k": "prompt"}, edit("a.py"), STOP, {"k": "prompt"}, edit("c.py"), STOP)
    assert [one.split(": ")[-1] for one in texts(found, "edit")] == ["a.py.", "c.py."]


def test_what_the_agent_found_out_is_about_the_few_files_that_it_changed() -> None:
    cause = {"k": "say", "said": [["cause", "The root cause was a race between the cart and the redirect."]]}
    [found] = [one for one in kept(edit("src/a.py", "src/b.py"), cause) if one.kind == "statement"]
    assert found.draft.paths == ("src/a.py", "src/b.py")
    [named] = [one for one in kept(edit("src/a.py"), cause | {"paths": ["src/c.py"]}) if one.kind == "statement"]
    assert named.draft.paths == ("src/c.py",)
    for told in ([edit("a", "b", "c", "d"), cause], [edit("src/a.py"), cause, cause | {"said": DECIDED["said"]}]):
        assert [one.draft.paths for one in kept(*told) if one.kind == "statement"][-1] == ()


NO = {"k": "prompt", "overrules": True}
GIVEN_TO_GIT = {"k": "tree", "keeps": True}


def put_back(*places: str) -> dict[str, Any]:
    return run("git checkout x", kind="change", put_back=list(places))


def left(*told: dict[str, Any]) -> list[str]:
    return [one.draft.content for one in standing(kept(*told)) if one.kind in ("edit", "fix")]


def changed(files: str) -> str:
    return f'Files changed for "Make the login test stable": {files}.'


def test_what_a_turn_did_and_the_user_says_no_to_is_not_told() -> None:
    turn = [TASK, run("pytest", error="x"), edit("a.py"), run("pytest")]
    assert len(left(*turn, STOP)) == 2
    for said in ([STOP, NO], [NO]):  # the user may also have stopped it
        assert left(*turn, *said, STOP) == []
    assert len(left(*turn, STOP, {"k": "prompt"}, STOP, NO, STOP)) == 2  # said of something else
    assert len(left(*turn, STOP | {"asks": True}, NO, STOP)) == 2
    assert left(*turn, STOP, NO, edit("a.py"), STOP) == [changed("a.py")]


@pytest.mark.parametrize(
    ("command", "kind", "said", "is_told"),
    [
        ("npm install", "package", {}, False),
        ("npm install", "package", {"overrules": False}, True),
        ("npm run build", "build", {}, True),
        ("npm run build", "build", {"rules": ["We use pnpm, not `npm`."]}, False),
        ("uv run pytest", "test", {"task": "use tox instead of pytest"}, False),
        ("uv run pytest", "test", {"task": "use tox, and put the file back"}, True),
    ],
)
def test_a_command_that_the_user_objects_to_is_not_told_as_one_to_run(
    command: str, kind: str, said: dict[str, Any], is_told: bool
) -> None:
    for stop in ([], [STOP]):
        made = kept(TASK, run(command, kind=kind), *stop, NO | said)
        assert [one.kind for one in standing(made) if one.kind == "command"] == ["command"] * is_told
    asked = kept(TASK, run(command, kind=kind), STOP | {"asks": True}, NO | said)
    assert len(texts(standing(asked), "command")) == 1
    again = kept(TASK, run(command, kind=kind), STOP, NO | said, run(command, kind=kind))
    assert len(texts(standing(again), "command")) == 1


@pytest.mark.parametrize("place", ["src/a.py", "src", "."])
@pytest.mark.parametrize("later", [[], [STOP], [STOP, {"k": "prompt"}]])
def test_files_that_were_put_back_were_not_changed(place: str, later: list[dict[str, Any]]) -> None:
    assert left(TASK, edit("src/a.py"), *later, put_back(place), STOP) == []
    assert left(TASK, edit("src/a.py"), *later, {"k": "tree", "removed": [place]}, STOP) == []
    assert left(TASK, edit("src/a.py"), *later, put_back(place), edit("src/a.py"), STOP) == [changed("src/a.py")]


def test_of_files_that_were_put_back_the_others_are_told() -> None:
    for later in ([], [STOP]):
        assert left(TASK, edit("a.py", "b.py"), *later, put_back("a.py"), STOP) == [changed("b.py")]
    made = kept(TASK, edit("a.py", "b.py"), STOP, put_back("a.py"), END)
    assert report_of(facts(TASK, edit("a.py", "b.py"), STOP, put_back("a.py"), END)).files_modified == ("b.py",)
    assert [one.event_id for one in made if one.kind == "edit"] == ["e3", "e4"]


@pytest.mark.parametrize(
    "later",
    [
        [GIVEN_TO_GIT, put_back("a.py")],
        [put_back("b.py")],
        [put_back("a")],
        [{"k": "tree", "removed": ["b.py"]}],
    ],
)
def test_what_is_there_of_a_change_is_told(later: list[dict[str, Any]]) -> None:
    assert left(TASK, edit("a.py"), STOP, {"k": "prompt"}, *later, STOP) == [changed("a.py")]


def test_what_was_given_to_git_may_be_removed_yet() -> None:
    assert left(TASK, edit("a.py"), GIVEN_TO_GIT, STOP, {"k": "tree", "removed": ["a.py"]}) == []


def test_what_was_undone_mended_nothing() -> None:
    failed, install = run("pytest", error="boom"), run("pip install y", kind="package")
    [fix] = left(failed, edit("a.py"), put_back("a.py"), edit("b.py"), run("pytest"))
    assert fix.endswith("worked after edits of b.py.")
    assert (
        left(failed, edit("a.py"), put_back("a.py") | {"command": "git checkout . && pytest"}, run("pytest")) == []
    )
    assert left(failed, edit("a.py"), run("pytest"), put_back("a.py")) == []
    removed = {"k": "tree", "removed": ["try.py"]}
    [fix] = left(failed, edit("try.py"), install, run("pytest"), removed)
    assert fix.endswith("later fixed by `pip install y`.")
    assert len(left(failed, put_back("lock"), run("pytest"))) == 1  # what another program had changed


def test_files_that_no_task_explains_are_not_told() -> None:
    assert kept({"k": "prompt", "aside": True}, edit("a.py", "b.py"), STOP) == []


def test_an_error_and_what_was_done_until_it_worked_are_one_memory() -> None:
    found = kept(
        TASK,
        run("pytest", error="ValueError: x"),
        edit("a.py"),
        run("pip install y", kind="package"),
        run("pytest"),
    )
    [fix] = [one for one in found if one.kind == "fix"]
    assert fix.draft.content == (
        'Command `pytest` (Bash) failed with exit status 1: "ValueError: x"; '
        "worked after edits of a.py and `pip install y`."
    )
    assert (fix.draft.origin, fix.draft.paths, fix.event_id) == ("observed", ("a.py",), "e5")


def test_a_command_alone_is_the_fix() -> None:
    [fix] = texts(kept(run("pytest", error="no y"), run("pip install y", kind="package"), run("pytest")), "fix")
    assert fix.endswith('"no y"; later fixed by `pip install y`.')


def test_a_check_that_changes_what_it_finds_may_be_the_fix() -> None:
    fixing = run("ruff check --fix .", kind="check", fixes=True)
    [fix] = texts(kept(run("make lint", error="F401", kind="check"), fixing, run("make lint", kind="check")), "fix")
    assert fix.endswith("later fixed by `ruff check --fix .`.")
    looking = run("mypy", kind="check")
    assert texts(kept(run("make lint", error="F401"), looking, run("make lint")), "fix") == []


def test_the_variables_with_which_a_command_works_are_the_fix() -> None:
    given = "NODE_OPTIONS=--openssl-legacy-provider"
    failed = run("npm run build", error="ERR_OSSL_EVP_UNSUPPORTED", kind="build")
    [fix] = texts(kept(failed, run("npm run build", kind="build", set=[given])), "fix")
    assert fix.endswith(f'"ERR_OSSL_EVP_UNSUPPORTED"; later fixed by `{given} npm run build`.')
    assert texts(kept(failed | {"set": [given]}, run("npm run build", kind="build", set=[given])), "fix") == []


def test_a_failure_without_a_word_about_it_is_told_with_its_status_alone() -> None:
    failed = {key: value for key, value in run("make", error="x").items() if key != "error"}
    [fix] = texts(kept(failed, edit("a.py"), run("make")), "fix")
    assert fix == "Command `make` (Bash) failed with exit status 1; worked after edits of a.py."


def test_a_command_is_told_as_it_can_be_run_again_from_the_root() -> None:
    add = run("uv add jose", kind="package", folder="my api")
    found = kept(run("pytest", error="no jose", folder="my api"), add, run("pytest", folder="my api"))
    [fix] = texts(found, "fix")
    assert fix.startswith("Command `cd 'my api' && pytest` (Bash) failed")
    assert fix.endswith("later fixed by `cd 'my api' && uv add jose`.")


IN_CHROME = {"key": "npx playwright test --project=chromium", "whole": "npx playwright test"}
IN_FIREFOX = {"key": "npx playwright test --project=firefox", "whole": "npx playwright test"}


@pytest.mark.parametrize(
    ("before", "after", "is_fixed"),
    [({}, IN_CHROME, True), (IN_CHROME, {}, True), (IN_CHROME, IN_CHROME, True), (IN_CHROME, IN_FIREFOX, False)],
)
def test_tests_that_work_in_a_browser_are_those_that_failed_in_all(
    before: dict[str, str], after: dict[str, str], is_fixed: bool
) -> None:
    command, install = "npx playwright test", run("npx playwright install chromium", kind="package")
    found = kept(run(command, error="no browser") | before, install, run(command) | after, END)
    fixes = texts(found, "fix")
    assert [one.endswith("; later fixed by `npx playwright install chromium`.") for one in fixes] == [
        True
    ] * is_fixed
    assert len(texts(found, "failure")) == (not is_fixed)


def test_edits_are_told_as_what_came_before_and_not_as_the_fix() -> None:
    edits = map(edit, ("a.py", "README.md", "b.py", "c.py"))
    [fix] = texts(kept(run("pytest", error="x"), *edits, run("pytest")), "fix")
    assert fix.endswith('"x"; worked after edits of b.py, c.py.')


def test_docs_mend_no_code_unless_they_are_what_failed() -> None:
    assert texts(kept(run("npm test", error="x"), edit("docs/a.md", "README.md"), run("npm test")), "fix") == []
    told = [run("npx markdownlint", error="README.md:3 long line"), edit("README.md"), run("npx markdownlint")]
    assert len(texts(kept(*told), "fix")) == 1


def test_a_command_that_works_the_second_time_without_any_change_fixed_nothing() -> None:
    assert texts(kept(run("pytest", error="x"), run("pytest")), "fix") == []


def test_the_same_command_that_fails_twice_is_one_memory() -> None:
    found = kept(run("make", error="no x"), edit("a.py"), run("make", error="no y"), edit("a.py"), run("make"), END)
    assert len(found) == 1
    assert "no y" in found[0].draft.content


def test_a_failure_that_nobody_fixed_is_told_when_the_session_ends() -> None:
    found = kept(run("make deploy", error="window closed", kind="deploy"), STOP, END)
    assert texts(found, "failure") == ['Command `make deploy` (Bash) failed with exit status 1: "window closed".']


def test_it_is_told_after_a_few_turns_when_the_session_does_not_end() -> None:
    failed = run("make deploy", error="window closed", kind="deploy")
    assert kept(failed, STOP, STOP) == []
    assert len(kept(failed, STOP, STOP, STOP)) == 1


def test_a_script_that_failed_and_was_left_is_nothing() -> None:
    assert kept(run("python x.py", error="boom", kind="other"), STOP, END) == []


def test_a_command_worth_knowing_is_told_once_a_session() -> None:
    assert texts(kept(run("make test"), run("make test"), run("make test")), "command") == [
        "Command `make test` (Bash) succeeded."
    ]
    assert (
        kept(run("pytest a.py::b", general=False), run("python x.py", kind="other"), run("mkdir x", kind="change"))
        == []
    )


def test_what_the_agent_says_after_it_read_a_page_is_untrusted() -> None:
    [before] = [one.draft.trust for one in kept(DECIDED) if one.draft.type == "decision"]
    after = [one.draft for one in kept(FETCHED, DECIDED)]
    assert before is None
    assert [(draft.type, draft.trust) for draft in after] == [("decision", "untrusted")]  # and causes are not told


def test_what_another_agent_told_taints_what_the_agent_says() -> None:
    said = [one for one in kept({"k": "prompt", "elsewhere": True}, DECIDED) if one.kind == "statement"]
    assert {one.draft.trust for one in said} == {"untrusted"}


def test_a_subagent_that_read_a_page_taints_what_the_main_thread_says() -> None:
    told = facts(FETCHED, DECIDED)
    by_subagent = [told[0], Fact("e1", AT, FETCHED, agent_id="a1"), told[2]]
    assert {one.draft.trust for one in drafts_of(by_subagent)} == {"untrusted"}


def test_where_the_beginning_of_a_session_is_unknown_nobody_knows_what_it_read() -> None:
    assert {one.draft.trust for one in drafts_of(facts(DECIDED)[1:])} == {"untrusted"}
    assert {one.draft.trust for one in drafts_of(facts(FETCHED, START, DECIDED))} == {None}


def test_provenance_names_the_call_the_moment_and_the_files() -> None:
    found = kept(run("make test", id="toolu_7", paths=["Makefile"]))
    draft = found[0].draft
    assert (draft.tool_call, draft.at, draft.paths) == ("toolu_7", AT + timedelta(minutes=1), ("Makefile",))
    assert draft.metadata == {"tool": "Bash", "exit_status": 0, "captured": "command"}


ANY = st.sampled_from(
    [
        START,
        TASK,
        {"k": "prompt"},
        {"k": "prompt", "aside": True},
        STOP,
        END,
        FETCHED,
        DECIDED,
        edit("a.py"),
        edit("b.py"),
        run("pytest"),
        run("pytest", error="x"),
        run("pytest", error="y"),
        run("make", error="z"),
        run("make"),
        run("pip install y", kind="package"),
        {"k": "prompt", "task": "Another one", "rules": ["Always X."]},
        NO,
        GIVEN_TO_GIT,
        put_back("a.py"),
        {"k": "tree", "removed": ["."]},
    ]
)


@given(st.lists(ANY, max_size=25), st.integers(0, 25))
def test_capturing_event_by_event_gives_what_capturing_at_once_gives(told: list[dict[str, Any]], cut: int) -> None:
    whole = facts(*told)
    first, rest = whole[:cut], whole[cut:]
    parts = drafts_of(first) + drafts_of(whole, new={fact.event_id for fact in rest})
    assert parts == drafts_of(whole)


@given(st.lists(ANY, max_size=20), st.integers(0, 20))
def test_what_was_read_and_asked_before_is_known_wherever_the_looking_begins(
    told: list[dict[str, Any]], cut: int
) -> None:
    whole = facts(*told)
    later = [*whole, *(replace(one, event_id=f"n{one.event_id}") for one in facts(edit("z.py"), DECIDED)[1:])]
    carried = [replace(one, told=one.told | before) for one, before in zip(later, carried_into(later), strict=True)]
    new = {one.event_id for one in later[-2:]}
    ends = [one for one in drafts_of(later, new=new) if one.kind in ("statement", "edit")]
    cut_off = drafts_of(carried[min(cut, len(whole)) :], new=new)
    told_of = [(one.kind, one.draft.trust, one.draft.content.partition(": ")[0]) for one in ends]
    assert [
        (one.kind, one.draft.trust, one.draft.content.partition(": ")[0])
        for one in cut_off
        if one.kind in ("statement", "edit")
    ] == told_of


def test_the_report_of_a_session_tells_files_calls_and_errors() -> None:
    report = report_of(
        facts(TASK, edit("a.py"), run("pytest", error="ValueError: x"), edit("b.py"), run("pytest"), DECIDED, END)
    )
    assert report.summary == "Asked: Make the login test stable I chose A instead of B. The leak was caused by C."
    assert report.files_modified == ("a.py", "b.py")
    assert report.errors == ({"message": "ValueError: x", "tool": "Bash", "recoverable": True},)
    assert [call["success"] for call in report.tool_calls] == [True, False, True, True]


def test_a_report_does_not_tell_what_was_forgotten() -> None:
    forgotten = {"k": "prompt", "back_about": "the login test"}
    assert report_of(facts(TASK, forgotten, TASK | {"task": "Add a page"})).summary == "Asked: Add a page"


def test_a_report_does_not_launder_what_a_page_said() -> None:
    assert report_of(facts(TASK, FETCHED, DECIDED)).summary == "Asked: Make the login test stable"


@pytest.mark.parametrize("told", [{}, {"k": "run"}, {"k": "edit"}, {"k": "hologram"}, {"k": "run", "failed": True}])
def test_facts_of_another_version_are_passed_over(told: dict[str, Any]) -> None:
    assert kept(told) == []
    report_of(facts(told))
