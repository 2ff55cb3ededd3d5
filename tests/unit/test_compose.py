"""From settings to a working Clew: which file, which model, and with which values."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import compose
from clew.errors import Misconfigured, Unavailable
from clew.ports import Store
from clew.settings import EmbedSettings, load_settings
from toys import ToyEmbedder

ENDPOINT = {"provider": "endpoint", "url": "http://127.0.0.1:9/v1", "model": "m", "dim": 8}


@pytest.fixture
def arguments(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the endpoint's adapter was given; nothing is sent in these tests."""
    seen: dict[str, Any] = {}

    def note(url: str, model: str, dim: int, key: str, **others: Any) -> ToyEmbedder:
        seen.update(url=url, model=model, dim=dim, key=key, **others)
        return ToyEmbedder(dim=dim)

    monkeypatch.setattr("clew.providers.openai.EndpointEmbedder", note)
    return seen


def endpoint(**changes: Any) -> Any:
    return compose.make_embedder(EmbedSettings(**{**ENDPOINT, **changes}), Path())


def test_store_url_is_live(tmp_path: Path) -> None:
    with clew.open(home=tmp_path, store={"url": str(tmp_path / "there.db")}, embed={"provider": "none"}) as memory:
        memory.remember("x")
    assert [file.name for file in tmp_path.glob("*.db")] == ["there.db"]


def test_store_connections_is_live(tmp_path: Path, postgres_url: str) -> None:
    options = {"url": postgres_url, "connections": 2}
    with clew.open(home=tmp_path, store=options, embed={"provider": "none"}) as memory:
        memory.store.engine._wait_s = 0.1
        held, done = [threading.Event(), threading.Event()], threading.Event()
        readers = [threading.Thread(target=_hold, args=(memory.store, event, done)) for event in held]
        for reader, event in zip(readers, held, strict=True):
            reader.start()
            assert event.wait(10)
        with pytest.raises(Unavailable, match="2 connections"), memory.store.read():
            pass
        done.set()
        for reader in readers:
            reader.join()


def _hold(store: Store, held: threading.Event, done: threading.Event) -> None:
    with store.read():
        held.set()
        done.wait(30)


def test_without_an_address_memories_live_under_the_home(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path, environ={})
    assert compose.database_path(settings) == tmp_path / "clew.db"
    assert compose.database_path(settings, "sqlite:///" + str(tmp_path / "a.db")) == tmp_path / "a.db"
    assert compose.database_path(settings, tmp_path / "b.db") == tmp_path / "b.db"


def test_an_address_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        clew.open("mysql://host/db", home=tmp_path)
    assert refused.value.code == "URL_UNSUPPORTED"


@pytest.mark.parametrize("url", [":memory:", Path(":memory:"), "sqlite:///:memory:"])
def test_a_store_in_memory_is_refused_and_makes_no_file_of_that_name(
    tmp_path: Path, url: str | Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Misconfigured, match="a store is a file") as refused:
        clew.open(url, home=tmp_path)
    assert refused.value.code == "URL_UNSUPPORTED"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:/ann:s3cret@h/db",
        Path("postgresql://ann:s3cret@h/db"),
        "sqlite:/s3cret",
        "host=h password=s3cret",
        "s3cret=1://h",
    ],
)
def test_what_was_meant_for_an_address_makes_no_file(tmp_path: Path, url: str | Path) -> None:
    with pytest.raises(Misconfigured) as refused:
        clew.open(url, home=tmp_path)
    assert refused.value.code == "URL_UNSUPPORTED"
    assert "s3cret" not in f"{refused.value.message} {refused.value.next}"


@pytest.mark.parametrize("url", ["POSTGRESQL://ann@h/Db?sslmode=require", "Postgres://ann@h/Db?sslmode=require"])
def test_a_scheme_may_be_written_in_capitals(tmp_path: Path, url: str) -> None:
    settings = load_settings({"store": {"url": url}}, home=tmp_path, environ={})
    assert compose.store_url(settings) == "postgresql://ann@h/Db?sslmode=require"  # as libpq wants it
    assert compose.store_url(settings, f"SQLite:///{tmp_path}/A.db") == tmp_path / "A.db"


def test_an_address_given_with_the_call_wins_over_the_setting(tmp_path: Path) -> None:
    settings = load_settings({"store": {"url": "one.db"}}, home=tmp_path, environ={})
    assert compose.database_path(settings, tmp_path / "two.db").name == "two.db"


def test_embed_provider_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.providers.static.StaticEmbedder", lambda: "static")
    assert compose.make_embedder(EmbedSettings(provider="none"), Path()) is None
    assert compose.make_embedder(EmbedSettings(provider="static"), Path()) == "static"


def test_the_model_is_made_when_it_is_first_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(compose, "make_embedder", lambda *_: made.append("made"))
    with clew.open(tmp_path / "c.db", home=tmp_path) as memory:
        memory.list()
        assert not made
        memory.remember("x")
        memory.recall("x")
    assert made == ["made"]


def test_embed_url_is_live(arguments: dict[str, Any]) -> None:
    endpoint(url="http://127.0.0.1:1/v1")
    assert arguments["url"] == "http://127.0.0.1:1/v1"


def test_embed_model_is_live(arguments: dict[str, Any]) -> None:
    endpoint(model="other")
    assert arguments["model"] == "other"


def test_embed_dim_is_live(arguments: dict[str, Any]) -> None:
    endpoint(dim=12)
    assert arguments["dim"] == 12


def test_embed_key_env_is_live(arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "from-my-key")
    endpoint(key_env="MY_KEY")
    assert arguments["key"] == "from-my-key"


def test_embed_timeout_s_is_live(arguments: dict[str, Any]) -> None:
    endpoint(timeout_s=3.5)
    assert arguments["timeout_s"] == 3.5


def test_embed_batch_is_live(arguments: dict[str, Any]) -> None:
    endpoint(batch=7)
    assert arguments["batch"] == 7


def test_embed_unrelated_is_live(arguments: dict[str, Any]) -> None:
    endpoint(unrelated=0.3)
    assert arguments["unrelated"] == 0.3


def test_embed_same_is_live(arguments: dict[str, Any]) -> None:
    endpoint(same=0.7)
    assert arguments["same"] == 0.7


def test_embed_threads_is_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("clew.providers.minilm.MiniLmEmbedder", lambda home, *, threads: (home, threads))
    made: Any = compose.make_embedder(EmbedSettings(provider="minilm", threads=3), tmp_path)
    assert made == (tmp_path, 3)


@pytest.mark.parametrize("missing", ["url", "model", "dim"])
def test_an_endpoint_that_is_not_fully_described_is_refused(missing: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        endpoint(**{missing: type(ENDPOINT[missing])()})
    assert refused.value.code == "EMBED_ENDPOINT_INCOMPLETE"


def test_the_endpoint_takes_these_arguments_in_earnest() -> None:
    """The other tests look at what arrives at a stand-in; the real adapter must accept the same."""
    made = endpoint(unrelated=0.2, same=0.8)
    assert (made.space.dim, made.space.unrelated, made.space.same) == (8, 0.2, 0.8)
