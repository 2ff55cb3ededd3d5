"""Take secrets and private passages out of a text before anything is stored, indexed or logged.

In: any text. Out: the text without its ``<private>`` spans, each secret replaced by ``[masked:KIND]``.
Nothing is kept; running it twice changes nothing; a text without secrets comes back as the same object.
Why this is an own rule table and not a library: docs/adr/0005-secret-masking.md.

What is given to a name is found in `assigned.py`, what commands take in `command_lines.py`; what a value looks like
is told in `looks.py`. A value that was masked once is masked wherever else it stands, by `again.py`.

INVARIANT: linear time on any input. Each pattern here fails after a bounded number of characters, or consumes
what it matched, or can start only once per run of its own characters. A new rule needs a line in the hostile
table of test_redact.py. INVARIANT: no KIND contains a word that the rules look for (token, secret, password),
so that a marker never makes its neighbours look suspicious.
"""

import re
from binascii import a2b_base64
from collections.abc import Iterable
from functools import cache

from clew.remember.again import Found, mask_again
from clew.remember.assigned import NAME_WORDS, find_assigned, find_pins, is_spoken_of
from clew.remember.command_lines import COMMAND_RULES, Rule, is_not_a_variable
from clew.remember.looks import (
    compiled,
    could_be_secret,
    has_digit,
    is_jumbled,
    is_keylike,
    is_mixed,
    is_numbered,
    is_strong,
    is_variable,
    is_worded,
    looks_random,
)
from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class Redacted:
    """What is left to store, the sorted kinds of secrets masked in it, the number of private spans cut."""

    text: str
    kinds: tuple[str, ...]
    private_spans: int


def redact(text: str, *, keep_lines: bool = False) -> Redacted:
    """Return the text as it may be stored; clean text costs a few substring searches.

    With ``keep_lines`` the line ends of what is taken out stay, so that what follows keeps its line number.
    """
    return _redacted(text, {}, keep_lines)


def redact_together(texts: Iterable[str]) -> list[Redacted]:
    """Texts that tell of the same thing: what was masked in one of them is masked in all."""
    each = [(text, Found()) for text in texts]
    alone = [_redacted(text, found, keep_lines=False) for text, found in each]
    all_found = {secret: None for _text, found in each for secret in found}
    if not all_found:
        return alone
    return [_with_others(one, found, all_found) for one, (_text, found) in zip(alone, each, strict=True)]


def _with_others(alone: Redacted, found: Found, others: Found) -> Redacted:
    text = mask_again(alone.text, others, found)
    again = _redacted(text, found, keep_lines=False)  # what was masked may have uncovered something
    return Redacted(again.text, again.kinds, alone.private_spans + again.private_spans)


def _redacted(text: str, found: Found, keep_lines: bool) -> Redacted:
    text, private_spans = _cut_private(text, keep_lines)
    # Masking one secret can uncover the border of the next, hence a second look; four passes are a safety
    # limit against text built to uncover one secret per pass.
    for _ in range(4):
        masked = _mask_once(text, found, keep_lines)
        if found:
            masked = mask_again(masked, found, found)
        if masked == text:
            break
        text = masked
    return Redacted(text, tuple(sorted({kind for kind, _value in found})) if found else (), private_spans)


def _mask_once(text: str, found: Found, keep_lines: bool) -> str:
    # Plain substring searches are the cheapest prefilter there is. Keys with a prefix are long words; prose
    # has hardly any of 20 characters, and where there are some only those need searching.
    long_words = " ".join([word for word in text.split() if len(word) >= SHORTEST_PREFIXED])
    if long_words:
        for rule in dict.fromkeys([_PREFIXED[prefix] for prefix in _PREFIXES if prefix in long_words]):
            text = _apply(rule, text, found)
    lowered = _lowered(text)
    hints = [hint for hint in HINTS if hint in lowered]
    if hints:
        text = _mask_hinted(text, hints, found, has_long_words=bool(long_words), keep_lines=keep_lines)
    return text if _FOUR_DIGITS.search(text) is None else _mask_numbers(text, found)


def _mask_hinted(text: str, hints: list[str], found: Found, *, has_long_words: bool, keep_lines: bool) -> str:
    for rule in dict.fromkeys([_PHRASED[hint] for hint in hints if hint in _PHRASED]):
        text = _apply(rule, text, found, keep_lines=keep_lines)  # no other secret has more than one line
    if hints[-1] not in NAME_WORDS:
        return text
    text = _mask_spans(text, find_assigned(text, _lowered(text)), found)
    return _mask_random(text, found) if has_long_words else text


