r"""Find what is given to the name of a secret: ``password: x``, ``API_TOKEN="x"``, ``| password | x |``. Pure.

In: a text. Out: the spans of the values, without their names, quotes and brackets. A value is judged first and
measured afterwards: commas, brackets and ampersands may end it or belong to it, and half a password in clear is
still a leak. Linear time, as `redact.py` promises: for each name only a bounded stretch around it is read.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from clew.remember.looks import (
    PASSWORDS_ELSEWHERE,
    PRE_SHARED,
    compiled,
    could_be_secret,
    has_digit,
    is_jumbled,
    is_keylike,
    is_mixed,
    is_numbered,
    is_passphrase,
    is_strong,
    is_worded,
    looks_random,
    names_a_password,
)

# What a name of a secret contains; `pass` covers password, passwd, passphrase, Passwort and mot de passe.
NAME_WORDS = (
    "pass",
    "pwd",
    "pw",
    "psk",
    *PRE_SHARED,
    *PASSWORDS_ELSEWHERE,
    "secret",
    "token",
    "credential",
    "auth",
    "key",
)

# Two letters: a word or a part of a name by themselves, and what ldap.conf calls the password.
_PW = r"(?-i:(?<![A-Za-z0-9])(?:pw|PW|Pw)|(?<=[a-z])P[wW]|(?<=bind)pw)(?![A-Za-z])"
_PSK = rf"(?<![A-Za-z0-9])psk(?![A-Za-z])|(?:{'|'.join(PRE_SHARED)})[ _-]?(?:key|secret)"  # QPSK is a modulation
_TAILS = r"key|token|secret|value|plain|prod(?:uction)?|staging|dev|test|live|base(?:64)?|b64|admin|root|\d{1,3}"
_NAME = (
    rf"(?:pass(?:word|wd|phrase|code|wort|e)?|pwd|{_PW}|{_PSK}|{'|'.join(PASSWORDS_ELSEWHERE)}|secret|token|credentials?|auth|key)"
    rf"(?:[_.-]?(?:{_TAILS})){{0,3}}"
)
# An apostrophe within a word belongs to it: it's; but r'x' and b'x' are strings.
_APOSTROPHE = r"(?<=\w\w)'(?=\w)"
_BARE = rf"[^\s\"'`\\]{{1,200}}(?:{_APOSTROPHE}[^\s\"'`\\]{{1,200}}){{0,3}}"
_BARE_REST = rf"(?:[^\s\"'`\\]|{_APOSTROPHE})*+"
# A name with its separator, perhaps in the bold letters or the table of a Markdown file. The value is only looked
# at, so that a value judged harmless cannot hide a secret inside itself; 200 characters are enough to judge by,
# what follows them is taken afterwards.
_ASSIGNED = (
    rf"(?i:(?P<name>{_NAME})\\{{0,3}}[\"'`]?\]?(?:[*_]{{1,3}})?"
    # In a list of names with values: `- name: DB_PASSWORD` above `value: x`, `name="password" value="x"`.
    r"(?P<sep>(?:,\s{0,60}|\s{1,60})[\\\"']{0,4}value[\\\"']{0,4}\s{0,3}[:=]\s{0,3}"
    r"|(?::\s{0,3}[a-z_][\w.\[\]| ]{0,40}?)?\s{0,3}(?::=|={1,3}>?|!=)\s{0,3}"
    r"|\s{0,3}:(?:[*_]{1,3}(?=\s))?\s{0,3}(?:[|>][+-]?[ \t]{0,3}\r?\n[ \t]{1,40})?|>"
    r"|\s{1,3}(?:is|was|ist|war|lautet|est|es|é):?\s{1,3}"
    r"|[ \t]{0,40}\|[ \t]{0,40}|[ \t]{1,3}))"
    rf"(?=b?(?P<quote>\\{{0,3}}[\"'`])(?P<quoted>[^\n\"'`\\]{{0,200}})|(?P<bare>{_BARE}))"
)
# Alone these are everyday words: `bypass`, `sort key`, `auth`. They count in smtp_pass, api key, _auth.
_WEAK_NAME = r"(?i:(?:pass|pw|auth|key)(?![a-z]))"
_WEAK_BEFORE = (
    r"(?i:[_.-]pass|_auth|-(?:src|dest)?(?:store|key)pass"
    r"|(?:api|access|auth|account|private|secret|signing|encryption|master|shared|client|deploy)[_ -]?key|bind_?pw"
    r"|(?<![a-z])(?:ibm|iam|cloud|cloudant|clou|cl|softlayer|sl)[_-]?key)$"
)
_ALONE = r"(?i:(?<![a-z0-9])pass)$"
# Who it is: `user: ci pass: x`, `user ci, pass: x`; but `the login pass: x`.
_USER_BEFORE = (
    r"(?i:(?:^|[^a-z])(?:user(?:name)?|login|benutzer|usuario)\b"
    r"(?:[\"']?\s{0,2}[:=][^\n]{1,60}\n?[^\n]{0,20}|\s[\w.@+-]{1,40}\s?[,;/]\s{0,2}))$"
)
# What nobody would write behind such a name but a key: hexadecimal, or base32 as for one-time passwords.
_KEY_ALONE = r"(?=[^\d]{0,40}\d)(?:[0-9a-f]{32,128}|[A-Z2-7]{16,64})"
_KEY_BEFORE = r"(?i:(?:token|secret|(?:api|access|secret)[_ -]?key))$"
# Keys that everybody may see.
_OPEN_KEY = r"(?i:(?:pub|public|publishable|host|site|cache|sort|object)[_ -]?key)$"
# The id of the key that git signs with, as its command and its file call it.
_GIT_KEY = r"(?:(?i:user\.signingkey)|(?<![\w.-])signingkey)$"
_QUOTED_REST = r"[^\n\"'`\\]*+"
# Up to the quote it began with; the other quotes, and the same after a backslash, are inside.
_UNTIL = {quote: rf"(?:[^\n\\{quote}]|\\[\"'`])++(?={quote})" for quote in "\"'`"}
# What talk and messages have and passphrases have not: "must be at least 8 characters".
_SENTENCE = (
    r"(?i:\b(?:an?|the|is|are|was|be|been|must|may|can|should|will|not|no|at|for|from|in|of|on|or|to|and|with|your|you"
    r"|please|enter|see|use|try|set|wrong|least|characters?|letters?|digits?|chars)\b|[{}<>=:]"
    rf"|{'|'.join(NAME_WORDS)})"
)

_CALL = r"[A-Za-z_][\w.:>-]*+[(\[]"
_WORDY = r"[A-Za-z_.:/'-]+"
_PIECE_ENDS = r"[,;<>(){}\[\]&|]"
# Where a value ends for certain: before the next name of a list or a query, the next tag, the rest of a sentence.
_VALUE_ENDS = (
    r"[,;]+(?=[\s\"'`*]|\Z|[\w. \[\]-]{1,40}[=:])|&(?:amp;)?[\w.\[\]-]{1,40}=|&&|&(?=\s|\Z)|\|\||\|(?=\s|\Z)"
    r"|<(?=[/!A-Za-z])|>|\[masked:"
)
_EMPHASIS_BEFORE = r"(?:^|[\s(])[*_]{1,3}[\w .`-]{0,40}$"
_YAML_BEFORE = r"(?:^|\n)[ \t]*(?:[-*] )?[*_`]{0,3}[\w.-]{0,40}$"
# A Dockerfile, a shell, the settings of some tools, the words of ~/.netrc and of ldap.conf give a value without any
# sign.
_GIVEN_BEFORE = (
    r"(?:^|\n)[ \t]{0,20}(?:ENV|setenv|SetEnv|set -g?x)[ \t]{1,3}\w{0,40}$"
    r"|\b(?:git|p?npm|yarn)[ \t]{1,3}config(?:[ \t]{1,3}(?:set|--?[\w-]{1,20})){0,3}[ \t]{1,3}\S{0,80}$"
    r"|(?:^|[\s`'\"])(?:machine\s{1,9}\S{1,80}|default)\s{1,9}login\s{1,9}\S{1,80}\s{1,9}$"
    r"|(?:(?:^|\n)[ \t]{0,20}|\b[cdou]\w?=\S{1,80}\s{1,9})(?:root)?bind$"
)
# Talk that gives a password away without any sign of its own: behind what it is for or was set to, or right behind
# its name where the sentence has no other use for such a word.
_FOR_WHAT = r"\s{1,3}(?:for|of|on|at)(?:\s{1,3}[(\"'`]?[\w.@'-]{1,40}[)\"'`]?){1,5}?"
_SPOKEN_WAY = (
    rf"(?i:(?:\s{{1,3}}\([^()\n]{{1,40}}\)(?:{_FOR_WHAT})?|{_FOR_WHAT})"
    r"(?:\s{1,3}(?:is|was|=|->|→|[–—-])|\s{0,2}:)(?:\s{1,3}(?:now|still))?"
    r"|\s{1,3}(?:is|was)\s{1,3}(?:now|still|currently|just)"
    r"|(?:\s{1,3}(?:is|was|has\sbeen|got))?\s{1,3}(?:changed|set|reset|updated)\s{1,3}to|\s{1,3}(?P<to>to)"
    r"|\s{1,3}(?:->|→|[–—-]))\s{1,3}"
)
_SPOKEN_SET = r"(?i:\b(?:set|sets|setting|changed?|changes|reset|updated?|rotated?)\b[\w '’-]{0,30})$"
_SPOKEN_BEFORE = (
    r"(?i:(?:^|[\n.,;:(/-]|\b(?:the|my|our|your|his|her|their|its|and|with|use|using|this|temporary|default|initial|new"
    r"|old|admin|root|sudo|db|database|wifi|ssh|vpn|master|staging|prod|production|wrong|incorrect|invalid|bad|because\sof|due\sto"
    r"|das|dem|mein|unser))[ \t]{0,3})$"
)
_SPOKEN_AFTER = (
    r"(?i:[.,;:!?)\"'’*_]{0,3}(?:\s{0,3}$|\n|\s{1,3}(?:for|on|in|at|to|and|or|is|was|works?|worked|still|as|when|from|with|which"
    r"|that|until|because|being|so|if|but|everywhere|again|now|there|here|has|will|does|can|should|must|gets?|got)\b))"
)
_PHRASE_AFTER = r"(?i:[.!?)\"'’*_]{0,3}(?:\s{0,3}\Z|\n|\s{1,3}(?:and|but|for|on)\b)|[,;]|[.!?]{1,3}\s)"
_GIVEN_SIGNS = (":", "=", ":=")
_SPOKEN_QUOTED = r"\\{0,3}(?P<q>[\"'`])(?P<v>(?:(?!(?P=q))[^\n\\]){1,200})\\{0,3}(?P=q)"
_SENTENCE_ENDS = ".,;:"  # a password that ends so is rarer than a sentence that does
_MAY_END = "!?*_" + _SENTENCE_ENDS
_FARTHEST = 300  # characters from a name to the first digit of what is given to it in talk
# Other secrets, in talk and in the messages that refuse them: `token x has expired`, `API key provided: x`.
_KEY_WAY = r"(?i:(?:\s{1,3}(?:provided|supplied|given|used|sent|received))?:?\s{1,3}\(?)"
# What people say of passwords and has a digit: versions, lengths, tickets, paths, names of settings, systems and
# numbered things; ways to hash and to sign in, standards.
_SPOKEN_OF = (
    r"(?i:v?\d+(?:[._-]\d+)*+[a-z]?|\d+(?:\.\d+)?-?[a-z]+|[a-z]{2,10}-\d+|[a-z]*\d+-?(?:chars?|characters|digits?|letters|days?|bits?)"
    r"|[\w.-]+(?:/[\w.-]+)+|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,5}|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"
    rf"|\w*(?:{'|'.join(NAME_WORDS)})\w*_\w*|(?:[a-z]+[_-])*(?:python|node|java|php|mysql|postgres(?:ql)?|oracle|ubuntu"
    r"|debian|windows|django|ldap|saml|http|ipv|step|field|table|column|user|page|line|case|phase|option|type|level|section"
    r"|issue|ticket|policy|rule|host|server|db|u?int|float|char)[\d._-]+)"
)
_SPOKEN_TOPIC = (
    r"(?i:(?<![a-z0-9])(?:sha-?\d|md5|argon2|[bs]crypt|pbkdf2|hmac|aes-?\d|rsa-?\d|ed25519|x\.?509|oauth-?2|ntlm|utf-?\d"
    r"|base-?\d\d|rfc-?\d|cve-|iso-?\d|nist|fips|1password|log4j|[hr]s256))"
)

# Four to eight digits behind the name of a PIN. Those of a board have fewer, those of a package have dots.
_PIN_NAMES = ("pin", "passcode", "puk")
_PIN = (
    r"(?<![A-Za-z0-9])(?i:(?P<name>(?:pin|puk|passcode)(?:[ _-]?(?:code|number))?)(?![a-z])"
    r"(?:[\\\"'`*_\]]{0,4}\s{0,3}[:=]\s{0,3}"
    r"|(?:\s{1,3}(?:for|of|on|at)(?:\s{1,3}[\w.@'-]{1,40}){1,5}?)?(?:\s{1,3}(?:is|was)(?:\s{1,3}(?:now|still))?|\s{0,2}:):?\s{1,3}"
    r"|(?:\s{1,3}(?:is|was|has\sbeen|got))?\s{1,3}(?:changed|set|reset)\s{1,3}to\s{1,3}"
    r"|(?<=code|mber)\s{1,3}|(?<=(?-i:PIN|PUK))\s{1,3}))[\\\"'`*_]{0,4}"
    r"(?P<v>[0-9]{4,8})(?![\w%]|[.,:/-]\d|\s{0,2}(?:bytes|pages|[mk]?[vV]|k?[hH]z|ohms?)\b)"
)
# A board or a version has pins as well; a day is no PIN.
_OTHER_PIN = (
    r"(?i:\b(?:gpio|adc|dac|pwm|bcm|analog|digital|header|connector|socket|board|voltage|sensor|i2c|spi|uart|arduino|esp32"
    r"|versions?|packages?|dependenc(?:y|ies)|librar(?:y|ies)|toolchain|nightly|requirements|lock-?file|memory|pages?)\b)"
)
_DAY = r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"

Span = tuple[int, int]


def find_assigned(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of the values in order; ``lowered`` is the text in small letters, each at its old place."""
    at = 0
    for word in compiled("|".join(NAME_WORDS)).finditer(lowered):
        match = compiled(_ASSIGNED).match(text, word.start()) if word.start() >= at else None
        # The name first: a value may be measured to the end of the text, which a name that does not count must not
        # cost each time it stands there.
        if match is None or not _names_a_secret(match, text):
            continue
        span = _quoted_secret(match, text) if match["quote"] else _bare_secret(match, text)
        if span is None:
            span = _spoken_secret(match, text)
        if span is not None:
            yield span
            at = span[1]


