"""Every setting of the section 'llm' changes what Clew does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from clew.clew import Clew
from clew.compose import compose, make_llm
from clew.errors import Misconfigured
from clew.model.upkeep import Check
from clew.settings import LlmSettings, load_settings
from llm_server import PAIR, RELATIONS, LlmServer, edge, judged, related, says, waits_for
from llm_toys import near, pair

Asking = Callable[..., Clew]


@pytest.fixture
def asking(clew_at: Callable[..., Clew], llm_server: LlmServer, tmp_path: Path) -> Asking:
    """A Clew whose model is made of its settings alone."""

    def open_asking(**llm: Any) -> Clew:
        asked = {"enabled": True, "model": "toy-model", "url": llm_server.url} | llm
        settings = load_settings({"llm": asked}, home=tmp_path, environ={})
        home = tmp_path / str(len(list(tmp_path.iterdir())))
        return clew_at(home, make_llm=lambda: make_llm(settings.llm), llm=asked)

    return open_asking


def find(clew: Clew, *, similarity: float = 0.8, **changes: Any) -> tuple[list[Any], list[Any]]:
    """What is found about one memory beside another, as neighbour and as context."""
    old, new = pair(clew)
    assert clew._llm_relations
    return clew._llm_relations.find(replace(new, **changes), [near(old, similarity)], [old])


def types(clew: Clew, **options: Any) -> list[str]:
    return [one.type for one in find(clew, **options)[0]]


def test_llm_enabled_is_live(asking: Asking) -> None:
    assert asking(enabled=False)._llm_relations is None and asking()._llm_relations is not None


def test_llm_provider_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(provider="openai")), find(asking(provider="anthropic"))
    assert [request.path for request in llm_server.requests] == [
        *["/v1/chat/completions"] * 2,
        *["/v1/messages"] * 2,
    ]


def test_llm_url_is_live(asking: Asking, llm_server: LlmServer) -> None:
    with LlmServer() as other:
        find(asking(url=other.url))
        assert len(other.requests) == 2 and llm_server.requests == []


def test_llm_model_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(model="another-model"))
    assert {request.body["model"] for request in llm_server.requests} == {"another-model"}


def test_llm_key_env_is_live(asking: Asking, llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_LLM_KEY", "sk-one")
    monkeypatch.setenv("MY_KEY", "sk-two")
    find(asking()), find(asking(key_env="MY_KEY"))
    sent = [request.headers["authorization"] for request in llm_server.asked(PAIR)]
    assert sent == ["Bearer sk-one", "Bearer sk-two"]


def test_llm_timeout_s_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking())  # brings in the library
    never = Event()
    llm_server.answers[PAIR] = waits_for(never, judged("agrees"))
    _, issues = find(asking(timeout_s=0.05))
    never.set()
    assert ["LLM_TIMEOUT: the language model" in one.detail for one in issues] == [True]
    assert "within 0.05 s" in issues[0].detail


def test_llm_min_similarity_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(), similarity=0.65), find(asking(min_similarity=0.6), similarity=0.65)
    assert len(llm_server.asked(PAIR)) == 1


def test_llm_max_similarity_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(), similarity=0.95), find(asking(max_similarity=0.96), similarity=0.95)
    assert len(llm_server.asked(PAIR)) == 1


def test_llm_pair_confidence_is_live(asking: Asking, llm_server: LlmServer) -> None:
    llm_server.answers[PAIR] = judged("contradicts", 0.65)
    assert types(asking()) == [] and types(asking(pair_confidence=0.65)) == ["contradicts"]


def test_llm_context_limit_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(context_limit=0))
    assert llm_server.asked(RELATIONS) == []
    find(asking(context_limit=1))
    assert len(llm_server.asked(RELATIONS)) == 1


def test_llm_semantic_confidence_is_live(asking: Asking, llm_server: LlmServer) -> None:
    llm_server.answers[RELATIONS] = related(edge("caused_by", confidence=0.5))
    assert types(asking()) == [] and types(asking(semantic_confidence=0.5)) == ["caused_by"]


def test_llm_min_chars_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(min_chars=100)), find(asking(), content="too short")
    assert llm_server.asked(RELATIONS) == []
    find(asking(min_chars=5), content="too short")
    assert len(llm_server.asked(RELATIONS)) == 1


def test_llm_max_classification_is_live(asking: Asking, llm_server: LlmServer) -> None:
    find(asking(max_classification="public"))
    assert llm_server.requests == []
    find(asking(max_classification="confidential"), classification="confidential")
    assert len(llm_server.requests) == 2


def test_llm_daily_tokens_is_live(asking: Asking, llm_server: LlmServer) -> None:
    _, issues = find(asking(daily_tokens=10))
    assert [one.code for one in issues] == ["LLM_BUDGET_EXHAUSTED"] * 2 and llm_server.requests == []


def test_llm_calls_per_minute_is_live(asking: Asking, llm_server: LlmServer) -> None:
    _, issues = find(asking(calls_per_minute=1))
    assert [one.code for one in issues] == ["LLM_RATE_LIMITED"] and len(llm_server.requests) == 1


def cost(clew: Clew, server: LlmServer) -> float:
    server.answers = dict.fromkeys((PAIR, RELATIONS), says({"relationship": "agrees"}, tokens=(1_000, 100)))
    find(clew)
    return float(clew.jobs.spend().as_json()["total"]["cost"])


def test_llm_input_price_is_live(asking: Asking, llm_server: LlmServer) -> None:
    assert cost(asking(input_price=3.0), llm_server) == 2 * 0.003


def test_llm_output_price_is_live(asking: Asking, llm_server: LlmServer) -> None:
    assert cost(asking(output_price=15.0), llm_server) == 2 * 0.0015


# -- what cannot work says so ------------------------------------------------------------------------------


def refusal(**llm: Any) -> Misconfigured:
    with pytest.raises(Misconfigured) as caught:
        make_llm(LlmSettings(**{"enabled": True, "model": "toy", "url": "http://localhost:1/v1"} | llm))
    assert caught.value.next
    return caught.value


def test_switched_off_nothing_is_made() -> None:
    assert make_llm(LlmSettings()) is None


def test_a_missing_model_is_told() -> None:
    assert (refusal(model="").code, "llm.model" in refusal(model="").next) == ("LLM_MODEL_MISSING", True)


def test_a_missing_key_is_told_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the provider's own endpoint; a server of one's own may do without."""
    monkeypatch.setenv("MY_KEY", "")
    error = refusal(url="", key_env="MY_KEY")
    assert error.code == "LLM_KEY_MISSING" and "MY_KEY" in error.message and "MY_KEY" in error.next


