"""Texts that would overflow the stack of the parser, which ends the process and can be caught by nobody."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import Misconfigured
from clew.guard.engine import POLICIES, Engine
from clew.guard.policy_text import MAX_DEPTH, deepest, statements
from clew.model.access import AddedPolicy

DEEP = 3_000
WHEN = "permit (principal, action, resource) when {{ {} }};"
FORMS = {
    "parentheses": WHEN.format("(" * DEEP + "true" + ")" * DEEP),
    "sets": WHEN.format("[" * DEEP + "]" * DEEP + " == []"),
    "records": WHEN.format("{a:" * DEEP + "1" + "}" * DEEP + " == {}"),
    "negations": WHEN.format("!(" * DEEP + "true" + ")" * DEEP),
    "and": WHEN.format("true && " * DEEP + "true"),
    "or": WHEN.format("false||" * DEEP + "true"),
    "sums": WHEN.format("1 + " * DEEP + "1 == 1"),
    "differences": WHEN.format("1 - " * DEEP + "1 == 1"),
    "products": WHEN.format("1 * " * DEEP + "1 == 1"),
    "attributes": WHEN.format("principal" + ".a" * DEEP),
    "named attributes": WHEN.format("principal" + '["a"]' * DEEP),
    "calls": WHEN.format("principal" + ".contains(1)" * DEEP),
    "has": WHEN.format("principal has a" + ".a" * DEEP),
    "if in if": WHEN.format("if true then " * DEEP + "true" + " else true" * DEEP),
    "if after if": WHEN.format("if true then true else " * DEEP + "true"),
    "is in": WHEN.format("principal is Mem::User in (" * DEEP + "principal" + ")" * DEEP),
    "chains within brackets": WHEN.format("true && (false || !(" * 40 + "true" + "))" * 40),
    "conditions": "permit (principal, action, resource)" + " when { true }" * DEEP + ";",
    "exceptions": "permit (principal, action, resource)" + "unless{1==1}" * DEEP + ";",
    "behind a comment": "// one line\r" + WHEN.format("(" * DEEP + "true" + ")" * DEEP),
    "behind a text": WHEN.format('"//" == "(" && ' + "(" * DEEP + "true" + ")" * DEEP),
    "never closed": "permit (principal, action, resource) when " + "{" * DEEP,
    "closed by another": WHEN.format("(]" * DEEP),
    "with semicolons": WHEN.format("(;" * DEEP),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_that_is_too_deep_is_refused_before_cedar_sees_it(form: str) -> None:
    [problem] = Engine().problems(FORMS[form][:60_000])
    assert f"{MAX_DEPTH} are allowed" in problem.message and problem.line in (1, 2)


def test_the_line_is_that_of_the_policy_which_is_too_deep() -> None:
    [problem] = Engine().problems(f"{WHEN.format('true')}\n\n\n{FORMS['parentheses']}\n{WHEN.format('true')}")
    assert problem.line == 4


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("when { true }", 1), ("when { true } when { true }", 2), ("when { true } unless { 1 == (1) }", 3),
        ("when { true && true } unless { true || true }", 3), ("when { principal.when == resource.unless }", 2),
    ],
)  # fmt: skip
def test_the_conditions_of_a_policy_are_one_chain(text: str, depth: int) -> None:
    assert deepest(f"permit (principal, action, resource) {text};")[0] == depth


@pytest.mark.parametrize("text", ['"((("', '"// ((("', r'"\"((("', r'"\\" == "((("', "1 // (((\n", '"\n((("'])
def test_what_is_said_in_comments_and_texts_counts_for_nothing(text: str) -> None:
    assert deepest(WHEN.format(f"{text} == 1")) == (1, 1)


@pytest.mark.parametrize("text", ['"(' * 32_000, '"\\"' * 20_000, "//\r" * 20_000, "(" * 64_000, "a||" * 20_000])
def test_a_long_text_is_measured_in_one_pass(text: str) -> None:
    """A second look at what follows each quote would take minutes."""
    assert deepest(text)[1] == 1


def test_what_people_write_is_not_deep() -> None:
    assert deepest(POLICIES.read_text())[0] * 4 < MAX_DEPTH
    names = " || ".join(f'principal == Mem::User::"acme/user{number}"' for number in range(90))
    listed = ", ".join(f'Mem::User::"acme/user{number}"' for number in range(1_000))
    assert Engine().problems(WHEN.format(names)) == []
    assert (
        Engine().problems(
            f"permit (principal is Mem::User, action, resource) when {{ [{listed}].contains(principal) }};"
        )
        == []
    )
    assert Engine().problems("\n".join(WHEN.format("(true && false) || (true && true)") for _ in range(90))) == []


def test_a_policy_that_was_stored_before_is_refused_by_its_name() -> None:
    stored = AddedPolicy("local", "deep", FORMS["parentheses"], 1, "owner", datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(Misconfigured, match="deep"):
        Engine().load([stored])
    assert Engine().ids_of(stored.text, "deep") == ()


ON_A_SMALL_STACK = """
import sys, threading
from clew.guard.engine import Engine
from clew.guard.entities import Principal, Question, resource_reference
from clew.model.access import AccessContext, AddedPolicy, Resource
from clew.model.times import from_micros

def go():
    engine = Engine()
    added = [] if engine.problems(text) else [AddedPolicy("o", "deep", text, 1, "owner", from_micros(0))]
    loaded = engine.load(added)
    question = Question(Principal("User", "o", "u", roles=("owner",)), "read", AccessContext("o"))
    row = Resource("memory", "m", "o")
    pairs = [(resource_reference(row), row)]
    engine.ask(loaded, question.requests([pairs[0][0]]), question.entities(pairs))
    print(len(engine.ids_of(text, "deep")), "fine")

for text in sys.stdin.read().split("\\x00"):
    threading.stack_size(512 * 1024)
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
"""


def test_the_deepest_that_is_allowed_fits_a_thread_with_a_small_stack() -> None:
    """Of 512 kB, as other systems give their threads."""
    near = MAX_DEPTH - 4
    texts = [
        WHEN.format("(" * near + "true" + ")" * near),
        WHEN.format("!(" * near + "true" + ")" * near),
        WHEN.format("[" * (near // 2) + "]" * (near // 2) + " == []"),
        WHEN.format("{a:" * near + "1" + "}" * near + " == {}"),
        WHEN.format("true && " * near + "true"),
        WHEN.format("1 + " * near + "1 == 1"),
        WHEN.format("if true then true else " * near + "true"),
        WHEN.format("if true then " * near + "true" + " else true" * near),
        WHEN.format("principal has org" + ".org" * near),
        "permit (principal, action, resource)" + " when { true } unless { false }" * (near // 2) + ";",
    ]
    assert all(deepest(text)[0] <= MAX_DEPTH for text in texts)
    run = subprocess.run(
        [sys.executable, "-c", ON_A_SMALL_STACK],
        input="\0".join(texts),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (run.returncode, run.stdout.count("fine")) == (0, len(texts)), run.stderr[-500:]


@given(st.text(alphabet='([{)]};,.!&|"\\/\r\n ab', max_size=200))
def test_any_text_is_measured_and_split_without_trouble(text: str) -> None:
    depth, line = deepest(text)
    assert 0 <= depth <= 2 * len(text) and 1 <= line <= text.count("\n") + 1
    assert all(part in text for _line, part in statements(text))
