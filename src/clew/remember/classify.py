"""Give a text its sensitivity: restricted, confidential, internal or public.

Deterministic and without a model, so that a label can be explained and computed again. The rules, of which
the most restrictive that matches wins:

1. restricted: a secret was masked, the text holds a social security number (123-45-6789), or it speaks of ssn,
   social security, credit card, pci, pii.
2. confidential: a path with a directory auth, secrets, credentials or keys, or a ``.env`` file; or the words
   password, api key, token, private key, secret.
3. internal: a decision about compliance, security, audit, policy, sox, sr 11-7, gdpr, hipaa.
4. public: at least one path, and every path under public/ or docs/.
5. internal otherwise.

What a text speaks of and where it lies is a guess, which whoever configures the org may overrule with a label of
their own; what it holds is none (ADR 5).

It runs on the text after masking. A ``[masked:...]`` marker in the text alone counts as well: an imported or
quoted text that carries one had a secret in it, and a caller who forgets ``masked=True`` must not publish it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

# From least to most restrictive.
TIERS = ("public", "internal", "confidential", "restricted")
_RANK = {tier: rank for rank, tier in enumerate(TIERS)}

# Plain substrings, tried before any regular expression: most texts contain none of them.
_RESTRICTED_HINTS = ("ssn", "social", "credit", "pci", "pii")
_CONFIDENTIAL_HINTS = ("password", "api", "token", "private", "secret")
HINTS = _RESTRICTED_HINTS + _CONFIDENTIAL_HINTS
# The words of letters alone with which a match of the patterns below may begin; the others are no such words.
SPOKEN_OF = frozenset(
    word + plural
    for word in ("ssn", "social", "credit", "pci", "pii", "password", "api", "apikey", "private", "privatekey",
                 "secret", "token")
    for plural in ("", "s")
)  # fmt: skip
# A plural is the same word; an underscore separates words here, so that DB_PASSWORD speaks of a password.
_RESTRICTED = re.compile(r"(?<![a-z0-9])(?:ssn|social[\s_-]+security|credit[\s_-]+card|pci|pii)s?(?![a-z0-9])")
_CONFIDENTIAL = re.compile(r"(?<![a-z0-9])(?:password|api[\s_-]?key|private[\s_-]?key|secret)s?(?![a-z0-9])")
# Design tokens, and files such as tokens.json and tokens.css, are none of them.
_TOKEN = re.compile(r"(?<![a-z0-9])(?:token|(?<!design[\s_-])tokens(?!\.(?:json|s?css|[jt]s)\b))(?![a-z0-9])")
# None that is issued begins with 000, 666 or 9 or has only zeros in a part (ssa.gov, on randomization). The look
# behind comes after the first digit, which keeps the search fast.
_SOCIAL_SECURITY_NUMBER = re.compile(
    r"[0-8](?<![\w-].)(?!00-|66-)[0-9]{2}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w-])"
)
# What makes "token" a credential; without one within reach it is a unit of text ("token budget").
_CREDENTIAL_NEARBY = re.compile(
    r"(?<![a-z0-9])(?:o?auth\w*|access|refresh|bearer|csrf|jwt|session|login|sign[\s-]?in|credentials?|rotat\w+"
    r"|revok\w+|expir\w+|leak\w*|api|id|personal|deploy|header|cookie|vault)(?![a-z0-9])"
)
_NEARBY_CHARACTERS = 40

_SENSITIVE_DIRECTORIES = frozenset({"auth", "secrets", "credentials", "keys"})
_PUBLIC_DIRECTORIES = frozenset({"public", "docs"})


def classify(
    content: str,
    *,
    paths: Sequence[str] = (),
    type: str = "note",
    masked: bool = False,
    strict_token_rule: bool = True,
    plain: bool = False,
) -> str:
    """Return the tier of a text; ``type`` is the memory's type, ``masked`` says that a secret was taken out,
    ``plain`` that the text is known to hold none of the words that the first two rules look for.

    ``strict_token_rule=False`` asks for a word such as access, OAuth or rotate near "token", because by the
    documented rule every talk about a token budget is confidential. Rule 3 yields what is the default anyway;
    it matters because it keeps a security decision under docs/ from being public.
    """
    if plain and not paths and not masked:
        return "internal"  # by rule 5, or by rule 3
    asked = demanded("" if plain else content, paths=paths, masked=masked, strict_token_rule=strict_token_rule)
    if asked:
        return asked.tier
    if not paths or (type.lower() == "decision" and _GOVERNANCE.search(content.lower())):
        return "internal"
    return "public" if all(map(_is_public_path, map(_parts, paths))) else "internal"


class Demand(NamedTuple):
    """A label above the default, and why. What it holds, unlike what it speaks of, nobody overrules."""

    tier: str
    why: str
    is_held: bool = False


def demanded(
    content: str, *, paths: Sequence[str] = (), masked: bool = False, strict_token_rule: bool = True
) -> Demand | None:
    """By the first two rules; None where neither says anything."""
    lowered = content.lower()
    if masked or "[masked:" in lowered:
        return Demand("restricted", "a secret was masked in it", is_held=True)
    if _SOCIAL_SECURITY_NUMBER.search(lowered):
        return Demand("restricted", "it holds what looks like a social security number", is_held=True)
    if word := _restricted_word(lowered):
        return Demand("restricted", f"it speaks of {word}")
    if path := next((path for path in paths if _is_sensitive_path(_parts(path))), None):
        return Demand("confidential", f"it is about {path}")
    if word := _confidential_word(lowered, strict_token_rule):
        return Demand("confidential", f"it speaks of {word}")
    return None


def holds_data(content: str, *, masked: bool = False) -> bool:
    """Whether a text holds what the strictest label is for, and does not only speak of it."""
    asked = demanded(content, masked=masked)
    return asked is not None and asked.is_held


def is_above(one: str, other: str) -> bool:
    """Whether the first of two tiers is the more restrictive."""
    return highest(one, other) != other


def highest(a: str, b: str) -> str:
    """Return the more restrictive of two tiers; a label that is missing or unknown counts as restricted."""
    return TIERS[max(_RANK.get(a, 3), _RANK.get(b, 3))]


_GOVERNANCE = re.compile(
    r"(?<![a-z0-9])(?:compliance|security|audits?|polic(?:y|ies)|sox|sr[\s-]?11-7|gdpr|hipaa)(?![a-z0-9])"
)


def _restricted_word(lowered: str) -> str | None:
    if not lowered or not any(hint in lowered for hint in _RESTRICTED_HINTS):
        return None
    word = _RESTRICTED.search(lowered)
    return word[0] if word else None


def _confidential_word(lowered: str, strict_token_rule: bool) -> str | None:
    if not lowered or not any(hint in lowered for hint in _CONFIDENTIAL_HINTS):
        return None
    word = _CONFIDENTIAL.search(lowered) or _credential_token(lowered, strict_token_rule)
    return word[0] if word else None


def _credential_token(lowered: str, strict_token_rule: bool) -> re.Match[str] | None:
    if strict_token_rule:
        return _TOKEN.search(lowered)
    for token in _TOKEN.finditer(lowered):
        near = lowered[max(0, token.start() - _NEARBY_CHARACTERS) : token.end() + _NEARBY_CHARACTERS]
        if _CREDENTIAL_NEARBY.search(near):
            return token
    return None


def _parts(path: str) -> list[str]:
    return path.lower().replace("\\", "/").split("/")


def _is_sensitive_path(parts: list[str]) -> bool:
    """Directories only: src/auth/login.py is sensitive, src/auth.py is not; `keys/` is a directory."""
    name = parts[-1]
    return name == ".env" or name.startswith(".env.") or not _SENSITIVE_DIRECTORIES.isdisjoint(parts[:-1])


def _is_public_path(parts: list[str]) -> bool:
    """Under public/ or docs/ of the project: `..` could lead out again, and /docs is not the project's."""
    rooted = parts[1:] if parts[0] == "." else parts
    return len(rooted) > 1 and rooted[0] in _PUBLIC_DIRECTORIES and ".." not in rooted
