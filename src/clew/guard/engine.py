"""Cedar itself: policies read, validated and asked. The only module that imports `cedarpy`, and only when needed.

A set is the shipped policies and those an org added. It is parsed once into handles and used for every question
until the next one takes its place as a whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from clew.errors import Misconfigured
from clew.guard.entities import NAMED_ROWS
from clew.guard.policy_text import MAX_DEPTH, deepest, statements
from clew.lazy import LazyModule
from clew.model.access import AddedPolicy, Decision
from clew.values import dataclass

if TYPE_CHECKING:
    import cedarpy
else:
    cedarpy = LazyModule("cedarpy")

T = TypeVar("T")
POLICIES = Path(__file__).with_name("policies.cedar")
SCHEMA = Path(__file__).with_name("schema.cedarschema")
MAX_CHARS = 64_000  # of one file: every policy is looked at for every question
MAX_POLICIES = 100

STACK = 16 * 2**20  # for reading: what stays untouched of it is no memory
_SIZING = threading.Lock()
_PREFIX = re.compile(r"^for policy `[^`]*`, ")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file of policies, and from which line on. A warning refuses nothing."""

    line: int
    policy: str
    message: str
    level: str = "error"  # error | warning

    def as_json(self) -> dict[str, Any]:
        return {"line": self.line, "policy": self.policy, "message": self.message, "level": self.level}


@dataclass(frozen=True, slots=True)
class PolicyText:
    """One file: the name of each policy in it, in order, and whether it decides by the id of a row."""

    ids: tuple[str, ...]
    names_rows: bool


@dataclass(frozen=True)
class Loaded:
    """A set in force. INVARIANT: it parsed, it validated, and it is never changed."""

    handle: cedarpy.PolicySet
    ids: tuple[str, ...]
    version: str  # of its text: decisions are kept under it
    is_grouped: bool  # rows with equal attributes may share a decision
    has_added: bool = False

    def name(self, internal: str) -> str:
        """Cedar numbers policies in the order of the text."""
        number = internal.removeprefix("policy")
        return self.ids[int(number)] if number.isdecimal() and int(number) < len(self.ids) else internal


class Engine:
    """The schema and the shipped policies; sets made of them and of what was added."""

    def __init__(self, policies: Path = POLICIES, schema: Path = SCHEMA) -> None:
        self._policies, self._schema = policies, schema
        # One for all orgs that added the same, which mostly is nothing: a set takes 150 kB.
        self._loaded: WeakValueDictionary[tuple[tuple[str, str], ...], Loaded] = WeakValueDictionary()

    @cached_property
    def shipped_text(self) -> str:
        return _read(self._policies)

    @cached_property
    def schema(self) -> cedarpy.Schema:
        try:
            return cedarpy.Schema.from_str(_read(self._schema))
        except ValueError as error:
            raise _broken(f"the schema of policies is not valid: {error}") from None

    @cached_property
    def shipped(self) -> PolicyText:
        """Refuses to start with a shipped set that is not valid, or in which a policy has no id."""
        problems = self._problems(self.shipped_text)
        if problems:
            raise _broken(f"the shipped policies are not valid: line {problems[0].line}: {problems[0].message}")
        described = _described(self.shipped_text, "shipped")
        if any("#" in id for id in described.ids):
            raise _broken("a shipped policy has no @id")
        return described

    def load(self, added: Sequence[AddedPolicy] = ()) -> Loaded:
        """The whole set, or Misconfigured: there is no half of one."""
        asked = tuple((policy.name, policy.text) for policy in added)
        loaded = self._loaded.get(asked)
        if loaded is None:
            loaded = self._loaded[asked] = self._read(added)
        return loaded

    def _read(self, added: Sequence[AddedPolicy]) -> Loaded:
        """The shipped policies alone, which are not deep, are read also where no thread can be had."""
        try:
            return _with_room(partial(self._parsed, added))
        except RuntimeError:
            if added:
                raise
            return self._parsed(added)

    def _parsed(self, added: Sequence[AddedPolicy]) -> Loaded:
        texts, described = [self.shipped_text], [self.shipped]
        for policy in added:
            problems = self._problems(policy.text)
            if problems:
                message = f"the policy '{policy.name}' is not valid: {problems[0].message}"
                raise _broken(message, next=f"load another in its place, or: clew policy drop {policy.name}")
            texts.append(policy.text)
            described.append(_described(policy.text, policy.name))
        text = "\n".join(texts)
        handle = cedarpy.PolicySet.from_str(text)
        ids = tuple(id for one in described for id in one.ids)
        if len(handle) != len(ids):
            raise _broken("the policies do not add up")
        version = sha256(text.encode()).hexdigest()[:16]
        is_grouped = not any(one.names_rows for one in described)
        return Loaded(handle, ids, version, is_grouped=is_grouped, has_added=bool(added))

    def ids_of(self, text: str, name: str) -> tuple[str, ...]:
        """In order; a policy without an @id is called after the file. A text that is broken has none."""
        if _too_much(text):
            return ()
        try:
            return _with_room(partial(_described, text, name)).ids
        except ValueError:
            return ()

    def problems(self, text: str, *, taken: Iterable[str] = ()) -> list[Problem]:
        """What is wrong with one file; `taken` are ids of policies that are in force already."""
        return _with_room(partial(self._problems, text, set(taken)))

    def warnings(self, text: str) -> list[Problem]:
        """Of a file without problems: what it says and was hardly meant."""
        return _with_room(partial(_warnings, text))

    def _problems(self, text: str, taken: Iterable[str] = ()) -> list[Problem]:
        if too_much := _too_much(text):
            return [too_much]
        parts = list(statements(text))
        try:
            handle = cedarpy.PolicySet.from_str(text)
            ids = _described(text, "").ids
        except ValueError as error:
            return [_where_it_breaks(parts, str(error))]
        if handle.templates():
            return [Problem(1, "", "it holds a template (?principal or ?resource); only whole policies are taken")]
        if not 0 < len(handle) <= MAX_POLICIES:
            return [Problem(1, "", f"it holds {len(handle)} policies; 1 to {MAX_POLICIES} are allowed")]
        return [*self._invalid(text, parts, ids), *_taken(parts, ids, set(taken))]

    def _invalid(self, text: str, parts: Sequence[tuple[int, str]], ids: Sequence[str]) -> Iterator[Problem]:
        result = cedarpy.validate_policies(text, self.schema)
        if not result.validation_passed and not result.errors:
            yield Problem(1, "", "it does not validate")
        for error in result.errors:
            number = int(error.policy_id.removeprefix("policy") or 0)
            yield Problem(parts[number][0], ids[number], _PREFIX.sub("", error.error))

    def ask(self, loaded: Loaded, requests: Sequence[dict[str, Any]], entities: str) -> list[Decision]:
        """One decision per request, in order. Entities are parsed with the schema, which also tells the engine
        that `inject` is a kind of `read`; a handle made without it would deny every inject."""
        known = cedarpy.Entities.from_json_str(entities, self.schema)
        results = cedarpy.is_authorized_batch(list(requests), loaded.handle, known, self.schema)
        if len(results) != len(requests):
            return [Decision(False, reason="count_mismatch") for _ in requests]
        return [_decision(loaded, result) for result in results]


