"""`clew install`: our entries in, our entries out, and nothing else of the host's file touched."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_driver import Cli
from hook_driver import CLIENT, EVENT, Listener, answering
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.errors import Conflict
from clew.surfaces.cli.table_hosts import HOST_NAMES, SCOPES
from clew.surfaces.hooks import install, merge
from clew.surfaces.hooks.hosts import CLAUDE_CODE, CODEX, HOSTS

WORDS = ["/usr/bin/python3", "-I", "-S", "/opt/clew_hook.py", "claude-code", "/home"]
OTHERS = """{
    "model": "opus",  "permissions": {"allow": ["Bash(git:*)", "Read"]},
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [ {"type": "command", "command": "guard \\u00e9", "timeout": 3} ]
            }
        ]
    },
    "unknown": [1.50, null]
}
"""


@pytest.fixture
def person(cli: Cli, tmp_path: Path) -> Path:
    """Somebody's home directory."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        cli.patch.delenv(name, raising=False)
    cli.patch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person" / ".claude").mkdir(parents=True)
    return tmp_path / "person"


@pytest.fixture
def file(person: Path) -> Path:
    settings_file = person / ".claude" / "settings.json"
    settings_file.write_text(OTHERS)
    return settings_file


def hooks_in(file: Path) -> dict[str, Any]:
    hooks: dict[str, Any] = json.loads(file.read_text())["hooks"]
    return hooks


def own(hooks: dict[str, Any], event: str) -> list[dict[str, Any]]:
    return [handler for group in hooks[event] for handler in group["hooks"] if merge.is_ours(handler)]


def test_the_table_of_the_command_line_names_what_the_installer_knows() -> None:
    assert tuple(HOSTS) == HOST_NAMES and install.SCOPES == SCOPES


def test_every_event_is_hooked_in_exec_form_with_absolute_paths(cli: Cli, file: Path) -> None:
    assert cli("install", "claude-code").code == 0
    hooks = hooks_in(file)
    assert set(hooks) == set(CLAUDE_CODE.timeouts) and len(hooks) == 11
    (start,) = hooks["SessionStart"]
    assert start["matcher"] == "startup|resume|clear|compact|fork" and start["hooks"][0]["timeout"] == 5
    handler = own(hooks, "PostToolBatch")[0]
    assert handler["args"] == ["-I", "-S", CLIENT, "claude-code", str(cli.home)]
    assert Path(handler["command"]).is_absolute() and handler["timeout"] == 2


def test_what_was_installed_runs(cli: Cli, file: Path) -> None:
    cli("install", "claude-code")
    handler = own(hooks_in(file), "Stop")[0]
    with Listener(cli.home, answering(b"it works")):
        done = subprocess.run([handler["command"], *handler["args"]], input=EVENT, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"it works")


def test_codex_gets_one_line_for_its_shell_and_only_its_events(cli: Cli, person: Path) -> None:
    outcome = cli("install", "codex", "--json")
    assert any("trust" in line for line in outcome.json["warnings"])
    document = json.loads((person / ".codex" / "hooks.json").read_text())
    assert list(document) == ["hooks"] and set(document["hooks"]) == set(CODEX.timeouts)
    assert not {"PostToolUseFailure", "PostToolBatch"} & set(document["hooks"])
    (handler,) = own(document["hooks"], "SessionEnd")
    assert set(handler) == {"type", "command", "timeout"} and handler["timeout"] <= 3
    assert shlex.split(handler["command"])[1:] == ["-I", "-S", CLIENT, "codex", str(cli.home)]


def test_a_second_time_changes_no_byte_and_keeps_no_second_copy(cli: Cli, file: Path) -> None:
    first = cli("install", "claude-code", "--json").json
    before, stamp = file.read_bytes(), file.stat().st_mtime_ns
    again = cli("install", "claude-code", "--json").json
    assert (first["changed"], again["changed"]) == (True, False) and "backup" not in again
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, stamp)
    assert Path(first["backup"]).read_text() == OTHERS


