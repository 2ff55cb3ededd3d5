"""AsyncClew: the verbs of Clew for programs with an event loop. It forwards to worker threads and decides nothing.

    async with clew.open_async("memories.db") as memory:
        await memory.remember("We chose PostgreSQL because of row-level security.", type="decision")
        recalled = await memory.recall("why PostgreSQL?")
        facts = await memory.graph.triplets("PostgreSQL")

A call that is cancelled is not waited for any more; what has begun is finished by its thread all the same. What
type checkers know of this class is in `asynchronous.pyi`, which `tools/async_stub.py` makes from the verbs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, cached_property, partial, update_wrapper
from inspect import isfunction, signature
from itertools import islice
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import Unavailable

if TYPE_CHECKING:
    import os

    from clew.clew import Clew
    from clew.model.memory import Draft, Remembered
    from clew.model.scope import Identity, Scope

T = TypeVar("T")
THREADS = 8  # calls under way at the same time; the rest wait their turn
CHUNK = 100  # memories handed over at once, between a thread and the loop


def open_async(
    url: str | os.PathLike[str] | None = None,
    *,
    token: str | None = None,
    home: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> AsyncClew:
    """Like `clew.open`. The store is opened by `async with`, or by the first call."""
    from clew.compose import open_clew

    return AsyncClew(partial(open_clew, url, token=token, home=home, overrides=settings))


class AsyncClew:
    """Each public verb of Clew as a coroutine, each topic with its verbs. `clew` is the Clew itself."""

    def __init__(self, clew: Clew | Callable[[], Clew], *, threads: int = THREADS) -> None:
        self._open = clew if callable(clew) else lambda: clew
        self._opening = Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="clew-async")
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return _part(self, (name,))

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *parts_of(())})

    @cached_property
    def _clew(self) -> Clew:
        return self._open()

    @property
    def clew(self) -> Clew:
        """Opened when it is first asked for; by one thread, whoever asks meanwhile waits."""
        with self._opening:
            return self._clew

    async def remember_many(
        self,
        drafts: Iterable[Draft] | AsyncIterable[Draft],
        *,
        scope: Scope | None = None,
        identity: Identity | None = None,
    ) -> AsyncIterator[Remembered]:
        """Store many in batches; what was yielded is durable. Nothing happens until it is iterated."""
        async for batch in _batches(drafts):
            begin = partial(_begun, self, batch, scope=scope, identity=identity)
            stored = await self._run(begin)
            error: BaseException | None = None
            while error is None:
                chunk, error = await self._run(partial(_taken, stored))
                for one in chunk:
                    yield one
            if not isinstance(error, StopIteration):
                raise error

    async def close(self) -> None:
        """Wait for what is under way, then close the store."""
        self._is_closed = True
        await asyncio.to_thread(self._pool.shutdown)
        if "_clew" in self.__dict__:
            await asyncio.to_thread(self._clew.close)

    async def __aenter__(self) -> AsyncClew:
        await self._run(lambda: self.clew)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def _run(self, work: Callable[[], T]) -> T:
        context = copy_context()
        try:
            under_way = asyncio.get_running_loop().run_in_executor(self._pool, partial(context.run, work))
        except RuntimeError:
            if not self._is_closed:
                raise
            raise Unavailable("the store is closed", code="STORE_CLOSED", next="open it again") from None
        return await under_way


class AsyncTopic:
    """A topic, such as `memory.graph`."""

    def __init__(self, clew: AsyncClew, path: tuple[str, ...]) -> None:
        self._clew, self._path = clew, path

    def __getattr__(self, name: str) -> Any:
        return _part(self._clew, (*self._path, name))

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *parts_of(self._path)})


def _part(clew: AsyncClew, path: tuple[str, ...]) -> Any:
    member = None if path[-1].startswith("_") else parts_of(path[:-1]).get(path[-1])
    if member is None:
        raise AttributeError(f"no verb or topic is called '{'.'.join(path)}'; the Clew itself is `.clew`")
    return AsyncTopic(clew, path) if isinstance(member, type) else _forward(clew, path, member)


def _forward(clew: AsyncClew, path: tuple[str, ...], member: Any) -> Callable[..., Any]:
    async def verb(*given: Any, **named: Any) -> Any:
        return await clew._run(lambda: _called(attrgetter(".".join(path))(clew.clew), *given, **named))

    if not isinstance(member, property):
        update_wrapper(verb, member)
        whole = signature(member)
        bound = list(whole.parameters.values())[0 if is_static(path) else 1 :]
        verb.__signature__ = whole.replace(parameters=bound)  # type: ignore[attr-defined]
    return verb


def _called(target: Any, *given: Any, **named: Any) -> Any:
    """What is a value there is asked for by a call here."""
    return target(*given, **named) if callable(target) else target


# -- what there is -----------------------------------------------------------------------------------------


@cache
def parts_of(path: tuple[str, ...]) -> dict[str, Any]:
    """The public names of Clew or of a topic: functions are verbs, properties are values, classes are topics."""
    owner = owner_of(path)
    found: dict[str, Any] = {}
    for name in dir(owner):
        member = getattr(owner, name)
        if name.startswith("_"):
            continue
        if isfunction(member) or (isinstance(member, property) and path):
            found[name] = member
        if (topic := _topic_of(member)) is not None:
            found[name] = topic
    return found


@cache
def owner_of(path: tuple[str, ...]) -> type:
    from clew.clew import Clew

    if not path:
        return Clew
    found: type = parts_of(path[:-1])[path[-1]]
    return found


def is_static(path: tuple[str, ...]) -> bool:
    return isinstance(vars(owner_of(path[:-1])).get(path[-1]), staticmethod)


def _topic_of(member: Any) -> type | None:
    """The class of a topic, as the property that makes it is annotated: a class of the verbs' own modules."""
    make = member.func if isinstance(member, cached_property) else getattr(member, "fget", None)
    if make is None or not make.__module__.startswith("clew.verbs."):
        return None
    module, _, name = str(make.__annotations__.get("return", "")).rpartition(".")
    if module and make.__module__ != "clew.verbs.topics":
        return None
    home = vars(sys.modules[make.__module__])
    kind = getattr(home[module], name) if module else home.get(name)
    return kind if isinstance(kind, type) and kind.__module__.startswith("clew.verbs.") else None


# -- drafts ------------------------------------------------------------------------------------------------


async def _batches(drafts: Iterable[Draft] | AsyncIterable[Draft]) -> AsyncIterator[Iterable[Draft]]:
    """An ordinary iterable is drawn from by the thread; one that is asynchronous, here."""
    if not isinstance(drafts, AsyncIterable):
        yield drafts
        return
    batch: list[Draft] = []
    async for draft in drafts:
        batch.append(draft)
        if len(batch) == CHUNK:
            yield batch
            batch = []
    if batch:
        yield batch


def _begun(clew: AsyncClew, drafts: Iterable[Draft], **where: Any) -> Iterator[Remembered]:
    return clew.clew.remember_many(drafts, **where)


def _taken(stored: Iterator[Remembered]) -> tuple[list[Remembered], Exception | None]:
    """The next few, and what ended them. An error comes after what was stored before it."""
    chunk: list[Remembered] = []
    try:
        chunk.extend(islice(stored, CHUNK))
    except Exception as error:  # raised by whoever iterates, after the chunk
        return chunk, error
    return chunk, None if len(chunk) == CHUNK else StopIteration()