def find_pins(text: str) -> Iterator[Span]:
    lowered = text.lower()
    if not any(name in lowered for name in _PIN_NAMES):
        return
    for match in compiled(_PIN).finditer(text):
        around = text[max(0, match.start() - 40) : match.start("v")]
        is_other = compiled(_OTHER_PIN).search(around) or compiled(_DAY).fullmatch(match["v"])
        # In India a PIN code is that of a post office.
        is_postal = len(match["v"]) == 6 and compiled(r"(?i:pin[ _-]?code)").fullmatch(match["name"])
        if not is_other and not is_postal:
            yield match.span("v")


def is_spoken_of(value: str) -> bool:
    """Whether it is one of the things with a digit that people say of passwords, and of anything else. What begins
    like a pointer is one."""
    if value[:2].lower() == "0x" and len(value) <= 18:
        return True
    return compiled(_SPOKEN_OF).fullmatch(value) is not None or compiled(_SPOKEN_TOPIC).search(value) is not None


def ends_with_a_name(word: str) -> bool:
    """Whether what follows a word of small letters could be given to a name that it ends with."""
    # Small letters do not tell whether `dbPw` was meant; no word of the language ends so.
    return word.endswith("pw") or compiled(rf"{_NAME}\Z").search(word) is not None


def _names_a_secret(match: re.Match[str], text: str) -> bool:
    weak = compiled(_WEAK_NAME).match(match["name"])
    if weak is None:
        return True
    called = _called(text[max(0, match.start() - 14) : match.start() + weak.end()])
    if called.is_of_git:
        return False
    if called.is_named or (called.is_closed_key and _is_random_key(match)):
        return True
    if weak[0].lower() == "pw":
        is_part = called.is_part and _is_setting(match)  # DB_PW
        return is_part or match["sep"].isspace() or _is_worded_password(match)
    return called.is_alone and _is_for_a_user(match, text)


