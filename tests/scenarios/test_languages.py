"""Memories in one language, questions in another, with the model that everybody has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew import Clew
from clew.providers.static import StaticEmbedder
from toys import open_toy

SENTENCES = json.loads(
    (Path(__file__).parents[2] / "tools" / "embedder" / "sentences.json").read_text(encoding="utf-8")
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Clew]:
    with open_toy(tmp_path / "clew.db", embedder=StaticEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("language", sorted(SENTENCES.keys() - {"English"}))
def test_what_was_said_in_english_is_found_in_another_language(memory: Clew, language: str) -> None:
    said = [memory.remember(text).id for text in SENTENCES["English"]]
    first = [memory.recall(text).results[:1] for text in SENTENCES[language]]
    found = [bool(best) and best[0].memory.id == id for best, id in zip(first, said, strict=True)]
    assert sum(found) >= 8, language  # of twelve; by chance one would be


def test_a_german_project_is_not_shown_everything_for_every_question(memory: Clew) -> None:
    for text in SENTENCES["German"]:
        memory.remember(text)
    assert not memory.recall("Wie backt man einen Apfelkuchen mit Zimt?", floor=0.4).results
    found = memory.recall("In welcher Sprache will der Kunde den Bericht haben?", floor=0.4).results
    assert [result.memory.content for result in found] == ["Der Kunde möchte den Bericht auf Französisch."]
    [best, *_others] = memory.recall("Wann läuft die Sicherung in der Nacht?").results
    assert best.memory.content == "Sicherungen laufen um drei Uhr nachts."
