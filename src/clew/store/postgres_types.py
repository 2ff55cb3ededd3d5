"""How values cross into PostgreSQL and back: times, lists, vectors, flags, texts it cannot keep."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper, NumericBinaryLoader
from psycopg.types.string import StrDumperUnknown

from clew.errors import Misconfigured
from clew.model.times import Micros
from clew.store.session import HalfVector, Listed

_TIMESTAMPTZ, _TIMESTAMPTZ_ARRAY = 1184, 1185
_ARRAY_HEAD, _LENGTH, _NULL = Struct(">iiIii"), Struct(">i"), b"\xff\xff\xff\xff"
_moment = Struct(">q").pack
_SINCE_2000 = 946_684_800_000_000  # where PostgreSQL begins to count microseconds
_number = Struct("!q").unpack  # read for every time of every row: a third faster than int.from_bytes
_NO_CHARACTER = "\ufffd"  # what stands for a NUL, which PostgreSQL's text cannot hold


class _MicrosDumper(Dumper):
    format = Format.BINARY
    oid = _TIMESTAMPTZ

    def dump(self, obj: Micros) -> bytes:
        return (int(obj) - _SINCE_2000).to_bytes(8, "big", signed=True)


class _MicrosLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> Micros:
        return Micros(_number(data)[0] + _SINCE_2000)


class Moments(list[Micros | None]):
    """A list of times: a plain one would be taken for a list of numbers."""


class _MomentsDumper(Dumper):
    format = Format.BINARY
    oid = _TIMESTAMPTZ_ARRAY

    def dump(self, obj: Moments) -> bytes:
        return _array(_TIMESTAMPTZ, [None if at is None else _moment(at - _SINCE_2000) for at in obj])


class Vectors(list[HalfVector]):
    """A list of vectors: a plain one would be taken for a list of bytes."""


class _VectorsDumper(Dumper):
    format = Format.BINARY
    element = 0  # the number of the type differs from database to database

    def dump(self, obj: Vectors) -> bytes:
        return _array(self.element, [_vector(vector) for vector in obj])


def _array(oid: int, values: Sequence[bytes | None]) -> bytes:
    """One dimension that begins at 1: the length of each value, -1 for none, and the value."""
    head = _ARRAY_HEAD.pack(1, None in values, oid, len(values), 1)
    return head + b"".join(_NULL if value is None else _LENGTH.pack(len(value)) + value for value in values)


class _FlagDumper(Dumper):
    """Without a type: a flag is a number in a column and a truth in a condition."""

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class _ListDumper(Dumper):
    """An array without a type: the query says which it is."""

    def dump(self, obj: Listed) -> bytes:
        return ("{" + ",".join(map(_element, obj.items)) + "}").encode()


def _element(item: int | str) -> str:
    if isinstance(item, int):
        return str(item)
    escaped = item.replace("\0", _NO_CHARACTER).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return (obj.replace("\0", _NO_CHARACTER) if "\0" in obj else obj).encode(self._encoding)


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> bytes:
        return _vector(obj)


class _VectorLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return _swapped(bytes(data))[4:]  # after its length


def _vector(vector: bytes) -> bytes:
    return (len(vector) // 2).to_bytes(2, "big") + b"\0\0" + _swapped(vector)


def _swapped(vector: bytes) -> bytes:
    """Between our little-endian and PostgreSQL's big-endian; 16-bit floats are swapped like 16-bit numbers."""
    values = array("H", vector)
    values.byteswap()
    return values.tobytes()


class _NumberLoader(NumericBinaryLoader):
    """A sum of bigint is numeric; for us it is a number like any other."""

    def load(self, data: Buffer) -> Any:
        value = super().load(data)
        return int(value) if value == value.to_integral_value() else float(value)


def register(connection: psycopg.Connection[Any]) -> None:
    """Teach a connection all of these."""
    types = connection.adapters
    types.register_dumper(int, Int8Dumper)  # for lists, whose width would be that of the first one
    types.register_dumper(int, Int8BinaryDumper)  # one width: every other would be another prepared statement
    types.register_dumper(bool, _FlagDumper)
    types.register_dumper(str, _TextDumper)
    types.register_dumper(Micros, _MicrosDumper)
    types.register_dumper(Listed, _ListDumper)
    types.register_dumper(Moments, _MomentsDumper)
    types.register_loader("timestamptz", _MicrosLoader)
    types.register_loader("numeric", _NumberLoader)
    info = psycopg.types.TypeInfo.fetch(connection, "halfvec")
    if info is None:
        raise Misconfigured(
            f"'{connection.info.user}' does not see the extension 'vector'",
            code="PGVECTOR_MISSING",
            next="as the owner of the schema run: clew migrate",
        )
    info.register(connection)
    types.register_dumper(HalfVector, type("_HalfVectorDumper", (_VectorDumper,), {"oid": info.oid}))
    types.register_loader(info.oid, _VectorLoader)
    of_many = {"oid": info.array_oid, "element": info.oid}
    types.register_dumper(Vectors, type("_HalfVectorsDumper", (_VectorsDumper,), of_many))
