"""Memories over HTTP: what is remembered, changed, listed and forgotten, with its version."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from api_driver import Asked

from clew.clew import Clew
from clew.model.scope import Scope
from clew.surfaces.http.route import JSON, Route
from clew.surfaces.http.routes import files, memories, recall


def remembered(asked: Asked, content: str, **fields: Any) -> str:
    return str(asked.post("/v1/memories", {"content": content, **fields}).json["id"])


def test_what_is_remembered_can_be_shown_with_its_version(asked: Asked) -> None:
    got = asked.post(
        "/v1/memories", {"content": "the staging key rotates weekly", "tags": ["keys"], "project": "p"}
    )
    assert (got.status, got.headers["etag"]) == (201, '"1"')
    shown = asked.get(f"/v1/memories/{got.json['id']}")
    assert (shown.status, shown.headers["etag"], shown.json["tags"]) == (200, '"1"', ["keys"])


def test_the_same_text_again_is_not_created(asked: Asked) -> None:
    first, again = (asked.post("/v1/memories", {"content": "once"}) for _ in range(2))
    assert (first.status, again.status, first.json["id"]) == (201, 200, again.json["id"])


def test_a_secret_is_masked_before_it_is_answered(asked: Asked) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    got = asked.post("/v1/memories", {"content": f"the key is {key}"})
    assert got.json["masked"] and key not in got.body.decode()


def test_an_edit_of_a_stale_version_fails_its_precondition(asked: Asked) -> None:
    id = remembered(asked, "the port is 8080")
    first = asked("PATCH", f"/v1/memories/{id}", {"title": "port"}, if_match='"1"')
    assert (first.status, first.headers["etag"], first.json["title"]) == (200, '"2"', "port")
    stale = asked("PATCH", f"/v1/memories/{id}", {"title": "ports"}, if_match='"1"')
    assert (stale.status, stale.code) == (412, "MEMORY_CHANGED")


def test_null_takes_a_field_away_and_what_is_left_out_stays(asked: Asked) -> None:
    id = remembered(asked, "the port is 8080", title="port", author="ann")
    got = asked("PATCH", f"/v1/memories/{id}", {"title": None})
    assert "title" not in got.json and got.json["author"] == "ann"


@pytest.mark.parametrize("tag", ["x", '"-1"', '"1", "2"'])
def test_what_is_no_version_is_no_precondition(asked: Asked, tag: str) -> None:
    id = remembered(asked, "the port is 8080")
    assert asked("PATCH", f"/v1/memories/{id}", {"title": "a"}, if_match=tag).status == 400


@pytest.mark.parametrize("hard", ["true", "false"])
def test_forgetting_a_stale_version_forgets_nothing(asked: Asked, hard: str) -> None:
    id = remembered(asked, "the port is 8080")
    asked("PATCH", f"/v1/memories/{id}", {"title": "port"})
    assert asked("DELETE", f"/v1/memories/{id}?hard={hard}", if_match='"1"').status == 412
    assert asked.get(f"/v1/memories/{id}").status == 200
    assert asked("DELETE", f"/v1/memories/{id}?hard={hard}", if_match='"2"').json["forgotten"] == 1
    assert asked.get(f"/v1/memories/{id}").status == 404


def test_a_revert_of_a_stale_version_fails_its_precondition(asked: Asked) -> None:
    id = remembered(asked, "the port is 8080")
    asked("PATCH", f"/v1/memories/{id}", {"content": "the port is 9090"})
    assert asked.post(f"/v1/memories/{id}/revert", {"version": 1}, if_match='"1"').status == 412
    back = asked.post(f"/v1/memories/{id}/revert", {"version": 1}, if_match='"2"')
    assert (back.json["content"], back.headers["etag"]) == ("the port is 8080", '"3"')


def test_a_list_goes_on_where_its_cursor_says(asked: Asked) -> None:
    ids = [remembered(asked, f"note {number}") for number in range(5)]
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        page = asked.get(f"/v1/memories?limit=2{cursor}").json
        seen += [one["id"] for one in page["memories"]]
        cursor = f"&cursor={page.get('next_cursor', '')}"
    assert seen == ids[::-1] and "next_cursor" not in page


def test_a_list_is_narrowed_by_parameters_that_may_be_repeated(asked: Asked) -> None:
    remembered(asked, "a rule", type="rule")
    fact = remembered(asked, "a fact", type="fact", tags=["x", "y"])
    remembered(asked, "a note", tags=["x"])
    assert {one["type"] for one in asked.get("/v1/memories?type=rule&type=fact").json["memories"]} == {
        "rule",
        "fact",
    }
    assert [one["id"] for one in asked.get("/v1/memories?tag=y").json["memories"]] == [fact]


def test_a_batch_is_remembered_in_its_order_and_is_bounded(asked: Asked) -> None:
    got = asked.post("/v1/memories/batch", {"memories": [{"content": "a"}, {"content": "b"}], "project": "p"})
    assert [one["memory"]["content"] for one in got.json["results"]] == ["a", "b"]
    assert (
        asked.post("/v1/memories/batch", {"memories": [{"content": str(one)} for one in range(501)]}).status == 400
    )


def test_a_bulk_forget_first_tells_what_it_would_do(asked: Asked) -> None:
    remembered(asked, "old news", tags=["news"])
    assert asked.post("/v1/memories/forget", {"tag": ["news"], "dry_run": True}).json["would_forget"] == 1
    assert asked.post("/v1/memories/forget", {"tag": ["news"]}).json["forgotten"] == 1
    assert asked.post("/v1/memories/forget", {}).code == "BULK_FORGET_NO_FILTERS"


def test_the_org_in_a_body_is_not_looked_at(asked: Asked) -> None:
    assert asked.post("/v1/memories", {"content": "x", "org": "acme"}).status == 400


def test_what_is_exported_can_be_imported_and_adds_nothing_twice(asked: Asked, memory: Clew) -> None:
    remembered(asked, "kept for ever", project="p")
    exported = asked.get("/v1/export")
    assert exported.headers["content-type"] == "application/x-ndjson" and exported.body.count(b"\n") == 2
    again = asked.post("/v1/import", pieces=[exported.body], content_type="application/x-ndjson").json
    assert (again["known"], again["added"], again["checksum"]) == (1, 0, "ok")
    assert not list((memory.home / "run").glob("*"))


def test_an_export_of_a_project_holds_what_belongs_to_it(asked: Asked, memory: Clew) -> None:
    memory.remember("shared")
    memory.remember("of p", scope=Scope(project="p"))
    lines = asked.get("/v1/export?project=p").body.splitlines()[1:]
    assert [json.loads(line)["content"] for line in lines] == ["of p"]


def test_notes_are_imported_under_their_name(asked: Asked) -> None:
    path = "/v1/import?name=CLAUDE.md&project=p"
    notes = b"# Rules\n\n- always run the linter before a commit\n"
    assert asked.post(path, pieces=[notes], content_type="text/markdown").json["added"] == 1
    assert asked.post("/v1/import?name=..%2Fx", pieces=[notes], content_type="text/markdown").status == 400


def test_a_body_said_to_be_json_lines_is_never_notes(asked: Asked) -> None:
    got = asked.post("/v1/import", pieces=[b"not { json\n"], content_type="application/x-ndjson")
    assert (got.status, got.code) == (400, "IMPORT_FORMAT_UNKNOWN")


def test_an_import_may_be_larger_than_other_bodies(asked: Asked) -> None:
    line = json.dumps({"content": "word " * 1_000}).encode() + b"\n"
    got = asked.post("/v1/import?dry_run=true", pieces=[line * 300], content_type="application/x-ndjson")
    assert got.json["read"] == 300


def test_the_context_is_the_documented_payload(asked: Asked) -> None:
    remembered(asked, "always write tests", type="rule", project="p")
    id = remembered(asked, "the queue is durable", project="p")
    got = asked.post("/v1/context", {"query": "queue", "project": "p"}).json
    assert [one["content"] for one in got["rules"]] == ["always write tests"]
    assert [one["id"] for one in got["memories"]] == [one["id"] for one in got["longTermMemories"]] == [id]
    assert got["memories"][0]["projectId"] == "p" and got["skillFiles"] == [] and got["trace"]["strategy"]
    assert asked.post("/v1/context", {"query": "queue", "mode": "rules_only"}).json["memories"] == []


def test_a_recall_finds_why_and_xray_explain_it(asked: Asked) -> None:
    id = remembered(asked, "the queue is durable", project="p")
    question = {"query": "durable queue", "project": "p"}
    assert asked.post("/v1/recall", question).json["results"][0]["id"] == id
    assert asked.post("/v1/why", question | {"expect": id}).json["rank"] == 1
    assert asked.post("/v1/xray", question).json["results"][0]["memoryId"] == id
    assert asked.post("/v1/why", question | {"expect": "mem_unknown"}).status == 404


def test_a_whole_number_may_be_written_with_a_point(asked: Asked) -> None:
    """JSON Schema's integer admits 5.0."""
    for text in ("the queue is durable", "the queue is slow"):
        remembered(asked, text)
    assert len(asked.post("/v1/recall", {"query": "queue", "limit": 1.0}).json["results"]) == 1
    for limit in (1.5, 1e300, -1.0, "1", True):
        assert asked.post("/v1/recall", {"query": "queue", "limit": limit}).status == 400