def _decision(loaded: Loaded, result: cedarpy.AuthzResult) -> Decision:
    """FC-1: allowed only without any diagnostic. A forbid that fails is skipped by Cedar, which then allows."""
    policies = tuple(sorted(loaded.name(reason) for reason in result.diagnostics.reasons))
    if result.diagnostics.errors:
        no_decision = result.decision == cedarpy.Decision.NoDecision
        return Decision(False, policies, "no_decision" if no_decision else "evaluation_error")
    if result.decision == cedarpy.Decision.Allow:
        return Decision(True, policies)
    if result.decision == cedarpy.Decision.Deny:
        return Decision(False, policies, "forbidden" if policies else "no_permit")
    return Decision(False, policies, "no_decision")


# -- text ------------------------------------------------------------------------------------------


def _with_room(read: Callable[[], T]) -> T:
    """On a stack of known size, whatever the thread that asks has left of its own."""
    with ThreadPoolExecutor(1, "clew-policies") as threads:
        with _SIZING:  # which is said for every thread that begins
            before = threading.stack_size(STACK)
            try:
                reading = threads.submit(read)
            finally:
                threading.stack_size(before)
        return reading.result()


def _too_much(text: str) -> Problem | None:
    """INVARIANT: Cedar reads no text that was not looked at here."""
    if len(text) > MAX_CHARS:
        return Problem(1, "", f"it has {len(text):,} characters; {MAX_CHARS:,} are allowed")
    depth, line = deepest(text)
    if depth > MAX_DEPTH:
        what = f"it goes {depth:,} deep, brackets and links of chains such as && and || counted together"
        return Problem(line, "", f"{what}; {MAX_DEPTH} are allowed (a set of names is flat: [...].contains(...))")
    return None


def _in_order(node: cedarpy.pst.PolicySet) -> list[cedarpy.pst.Template]:
    named = sorted(node.static_policies.items(), key=lambda item: int(item[0].removeprefix("policy")))
    return [policy for _internal, policy in named]


def _warnings(text: str) -> list[Problem]:
    found = zip(statements(text), _in_order(cedarpy.policies_to_pst(text)), _described(text, "").ids, strict=True)
    said = 'it leaves what goes into prompts to agents; "action in" for "action ==" forbids that, too'
    return [Problem(line, id, said, "warning") for (line, _), policy, id in found if _leaves_inject(policy)]


def _leaves_inject(policy: cedarpy.pst.Template) -> bool:
    """A forbid of reading alone that is about agents as well; what a user may not read is asked of users."""
    if policy.effect != "forbid" or getattr(getattr(policy.action, "entity", None), "id", "") != "read":
        return False
    named = getattr(policy.principal, "entity_type", None) or getattr(
        getattr(policy.principal, "entity", None), "type", None
    )
    return isinstance(policy.action, cedarpy.pst.ActionEq) and str(named) != "Mem::User"


def _described(text: str, name: str) -> PolicyText:
    node = cedarpy.policies_to_pst(text)
    annotated = [policy.annotations.get("id") for policy in _in_order(node)]
    ids = tuple(id or f"{name}#{number}" for number, id in enumerate(annotated, 1))
    named = {str(uid.type) for uid in cedarpy.pst.entity_uids(node)}
    return PolicyText(ids, names_rows=not named.isdisjoint(NAMED_ROWS))


def _where_it_breaks(parts: Sequence[tuple[int, str]], message: str) -> Problem:
    for line, statement in parts:
        try:
            cedarpy.PolicySet.from_str(statement)
        except ValueError as error:
            return Problem(line, "", str(error))
    return Problem(1, "", message)


def _taken(parts: Sequence[tuple[int, str]], ids: Sequence[str], taken: set[str]) -> Iterator[Problem]:
    for (line, _statement), id in zip(parts, ids, strict=False):
        if id in taken:
            yield Problem(line, id, "another policy has this id")
        taken.add(id)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise _broken(f"{path.name} cannot be read: {error.strerror}") from None


def _broken(message: str, *, next: str = "install Clew anew") -> Misconfigured:
    return Misconfigured(message, code="POLICIES_INVALID", next=next)
