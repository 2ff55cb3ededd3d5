"""A secret that was masked in one place stands in others as well: behind an option of a command and in the message
that refuses it. Pure.

In: a text, and what was masked in it or in a text that tells of the same. Out: the text without those values,
wherever one stands as a whole word. Only what nobody says for another reason is looked for: after
`password=postgres` the name of the database stays.
"""

from itertools import islice

from clew.remember.assigned import is_spoken_of
from clew.remember.looks import is_jumbled, is_numbered, is_passphrase, is_worded

# The kind of each secret and its value, in the order in which they were masked. Never stored nor shown.
Found = dict[tuple[str, str], None]

MOST = 64  # secrets that are looked for again: each costs a search through the text
SHORTEST = 6
_LONGEST_WORD = 200
_AROUND = ".,;:!?()[]{}<>\"'`*"  # a setting may have been masked with what a sentence puts around it
_HEX = frozenset("0123456789abcdefABCDEF")


def mask_again(text: str, secrets: Found, found: Found) -> str:
    """The text without these secrets; ``found`` is told of those that were there."""
    for kind, value in islice(tuple(secrets), MOST):
        bare = value.strip(_AROUND)
        if len(bare) >= SHORTEST and bare in text and _says_nothing_else(bare):
            masked = _without(_without(text, value, f"[masked:{kind}]"), bare, f"[masked:{kind}]")
            if masked != text:
                found[kind, value] = None
                text = masked
    return text


def _says_nothing_else(word: str) -> bool:
    """A letter and a digit, or several words in one; no word, no number, no version, no numbered thing."""
    if any(map(str.isspace, word)):
        return False
    if is_jumbled(word):
        return True
    if len(word) > _LONGEST_WORD or is_numbered(word) or is_spoken_of(word):
        return False
    return is_worded(word) or is_passphrase(word)


def _without(text: str, word: str, marker: str) -> str:
    kept: list[str] = []
    at = 0
    while (start := text.find(word, at)) >= 0:
        end = start + len(word)
        is_whole = _begins_word(text, start) and not _is_of_word(text[end : end + 1])
        kept += text[at:start], marker if is_whole else word
        at = end
    return "".join([*kept, text[at:]])


def _begins_word(text: str, at: int) -> bool:
    """After what no word has, or after an escape as JSON and addresses have: \\n, %3D."""
    before = text[max(0, at - 3) : at]
    if not _is_of_word(before[-1:]) or before[-2:] in ("\\n", "\\r", "\\t"):
        return True
    return len(before) == 3 and before[0] == "%" and _HEX.issuperset(before[1:])


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
