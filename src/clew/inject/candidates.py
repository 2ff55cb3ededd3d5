"""Candidates for a block: memories that recall finds for a query, with an absolute relevance and their weight.

`MemoryStore` is the port that blocks and the injector read through; `RecallStore` is ours, over the recall step
(words, meaning, activation through the graph). Nothing here decides what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from clew.guard.trust import is_told_unasked
from clew.inject.news import is_news_of_any, overtaking
from clew.model.inject import Observation
from clew.model.memory import Filter, Memory
from clew.model.recalled import RecallOptions
from clew.model.scope import Reach, Scope
from clew.ports import Store
from clew.recall import disputes
from clew.recall.recall import MAX_LIMIT, Found, Reader, find
from clew.values import dataclass

HEARD_PAGE = 50  # rules and decisions, among which those are looked for that were said in prompts
MORE_FORBIDDING = 3  # older ones: what they guard against must not be told too late
MORE_NEWS = 3  # of what is told, by what was said later and is less sure
_FORBIDS = re.compile(
    r"\b(?:never|cannot|avoid|(?:do|must|may|should) ?not)\b|\b(?:do|must|should)n['’]?t\b", re.IGNORECASE
)
MAX_PAGES = 20  # looked through for what is newest and may be told
Retired = Callable[[str, Sequence[str]], Collection[str]]  # which of these ids of an org outcomes made worthless
Refused = Callable[[Sequence[Memory]], Mapping[str, str]]  # ids of those that may not be told, with the reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalQuery:
    """What is asked of a memory store. `rules` come on top of the limit; `all_projects` is memory scope `org`."""

    text: str
    limit: int = 20
    rules: bool = False
    session: str | None = None
    namespace: str | None = None
    all_projects: bool = False
    types: tuple[str, ...] = ()  # none: all
    by_words: bool = False  # alone: nothing is embedded
    graph: bool = True
    floor: float = 0.0  # with one, rules need it too
    counted: bool = True  # for the rollout of the graph; False for rehearsals
    heard: int = 0  # so many of the newest rules and decisions that users said in the project, whatever is asked
    margin: float | None = None  # by so much an answer must stand out from what the question finds anyway
    # What may not be told to whoever asks takes no place of what may. Not what is asked, so it is not compared.
    refused: Refused | None = field(default=None, compare=False)


class MemoryStore(Protocol):
    """Where memories for a block come from, best first."""

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]: ...


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A memory store for rehearsals and dry runs: nobody is served, so nothing is counted."""

    inner: MemoryStore

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        return self.inner.retrieve(scope, replace(query, counted=False))


@dataclass(frozen=True, slots=True)
class Newest:
    """A memory store for whoever asks about nothing in particular: the rules, then what was learnt last. `retired`
    says which ids of an org outcomes have made worthless."""

    store: Store
    now: Callable[[], datetime]
    retired: Retired

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        reach, now = Reach.of(scope), self.now()
        withheld: dict[str, str] = {}
        find = partial(self._newest, reach, query=query, withheld=withheld, now=now)
        found = [*find(Filter(layer="rule")), *find(Filter())]
        ids = list(dict.fromkeys(memory.id for memory in found))
        with self.store.read() as tx:
            others = disputes.others_of(tx, reach, ids, now)
        retired = self.retired(reach.org, ids)
        # Newer is better, and none is below a floor that a block may ask for.
        return [
            Observation(
                memory,
                relevance=1 - place / (2 * len(found)),
                weight=memory.weight,
                retired=memory.id in retired,
                disputed_by=others.get(memory.id, ()),
                withheld=withheld.get(memory.id, ""),
            )
            for place, memory in enumerate(found)
        ]

    def _newest(
        self, reach: Reach, wanted: Filter, *, query: RetrievalQuery, withheld: dict[str, str], now: datetime
    ) -> list[Memory]:
        """As many as asked for of what may be told, and what lies between; some way back at most."""
        found: list[Memory] = []
        told = 0
        for _page in range(MAX_PAGES):
            last = found[-1].id if found else None
            with self.store.read() as tx:
                page = tx.memories.find(reach, wanted, now=now, limit=query.limit, cursor=last)
            found += page
            withheld |= query.refused(page) if query.refused and page else {}
            told += sum(memory.id not in withheld and is_told_unasked(memory) for memory in page)
            if len(page) < query.limit or told >= query.limit:
                break
        return found


