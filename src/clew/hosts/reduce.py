"""One event of a host, reduced to what may be worth keeping. Pure.

In: an event as it came. Out: a small JSON object or None. Every text is masked as a whole before it is cut, a
command together with what was said of its failure; every path is told from the root of the repository, and what is
ignored leaves no trace, nor does the sentence or command that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from clew.hosts.events import exit_code
from clew.hosts.ignore import is_ignored, without_ignored
from clew.hosts.patterns import phrase
from clew.hosts.said import decisions_in, sentences, understood_prompt, without_orders
from clew.hosts.shell import files_shown, left_in, shell_text, understood, undone_by
from clew.hosts.strip import is_from_others, own_words
from clew.hosts.table import HOSTS
from clew.inject.hooks import error_line, paths_of_input
from clew.model.host import Around, HookEvent
from clew.model.tool_call import ToolCall
from clew.remember.observe import is_foreign_place, is_from_elsewhere
from clew.remember.redact import redact, redact_together

# Kinds of facts.
START, PROMPT, EDIT, RUN, TREE = "start", "prompt", "edit", "run", "tree"
ELSEWHERE, SAY, END = "elsewhere", "say", "end"

MAX_TEXT = 100_000  # characters of one text that are masked and looked at
MAX_BEGUN = 2_000  # of a prompt that says what a session is about, or is looked for
PATH_CHARS = "".join(map(chr, range(0x21, 0x7F)))
MAX_PATHS = 16
SHORT = 40  # characters of an error line that is a mere headline
MAX_BELOW = 140
MAX_ERROR = 300
SHELLS = frozenset(
    ("bash", "shell", "local_shell", "local_shell_call", "exec_command", "container.exec", "powershell",
     "unified_exec", "run_shell_command", "run_terminal_cmd", "execute")
)  # fmt: skip
EDITORS = frozenset(
    (
        "edit",
        "write",
        "multiedit",
        "notebookedit",
        "apply_patch",
        "write_file",
        "replace",
        "edit_file",
        "create_file",
    )
)
READERS = frozenset(("read", "grep", "glob", "ls", "read_file", "read_many_files", "view", "view_image", "list_dir",
                     "list_directory", "search_file_content", "grep_files", "notebookread"))  # fmt: skip
READ_KEYS = ("file_path", "path", "absolute_path", "notebook_path", "dir_path")
OUR_SERVERS = ("clew", "plugin:clew:clew")  # as tools name them that read resources of any server
_PATCH = "*** Begin Patch"  # an edit, also where a shell applies it
_COMPLAINT = re.compile(
    r"(?:^e: |[\w./]+[:(]\d+[:,)].{0,20}\b)error\b|\berror (?:TS|CS|C|LNK)\d+:|^error\[E\d+\]:|^e: "
    r"|^\s*● (?!console)",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_FILE = re.compile(
    r"(?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+\.\w{1,8}|[\w@+-][\w.@+-]*\.(?:py|pyi|[cm]?[jt]sx?|go|rs|rb|java|kts?|cs?|cpp|h|hpp"
    r"|swift|php|sql|sh|toml|ya?ml|json|md|txt|ini|cfg|lock|html|s?css|vue|svelte|tf|proto|gradle|xml|ex|exs)"
)
_OUR_TOOLS = re.compile(r"mcp__(?:plugin_)?clew\w*__", re.IGNORECASE)
_RESOURCES = re.compile(r"(?:list|read)_?mcp_?resource", re.IGNORECASE)
_EXIT = re.compile(r"exit(?:ed)?(?: with)? (?:code|status)[:= ]{1,2}(-?\d{1,4})", re.IGNORECASE)
_LEFT_RUNNING = re.compile(r"\s*Command [^\n]{0,60}\bbackground(?:ed)?\b[^\n]{0,40}\bID\b")
# Where Claude Code puts what a command in the background prints; what that fetched is known by the command.
_OF_TASKS = re.compile(r"(?:/private)?/tmp/claude(?:-\d+)?/(?:[\w.-]+/)+tasks/[\w-]+\.output")
_PLAIN = re.compile(r"[!-~]+")
_OUTSIDE = ("/", "~", "..")
_WORKTREE = re.compile(r"^(?:\.claude/worktrees|\.worktrees)/[^/]+/")
_FOLDER = re.compile(r"[\w@+.][\w@+./ -]*")  # and not `$DIR`, of which nobody knows where it is
_SAYS_NOTHING = re.compile(
    r"(?:\W|\b(?:an?|errors?|err|failed|failure|fatal|exception|exit(?:ed)?|with|code|status|command|\d+)\b)*+",
    re.IGNORECASE,
)
_VARYING = re.compile(r" in \d+(?:\.\d+)?m?s\b.*$|0x[0-9a-fA-F]{6,}|/tmp/\S+")


def reduced(event: HookEvent, around: Around) -> dict[str, Any] | None:
    match event.kind:
        case "session_start":
            # Only here is nothing before: what a session that goes on has read, nobody knows.
            return {"k": START} if event.source in ("startup", "clear") else None
        case "prompt" if event.agent_id is None:  # what a subagent is told are not the user's words
            return _prompt(event, around)
        case "tool_end" | "tool_failure":
            return _tool(event, around)
        case "stop" | "agent_stop":
            return _said(event, around)
        case "session_end":
            return {"k": END}
    return None


def told_paths(paths: Iterable[str], around: Around, cwd: str | None = None) -> tuple[str, ...]:
    """Paths from the root of the repository, masked, without those outside of it and those that are ignored."""
    inside = (_from_root(path, around.root or cwd, cwd) for path in paths)
    told = without_ignored(dict.fromkeys(path for path in inside if path), around.ignored)
    told = without_ignored(dict.fromkeys(map(_in_any_tree, told)), around.ignored)[:MAX_PATHS]
    return tuple(dict.fromkeys(map(_masked, told)))


def masked_names(event: HookEvent, around: Around) -> tuple[HookEvent, Around]:
    """The names that are kept as they came: that of the branch, and of an event that nobody knows."""
    if event.kind == "other":
        event = replace(event, event=_masked(event.event))
    return event, replace(around, branch=_masked(around.branch) or None)


def told_words(text: str | None, event: HookEvent, around: Around) -> str:
    """The beginning of what somebody said, masked, without orders that others may have written and without the
    sentences that name an ignored path or say what to forget; '' where nobody knows which those are."""
    words = own_words(text or "") if around.is_known else ""
    if phrase("not typed").match(words):
        return ""
    if len(words) > MAX_BEGUN:
        words = words[:MAX_BEGUN].rstrip(PATH_CHARS)  # half a path is none
    masked = _masked(words)
    prompt = understood_prompt(masked)
    forgotten = prompt.takes_back_about
    if prompt.takes_back_all:
        return ""
    told = [_unignored(sentences(line), event, around) for line in without_orders(masked).splitlines()]
    return "\n".join(" ".join(one for one in line if not (forgotten and forgotten in one)) for line in told)


def _prompt(event: HookEvent, around: Around) -> dict[str, Any] | None:
    masked = _masked(event.prompt)
    prompt = understood_prompt(masked)
    told: dict[str, Any] = {"k": PROMPT}  # also without any substance: a turn begins
    rules, decisions, facts = (_unignored(texts, event, around) for texts in prompt.lasting)
    [task] = _unignored([prompt.task], event, around) or [""]
    stated = {"task": task, "rules": rules, "decisions": decisions, "facts": facts}
    told |= {name: value for name, value in stated.items() if value}
    certain = [rule for rule in rules if rule in prompt.listed]
    told |= {"certain": certain} if certain else {}
    told |= {"elsewhere": True} if is_from_others(event.prompt or "") else {}
    told |= {"back": True} if prompt.takes_back else {}
    is_cut = masked != event.prompt or sum(map(len, prompt.lasting)) > len([*rules, *decisions, *facts])
    told |= {"left_out": True} if is_cut or prompt.is_left_out else {}
    told |= {"overrules": True} if prompt.overrules else {}
    [about] = _unignored([prompt.takes_back_about], event, around) or [""]
    told |= {"back_about": about} if about else {}
    told |= {"back_all": True} if prompt.takes_back_all and not about else {}
    told |= {"aside": True} if prompt.is_aside or (prompt.task and not task) else {}
    return _with_paths(told, [task, *rules, *decisions, *facts], event, around)


def _said(event: HookEvent, around: Around) -> dict[str, Any] | None:
    found = decisions_in(_masked(event.message))
    kept = set(_unignored([text for _kind, text in found], event, around))
    said = [[kind, text] for kind, text in found if text in kept]
    told: dict[str, Any] = {"k": SAY}
    told |= {"asks": True} if (event.message or "").rstrip("*_ \n)").endswith("?") else {}
    if not said:
        return None if event.kind == "agent_stop" else told
    return _with_paths(told | {"said": said}, [text for _kind, text in said], event, around)


def _tool(event: HookEvent, around: Around) -> dict[str, Any] | None:
    tool = (event.tool or "").strip()
    name = tool.lower()
    if name in SHELLS and _PATCH not in shell_text(event.tool_input.get("command"))[:MAX_TEXT]:
        told, undone = _run(event, around), _undone(event, around)
        return {"k": TREE} | (told or {}) | undone if undone else told
    if is_from_elsewhere(ToolCall(tool)):
        is_resource = _RESOURCES.match(tool) and event.tool_input.get("server") in OUR_SERVERS
        is_ours = _OUR_TOOLS.match(tool) or is_resource
        return None if is_ours and "untrusted" not in _flat(event.tool_output) else {"k": ELSEWHERE}
    if name in READERS:
        return {"k": ELSEWHERE} if _reads_elsewhere(event, around) else None
    if (name in EDITORS or name in SHELLS) and event.kind == "tool_end":
        paths = told_paths(paths_of_input(event.tool_input), around, event.cwd)
        return {"k": EDIT, "tool": tool, "paths": list(paths)} | _id(event) if paths else None
    return None


def _run(event: HookEvent, around: Around) -> dict[str, Any] | None:
    status = status_of(event)
    failed = event.kind == "tool_failure" or bool(status)
    command, said = _ran_and_said(event) if failed else (_masked(_command(event)), "")
    is_outside = any(_is_outside(path, event, around) for path in files_shown(command))
    printed = None if failed or not _has_worked(event) or _has_no_end(event) else _printed(event)
    is_elsewhere = is_outside or is_from_elsewhere(ToolCall(event.tool or "", command), printed=printed)
    ran = understood(command)
    nothing = {"k": ELSEWHERE} if is_elsewhere else None
    if ran is None or names_ignored(command, event, around) or phrase("refused").search((event.error or "")[:500]):
        return nothing
    folder = _folder(ran.folder, event, around)
    if folder.startswith(_OUTSIDE):  # what has the same name there is not the same
        return nothing
    there = replace(event, cwd=f"{around.root or event.cwd}/{folder}") if folder else event
    if names_ignored(f"{folder}/x {ran.command}", there, around):
        return nothing
    if not (failed or _has_worked(event)) or _has_no_end(event):
        return nothing
    if not (ran.tells_failure if failed else ran.tells_status):
        return nothing
    told: dict[str, Any] = {"k": RUN, "tool": event.tool, "command": ran.command, "kind": ran.kind}
    told["key"] = " in ".join(filter(None, (ran.key, folder)))
    told |= {"whole": " in ".join(filter(None, (ran.whole, folder)))} if ran.whole else {}
    told |= {"folder": folder} if _FOLDER.fullmatch(folder) else {}
    told |= {"failed": True, "status": status} if failed else {"ok": True}
    line = _what_went_wrong(said) if failed and not is_elsewhere else None
    if line and not (names_ignored(line, event, around) or names_ignored(line, there, around)):
        told["error"] = line
    told |= {"general": True} if ran.is_general else {}
    told |= {"fixes": True} if ran.fixes else {}
    told |= {"set": list(ran.variables)} if ran.variables else {}
    told |= {"elsewhere": True} if is_elsewhere else {}
    return _with_paths(told | _id(event), [ran.command], there, around)


def _undone(event: HookEvent, around: Around) -> dict[str, Any]:
    """What a command did to files that were changed. That git keeps them is believed also where something else of
    the line went wrong, or nobody tells."""
    undone = undone_by(_command(event))
    told = {"keeps": True} if undone.keeps else {}
    if event.kind == "tool_failure" or status_of(event) or not _has_worked(event) or _has_no_end(event):
        return told
    named = {"put_back": undone.put_back, "removed": undone.removed}
    places = {name: _places(paths, event, around) for name, paths in named.items()}
    return told | {name: found for name, found in places.items() if found}


def _places(paths: Sequence[str], event: HookEvent, around: Around) -> list[str]:
    """Files and folders from the root, which is `.` itself."""
    here, root = event.cwd or around.root or "", _normal(around.root or event.cwd or "")
    is_all = any(_normal(f"{here}/{path}") == root for path in paths)
    return [*told_paths(paths, around, event.cwd), *(["."] if is_all else [])]


def runs_outside(event: HookEvent, around: Around) -> bool:
    """Whether a command went to another repository: what it names is not what has that name here."""
    command = _command(event)
    is_shell = (event.tool or "").strip().lower() in SHELLS
    return is_shell and _folder(left_in(command), event, around).startswith(_OUTSIDE)


def _reads_elsewhere(event: HookEvent, around: Around) -> bool:
    """Whether what is read lies outside of the repository, or in it and was written by others."""
    given = {key: value[:1_000] for key, value in event.tool_input.items() if isinstance(value, str)}
    if any(is_foreign_place(f"{value}/x") for value in given.values()):
        return True
    return any(_is_outside(given[key], event, around) for key in READ_KEYS if given.get(key))


def _is_outside(place: str, event: HookEvent, around: Around) -> bool:
    root = around.root or event.cwd
    if place.startswith("/dev/") or _OF_TASKS.match(_normal(place)):
        return False
    return _normal(place) != _normal(root or "") and not _from_root(place, root, event.cwd)


def _folder(gone_to: str, event: HookEvent, around: Around) -> str:
    """Where a command ran, from the root of the repository if it lies within; '' for the root. A host may tell the
    directory in which the command has left the shell."""
    given = event.tool_input.get("workdir")
    root, here = _normal(around.root or event.cwd or ""), given if isinstance(given, str) else event.cwd or ""
    folder = "." if f"/{_normal(here)}".endswith(f"/{_normal(gone_to)}") else gone_to or "."
    place = _from_root(folder, root, here, anywhere=True)
    return "" if place in (root, "") else _masked(_in_any_tree(f"{place}/").rstrip("/"))


def _has_worked(event: HookEvent) -> bool:
    """Of a call that nobody said has failed. A host that tells a failure by its output alone may leave it out."""
    output = event.tool_output
    is_said = exit_code(output) == 0 or (isinstance(output, Mapping) and output.get("success") is True)
    return is_said or not HOSTS[event.host].fails_in_output


def _has_no_end(event: HookEvent) -> bool:
    """Whether it was left running, or stopped: how it would have ended is not known."""
    output = event.tool_output
    if event.is_interrupted or event.tool_input.get("run_in_background") is True:
        return True
    if isinstance(output, Mapping):
        return bool(output.get("backgroundTaskId")) or output.get("interrupted") is True
    return isinstance(output, str) and _LEFT_RUNNING.match(output) is not None


def _printed(event: HookEvent) -> str:
    """What a command said, without what the host says of it."""
    output = event.tool_output
    told = output.get("stdout", output.get("output")) if isinstance(output, Mapping) else output
    return told[:MAX_BEGUN] if isinstance(told, str) else ""


def status_of(event: HookEvent) -> int | None:
    """The exit status, where the host tells it: as a number, or in words."""
    status = exit_code(event.tool_output)
    found = _EXIT.search((event.error or "")[:2_000]) if status is None else None
    return int(found[1]) if found else status


def what_went_wrong(event: HookEvent) -> str | None:
    """The line that says it, the same each time it goes wrong the same way."""
    return _what_went_wrong(_ran_and_said(event)[1])


def _ran_and_said(event: HookEvent) -> tuple[str, str]:
    """The command, and what was said of its failure: whatever is secret in one of them is so in the other."""
    ran = _command(event)
    command, said = _masked_together(ran, _COLOUR.sub("", event.error or ""))
    return (command, said) if said else _masked_together(ran, _COLOUR.sub("", _flat(event.tool_output)))


def _what_went_wrong(text: str) -> str | None:
    said = own_words(text).splitlines()
    # Which script failed comes first: it is told where nothing below sounds like trouble.
    scripts = [line for line in said if phrase("failed script", r"^\W*").match(line)]
    lines = [*scripts, *(line for line in said if not _is_count(line))]
    # A compiler's first complaint is the one to mend; everything else says it last.
    line = next(
        (one.strip()[:MAX_ERROR] for one in lines if _COMPLAINT.search(one[:MAX_ERROR])), None
    ) or error_line("\n".join(lines))
    if line and len(line) < SHORT and (rest := _after(line, lines)):
        line = f"{line} {rest}"  # a headline: what it is about stands below
    told = " ".join(_VARYING.sub("", line).strip(" =-").split()) if line else ""
    return None if _SAYS_NOTHING.fullmatch(told) else told


def _after(line: str, lines: Sequence[str]) -> str:
    below = [one.strip() for one in lines]
    at = len(below) - 1 - below[::-1].index(line) if line in below else len(below)
    return next((one for one in below[at + 1 :] if any(map(str.isalnum, one))), "")[:MAX_BELOW]


def _is_count(line: str) -> bool:
    """A line that counts or announces; what went wrong stands in another."""
    return bool(phrase("counts", r"^\W*").match(line.strip()))


# -- texts and paths -------------------------------------------------------------------------------


def _masked(text: str | None) -> str:
    return redact((text or "")[:MAX_TEXT]).text


def _masked_together(one: str, other: str) -> tuple[str, str]:
    first, second = redact_together((one[:MAX_TEXT], other[:MAX_TEXT]))
    return first.text, second.text


def _command(event: HookEvent) -> str:
    return shell_text(event.tool_input.get("command") or event.tool_input.get("cmd"))


def _flat(value: object) -> str:
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, Mapping):
        return "\n".join(_flat(part) for part in list(value.values())[:50])[:MAX_TEXT]
    if isinstance(value, list | tuple):
        return "\n".join(_flat(part) for part in value[:50])[:MAX_TEXT]
    return ""


def _id(event: HookEvent) -> dict[str, Any]:
    return {"id": _masked(event.tool_use_id)[:120]} if event.tool_use_id else {}


def _with_paths(told: dict[str, Any], texts: Iterable[str], event: HookEvent, around: Around) -> dict[str, Any]:
    paths = told_paths((path for text in texts for path in _named_files(text)), around, event.cwd)
    return told | ({"paths": list(paths)} if paths else {})


def _named_files(text: str) -> list[str]:
    """Files that a sentence or a command names: with a folder, or with an ending that code has."""
    words = (word.partition("::")[0].rstrip(".,") for word in _words(text))
    return [word for word in words if _FILE.fullmatch(word)]


def _unignored(texts: Sequence[str], event: HookEvent, around: Around) -> list[str]:
    return [text for text in texts if text and not names_ignored(text, event, around)]


def names_ignored(text: str, event: HookEvent, around: Around) -> bool:
    named = (_from_root(word, around.root or event.cwd, event.cwd, anywhere=True) for word in _guesses(text))
    return any(is_ignored(one, around.ignored) for path in named if path for one in {path, _in_any_tree(path)})


def _guesses(text: str) -> Iterator[str]:
    """Each word that may be a path, also without what a sentence puts around it, and between letters that have no
    spaces beside them."""
    for word in _words(text):
        yield from dict.fromkeys((word, word.strip("[]{}*!?").rstrip("."), *_PLAIN.findall(word)))


def _words(text: str) -> list[str]:
    """Everything that may be a path: `cat .env` has no folder and no ending."""
    return [
        word
        for word in re.split(r"[\s\"'`,;:()<>|&=，。；：、（）“”「」！？]+", text)
        if word and ("." in word or "/" in word or "_" in word)
    ]


def _from_root(path: str, root: str | None, cwd: str | None, *, anywhere: bool = False) -> str:
    """'' for what lies outside of the root, unless that is asked for. An address does, and stays as it is: without
    one of its slashes nobody would see the password in it."""
    whole = path if path.startswith(("/", "~")) or not cwd else f"{cwd.rstrip('/')}/{path}"
    if "://" in whole:
        return path if anywhere else ""
    normal = _normal(whole.replace("\\", "/"))
    base = _normal((root or "").replace("\\", "/")).rstrip("/")
    if base and normal.startswith(base + "/"):
        return normal[len(base) + 1 :]
    if not whole.startswith(("/", "~")) and not normal.startswith(".."):
        return normal
    return normal if anywhere else ""


def _in_any_tree(path: str) -> str:
    """As every working tree has it: one that an agent has made within the repository is gone some day."""
    return _WORKTREE.sub("", path, count=1)


def _normal(path: str) -> str:
    """Without `.` and `..`, and without looking at any file."""
    parts: list[str] = []
    for part in PurePosixPath(path).parts:
        if part == ".." and parts and parts[-1] not in ("..", "/"):
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts).replace("//", "/", 1)