class _Called(NamedTuple):
    """What an everyday word is by what stands before it."""

    is_of_git: bool
    is_named: bool  # smtp_pass
    is_closed_key: bool
    is_part: bool
    is_alone: bool


@lru_cache(maxsize=1_024)  # where such a word stands everywhere, mostly the same stands before it
def _called(until_name: str) -> _Called:
    lowered = until_name.lower()
    return _Called(
        compiled(_GIT_KEY).search(until_name) is not None,
        compiled(_WEAK_BEFORE).search(until_name) is not None,
        lowered.endswith("key") and compiled(_OPEN_KEY).search(until_name) is None,
        lowered.endswith("_pw"),
        compiled(_ALONE).search(until_name) is not None,
    )


def _is_worded_password(match: re.Match[str]) -> bool:
    value = (match["bare"] or match["quoted"]).rstrip(".,;:!?")
    return is_worded(value) and not is_numbered(value) and compiled(_SPOKEN_OF).fullmatch(value) is None


def _is_for_a_user(match: re.Match[str], text: str) -> bool:
    """`user=me pass=x1y2z3`: nobody talks without a space. Tests pass as well, but not with a sign, in quotes or
    behind a user."""
    if not _is_worded_password(match):
        return False
    if _is_glued(match) or is_strong(match["bare"] or ""):
        return True
    is_given = ":" in match["sep"] or "=" in match["sep"]
    before = text[max(0, match.start() - 90) : match.start()]
    return is_given and (match["bare"] is None or compiled(_USER_BEFORE).search(before) is not None)


