"""What is counted, and that no label tells of anybody."""

from __future__ import annotations

from api_driver import Asked
from prometheus_client.parser import text_string_to_metric_families

from clew.clew import Clew
from clew.surfaces.http.tally import Tally

LABELS = {"route", "status", "host", "event", "state", "code", "thread", "version", "le"}


def samples(asked: Asked) -> dict[tuple[str, str], float]:
    text = asked.get("/metrics").body.decode()
    return {
        (sample.name, "/".join(value for key, value in sorted(sample.labels.items()) if key != "le")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_status(asked: Asked) -> None:
    asked.post("/v1/recall", {"query": "anything"})
    asked.get("/v1/memories/mem_unknown")
    found = samples(asked)
    assert found["clew_request_seconds_count", "recall/200"] == 1
    assert found["clew_request_seconds_count", "show/404"] == 1


def test_what_waits_is_counted_by_state(asked: Asked, memory: Clew) -> None:
    asked.post("/v1/memories", {"content": "to be related"})
    session = memory.sessions.start(project="p").id
    memory.queue.enqueue(session, "a text for the agent")
    found = samples(asked)
    assert (found["clew_jobs", "queued"], found["clew_jobs", "dead"]) == (1, 0)
    assert found["clew_queue_injects", "pending"] == 1 and found["clew_queue_oldest_seconds", "pending"] >= 0


def test_refusals_and_hooks_are_counted(asked: Asked) -> None:
    asked.get("/v1/stats", via="loopback")
    asked.app.tally.hook("codex", "prompt", 0.003, tokens=40)
    found = samples(asked)
    assert found["clew_refusals_total", "UNAUTHENTICATED"] == 1
    assert found["clew_hook_seconds_count", "prompt/codex"] == 1
    assert found["clew_inject_tokens_total", ""] == 40


def test_a_host_or_event_that_nobody_knows_is_counted_as_other() -> None:
    tally = Tally()
    tally.hook("host-of-ann", "session ses_1", 0.1)
    assert set(tally.hooks) == {("other", "other")}


def test_no_label_names_an_org_a_user_or_an_id(asked: Asked) -> None:
    id = asked.post("/v1/memories", {"content": "secret plan", "project": "atlantis", "user": "ann"}).json["id"]
    asked.get(f"/v1/memories/{id}?project=atlantis")
    asked.get(f"/v1/nowhere/{id}")
    text = asked.get("/metrics").body.decode()
    assert not [word for word in (id, "atlantis", "ann", "secret", "local") if f'"{word}' in text]
    families = list(text_string_to_metric_families(text))
    assert {label for one in families for sample in one.samples for label in sample.labels} <= LABELS
