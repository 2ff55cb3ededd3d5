"""docs/postgres.md is followed from its first command to its last, on a server of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import clew
from clew.bench.postgres_server import PostgresServer, installed, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

PAGE = (Path(__file__).parents[1] / "docs/postgres.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
TOKEN = re.compile(r"\bclew_\w{26}_[\w-]{40,}")
WAIT_S = 60.0
SHOP = "github.com/acme/shop"


class Reader:
    """Somebody who types what the page says into one shell, on a machine that plays every part."""

    def __init__(self, folder: Path, server: PostgresServer, *, database: int, network: int) -> None:
        self.folder, self.network, self.server_group = folder, network, 0
        # All that differs from the page: where the database and the server are. Tokens are those that were shown.
        self.places = {
            "db.example.org:5432": f"127.0.0.1:{database}",
            "0.0.0.0:7443": f"127.0.0.1:{network}",
            "clew.example.org:7443": f"127.0.0.1:{network}",
            "DNS:clew.example.org": "IP:127.0.0.1",
            "clew.example.org": "127.0.0.1",
        }
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{installed() / 'bin'}:{os.defpath}",
            "HOME": str(folder),
            "PGHOST": str(server.place),  # the administrator sits on the server itself
            "PGPORT": str(database),
            "PGUSER": "postgres",
        }

    def types(self, block: str) -> str:
        """What it printed. Variables stay for the next block, programs in the background run on."""
        for name, place in self.places.items():
            block = block.replace(name, place)
        script = f"set -eu; touch variables; . ./variables\n{block}\nexport -p > variables"
        with (self.folder / "output").open("wb") as output:
            shell = subprocess.Popen(
                ["bash", "-c", script], cwd=self.folder, env=self.environment, stdout=output, stderr=output,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            status = shell.wait(timeout=WAIT_S)
        said = (self.folder / "output").read_text(encoding="utf-8")
        assert status == 0, f"{block}\n{said}"
        if "clew serve" in block:
            self.server_group = shell.pid  # stays its own for as long as the server lives
            wait_for(self.network)
        for number, token in enumerate(TOKEN.findall(said)):
            self.places[("clew_ann_...", "clew_bob_...")[number]] = token
        return said

    def leave(self) -> None:
        if self.server_group:
            with suppress(ProcessLookupError):
                os.killpg(self.server_group, signal.SIGTERM)


def free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def wait_for(port: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    """On an empty server that asks for passwords, with a store of one's own from earlier."""
    database, network = free_ports()
    with clew.open(folder / ".local/share/clew/clew.db", home=folder / "other") as memory:
        memory.remember("We deploy from the branch release.", type="fact", scope=clew.Scope(project=SHOP))
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(port=database))
        rules = "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        (server.data / "pg_hba.conf").write_text(rules, encoding="utf-8")
        server.sql("select pg_reload_conf()")
        reader = Reader(folder, server, database=database, network=network)
        stack.callback(reader.leave)
        yield reader


def found(url: str, home: Path, org: str) -> str:
    """What somebody in this org finds by the question of the page."""
    who = clew.Identity(org, "eve", roles=("member",))
    with clew.open(url, home=home) as memory:
        answer = memory.recall("when do we deploy?", scope=clew.Scope(org, SHOP), identity=who)
    return " ".join(result.memory.content for result in answer.results)


def test_the_page_leads_from_an_empty_server_to_a_team_and_its_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reading(tmp_path) as reader:
        said = "".join(reader.types(block) for block in BLOCKS)
        assert "We deploy on Tuesdays" in said and "acme  mapping" in said
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
        url = f"postgresql://clew_app@{reader.places['db.example.org:5432']}/clew_restored"
        homes = (tmp_path / name for name in ("one", "two", "three"))
        texts = [found(url, home, org) for home, org in zip(homes, ("acme", "globex", "local"), strict=True)]
        assert ["Tuesdays" in text for text in texts] == [True, False, False]
        assert "branch release" in texts[2]


def database_of(url: str) -> str:
    return url.split("/")[3].split("?")[0]


def migrated_further(server: PostgresServer, url: str) -> None:
    """By a Clew of the future."""
    later = "insert into clew.clew_migrations (number, slug) values (999, 'later')"
    server.sql(later, database=database_of(url))


def test_a_process_goes_on_when_the_schema_is_migrated_and_an_older_one_does_not_start(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    with clew.open(postgres_url, home=tmp_path) as memory:
        memory.remember("We deploy on Tuesdays.")
        migrated_further(postgres, postgres_url)
        memory.remember("We deploy from the branch release.")
        assert len(memory.recall("when do we deploy?").results) == 2
        with pytest.raises(clew.ClewError) as refused:
            clew.open(postgres_url, home=tmp_path)
    assert refused.value.code == "STORE_NEWER"


def test_the_application_is_refused_to_migrate(postgres: PostgresServer, postgres_url: str) -> None:
    from clew.store.postgres import migrate

    assert migrate(postgres_url) == []  # there is nothing to do
    last = "delete from clew.clew_migrations where number = (select max(number) from clew.clew_migrations)"
    postgres.sql(last, database=database_of(postgres_url))
    with pytest.raises(clew.ClewError) as refused:
        migrate(postgres_url)
    assert refused.value.code == "STORE_NOT_MIGRATED" and "owner's URL" in refused.value.next


def test_on_a_server_that_only_reads_a_write_says_so(
    postgres: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    postgres.sql(f"alter database {database_of(postgres_url)} set default_transaction_read_only = on")
    with clew.open(postgres_url, home=tmp_path) as memory:
        assert memory.list() == []
        with pytest.raises(clew.ClewError) as refused:
            memory.remember("We deploy on Tuesdays.")
    assert refused.value.code == "STORE_READ_ONLY" and "primary" in refused.value.next


def test_a_dump_by_a_role_that_sees_one_org_fails_instead_of_leaving_rows_out(
    postgres: PostgresServer, postgres_url: str
) -> None:
    postgres.sql("do $$ begin create role clew_half login; exception when duplicate_object then null; end $$")
    postgres.sql("grant pg_read_all_data to clew_half")  # of the server, which ends with the run
    url = postgres_url.replace("clew_app@", "clew_half@")
    dumped = subprocess.run(
        [installed() / "bin/pg_dump", "--schema=clew", "--dbname", url],
        capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert dumped.returncode != 0 and "row-level security" in dumped.stderr


def test_every_error_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", PAGE)) - {"CLEW_URL"}
    sources = "".join(
        file.read_text(encoding="utf-8") for file in (Path(clew.__file__).parent / "store").glob("*.py")
    )
    assert named and [code for code in sorted(named) if f'code="{code}"' not in sources] == []