def _is_random_key(match: re.Match[str]) -> bool:
    """Whatever key it is, 32 characters that nobody would make up are no column and no cache entry."""
    value = match["bare"] or match["quoted"]
    return len(value) >= 32 and looks_random(value)


# --- between quotes -------------------------------------------------------------------------------


def _quoted_secret(match: re.Match[str], text: str) -> Span | None:
    start, end = _quoted_span(match, text)
    value, name = text[start : min(end, start + 200)], match["name"]
    if not could_be_secret(name, value) or (" " in value and not _may_have_spaces(match, value)):
        return None
    if "|" in match["sep"] and not _is_cell(match, text, (start, end)):
        return None
    # `the password "hunter2"` and SQL's PASSWORD 'hunter2', but not `a token "field"`.
    if (match["sep"].isspace() or _is_prose(match)) and not is_mixed(value):
        return None
    return start, end


def _quoted_span(match: re.Match[str], text: str) -> Span:
    start, end = match.span("quoted")
    until = compiled(_UNTIL[match["quote"]]).match(text, start) if match["quote"] in _UNTIL else None
    if until is not None and until.end() > end and _is_quoted_word(until[0]):
        return until.span()
    rest = compiled(_QUOTED_REST).match(text, end)
    return start, rest.end() if rest else end


