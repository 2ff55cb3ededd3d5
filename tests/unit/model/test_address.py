"""What may be told of an address."""

from __future__ import annotations

import pytest

from clew.model.address import is_no_path, scheme_of, without_password


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://ann:s3cret@db.example.org:5432/clew", "postgresql://ann@db.example.org:5432/clew"),
        ("postgres://ann@h/clew?sslmode=require", "postgresql://ann@h/clew"),
        ("POSTGRESQL://ann:s3cret@h/clew", "postgresql://ann@h/clew"),
        ("postgresql://:s3cret@h/clew", "postgresql://h/clew"),
        ("postgresql://ann:s3 cret@h/clew", "postgresql://ann@h/clew"),
        ("postgresql://h/clew?user=ann&password=s3cret", "postgresql://h/clew"),
        ("postgresql://ann@/clew?host=/run/pg&port=5433&password=s3cret", "postgresql://ann@/run/pg:5433/clew"),
        ("postgresql://ann:s3cret@a:1,[::1]:2,c/clew", "postgresql://ann@a:1,[::1]:2,c/clew"),
        ("postgresql:///clew", "postgresql:///clew"),
        ("https://ann:s3cret@models.example/v1?key=s3cret#s3cret", "https://***@models.example/v1"),
        ("https://s3cret@models.example/v1", "https://***@models.example/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("sqlite:////home/ann@work/clew.db", "sqlite:////home/ann@work/clew.db"),
        ("unix:///run/clew.sock", "unix:///run/clew.sock"),
        ("/home/ann@work/clew.db", "/home/ann@work/clew.db"),
        ("C:/clew/clew.db", "C:/clew/clew.db"),
        ("", ""),
    ],
)
def test_an_address_is_told_without_its_password(url: str, told: str) -> None:
    assert without_password(url) == told


@pytest.mark.parametrize("password", ["s3/cret", "s3@cret", "s3?cret", "s3#cret", "1/cret", "1?cret", "@", "/@/"])
def test_where_a_password_ends_is_not_guessed(password: str) -> None:
    assert without_password(f"postgresql://ann:{password}@h/clew") == "postgresql://***"
    assert without_password(f"https://ann:{password}@h/v1") == "https://***"


@pytest.mark.parametrize(
    "url", ["postgresql://ann:s3cret", "postgresql://ann:123456789/x", "postgres://ann:s3c/ret"]
)
def test_a_port_that_is_none_may_be_a_password(url: str) -> None:
    assert without_password(url) == "postgresql://***"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql:/ann:s3cret@h/clew",
        "postgresql:ann:s3cret@h:5432/clew",
        "Postgres:ann:s3cret@h",
        "host=h password=s3cret",
        "password = s3cret",
        "password=s3cret://x",
        "application_name=x password=s3cret",
        "localhost:7443",
        "clew.example.dev:443/",
        "127.0.0.1:5432/clew",
        "[::1]:7433",
        "sqlite:clew.db",
        "file:clew.db",
        "https:clew.example.dev",
        "  ",
    ],
)
def test_what_was_meant_for_an_address_is_not_told_at_all(text: str) -> None:
    assert is_no_path(text)
    assert without_password(text) == "***"


@pytest.mark.parametrize(
    "text", ["clew.db", "./a b/clew.db", "C:/clew.db", "a=b/clew.db", "~/clew.db", "a:b", "C:7"]
)
def test_a_path_is_a_path(text: str) -> None:
    assert not is_no_path(text)
    assert without_password(text) == text


@pytest.mark.parametrize(
    "end", ["/db;password=s3cret", "/db&password=s3cret", "?host=h;password=s3cret", ":" + "9" * 5_000]
)
def test_a_query_that_is_written_otherwise_is_no_path(end: str) -> None:
    assert without_password(f"postgresql://h{end}") == "postgresql://***"


def test_a_scheme_is_compared_in_lower_case() -> None:
    assert [scheme_of(url) for url in ("PostgreSQL://h", "/a://b", "host=h://")] == ["postgresql", "", ""]
