"""The things a text names: files, symbols, services, packages, people, tickets, addresses, errors. Pure.

In: any text. Out: what it names, in order and without overlaps. Aliases share a key: `AuthService`, `auth_service`,
`auth-service` and `authService` are `service:authservice`; Postgres, PostgreSQL and pg are `service:postgresql`.
`PostgresDB` is `service:postgresdb`: by its suffix it names somebody's database, not the product.

Texts repeat their words, so what a word says by itself is remembered, and a text of plain words costs one look-up
for each. What needs its neighbours ("the billing worker", "issue #12") is marked as a cue and read in place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from operator import add
from pathlib import Path
from typing import NamedTuple

from clew.model.graph import NodeRef, parse_ref
from clew.recall.analyse import STOP_WORDS

MAX_CHARS = 20_000  # of a text are looked at: beyond that it is a log or a dump
MAX_THINGS = 64
MAX_WORD = 300  # characters of an unspaced run that are looked at
MAX_KEY = 200
_CACHE_SIZE = 100_000
_CACHED_WORD = 64  # characters; longer words hardly return


class Thing(NamedTuple):
    ref: NodeRef
    label: str  # as the text spells it
    start: int
    end: int


def things_in(text: str, words: list[str] | None = None) -> list[Thing]:
    """At most MAX_THINGS, from the first MAX_CHARS characters. `words` are those of the text, if they are known."""
    if len(text) > MAX_CHARS:
        text, words = text[:MAX_CHARS], None
    words = text.split() if words is None else words
    if not any(map(_TOKENS.__getitem__, words)):  # as most texts of plain words
        return []
    marked = [(index, token) for index, word in enumerate(words) if (token := _TOKENS[word])]
    return _place(_Line(text, words, _starts(text, words)), marked)


def thing_named(text: str) -> NodeRef | None:
    """The node that a person means by what they type: a ref as it is, or the name of one thing."""
    text = text.strip()
    if ref := parse_ref(text):
        return ref
    if _ISSUE_NUMBER.fullmatch(text):
        return NodeRef("ticket", text)
    found = things_in(text) or things_in(f"`{text}`") or things_in(f"the {text}")
    if len(found) == 1 and len(found[0].label) >= len(text.strip("`@#'\"()")) - len(":999999"):
        return found[0].ref
    return None


def file_named(path: str) -> NodeRef | None:
    """The file of a path, in one spelling; None for a glob or nothing."""
    if _GLOB.search(path):
        return None
    key = _path_key(path.strip())
    return NodeRef("file", key) if key else None


def person_named(name: str) -> NodeRef | None:
    key = " ".join(fold_case(name).lstrip("@").split())
    return NodeRef("person", key[:MAX_KEY]) if key else None


def fold_case(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def fold_name(name: str) -> str:
    """One key for all spellings of an identifier: no case, no separators."""
    return _SEPARATOR.sub("", fold_case(name))[:MAX_KEY]


def _starts(text: str, words: list[str]) -> list[int]:
    """Where each word begins. Between two of them is white space only, so the next find is the next word."""
    if " ".join(words) == text:
        return list(map(add, accumulate(map(len, words), initial=0), range(len(words))))
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
    return starts


# What a word says by itself.


class _Piece(NamedTuple):
    ref: NodeRef
    label: str
    start: int  # within its word
    end: int


class _Cue(NamedTuple):
    """Says something together with its neighbours."""

    kind: str
    start: int
    end: int


class _Token(NamedTuple):
    pieces: tuple[_Piece, ...]
    cues: tuple[_Cue, ...]


_SEPARATOR = re.compile(r"[_\-\s$]+")
_GLOB = re.compile(r"[*?{}<>|]")
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
_ISSUE_NUMBER = re.compile(r"#\d{1,7}")
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
_SERVICES = frozenset("service db database api gateway server queue worker proxy broker cluster cache".split())
# `clear_cache` and `createServer` do something; they are functions, not services.
_VERBS = frozenset(
    "add build call check clear close configure connect create default delete drop fetch find flush from get has "
    "init invalidate is load make mock new on open parse ping register remove reset restart run save send set "
    "setup start stop test to update use warm with write read re de pre non un multi per in max min num enable "
    "disable".split()
)
_MODIFIERS = frozenset(
    "main new old other same single whole entire local remote own internal external public private first second "
    "last next current previous given central shared existing slow fast small large big real live production prod "
    "staging test dev rest http https json web tcp grpc graphql sql nosql in-memory relational key-value backend "
    "frontend upstream downstream managed hosted separate different dedicated actual underlying default primary "
    "secondary third-party legacy simple good bad broken dead flaky healthy another each every one two three more "
    "many few all only".split()
)
_DETERMINERS = frozenset("the our a an this that its their your my these those each every".split())
_BEFORE_A_NAME = frozenset(
    "by with to from on in via through of for and or behind calls uses hits needs requires over between "
    "against".split()
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


class _Tokens(dict[str, _Token | None]):
    """Word to what it says by itself, filled as words come."""

    def __missing__(self, word: str) -> _Token | None:
        token = _read(word[:MAX_WORD])
        if len(word) <= _CACHED_WORD:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[word] = token
        return token


_TOKENS = _Tokens()


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


def _read(word: str) -> _Token | None:
    if word.isascii() and word.isalpha() and (word.islower() or word[1:].islower()):
        return _read_plain(word)
    if "[masked:" in word or (_GLOB.search(word.strip("*`?.,{}<>()")) and "://" not in word):
        return None
    bare = word.strip(_EDGES + ".:?")
    is_code = bare[:1] == bare[-1:] == "`" and len(bare) > 2
    pieces: list[_Piece] = []
    cues: list[_Cue] = []
    for match in _SCAN.finditer(word):
        _READERS[str(match.lastgroup)](match, is_code, pieces, cues)
    return _Token(tuple(pieces), tuple(cues)) if pieces or cues else None


def _read_plain(word: str) -> _Token | None:
    """An everyday word, perhaps capitalised."""
    if (ref := _spellings().get(word) or (NodeRef("file", word) if word in _BARE_FILES else None)) is not None:
        return _Token((_Piece(ref, word, 0, len(word)),), ())
    cue = _CUE_WORDS.get(word) or _CUE_WORDS.get(word.lower())
    return _Token((), (_Cue(cue, 0, len(word)),)) if cue else None


_Match = re.Match[str]
_Pieces = list[_Piece]
_Cues = list[_Cue]


def _read_url(match: _Match, _is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    found = match[0].rstrip(".,;:!?*_")
    scheme, _, rest = found.partition("://")
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    authority, slash, path = rest.partition("/")
    key = (authority.rpartition("@")[2].lower() + slash + path).rstrip("/")
    if key and authority:
        end = match.start() + len(found)
        pieces.append(_Piece(NodeRef("url", key[:MAX_KEY]), f"{scheme}://{key}", match.start(), end))


def _read_scoped(match: _Match, _is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    name = match[0].rstrip(".-")
    if name.rpartition(".")[2] in _EXTENSIONS:  # `@components/button.tsx` is a file behind an alias
        return _add(pieces, match, "file", _path_key(name), name)
    return _add(pieces, match, "package", name.lower(), name)


def _read_handle(match: _Match, is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    name = match[0][1:].rstrip("-_")
    if not is_code and name.lower() not in _DECORATORS:
        _add(pieces, match, "person", name.lower(), match[0])


def _read_issue(match: _Match, _is_code: bool, pieces: _Pieces, cues: _Cues) -> None:
    if match[0].startswith("#"):
        cues.append(_Cue("ticket", match.start(), match.end()))
    else:
        _add(pieces, match, "ticket", match[0].lower(), match[0])


def _read_spec(match: _Match, _is_code: bool, pieces: _Pieces, _cues: _Cues) -> None:
    name = re.split(r"[\[=~!<>@]", match[0], maxsplit=1)[0]
    _add(pieces, match, "package", name.lower().replace("_", "-"), name, len(name))


def _read_path(match: _Match, is_code: bool, pieces: _Pieces, cues: _Cues) -> None:
    text = match[0].rstrip(".-@+")
    if _is_path(text):
        return _add(pieces, match, "file", _path_key(text), text)
    at = match.start()
    for part in _SCAN_PARTS.finditer(match[0]):  # AuthService/BillingService
        _read_name(part[0], at + part.start(), is_code, False, pieces, cues)
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
            pieces.append(_Piece(ref, name, at, at + len(name)))
    elif (
        ref := (None if is_call else _file(name))
        or _ticket_or_error(name)
        or _symbol_or_service(name, is_code, is_call)
    ):
        pieces.append(_Piece(ref, name, at, at + len(name)))
    elif cue := _CUE_WORDS.get(name) or _CUE_WORDS.get(name.lower()) or (_STATUS.match(name) and "status"):
        if cue == "package" and is_code:
            pieces.append(_Piece(NodeRef("package", name), name, at, at + len(name)))
        else:
            cues.append(_Cue(cue, at, at + len(name)))


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
        return _hyphened(name)
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
    return parts[-1].lower() in _SERVICES and parts[0].lower() not in _VERBS and not name.isupper()


def _hyphened(name: str) -> NodeRef | None:
    if not _HYPHENED.match(name):
        return None
    parts = name.lower().split("-")
    if (
        parts[-1] in _SERVICES
        and parts[0] not in _VERBS
        and parts[0] not in _MODIFIERS
        and parts[0] not in STOP_WORDS
    ):
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


def _path_key(path: str) -> str:
    key = re.sub(r"/{2,}", "/", path.replace("\\", "/"))
    while key.startswith("./"):
        key = key[2:]
    return _LINE.sub("", key.rstrip("/"))[:MAX_KEY]


def _add(pieces: _Pieces, match: _Match, type_: str, key: str, label: str, length: int = 0) -> None:
    if key:
        end = match.start() + (length or len(label))
        pieces.append(_Piece(NodeRef(type_, key[:MAX_KEY]), label, match.start(), end))


def _add_at(pieces: _Pieces, at: int, type_: str, key: str, label: str) -> None:
    if key:
        pieces.append(_Piece(NodeRef(type_, key), label, at, at + len(label)))


# What words say together.


class _Line(NamedTuple):
    text: str
    words: list[str]
    starts: list[int]

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def bare(self, index: int) -> str:
        return self.word(index).strip("`\"'()[]*,.:;!?").lower()


_Reading = Callable[[_Line, int, int, int, list[Thing]], None]


def _place(line: _Line, marked: list[tuple[int, _Token]]) -> list[Thing]:
    found: list[Thing] = []
    for index, token in marked:
        at = line.starts[index]
        for piece in token.pieces:
            if not found or at + piece.start >= found[-1].end:
                found.append(Thing(piece.ref, piece.label, at + piece.start, at + piece.end))
        for cue in token.cues:
            _READINGS[cue.kind](line, index, at + cue.start, at + cue.end, found)
        if len(found) >= MAX_THINGS:
            return found[:MAX_THINGS]
    return found


def _append(line: _Line, found: list[Thing], ref: NodeRef, start: int, end: int) -> None:
    if not found or start >= found[-1].end:
        found.append(Thing(ref, line.text[start:end], start, end))


def _after_service_noun(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    """ "the billing worker" is a service, "the new worker" is not; "the Postgres database" is PostgreSQL."""
    if not index or start != line.starts[index]:
        return
    before = line.starts[index - 1] + len(line.words[index - 1])
    if found and found[-1].end == before and found[-1].ref.type == "service":
        found[-1] = found[-1]._replace(label=line.text[found[-1].start : end], end=end)
        return
    names = _modifiers(line, index)
    if names:
        first = line.starts[index - len(names)]
        key = fold_name("".join(names) + line.text[start:end])
        _append(line, found, NodeRef("service", key), first, end)


def _modifiers(line: _Line, index: int) -> list[str]:
    """The one or two words that name the service, if what stands before them shows that a name begins there."""
    names: list[str] = []
    for back in range(1, 4):
        word = line.word(index - back)
        low = word.lower()
        if low in _DETERMINERS or low in _BEFORE_A_NAME:
            return names
        if len(names) == 2 or not word.isalpha() or low in STOP_WORDS or low in _MODIFIERS or low in _VERBS:
            return names if low in _MODIFIERS and line.word(index - back - 1).lower() in _DETERMINERS else []
        names.insert(0, word)
    return []


def _after_issue_word(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    before = line.bare(index - 1)
    if before in _ISSUE_WORDS or (
        (before in ("and", "or", "") or line.word(index - 1).endswith(","))
        and (found and found[-1].ref.type == "ticket" and start - found[-1].end < 8)
    ):
        _append(line, found, NodeRef("ticket", line.text[start:end]), start, end)


def _near_package_word(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    """`requests` and `click` are words as well: only beside a word that says they are packages."""
    if line.bare(index + 1) in _PACKAGE_WORDS or line.bare(index - 1) in _PACKAGE_VERBS:
        name = line.text[start:end]
        if name.islower():
            _append(line, found, NodeRef("package", name), start, end)


def _after_installer(line: _Line, index: int, _start: int, _end: int, found: list[Thing]) -> None:
    at = index + 1
    if line.word(at) == "pip":  # uv pip install
        return
    if line.word(at) not in _INSTALLS:
        return
    is_open = line.word(index).startswith("`") or line.word(index - 1).startswith("`")
    while at + 1 < len(line.words) and len(found) < MAX_THINGS:
        at += 1
        word = line.words[at]
        name = _INSTALLED.match(word)
        if word.startswith("-"):
            continue
        if not name:
            return
        begin = line.starts[at]
        ref = NodeRef("package", name[1].lower()[:MAX_KEY])
        if not found or begin >= found[-1].end:
            found.append(Thing(ref, name[1], begin, begin + len(name[1])))
        if not is_open or "`" in word or word[-1] in ".,;:)":
            return


def _after_import(line: _Line, index: int, start: int, _end: int, found: list[Thing]) -> None:
    """`import x` where a line of code would begin, and `from x import y`."""
    if line.bare(index - 2) == "from":
        at = index - 1
    elif start == 0 or line.text[start - 1] in "\n`":
        at = index + 1
    else:
        return
    name = _IMPORTED.match(line.word(at))
    if name and name[0] not in STOP_WORDS:
        begin = line.starts[at]
        if not found or begin >= found[-1].end:
            found.append(Thing(NodeRef("package", name[0]), name[0], begin, begin + len(name[0])))


def _before_person_verb(line: _Line, index: int, _start: int, _end: int, found: list[Thing]) -> None:
    name = line.word(index - 1)
    if not _is_first_name(name):
        return
    first = index - 1
    if line.word(index - 2).isalpha() and _is_first_name(line.word(index - 2)):
        first = index - 2
    start, end = line.starts[first], line.starts[index - 1] + len(name)
    if not found or start >= found[-1].end:
        found.append(Thing(NodeRef("person", " ".join(fold_case(line.text[start:end]).split())),
                           line.text[start:end], start, end))  # fmt: skip


def _is_first_name(word: str) -> bool:
    low = word.lower()
    return (
        len(word) > 1 and word.isalpha() and word[0].isupper() and word[1:].islower()
        and low not in STOP_WORDS and low not in _NOT_PEOPLE and low not in _SERVICES
    )  # fmt: skip


def _after_http(line: _Line, index: int, start: int, _end: int, found: list[Thing]) -> None:
    status = _STATUS_START.match(line.word(index + 1))
    if status:
        end = line.starts[index + 1] + 3
        _append(line, found, NodeRef("error", f"http{status[0]}"), start, end)


def _before_reason(line: _Line, index: int, start: int, end: int, found: list[Thing]) -> None:
    if line.bare(index + 1) in _REASONS:
        _append(line, found, NodeRef("error", f"http{line.text[start:end]}"), start, end)


_STATUS_START = re.compile(r"[1-5]\d\d(?!\w)")
_INSTALLED = re.compile(r"`?(@?[A-Za-z][\w./-]*[\w])")
_IMPORTED = re.compile(r"[A-Za-z_]\w*")
_INSTALLS = frozenset("install i add get".split())
_ISSUE_WORDS = frozenset(
    "issue issues pr prs pull request ticket tickets bug bugs fixes fixed fix closes closed close resolves "
    "resolved see refs ref mr task incident".split()
)
_PACKAGE_WORDS = frozenset("library package module lib dependency framework".split())
_PACKAGE_VERBS = frozenset("package library module dependency using over import require imports installs".split())
_REASONS = frozenset(
    "bad internal not gateway service too unauthorized forbidden conflict request error errors".split()
)
_NOT_PEOPLE = frozenset(
    "everyone everybody someone somebody nobody anyone one team users user customers customer product legal "
    "security marketing support management engineering design sales ops finance he she they we i it who people "
    "developers reviewers management leadership today yesterday then also now later finally docs doc documentation "
    "tests never always recently originally previously initially nobody both neither either others".split()
)
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
    **dict.fromkeys(_SERVICES, "service"),
    **dict.fromkeys(_COMMON_NAMES.split(), "package"),
    **dict.fromkeys(_INSTALLERS.split(), "install"),
    **dict.fromkeys(_PERSON_VERBS.split(), "person"),
    "import": "import",
    "http": "http",
}
_READINGS: dict[str, _Reading] = {
    "service": _after_service_noun,
    "ticket": _after_issue_word,
    "package": _near_package_word,
    "install": _after_installer,
    "import": _after_import,
    "person": _before_person_verb,
    "http": _after_http,
    "status": _before_reason,
}
