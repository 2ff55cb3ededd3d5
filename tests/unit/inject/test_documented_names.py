"""Names that are documented elsewhere are importable under exactly that name (rensei.md 4)."""

from __future__ import annotations

from importlib import import_module

import pytest

from clew.guard import classify_observation

NAMES = {
    "inject": """is_graph_enabled_for_project build_graph_context_block GraphSearchEngine GraphContextTriplet
        build_session_memory_block record_context_injection ContextInjectionLog inject_context_for_claimed_session
        DEFAULT_CONTEXT_BUDGET ContextBudgetConfig compose_retrieval_query create_in_session_memory_injector
        boost_by_path_overlap DEFAULT_IN_SESSION_CONFIG InSessionMemoryConfig VerbBusEvent InjectionResult
        PendingInjection MemoryStore""",
    "deliver": "enqueue_memory_inject claim_pending_inject_for_session ack_memory_inject AgentHandle",
    "guard": "enforce_graph_access enforce_cross_project_transfer classify_observation",
    "learn": """apply_feedback GraphFeedbackService apply_feedback_ranking create_cross_project_transfer_store
        fingerprint_project""",
}


@pytest.mark.parametrize(
    ("step", "name"), [(step, name) for step, names in NAMES.items() for name in names.split()]
)
def test_a_documented_name_is_there(step: str, name: str) -> None:
    module = import_module(f"clew.{step}")
    assert getattr(module, name) is not None and name in module.__all__


@pytest.mark.parametrize("name", ["subscribe_to_verb_bus", "drain_pending_for_next_turn", "forget_session"])
def test_the_injector_has_its_documented_methods(name: str) -> None:
    assert callable(getattr(import_module("clew.inject").InSessionMemoryInjector, name))


@pytest.mark.parametrize(
    ("content", "files", "kind", "tier"),
    [
        ("rotate the OAuth token every day", ["src/auth/login.ts"], "decision", "confidential"),
        ("the customer's SSN is checked", [], "note", "restricted"),
        ("an audit asks for it", ["docs/audit.md"], "decision", "internal"),
        ("how to install", ["docs/install.md"], "note", "public"),
        ("the key is AKIAIOSFODNN7EXAMPLE", ["docs/install.md"], "note", "restricted"),
    ],
)
def test_an_observation_is_classified_as_by_a_write(content: str, files: list[str], kind: str, tier: str) -> None:
    assert classify_observation(content, files, kind) == tier
