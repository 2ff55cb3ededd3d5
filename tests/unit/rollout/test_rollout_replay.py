"""Recorded queries in both modes: what the graph changes, and whether it helped."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.clew import Clew
from clew.errors import Denied, InvalidInput
from clew.model.inject import Considered, ContextInjectionLog
from clew.model.learning import RankedCandidate
from clew.model.replay import Recorded, Replay, Replayed
from clew.model.scope import Identity, Scope
from clew.rollout.replay import TOP, top_of, worth_of
from toys import START, ToldClock

SHOP = Scope(project="shop")
QUERY = "why does the login fail"


@pytest.fixture
def memory(clew_at: Callable[..., Clew], tmp_path: Path) -> Clew:
    """By words alone: what shares none with the query is found by the graph or not at all."""
    return clew_at(tmp_path / "home")


@pytest.fixture
def found(memory: Clew) -> dict[str, str]:
    """The words of the query lead to the first; the graph leads from there to the second."""
    texts = {
        "near": "The login fails in AuthService",
        "far": "AuthService needs PostgresDB with a pool of twenty",
        "other": "Invoices are sent on Mondays",
    }
    return {name: memory.remember(text, scope=SHOP).memory.id for name, text in texts.items()}


def asked(memory: Clew, *shown: str, query: str = QUERY, outcome: str = "", **fields: Any) -> str:
    """A session for which something was asked and these memories were delivered; its id."""
    place = {name: fields.pop(name, None) for name in ("user", "session")}
    project = fields.setdefault("project_id", "shop")
    session = place["session"] or memory.sessions.start(project=project, user=place["user"]).id
    said: dict[str, Any] = {"query_text": query, "observation_ids": shown, "delivered": bool(shown)}
    log = ContextInjectionLog(session_id=session, **said | fields)
    memory.store.write(lambda tx: tx.injections.put(log, at=memory.now()))
    if outcome:
        memory.learn.feedback(session, outcome)
    return str(session)


def only(report: Replay) -> Replayed:
    [question] = report.questions
    return question


# -- what changed --------------------------------------------------------------------------------------


def test_what_only_the_graph_finds_came_in(memory: Clew, found: dict[str, str]) -> None:
    asked(memory)
    question = only(memory.rollout.replay())
    assert (question.baseline.ids, question.graph) == ((found["near"],), "completed")
    assert question.hybrid.ids == (found["near"], found["far"])
    assert question.came_in == [(found["far"], 2)] and question.fell_out == []
    assert question.overlap == 0.5 and question.is_changed


def test_both_answers_are_those_of_a_recall(memory: Clew, found: dict[str, str]) -> None:
    asked(memory)
    question = only(memory.rollout.replay())
    for graph, answer in ((False, question.baseline), (None, question.hybrid)):
        recalled = memory.recall(QUERY, scope=SHOP, graph=graph, rules=False)
        assert answer.ids == tuple(result.memory.id for result in recalled.results)


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_the_mode_of_the_org_does_not_matter(memory: Clew, found: dict[str, str], mode: str) -> None:
    memory.rollout.set(mode)
    asked(memory)
    assert only(memory.rollout.replay()).hybrid.ids == (found["near"], found["far"])


def test_a_graph_that_fails_leaves_the_baseline_and_its_reason(
    memory: Clew, found: dict[str, str], tmp_path: Path
) -> None:
    asked(memory)
    connection = apsw.Connection(str(tmp_path / "home" / "clew.db"))
    connection.execute("ALTER TABLE graph_edges RENAME TO graph_edges_lost")
    connection.close()
    question = only(memory.rollout.replay())
    assert question.hybrid.ids == question.baseline.ids == (found["near"],)
    assert question.graph == "aborted" and question.reason.startswith("graph expansion failed")


def test_moves_are_told_by_both_ranks() -> None:
    from clew.model.replay import Answer

    question = Replayed(
        query="q", project=None, work_type=None, asked_at=START, times=1, top=3, graph="completed", reason="",
        baseline=Answer(("a", "b", "c")), hybrid=Answer(("b", "a", "d")),
    )  # fmt: skip
    assert question.moved == [("b", 2, 1), ("a", 1, 2)]
    assert (question.came_in, question.fell_out, question.overlap) == ([("d", 3)], [("c", 3)], 0.5)


def test_the_first_k_are_as_many_as_were_considered_at_the_start(memory: Clew, found: dict[str, str]) -> None:
    session = asked(memory, query="")
    ranks = [Considered(RankedCandidate(id, 0.5, 1.0, 0.5, rank, rank)) for rank, id in enumerate(found.values())][
        :1
    ]

    def put(tx: Any) -> None:
        log = ContextInjectionLog(session_id=session, project_id="shop", query_text=QUERY)
        row = ContextInjectionLog(session_id=session, project_id="shop", id=tx.injections.put(log, at=memory.now()))
        tx.injections.put_ranks(row, ranks, weighting_enabled=True, at=memory.now())

    memory.store.write(put)
    question = only(memory.rollout.replay())
    assert (question.top, len(question.hybrid.ids)) == (1, 1)
    assert only(memory.rollout.replay(top=2)).hybrid.ids == (found["near"], found["far"])


@pytest.mark.parametrize(
    ("phase", "considered", "top"), [("start", 7, 7), ("start", 0, TOP), ("in_session", 2, TOP)]
)
def test_where_candidates_were_not_counted_the_first_ten_are_compared(
    phase: str, considered: int, top: int
) -> None:
    row = Recorded(
        id="log_1", at=START, session="ses_1", project=None, user=None, work_type=None, phase=phase, query="q",
        shown=(), delivered=False, outcome="", considered=considered,
    )  # fmt: skip
    assert top_of(row) == top


# -- whether it helped ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("outcome", "difference"), [("accepted", 0.5), ("rejected", -0.5)])
def test_finding_what_was_shown_is_good_in_an_accepted_session_and_bad_in_a_rejected_one(
    memory: Clew, found: dict[str, str], outcome: str, difference: float
) -> None:
    asked(memory, found["near"], found["far"], outcome=outcome)
    [score] = only(memory.rollout.replay()).scores
    assert (score.difference, score.memories, score.outcome) == (difference, 2, outcome)


@pytest.mark.parametrize("outcome", ["rework", ""])
def test_rework_and_silence_say_nothing_about_a_mode(memory: Clew, found: dict[str, str], outcome: str) -> None:
    asked(memory, found["far"], outcome=outcome)
    report = memory.rollout.replay()
    assert (report.paired.pairs, report.undecided) == (0, 1)


@pytest.mark.parametrize(("verdict", "difference"), [("up", 1.0), ("outdated", -1.0), ("wrong", -1.0)])
def test_what_is_said_of_a_memory_counts_before_how_its_session_came_out(
    memory: Clew, found: dict[str, str], verdict: str, difference: float
) -> None:
    asked(memory, found["far"], outcome="rework")
    memory.learn.judge(found["far"], verdict)
    assert memory.rollout.replay().paired.mean == difference


def test_the_last_word_about_a_memory_counts(memory: Clew, found: dict[str, str]) -> None:
    asked(memory, found["far"], outcome="accepted")
    for verdict in ("up", "wrong"):
        memory.learn.judge(found["far"], verdict)
    assert memory.rollout.replay().paired.mean == -1.0
    assert worth_of(None, "accepted") == 1


def test_what_never_reached_the_agent_does_not_count(memory: Clew, found: dict[str, str]) -> None:
    asked(memory, found["far"], outcome="accepted", delivered=False)
    report = memory.rollout.replay()
    assert (report.paired.pairs, report.undecided) == (0, 0)


def test_what_is_gone_and_what_is_a_rule_does_not_count(memory: Clew, found: dict[str, str]) -> None:
    rule = memory.remember("Never log a password", type="rule", scope=SHOP).memory.id
    asked(memory, found["far"], found["other"], rule, outcome="accepted")
    memory.forget(found["other"])
    [score] = only(memory.rollout.replay()).scores
    assert (score.memories, score.baseline, score.hybrid) == (1, 0.0, 1.0)


def test_pairs_of_many_sessions_have_an_interval(memory: Clew, found: dict[str, str]) -> None:
    for _ in range(3):
        asked(memory, found["far"], outcome="accepted")
    paired = memory.rollout.replay().paired
    assert (paired.pairs, paired.groups, paired.mean, paired.low, paired.high) == (3, 3, 1.0, 1.0, 1.0)
    assert paired.verdict == "better"


def test_one_session_is_too_few_for_an_interval_and_it_says_so(memory: Clew, found: dict[str, str]) -> None:
    session = asked(memory, found["far"], outcome="accepted")
    asked(memory, found["far"], query="login of AuthService", session=session)
    paired = memory.rollout.replay().paired
    assert (paired.pairs, paired.groups, paired.low, paired.verdict) == (2, 1, None, "too_few")


# -- which queries -------------------------------------------------------------------------------------


def test_a_query_that_was_recorded_twice_is_asked_once(memory: Clew, found: dict[str, str]) -> None:
    asked(memory, found["far"], outcome="accepted")
    asked(memory, found["far"], outcome="rejected")
    report = memory.rollout.replay()
    assert (only(report).times, report.recorded, report.paired.mean) == (2, 2, 0.0)
    assert [score.outcome for score in only(report).scores] == ["rejected", "accepted"]


def test_the_newest_come_first_and_the_rest_is_told_of(memory: Clew, found: dict[str, str]) -> None:
    for number in range(4):
        asked(memory, query=f"login {number}")
    report = memory.rollout.replay(limit=2)
    assert [one.query for one in report.questions] == ["login 3", "login 2"] and report.more
    assert not memory.rollout.replay(limit=4).more


def test_a_log_of_many_pages_is_read_to_its_end(
    memory: Clew, found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.rollout.replay.PAGE", 2)
    for number in range(5):
        asked(memory, query=f"login {number}")
    assert [one.query[-1] for one in memory.rollout.replay().questions] == ["4", "3", "2", "1", "0"]


def test_a_window_and_a_project_narrow_it(memory: Clew, clock: ToldClock, found: dict[str, str]) -> None:
    asked(memory, query="long ago")
    clock.pass_by(days=31)
    asked(memory, query="elsewhere", project_id="docs")
    asked(memory, query="here")
    assert [one.query for one in memory.rollout.replay().questions] == ["here", "elsewhere"]
    assert [one.query for one in memory.rollout.replay(project="shop").questions] == ["here"]
    assert len(memory.rollout.replay(since=START).questions) == 3


# -- who sees what -------------------------------------------------------------------------------------


def test_a_query_is_asked_in_the_scope_of_its_session(memory: Clew, found: dict[str, str]) -> None:
    asked(memory, project_id="docs")
    asked(memory, user="ann", query="login of ann")
    mine = memory.remember("The login of ann is ann-7", scope=Scope(project="shop", user="ann")).memory.id
    ann, docs = memory.rollout.replay().questions
    assert docs.baseline.ids == docs.hybrid.ids == ()
    assert mine in ann.hybrid.ids


def test_sessions_of_others_are_left_out_for_those_who_may_not_act_as_them(
    memory: Clew, found: dict[str, str]
) -> None:
    asked(memory, user="ann", query="a secret of ann")
    asked(memory, query="for all")
    admin = Identity(user="bob", roles=("admin",))
    report = memory.rollout.replay(identity=admin)
    assert ([one.query for one in report.questions], report.left_out) == (["for all"], 1)


def test_what_the_replaying_identity_may_not_read_is_neither_shown_nor_counted(
    memory: Clew, found: dict[str, str]
) -> None:
    asked(memory, found["near"], found["far"], outcome="accepted")
    hides = f'@id("no.near") forbid (principal, action, resource == Mem::Observation::"{found["near"]}");'
    memory.policies.load(hides, name="no-near")
    report = memory.rollout.replay(identity=Identity(user="bob", roles=("admin",)))
    assert found["near"] not in str(report.as_json())
    assert [score.memories for score in only(report).scores] == [1]


@pytest.mark.parametrize("roles", [(), ("member",)])
def test_a_replay_is_for_those_who_look_after_the_org(memory: Clew, roles: tuple[str, ...]) -> None:
    with pytest.raises(Denied) as refused:
        memory.rollout.replay(identity=Identity(user="bob", roles=roles))
    assert refused.value.code == "ADMIN_ONLY"


@pytest.mark.parametrize(
    ("asked_for", "code"),
    [
        ({"limit": 0}, "REPLAY_LIMIT_INVALID"),
        ({"top": 0}, "REPLAY_TOP_INVALID"),
        ({"top": 101}, "REPLAY_TOP_INVALID"),
    ],
)
def test_what_cannot_be_asked_is_refused(memory: Clew, asked_for: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.rollout.replay(**asked_for)
    assert refused.value.code == code


def test_another_orgs_queries_are_not_replayed(memory: Clew, found: dict[str, str]) -> None:
    asked(memory)
    assert memory.rollout.replay(identity=Identity(org="acme")).questions == ()


# -- nothing happens -----------------------------------------------------------------------------------


def test_a_replay_writes_nothing(clew_at: Callable[..., Clew], tmp_path: Path) -> None:
    """Not even the snapshot that every other recall of this store keeps."""
    memory = clew_at(tmp_path / "home", graph={"snapshot": True})
    far = memory.remember("AuthService needs PostgresDB", scope=SHOP).memory.id
    asked(memory, far, outcome="accepted", query="AuthService")
    before, files = memory.store.data_version(), set(tmp_path.rglob("*"))
    memory.rollout.replay()
    assert memory.store.data_version() == before
    assert set(tmp_path.rglob("*")) == files
    memory.recall("AuthService", scope=SHOP)
    assert set(tmp_path.rglob("*")) > files


def test_a_replay_is_not_counted(memory: Clew, found: dict[str, str], tmp_path: Path) -> None:
    """Looked at after closing, when everything that waits has been written."""
    asked(memory)
    memory.rollout.replay()
    memory.close()
    connection = apsw.Connection(str(tmp_path / "home" / "clew.db"))
    assert connection.execute("SELECT count(*) FROM graph_rollout_metrics").fetchall() == [(0,)]
    connection.close()


def test_a_replay_of_one_store_always_says_the_same(
    memory: Clew, found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for outcome in ("accepted", "rejected", "rework"):
        asked(memory, *found.values(), outcome=outcome, query=f"login {outcome}")
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    since = START
    first, second = (memory.rollout.replay(since=since).as_json() for _ in range(2))
    assert {**first, "until": ""} == {**second, "until": ""}


def test_a_document_says_what_changed_what_helped_and_what_to_mind(memory: Clew, found: dict[str, str]) -> None:
    asked(memory, found["far"], outcome="accepted")
    document = memory.rollout.replay().as_json()
    assert document["changes"]["changed"] == 1 and document["changes"]["came_in"] == 1
    assert document["helped"]["verdict"] == "too_few" and "mode of then" in document["helped"]["bias"]
    [question] = document["questions"]
    assert question["came_in"][0]["id"] == found["far"] and "PostgresDB" in question["came_in"][0]["text"]
    assert set(question["ms"]) == {"baseline", "hybrid"}
