"""Of a script that failed in one of several packages the line that says why is told, else which script it was."""

from __future__ import annotations

import pytest

from clew.hosts.reduce import reduced
from clew.model.host import Around, HookEvent


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (
            "Compiling message catalogs\n"
            " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  @acme/web@1.0.0 i18n: `lingui compile`\nExit status 1",
            "ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL @acme/web@1.0.0 i18n: `lingui compile`",
        ),
        (
            "src/a.ts(3,1): error TS2304: Cannot find name 'cart'.\n"
            " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  @acme/ui build: `tsc`",
            "src/a.ts(3,1): error TS2304: Cannot find name 'cart'.",
        ),
    ],
)
def test_which_script_failed_is_told_where_nothing_says_why(printed: str, line: str) -> None:
    failed = HookEvent("claude-code", "tool_failure", "PostToolUseFailure", "s", "e", cwd="/work/shop", tool="Bash",
                       tool_input={"command": "pnpm -r test"}, error=f"Exit code 1\n{printed}")  # fmt: skip
    told = reduced(failed, Around(project="shop", root="/work/shop", ignored=()))
    assert told is not None
    assert told["error"] == line
