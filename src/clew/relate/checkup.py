"""Checks of what works on top of the file: analyser, embedder, vectors, the graph, and unfinished erasing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from clew import native
from clew.errors import ClewError
from clew.guard.audit import verify_log
from clew.model.facts import ANALYSER
from clew.model.upkeep import Check
from clew.ports import Embedder, LanguageModel, Store
from clew.recall.analyse import REVISION
from clew.relate.decay import last_report
from clew.relate.embed import count_missing
from clew.remember.forget import finish_purge, is_purge_pending
from clew.remember.graph import MAX_ATTEMPTS

REINDEX = "run: clew reindex"
STUCK_S = 3_600.0  # a job that waits for longer waits for a worker that is not there
SILENT = timedelta(hours=1)  # a worker says that it is alive every half minute
SESSIONS = 1_000  # counted at most of an org
AUDIT_ENTRIES = 20_000  # read by the doctor: the newest, in about a second
SENTENCES = (
    "The tests run on every pull request.",
    "Each pull request has its tests run.",
    "My grandmother grows tomatoes behind the house.",
)


def check_analyser(store: Store) -> Iterator[Check]:
    with store.read() as tx:
        made_with = tx.meta.get(ANALYSER)
    if made_with != str(REVISION):
        detail = f"terms were made by analyser {made_with or '(unknown)'}, this Clew has {REVISION}"
        yield Check("analyser", False, detail, REINDEX)
    else:
        yield Check("analyser", True, f"revision {REVISION}")


def check_compiled(_store: Store) -> Iterator[Check]:
    """No fault where it is missing: everything works, only slower."""
    if native.compiled is None:
        detail = "no: recall works, and takes longer; with a C compiler at hand, reinstall Clew to have it"
    else:
        detail = "yes: the inner loops of recall"
    yield Check("compiled", True, detail)


def attempt(check: Callable[[Store], Iterator[Check]], store: Store) -> list[Check]:
    """What a check finds; a store that cannot answer is a finding too."""
    try:
        return list(check(store))
    except ClewError as error:
        return [Check("store", False, error.message, error.next)]


def check_embedder(make: Callable[[], Embedder | None], store: Store) -> Iterator[Check]:
    """Loads it, lets it compare three sentences, and looks whether memories lack its vectors."""
    try:
        embedder = make()
        if embedder is None:
            yield Check("embedder", True, "none: recall is lexical")
            return
        vectors = embedder.embed(SENTENCES)
    except (ClewError, ImportError, OSError, ValueError, KeyError) as error:  # any of its files may be bad
        message = error.message if isinstance(error, ClewError) else f"{type(error).__name__}: {error}"
        move = error.next if isinstance(error, ClewError) else ""
        yield Check("embedder", False, message, move or "reinstall Clew, or set embed.provider to another")
        return
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    if not near > far:
        detail = f"{embedder.space.key} finds unrelated sentences as near as related ones"
        yield Check("embedder", False, detail, "reinstall Clew, or set embed.provider to another")
        return
    yield Check("embedder", True, f"{embedder.space.key}: {near:.2f} for the same, {far:.2f} for another topic")
    yield _check_vectors(store, embedder.space.key)


def _check_vectors(store: Store, space: str) -> Check:
    with store.read() as tx:
        missing, is_paused = count_missing(tx, space), tx.jobs.is_backfill_paused(space)
    if missing and is_paused:
        detail = f"{missing:,} memories have no vector of {space}, and making them is paused"
        return Check("vectors", False, detail, "run: clew jobs backfill resume")
    if missing:
        return Check("vectors", False, f"{missing:,} memories have no vector of {space}", REINDEX)
    return Check("vectors", True, f"every memory has a vector of {space}")


def check_llm(make: Callable[[], LanguageModel | None], _store: Store) -> Iterator[Check]:
    """Whether the language model could be asked. It is not: that would cost something."""
    try:
        model = make()
    except ClewError as error:
        yield Check("llm", False, error.message, error.next)
        return
    if model is not None:
        yield Check("llm", True, f"{model.name}: configured; whether it answers shows in clew jobs")


def check_graph(store: Store) -> Iterator[Check]:
    """Whether every memory is in the graph, and everything in it belongs to something."""
    failed = given_up = 0
    dangling: Counter[str] = Counter()
    with store.read() as tx:
        for org in tx.config.orgs():
            more, lost = tx.edges.failures(org, max_attempts=MAX_ATTEMPTS)
            failed, given_up = failed + more, given_up + lost
            dangling.update(tx.edges.dangling(org))
    if dangling:
        found = ", ".join(f"{count:,} {name}" for name, count in dangling.items())
        yield Check("graph", False, f"what belongs to nothing: {found}", REINDEX)
    elif failed:
        detail = f"{failed:,} memories could not be mapped; {given_up:,} of them are no longer tried"
        yield Check("graph", False, detail, REINDEX)
    else:
        yield Check("graph", True, "every memory is mapped or waits for its turn, and nothing dangles")


def check_decay(store: Store) -> Iterator[Check]:
    """When edges were last looked through. It happens by itself, so there is nothing to mend."""
    with store.read() as tx:
        last = last_report(tx)
    if last is None:
        yield Check("decay", True, "edges were not looked through yet")
    else:
        counted = f"{last['edges_decayed']:,} of {last['edges_total']:,} edges lost confidence"
        yield Check("decay", True, f"{last['ran_at']}: {counted}")


def check_audit(store: Store) -> Iterator[Check]:
    """Whether the audit logs are as they were written. Of long ones only the end is looked at."""
    left = AUDIT_ENTRIES
    with store.read() as tx:
        for org in tx.audit.orgs():
            found = verify_log(tx, org, at_most=left)
            left -= found.entries
            if not found.ok:
                detail = f"the audit log of org '{org}' was changed: entry {found.first_bad_seq}, {found.problem}"
                yield Check("audit", False, detail, "compare it with that of a backup: clew audit list")
                return
    yield Check("audit", True, f"{AUDIT_ENTRIES - left:,} entries were looked at, and each follows the one before")


def check_jobs(store: Store) -> Iterator[Check]:
    """Whether anything was given up, and whether what waits is also done."""
    with store.read() as tx:
        found = [tx.jobs.health(org) for org in tx.jobs.orgs()]
    dead, backlog = sum(one.dead for one in found), sum(one.backlog for one in found)
    oldest_s = max((one.oldest_s or 0.0 for one in found), default=0.0)
    if dead:
        yield Check("jobs", False, f"given up: {dead:,}", "look at them: clew jobs list --state dead")
    if oldest_s > STUCK_S:
        detail = f"waiting: {backlog:,}, the oldest for {oldest_s / 3_600:.0f} h, and nobody does them"
        yield Check("jobs", False, detail, "do them: clew jobs run --once")
    if not dead and oldest_s <= STUCK_S:
        yield Check("jobs", True, f"waiting: {backlog:,}, given up: none")


def check_sessions(store: Store, *, now: datetime) -> Iterator[Check]:
    """Whether anything is running for which nobody works any more."""
    with store.read() as tx:
        counts = [len(tx.sessions.abandoned(o, silent=SILENT, now=now, limit=SESSIONS)) for o in tx.config.orgs()]
    if count := sum(counts):
        detail = f"running, and their workers silent for an hour: {count:,}"
        move = "claim or end them: clew session list --state running; after three days they have failed"
        yield Check("sessions", False, detail, move)
    else:
        yield Check("sessions", True, "each that is running has its worker")


def check_erasing(store: Store) -> Iterator[Check]:
    """Finishes a hard forget whose text is still in the log."""
    with store.read() as tx:
        is_pending = is_purge_pending(tx)
    if is_pending and not finish_purge(store):
        detail = "forgotten text is still in the log, because a process is reading"
        yield Check("erasing", False, detail, "end the other processes that use the store, then run: clew doctor")
    else:
        yield Check("erasing", True, "finished" if is_pending else "nothing is waiting to be erased")