def test_uninstalled_the_file_is_byte_for_byte_what_it_was(cli: Cli, file: Path) -> None:
    cli("install", "claude-code")
    assert all(
        line in file.read_text() for line in OTHERS.splitlines() if "say done" not in line and line.strip("{}], ")
    )
    assert cli("uninstall", "claude-code", "--json").json["changed"]
    assert file.read_text() == OTHERS
    assert not cli("uninstall", "claude-code", "--json").json["changed"]


@pytest.mark.parametrize("host", HOST_NAMES)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_file_and_a_directory_that_only_we_made_go_with_us(cli: Cli, person: Path, host: str, scope: str) -> None:
    (person / ".claude").rmdir()
    cli("install", host, "--scope", scope)
    assert list(person.iterdir()) or list(cli.directory.iterdir())
    cli("uninstall", host, "--scope", scope)
    assert list(person.iterdir()) == [] and list(cli.directory.iterdir()) == []


def test_what_others_put_into_our_file_stays_when_we_go(cli: Cli, person: Path) -> None:
    file = person / ".codex" / "hooks.json"
    cli("install", "codex")
    document = json.loads(file.read_text())
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    document["hooks"]["Stop"].insert(0, theirs)
    file.write_text(json.dumps(document))
    cli("uninstall", "codex")
    assert json.loads(file.read_text()) == {"hooks": {"Stop": [theirs]}}


def test_an_older_entry_of_ours_is_replaced_not_doubled(cli: Cli, file: Path) -> None:
    cli("install", "claude-code", "--home", "/old/home")
    cli("install", "claude-code")
    hooks = hooks_in(file)
    assert [len(own(hooks, event)) for event in hooks] == [1] * 11
    assert "/old/home" not in file.read_text()
    cli("uninstall", "claude-code")
    assert file.read_text() == OTHERS


def test_our_handler_among_those_of_others_goes_alone() -> None:
    mixed = {"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "a"}, None, {
        "type": "command", "command": "python3 '/opt/my tools/clew_hook.py' codex /h"}]}]}}  # fmt: skip
    after = json.loads(merge.without_hooks(json.dumps(mixed)))
    assert after == {"hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "a"}, None]}]}}


@pytest.mark.parametrize(
    ("handler", "ours"),
    [
        ({"command": "clew", "args": ["hook", "claude-code"]}, True),
        ({"command": "/opt/bin/clew hook codex"}, True),
        ({"command": "C:\\py\\python.exe", "args": ["-I", "C:\\x\\clew_hook.py"]}, True),
        ({"command": "clew", "args": ["recall", "x"]}, False),
        ({"command": "my-clew hook"}, False),
        ({"command": "unbalanced 'quote"}, False),
        ({"command": None}, False),
        ({"type": "http", "url": "http://x/clew_hook.py"}, False),
        ("clew_hook.py", False),
    ],
)
def test_which_handlers_are_ours(handler: Any, ours: bool) -> None:
    assert merge.is_ours(handler) == ours


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from([*CLAUDE_CODE.timeouts, "Notification"]),
        st.lists(
            st.fixed_dictionaries(
                {"hooks": st.lists(st.sampled_from([{"command": "a"}, {"command": "clew hook x"}]), max_size=3)}
            ),
            max_size=3,
        ),
    ),
    st.sampled_from([None, 2, 4, "\t"]),
)
def test_whatever_hooks_there_are_others_stay_equal_and_ours_come_once(hooks: Any, indent: Any) -> None:
    before = json.dumps({"x": 1, "hooks": hooks, "y": 2}, indent=indent)
    groups = CLAUDE_CODE.groups(WORDS)
    after = merge.with_hooks(before, groups)
    assert merge.with_hooks(after, groups) == after
    document = json.loads(after)["hooks"]
    assert all(len(own(document, event)) == 1 for event in groups)
    assert not merge.has_hooks(merge.without_hooks(after))
    kept = [
        one for event in document for group in document[event] for one in group["hooks"] if not merge.is_ours(one)
    ]
    assert len(kept) == sum(
        one == {"command": "a"} for groups in hooks.values() for group in groups for one in group["hooks"]
    )


