"""Whether the server does its work, told truthfully: not that it answers, but that what it promises happens.

Ready means: a write is committed in time, each thread gives signs of life and gets on, no job has waited for long
while none was done, and the file has the schema that this program knows. Otherwise the answer is no, with every
reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from clew.errors import ClewError
from clew.surfaces.http.watch import Watched
from clew.verbs.serving import Serving

if TYPE_CHECKING:
    from clew import Clew

COMMIT_S = 5.0
SILENT_S = 12.0  # with the commit, a red light comes within 15 s
AT_WORK_S = 60.0  # a worker that ended a batch within this time gets on, however much there is to do


class Reason(NamedTuple):
    """Why not. `check` is one of a few words; `detail` holds no content."""

    check: str
    detail: str


class Health:
    def __init__(self, clew: Clew, threads: Sequence[Watched] = ()) -> None:
        self._clew = clew
        self._serving = Serving(clew)
        self._probe = _Probe(self._serving.probe)
        self.threads = tuple(threads)

    def reasons(self) -> list[Reason]:
        """Empty when it is ready. Takes at most a little more than the time of a commit."""
        checks = (self._store, self._threads, self._jobs, self._schema)
        return [reason for check in checks for reason in _attempted(check)]

    def _store(self) -> Iterator[Reason]:
        trouble = self._probe.trouble()
        if trouble:
            yield Reason("store", trouble)

    def _threads(self) -> Iterator[Reason]:
        for thread in self.threads:
            if thread.silent_s > SILENT_S:
                yield Reason(thread.name, f"it has given no sign of life for {thread.silent_s:.0f} s")
            elif thread.failing_s > SILENT_S:
                yield Reason(thread.name, f"it has failed for {thread.failing_s:.0f} s: {thread.failed}")

    def _jobs(self) -> Iterator[Reason]:
        settings, oldest_s = self._clew.settings, self._serving.oldest_due_s()
        worker = self._clew.background_jobs if settings.relate.in_process else None
        beat_at = worker.beat_at if worker is not None and worker.is_running else 0.0
        if beat_at and monotonic() - beat_at > SILENT_S + self._patience_s:
            yield Reason("jobs", f"the worker has given no sign of life for {monotonic() - beat_at:.0f} s")
        gets_on = worker is not None and monotonic() - worker.worked_at < AT_WORK_S
        if oldest_s > settings.serve.oldest_job_s and not gets_on:
            yield Reason(
                "jobs", f"the oldest job has been due for {oldest_s:.0f} s, and none was done in the last minute"
            )

    @property
    def _patience_s(self) -> float:
        """A model behind a network may take as long as the lease on a job."""
        settings = self._clew.settings
        is_far = settings.llm.enabled or settings.embed.provider == "endpoint"
        return settings.relate.lease_s if is_far else 0.0

    def _schema(self) -> Iterator[Reason]:
        found, known = self._serving.schema()
        if found != known:
            yield Reason("schema", f"the file has schema {found}, this Clew knows {known}")


class _Probe:
    """One write at a time, however many ask: a second one would only wait behind the first."""

    def __init__(self, submit: Callable[[], Future[None]]) -> None:
        self._submit = submit
        self._lock = threading.Lock()
        self._under_way: Future[None] | None = None
        self._since = 0.0

    def trouble(self) -> str:
        """'' when a write was committed in time."""
        with self._lock:
            if self._under_way is None or self._under_way.done():
                self._under_way, self._since = self._submit(), monotonic()
            probe, since = self._under_way, self._since
        try:
            probe.result(timeout=max(0.0, since + COMMIT_S - monotonic()))
        except FutureTimeout:
            return f"a write was not committed within {COMMIT_S:.0f} s"
        except ClewError as error:
            return f"a write failed: {error.code}"
        return ""


def _attempted(check: Callable[[], Iterator[Reason]]) -> list[Reason]:
    try:
        return list(check())
    except Exception as error:  # a check that cannot be made is no reason to call it healthy
        return [
            Reason(
                check.__name__.strip("_"),
                f"it could not be checked: {getattr(error, 'code', type(error).__name__)}",
            )
        ]
