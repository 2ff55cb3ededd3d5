"""A record is a frozen dataclass that is defined faster: everything else about it must be the same."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from clew.records import record


class Body:
    """Some of everything that a field can be."""

    first: int
    second: str = "two"
    many: list[int] = field(default_factory=list)
    unseen: int = field(default=0, compare=False, repr=False)
    length: int = field(init=False)
    made: dict[str, int] = field(init=False, default_factory=dict)
    fixed: int = field(init=False, default=7)
    named: int = field(default=5, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.second))


def _defined(decorator: Any, **given: Any) -> Any:
    names = ("__doc__", "__annotations__", "__post_init__", "__module__")
    own = {name: value for name, value in vars(Body).items() if name in names or name in Body.__annotations__}
    return decorator(frozen=True, **given)(type("Body", (), own))


@record(frozen=True, slots=True)
class Point:
    """At the top of a module, where pickles look for it."""

    x: int
    y: int = 0


@record(frozen=True, slots=True)
class Alone:
    """One field: its own value is no tuple."""

    name: str


@pytest.fixture(params=[True, False], ids=["slots", "no slots"])
def both(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return _defined(record, slots=request.param), _defined(dataclass, slots=request.param)


@pytest.mark.parametrize("given", [{}, {"second": "x", "many": [1]}, {"unseen": 3, "named": 1}], ids=str)
def test_a_record_holds_and_shows_what_a_dataclass_does(both: tuple[Any, Any], given: dict[str, Any]) -> None:
    ours, theirs = (cls(1, **given) for cls in both)
    assert asdict(ours) == asdict(theirs)
    assert repr(ours) == repr(theirs)


def test_it_is_defined_alike(both: tuple[Any, Any]) -> None:
    ours, theirs = both
    assert [(one.name, one.type, one.init) for one in fields(ours)] == [
        (one.name, one.type, one.init) for one in fields(theirs)
    ]
    assert ours.__match_args__ == theirs.__match_args__ and ours.__doc__ == theirs.__doc__
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert ours.__init__.__annotations__ == theirs.__init__.__annotations__
    assert hasattr(ours(1), "__dict__") == hasattr(theirs(1), "__dict__")


@pytest.mark.parametrize("wrong", [{}, {"first": 1, "third": 3}, {"first": 1, "fixed": 3}], ids=str)
def test_what_it_does_not_take_it_refuses_in_the_same_words(both: tuple[Any, Any], wrong: dict[str, Any]) -> None:
    said = []
    for cls in both:
        with pytest.raises(TypeError) as refused:
            cls(**wrong)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_no_two_share_what_a_field_falls_back_on(both: tuple[Any, Any]) -> None:
    assert both[0](1).many is not both[0](1).many


def test_equal_is_what_has_equal_fields_and_is_of_the_same_class() -> None:
    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert Point(1) != (1, 0) and Alone("x") != "x"
    assert len({Point(1), Point(1, 0), Point(2), Alone("x"), Alone("x")}) == 3


def test_what_is_not_compared_does_not_count(both: tuple[Any, Any]) -> None:
    assert both[0](1, unseen=1) == both[0](1, unseen=2)


def test_without_eq_only_the_same_object_is_equal() -> None:
    cls = _defined(record, slots=True, eq=False)
    one = cls(1)
    assert one == one and one != cls(1) and hash(one) == object.__hash__(one)


def test_nothing_can_be_assigned_or_deleted(both: tuple[Any, Any]) -> None:
    one = both[0](1)
    with pytest.raises(FrozenInstanceError, match="'first'"):
        one.first = 2
    with pytest.raises(FrozenInstanceError, match="'first'"):
        del one.first
    assert one.first == 1


def test_it_can_be_copied_replaced_pickled_and_matched() -> None:
    one = Point(1, 2)
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert replace(one, y=3) == Point(1, 3)
    match one:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_what_a_class_defines_itself_stays() -> None:
    @record(frozen=True, slots=True)
    class Quiet:
        secret: str

        def __repr__(self) -> str:
            return "Quiet(***)"

    assert repr(Quiet("x")) == "Quiet(***)" and Quiet("x") == Quiet("x")


def test_a_field_may_have_any_name() -> None:
    @record(frozen=True, slots=True)
    class Odd:
        set: int = 1
        _set: int = 2
        missing: list[int] = field(default_factory=list)
        _missing: list[int] = field(default_factory=list)
        field: int = 3

    assert asdict(Odd()) == {"set": 1, "_set": 2, "missing": [], "_missing": [], "field": 3}


def test_a_record_that_could_change_is_refused() -> None:
    with pytest.raises(TypeError, match="a record is frozen"):
        record(frozen=False, slots=True)(Body)