# -- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1,}', "// comment\n{}", "[]", '"x"', '{"hooks": []}', '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": ["x"]}}', '{"a": ', "\x00", "[" * 100_000,
    ],
    ids=lambda text: text[:24],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_file_that_is_not_understood_is_refused_and_not_touched(
    cli: Cli, file: Path, verb: str, text: str
) -> None:
    file.write_text(text)
    outcome = cli(verb, "claude-code", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "HOST_FILE_ODD")
    assert str(file) in outcome.error["message"] and outcome.error["next"]
    assert file.read_text() == text and not (cli.home / "backups").exists()


def test_bytes_that_are_no_text_and_files_that_are_none_are_refused(cli: Cli, file: Path) -> None:
    file.write_bytes(b'{"a": "\xff"}')
    assert cli("install", "claude-code", "--json").error["code"] == "HOST_FILE_ODD"
    file.unlink()
    os.mkfifo(file)
    assert cli("install", "claude-code", "--json").error["code"] == "HOST_FILE_ODD"


def test_links_that_lead_in_a_circle_are_told_as_such(cli: Cli, file: Path) -> None:
    file.unlink()
    file.symlink_to(file)
    error = cli("install", "claude-code", "--json").error
    assert error["code"] == "HOST_FILE_ODD" and "links" in error["message"] and "UTF-8" not in error["message"]


def test_an_empty_file_counts_as_none(cli: Cli, file: Path) -> None:
    file.write_text("\n")
    assert cli("install", "claude-code").code == 0 and len(hooks_in(file)) == 11


