"""Count how many lines of the embedder's training text have each term: src/clew/recall/common_words.txt.

    python tools/common_words.py CORPUS.txt > src/clew/recall/common_words.txt

Words that many texts have say little about what a question is after, also in a scope too small to show it.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from clew.recall.analyse import terms

KEPT = 1_000
NOISE = {"noqa", "genus", "py", "str", "https", "http", "www", "com"}  # of code comments and glossaries


def main(corpus: Path) -> None:
    counts: Counter[str] = Counter()
    lines = 0
    with corpus.open(encoding="utf-8") as file:
        for line in file:
            counts.update(set(terms(line)))
            lines += 1
    common = [(word, count) for word, count in counts.most_common(4 * KEPT) if word.isalpha() and word not in NOISE]
    for word, count in common[:KEPT]:
        print(f"{word} {count / lines:.5f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
