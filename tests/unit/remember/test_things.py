from itertools import pairwise

import pytest

from clew.model.graph import NodeRef
from clew.remember.things import MAX_THINGS, thing_named, things_in


def spelled(text: str) -> list[str]:
    return [":".join(thing.ref) for thing in things_in(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/auth/mw.py:42 again", ["file:src/auth/mw.py"]),
        ("open ./src/auth/mw.py:42:7.", ["file:src/auth/mw.py"]),
        (r"open lib\auth\mw.py", ["file:lib/auth/mw.py"]),
        ("mw.py, Makefile and docker-compose.yml", ["file:mw.py", "file:Makefile", "file:docker-compose.yml"]),
        ("the secrets are in .env now", ["file:.env"]),
        ("tests/unit/test_x.py::test_login fails", ["file:tests/unit/test_x.py", "symbol:testlogin"]),
        ("edit /etc/hosts", ["file:/etc/hosts"]),
    ],
)
def test_files_have_one_spelling_and_no_line_number(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("用户服务调用AuthService，配置在config/auth.yaml。", ["service:authservice", "file:config/auth.yaml"]),
        ("错误TimeoutError出现在src/shop/net.py第42行。", ["error:timeouterror", "file:src/shop/net.py"]),
        ("见https://example.com/docs。", ["url:example.com/docs"]),
        ("AuthServiceはRedisを使います。", ["service:authservice", "service:redis"]),
        ("AuthService는 Redis를 사용합니다.", ["service:authservice", "service:redis"]),
        ("放到/etc/nginx/nginx.conf里", ["file:/etc/nginx/nginx.conf"]),
        ("说明在docs/设计/架构.md里", ["file:docs/设计/架构.md"]),
        ("见 源码/main.py 和 架构.md", ["file:源码/main.py", "file:架构.md"]),
    ],
)
def test_letters_that_need_no_spaces_between_words_are_no_part_of_a_name(text: str, found: list[str]) -> None:
    assert spelled(text) == found
    assert all(text[thing.start : thing.end] == thing.label for thing in things_in(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("der Redis-Cluster und die PostgreSQL-Datenbank", ["service:redis", "service:postgresql"]),
        ("das AuthService-Modul", ["service:authservice"]),
        ("a Kafka-based design", ["service:kafka"]),
        ("a Kafka-free design", []),
        ("a Redis-compatible store", []),
        ("redis-cluster and Auth-Service", ["service:rediscluster", "service:authservice"]),
        ("JavaScript-Code, Content-Type, McKinley-Smith, Linux-Kernel", []),
    ],
)
def test_a_word_joined_with_a_hyphen_names_what_its_first_part_names(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install -r requirements.txt", ["file:requirements.txt"]),
        ("`pip install -c pins.txt httpx ruff`", ["file:pins.txt", "package:httpx", "package:ruff"]),
        ("pip install --index-url https://x/simple httpx", ["url:x/simple", "package:httpx"]),
        ("`poetry add -G dev ruff`", ["package:ruff"]),
        ("npm install -D vitest", ["package:vitest"]),
        ("pip install -r", []),
    ],
)
def test_what_an_option_of_an_installer_takes_is_no_package(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Python 3.11.2, e.g. for types, i.e. here",
        "it is done.The next step",
        "and/or client/server and read/write",
        "GET /v1/recall answers",
        "all of src/**/*.ts",
        "F.I.R. and U.S. and J.K. at 5 a.m.",
        "Booking.com and McKinley spoke of APIs over IPv6",
        "María and Søren met in Kraków",
        "the new worker, a slow api, our main database",
    ],
)
def test_versions_sentences_routes_and_names_are_not_things(text: str) -> None:
    assert spelled(text) == []


