"""Other scripts in Latin letters."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.providers.letters import in_latin


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Пользователь", "polzovatel"),
        ("ПОЛЬЗОВАТЕЛЬ", "polzovatel"),
        ("щёлк", "shchelk"),
        ("χρήστης", "christis"),
        ("مستخدم", "mstkhdm"),
        ("משתמש", "mshtmsh"),
        ("がぎカキは", "gagi kaki ha"),
        ("ｶﾞ", " ga "),
        ("ＡＰＩ", "api"),
        ("저장", " 저  장 "),
        (normalize("NFD", "저장 ガイド ёж"), " 저  장   gaido  ezh"),
        ("保存 API", "保存 API"),
        ("Überschrift – naïve", "Überschrift – naïve"),
        ("plain text, 42", "plain text, 42"),
    ],
)
def test_letters_are_spelled_and_everything_else_stays(text: str, spelled: str) -> None:
    assert _without_marks(in_latin(text)) == spelled


def _without_marks(text: str) -> str:
    """Accents are the tokenizer's business, also those of letters that were spelled."""
    return text.replace("\u0301", "").replace("\u0308", "")


@given(st.text(alphabet=st.characters(max_codepoint=0x36F)))
def test_latin_text_stays_as_it_is(text: str) -> None:
    assert in_latin(text) == text
