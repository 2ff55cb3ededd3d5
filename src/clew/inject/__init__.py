"""Blocks for a session: what earlier sessions learnt, at its start and on its tool calls, within a budget.

The documented names are here; each is imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.inject.block import GraphOptions as GraphOptions
    from clew.inject.block import build_session_memory_block as build_session_memory_block
    from clew.inject.boost import boost_by_path_overlap as boost_by_path_overlap
    from clew.inject.budget import DEFAULT_CONTEXT_BUDGET as DEFAULT_CONTEXT_BUDGET
    from clew.inject.budget import ContextBudgetConfig as ContextBudgetConfig
    from clew.inject.bus import VerbBus as VerbBus
    from clew.inject.bus import VerbFilter as VerbFilter
    from clew.inject.candidates import MemoryStore as MemoryStore
    from clew.inject.candidates import RecallStore as RecallStore
    from clew.inject.candidates import RetrievalQuery as RetrievalQuery
    from clew.inject.config import DEFAULT_IN_SESSION_CONFIG as DEFAULT_IN_SESSION_CONFIG
    from clew.inject.config import InSessionConfig as InSessionConfig
    from clew.inject.gates import explain_graph_gate as explain_graph_gate
    from clew.inject.gates import is_graph_enabled_for_project as is_graph_enabled_for_project
    from clew.inject.graph_block import build_graph_context_block as build_graph_context_block
    from clew.inject.graph_engine import GraphSearchEngine as GraphSearchEngine
    from clew.inject.injector import InSessionMemoryInjector as InSessionMemoryInjector
    from clew.inject.injector import create_in_session_memory_injector as create_in_session_memory_injector
    from clew.inject.log import record_context_injection as record_context_injection
    from clew.inject.matcher import GraphMatching as GraphMatching
    from clew.inject.matrix import resolve_recall as resolve_recall
    from clew.inject.matrix import set_recall as set_recall
    from clew.inject.names import ContextInjectionLog as ContextInjectionLog
    from clew.inject.names import GraphContextTriplet as GraphContextTriplet
    from clew.inject.names import InjectionResult as InjectionResult
    from clew.inject.names import InSessionMemoryConfig as InSessionMemoryConfig
    from clew.inject.names import VerbBusEvent as VerbBusEvent
    from clew.inject.pending import PendingInjection as PendingInjection
    from clew.inject.query import compose_retrieval_query as compose_retrieval_query
    from clew.inject.start import inject_context_for_claimed_session as inject_context_for_claimed_session

_AT = {
    "is_graph_enabled_for_project": "gates",
    "explain_graph_gate": "gates",
    "compose_retrieval_query": "query",
    "DEFAULT_CONTEXT_BUDGET": "budget",
    "ContextBudgetConfig": "budget",
    "build_session_memory_block": "block",
    "GraphOptions": "block",
    "build_graph_context_block": "graph_block",
    "GraphSearchEngine": "graph_engine",
    "record_context_injection": "log",
    "inject_context_for_claimed_session": "start",
    "MemoryStore": "candidates",
    "RecallStore": "candidates",
    "RetrievalQuery": "candidates",
    "resolve_recall": "matrix",
    "set_recall": "matrix",
    "InSessionMemoryInjector": "injector",
    "create_in_session_memory_injector": "injector",
    "InSessionConfig": "config",
    "DEFAULT_IN_SESSION_CONFIG": "config",
    "GraphMatching": "matcher",
    "PendingInjection": "pending",
    "VerbBus": "bus",
    "VerbFilter": "bus",
    "boost_by_path_overlap": "boost",
    "ContextInjectionLog": "names",
    "GraphContextTriplet": "names",
    "InSessionMemoryConfig": "names",
    "InjectionResult": "names",
    "VerbBusEvent": "names",
}
__all__ = sorted(_AT)


def __getattr__(name: str) -> Any:
    if name not in _AT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_AT[name]}"), name)
