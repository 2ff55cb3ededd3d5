"""Relations that are found after a write: by likeness, by rules, by a language model."""

from __future__ import annotations

from clew.model.memory import Memory
from clew.values import dataclass

SIMILAR, RULE, LLM = "similar", "rule", "llm"  # origins of witnesses
ORIGINS = frozenset((SIMILAR, RULE, LLM))
SYMMETRIC = frozenset(("similar_to", "contradicts"))  # what holds one way holds the other way, too
SEMANTIC = ("caused_by", "prefers_over", "depends_on", "specializes", "conditional_on")

SYNC_FAILED = "GRAPH_RELATIONSHIP_SYNC_FAILED"
PARTIAL_DEGRADE = "GRAPH_RELATIONSHIP_PARTIAL_DEGRADE"
CLASSIFICATION_FAILED = "GRAPH_LLM_CLASSIFICATION_FAILED"
EXTRACTION_FAILED = "GRAPH_LLM_SEMANTIC_EXTRACTION_FAILED"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory near another; `similarity` is on the calibrated scale, 0 unrelated to 1 the same."""

    memory: Memory
    row: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One relation of the memory at hand (`subject`) to another memory or to a condition.

    `target` is a memory's id, or the key of a condition when `type` is conditional_on. Directed from the subject to
    the target, or the other way round when `reversed`; symmetric types are written both ways.
    """

    type: str
    target: str
    confidence: float
    origin: str
    weight: float = 1.0
    reversed: bool = False
    sentence: str = ""
    explanation: str = ""
    rule: str = ""  # which rule found it


@dataclass(frozen=True, slots=True)
class Issue:
    """A part that failed while the rest went well."""

    code: str
    stage: str  # classification | semantic_extraction | ...
    memory: str
    candidate: str = ""
    detail: str = ""  # never the text of a memory