def test_what_is_linked_can_be_unlinked(asked: Asked) -> None:
    edge = {"source": remembered(asked, "the queue is durable"), "relation": "depends_on", "target": "file:q.py"}
    assert asked.post("/v1/link", edge).json["changed"] is True
    assert asked.post("/v1/unlink", edge).json["changed"] is True
    assert asked.post("/v1/unlink", edge | {"relation": "Not One"}).status == 400


def every_answer(asked: Asked) -> dict[str, Any]:
    """One good answer of each route about memories, by its name."""
    id = remembered(asked, "the queue is durable", project="p", title="queue", tags=["a"], author="ann")
    remembered(asked, "the queue is not durable", project="p", supersedes=id)
    question, one = {"query": "durable queue", "project": "p", "include_superseded": True}, f"/v1/memories/{id}"
    edge = {"source": id, "relation": "depends_on", "target": "file:q.py"}
    return {
        "remember": asked.post("/v1/memories", {"content": "new"}).json,
        "observe": asked.post("/v1/observations", {"tool": "Bash", "command": "make", "exit_status": 2}).json,
        "memories.batch": asked.post("/v1/memories/batch", {"memories": [{"content": "a"}]}).json,
        "memories.list": asked.get("/v1/memories?limit=1&all_projects=true&superseded=true").json,
        "show": asked.get(one).json,
        "edit": asked("PATCH", one, {"category": "queues"}).json,
        "history": asked.get(f"{one}/history").json,
        "revert": asked.post(f"{one}/revert", {"version": 1}).json,
        "link": asked.post("/v1/link", edge).json,
        "unlink": asked.post("/v1/unlink", edge).json,
        "recall": asked.post("/v1/recall", question).json,
        "context": asked.post("/v1/context", question | {"strategy": "hybrid_graph"}).json,
        "why": asked.post("/v1/why", question | {"expect": id}).json,
        "xray": asked.post("/v1/xray", question | {"budget": 10}).json,
        "stats": asked.get("/v1/stats").json,
        "doctor": asked.get("/v1/doctor").json,
        "import": asked.post("/v1/import", pieces=[b"{}\n"], content_type="application/x-ndjson").json,
        "memories.forget": asked.post("/v1/memories/forget", {"tag": ["a"], "dry_run": True, "project": "p"}).json,
        "forget": asked("DELETE", f"{one}?hard=true").json,
    }


def test_every_answer_has_exactly_the_shape_that_its_route_describes(asked: Asked) -> None:
    answers = every_answer(asked)
    routes: dict[str, Route] = {
        route.name: route
        for route in (*memories.ROUTES, *recall.ROUTES, *files.ROUTES)
        if route.produces == JSON and route.name != "memories.forget"
    }
    assert set(routes) == set(answers) - {"memories.forget"}
    for name, route in routes.items():
        msgspec.convert(answers[name], route.answer)
