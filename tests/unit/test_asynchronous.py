"""AsyncClew forwards to worker threads and decides nothing."""

from __future__ import annotations

import ast
import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import AsyncClew, Clew, Draft, NotFound, Scope
from clew.asynchronous import CHUNK, is_static, owner_of, parts_of

ROOT = Path(__file__).parents[2]
STUB = ROOT / "src" / "clew" / "asynchronous.pyi"
PROGRAM = """
import clew

async def main() -> int:
    async with clew.open_async("memories.db") as memory:
        stored = await memory.remember("x", type="decision")
        async for one in memory.remember_many([clew.Draft(content="y")]):
            print(one.id)
        found = await memory.graph.neighbors("AuthService", depth=2)
        return len((await memory.recall("why", limit=5)).results) + len(found.neighbors) + len(stored.id)
"""


def run(memory: Clew, program: Callable[[AsyncClew], Any]) -> Any:
    async def main() -> Any:
        return await program(AsyncClew(memory))

    return asyncio.run(main())


def verbs(path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, member in parts_of(path).items():
        if isinstance(member, type):
            yield from verbs((*path, name))
        elif inspect.isfunction(member):
            yield (*path, name), member


# -- forwarding ----------------------------------------------------------------------------------------


def test_a_verb_answers_what_clew_answers(memory: Clew) -> None:
    async def program(clew: AsyncClew) -> Any:
        stored = await clew.remember("We chose SQLite", type="decision", scope=Scope(project="p"))
        return stored, await clew.recall("why SQLite", scope=Scope(project="p")), await clew.show(stored.id)

    stored, recalled, shown = run(memory, program)
    assert [result.memory.id for result in recalled.results] == [stored.id]
    assert shown == memory.show(stored.id)


def test_topics_and_topics_of_topics_are_forwarded(memory: Clew) -> None:
    memory.remember("AuthService uses PostgreSQL.")

    async def program(clew: AsyncClew) -> Any:
        facts, flags = await clew.graph.triplets(), await clew.graph.flags()
        return facts, flags, await clew.jobs.backfill.status()

    facts, flags, backfill = run(memory, program)
    assert facts == memory.graph.triplets()
    assert flags == memory.graph.flags
    assert backfill == memory.jobs.backfill.status()


def test_an_error_is_the_verbs_own(memory: Clew) -> None:
    with pytest.raises(NotFound) as caught:
        run(memory, lambda clew: clew.show("mem_unknown"))
    assert caught.value.code == "MEMORY_NOT_FOUND"


def test_the_event_loop_is_never_blocked(memory: Clew) -> None:
    async def program(clew: AsyncClew) -> Any:
        seen: list[str] = []
        await clew.jobs.run(limit=0, told=lambda ran: seen.append(threading.current_thread().name))
        await clew.export(_Noting(seen))
        return seen

    memory.remember("something to write")
    assert run(memory, program)
    assert all(name.startswith("clew-async") for name in run(memory, program))


class _Noting:
    """A file that notes which thread writes."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def write(self, text: str) -> int:
        self._seen.append(threading.current_thread().name)
        return len(text)


def test_calls_run_side_by_side(memory: Clew) -> None:
    """Each waits for the other: one after the other they would wait for ever."""
    both = threading.Barrier(2, timeout=10)

    def drafts(text: str) -> Iterator[Draft]:
        both.wait()
        yield Draft(content=text)

    async def program(clew: AsyncClew) -> Any:
        async def one(text: str) -> list[str]:
            return [stored.memory.content async for stored in clew.remember_many(drafts(text))]

        return await asyncio.gather(one("first"), one("second"))

    assert run(memory, program) == [["first"], ["second"]]


def test_a_name_that_is_no_verb_is_an_attribute_error(memory: Clew) -> None:
    clew = AsyncClew(memory)
    for ask in (lambda: clew.recal, lambda: clew.store, lambda: clew.graph.neighbours, lambda: clew.graph._clew_):
        with pytest.raises(AttributeError):
            ask()
    assert clew.clew is memory
    assert {"recall", "graph"} <= set(dir(clew))
    assert "neighbors" in dir(clew.graph)


# -- many ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, CHUNK, 2 * CHUNK + 1])
@pytest.mark.parametrize("is_async", [True, False])
def test_many_are_remembered_in_order(memory: Clew, count: int, is_async: bool) -> None:
    drafts = [Draft(content=f"number {number}") for number in range(count)]

    async def told() -> AsyncIterator[Draft]:
        for draft in drafts:
            yield draft

    async def program(clew: AsyncClew) -> list[str]:
        given = told() if is_async else drafts
        return [stored.memory.content async for stored in clew.remember_many(given)]

    assert run(memory, program) == [draft.content for draft in drafts]


def test_what_was_stored_before_an_error_is_yielded_before_it(memory: Clew) -> None:
    def drafts() -> Iterator[Draft]:
        yield from (Draft(content=f"number {number}") for number in range(600))  # a batch is written, one is not
        raise ValueError("the source ended early")

    seen: list[str] = []

    async def program(clew: AsyncClew) -> None:
        async for stored in clew.remember_many(drafts()):
            seen.append(stored.id)  # noqa: PERF401 - what was there before the error counts

    with pytest.raises(ValueError, match="ended early"):
        run(memory, program)
    assert len(seen) == memory.stats().memories == 500


# -- life ----------------------------------------------------------------------------------------------


def test_open_async_opens_in_a_thread_and_closes_at_the_end(tmp_path: Path) -> None:
    async def main() -> str:
        async with clew.open_async(tmp_path / "m.db", home=tmp_path, embed={"provider": "none"}) as memory:
            stored = await memory.remember("kept")
        with pytest.raises(clew.Unavailable, match="closed"):
            await memory.recall("kept")
        return stored.id

    id = asyncio.run(main())
    with clew.open(tmp_path / "m.db", home=tmp_path, embed={"provider": "none"}) as memory:
        assert memory.show(id).content == "kept"


def test_a_store_that_cannot_be_opened_is_told_at_the_door(tmp_path: Path) -> None:
    (tmp_path / "m.db").write_bytes(b"no database" * 100)

    async def main() -> None:
        async with clew.open_async(tmp_path / "m.db", home=tmp_path):
            raise AssertionError("it was opened")

    with pytest.raises(clew.StoreRefused):
        asyncio.run(main())


def test_a_cancelled_call_is_finished_by_its_thread(memory: Clew) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def drafts() -> Iterator[Draft]:
        begun.set()
        assert go_on.wait(10)
        yield Draft(content="written although nobody waits")

    async def program(clew: AsyncClew) -> None:
        async def write() -> None:
            async for _stored in clew.remember_many(drafts()):
                pass

        task = asyncio.create_task(write())
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        await asyncio.to_thread(clew._pool.shutdown)

    run(memory, program)
    assert [one.content for one in memory.list()] == ["written although nobody waits"]


# -- types ---------------------------------------------------------------------------------------------


def test_every_verb_is_forwarded_with_its_signature(memory: Clew) -> None:
    clew = AsyncClew(memory)
    for path, member in verbs():
        if path in (("close",), ("remember_many",)):
            continue
        forwarded: Any = clew
        for name in path:
            forwarded = getattr(forwarded, name)
        own = list(inspect.signature(member).parameters.values())[0 if is_static(path) else 1 :]
        assert list(inspect.signature(forwarded).parameters.values()) == own, path
        assert inspect.iscoroutinefunction(forwarded)


def test_the_stub_has_every_verb_with_the_names_and_kinds_of_its_parameters() -> None:
    classes = {node.name: node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)}
    for path, member in verbs():
        owner = "AsyncClew" if len(path) == 1 else f"Async{owner_of(path[:-1]).__name__}"
        [told] = [node for node in classes[owner].body if getattr(node, "name", "") == path[-1]]
        assert isinstance(told, ast.FunctionDef if path == ("remember_many",) else ast.AsyncFunctionDef)
        own = list(inspect.signature(member).parameters.values())
        assert _kinds(told.args)[1:] == [(one.name, one.kind) for one in own[0 if is_static(path) else 1 :]], path


def _kinds(given: ast.arguments) -> list[tuple[str, Any]]:
    kind = inspect.Parameter
    told = [(one.arg, kind.POSITIONAL_OR_KEYWORD) for one in given.args]
    told += [(one.arg, kind.VAR_POSITIONAL) for one in [given.vararg] if one]
    told += [(one.arg, kind.KEYWORD_ONLY) for one in given.kwonlyargs]
    return told + [(one.arg, kind.VAR_KEYWORD) for one in [given.kwarg] if one]


def test_the_stub_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "async_stub.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_knows_the_types_of_a_program(tmp_path: Path) -> None:
    """Of the package only the stub and the public names are looked at: the whole of it takes too long here."""
    programs = {
        "right": PROGRAM,
        "not_awaited": PROGRAM.replace("await memory.remember(", "memory.remember("),
        "wrong_type": PROGRAM.replace("depth=2", 'depth="2"'),
        "not_async": PROGRAM.replace("async for", "for"),
    }
    for name, text in programs.items():
        (tmp_path / f"{name}.py").write_text(text)
    words = ["--strict", "--follow-imports=skip", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    files = [STUB, ROOT / "src" / "clew" / "__init__.py", *tmp_path.glob("*.py")]
    command = [sys.executable, "-m", "mypy", *words, *files]
    done = subprocess.run(command, capture_output=True, text=True, env={"MYPYPATH": "src"}, cwd=ROOT)
    refused = {name for name in programs if f"{name}.py" in done.stdout}
    assert refused == {"not_awaited", "wrong_type", "not_async"}, done.stdout + done.stderr