def test_a_link_is_followed_and_stays_one(cli: Cli, file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    file.rename(kept)
    file.symlink_to(kept)
    kept.chmod(0o640)
    cli("install", "claude-code")
    assert file.is_symlink() and len(hooks_in(kept)) == 11 and kept.stat().st_mode & 0o777 == 0o640


def test_a_link_out_of_a_project_is_refused(cli: Cli, file: Path) -> None:
    """A cloned repository must not reach the user's own settings."""
    (cli.directory / ".claude").symlink_to(file.parent)
    outcome = cli("install", "claude-code", "--scope", "project", "--json")
    assert outcome.error["code"] == "HOST_FILE_OUTSIDE" and file.read_text() == OTHERS


def test_who_edits_meanwhile_wins(file: Path, tmp_path: Path) -> None:
    plan = install.plan_install("claude-code", file, words=WORDS)
    file.write_text('{"new": true}')
    with pytest.raises(Conflict):
        install.carry_out(plan, home=tmp_path)
    assert file.read_text() == '{"new": true}' and [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_an_unwritable_place_is_told(cli: Cli, person: Path) -> None:
    (person / ".codex").touch()
    outcome = cli("install", "codex", "--json")
    assert (outcome.code, outcome.error["code"]) == (5, "HOST_FILE_UNWRITABLE")


# -- where, and what is told -------------------------------------------------------------------------


def test_a_dry_run_shows_the_change_and_makes_none(cli: Cli, file: Path) -> None:
    outcome = cli("install", "claude-code", "--dry-run")
    assert "would add hooks" in outcome.out and "+" in outcome.out and "PostToolBatch" in outcome.out
    assert file.read_text() == OTHERS and not cli.home.exists()


@pytest.mark.parametrize(("host", "variable"), [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")])
def test_the_hosts_own_variable_moves_its_directory(cli: Cli, person: Path, host: str, variable: str) -> None:
    cli.patch.setenv(variable, str(person / "elsewhere"))
    told = cli("install", host, "--json").json
    assert Path(told["file"]).parent == person / "elsewhere" and Path(told["file"]).is_file()


def test_in_a_project_the_file_belongs_to_the_repository(cli: Cli, person: Path) -> None:
    (cli.directory / ".git").mkdir()
    (cli.directory / "deep").mkdir()
    cli.patch.chdir(cli.directory / "deep")
    outcome = cli("install", "claude-code", "--scope", "project")
    assert len(hooks_in(cli.directory / ".claude" / "settings.json")) == 11
    assert "paths of this machine" in outcome.out


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("settings.json", '{"enabledPlugins": {"clew@market": true}}'),
        ("plugins/installed_plugins.json", '{"plugins": {"clew@market": [{}]}}'),
    ],
)
def test_a_plugin_besides_is_told(cli: Cli, person: Path, place: str, text: str) -> None:
    (person / ".claude" / "plugins").mkdir()
    (person / ".claude" / place).write_text(text)
    assert "told twice" in cli("install", "claude-code").out
    (person / ".claude" / "settings.json").write_text('{"enabledPlugins": {"clew@market": false}}')
    assert "told twice" not in cli("install", "claude-code").out


def test_hooks_that_are_switched_off_are_told(cli: Cli, person: Path) -> None:
    (person / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    assert any("disableAllHooks" in line for line in cli("install", "claude-code", "--json").json["warnings"])


def test_tools_are_added_by_the_hosts_own_command(cli: Cli, person: Path) -> None:
    """Its file for them holds much that is not ours to write."""
    told = cli("install", "claude-code", "--json").json
    assert (
        told["mcp"].startswith("claude mcp add --scope user clew -- ") and " -P -m clew mcp --home " in told["mcp"]
    )
    assert cli("uninstall", "codex", "--json").json["mcp"] == "codex mcp remove clew"
    assert not (person / ".claude.json").exists()


@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n",
        "{}",
        "{\n}",
        "{\n}\n",
        '{"hooks": {}}',
        '{"hooks":{"Stop":[]}}',
        '{\r\n\t"hooks": {}\r\n}\r\n',
        "\ufeff{}",
    ],
)
def test_what_nobody_else_has_written_is_put_back_to_the_byte(cli: Cli, file: Path, before: str) -> None:
    file.write_bytes(before.encode())
    for _again in range(2):
        assert cli("install", "claude-code").code == 0
    assert cli("uninstall", "claude-code").code == 0
    assert file.read_bytes() == before.encode()


def test_what_somebody_wrote_after_us_stays(cli: Cli, file: Path) -> None:
    file.write_text('{"hooks":{"Stop":[]}}')
    cli("install", "claude-code")
    file.write_text(file.read_text().replace("{", '{"model": "opus", ', 1))
    cli("uninstall", "claude-code")
    assert json.loads(file.read_text()) == {"model": "opus"}


def test_hooks_of_an_older_install_do_not_come_back(cli: Cli, file: Path) -> None:
    file.write_text(merge.with_hooks(OTHERS, CLAUDE_CODE.groups(WORDS)))
    cli("install", "claude-code")
    cli("uninstall", "claude-code")
    assert json.loads(file.read_text()) == json.loads(OTHERS)


@pytest.mark.parametrize("words", [("install", "claude-code"), ("off",)])
def test_the_home_is_for_its_owner_alone_whoever_makes_it(cli: Cli, file: Path, words: tuple[str, ...]) -> None:
    home = file.parent / "data" / "clew"
    old = os.umask(0)
    try:
        assert cli(*words, "--home", str(home)).code == 0
    finally:
        os.umask(old)
    made = [home, *(place for place in home.rglob("*") if place.is_dir())]
    assert {place.stat().st_mode & 0o777 for place in made} == {0o700} and len(made) > 1


def test_the_doctor_objects_to_a_home_that_others_may_write(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o777)
    told = cli("doctor", "--home", str(tmp_path / "wide"))
    assert told.code != 0 and "others may replace files" in told.out