def _is_quoted_word(value: str) -> bool:
    """``it's-s3cret``; but what begins or ends with a quote is code: ``'"+pw1+"'``."""
    return " " not in value and value.strip("\"'`") == value and is_mixed(value)


def _may_have_spaces(match: re.Match[str], value: str) -> bool:
    name = match["name"].lower()
    if "phrase" in name:
        return True
    if not names_a_password(name) or match["sep"].isspace() or _is_prose(match):
        return False
    return (_is_setting(match) or has_digit(value)) and compiled(_SENTENCE).search(value) is None


# --- without quotes -------------------------------------------------------------------------------


def _bare_secret(match: re.Match[str], text: str) -> Span | None:
    name, bare, sep = match["name"], match["bare"], match["sep"]
    if sep.isspace() and not _is_flag(match, text):
        return _given_secret(match, text)
    if _is_prose(match) and not has_digit(bare):
        return None
    if sep == ">":
        return _tagged_secret(match, text)
    if sep.strip() == "|":
        return _cell_secret(match, text)
    if _is_setting(match) and not bare.endswith((")", "]", "(", "[")):
        return _whole_run(match, text) if could_be_secret(name, bare) else None
    if not _is_literal(match, text) and not _is_strong_password(match, text):
        return None
    end = _value_end(match, text)
    return _whole_run(match, text) if end == match.end("bare") else (match.start("bare"), end)