def _mask_numbers(text: str, found: Found) -> str:
    text = _mask_spans(text, find_pins(text), found)
    # Before cards: groups of its digits could be one. In small letters only where the text speaks of one.
    is_told = "iban" in text or "IBAN" in text
    if is_told or _IBAN_LIKE.search(text) is not None:
        text = _apply(_iban_rule(in_any_case=is_told), text, found)
    return text if _CARD_LIKE.search(text) is None else _apply(_CARD, text, found)


def _lowered(text: str) -> str:
    """Lower case with every character at its old place; ``str.lower`` makes two of a dotted capital I."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join([c.lower() if c.isascii() else c for c in text])


# --- private spans --------------------------------------------------------------------------------

_TAG_SIGNS = "<＜﹤"  # whoever normalises a text reads them alike
# What nobody sees may stand anywhere in a tag: controls, joiners, fillers, directions, variation selectors.
_UNSEEN = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef"
)
_LETTERS = "".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}][{_UNSEEN}]*+" for letter in "private")
_PRIVATE_TAG = (
    rf"(?i)[{_TAG_SIGNS}][\s{_UNSEEN}]*+([/／]?)[\s{_UNSEEN}]*+{_LETTERS}"
    rf"(?:\s[^<>＜＞﹤﹥]*+|[/／][\s{_UNSEEN}]*+)?[>＞﹥]"
)


def _cut_private(text: str, keep_lines: bool) -> tuple[str, int]:
    """Cut ``<private>`` spans: nested ones with the outermost, an unclosed one to the end of the text, one whose
    beginning is missing from the beginning of the text."""
    if not any(sign in text for sign in _TAG_SIGNS) or compiled(_PRIVATE_TAG).search(text) is None:
        return text, 0
    kept, spans = _outside_private(text, keep_lines)
    # Cutting can join two halves into a new tag (`<pri<private></private>vate>`). Nobody writes that by
    # accident, so its other end counts as missing.
    rejoined = list(compiled(_PRIVATE_TAG).finditer(kept))
    end = next((tag.start() for tag in rejoined if not tag[1]), len(kept))
    start = max((tag.end() for tag in rejoined if tag[1] and tag.end() <= end), default=0)
    return kept[start:end], spans + bool(rejoined)


def _outside_private(text: str, keep_lines: bool) -> tuple[str, int]:
    kept, depth, spans, at, begins = list[str](), 0, 0, 0, 0
    for tag in compiled(_PRIVATE_TAG).finditer(text):
        if not tag[1]:
            if depth == 0:
                kept.append(text[at : tag.start()])
                at = tag.start()
                spans += 1
            depth += 1
        elif depth:
            depth -= 1
            if keep_lines:
                kept.append("\n" * text.count("\n", at, tag.end()))
            at = tag.end()
        else:
            kept.clear()
            begins = at = tag.end()
            spans += 1
    if depth == 0:
        kept.append(text[at:])
    lines = "\n" * text.count("\n", 0, begins) if keep_lines else ""
    return lines + "".join(kept), spans


# --- keys with a known shape ----------------------------------------------------------------------


def _apply(rule: Rule, text: str, found: Found, *, keep_lines: bool = False) -> str:
    def mask(match: re.Match[str]) -> str:
        start, end = match.span("v" if "v" in match.re.groupindex else 0)
        value = text[start:end]
        if value.startswith("[masked:") or (rule.is_secret is not None and not rule.is_secret(value)):
            return match[0]
        found[rule.kind, value] = None
        lines = "\n" * value.count("\n") if keep_lines else ""
        return f"{text[match.start() : start]}[masked:{rule.kind}]{lines}{text[end : match.end()]}"

    return compiled(rule.pattern).sub(mask, text)


def _is_telegram(value: str) -> bool:
    return is_mixed(value.partition(":")[2])


def _is_sk(value: str) -> bool:
    """Others than OpenAI begin with sk- as well; DeepSeek goes on in small letters, but without a hyphen."""
    return is_keylike(value) or (has_digit(value) and compiled(r"sk-[0-9a-z]{32,}").fullmatch(value) is not None)


def _is_discord(value: str) -> bool:
    return all(map(is_mixed, value.split(".")))


def _is_unspaced_password(value: str) -> bool:
    return has_digit(value) and could_be_secret("pass", value)


def _is_password(value: str) -> bool:
    return could_be_secret("pass", value) and not is_numbered(value)


def _is_told_password(value: str) -> bool:
    """With a sign that neither an address nor a place in a file has, or in an order that nobody would say."""
    if is_jumbled(value):
        return True
    return is_strong(value) and re.search(r"[!$%^&~]|#(?!L\d)", value) is not None and not is_variable(value)


def _is_said_password(value: str) -> bool:
    value = value.rstrip(".!?")
    return is_worded(value) and _is_password(value) and not is_spoken_of(value)


def _is_wallet(value: str) -> bool:
    """Not a sentence, nor one of the phrases that everybody tests with, which repeat one word."""
    words = value.replace(",", " ").split()
    return len(set(words)) > len(words) / 2 and _NO_WALLET.isdisjoint(words)


def _is_login(value: str) -> bool:
    """A name and a password in base64; letters that decode to anything else are a word."""
    try:
        login = a2b_base64(value).decode()
    except ValueError:
        return False
    return ":" in login and login.isprintable()


def _is_cookie(value: str) -> bool:
    """The values of one or more pairs, without the name of the first."""
    first, *others = value.split(";")
    values = (first, *(pair.partition("=")[2] for pair in others))
    return any(could_be_secret("cookie", one) and _names_a_session(one) for one in values)


def _names_a_session(value: str) -> bool:
    """Nobody would make it up: a long piece with capitals and digits, or with digits in several places, or a UUID.
    A language, a plan, a version and a consent are none."""
    piece = max(re.split(r"[^A-Za-z0-9]", value), key=len)
    if len(piece) >= 12 and is_keylike(piece) and any(map(str.islower, piece)):
        return True
    is_long = len(piece) >= 16 and not piece.isdigit() and len(re.findall(r"\d+", piece)) >= 2
    return is_long or compiled(_UUID).search(value) is not None


def _is_card(value: str) -> bool:
    """The Luhn sum, ISO/IEC 7812-1 annex B."""
    digits = [int(character) for character in reversed(value) if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(value: str) -> bool:
    """ISO 7064 mod 97-10 over the number with its first four characters at the end, letters as 10 to 35."""
    signs = "".join(sign for sign in value if sign.isalnum())
    return int("".join(str(int(sign, 36)) for sign in signs[4:] + signs[:4])) % 97 == 1


_NO_WALLET = frozenset(
    "the and for are was with from not has had its our were than into for each shows which".split()
)
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# A key starts after a character that cannot belong to it, an escape such as \n in JSON, or %3D in a URL.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_RUN_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_WORD_END = r"(?![A-Za-z0-9])"


def _begins(prefix: str) -> str:
    """The same for a prefix that everyday words have inside: looked behind after it, the search stays fast."""
    return rf"{prefix}(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-Fa-f]{{2}}{prefix}))"


# The body of a PEM block that lost its END line: base64 and armour headers, real or escaped newlines.
_PEM_BODY = r"(?:(?:\s|\\{1,4}[nr])*+(?:[A-Za-z0-9+/=]{16,}+|[A-Z][A-Za-z-]{2,19}: [^\n]{1,80}+\n))*+"
_PEM = (
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    # Up to the next END, but not over another BEGIN: that one is a block of its own.
    rf"(?:(?:[^-]|-(?!---))*+-{{4,5}} ?END [A-Z0-9 ]{{1,60}}-{{4,5}}|{_PEM_BODY})"
)

_PASSWORDS_UNSPACED = ("密码", "密碼", "口令", "パスワード", "비밀번호")
_GITLAB_USES = ("pat", "oas", "dt", "rt", "rtr", "cbt", "ptt", "ft", "imt", "agent", "soat", "ffct", "wt")

SHORTEST_PREFIXED = 20  # characters of a word that a key with a prefix may be
# Needles of these are case-sensitive prefixes inside such a word.
_PREFIX_RULES = (
    Rule("aws-id", ("AKIA", "ASIA", "ABIA", "ACCA"), rf"{_START}A(?:KI|SI|BI|CC)A[A-Z0-9]{{16}}{_WORD_END}"),
    Rule("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,}}"),
    Rule("github", ("github_pat_",), rf"{_START}github_pat_[A-Za-z0-9_]{{36,}}"),
    Rule(
        "gitlab",
        # Feeds, runners, jobs, agents and the like: docs.gitlab.com/security/tokens, "Token prefixes".
        tuple(f"gl{use}-" for use in _GITLAB_USES),
        rf"{_START}gl(?:{'|'.join(_GITLAB_USES)})-[\w-]{{20,}}+(?:\.[\w-]++)*+",
        is_mixed,
    ),
    Rule("slack", ("xox", "xapp-"), rf"{_START}(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{{10,}}", is_mixed),
    Rule(
        "slack",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<v>[\w/+-]{20,})",
    ),
    Rule("discord", ("/api/webhooks/",), r"/api/webhooks/(?P<v>\d{10,20}/[\w-]{40,})"),
    Rule("stripe", ("k_live_", "k_test_"), rf"{_START}[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}}"),
    Rule("stripe", ("whsec_",), rf"{_START}whsec_[A-Za-z0-9+/]{{24,}}={{0,2}}"),
    Rule("google", ("AIza",), rf"{_START}AIza[\w-]{{35}}(?![\w-])"),
    Rule("google", ("GOCSPX-", "ya29."), rf"{_START}(?:GOCSPX-|ya29\.)[\w-]{{20,}}"),
    Rule("google", ("1//0",), rf"{_START}1//0[\w-]{{30,}}", is_keylike),
    Rule("openrouter", ("sk-or-v1-",), rf"{_START}sk-or-v1-[0-9a-f]{{64}}{_WORD_END}"),
    Rule("anthropic", ("sk-ant-",), rf"{_START}sk-ant-[\w-]{{16,}}", is_mixed),
    Rule("openai", ("sk-",), rf"{_START}sk-(?!ant-)[\w-]{{20,}}", _is_sk),
    Rule("clew", ("clew_",), rf"{_START}clew_(?:[0-9a-z]{{26}}|local)_[\w-]{{43}}"),
    Rule("huggingface", ("hf_",), rf"{_START}hf_[A-Za-z0-9]{{30,}}"),
    Rule("npm", ("npm_",), rf"{_START}npm_[A-Za-z0-9]{{36,}}"),
    Rule("pypi", ("pypi-AgE",), rf"{_START}pypi-AgE[\w-]{{40,}}"),
    Rule("sendgrid", ("SG.",), rf"{_START}SG\.[\w-]{{16,32}}\.[\w-]{{32,}}"),
    Rule("twilio", ("SK", "AC"), rf"{_START}(?:SK|AC)[0-9a-f]{{32}}{_WORD_END}"),
    Rule("mailgun", ("key-",), rf"{_RUN_START}key-[0-9a-f]{{32}}{_WORD_END}"),
    Rule("digitalocean", ("_v1_",), rf"{_START}do[opr]_v1_[0-9a-f]{{64}}{_WORD_END}"),
    Rule(
        "azure",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,}={0,2})",
    ),
    # The signature of a shared access URL, 32 bytes of base64, mostly percent-encoded.
    Rule("azure", ("sig=",), r"(?<![A-Za-z0-9_])sig=(?P<v>[A-Za-z0-9%+/_-]{40,}={0,2})", is_keylike),
    # The signatures of addresses that let in whoever has them.
    Rule("aws", ("X-Amz-Signature=",), r"X-Amz-Signature=(?P<v>[0-9a-f]{64})"),
    Rule("google", ("X-Goog-Signature=",), r"X-Goog-Signature=(?P<v>[0-9a-f]{64,})"),
    # A private key in base64, as Kubernetes and many variables hold it: a certificate begins alike and goes on in
    # another way.
    Rule(
        "pem",
        ("LS0tLS1CRUdJTiB",),
        rf"{_START}LS0tLS1CRUdJTiB(?:SU0EgUF|QUklW|FQyBQUk|FTkNSWVBURU|PUEVOU1NI|EU0EgUF|QR1AgUF)[A-Za-z0-9+/]{{20,}}+={{0,2}}",
    ),
    Rule("vault", ("hvs.", "hvb."), rf"{_START}hv[sb]\.[\w-]{{24,}}"),
    Rule("vault", ("s.",), rf"{_begins('s[.]')}[A-Za-z0-9]{{24}}{_WORD_END}", looks_random),  # before Vault 1.10
    Rule("age", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{58,}"),
    Rule(
        "shopify",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        rf"{_START}shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32,}}",
    ),
    Rule("linear", ("lin_api_", "lin_oauth_"), rf"{_START}lin_(?:api|oauth)_[A-Za-z0-9]{{32,}}"),
    Rule("groq", ("gsk_",), rf"{_START}gsk_[A-Za-z0-9]{{40,}}"),
    Rule("atlassian", ("ATATT3", "ATCTT3"), rf"{_START}AT[AC]TT3[\w=-]{{40,}}"),
    Rule("databricks", ("dapi",), rf"{_START}dapi[0-9a-f]{{32}}(?:-\d{{1,2}})?{_WORD_END}"),
    # Every part after the colon begins with A; in a URL the word `bot` stands before the number.
    Rule("telegram", (":A",), rf"(?:{_START}|(?<=/bot))\d{{5,16}}:A[\w-]{{34}}(?![\w-])", _is_telegram),
    Rule("tailscale", ("tskey-",), rf"{_START}tskey-[A-Za-z0-9-]{{20,}}", is_mixed),
    Rule("replicate", ("r8_",), rf"{_START}r8_[A-Za-z0-9]{{36,}}"),
    Rule("supabase", ("sbp_",), rf"{_START}sbp_(?:v\d_)?[0-9a-f]{{40}}{_WORD_END}"),
    Rule("supabase", ("sb_secret_",), rf"{_START}sb_secret_[\w-]{{20,}}", is_mixed),
    Rule("postman", ("PMAK-",), rf"{_START}PMAK-[0-9a-fA-F]{{24}}-[0-9a-fA-F]{{34}}{_WORD_END}"),
    Rule(
        "doppler",
        ("dp.",),
        rf"{_START}dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?[A-Za-z0-9]{{40,44}}{_WORD_END}",
    ),
    Rule("xai", ("xai-",), rf"{_START}xai-\w{{60,}}", is_keylike),
    Rule("notion", ("ntn_",), rf"{_START}ntn_[A-Za-z0-9]{{40,}}"),
    Rule("notion", ("secret_",), rf"{_START}secret_[A-Za-z0-9]{{43}}(?!\w)", is_keylike),
    Rule("perplexity", ("pplx-",), rf"{_START}pplx-[A-Za-z0-9]{{40,}}"),
    Rule("nvidia", ("nvapi-",), rf"{_START}nvapi-[\w-]{{40,}}", is_keylike),
    Rule("square", ("sq0atp-", "sq0csp-"), rf"{_START}sq0(?:atp-[\w-]{{22}}|csp-[\w-]{{43}})(?![\w-])"),
    # EAAA also begins the base64 of small binary numbers: the length is exact, and long runs of A are not random.
    Rule("square", ("EAAA",), rf"{_START}(?<![+/])EAAA(?!\w{{0,60}}AAAA)[\w-]{{60}}(?![\w+/=-])", is_keylike),
    Rule("facebook", ("EAA",), rf"{_START}(?<![+/])EAA[B-Z][A-Za-z0-9]{{80,}}+(?![\w+/=-])", is_keylike),
    Rule("docker", ("dckr_",), rf"{_START}dckr_[po]at_[\w-]{{20,}}", is_mixed),
    Rule("rubygems", ("rubygems_",), rf"{_START}rubygems_[0-9a-f]{{48}}{_WORD_END}"),
    Rule("figma", ("figd_",), rf"{_START}figd_[\w-]{{30,}}", is_mixed),
    Rule("sentry", ("sntrys_", "sntryu_"), rf"{_START}sntry(?:s_[\w+/=-]{{40,}}|u_[0-9a-f]{{64}}{_WORD_END})"),
    Rule("grafana", ("glsa_",), rf"{_START}glsa_[A-Za-z0-9]{{32}}_[0-9a-fA-F]{{8}}{_WORD_END}"),
    Rule("grafana", ("glc_eyJ",), rf"{_START}glc_eyJ[A-Za-z0-9+/]{{28,}}={{0,2}}"),
    # Only the key for origin certificates: its other keys are 37 or 40 letters without a sign of their own.
    Rule("cloudflare", ("v1.0-",), rf"{_START}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{146}}{_WORD_END}"),
    Rule("mailchimp", ("-us",), rf"{_START}[0-9a-f]{{32}}-us\d{{1,2}}{_WORD_END}"),
    # An id in base64, a time and a signature; digits in base64 begin with M, N or O.
    Rule(
        "discord",
        ("M", "N", "O"),
        rf"{_begins('[MNO]')}[\w-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,38}}(?![\w-])",
        _is_discord,
    ),
    Rule("artifactory", ("AKC",), rf"{_START}AKC[A-Za-z0-9]{{17,}}+(?!\w)", is_keylike),
    Rule("artifactory", ("AP",), rf"{_begins('AP')}[0-9A-F][A-Za-z0-9]{{17,}}+(?!\w)", looks_random),
    Rule("artifactory", ("cmVmd",), rf"{_START}cmVmd[A-Za-z0-9]{{59}}{_WORD_END}"),
    Rule("heroku", ("HRKU-",), rf"{_START}HRKU-[\w-]{{30,}}", is_mixed),
    Rule("newrelic", ("NRAK-",), rf"{_START}NRAK-[A-Z0-9]{{27}}{_WORD_END}"),
    Rule("planetscale", ("pscale_",), rf"{_START}pscale_(?:tkn|pw|oauth)_[\w=.-]{{30,}}", is_mixed),
    Rule("fly", ("fm1", "fm2_"), rf"{_START}fm(?:1[ar]|2)_[A-Za-z0-9+/]{{60,}}={{0,3}}", is_mixed),
    Rule("fly", ("fo1_",), rf"{_START}fo1_[\w-]{{43}}(?![\w-])", is_mixed),
    Rule("terraform", (".atlasv1.",), rf"{_START}[A-Za-z0-9]{{14}}\.atlasv1\.[\w=-]{{60,}}"),
    Rule("circleci", ("CCIPAT_", "CCIPRJ_"), rf"{_START}CCIP(?:AT|RJ)_\w{{20,30}}_[0-9a-f]{{40}}{_WORD_END}"),
    Rule("pulumi", ("pul-",), rf"{_START}pul-[0-9a-f]{{40}}{_WORD_END}"),
    Rule("airtable", ("pat",), rf"{_begins('pat')}[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_WORD_END}"),
    Rule("langsmith", ("lsv2_",), rf"{_START}lsv2_(?:pt|sk)_[0-9a-f]{{32}}_[0-9a-f]{{10}}{_WORD_END}"),
    Rule("contentful", ("CFPAT-",), rf"{_START}CFPAT-[\w-]{{43}}(?![\w-])"),
    # Not `1password`: a kind must not contain what the rules look for.
    Rule("1pw", ("ops_eyJ",), rf"{_START}ops_eyJ[\w+/-]{{40,}}={{0,3}}"),
    Rule("brevo", ("sib-",), rf"{_START}x(?:key|smtp)sib-[0-9a-f]{{64}}-[A-Za-z0-9]{{16}}{_WORD_END}"),
    Rule("resend", ("re_",), rf"{_begins('re_')}[A-Za-z0-9]{{6,12}}_[A-Za-z0-9]{{20,40}}(?!\w)", is_keylike),
    # Three parts (signed) to five (encrypted, whose second part may be empty).
    Rule("jwt", ("eyJ",), rf"{_RUN_START}eyJ[\w-]{{10,}}+(?:\.{{1,2}}[\w-]{{4,}}+){{1,4}}"),
)
_PREFIXED = {prefix: rule for rule in _PREFIX_RULES for prefix in rule.needs}
_PREFIXES = tuple(_PREFIXED)

# Needles of these are looked for in the lowered text, because what they match may contain spaces.
_PHRASE_RULES = (
    Rule("pem", ("private key",), _PEM),
    Rule(
        "aws",
        ("secret",),
        r"(?i:secret_?access_?key)[\\\"'\]]{0,4}\s{0,3}[:=]\s{0,3}[\\\"']{0,4}"
        r"(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    # The two columns of the credentials file that the AWS console hands out, or both in one breath; the id is
    # masked by now.
    Rule(
        "aws",
        ("[masked:aws-id]",),
        r"\[masked:aws-id\][,;:/\s\"']{1,4}(?:(?i:and|with|its|the|aws|secret|access|key|is)[,;:=_/\s\"']{1,4}){0,8}"
        r"(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    # Neither part contains a slash and each scheme needs one, so no character is read for two schemes. What stands
    # there alone is a user, or a token if it is long and has digits.
    Rule(
        "url",
        ("://",),
        r"://(?!\[masked:url\]@)(?:[^\s:/?#@\"'<>`]*+:|(?=[A-Za-z_]{0,200}\d)(?=\w{20,200}@))(?P<v>[^\s/\"'<>`]+)@(?=[\w.\[-])",
        is_not_a_variable,
    ),
    *COMMAND_RULES,
    # A line of ~/.pgpass: host, port, database, user, password.
    Rule(
        "login",
        (":5432:", ":5433:", ":6432:", ":*:"),
        r"(?<![\w.:*-])(?:[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}|\*):(?:\d{4,5}|\*(?=\S{0,200}\d)):[\w*-]{1,64}:[\w.*-]{1,64}:"
        r"(?P<v>[^\s\"'`]{6,200})",
        _is_password,
    ),
    # A user and a password with signs, told in one breath.
    Rule(
        "login",
        ("login", "creds", "credential", "zugangsdaten"),
        r"(?i:\b(?:login|creds|credentials|zugangsdaten)\b)(?:[^\n/]{0,40}?\s[\w.@+-]{2,40}\s/\s"
        r"|(?:\s(?:are|is|sind))?:?\s{1,2}[\w.@+-]{2,40}(?<!http)(?<!https)[:/])(?P<v>[^\s\"'`,;()/]{8,64})",
        _is_told_password,
    ),
    # The same where somebody logs in.
    Rule(
        "login",
        (" / ",),
        r"(?i:\b(?:log|sign)(?:ged)?[ -]in\s(?:with|as|using|via)\s)(?:[^\n/]{0,40}?\s)?[\w.@+-]{2,40}\s/\s"
        r"(?P<v>[^\s\"'`,;()/]{6,64}(?<!\.))",
        _is_said_password,
    ),
    Rule(
        "login",
        ("auth ", "auth:"),
        r"(?i:\bbasic[ -]auth:?\s{1,2}(?:(?:with|as|using|is|user|creds)\s{1,2}){0,2})[(\"'`]?[\w.@+-]{1,64}:(?!//)"
        r"(?P<v>[^\s/\"'<>`]{1,200}(?=@\w)|[^\s/\"'<>`@]{1,200}(?<![.,;:)]))",
        _is_said_password,
    ),
    # A user and a password before the database of Oracle's driver.
    Rule(
        "url",
        ("jdbc:oracle",),
        r"(?i:\bjdbc:oracle:\w{1,8}:)[\w.$#-]{1,64}/(?P<v>[^\s\"'`]{1,200})(?=@[\w/(\[])",
        is_not_a_variable,
    ),
    # The words that a wallet is made of: BIP-39 has none of those that make a sentence.
    Rule(
        "wallet",
        ("mnemonic", "phrase"),
        r"(?i:\b(?:mnemonic|(?:seed|recovery|backup|secret|wallet)[ _-]?phrase)(?:[ _-](?:phrase|words))?)"
        r"[\\\"'\]]{0,4}\s{0,3}(?:[:=]|is|was)\s{0,3}[\\\"'`]{0,4}(?P<v>[a-z]{3,8}(?:[\s,]{1,2}[a-z]{3,8}){11,23}+)(?![a-z])",
        _is_wallet,
    ),
    # As Docker keeps a user with its password.
    Rule(
        "login",
        ('"auth',),
        r"\"auth\\{0,3}\"\s{0,3}:\s{0,3}\\{0,3}\"(?P<v>[A-Za-z0-9+/]{8,4000}={0,2})(?=\\{0,3}\")",
        _is_login,
    ),
    # What crypt(3) made of a password: short ones are guessed from it.
    Rule(
        "hash",
        ("$1$", "$5$", "$6$", "$y$", "$apr1$", "$2a$", "$2b$", "$2x$", "$2y$"),
        r"\$(?:[156y]|apr1|2[abxy])\$(?P<v>[./A-Za-z0-9$=,]{24,})",
    ),
    # From the first value on: the names of further cookies go with it, what a Set-Cookie says about one stays.
    Rule(
        "cookie",
        ("cookie",),
        r"(?i:\bcookie(?:[\\\"']{0,4}\s{0,3}[:=]\s{0,3}[\\\"']{0,4}|(?<=--cookie)\s{1,3}[\"']?))"
        r"[\w.-]{1,64}=(?P<v>[^\s;\"'\\]{1,4096}+"
        r"(?:;\s{0,2}(?!(?i:path|domain|expires|max-age|samesite|priority)=)[\w.-]{1,64}=[^\s;\"'\\]{0,4096}+)*+)",
        _is_cookie,
    ),
    # Where no spaces stand between words a password is what is neither one of their letters nor a space.
    Rule(
        "assigned",
        _PASSWORDS_UNSPACED,
        rf"(?:{'|'.join(_PASSWORDS_UNSPACED)})\s{{0,2}}[:：=＝是为為は은는]\s{{0,3}}[\"'`「『“]?(?P<v>[!-~]{{6,200}})",
        _is_unspaced_password,
    ),
    Rule(
        "bearer",
        ("authorization", "bearer"),
        r"(?i:\bbearer|authorization[\\\"']{0,4}\s{0,3}[:=]\s{0,3}[\\\"']{0,4}(?:bearer|basic|token|digest))"
        r"\s{1,3}(?P<v>[A-Za-z0-9._~+/-]{12,}+=*+)",
        is_mixed,
    ),
    Rule(
        "login", ("basic ",), r"(?i:\bbasic)\s{1,3}(?P<v>[A-Za-z0-9+/]{8,4000}={0,2})(?![A-Za-z0-9+/=])", _is_login
    ),
)
_PHRASED = {hint: rule for rule in _PHRASE_RULES for hint in rule.needs}
# The names last: the last hint found tells whether there was a name at all.
HINTS = (*[hint for hint in _PHRASED if hint not in NAME_WORDS], *NAME_WORDS)

# Cards and accounts have them; hardly any other text has.
_FOUR_DIGITS = re.compile(r"[0-9][0-9]{3}")
# The look behind comes after the first digit: in front of it, it would cost the search its fast path.
_CARD_LIKE = re.compile(r"[2-6](?<![\w-].)\d{3}[ -]?\d{4,6}[ -]?\d{4}")
_CARD = Rule(
    "card",
    (),
    # Issuer ranges with their lengths; a bare 13 to 19 digits would also be a timestamp or a snowflake id.
    r"(?<![\w-])(?<!\d\.)(?:(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|[245]\d\d)|35[2-8]\d)(?P<s>[ -]?)\d{4}"
    r"(?:(?P=s)\d{4}){2}|3[47]\d\d(?P<t>[ -]?)\d{6}(?P=t)\d{5}"
    r"|3(?:0[0-5]|[68]\d)\d(?P<u>[ -]?)\d{6}(?P=u)\d{4})(?![\w-]|\.\d)",
    _is_card,
)

# Characters of an account number by country: the IBAN registry of ISO 13616. With length and check digits, one
# in a thousand identifiers that begin alike would be one, without the length one in a hundred.
_IBAN_COUNTRIES = {
    15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
}  # fmt: skip
_IBAN_LIKE = re.compile(r"[A-Z](?<![A-Za-z0-9].)[A-Z][0-9]{2}[ \xa0-]?[A-Z0-9]{4}[ \xa0-]?[A-Z0-9]{3}")


@cache
def _iban_rule(*, in_any_case: bool) -> Rule:
    """In one piece or, as on paper, in groups of four."""
    shapes = []
    for length, countries in _IBAN_COUNTRIES.items():
        fours, rest = divmod(length - 4, 4)
        tail = rf"(?P=s)[A-Z0-9]{{{rest}}}" if rest else ""
        shapes.append(rf"(?:{countries.replace(' ', '|')})[0-9]{{2}}(?:(?P=s)[A-Z0-9]{{4}}){{{fours}}}{tail}")
    begins = r"(?<![A-Za-z0-9])(?=[A-Z]{2}[0-9]{2}(?P<s>[ \xa0-]?))"
    pattern = rf"{begins}(?:{'|'.join(shapes)})(?![A-Za-z0-9])"
    return Rule("iban", (), f"(?i:{pattern})" if in_any_case else pattern, _is_iban)


# --- values given to a name -----------------------------------------------------------------------


def _mask_spans(text: str, spans: Iterable[tuple[int, int]], found: Found) -> str:
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += text[at:start], "[masked:assigned]"
        found["assigned", text[start:end]] = None
        at = end
    if not at:
        return text
    return "".join([*kept, text[at:]])


# --- random strings in suspicious company ---------------------------------------------------------

_CANDIDATE = r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}+={0,2}"
_COMPANY = r"(?i:passw|passphrase|secret|token|credential|(?:api|access|private)[_ -]?key)"
_CHECKSUM = r"(?i)(?:sha|md5|integrity|checksum|digest|fingerprint)[\w-]{0,4}[ :=-]{0,3}[\"']?$"


def _mask_random(text: str, found: Found) -> str:
    def mask(match: re.Match[str]) -> str:
        before, after = text[max(0, match.start() - 48) : match.start()], text[match.end() : match.end() + 24]
        in_company = compiled(_COMPANY).search(f"{before} {after}") is not None
        if not in_company or not looks_random(match[0]) or re.search(_CHECKSUM, before):
            return match[0]
        found["random", match[0]] = None
        return "[masked:random]"

    return compiled(_CANDIDATE).sub(mask, text)