@pytest.mark.parametrize("library", ["openai", "anthropic"])
def test_a_missing_extra_is_told_and_no_import_error(library: str, without: Callable[[str], None]) -> None:
    without(library)
    error = refusal(provider=library)
    assert (error.code, error.next) == ("LLM_EXTRA_MISSING", "pip install 'clew[llm]'")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """As if a library were not installed."""
    from importlib import util

    real = util.find_spec

    def hide(library: str) -> None:
        monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == library else real(name, *rest))

    return hide


def examined(tmp_path: Path, **llm: Any) -> list[Check]:
    settings = load_settings({"llm": llm, "embed": {"provider": "none"}}, home=tmp_path, environ={})
    with compose(settings, tmp_path / "clew.db", in_background=False) as clew:
        return [check for check in clew.doctor() if check.name == "llm"]


def test_the_doctor_says_what_is_missing_and_the_next_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[str], None]
) -> None:
    monkeypatch.delenv("CLEW_LLM_KEY", raising=False)
    [no_model], [no_key] = examined(tmp_path, enabled=True), examined(tmp_path, enabled=True, model="toy")
    monkeypatch.setenv("CLEW_LLM_KEY", "sk-secret")
    [fine] = examined(tmp_path, enabled=True, model="toy")
    without("openai")
    [no_extra] = examined(tmp_path, enabled=True, model="toy")
    assert [check.ok for check in (no_model, no_key, no_extra, fine)] == [False, False, False, True]
    assert "llm.model" in no_model.next and "CLEW_LLM_KEY" in no_key.next and "clew[llm]" in no_extra.next
    assert "toy" in fine.detail and "sk-secret" not in fine.detail


def test_the_doctor_is_silent_about_a_model_nobody_wants(tmp_path: Path) -> None:
    assert examined(tmp_path) == []
