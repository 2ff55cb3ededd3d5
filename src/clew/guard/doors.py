"""Where verbs meet the policies: what someone may not read is not there, what they may not do is denied.

The owner of an org may do everything in it under the shipped policies (a test enumerates that), so without added
ones the owner's door stands open and Cedar is not even loaded. Everybody else is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import ClewError, Denied
from clew.lazy import LazyModule
from clew.model.memory import CLASSIFICATIONS, Draft, Memory, Prepared
from clew.model.recalled import Recalled, Result, Trace
from clew.model.scope import OWNER, Identity, Reach, Scope
from clew.values import dataclass

if TYPE_CHECKING:
    from clew.guard import entities
    from clew.guard.pep import Pep
    from clew.guard.stored import StoredRights
    from clew.model import access
    from clew.ports import Store, Tx
    from clew.recall import context_trace as traces
    from clew.recall.context import Context
    from clew.remember import lifecycle
    from clew.remember import remember as remembering
else:  # an open door, as the owner's is, needs none of this
    access, entities = LazyModule("clew.model.access"), LazyModule("clew.guard.entities")
    lifecycle, remembering = LazyModule("clew.remember.lifecycle"), LazyModule("clew.remember.remember")
    traces = LazyModule("clew.recall.context_trace")

T = TypeVar("T")
NEW = "new"  # the id of a memory that is not stored yet
PAGE = 200
MAX_HIDDEN = 5_000  # rows named to a query


@dataclass(frozen=True, slots=True)
class Door:
    """What one identity may do in one scope. Without a Pep it stands open."""

    identity: Identity
    scope: Scope | None
    pep: Pep | None
    has_added: bool = False  # policies beside the shipped ones, which may be about anything
    _known_labels: list[tuple[str, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    def may(self, action: str, memories: Sequence[Memory]) -> list[bool]:
        if self.pep is None:
            return [True] * len(memories)
        return self._may(action, [access.Resource.of_memory(memory) for memory in memories])

    @property
    def asked(self) -> lifecycle.May | None:
        """For steps that ask about what they come across; None where they need not."""
        return self.may if self.pep else None

    def may_each(self, *actions: str) -> Callable[[Memory], bool]:
        return lambda memory: all(self.may(action, [memory])[0] for action in actions)

    def readable(self, found: Iterable[T], memory_of: Callable[[T], Memory]) -> list[T]:
        """Those that may be read, in their order."""
        kept = list(found)
        may = self.may("read", [memory_of(entry) for entry in kept])
        return [entry for entry, allowed in zip(kept, may, strict=True) if allowed]

    def must(self, action: str, *memories: Memory, asked: str | None = None) -> None:
        """Refuse: what may not be read is 'not found', by the id that was `asked` for; the rest is 'denied'."""
        for memory, allowed in zip(memories, self.may("read", memories), strict=True):
            if not allowed:
                raise lifecycle.not_found(asked or memory.id)
        denied = self.may(action, memories).count(False)
        if denied:
            one = f"memory {memories[0].id}" if memories else ""
            raise self._denied(action, one if len(memories) == 1 else f"{denied} of {len(memories)} memories")

    def must_write(self, old: Memory, new: Memory) -> None:
        """A change needs the right to both: to touch the one, and to have the other there."""
        self.must("write", old)
        if not all(self.may("write", [new])):
            raise self._denied("write", f"memory {old.id} like this")

    def check_place(self) -> None:
        """Refuse those who may not write into this scope at all."""
        scope, writer = self.scope or Scope(org=self.identity.org), self.identity.user
        new = access.Resource("memory", NEW, scope.org, scope.project, scope.user, "internal", writer=writer)
        if not all(self._may("write", [new])):
            raise self._denied("write", self._place)

    def check_action(self, action: str) -> None:
        """Refuse what is for people to those who are none."""
        if self.pep and action in entities.USER_ONLY and entities.acts_as_agent(self.identity, action):
            raise self._denied(action, "memories")

    def may_lower(self) -> bool:
        """Whether a label that is given counts for more than words, and another's name as the author's: from people
        who configure the org."""
        if self.identity.agent or self.pep is None:
            return not self.identity.agent
        org = self.identity.org
        return all(self._may("configure", [access.Resource("org", org, org)]))

    def may_sign(self, author: str | None) -> bool:
        """Whether words may be given this name. Another's counts only from those who configure the org, or anyone's
        words would pass for it."""
        return self.pep is None or author in (None, self._own_name) or self.may_lower()

    def check_author(self, old: Memory, new: Memory) -> None:
        """Refuse to say that the words are another's: policies go by it."""
        if new.author == old.author or self.may_sign(new.author):
            return
        raise Denied(
            f"'{self.identity.name}' may not say that the author is '{new.author}'",
            code="AUTHOR_DENIED",
            next="leave the author as it is, or ask an owner or admin of the org",
        )

    def narrowed(self, reach: Reach) -> Reach:
        """The reach for looking at the graph, which has no rights of its own: only what memories that may be read
        say. A label counts as readable when it is so in the project, beside it and for whoever asks."""
        if self.pep is None:
            return reach
        return replace(reach, labels=self._labels(), by_label=not self.has_added)

    @property
    def hides(self) -> bool:
        """Whether anything in the scope may be hidden. By the shipped policies only its label hides a memory."""
        return self.pep is not None and (self.has_added or self._labels() != CLASSIFICATIONS)

    def _labels(self) -> tuple[str, ...]:
        """Decided once for a request, which asks before it looks and again before it answers."""
        if not self._known_labels:
            self._known_labels.append(self._readable_labels())
        return self._known_labels[0]

    def _readable_labels(self) -> tuple[str, ...]:
        scope = self.scope or Scope(org=self.identity.org)
        samples = [sample for label in CLASSIFICATIONS for sample in _samples(scope, label)]
        may = zip(samples, self._may("read", samples), strict=True)
        unreadable = {sample.classification for sample, allowed in may if not allowed}
        return tuple(label for label in CLASSIFICATIONS if label not in unreadable)

    def exact(self, tx: Tx, reach: Reach) -> Reach:
        """The same by looking at every memory: an added policy may be about a project, a writer or a single one."""
        if self.pep is None or not self.has_added:
            return self.narrowed(reach)
        rows = tx.guarding.rows(reach)
        may = self._may("read", [resource for _row, resource in rows])
        hidden = tuple(row for (row, _resource), allowed in zip(rows, may, strict=True) if not allowed)
        if len(hidden) > MAX_HIDDEN:  # no list for a query; fail closed
            raise self._denied("read", "the graph of so many memories that others may not show you")
        return replace(reach, labels=None, hidden=hidden)  # `by_label` stays away: rows say it all

    # -- writing -----------------------------------------------------------------------------------

    def signed(self, drafts: Iterable[Draft]) -> Iterable[Draft]:
        """What a user adds to what all share says who wrote it: the writer may correct it later. A name that may
        not be given is left out."""
        if self.pep is None:
            return drafts
        return self._signed(drafts, None if self.scope and self.scope.user else self._own_name)

    def _signed(self, drafts: Iterable[Draft], name: str | None) -> Iterator[Draft]:
        may_sign: dict[str | None, bool] = {}
        for draft in drafts:
            author = draft.author
            if author not in may_sign:
                may_sign[author] = self.may_sign(author)
            author = author if may_sign[author] else None
            author = author if author or draft.past else name
            yield draft if author == draft.author else replace(draft, author=author)

    @property
    def _own_name(self) -> str | None:
        """Of the user who writes; an agent by itself signs nothing."""
        return None if entities.acts_as_agent(self.identity, "write") else self.identity.user

    def check_new(self, tx: Tx, prepared: Sequence[Prepared], now: datetime) -> None:
        """Refuse a batch in which one may not be written, or would replace what this identity may not change."""
        if self.pep is None:
            return
        new = [replace(access.Resource.of_memory(item.memory), writer=self.identity.user) for item in prepared]
        if not all(self._may("write", new)):
            raise self._denied("write", self._place)
        for item in prepared:
            if item.supersedes or item.memory.upsert_key:
                self.must("write", *remembering.to_replace(tx, item, now, self.may))

    # -- reading -----------------------------------------------------------------------------------

    @property
    def refused(self) -> Callable[[Sequence[Memory]], Mapping[str, str]] | None:
        """For a search, that what may not be read takes no place of what may; None where labels say it all, which
        searches go by themselves."""
        return self._unreadable if self.pep and self.has_added else None

    def _unreadable(self, memories: Sequence[Memory]) -> Mapping[str, str]:
        may = self.may("read", memories)
        return {memory.id: "may not be read" for memory, allowed in zip(memories, may, strict=True) if not allowed}

    def recalled(self, recalled: Recalled) -> Recalled:
        """A trace counts whatever was looked at. Where some of that may be hidden it is left out, also when nothing
        was found: a trace that is there for some words and not for others tells which of them are hidden."""
        if self.pep is None:
            return recalled
        kept = self.readable(recalled.results, lambda result: result.memory)
        if len(kept) == len(recalled.results) and not self.hides:
            return recalled
        if self.has_added:  # results, ways and ranks may come from what a policy hides
            seen = {result.memory.id for result in kept}
            kept = [one for one in kept if not one.only_by_graph or (one.way and one.way.seed in seen)]
            kept = [_alone(result, rank) for rank, result in enumerate(kept, 1)]
        seen = {result.memory.id for result in kept}
        conflicts = [one for one in recalled.conflicts if {one.memory_a_id, one.memory_b_id} <= seen]
        return Recalled(kept, Trace(), conflicts)

    def context(self, context: Context) -> Context:
        if self.pep is None:
            return context
        lists = {
            name: self.readable(getattr(context, name), lambda entry: entry.memory)
            for name in ("rules", "working", "long_term", "added")
        }
        is_whole = all(len(entries) == len(getattr(context, name)) for name, entries in lists.items())
        if is_whole and not self.hides:
            return context
        if self.has_added:  # as in `recalled`
            for name in ("rules", "working", "long_term"):
                lists[name] = [_alone(result, rank) for rank, result in enumerate(lists[name], 1)]
            lists["added"] = [replace(entry, linked_via_node="") for entry in lists["added"]]
        found = [entry.memory.id for name in ("working", "long_term") for entry in lists[name]]
        lists["added"] = [entry for entry in lists["added"] if entry.seed_memory_id in found]
        seen = {entry.memory.id for entries in lists.values() for entry in entries}
        conflicts = [one for one in context.conflicts if {one.memory_a_id, one.memory_b_id} <= seen]
        counts = {"added": len(lists["added"]), "conflicts": len(conflicts)}
        trace = traces.as_if_found(context.trace, len(found), **counts)
        return replace(context, **lists, conflicts=conflicts, trace=trace)

    def is_seen(self, tx: Tx, reach: Reach, id: str) -> bool:
        """Whether there is such a memory and it may be read."""
        memory = tx.memories.get(reach, id, deleted=True)
        return memory is not None and bool(self.readable([memory], lambda one: one))

    def page(
        self, find: Callable[[int, str | None], Sequence[Memory]], limit: int, cursor: str | None
    ) -> Sequence[Memory]:
        """As many as were asked for, as long as there are any: a page is not shorter for what was left out."""
        if self.pep is None:
            return find(limit, cursor)
        kept: list[Memory] = []
        while len(kept) < limit and (page := find(max(limit, PAGE), cursor)):
            kept += self.readable(page, lambda memory: memory)
            cursor = page[-1].id
        return kept[:limit]

    def without_hidden_parents(self, store: Store, found: Sequence[T]) -> list[T]:
        """What was found, without the ids of what it derives from that may not be read."""
        derived = {id for one in found for id in _memory_of(one).parents} if self.pep else set()
        if not derived:
            return list(found)
        with store.read() as tx:
            there = tx.memories.get_many(Reach.everything(self.identity.org), sorted(derived))
        seen = {memory.id for memory in self.readable(there.values(), lambda memory: memory)}
        return [one if seen.issuperset(_memory_of(one).parents) else _with_parents(one, seen) for one in found]

    # -- asking ------------------------------------------------------------------------------------

    def _may(self, action: str, rows: Sequence[access.Resource]) -> list[bool]:
        if self.pep is None:
            return [True] * len(rows)
        scope = self.scope or Scope(org=self.identity.org)
        context = access.AccessContext(self.identity.org, scope.project, user=scope.user or self.identity.user)
        return [decision.allowed for decision in self.pep.decide(self.identity, action, rows, context)]

    @property
    def _place(self) -> str:
        return f"in project '{self.scope.project}'" if self.scope and self.scope.project else "here"

    def _denied(self, action: str, what: str) -> ClewError:
        who = self.identity.name
        return Denied(
            f"'{who}' may not {action} {what}",
            code=f"{action.upper()}_DENIED",
            next="name the project it belongs to, or ask an owner or admin of the org",
        )


