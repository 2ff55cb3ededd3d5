"""What a value looks like: a word, a variable, a placeholder, or something nobody would make up. Pure.

In: a string that stands where a secret could stand. Out: what speaks for one and what speaks against it. The rules
that find such strings are in `redact.py` and `assigned.py`.
"""

import math
import re
from collections import Counter
from functools import cache, lru_cache

# What stands for a secret without being one: a variable, a template, a lookup in the environment, a mask.
_VARIABLE = (
    r"\$[{(A-Za-z_]|[{<\[]|&(?:lt|#60|#[xX]3[cC]);|%[({A-Z_a-z]|\*{3}|x{3}|X{3}|\.{3}|…"
    r"|(?:os\.|process\.|import\.meta\.|std::|System\.)?(?:get)?env(?:iron)?\b|ENV\b"
    r"|(?:op|ref\+\w+|vault|arn|file|https?):"
)
# "changeme" and its like stay readable: they give nothing away, and "the default is still changeme" is worth
# remembering. The rest are the types and words that follow a name in code and in forms, and ways to hash.
_PLACEHOLDER = (
    r"(?i:(?:your|insert|enter|replace)[_ -].*|(?:my|some|the)[_ -][^\d]*|change[_-]?(?:me|it|this)|placeholder"
    r"|hidden|none|null|nil|undefined|true|false|todo|tbd|dummy|example|sample|empty|missing|invalid|expired|unset"
    r"|str|string|text|bytes|any|object|bool(?:ean)?|int(?:eger)?|number|secretstr|(?:var)?char(?:\(\d{1,5}\))?"
    r"|field|input|required|optional|default|enabled|disabled|unknown|self|this|not|and|or|if|else|await|async|new|return"
    r"|argon2(?:id|i|d)?|[bs]crypt|pbkdf2|sha-?\d{1,3}|md5|base64|scram-sha-\d{1,3}|oauth-?2?)"
)
# A name of a secret used as a value: password=password, token: "access_token", key = refresh_token2.
_NAMELIKE = (
    r"(?i:(?:pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|keys?|api|access|auth|refresh|bearer|client|private|public|csrf|id|db"
    r"|user(?:name)?|name|hash|new|old|raw|type|header|value|field|config|settings|self|cls|args|env|get|load|read|data)"
    r"[\d_.-]*+)++"
)
_NUMBERED = r"(?:[a-z]+-)++v?\d{1,3}"
_PATH = r"(?:~|\.{1,2})?/[\w./-]+"
# What a password is called where it is not called so, in letters that have spaces between words.
PASSWORDS_ELSEWHERE = (
    "kennwort", "contraseña", "senha", "wachtwoord", "пароль", "hasło", "heslo", "lösenord", "şifre",
)  # fmt: skip
PRE_SHARED = ("pre-shared", "preshared")  # before `key`; its short form is PSK
_OF_ADJECTIVES = frozenset(
    "only with from over than that this wide well free less like once time read case term long never always must "
    "pass secret token auth".split()
)
_ENDS_ADJECTIVE = ("ed", "ly", "able", "ible", "ing", "word", "key")
_STRONG_SIGNS = frozenset("!@#$%^&~")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    # On first use: compiling the whole table takes longer than importing the module may.
    return re.compile(pattern)


def has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def is_mixed(value: str) -> bool:
    """Digits, or capitals inside: what random keys have and words, slugs and CONSTANTS lack."""
    has_lower = any(map(str.islower, value))
    return has_digit(value) or (has_lower and any(map(str.isupper, value[1:])))


def is_keylike(value: str) -> bool:
    return has_digit(value) and any(map(str.isupper, value))


def is_strong(value: str) -> bool:
    """What a form asks of a new password: eight characters with a letter, a digit and a sign."""
    return (
        len(value) >= 8
        and has_digit(value)
        and any(map(str.isalpha, value))
        and not _STRONG_SIGNS.isdisjoint(value)
    )


def is_variable(value: str) -> bool:
    return compiled(_VARIABLE).match(value) is not None


@lru_cache(maxsize=1_024)  # of names, which are few
def names_a_password(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in ("pass", "pw", "psk", *PRE_SHARED, *PASSWORDS_ELSEWHERE))


def is_worded(value: str) -> bool:
    """Six characters with a letter and a digit."""
    return len(value) >= 6 and has_digit(value) and any(map(str.isalpha, value))


def is_numbered(value: str) -> bool:
    """One of several things of a name: replica-2, chromium-v2."""
    return compiled(_NUMBERED).fullmatch(value) is not None


def is_jumbled(value: str) -> bool:
    """Letters and digits in an order that nobody would say. Names change between them seldom and have words in them
    (`oauth2Client`, `users_2024`): in its longest piece a run of one sort, where a capital begins one, has at most
    2.5 characters on average and no six letters. In one case, as numbered names are, more is asked.
    """
    piece = max(re.split(r"[^A-Za-z0-9]", value), key=len)
    runs = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", piece)
    numbers = sum(map(str.isdigit, runs))
    if len(piece) < 8 or not 0 < numbers < len(runs) or 5 * len(runs) < 2 * len(piece):
        return False
    if any(len(run) >= 6 and run.isalpha() for run in runs):
        return False
    in_both_cases = piece.lower() != piece != piece.upper()
    return in_both_cases or (numbers >= 2 and len(piece) >= 10 and piece == value)


def is_passphrase(value: str) -> bool:
    """Words joined to a password: correct-horse-battery. Not `end-to-end` nor `long-since-expired`."""
    parts = value.lower().split("-")
    return len(parts) >= 3 and all(
        4 <= len(part) <= 20
        and part.isalpha()
        and part not in _OF_ADJECTIVES
        and not part.endswith(_ENDS_ADJECTIVE)
        for part in parts
    )


def could_be_secret(name: str, value: str) -> bool:
    is_password = names_a_password(name)
    if len(value) < (4 if is_password else 8) or (value.isdigit() and not is_password):
        return False
    return (
        not is_variable(value)
        and compiled(_PLACEHOLDER).fullmatch(value) is None
        and compiled(_NAMELIKE).fullmatch(value) is None
        and (compiled(_PATH).fullmatch(value) is None or looks_random(value))
    )


def looks_random(value: str) -> bool:
    """Whether the longest piece is a mixture that names, paths, hashes (one case) and ids (one case) are not.

    3.5 bits per character separate 16 random characters of base64 (3.7 to 4.0) from names with numbers.
    """
    if len(value) > 512 or value.islower() or value.isupper() or value.lower().startswith("sha"):
        return False  # in one case as a whole; an embedded file, or a checksum such as sha512-...
    piece = max(re.split(r"[^A-Za-z0-9]", value), key=len)
    if len(piece) < 16 or len(re.findall(r"\d+", piece)) < 2 or piece.upper() == piece or piece.lower() == piece:
        return False
    counts = Counter(piece).values()
    return -sum(count / len(piece) * math.log2(count / len(piece)) for count in counts) >= 3.5