def _is_literal(match: re.Match[str], text: str) -> bool:
    """Whether the value up to the first sign that could end it is a literal by itself."""
    bare = match["bare"]
    # In code and prose brackets and commas end a value; in KEY=value lines they may belong to it.
    value = bare if _is_setting(match) else re.split(_PIECE_ENDS, bare, maxsplit=1)[0].rstrip(".:!?*_")
    if not could_be_secret(match["name"], value) or compiled(_CALL).match(bare):
        return False
    return _is_bare_literal(match, text, value)


def _is_strong_password(match: re.Match[str], text: str) -> bool:
    """Whether a value with all that could end it is a password: by its signs, or alone on its line by a digit."""
    is_given = ":" in match["sep"] or _is_glued(match)
    if not is_given or not names_a_password(match["name"]) or not has_digit(match["bare"]):
        return False
    whole = text[match.start("bare") : _value_end(match, text)]
    if not could_be_secret("pass", whole) or _is_call(match, text):
        return False
    return is_strong(whole) or (has_digit(whole) and _is_yaml_line(match, text, match.end("bare")))


def _value_end(match: re.Match[str], text: str) -> int:
    """Where the value ends that may have commas, brackets and ampersands inside."""
    start, end = match.span("bare")
    if _is_setting(match):
        return end
    sure = compiled(_VALUE_ENDS).search(text[start : end + 40])
    value = match["bare"][: sure.start() if sure else None]
    value = value[: _first_unmatched(value)].rstrip(_SENTENCE_ENDS)
    return start + len(_without_emphasis(value, text, match.start()))


def _without_emphasis(value: str, text: str, at: int) -> str:
    """Without the signs that end the bold letters begun before this place."""
    is_bold = compiled(_EMPHASIS_BEFORE).search(text[max(0, at - 45) : at])
    return value.rstrip("*_") if is_bold else value


def _first_unmatched(value: str) -> int:
    """The place of the first closing bracket that was opened before the value."""
    depth = 0
    for at, character in enumerate(value):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if depth < 0:
            return at
    return len(value)


def _is_call(match: re.Match[str], text: str) -> bool:
    """``make(a1, b)``; a password with a bracket inside does not close it on its line, or goes on behind it."""
    call = compiled(_CALL).match(match["bare"])
    if call is None:
        return False
    opened = match.start("bare") + call.end()
    line = text[opened : opened + 200].partition("\n")[0]
    close = re.search(r"[)\]]", line)
    if close is None:
        return match["bare"].endswith((",", "(", "[", "{"))
    return re.match(r"\w|[!@#$](?!=)", line[close.end() :]) is None