def _memory_of(one: Any) -> Memory:
    """Answers are memories, or values with one in their field `memory`."""
    memory: Memory = one if isinstance(one, Memory) else one.memory
    return memory


def _with_parents(one: T, seen: Collection[str]) -> T:
    memory = _memory_of(one)
    told: Any = replace(memory, parents=tuple(id for id in memory.parents if id in seen))
    return told if one is memory else replace(one, memory=told)  # type: ignore[type-var]


def _alone(result: Result, rank: int) -> Result:
    return replace(result, rank=rank, way=None, why=tuple(reason.alone() for reason in result.why))


def _samples(scope: Scope, label: str) -> list[access.Resource]:
    """Memories as they may lie in a scope, all with one label."""
    places = {(None, None), (scope.project, None), (scope.project, scope.user)}
    return [
        access.Resource("memory", NEW, scope.org, project, user, label) for project, user in sorted(places, key=str)
    ]


class Doors:
    """Opens a door per call."""

    def __init__(self, stored: StoredRights, pep: Callable[[], Pep]) -> None:
        self._stored, self._pep = stored, pep

    def door(self, identity: Identity | None, scope: Scope | None) -> Door:
        identity = identity or OWNER
        has_added = self._stored.has_added(identity.org)
        return Door(identity, scope, None if self._stands_open(identity, has_added) else self._pep(), has_added)

    def _stands_open(self, identity: Identity, has_added: bool) -> bool:
        """For the owner, unless policies were added or something is kept from the agent that acts with it."""
        if "owner" not in identity.roles or has_added:
            return False
        return not (identity.agent and self._stored.rights(identity.org, identity.agent).narrow)