@pytest.mark.parametrize("name", ["AuthService", "auth_service", "auth-service", "authService", "`auth_service`"])
def test_all_spellings_of_a_service_are_one_node(name: str) -> None:
    assert spelled(f"ask {name} for it") == ["service:authservice"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Postgres, PostgreSQL and pg", ["service:postgresql"] * 3),
        ("k8s runs on Kubernetes", ["service:kubernetes"] * 2),
        ("the Postgres database and the Redis cluster", ["service:postgresql", "service:redis"]),
        ("restart the billing worker", ["service:billingworker"]),
        ("We use Redis/Memcached.", ["service:redis", "service:memcached"]),
        ("PostgresDB is ours", ["service:postgresdb"]),
        ("UserController and clear_cache and createServer", ["symbol:usercontroller", "symbol:clearcache",
                                                           "symbol:createserver"]),
    ],
)  # fmt: skip
def test_services_are_known_by_name_or_by_their_last_word(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`login()` and get_user", ["symbol:login", "symbol:getuser"]),
        ("TokenStore.refresh and Class.method", ["symbol:tokenstore.refresh", "symbol:class.method"]),
        ("std::vec and MAX_RETRIES", ["symbol:std.vec", "symbol:maxretries"]),
        ("getUser and get_user", ["symbol:getuser", "symbol:getuser"]),
        ("response.json() is a call", ["symbol:response.json"]),
    ],
)
def test_symbols_share_a_key_across_spellings(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we use psycopg", ["package:psycopg"]),
        ("`import numpy as np`", ["package:numpy"]),
        ("from orjson import dumps", ["package:orjson"]),
        ("pip install left-pad and go", ["package:left-pad"]),
        ("`npm i -D lodash vitest`", ["package:lodash", "package:vitest"]),
        ("cargo add serde_json", ["package:serde_json"]),
        ("@types/node is pinned", ["package:@types/node"]),
        ("requirements: numpy==2.1", ["package:numpy"]),
        ("prefer httpx over requests", ["package:httpx", "package:requests"]),
        ("it sends requests and we import the data", []),
    ],
)
def test_packages_are_known_by_name_or_by_how_they_are_installed(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ask @alice", ["person:alice"]),
        ("Alice said so", ["person:alice"]),
        ("Alice Smith decided", ["person:alice smith"]),
        ("bob@example.com wrote @dataclass", []),
        ("Everyone said yes", []),
        ("Team Blue owns checkout", []),
        ("The Linter wants a newline", []),
        ("Compliance requested logs", []),
        ("yesterday Team Blue Sky decided", []),
    ],
)
def test_people_are_mentioned_or_speak(text: str, found: list[str]) -> None:
    assert spelled(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PROJ-123 and GH-12", ["ticket:PROJ-123", "ticket:#12"]),
        ("issue #12, #13 and PR #14", ["ticket:#12", "ticket:#13", "ticket:#14"]),
        ("org/repo#9", ["ticket:org/repo#9"]),
        ("UTF-8, SHA-256, ISO-8601, HTTP-2, COVID-19 and colour #77", []),
    ],
)
def test_tickets_are_not_standards(text: str, found: list[str]) -> None:
    assert spelled(text) == found


def test_the_key_of_an_address_has_no_credentials_query_or_fragment() -> None:
    [thing] = things_in("see https://user:pw@Example.com/a/b/?q=1#top.")
    assert thing.ref == NodeRef("url", "example.com/a/b")
    assert thing.label == "https://example.com/a/b"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a NullPointerException", ["error:nullpointerexception"]),
        ("TypeError: x is not a function", ["error:typeerror"]),
        ("java.lang.IOException", ["error:ioexception"]),
        ("ECONNREFUSED then SIGSEGV", ["error:econnrefused", "error:sigsegv"]),
        ("error TS2345 and E0601", ["error:ts2345", "error:e0601"]),
        ("HTTP 502 or 502 Bad Gateway", ["error:http502", "error:http502"]),
        ("Error and Exception in 502 rows", []),
    ],
)
def test_errors_are_known_by_name_code_or_status(text: str, found: list[str]) -> None:
    assert spelled(text) == found


def test_labels_are_the_spelling_found_at_their_place() -> None:
    text = "the  billing worker\ncalls `auth_service`,\tsee src/a.py:3"
    found = things_in(text)
    assert [thing.label for thing in found] == ["billing worker", "auth_service", "src/a.py"]
    assert [text[thing.start : thing.end] for thing in found] == [thing.label for thing in found]


@pytest.mark.parametrize(
    ("typed", "ref"),
    [
        ("AuthService", NodeRef("service", "authservice")),
        ("src/auth/mw.py:42", NodeRef("file", "src/auth/mw.py")),
        ("PROJ-123", NodeRef("ticket", "PROJ-123")),
        ("#12", NodeRef("ticket", "#12")),
        ("psycopg", NodeRef("package", "psycopg")),
        ("billing worker", NodeRef("service", "billingworker")),
        ("topic:dashboard", NodeRef("topic", "dashboard")),
        ("hello there", None),
    ],
)
def test_what_a_person_types_names_a_node(typed: str, ref: NodeRef | None) -> None:
    assert thing_named(typed) == ref


@pytest.mark.parametrize(
    "text",
    ["a/" * 250_000, "a." * 250_000, "`" * 500_000, "AuthService " * 40_000, "@" * 500_000, "a-1_" * 120_000,
     "x://" * 120_000, "#1 issue " * 60_000, "pip install " * 40_000, "../" * 160_000, "a[b" * 160_000],
)  # fmt: skip
def test_a_hostile_text_gives_no_more_things_than_the_limit(text: str) -> None:
    found = things_in(text)
    assert len(found) <= MAX_THINGS
    assert all(one.end <= two.start for one, two in pairwise(found))