def _whole_run(match: re.Match[str], text: str) -> Span:
    start, end = match.span("bare")
    rest = compiled(_BARE_REST).match(text, end)
    return start, rest.end() if rest else end


def _is_bare_literal(match: re.Match[str], text: str, value: str) -> bool:
    """Whether an unquoted value is a literal and not a word of prose, a type or another variable."""
    if _is_prose(match):
        return has_digit(value)
    if compiled(_WORDY).fullmatch(value) is None:
        return True
    is_variable = "." in value or ("_" in value and any(word in value.lower() for word in NAME_WORDS))
    after = match.start("bare") + len(value)
    return (_is_glued(match) and not is_variable) or _is_flag(match, text) or _is_yaml_line(match, text, after)


def _is_glued(match: re.Match[str]) -> bool:
    return "=" in match["sep"] and not any(map(str.isspace, match["sep"]))


def _is_setting(match: re.Match[str]) -> bool:
    return _is_glued(match) and match["name"].isupper()


def _is_prose(match: re.Match[str]) -> bool:
    return match["sep"].strip(" \t\n:").isalpha() and not _is_listed(match)


def _is_listed(match: re.Match[str]) -> bool:
    return "value" in match["sep"].lower()


def _is_flag(match: re.Match[str], text: str) -> bool:
    first = max(0, match.start() - 40)
    if text.find("-", first, match.start()) < 0:
        return False
    return re.search(r"(?:^|[\s\"'])--?[\w-]*$", text[first : match.start()]) is not None


def _is_yaml_line(match: re.Match[str], text: str, after: int) -> bool:
    """``password: letters`` alone on its line is a setting; within a sentence it is talk."""
    if not names_a_password(match["name"]) or "=" in match["sep"] or not _ends_line(text, after):
        return False
    if _is_listed(match):
        return True
    before = text[max(0, match.start() - 60) : match.start()]
    return re.search(_YAML_BEFORE, before) is not None


def _ends_line(text: str, at: int) -> bool:
    return text[at : at + 1] in ("", "\n", "\r")


# --- by its place alone ---------------------------------------------------------------------------


def _given_secret(match: re.Match[str], text: str) -> Span | None:
    """After a space: in ``ENV DB_PASSWORD x`` and ``machine h login me password x``, not in two words of prose."""
    if not _ends_line(text, match.end("bare")) and not has_digit(match["bare"]):
        return None
    before = text[max(0, match.start() - 200) : match.start()]
    if not could_be_secret(match["name"], match["bare"]) or compiled(_GIVEN_BEFORE).search(before) is None:
        return None
    return _whole_run(match, text)


def _spoken_secret(match: re.Match[str], text: str) -> Span | None:
    """``the password for staging is x1y2z3``, ``use the password x1y2z3 for it``; with a letter and a digit."""
    if not names_a_password(match["name"]):
        return _key_alone(match, text) or _spoken_key(match, text)
    way = compiled(_SPOKEN_WAY).match(text, match.end("name"))
    if way is not None and way["to"]:  # set to; but `move the password to vault2`
        is_set = compiled(_SPOKEN_SET).search(text[max(0, match.start() - 40) : match.start()])
        way = way if is_set else None
    if way is not None and (span := _spoken_span(text, way.end(), match["name"]) or _phrase_span(text, way.end())):
        return span
    if match["bare"] and (_is_prose(match) or match["sep"].strip() in _GIVEN_SIGNS):
        return _phrase_span(text, match.start("bare"))
    space = compiled(r"[ \t]{1,3}").match(text, match.end("name"))
    span = _spoken_span(text, space.end(), match["name"]) if space else None
    return span if span and (is_jumbled(text[slice(*span)]) or _is_named_so(text, match.start(), span[1])) else None


def _phrase_span(text: str, start: int) -> Span | None:
    """``the password of the office is correct-horse-battery``; not what goes on, as an adjective does."""
    words = compiled(r"(?P<v>[A-Za-z-]{14,200}+)[!?]*+").match(text, start)
    if words is None or not is_passphrase(words["v"]) or not compiled(_PHRASE_AFTER).match(text, words.end("v")):
        return None
    return words.span()


