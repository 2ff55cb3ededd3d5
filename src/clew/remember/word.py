"""What a word says by itself: the pieces of it that name something, and whether its neighbours have to be asked.

In: one run of text between white space, with the punctuation around it. Out: the names in it with their places, and
cues for `things.py`, which reads them in place. Texts repeat their words, so an answer is kept. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clew.model.graph import NodeRef
from clew.recall.analyse import STOP_WORDS

MAX_WORD = 300  # characters of an unspaced run that are looked at
MAX_KEY = 200
_CACHE_SIZE = 100_000
_CACHED_WORD = 64  # characters; longer words hardly return


def fold_case(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def fold_name(name: str) -> str:
    """One key for all spellings of an identifier: no case, no separators."""
    return _SEPARATOR.sub("", fold_case(name))[:MAX_KEY]


class Piece(NamedTuple):
    ref: NodeRef
    label: str
    start: int  # within its word
    end: int


class Cue(NamedTuple):
    """Says something together with its neighbours."""

    kind: str
    start: int
    end: int


class Token(NamedTuple):
    pieces: tuple[Piece, ...]
    cues: tuple[Cue, ...]


_SEPARATOR = re.compile(r"[_\-\s$]+")
GLOB = re.compile(r"[*?{}<>|]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_EDGES = "\"'“”‘’«»()[]<>*_~,;!…"  # around a word, never part of a thing; `_` returns below for __init__
_SCAN = re.compile(
    r"""(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,20}+://[^\s<>"'`\\)\]}]++)
      | (?P<scoped>(?<![\w.])@[a-z0-9][\w.-]*+/[a-z0-9][\w.-]*+)(?!/)
      | (?P<handle>(?<![\w.@`])@[A-Za-z][\w-]{1,38}+)(?![\w./(@])
      | (?P<issue>(?:[\w.-]++/[\w.-]++)?\#\d{1,7}+)(?!\w)
      | (?P<path>(?:[A-Za-z]:(?=[/\\]))?(?:[\w.@+~-]*+[/\\]++)++[\w.@+-]*+)
      | (?P<spec>[A-Za-z][\w.-]*(?:\[[\w,-]*+\])?(?:[=~!<>]=\s?|@[\^~]?)(?=\d))
      | (?P<word>[\w$][\w$.+-]*+(?:::?+[\w$][\w$.+-]*+)*+)""",
    re.VERBOSE,
)
ISSUE_NUMBER = re.compile(r"#\d{1,7}")
_LINE = re.compile(r"(?::\d+)+$")
_VERSION = re.compile(r"v?\d[\d.+-]*(?:[a-z]+\d*)?$", re.IGNORECASE)
_IDENTIFIER = re.compile(r"\$?[A-Za-z_]\w*$")
_TICKET = re.compile(r"([A-Z]{2}[A-Z0-9]{0,9})-(\d{1,6})$")
_HYPHENED = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+$")
_ERROR_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w+(?:Error|Exception|Fault|Panic))$")
_ERROR_CODE = re.compile(r"(?:E\d{4}|TS\d{4,5}|ORA-\d{4,5})$")
_ADVISORY = re.compile(r"CVE-\d{4}-\d{3,7}$")
_STATUS = re.compile(r"[45]\d\d$")

# Standards and names of versions that look like tickets.
_NO_TICKET = frozenset(
    "UTF SHA ISO HTTP COVID RFC AES RSA MD IEEE CP UCS GPT TLS SSL USB WIN ES PEP EC ARM PY JSR WCAG ECMA ANSI SOC "
    "LATIN WEB TOP PHP JAVA GO HTML CSS NODE BASE FIPS CRC DES HMAC HS RS TCP UDP IPV MP MPEG DIN EN SQL JS TS API "
    "ID IE OS QA DAY STEP PHASE LEVEL TIER PART VERSION AM PM UTC GMT INT UINT FLOAT BF FP CLAUDE LLAMA DALL MAC "
    "WINDOWS PYTHON UNICODE BIT CVE ORA SAE WW BMW MIG AK KB MB GB TB".split()
)
_ERRNO = frozenset(
    "ECONNREFUSED ECONNRESET ECONNABORTED ENOENT EACCES EPERM EEXIST ENOTFOUND ETIMEDOUT EADDRINUSE EPIPE ENOMEM "
    "ENOSPC EAGAIN EINVAL EBUSY EMFILE ENOTDIR EISDIR ENOTEMPTY EHOSTUNREACH ENETUNREACH EAI_AGAIN ERESOLVE EINTR "
    "EROFS ELOOP EBADF SIGSEGV SIGKILL SIGTERM SIGABRT SIGBUS SIGILL SIGFPE SIGPIPE SIGHUP SIGINT".split()
)
SERVICES = frozenset("service db database api gateway server queue worker proxy broker cluster cache".split())
# `clear_cache` and `createServer` do something; they are functions, not services.
VERBS = frozenset(
    "add build call check clear close configure connect create default delete drop fetch find flush from get has "
    "init invalidate is load make mock new on open parse ping register remove reset restart run save send set "
    "setup start stop test to update use warm with write read re de pre non un multi per in max min num enable "
    "disable".split()
)
MODIFIERS = frozenset(
    "main new old other same single whole entire local remote own internal external public private first second "
    "last next current previous given central shared existing slow fast small large big real live production prod "
    "staging test dev rest http https json web tcp grpc graphql sql nosql in-memory relational key-value backend "
    "frontend upstream downstream managed hosted separate different dedicated actual underlying default primary "
    "secondary third-party legacy simple good bad broken dead flaky healthy another each every one two three more "
    "many few all only".split()
)
_EXTENSIONS = frozenset(
    "py pyi ipynb js jsx mjs cjs ts tsx mts vue svelte go rs java kt kts scala rb php c h cc cpp cxx hpp cs fs "
    "swift m mm sh bash zsh fish ps1 bat sql json jsonl json5 yaml yml toml ini cfg conf env xml html htm css scss "
    "sass less md mdx rst txt csv tsv parquet lock proto graphql gql tf tfvars hcl gradle properties dockerfile mk "
    "cmake ex exs erl hs ml lua pl r jl dart zig nim sol wasm pdf png jpg jpeg svg gif ico log plist pem crt bak "
    "service template j2 tmpl snap patch diff db sqlite".split()
)
_FILES = frozenset(
    "Makefile Dockerfile Jenkinsfile Procfile Gemfile Rakefile Vagrantfile Brewfile Justfile CODEOWNERS "
    "Containerfile README CHANGELOG LICENSE CONTRIBUTING .env .gitignore .dockerignore .npmrc .editorconfig "
    ".prettierrc .eslintrc .cursorrules .bashrc .zshrc".split()
)
_BARE_FILES = _FILES - {"README", "CHANGELOG", "LICENSE", "CONTRIBUTING"}
_ROOTS = frozenset(
    "src tests test docs doc lib app apps packages cmd pkg internal scripts tools config configs migrations web "
    "api server client frontend backend components public assets deploy infra terraform charts etc usr var opt "
    "home tmp srv proc sys mnt root bin node_modules .github .vscode .claude .agents".split()
)
_DOMAINS = frozenset("com org net io co ai dev gov edu uk de fr eu us app cloud sh me info tv".split())
_LITERALS = frozenset(
    "true false null none nil undefined self this main master head yes no and or not if else for while return def "
    "class function var let const int str string bool float list dict set void async await import from git npm "
    "make pip yarn pnpm bash curl docker kubectl python node cargo todo fixme get post put patch delete".split()
)
_DECORATORS = frozenset(
    "property staticmethod classmethod dataclass override abstractmethod cached cache lru_cache wraps "
    "contextmanager overload final fixture pytest app router component injectable deprecated param params returns "
    "return throws type typedef see example autowired bean test before after todo media import apply tailwind "
    "layer keyframes charset supports font-face latest next beta rc all here channel everyone".split()
)
_NAME_PREFIXES = frozenset("Mc Mac De Di Du Da La Le Fitz Van Von Mc".split())  # McKinley, DeVito: people


class _Tokens(dict[str, Token | None]):
    """Word to what it says by itself, filled as words come."""

    def __missing__(self, word: str) -> Token | None:
        token = _read(word[:MAX_WORD])
        if len(word) <= _CACHED_WORD:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[word] = token
        return token


TOKENS = _Tokens()


@cache
def _spellings() -> dict[str, NodeRef | None]:
    """Spelling to the thing it names; None for what only looks like a thing."""
    lines = Path(__file__).with_name("things.txt").read_text(encoding="ascii").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {
        spelling: None if type_ == "plain" else NodeRef(type_, key)
        for type_, key, *spellings in rows
        for spelling in spellings
    }


def _read(word: str) -> Token | None:
    if word.isascii() and word.isalpha() and (word.islower() or word[1:].islower()):
        return _read_plain(word)
    if "[masked:" in word or (GLOB.search(word.strip("*`?.,{}<>()")) and "://" not in word):
        return None
    bare = word.strip(_EDGES + ".:?")
    is_code = bare[:1] == bare[-1:] == "`" and len(bare) > 2
    pieces: list[Piece] = []
    cues: list[Cue] = []
    for match in _SCAN.finditer(word):
        _READERS[str(match.lastgroup)](match, is_code, pieces, cues)
    return Token(tuple(pieces), tuple(cues)) if pieces or cues else None


def _read_plain(word: str) -> Token | None:
    """An everyday word, perhaps capitalised."""
    if (ref := _spellings().get(word) or (NodeRef("file", word) if word in _BARE_FILES else None)) is not None:
        return Token((Piece(ref, word, 0, len(word)),), ())
    cue = _CUE_WORDS.get(word) or _CUE_WORDS.get(word.lower())
    return Token((), (Cue(cue, 0, len(word)),)) if cue else None


_Match = re.Match[str]
_Pieces = list[Piece]
_Cues = list[Cue]


def _read_url(match: _Match, _is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    found = match[0].rstrip(".,;:!?*_")
    scheme, _, rest = found.partition("://")
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    authority, slash, path = rest.partition("/")
    key = (authority.rpartition("@")[2].lower() + slash + path).rstrip("/")
    if key and authority:
        end = match.start() + len(found)
        pieces.append(Piece(NodeRef("url", key[:MAX_KEY]), f"{scheme}://{key}", match.start(), end))


def _read_scoped(match: _Match, _is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    name = match[0].rstrip(".-")
    if name.rpartition(".")[2] in _EXTENSIONS:  # `@components/button.tsx` is a file behind an alias
        return _add(pieces, match, "file", path_key(name), name)
    return _add(pieces, match, "package", name.lower(), name)


def _read_handle(match: _Match, is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    name = match[0][1:].rstrip("-_")
    if not is_code and name.lower() not in _DECORATORS:
        _add(pieces, match, "person", name.lower(), match[0])


def _read_issue(match: _Match, _is_code: bool, pieces: _Pieces, cues: _Cues) -> None:
    if match[0].startswith("#"):
        cues.append(Cue("ticket", match.start(), match.end()))
    else:
        _add(pieces, match, "ticket", match[0].lower(), match[0])


def _read_spec(match: _Match, _is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    name = re.split(r"[\[=~!<>@]", match[0], maxsplit=1)[0]
    _add(pieces, match, "package", name.lower().replace("_", "-"), name, len(name))


def _read_path(match: _Match, is_code: bool, pieces: _Pieces, cues: _Cues) -> None:
    text = match[0].rstrip(".-@+")
    if _is_path(text):
        return _add(pieces, match, "file", path_key(text), text)
    at = match.start()
    for part in _SCAN_PARTS.finditer(match[0]):  # AuthService/BillingService
        _read_name(part[0].rstrip(".-+"), at + part.start(), is_code, False, pieces, cues)
    return None


def _read_word(match: _Match, is_code: bool, pieces: _Pieces, cues: _Cues) -> None:
    text = match[0].rstrip(".-+")
    is_call = match.string.startswith("(", match.end()) and (
        is_code or match.string.startswith("()", match.end()) or not text.isalpha()
    )
    at = match.start()
    if at and match.string[at - 1] == "." and (text in _EXTENSIONS or f".{text}" in _FILES):
        text, at = f".{text}", at - 1  # .env
    if "::" in text and _is_namespaced(text):
        return _add_at(pieces, at, "symbol", _symbol_key(text.replace("::", ".")), text)
    if ":" not in text:
        return _read_name(text, at, is_code, is_call, pieces, cues)
    for part in _SCAN_PARTS.finditer(text):  # mw.py:42 or note:AuthService
        _read_name(part[0].rstrip(".-+"), at + part.start(), is_code, is_call, pieces, cues)
    return None


_SCAN_PARTS = re.compile(r"[^/\\:]+")
_READERS: dict[str, Callable[[_Match, bool, _Pieces, _Cues], None]] = {
    "url": _read_url,
    "scoped": _read_scoped,
    "handle": _read_handle,
    "issue": _read_issue,
    "path": _read_path,
    "spec": _read_spec,
    "word": _read_word,
}


def _read_name(name: str, at: int, is_code: bool, is_call: bool, pieces: _Pieces, cues: _Cues) -> None:
    """One name without slashes or colons: the first reading that fits."""
    spellings = _spellings()
    if name in spellings and not is_call:
        if (ref := spellings[name]) is not None:
            pieces.append(Piece(ref, name, at, at + len(name)))
    elif (
        ref := (None if is_call else _file(name))
        or _ticket_or_error(name)
        or _symbol_or_service(name, is_code, is_call)
    ):
        pieces.append(Piece(ref, name, at, at + len(name)))
    elif cue := _CUE_WORDS.get(name) or _CUE_WORDS.get(name.lower()) or (_STATUS.match(name) and "status"):
        if cue == "package" and is_code:
            pieces.append(Piece(NodeRef("package", name), name, at, at + len(name)))
        else:
            cues.append(Cue(cue, at, at + len(name)))


def _file(name: str) -> NodeRef | None:
    if name in _BARE_FILES:
        return NodeRef("file", name)
    stem, dot, extension = name.rpartition(".")
    if not (dot and stem and extension.lower() in _EXTENSIONS) or _VERSION.match(name):
        return None
    if not extension.islower() and not extension.isupper():  # done.Md
        return None
    if len(extension) == 1 and (len(stem) == 1 or "." in stem or extension.isupper()):  # e.g, a.m, F.I.R
        return None
    return NodeRef("file", name[:MAX_KEY])


def _ticket_or_error(name: str) -> NodeRef | None:
    if match := _ERROR_NAME.match(name):
        return NodeRef("error", match[1].lower()[:MAX_KEY])
    if name in _ERRNO or (name[-1:].isdigit() and _ERROR_CODE.match(name)):
        return NodeRef("error", name.lower())
    if name.startswith("CVE-") and _ADVISORY.match(name):
        return NodeRef("ticket", name)
    if "-" in name and (match := _TICKET.match(name)) and match[1] not in _NO_TICKET:
        return NodeRef("ticket", f"#{match[2]}" if match[1] == "GH" else name)
    return None


def _symbol_or_service(name: str, is_code: bool, is_call: bool) -> NodeRef | None:
    if "." in name:
        return _dotted(name, is_code, is_call)
    if "-" in name:
        return _compound(name) or _hyphened(name)
    if not _IDENTIFIER.match(name):
        return None
    parts = _parts(name)
    if is_call:
        return NodeRef("symbol", fold_name(name)) if len(name) > 1 else None
    if len(parts) > 1 and _looks_coined(name, parts):
        return NodeRef("service" if _is_service(name, parts) else "symbol", fold_name(name))
    if is_code and len(name) > 2 and name.lower() not in _LITERALS and name not in _CUE_WORDS:
        return NodeRef("symbol", fold_name(name))
    return None


def _looks_coined(name: str, parts: list[str]) -> bool:
    """`auth_service`, `AuthService`, `MAX_RETRIES`, `getUser`; not `APIs`, `McKinley`, `Q3` or `utf8`."""
    if "_" in name.strip("_"):
        return sum(part.isalpha() for part in parts) > 1
    if name.islower() or name.isupper() or not name.isascii():
        return False
    words = [part for part in parts if part.isalpha()]
    if len(words) < 2 or parts[0] in _NAME_PREFIXES or len(name) < 5:
        return False
    return not (name[:-1].isupper() or (name[:-3].isupper() and name.endswith("ing")))


def _is_service(name: str, parts: list[str]) -> bool:
    return parts[-1].lower() in SERVICES and parts[0].lower() not in VERBS and not name.isupper()


def _compound(name: str) -> NodeRef | None:
    """`Redis-Cluster`, `AuthService-Modul`, `Kafka-based`: what the first word names, as without the hyphen. In
    small letters it is a name of its own: `redis-cluster`. `Kafka-free` and `Redis-like` name neither."""
    first, _, rest = name.partition("-")
    if not first[:1].isupper() or not rest.isalpha() or rest in _SOMETHING_ELSE:
        return None
    if first in _spellings():
        return _spellings()[first]
    is_coined = first.isalpha() and _looks_coined(first, _parts(first))
    return _symbol_or_service(first, False, False) if is_coined else None


_SOMETHING_ELSE = frozenset("like compatible style free less agnostic independent inspired".split())


def _hyphened(name: str) -> NodeRef | None:
    if not _HYPHENED.match(name):
        return None
    parts = name.lower().split("-")
    if parts[-1] in SERVICES and parts[0] not in VERBS and parts[0] not in MODIFIERS and parts[0] not in STOP_WORDS:
        return NodeRef("service", fold_name(name))
    return None


def _dotted(name: str, is_code: bool, is_call: bool) -> NodeRef | None:
    """`Class.method`; anything dotted when it is called or quoted as code. Not hosts, versions or sentences."""
    parts = name.split(".")
    if not all(_IDENTIFIER.match(part) for part in parts) or _VERSION.match(name):
        return None
    if not is_call and (parts[-1].lower() in _DOMAINS or min(map(len, parts)) < 2):
        return None
    first, second = parts[0], parts[1]
    is_method = first[:1].isupper() and not first.isupper() and (second[:1].islower() or second[:1] == "_")
    is_sentence = first[1:].islower() and (second in STOP_WORDS or len(second) < 3)  # Done.then
    if is_call or is_code or (is_method and not is_sentence):
        return NodeRef("symbol", _symbol_key(name))
    return None


def _is_namespaced(text: str) -> bool:
    return all(_IDENTIFIER.match(part) for part in text.split("::"))


def _symbol_key(dotted: str) -> str:
    return ".".join(fold_name(part) for part in dotted.split("."))[:MAX_KEY]


def _parts(name: str) -> list[str]:
    return _PART.findall(name)


def _is_path(text: str) -> bool:
    """A file or a directory; not `and/or`, `client/server` or `/v1/recall`."""
    steps = [step for step in re.split(r"[/\\]+", text) if step]
    if not steps or (len(steps) == 1 and not text.startswith(("./", "../", "~/", ".\\"))):
        return False
    name, dot, extension = steps[-1].rpartition(".")
    if (
        dot
        and extension.isalnum()
        and not extension.isdigit()
        and len(extension) <= 10
        and (extension.lower() in _EXTENSIONS or (name and len(steps) > 2 and extension.islower()))
    ):
        return not (len(steps) == 2 and steps[0] in ("e.g", "i.e"))
    if steps[-1] in _FILES or text.startswith(("./", "../", "~/", ".\\")):
        return True
    is_rooted = steps[0] in _ROOTS or text[1:2] == ":"
    return is_rooted and (len(steps) > 2 or text[-1] in "/\\" or steps[0] in ("src", "docs", "tests", "etc", "usr"))


def path_key(path: str) -> str:
    key = re.sub(r"/{2,}", "/", path.replace("\\", "/"))
    while key.startswith("./"):
        key = key[2:]
    return _LINE.sub("", key.rstrip("/"))[:MAX_KEY]


def _add(pieces: _Pieces, match: _Match, type_: str, key: str, label: str, length: int = 0) -> None:
    if key:
        end = match.start() + (length or len(label))
        pieces.append(Piece(NodeRef(type_, key[:MAX_KEY]), label, match.start(), end))


def _add_at(pieces: _Pieces, at: int, type_: str, key: str, label: str) -> None:
    if key:
        pieces.append(Piece(NodeRef(type_, key), label, at, at + len(label)))


# Packages whose names are words of the language.
_COMMON_NAMES = (
    "requests react express click rich black attrs koa polars next gin echo rails spring pillow hypothesis"
)
_INSTALLERS = "pip pip3 npm pnpm yarn cargo go uv poetry bun gem"
_PERSON_VERBS = (
    "said says wrote asked decided prefers owns suggested mentioned thinks wants reported confirmed proposed "
    "approved argued insisted recommended requested"
)
_CUE_WORDS = {
    **dict.fromkeys(SERVICES, "service"),
    **dict.fromkeys(_COMMON_NAMES.split(), "package"),
    **dict.fromkeys(_INSTALLERS.split(), "install"),
    **dict.fromkeys(_PERSON_VERBS.split(), "person"),
    "import": "import",
    "http": "http",
}
