"""Our `dataclass` beside that of the standard library: values do the same, only defining their class costs less."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.values import dataclass

T = TypeVar("T")
Decorator = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Point:
    """Here and not within a test: it is pickled."""

    x: int
    y: int = 0
    names: list[str] = dataclasses.field(default_factory=list)


def made_by(decorator: Decorator, **how: bool) -> type[Any]:
    @decorator(**how)
    class Made:
        a: int
        b: str = "b"
        c: list[int] = dataclasses.field(default_factory=list)
        hidden: str = dataclasses.field(default="h", repr=False)
        derived: int = dataclasses.field(init=False, default=7)
        beside: str = dataclasses.field(default="", compare=False)

        @property
        def doubled(self) -> int:
            return self.a * 2

    return Made


HOWS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "slots": True, "eq": False, "repr": False},
]


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_a_class_is_what_the_standard_library_makes(how: dict[str, bool]) -> None:
    ours, theirs = made_by(dataclass, **how), made_by(dataclasses.dataclass, **how)
    assert [(one.name, one.kw_only) for one in dataclasses.fields(ours)] == [
        (one.name, one.kw_only) for one in dataclasses.fields(theirs)
    ]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours(a=1), "__dict__") == hasattr(theirs(a=1), "__dict__")
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    if how.get("repr", True):
        assert repr(ours(a=1, c=[2])) == repr(theirs(a=1, c=[2])) and "hidden" not in repr(ours(a=1))
    assert dataclasses.asdict(ours(a=1)) == dataclasses.asdict(theirs(a=1))


@pytest.mark.parametrize("how", HOWS, ids=str)
@given(values=st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=2, max_size=2))
def test_values_are_equal_when_theirs_are(how: dict[str, bool], values: list[tuple[int, int, int]]) -> None:
    def are_equal(decorator: Decorator) -> bool:
        cls = made_by(decorator, **how)
        one, other = (cls(a=a, b=b, beside=beside) for a, b, beside in values)
        return bool(one == other)

    assert are_equal(dataclass) == are_equal(dataclasses.dataclass)


def test_equal_values_have_the_same_hash_and_other_kinds_are_not_equal() -> None:
    @dataclass(frozen=True, slots=True)
    class Other:
        x: int
        y: int = 0
        names: tuple[str, ...] = ()

    @dataclass(frozen=True, slots=True)
    class Alone:
        x: object

    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    assert hash(Other(1)) == hash(Other(1, 0)) and Other(1) != Point(1) and Other(1) != 1
    nan = float("nan")
    assert Alone(nan) == Alone(nan) and hash(Alone("x")) == hash(Alone("x")) and Alone(1) != Alone(2)
    assert Nothing() == Nothing() and hash(Nothing()) == hash(Nothing()) and repr(Nothing()).endswith("Nothing()")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))  # it holds a list


@pytest.mark.parametrize("slots", [False, True])
def test_a_frozen_value_stays_as_it_is(slots: bool) -> None:
    value = made_by(dataclass, frozen=True, slots=slots)(a=1)
    for change in (lambda: setattr(value, "a", 2), lambda: setattr(value, "new", 2), lambda: delattr(value, "a")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="field '"):
            change()
    assert value.a == 1 and dataclasses.replace(value, a=3).doubled == 6


def test_a_value_is_copied_and_pickled() -> None:
    value = Point(1, names=["n"])
    assert copy.copy(value) == value == pickle.loads(pickle.dumps(value))
    deep = copy.deepcopy(value)
    assert deep == value and deep.names is not value.names


def test_defaults_that_are_made_are_made_for_each() -> None:
    one, other = Point(1), Point(1)
    assert one.names == [] and one.names is not other.names


def test_wrong_arguments_are_told_as_for_any_function() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
    with pytest.raises(SyntaxError, match="default"):
        exec("@dataclass\nclass Wrong:\n a: int = 1\n b: int", {"dataclass": dataclass})


def test_what_a_class_has_of_its_own_stays() -> None:
    @dataclass(frozen=True, slots=True)
    class Own(Generic[T]):
        x: T

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", (self.x,))

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    value = Own(1)
    assert value.x == (1,) and value == 7 and hash(value) == 5 and repr(value) == "own"


def test_a_class_that_extends_another_has_the_fields_of_both() -> None:
    @dataclass(frozen=True, slots=True)
    class Base:
        x: int

    @dataclass(frozen=True, slots=True)
    class More(Base):
        y: int

    assert (
        More(1, 2) == More(1, 2) != More(1, 3) and More(1, 2) != Base(1) and repr(More(1, 2)).endswith("(x=1, y=2)")
    )


def test_defining_a_class_compiles_one_function_where_the_standard_library_compiles_six() -> None:
    def compiled(decorator: Decorator) -> list[str]:
        seen: list[CodeType] = []

        def note(event: str, args: tuple[CodeType]) -> None:
            if event == "exec" and is_noting:
                seen.append(args[0])

        sys.addaudithook(note)  # for good: it cannot be taken back
        is_noting = True
        made_by(decorator, frozen=True, slots=True)
        is_noting = False
        return [name for code in seen for name in functions_in(code)]

    standard = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}
    assert compiled(dataclass) == ["__init__"] and standard == set(compiled(dataclasses.dataclass))


def functions_in(code: CodeType) -> list[str]:
    """What a text defines, but for what the standard library wraps around it."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [
        name
        for part in inner
        for name in ([part.co_name] if part.co_name != "__create_fn__" else []) + functions_in(part)
    ]


def test_many_fields_are_set_alike_with_what_is_compiled_and_without(by_both: None) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Many:
        a: int
        b: str = "b"
        c: list[int] = dataclasses.field(default_factory=list)
        d: float = 1.0
        e: int | None = None
        f: int = dataclasses.field(default=7, init=False)

    made = Many(a=1, d=2.5)
    assert (made.a, made.b, made.c, made.d, made.e, made.f) == (1, "b", [], 2.5, None, 7)
    assert made == Many(a=1, d=2.5) and dataclasses.replace(made, e=3).e == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.a = 2  # type: ignore[misc]
