"""What Clew's own rules record about a tool call on this machine. Pure.

In: a few fields of the call. Out: a draft whose sentences are ours and whose fields are quoted: one line each,
masked, cut and looked at by the tripwire like every other text. What a tool said that fetches from elsewhere is not
quoted: it may be anybody's text. Such a memory is as good as what an agent stated and is
marked as observed wherever it is shown. The origin is reserved: whoever could claim it for text of their own could
pass off any page as something we saw.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from clew.errors import InvalidInput
from clew.guard.trust import OBSERVED, is_reserved
from clew.hosts.patterns import ELSEWHERE, any_of
from clew.model.memory import Draft
from clew.model.scope import is_encodable
from clew.model.tool_call import ToolCall
from clew.remember.redact import Redacted, redact, redact_together

TOOL_CHARS = 60
TOLD_CHARS = 240  # of a command, its error and its fix together, beside our own words: a line is cut at 300
LEAST_ERROR = 40
FIELD_CHARS = 200  # an error line is quoted for what went wrong, not for what it says at length
_FETCHING_TOOL = re.compile(r"web|fetch|browser|http|mcp__|\w{0,20}mcp_?resource", re.IGNORECASE)
_FETCHING_ANYWHERE = re.compile(r"https?://|(?<![\w.-])(?:curl|wget)(?![\w-])", re.IGNORECASE)


# What shows nothing of others, in a line of commands. A longer line is not looked at for it.
MAX_HARMLESS = 4_000
NOTHING = "true"
_BEGINS = r"(?:^|(?<=[;&|(])) ?(?:(?:until|while|if|do|then|!|time) ){0,2}"
_FIRST = r"^(?:cd [\w./~-]{1,200} ?&& ?)?(?:git (?:checkout|switch) [\w./-]{1,100} ?&& ?)?"  # it has printed first
_WORDS = (
    r"(?: (?:[\w@%+=:,./~^-]|'[^']{0,4000}'|\"[^\"$`\\]{0,4000}\"){1,300}+){0,30}"  # no `#`: a comment hides quotes
)
_LOOPBACK = r"(?:https?://)?(?:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\])(?::\d{1,5})?"
_PATH = r"(?:[/?](?:(?!//|=[\w-]+\.[a-z])[\w./?=%,~+-]){0,300})?"
_QUOTED = rf"{_LOOPBACK}{_PATH}(?:&[\w.=%-]{{0,100}}){{0,20}}"
_URL = rf"(?:{_LOOPBACK}{_PATH}|'{_QUOTED}'|\"{_QUOTED}\")(?= |$|[;&|)])"
_GIT = r"git(?: -C [\w./~-]{1,200})?"
_REDIRECTED = r"(?: [12]?>{1,2} ?(?:&[12]|[\w./-]{1,100})){0,2}"
_NOTHING_NEW = re.compile(
    r"\s*(?:Your branch is up to date with '[^'\n]{1,200}'\.\s*)?"
    r"(?:Already up[ -]to[ -]date|Current branch \S{1,200} is up to date)\."
)


def draft_of_call(call: ToolCall, *, edited: Sequence[str] = ()) -> Draft:
    """The same call gives the same text, so seeing it twice is remembered once. `edited`: files that were changed
    before it worked, which may be why."""
    quotes = not is_from_elsewhere(call)
    call, edited = _masked(call, edited)
    tool, file = _field(call.tool, TOOL_CHARS), _field(call.file)
    if not tool:
        raise _nothing("the tool has no name")
    told = (call.command, call.error_line, call.file, call.fixed_by)
    if call.exit_status is None and not any(map(_field, told)):
        raise _nothing(f"the call of '{tool}' has nothing worth recording")
    later = _later(call, edited)
    what = _what(
        call, tool, quotes=quotes, most=max(LEAST_ERROR, TOLD_CHARS - len(later)) if later else FIELD_CHARS
    )
    return Draft(
        content="; ".join(filter(None, (what, file and f"file {file}", later))) + ".",
        origin=OBSERVED,
        paths=(file,) if file else (),
        tool_call=_field(call.id, TOOL_CHARS) or None,
        at=call.at,
        metadata={"tool": tool} | ({} if call.exit_status is None else {"exit_status": int(call.exit_status)}),
    )


def is_from_elsewhere(call: ToolCall, *, printed: str | None = None) -> bool:
    """Whether what the tool says may have been written by somebody outside this machine. `printed`: what it said
    where it has worked; what only sends, or shows nothing of what it fetched, is then no such tool."""
    if _FETCHING_TOOL.match(call.tool.strip()):
        return True
    command = ";".join(" ".join(line.split()) for line in (call.command or "").splitlines())
    if len(command) <= MAX_HARMLESS:
        command = _without_harmless(command, printed)
    return bool(_FETCHING_ANYWHERE.search(command) or _fetching().search(command) or is_foreign_place(command))


def is_foreign_place(path: str) -> bool:
    """Whether it names something below a folder of dependencies; what lies in its `.bin` or `bin` is run, and not
    read."""
    return bool(_places().search(path.replace("\\", "/")))


@cache
def _fetching() -> re.Pattern[str]:
    """A command of the table where a command may begin. For one line, with single spaces."""
    before, commands = any_of(ELSEWHERE, "before"), any_of(ELSEWHERE, "commands")
    wrapped = rf"(?<![\w-]){before}(?: -\S{{1,40}}| \d{{1,6}}[smh]?| [A-Za-z_]\w{{0,60}}=\S{{0,200}}){{0,4}} "
    begins = rf"(?:^|[;&|(){{}}`\"']|{wrapped}) ?(?:[A-Za-z_]\w{{0,60}}=\S{{0,200}} ){{0,4}}"
    return re.compile(rf"{begins}(?:[\w.~-]{{0,80}}/){{0,8}}{commands}(?![\w.=/-])")


def _without_harmless(command: str, printed: str | None) -> str:
    command = _harmless("own", ends="|").sub(_unless_quoted, command)
    if printed is None:
        return command
    if _NOTHING_NEW.match(printed):
        command = _harmless("pulls", _FIRST).sub(_unless_quoted, command)
    return _harmless("sends").sub(_unless_quoted, command)


def _unless_quoted(found: re.Match[str]) -> str:
    """What seems to begin within quotation marks is none, and those in it reach into what follows."""
    before = found.string[: found.start()]
    return found[0] if before.count("'") % 2 or before.count('"') % 2 else NOTHING


@cache
def _harmless(section: str, begins: str = _BEGINS, *, ends: str = "") -> re.Pattern[str]:
    """A whole command of the table, and where its output goes. For one line, with single spaces. Before a bar only
    where that `ends` it as well: what comes after `||` tells that it failed."""
    commands = any_of(ELSEWHERE, section)
    for name, stands_for in (("WORDS", _WORDS), ("URL", _URL), ("GIT", _GIT)):
        commands = commands.replace(name, stands_for)
    return re.compile(rf"{begins} ?{commands}{_REDIRECTED} ?(?=$|[;&){ends}])")


@cache
def _places() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){any_of(ELSEWHERE, 'places')}/(?!\.?bin/)[\w@.*]")


def secrets_in(call: ToolCall) -> tuple[str, ...]:
    """The kinds of secrets that `draft_of_call` masks."""
    return tuple(sorted({kind for part in _redacted(call, ()) for kind in part.kinds}))


def _masked(call: ToolCall, edited: Sequence[str]) -> tuple[ToolCall, list[str]]:
    tool, command, error_line, file, fixed_by, id, *files = (one.text for one in _redacted(call, edited))
    told = replace(call, tool=tool, command=command, error_line=error_line, file=file, fixed_by=fixed_by, id=id)
    return told, files


def _redacted(call: ToolCall, edited: Sequence[str]) -> list[Redacted]:
    """Together: an error may name what an option of the command was given."""
    told = (call.tool, call.command, call.error_line, call.file, call.fixed_by, call.id, *edited)
    return redact_together(value or "" for value in told)


def refuse_reserved(draft: Draft) -> Draft:
    """The draft, unless it claims to be one of ours, or is none."""
    if not isinstance(draft, Draft):
        raise InvalidInput(
            f"a draft is a Draft, not {type(draft).__name__}",
            code="DRAFT_INVALID",
            next="pass Draft(content=...), or one text to remember()",
        )
    if draft.origin != "user" and is_reserved(str(draft.origin)):
        raise InvalidInput(
            f"the origin '{OBSERVED}' is kept for what Clew records itself",
            code="ORIGIN_RESERVED",
            next="say where the text comes from, such as tool_output:local, or record a tool call with observe()",
        )
    _refuse_unwritable(draft.content)
    return draft


def _refuse_unwritable(content: object) -> None:
    """What no store can keep would come back as another text. An import, which cannot ask, does without it."""
    if isinstance(content, str) and ("\0" in content or not is_encodable(content)):
        what = "a NUL character" if "\0" in content else "half of a character"
        raise InvalidInput(
            f"the content holds {what}",
            code="INVALID_UTF8",
            next="give text in UTF-8, without NUL",
        )


def _what(call: ToolCall, tool: str, *, quotes: bool, most: int) -> str:
    """An error is cut to what the command leaves of `most`: what mended it counts more, and comes last."""
    command = _field(call.command)
    error = _field(call.error_line, max(LEAST_ERROR, min(FIELD_CHARS, most - len(command))))
    subject = f"Command `{command}` ({tool})" if command else f"Tool `{tool}`"
    quoted = f': "{error}"' if error and quotes else ""
    return f"{subject} {_ending(call.exit_status, error)}{quoted}"


def _ending(status: int | None, error: str) -> str:
    if status is None:
        return "failed" if error else "ran"
    return f"failed with exit status {int(status)}" if status else "succeeded"


def _later(call: ToolCall, edited: Sequence[str]) -> str:
    """A command that ran in between is the fix where nothing else was done; else nobody knows which it was."""
    fix, files = _field(call.fixed_by), ", ".join(filter(None, map(_field, edited)))
    if fix and files:
        return f"worked after edits of {files} and `{fix}`"
    if files:
        return f"worked after edits of {files}"
    return f"later fixed by `{fix}`" if fix else ""


def _field(value: str | None, limit: int = FIELD_CHARS) -> str:
    """One line that cannot end the quotes around it. Masked first: half a secret no longer looks like one."""
    line = " ".join(redact(value or "").text.split(None, limit)).replace("`", "'").replace('"', "'")
    return line[:limit].strip()


def _nothing(message: str) -> InvalidInput:
    return InvalidInput(message, code="OBSERVATION_EMPTY", next="give a command, its exit status or a file")
