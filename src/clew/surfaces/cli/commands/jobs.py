"""Jobs: list, explain, retry, run, health, and the backfill of vectors."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.surfaces.cli.context import opened, settings_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.progress import progress_bar
from clew.surfaces.cli.signals import terminate_like_interrupt
from clew.surfaces.cli.terminal import Style, answer, columns, flush, one_line

if TYPE_CHECKING:
    from clew import Clew
    from clew.model.job import Ran

Document = dict[str, Any]
INTERRUPTED = 130
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def list_jobs(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        jobs = memory.jobs.list(state=args.state, limit=args.limit, cursor=args.cursor)
    found = [job.as_json() for job in jobs]
    document: Document = {"jobs": found}
    if len(found) == args.limit:
        document["cursor"] = found[-1]["subject"]
    answer(args, document, partial(_list_lines, document))


def _list_lines(document: Document, style: Style) -> Iterator[str]:
    yield from _job_lines(document["jobs"], style)
    if "cursor" in document:
        yield style("dim", f"more: clew jobs list --cursor {one_line(document['cursor'])}")


def _job_lines(found: Sequence[Document], style: Style) -> Iterator[str]:
    if not found:
        yield "nothing is left to be done"
    colours = {"dead": "red", "leased": "cyan", "queued": "green"}
    rows = [
        (one["id"], one["state"], one["operation"], f"attempts: {one['attempts']}", one.get("code", ""))
        for one in found
    ]
    for row, line in zip(rows, columns(rows), strict=True):
        yield line.replace(row[1], style(colours[row[1]], row[1]), 1)


def explain(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.jobs.show(args.id).as_json()
    answer(args, document, partial(_explain_lines, document))


def _explain_lines(document: Document, style: Style) -> Iterator[str]:
    job = document["job"]
    yield f"{style('bold', job['id'])} for memory {document['subject']}" if job else f"memory {document['subject']}"
    yield from (f"  {one_line(line)}" for line in document["explanation"])
    runs = [
        (f"  {run['at']}", run["outcome"], f"attempt {run['attempt']}", f"{run['ms']:.0f} ms", run.get("code", ""))
        for run in document["runs"]
    ]
    yield from columns(runs)
    if document["next"]:
        yield f"next: {one_line(document['next'])}"


def retry(args: Namespace) -> None:
    named = (args.id is not None) + args.all + args.everything
    if named == 0:
        raise usage("nothing is named that should be tried again", "give the id of a job, or --all")
    if named > 1:
        raise usage("give the id of a job, --all or --everything, not several", "leave out all but one")
    with opened(settings_of(args)) as memory:
        count = memory.jobs.retry(args.id, everything=args.everything)
    text = f"{_jobs(count)} will be tried again: clew jobs run" if count else "nothing was given up"
    answer(args, {"retried": count}, lambda _style: [text])


def health(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        document = memory.jobs.health().as_json()
    answer(args, document, partial(_health_lines, document))


def _health_lines(document: Document, style: Style) -> Iterator[str]:
    yield f"{_jobs(document['backlog'])} to be done, {document['leased']:,} of them in work"
    if "oldest_s" in document:
        yield f"the oldest waits for {_span(document['oldest_s'])}"
    if document["dead"]:
        yield style("red", f"{_jobs(document['dead'])} given up: clew jobs list --state dead")
    yield f"last success: {document.get('last_success', 'none within a week')}"
    yield f"failures within the last hour: {document['failures_last_hour']:,}"
    for title, name in (("last day", "last_day"), ("codes", "codes")):
        if document[name]:
            yield f"{title}: " + ", ".join(f"{key} {count:,}" for key, count in document[name].items())


# -- running -----------------------------------------------------------------------------------------


def run(args: Namespace) -> int:
    """Ctrl-C is how a host is stopped: no failure. Stopped short of what was asked for, it exits with 130."""
    is_host = not (args.once or args.limit is not None or args.seconds is not None)
    waits = not args.once and args.limit is None
    seen: list[Ran] = []
    is_interrupted = False
    with opened(settings_of(args), directly=True) as memory, _progress(seen) as told, terminate_like_interrupt():
        try:
            ran = memory.jobs.run(limit=args.limit, seconds=args.seconds, forever=waits, told=told)
        except KeyboardInterrupt:
            is_interrupted = True
            ran = seen[-1] if seen else memory.jobs.run(limit=0)
    answer(args, ran.as_json(), partial(_ran_lines, ran.as_json()))
    return INTERRUPTED if is_interrupted and not is_host else 0


@contextmanager
def _progress(seen: list[Ran]) -> Iterator[Any]:
    with progress_bar("jobs") as draw:

        def told(ran: Ran) -> None:
            seen[:] = [ran]
            draw(ran.processed, ran.processed + ran.left)

        yield told


def _ran_lines(document: Document, style: Style) -> Iterator[str]:
    names = (("success", "done"), ("skipped", "without need"), ("retries", "to be tried again"))
    told = [f"{document[name]:,} {words}" for name, words in names if document[name]]
    if document["degraded"]:
        told.append(f"{document['degraded']:,} only in part")
    yield f"{style('green', _jobs(document['processed']))}" + (f": {', '.join(told)}" if told else "")
    if document["dead_letters"]:
        yield style("red", f"{_jobs(document['dead_letters'])} given up: clew jobs list --state dead")
    if document["left"]:
        yield f"{_jobs(document['left'])} left"


def after_write(memory: Clew) -> None:
    """A little of what the write left to be done, once its answer is out. Never its failure."""
    flush()
    with suppress(Exception):  # the write is done and answered; what is left is told by `clew jobs health`
        memory.jobs.portion()


# -- vectors -----------------------------------------------------------------------------------------


def backfill_status(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        _told(args, memory.jobs.backfill.status().as_json())


def backfill_run(args: Namespace) -> None:
    with opened(settings_of(args), directly=True) as memory, progress_bar("vectors") as progress:
        document = memory.jobs.backfill.run(progress).as_json()
    _told(args, document)


def backfill_pause(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        _told(args, memory.jobs.backfill.pause().as_json())


def backfill_resume(args: Namespace) -> None:
    """Goes on at once: nobody else may live long enough."""
    with opened(settings_of(args), directly=True) as memory, progress_bar("vectors") as progress:
        memory.jobs.backfill.resume()
        document = memory.jobs.backfill.run(progress).as_json()
    _told(args, document)


def _told(args: Namespace, document: Document) -> None:
    answer(args, document, partial(_backfill_lines, document))


def _backfill_lines(document: Document, style: Style) -> Iterator[str]:
    colours = {"paused": "yellow", "completed": "green"}
    status = document["status"]
    yield f"{style(colours.get(status, 'cyan'), status)}: vectors of {one_line(document['space'])}"
    if document["total"]:
        yield f"{document['done']:,} of {document['total']:,} were made"
    left = f"{document['remaining']:,} memories have none"
    if document["remaining"] and "remaining_s" in document:
        left += f"; at the rate so far that takes {_span(document['remaining_s'])}"
    yield left
    if "last_error" in document:
        yield style("yellow", f"the last run ended with {document['last_error']}")
    if status == "paused":
        yield "next: clew jobs backfill resume"
    elif status == "running":
        yield "another process makes them"
    elif document["remaining"]:
        yield "next: clew jobs backfill run"


def _jobs(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"


def _span(seconds: float) -> str:
    for size, unit in _AGES:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return "less than a second"
