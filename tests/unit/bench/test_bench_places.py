"""Where benchmarks write: whole files, beside what they read."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.bench.places import check_place, write, written
from clew.errors import InvalidInput


@pytest.mark.parametrize("link", [Path.hardlink_to, Path.symlink_to])
def test_what_is_read_is_no_place_under_another_name_either(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "talk.jsonl").touch()
    link(tmp_path / "ranked.jsonl", tmp_path / "talk.jsonl")
    with pytest.raises(InvalidInput, match="is what is read"):
        check_place(tmp_path / "ranked.jsonl", [tmp_path / "talk.jsonl"])


def test_an_earlier_file_stays_whole_until_the_new_one_is(tmp_path: Path) -> None:
    out = tmp_path / "ranked.jsonl"
    out.write_text("earlier")
    with pytest.raises(OSError, match="No space left"), written(out) as file:
        file.write(b"cut off")
        raise OSError(28, "No space left on device")
    assert out.read_text() == "earlier" and list(tmp_path.iterdir()) == [out]


def test_a_new_file_has_the_rights_of_the_one_it_replaces_and_a_link_still_leads_to_it(tmp_path: Path) -> None:
    report: dict[str, Any] = {}
    out, link = tmp_path / "ranked.jsonl", tmp_path / "latest.jsonl"
    out.touch(0o600)
    link.symlink_to(out)
    check_place(link)
    write(link, "new", report)
    assert (out.read_text(), out.stat().st_mode & 0o777, link.is_symlink()) == ("new", 0o600, True) and not report


def test_a_file_that_is_called_compressed_is_so(tmp_path: Path) -> None:
    write(tmp_path / "ranked.jsonl.gz", "line\n", {})
    assert gzip.decompress((tmp_path / "ranked.jsonl.gz").read_bytes()) == b"line\n"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="this system has no /dev/null")
def test_a_device_is_written_through_and_stays_one() -> None:
    check_place(Path("/dev/null"))
    write(Path("/dev/null"), "line\n", report := {})
    assert Path("/dev/null").is_char_device() and not report
