"""Rows for other languages, beside those that were fitted to English.

A word piece gets a second row, so that a translation adds up to what the English text adds up to: one least-squares
problem over all rows, solved by conjugate gradients. Without it the words that every German text has ("und", "der",
"##en") are rare to the rows, so they count most, and all German texts are alike. Which of its two rows a piece is
read by is told by the text it stands in; English texts keep their vectors to the last bit.
Other scripts are spelled in Latin letters; Chinese characters and Korean syllables have a row for this alone.

    PYTHONPATH=src python tools/embedder/languages.py --work FOLDER    # what is shipped, on texts never fitted on
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import numpy as np
import translations
from numpy.typing import NDArray
from scipy import sparse

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

from clew.providers.letters import in_latin  # noqa: E402
from clew.providers.static import CHARACTERS, DATA, StaticEmbedder, counts_of  # noqa: E402
from clew.providers.wordpiece import IDS, VOCAB, WordPiece  # noqa: E402

Rows = NDArray[np.float32]
Flags = NDArray[np.bool_]
MAX_PIECES = 96
SEEN = 10  # times, before a character gets a row
FEW_WORDS = 3  # a text of fewer is a label, which several others translate to


@dataclass(frozen=True, slots=True)
class Recipe:
    stay: float = 1.0  # pull of each row towards the English one
    steps: int = 60
    faint: float = 0.3  # times the median: a text whose vector is shorter says little, and is no target
    seen: int = 5  # times in translations, before a piece gets a second row


DEFAULT = Recipe()


def has_row(char: str) -> bool:
    """Chinese characters and Korean syllables."""
    return "\u3400" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3"


def unread() -> list[int]:
    """Of the vocabulary, what stays without meaning: letters of scripts that are neither spelled nor learnt."""
    pieces = VOCAB.read_text(encoding="utf-8").splitlines()
    return sorted(id for id in WordPiece.foreign() if not has_row(pieces[id]))


def write_characters(texts: Iterable[str], data: Path) -> int:
    """Those that the vocabulary lacks and the texts have, as the tokenizer takes them apart; how many."""
    known = set(VOCAB.read_text(encoding="utf-8").splitlines())
    seen = Counter(char for text in texts for char in text if has_row(char) and char not in known)
    found = sorted(char for char, count in seen.items() if count >= SEEN)
    lines = "".join(f"{normalize('NFD', char)}\n" for char in found)
    (data / CHARACTERS).write_text(lines, encoding="utf-8")
    return len(found)


def bags(texts: Sequence[str], pieces: WordPiece, rows: int) -> sparse.csr_matrix:
    """How much the piece of each row counts in each text."""
    ids = [np.frombuffer(pieces.packed(in_latin(text)), IDS)[:MAX_PIECES] for text in texts]
    counts = [counts_of(0, len(row)) for row in ids]
    at = np.repeat(np.arange(len(texts)), [len(row) for row in ids])
    cells = (np.concatenate(counts), (at, np.concatenate(ids)))
    return sparse.csr_matrix(cells, (len(texts), rows), dtype=np.float32)


def learn(rows: Rows, pairs: translations.Pairs, data: Path, recipe: Recipe = DEFAULT) -> tuple[Rows, Flags]:
    """The rows of all pieces as other languages mean them, and which of them were seen often enough to count.
    `data`: where the characters are whose rows are the last ones, and nothing yet."""
    pieces = WordPiece.load(data / CHARACTERS)
    originals, others = (bags(texts, pieces, len(rows)) for texts in zip(*pairs, strict=True))
    targets = originals @ rows
    lengths = np.linalg.norm(targets, axis=1)
    clear = lengths > recipe.faint * np.median(lengths)
    wanted = targets[clear] / lengths[clear, None]
    wanted -= wanted.mean(axis=0)  # or what every text has would come to mean what all of these texts are about
    scaled = _scaled(others[clear], lengths[clear])
    often = np.asarray((others > 0).sum(axis=0)).ravel() >= recipe.seen
    return rows + _solved(scaled, wanted - scaled @ rows, recipe), often


def _scaled(matrix: sparse.csr_matrix, lengths: Rows) -> sparse.csr_matrix:
    return sparse.csr_matrix(sparse.diags(1 / lengths) @ matrix, dtype=np.float32)


def _solved(others: sparse.csr_matrix, wanted: Rows, recipe: Recipe) -> Rows:
    """The moves that bring `others` nearest to what is wanted."""
    # The squares of each column make the steps of all pieces alike in length.
    scale = np.asarray(others.multiply(others).sum(0), np.float32).reshape(-1, 1) + np.float32(recipe.stay)
    left = others.T @ wanted
    moves = np.zeros_like(left)
    eased = left / scale
    along, power = eased.copy(), (left * eased).sum(0)
    for _step in range(recipe.steps):
        pushed = others.T @ (others @ along) + np.float32(recipe.stay) * along
        far = power / np.maximum((along * pushed).sum(0), 1e-12)
        moves += far * along
        left -= far * pushed
        eased = left / scale
        before, power = power, (left * eased).sum(0)
        along = eased + power / np.maximum(before, 1e-12) * along
    return np.asarray(moves, np.float32)


def report(embedder: StaticEmbedder, by_language: dict[str, translations.Pairs], most: int = 500) -> None:
    """How often the English original is the nearest, or among the ten nearest, of as many English texts."""
    print("language  texts  nearest  of ten")
    for language, pairs in by_language.items():
        long = [pair for pair in pairs if len(pair[0].split()) >= FEW_WORDS][:most]
        if len(long) < most:
            continue
        english, other = (embedder.embed(texts) for texts in zip(*long, strict=True))
        cosines = other @ english.T
        nearer = (cosines > np.diag(cosines)[:, None]).sum(1)
        print(f"{language:8} {len(long):6}  {(nearer < 1).mean():.3f}    {(nearer < 10).mean():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="cache of downloads")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the rows")
    given = parser.parse_args()
    (given.work / "text").mkdir(parents=True, exist_ok=True)
    report(StaticEmbedder(given.data), translations.collect(given.work / "text", translations.HELD_OUT))


if __name__ == "__main__":
    main()
