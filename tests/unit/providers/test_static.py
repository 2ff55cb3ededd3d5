"""The default embedder: what its vectors promise, and that it costs nothing but numpy."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clew.providers.letters import LETTERS
from clew.providers.static import CHARACTERS, DATA, FULL, HALF, StaticEmbedder
from clew.recall.fuse import semantic_relevance

# A text, something near to it, and something far from it that shares a word. Adding up words cannot tell
# every homonym apart; these are cases that it can and must.
PAIRS = [
    (
        "The connection pool ran out of connections",
        "postgres connection limit reached",
        "the hotel has a swimming pool",
    ),
    (
        "We deploy with Docker and Kubernetes",
        "how do I ship to the cluster?",
        "we bake with butter and sugar",
    ),
    (
        "Users log in with a password and a code",
        "login and authentication",
        "the log was sawn into planks",
    ),
    ("My sister plays the violin", "Which instrument does your sister play?", "my sister's car broke down"),
    ("The test depends on the clock and is flaky", "why does the test fail?", "flaky pastry with apples"),
    (
        "Never commit secrets to the repository",
        "keep API keys out of git commits",
        "the secret garden is in bloom",
    ),
    ("I adopted a kitten from the shelter", "do you have a cat?", "bus shelters are made of glass"),
    ("The function raises KeyError on empty input", "the code throws an error", "the raise in salary came late"),
    ("Cache entries expire after five minutes", "how long is data cached?", "the milk expired last week"),
    ("Tom is a nurse at the hospital", "what is Tom's job?", "Tom repaired the garden fence"),
    ("Search became slower after the upgrade", "search performance regression", "slow cooked beef"),
    ("We travelled to Japan last spring", "vacation in Tokyo", "a spring in the mattress is broken"),
]


@pytest.fixture
def embedder(by_both: None) -> StaticEmbedder:
    return StaticEmbedder()


def test_vectors_have_unit_length(embedder: StaticEmbedder) -> None:
    vectors = embedder.embed([text for pair in PAIRS for text in pair])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3 * len(PAIRS), embedder.space.dim)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n\t", "\u1200\u1208", "x" * 200])
def test_a_text_without_a_known_word_gives_a_zero_row(embedder: StaticEmbedder, text: str) -> None:
    assert not embedder.embed([text]).any()


def test_no_texts_give_no_rows(embedder: StaticEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.space.dim)


def test_a_batch_gives_the_same_bits_as_one_text_at_a_time(embedder: StaticEmbedder) -> None:
    texts = [text for pair in PAIRS for text in pair] + ["", "src/auth/mw.py", "caf\u00e9 \u6771\u4eac", ""]
    texts += ["Der Suchindex wird neu aufgebaut.", "\u043f\u0430\u0440\u043e\u043b\u044c", ""]
    batch = embedder.embed(texts)
    single = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.array_equal(batch, single)


def test_a_very_long_text_is_read_to_its_end(embedder: StaticEmbedder) -> None:
    begins = "banana " * 9_000
    long, begun, database = embedder.embed([begins + "database " * 90_000, begins, "database"])
    assert long @ database > begun @ database + 0.1


def test_a_text_is_rather_about_what_it_begins_with(embedder: StaticEmbedder) -> None:
    fruit, storage = "banana mango papaya " * 9, "database index table " * 9
    first, last, asked = embedder.embed([storage + fruit, fruit + storage, "database"])
    assert first @ asked > last @ asked + 0.05
    alone, doubled = embedder.embed(["ripe banana", "banana ripe"])  # short ones know no order
    assert alone == pytest.approx(doubled, abs=1e-6)


@pytest.mark.parametrize(("text", "near", "far"), PAIRS)
def test_related_texts_are_closer_than_texts_that_share_words(
    embedder: StaticEmbedder, text: str, near: str, far: str
) -> None:
    one, close, distant = embedder.embed([text, near, far])
    assert one @ close > one @ distant


def test_the_scale_puts_paraphrases_above_the_floor_and_strangers_below(embedder: StaticEmbedder) -> None:
    question, answer = "How long are product pages cached?", "Product pages are cached for five minutes."
    query, same, stranger = embedder.embed([question, answer, "My sister loves hiking."])
    near, far = semantic_relevance(np.array([query @ same, query @ stranger], np.float32), embedder.space)
    assert near >= 0.4 and far < 0.1


def test_the_revision_is_that_of_the_rows_of_how_they_are_added_up_and_of_the_pieces(
    embedder: StaticEmbedder,
) -> None:
    content = (DATA / "clew_static.bin").read_bytes()
    pieces = (DATA / CHARACTERS).read_bytes() + LETTERS.read_bytes()
    assert embedder.space.revision == hashlib.sha256(content + pieces + f"{FULL}/{HALF}".encode()).hexdigest()[:8]
    assert json.loads((DATA / "clew_static.json").read_text())["sha256"] == hashlib.sha256(content).hexdigest()


UNREAD = {
    "Thai": ("ห้ามปล่อยระบบในวันศุกร์", "วิธีอบพายแอปเปิล"),
    "Hindi": ("शुक्रवार को कभी तैनात न करें", "सेब की पाई कैसे बनाएं"),
    "Georgian": ("პარასკევს არასოდეს ვუშვებთ", "ვაშლის ღვეზელი"),
    "emoji": ("🚀 🎉", "🔥"),
}


@pytest.mark.parametrize("script", UNREAD)
def test_a_text_in_a_script_that_the_model_cannot_read_has_no_meaning(
    embedder: StaticEmbedder, script: str
) -> None:
    """Letters of one script are alike: every Thai text would mean the same as every other."""
    assert not embedder.embed(UNREAD[script]).any()
    assert not embedder.embed([UNREAD[script][0] * 1_000]).any()


OTHER_SCRIPTS = {
    "Greek": ("Ποτέ δεν ανεβάζουμε κώδικα την Παρασκευή", "πώς φτιάχνεται μηλόπιτα"),
    "Arabic": ("لا ننشر أبدا يوم الجمعة", "كيف تخبز فطيرة التفاح"),
    "Hebrew": ("אין להעלות קוד ביום שישי", "איך אופים עוגת תפוחים"),
    "Ukrainian": ("Ніколи не викладаємо у п'ятницю", "як спекти яблучний пиріг"),
    "Traditional Chinese": ("週五下午禁止部署", "工作階段儲存在快取中"),
}


@pytest.mark.parametrize("script", OTHER_SCRIPTS)
def test_a_text_in_another_script_is_read_and_not_like_every_other(embedder: StaticEmbedder, script: str) -> None:
    one, other = embedder.embed(OTHER_SCRIPTS[script])
    assert one.any() and other.any()
    assert semantic_relevance(np.array([one @ other], np.float32), embedder.space)[0] < 0.4


def test_a_few_foreign_words_do_not_change_what_a_text_means(embedder: StaticEmbedder) -> None:
    plain, mixed, accented = embedder.embed(
        ["the deploy guide names the gateway", "the deploy guide คู่มือ names the gateway", "the café déploys it"]
    )
    assert plain @ mixed > 0.9 and accented.any()


SENTENCES = json.loads(
    (Path(__file__).parents[3] / "tools" / "embedder" / "sentences.json").read_text(encoding="utf-8")
)
LANGUAGES = sorted(SENTENCES.keys() - {"English"})


@pytest.mark.parametrize("language", LANGUAGES)
def test_unrelated_texts_in_another_language_stay_below_the_floor(embedder: StaticEmbedder, language: str) -> None:
    """What every text of a language has in common is no reason to show it: .44 of the German ones passed once."""
    vectors = embedder.embed(SENTENCES[language])
    apart = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    # Of 66: as many as the calibration allows in English, some 3 %.
    assert np.count_nonzero(semantic_relevance(apart, embedder.space) >= 0.4) <= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_in_another_language_is_near_to_what_it_means_in_english(
    embedder: StaticEmbedder, language: str
) -> None:
    asked, english = embedder.embed(SENTENCES[language]), embedder.embed(SENTENCES["English"])
    across = asked @ english.T
    others = across[~np.eye(len(across), dtype=bool)]
    assert np.median(np.diag(across)) > np.quantile(others, 0.9)
    assert (across.argmax(1) == np.arange(len(across))).mean() >= 0.5


@pytest.mark.parametrize(
    "text",
    [
        "src/auth/mw.py",
        "docker compose up -d --build",
        "JWT expiry refresh token rotation",
        "useEffect cleanup on unmount",
        "the café déploys it",
        *SENTENCES["English"],
        *(text for pair in PAIRS for text in pair),
    ],
)
def test_english_and_code_are_read_by_the_rows_of_english(embedder: StaticEmbedder, text: str) -> None:
    pieces = embedder._pieces.packed(text)
    assert embedder._by_language([pieces]) == [pieces]


def test_loading_needs_numpy_alone() -> None:
    code = (
        "import sys; from clew.providers.static import StaticEmbedder; StaticEmbedder().embed(['a test']);"
        "heavy = {'torch', 'onnxruntime', 'tokenizers', 'transformers', 'safetensors', 'scipy', 'pydantic'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
