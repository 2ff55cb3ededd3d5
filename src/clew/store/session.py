"""What the tables need of an engine: named queries inside one transaction. Each engine has its own session.

Values cross this seam in one form for all engines: texts, numbers, bytes, and three kinds that say what they are so
that an engine may keep them its own way. `Micros` are times: integers in SQLite, timestamptz in PostgreSQL.
`listed` makes a list that a query looks into: JSON in SQLite, an array in PostgreSQL. `HalfVector` is a vector of
float16: bytes in SQLite, halfvec in PostgreSQL. What comes out is plain: times as microseconds, vectors as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from clew.errors import InvalidInput

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
Row = tuple[Any, ...]


class Session(Protocol):
    """Named queries on one connection, inside one transaction."""

    @property
    def finds_nearest(self) -> bool:
        """Whether the engine compares vectors itself; otherwise they are read and compared here."""
        ...

    @property
    def longest_document(self) -> int | None:
        """How many characters the full-text index takes of one memory; None: all."""
        ...

    def all(self, query: str, /, **values: Any) -> list[Row]: ...

    def one(self, query: str, /, **values: Any) -> Row | None: ...

    def value(self, query: str, /, **values: Any) -> Any: ...

    def run(self, query: str, /, **values: Any) -> int:
        """Execute a statement and return how many rows it changed."""
        ...

    def put(self, query: str, /, **values: Any) -> None:
        """Execute a statement of which nobody asks what it changed: an engine may send it along with the next, and
        what speaks against it is told by then."""
        ...

    def together(self, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        """The rows of several queries with their values, none of which needs to know those of another."""
        ...

    def finish(self, query: str, /, **values: Any) -> list[Row]:
        """The rows of a query with which the transaction ends, where the engine can send both at once; what is
        asked after it is then a transaction of its own. Only for what may be done twice: when the answer is lost,
        the whole action is run again."""
        ...

    def expect(self, query: str, /, **values: Any) -> None:
        """What will be asked, with these very values: an engine may ask it along with what is asked before. Nothing
        that is written in between may change the answer."""
        ...

    def expect_rows(self, org: str, table: str, count: int) -> None:
        """So many rows of a table will be asked for, or fewer; those that are not are never given out."""
        ...

    def many(self, query: str, /, rows: Iterable[Row]) -> None:
        """One execution per row of values, in the order in which the query names them."""
        ...

    def for_each(self, query: str, name: str, /, items: Sequence[int] | Sequence[str], **shared: Any) -> None:
        """One row for each item, which the query names so; the other values are the same for all."""
        ...

    def many_last(self, query: str, /, rows: Sequence[Row]) -> None:
        """`many`, where nothing that is asked before the end of the transaction depends on it: an engine may wait
        with it until then."""
        ...

    def settle(self) -> None:
        """Do now what was left for the end."""
        ...

    def next_rows(self, table: str, count: int) -> Sequence[int]:
        """So many dense rows of a table that were never given out before, ascending."""
        ...

    def schema(self) -> int:
        """The number of the last migration that was run."""
        ...

    @property
    def is_open(self) -> bool:
        """False once an error made the engine undo the whole transaction."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """A part that is undone alone when it fails."""
        ...


class Engine(Protocol):
    """Transactions on one store."""

    name: str  # of the folder of its queries
    location: str  # as it may be shown: a path, or an address without its password

    def read(self) -> AbstractContextManager[Session]: ...
    def write(
        self, action: Callable[[Any], T], *, durable: bool = True, savepoint: bool = True, lock: str = ""
    ) -> T: ...
    def submit(self, action: Callable[[Any], T], *, durable: bool = True, org: str = "") -> Future[T]: ...
    def write_unless_busy(self, action: Callable[[Any], None], *, wait_ms: int) -> None: ...
    def data_version(self) -> tuple[int, int]: ...
    def has_counted(self, org: str, name: str) -> bool | None:
        """Whether a counter of an org or of the store ever moved; None where a transaction tells as cheaply."""
        ...

    def at_one_moment(self) -> AbstractContextManager[None]:
        """For this thread `data_version` stays what it is when first asked: one look for several questions."""
        ...

    def listen(self, channel: str, told: Callable[[], object]) -> bool:
        """Call `told` whenever another process says something there; False where nobody can say anything."""
        ...

    def sizes(self) -> tuple[int, int]:
        """Bytes of the store, and of its log."""
        ...

    def purge(self) -> bool: ...
    def close(self) -> None: ...


class Listed(str):
    """The JSON of a list, and the list itself."""

    __slots__ = ("items",)

    items: Sequence[int] | Sequence[str]


def listed(items: Iterable[int] | Iterable[str]) -> Listed:
    """A list of numbers or of texts, for a query that looks into it."""
    values: list[Any] = list(items)
    told = map(str, values) if values and isinstance(values[0], int) else map(quoted, values)
    found = Listed(f"[{','.join(told)}]")  # `json.dumps` takes twice as long, and a recall makes eight of them
    found.items = values
    return found


class HalfVector(bytes):
    """A vector as little-endian float16."""

    __slots__ = ()


def unencodable() -> InvalidInput:
    """Half of a character, such as is left of an emoji that was cut: no store can keep it."""
    return InvalidInput(
        "a text holds half of a character", code="TEXT_NOT_UTF8", next="pass text that can be written as UTF-8"
    )
