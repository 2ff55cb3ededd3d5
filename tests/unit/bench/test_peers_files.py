"""Which files of a folder the peers are measured with, and how they are read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[3] / "tools" / "peers"
CORPUS = {
    "corpus": "talk",
    "units": [{"id": 1, "text": "said", "at": 1710460800}],
    "questions": [{"id": "q", "text": "asked", "gold": ["1"], "category": "c"}],
}
LISTED = """
import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.insert(0, sys.argv[1])
from run import _files
from units import read_corpora

for file in _files(Namespace(stages=["quality"], data=sys.argv[2])):
    [corpus] = read_corpora(file)
    print(file.name, corpus.name, corpus.units[0].at)
"""


def listed(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LISTED, str(PEERS), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_plain_and_packed_files_are_both_measured(tmp_path: Path) -> None:
    line = json.dumps(CORPUS).encode()
    (tmp_path / "plain.jsonl").write_bytes(b"\xef\xbb\xbf" + line)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(line))
    (tmp_path / "packed-too.jsonl").write_bytes(gzip.compress(line + b" \n"))
    (tmp_path / "other.json").write_bytes(line)
    lines = sorted(listed(tmp_path).stdout.splitlines())
    names = ["packed-too.jsonl", "packed.jsonl.gz", "plain.jsonl"]
    assert lines == [f"{name} talk 2024-03-15 00:00:00+00:00" for name in names]


def test_two_files_of_one_name_and_none_at_all_are_refused(tmp_path: Path) -> None:
    assert "holds no *.jsonl" in listed(tmp_path).stderr
    (tmp_path / "talk.jsonl").touch()
    (tmp_path / "talk.jsonl.gz").touch()
    assert "holds talk both packed and plain" in listed(tmp_path).stderr


@pytest.mark.parametrize("words", [["--limit", "0"], ["--limit", "nan"], ["--sizes", "0"], ["--sizes", "10,-1"]])
def test_a_run_in_which_nothing_can_be_measured_is_refused(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, PEERS / "run.py", "--stages", "speed", "--work", tmp_path, *words]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "measured" in refused.stderr and not list(tmp_path.iterdir())


ESTIMATE = """
import sys
from argparse import Namespace
from pathlib import Path

import pytest

sys.path.insert(0, sys.argv[1])
from catalogue import PEERS
from run import Results, _estimate_s

asked = Namespace(stages=["first", "speed"], limit=20.0)
print(_estimate_s(list(PEERS[:2]), asked, Results(Path(sys.argv[2]) / "results.json")))
"""


def test_no_peer_is_expected_to_take_longer_than_it_may(tmp_path: Path) -> None:
    told = subprocess.run([sys.executable, "-c", ESTIMATE, PEERS, tmp_path], capture_output=True, check=True)
    assert float(told.stdout) == 40
