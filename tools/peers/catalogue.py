"""Who is measured, in which environment, and what each of them is run as."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STAGES = ("first", "quality", "speed")


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a peer is installed. `python`: any, 3.12 or newer, or one that can load SQLite extensions."""

    name: str
    kind: str = "pip"  # pip, npm or clew
    python: str = "any"
    extra: str = ""

    @property
    def requirements(self) -> Path:
        return HERE / "requirements" / f"{self.name}.txt"


@dataclass(frozen=True, slots=True)
class Peer:
    """One row of the tables. `expected_s` is how long its measurement takes, roughly: only the estimate uses it."""

    name: str
    title: str
    environment: str
    adapter: str
    expected_s: int
    variant: str = ""
    package: str = ""  # the one whose version is the peer's
    embeds: bool = True  # gets MiniLM vectors; the others search by words or bring a model
    max_units: int | None = None  # per file: as many whole corpora, from the first, as stay within
    note: str = ""
    stages: tuple[str, ...] = STAGES


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment("clew", kind="clew"),
        Environment("clew-minilm", kind="clew", extra="minilm"),
        Environment("chroma"),
        Environment("langgraph", python="extensions"),
        Environment("lancedb"),
        Environment("mem0"),
        Environment("basic-memory", python="3.12"),
        Environment("mcp-memory", kind="npm"),
    )
}

PEERS = (
    Peer("clew", "Clew", "clew", "clew_store", 150, package="clew", embeds=False, note="default configuration"),
    Peer(
        "clew-minilm", "Clew with MiniLM", "clew-minilm", "clew_store", 180, "minilm", "clew",
        note="the same with `clew[minilm]` as its embedder",
    ),
    Peer(
        "chroma", "Chroma", "chroma", "chroma_store", 320, package="chromadb",
        note="PersistentClient, its own HNSW index: approximate",
    ),
    Peer(
        "chroma-own", "Chroma, its own encoder", "chroma", "chroma_store", 120, "own", "chromadb",
        note="questions encoded by its default function, which pads them to 256 pieces", stages=("speed",),
    ),
    Peer(
        "langgraph-sqlite", "LangGraph SqliteStore", "langgraph", "langgraph_store", 100, "sqlite",
        "langgraph-checkpoint-sqlite", note="sqlite-vec, batches of 500",
    ),
    Peer(
        "langgraph-memory", "LangGraph InMemoryStore", "langgraph", "langgraph_store", 200, "memory", "langgraph",
        note="not durable",
    ),
    Peer(
        "lancedb", "LanceDB vectors", "lancedb", "lancedb_store", 90, "vector", "lancedb",
        note="no vector index: exact",
    ),
    Peer(
        "lancedb-hybrid", "LanceDB hybrid", "lancedb", "lancedb_store", 150, "hybrid", "lancedb",
        note="own full-text index, fused by reciprocal ranks",
    ),
    Peer(
        "mem0", "mem0", "mem0", "mem0_store", 700, package="mem0ai",
        note="add(infer=False) one by one, default install: vectors only, Qdrant in a local folder",
    ),
    Peer(
        "mcp-memory", "MCP reference memory server", "mcp-memory", "mcp_memory_store", 150, "question",
        "@modelcontextprotocol/server-memory", embeds=False, note="search_nodes with the question as it is",
    ),
    Peer(
        "mcp-memory-words", "the same, asked word by word", "mcp-memory", "mcp_memory_store", 90, "words",
        "@modelcontextprotocol/server-memory", embeds=False, stages=("quality",),
        note="one search_nodes per content word, ranked by our caller: not what the product does",
    ),
    Peer(
        "basic-memory", "basic-memory", "basic-memory", "basic_memory_store", 420, package="basic-memory",
        embeds=False, max_units=450, note="text search over MCP; notes come in as files and `reindex`",
    ),
)  # fmt: skip

NOT_RUN = (
    ("txtai", "several gigabytes to install"),
    (
        "Hindsight",
        "several gigabytes to install, and its ranking leans on a cross-encoder from a model hub",
    ),
    ("cognee, Graphiti", "built around a language model: what is left without one is not the product"),
)
