"""A request that names an idempotency key is done once."""

from __future__ import annotations

import pytest
from api_driver import Asked, Got
from test_api_auth import key_of

from clew.clew import Clew
from clew.model.scope import Identity
from clew.surfaces.http.idempotency import request_hash
from clew.verbs.serving import Serving
from toys import ToldClock


def remember(asked: Asked, content: str, key: str, token: str | None = None) -> Got:
    return asked.post("/v1/memories", {"content": content}, token=token, idempotency_key=key)


def test_the_same_request_again_gets_the_answer_of_the_first_time(asked: Asked) -> None:
    first, again = (remember(asked, "only once", "k1") for _ in range(2))
    assert (first.status, again.status) == (201, 201)
    assert (first.body, first.headers["etag"]) == (again.body, again.headers["etag"])
    assert again.headers["idempotency-replayed"] == "true" and "idempotency-replayed" not in first.headers


def test_the_answer_is_kept_also_when_the_memory_has_changed(asked: Asked) -> None:
    id = remember(asked, "only once", "k1").json["id"]
    asked("PATCH", f"/v1/memories/{id}", {"content": "something else"})
    assert remember(asked, "only once", "k1").json["memory"]["content"] == "only once"
    assert len(asked.get("/v1/memories").json["memories"]) == 1


def test_the_same_key_for_another_request_is_refused(asked: Asked) -> None:
    remember(asked, "one", "k1")
    got = remember(asked, "another", "k1")
    assert (got.status, got.code) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_two_callers_never_share_a_key(asked: Asked, memory: Clew) -> None:
    ann = key_of(memory)
    assert remember(asked, "mine", "k1").status == 201
    assert "idempotency-replayed" not in remember(asked, "mine", "k1", token=ann).headers


def test_two_keys_of_one_user_share_none_either(asked: Asked, memory: Clew) -> None:
    one, other = key_of(memory), key_of(memory)
    assert remember(asked, "mine", "k1", token=one).status == 201
    assert "idempotency-replayed" in remember(asked, "mine", "k1", token=one).headers
    assert "idempotency-replayed" not in remember(asked, "mine", "k1", token=other).headers


def test_while_the_first_is_under_way_the_second_waits(asked: Asked, memory: Clew) -> None:
    body = b'{"content": "slow"}'
    serving = Serving(memory)
    named = serving.key_of(Identity(), "k1", credential="local")
    serving.begin(named, request_hash("POST", "/v1/memories", b"", body))
    got = remember(asked, "slow", "k1")
    assert (got.status, got.code) == (409, "IDEMPOTENCY_IN_PROGRESS")


def test_one_whose_server_crashed_is_taken_over_after_a_minute(
    asked: Asked, memory: Clew, clock: ToldClock
) -> None:
    body = b'{"content": "crashed"}'
    named = Serving(memory).key_of(Identity(), "k1", credential="local")
    kept = Serving(memory).begin(named, request_hash("POST", "/v1/memories", b"", body))
    clock.pass_by(seconds=61)
    assert remember(asked, "crashed", "k1").status == 201
    Serving(memory).finish(named, kept, status=500, headers={}, answer=b"late")  # it lives after all
    assert remember(asked, "crashed", "k1").json["memory"]["content"] == "crashed"


def test_what_failed_may_be_tried_again_with_its_key(asked: Asked) -> None:
    bad = asked.post("/v1/memories", {"content": "x", "supersedes": "mem_unknown"}, idempotency_key="k1")
    assert bad.status == 404
    assert remember(asked, "x", "k1").status == 201


def test_an_answer_is_kept_for_a_day(asked: Asked, memory: Clew, clock: ToldClock) -> None:
    remember(asked, "today", "k1")
    clock.pass_by(hours=23)
    assert Serving(memory).sweep() == 0 and "idempotency-replayed" in remember(asked, "today", "k1").headers
    clock.pass_by(hours=2)
    assert Serving(memory).sweep() == 1 and "idempotency-replayed" not in remember(asked, "today", "k1").headers


def test_a_hard_forget_takes_the_answers_along_that_quote_it(asked: Asked, memory: Clew) -> None:
    id = remember(asked, "an unforgettable phrase", "k1").json["id"]
    asked("DELETE", f"/v1/memories/{id}?hard=true")
    memory.store.close()
    left = b"".join(file.read_bytes() for file in memory.home.glob("clew.db*"))
    assert b"unforgettable" not in left


@pytest.mark.parametrize("key", ["", "a" * 256, "\xe4"])
def test_a_key_that_cannot_be_one_is_refused(asked: Asked, key: str) -> None:
    assert remember(asked, "x", key).code == "IDEMPOTENCY_KEY_INVALID"
