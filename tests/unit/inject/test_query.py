"""What is asked at the start of a session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.inject import compose_retrieval_query

WORDS = st.none() | st.text(max_size=60)


def test_r021_identifier_title_and_first_line() -> None:
    composed = compose_retrieval_query(
        identifier="SHOP-7",
        title="Fix login",
        description="Users bounce.\nSteps: ...",
        issue_id="9f0c",
        session_id="ses_1",
    )
    assert composed == "SHOP-7 Fix login Users bounce."


def test_r023_the_ladder_ends_with_the_session() -> None:
    known = {"identifier": "SHOP-7", "issue_id": "9f0c", "session_id": "ses_1"}
    ladder = []
    for lost in (None, "identifier", "issue_id", "session_id"):
        known = {name: value for name, value in known.items() if name != lost}
        ladder.append(compose_retrieval_query(**known))
    assert ladder == ["SHOP-7", "9f0c", "ses_1", ""]


def test_r024_the_trackers_own_id_is_not_used_when_the_identifier_is_known() -> None:
    assert "9f0c" not in compose_retrieval_query(identifier="SHOP-7", issue_id="9f0c", session_id="ses_1")


def test_r025_only_the_first_line_and_whatever_is_known() -> None:
    assert compose_retrieval_query(description="\r\n  one\r\ntwo") == "one"
    assert compose_retrieval_query(title="Fix login", issue_id="9f0c") == "Fix login"
    assert compose_retrieval_query(identifier="SHOP-7", description="Users bounce") == "SHOP-7 Users bounce"


@given(WORDS, WORDS, WORDS, WORDS, st.text(min_size=1).filter(lambda text: bool(text.split())))
def test_r023_never_empty_while_there_is_a_session(
    identifier: str | None, title: str | None, description: str | None, issue_id: str | None, session_id: str
) -> None:
    composed = compose_retrieval_query(
        identifier=identifier, title=title, description=description, issue_id=issue_id, session_id=session_id
    )
    assert composed and len(composed.splitlines()) == 1


def test_a_document_for_a_title_is_cut() -> None:
    assert len(compose_retrieval_query(title="x" * 100_000)) == 2_000