class RecallStore:
    """Memories by recall. Those that weigh `retire_below` or more are not asked about."""

    def __init__(
        self,
        reader: Reader,
        now: Callable[[], datetime],
        *,
        retired: Retired | None = None,
        retire_below: float = 1.0,
    ) -> None:
        self._reader, self._now = reader, now
        self._retired, self._retire_below = retired, retire_below

    def retrieve(self, scope: Scope, query: RetrievalQuery) -> list[Observation]:
        if not query.text.strip():
            return []
        reach = Reach.across_projects(scope) if query.all_projects else Reach.of(scope)
        options = RecallOptions(
            limit=min(max(1, query.limit), MAX_LIMIT),
            rules=query.rules,
            types=query.types,
            session=query.session,
            namespace=query.namespace,
            retrieval="lexical" if query.by_words else "hybrid",
            graph=None if query.graph else False,
            floor=query.floor,
            counted=query.counted,
        )
        now, margin = self._now(), query.margin
        ask = partial(find, query.text, reach, options, reader=self._reader, now=now)
        found, background = ask(margin=margin, refused=query.refused)
        heard = self._heard(scope, query, now) if query.heard and scope.project else {}
        found += [one for id, one in heard.items() if id not in {other.memory.id for other in found}]
        later = self._bring_later(found, reach, query, now)
        light = [one.memory.id for one in found if one.memory.weight < self._retire_below]
        retired = self._retired(reach.org, light) if self._retired and light else ()
        return [
            Observation(
                one.memory,
                relevance=one.relevance,
                weight=one.memory.weight,
                led_by=one.led_by,
                heard=one.memory.id in heard,
                retired=one.memory.id in retired,
                background=background,
                disputed_by=one.disputed_by,
                overtaken_by=tuple(new.id for new in later.get(one.memory.id, ())),
                withheld=one.withheld,
            )
            for one in found
        ]

    def _bring_later(
        self, found: list[Found], reach: Reach, query: RetrievalQuery, now: datetime
    ) -> dict[str, list[Memory]]:
        """Adds what ends something that was found, where it was not found itself: what is over must not stand
        alone. Ends: each step leads to what was said later."""
        later: dict[str, list[Memory]] = {}
        while more := self._overtaking(reach, [one.memory for one in _disputed(found, later)], query, now):
            later |= more
            known = {one.memory.id for one in found}
            pairs = ((new, old) for old in found for new in more.get(old.memory.id, ()) if new.id not in known)
            new = {new.id: Found(new, old.relevance, old.led_by) for new, old in pairs}
            with self._reader.store.read() as tx:
                others = disputes.others_of(tx, reach, list(new), now)
            found += [one._replace(disputed_by=others.get(id, ())) for id, one in new.items()]
        return later

    def _overtaking(
        self, reach: Reach, memories: Sequence[Memory], query: RetrievalQuery, now: datetime
    ) -> dict[str, list[Memory]]:
        """What ends these, as far as it may be told: else they stand as if it were not there."""
        if not memories:
            return {}
        with self._reader.store.read() as tx:
            found = overtaking(tx, reach, memories, now)
        new = {one.id: one for some in found.values() for one in some}
        refused = query.refused(list(new.values())) if query.refused and new else {}
        allowed = {id: [one for one in some if one.id not in refused] for id, some in found.items()}
        return {id: some for id, some in allowed.items() if some}

    def _heard(self, scope: Scope, query: RetrievalQuery, now: datetime) -> dict[str, Found]:
        """Said by a user in a prompt, and some more that forbid: what people remember as a rule stands before every
        session anyway. What is less sure comes along where it may be the news of one of them."""
        reach = Reach.of(scope)
        heard = self._newest_heard(reach, scope, now, enough=query.heard + MORE_FORBIDDING)
        heard.sort(key=lambda one: one.at, reverse=True)  # several sessions may have been captured together
        refused = query.refused(heard) if query.refused and heard else {}
        allowed = [one for one in heard if one.id not in refused]
        later = self._overtaking(reach, allowed, query, now)
        ended = [one for one in allowed if one.id in later]
        new = {one.id for old in ended if _is_sure(old) for one in later[old.id]}
        may = [one for one in allowed if one not in ended and (_is_sure(one) or one.id in new)]
        forbidding = [one for one in may[query.heard :] if _FORBIDS.search(one.content)][:MORE_FORBIDDING]
        may = may[: query.heard] + forbidding
        unsure = [one for one in allowed if one not in may and one not in ended and not _is_sure(one)]
        may += [one for one in unsure if is_news_of_any(one, may)][:MORE_NEWS]
        told = [one for one in heard if one in may or one.id in refused]
        with self._reader.store.read() as tx:
            others = disputes.others_of(tx, reach, [one.id for one in told], now)
        return {one.id: Found(one, 0.0, None, others.get(one.id, ()), refused.get(one.id, "")) for one in told}

    def _newest_heard(self, reach: Reach, scope: Scope, now: datetime, *, enough: int) -> list[Memory]:
        """Some way back at most: much of what was said is told only where it fits."""
        wanted = Filter(types=("rule", "decision"), layer="long_term")
        heard: list[Memory] = []
        last = None
        for _page in range(MAX_PAGES):
            with self._reader.store.read() as tx:
                page = tx.memories.find(reach, wanted, now=now, limit=HEARD_PAGE, cursor=last)
            heard += [one for one in page if _is_heard(one, scope, now) and is_told_unasked(one)]
            if len(page) < HEARD_PAGE or sum(map(_is_sure, heard)) >= enough:
                break
            last = page[-1].id
        return heard


def _disputed(found: Sequence[Found], known: Collection[str]) -> list[Found]:
    return [one for one in found if one.disputed_by and one.memory.id not in known]


def _is_heard(memory: Memory, scope: Scope, now: datetime) -> bool:
    """Here, and so now: what somebody has ended is listed all the same."""
    holds = memory.valid_at <= now and (memory.invalid_at is None or memory.invalid_at > now)
    return holds and memory.metadata.get("captured") in ("rule", "decision") and memory.project == scope.project


def _is_sure(memory: Memory) -> bool:
    return not memory.metadata.get("unsure")