def _spoken_key(match: re.Match[str], text: str) -> Span | None:
    """By what no name looks like: nobody says such a word behind `token` but of the token itself."""
    name_end = match.end("name")
    if compiled("[0-9]").search(text, name_end, name_end + _FARTHEST) is None:
        return None
    for ways in (_SPOKEN_WAY, _KEY_WAY):
        way = compiled(ways).match(text, name_end)
        span = _spoken_span(text, way.end(), match["name"]) if way else None
        if span and (is_jumbled(text[slice(*span)]) or _is_key_said(match, text, span)):
            return span
    return None


def _is_key_said(match: re.Match[str], text: str, span: Span) -> bool:
    before = text[max(0, match.start() - 14) : match.end("name")]
    is_key = compiled(_KEY_BEFORE).search(before) is not None
    return is_key and compiled(_KEY_ALONE).fullmatch(text[slice(*span)]) is not None


def _key_alone(match: re.Match[str], text: str) -> Span | None:
    key = compiled(_KEY_ALONE).match(match["bare"] or "") if match["sep"].isspace() else None
    before = text[max(0, match.start() - 14) : match.end("name")]
    if key is None or compiled(_KEY_BEFORE).search(before) is None or match["bare"][key.end() :].strip(".,;:!?)*_"):
        return None
    return match.start("bare"), match.start("bare") + key.end()


def _spoken_span(text: str, start: int, name: str) -> Span | None:
    quoted = compiled(_SPOKEN_QUOTED).match(text, start)
    if quoted is not None:
        is_said = _is_said(quoted["v"], name) or is_passphrase(quoted["v"])
        return quoted.span("v") if is_said and _may_be_spaced(quoted["v"]) else None
    bare = compiled(_BARE).match(text, start)
    value = bare[0][: _first_unmatched(bare[0])].rstrip(_SENTENCE_ENDS) if bare else ""
    value = _without_emphasis(value, text, start)
    # Judged without what may end a sentence or belong to it, and masked with it.
    return (start, start + len(value)) if _is_said(value.rstrip(_MAY_END), name) else None


def _is_said(value: str, name: str) -> bool:
    if not is_worded(value) or not could_be_secret(name, value):
        return False
    return not is_spoken_of(value) and not compiled(_CALL).match(value)


def _may_be_spaced(value: str) -> bool:
    return " " not in value or compiled(_SENTENCE).search(value) is None


def _is_named_so(text: str, name_at: int, value_end: int) -> bool:
    before, after = text[max(0, name_at - 20) : name_at], text[value_end : value_end + 20]
    return compiled(_SPOKEN_BEFORE).search(before) is not None and compiled(_SPOKEN_AFTER).match(after) is not None


def _tagged_secret(match: re.Match[str], text: str) -> Span | None:
    start = match.start("bare")
    end = start + len(match["bare"].partition("<")[0])
    if not text.startswith("</", end) or not could_be_secret(match["name"], text[start:end]):
        return None
    return start, end


def _cell_secret(match: re.Match[str], text: str) -> Span | None:
    start = match.start("bare")
    end = start + len(match["bare"].partition("|")[0].rstrip("*_"))
    if not could_be_secret(match["name"], text[start:end]) or compiled(_CALL).match(match["bare"]):
        return None
    return (start, end) if _is_cell(match, text, (start, end)) else None


def _is_cell(match: re.Match[str], text: str, span: Span) -> bool:
    """Whether a value fills a cell of a table. Most such tables tell types, so it has to look like a secret."""
    row = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
    behind = text[span[1] : span[1] + 60].lstrip(" \t*_`\"'")
    if not row.lstrip().startswith("|") or not behind.startswith("|"):
        return False
    value = text[slice(*span)]
    if names_a_password(match["name"]):
        return len(value) >= 8 and has_digit(value) and any(map(str.isalpha, value))
    return looks_random(value) or (len(value) >= 20 and is_keylike(value))
