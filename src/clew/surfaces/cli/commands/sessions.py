"""Sessions and their queue: start, claim, refresh, end, stop; enqueue, claim, ack."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clew.surfaces.cli.context import opened, scope_of, settings_of, text_of
from clew.surfaces.cli.parser import usage
from clew.surfaces.cli.terminal import Style, answer, columns, cut, one_line, print_json, safe, style

if TYPE_CHECKING:
    from clew import Clew
    from clew.model.session import AgentSession, Beat, Inject


def start(args: Namespace) -> None:
    settings = settings_of(args)
    with opened(settings) as memory:
        session = memory.sessions.start(
            scope=scope_of(args, settings),
            work_type=args.work_type,
            issue=args.issue,
            title=args.title,
            description=args.description and text_of(args.description, settings),
            issue_id=args.issue_id,
            agent=args.agent or None,
        )
    answer(args, session.as_json(), lambda style: [f"{style('green', 'started')} {style('bold', session.id)}"])


def claim(args: Namespace) -> None:
    """Claim, then have the start block made; whatever becomes of that, the claim stands."""
    with opened(settings_of(args)) as memory:
        token = memory.sessions.claim(args.id, args.worker, provider_session=args.provider_session)
        _start_block(memory, args.id)
    document = {"session": args.id, "worker": args.worker, "fencing_token": token}
    answer(args, document, lambda style: [f"{style('green', 'claimed')} {one_line(args.id)}, token {token}"])


def _start_block(memory: Clew, session: str) -> None:
    try:
        memory.inject.start(session)
    except Exception as error:  # an extra: the worker goes on without it
        print(f"clew: no start block ({type(error).__name__})", file=sys.stderr)


def refresh(args: Namespace) -> None:
    dead = dict(_reasons(args.dead))
    with opened(settings_of(args)) as memory:
        told = {"acked": args.acked, "dead": dead, "held": args.held}
        beat = memory.sessions.refresh(args.id, args.worker, args.token, **told)
    answer(args, beat.as_json(), lambda style: _beat_lines(beat, style))


def _reasons(given: list[str]) -> Iterator[tuple[str, str]]:
    for entry in given:
        delivery, separator, reason = entry.partition("=")
        if not (separator and delivery and reason.strip()):
            raise usage("--dead needs a delivery and a reason", "write it as --dead DELIVERY=REASON")
        yield delivery, reason


def _beat_lines(beat: Beat, style: Style) -> Iterator[str]:
    if not beat.refreshed:
        yield style("red", "lost") + ": the lock is no longer held, stop the agent"
    elif beat.stop:
        yield style("yellow", "stop") + ": the session is to end"
    else:
        yield style("green", "held")
    if beat.inject:
        yield f"inject {style('bold', beat.inject.delivery_id)}"
        yield safe(beat.inject.text)


def end(args: Namespace) -> None:
    if (args.worker is None) != (args.token is None):
        raise usage("--worker and --token go together", "give both or none")
    settings = settings_of(args)
    with opened(settings) as memory:
        session = memory.sessions.end(
            args.id,
            args.outcome,
            state=args.state,
            worker=args.worker,
            token=args.token,
            summary=args.summary and text_of(args.summary, settings),
            files_modified=args.modified,
            errors=[{"message": message} for message in args.error],
        )
    _show(args, session)


def stop(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        session = memory.sessions.stop(args.id)
    _show(args, session)


def show(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        session = memory.sessions.show(args.id)
    _show(args, session)


def _show(args: Namespace, session: AgentSession) -> None:
    document = session.as_json()
    rows = [(name, safe(str(value))) for name, value in document.items()]
    answer(args, document, lambda style: columns(rows))


def list_sessions(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        sessions = memory.sessions.list(project=args.project, state=args.state, limit=args.limit)
    rows = [(each.id, each.state, one_line(each.issue or "-"), one_line(each.title or "")) for each in sessions]
    nothing = "no such session; hooks of agents begin them, and so does: clew session start"
    _list(args, [session.as_json() for session in sessions], rows, nothing=nothing)


def enqueue(args: Namespace) -> None:
    from clew.model.session import InjectDraft, refused

    settings = settings_of(args)
    text = text_of(args.text, settings)
    draft = InjectDraft(args.session, text, kind=args.kind, observation_ids=tuple(args.memory))
    with opened(settings) as memory:
        done = memory.queue.offer(draft)
    row = done.inject or done.known
    if row is None:  # what memory would say is left unsaid; who says it by hand has to know
        raise refused(args.session, str(done.reason))
    said = "queued" if done.inject else "already there"
    answer(args, done.as_json(), lambda style: [f"{style('green', said)} {row.delivery_id}"])


def list_injects(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        injects = memory.queue.list(args.session, state=args.state)
    _list_injects(args, injects)


def dead(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        injects = memory.queue.dead(limit=args.limit)
    _list_injects(args, injects)


def _list_injects(args: Namespace, injects: Sequence[Inject]) -> None:
    rows = [(each.delivery_id, each.state, one_line(each.reason or "-"), one_line(each.text)) for each in injects]
    _list(args, [inject.as_json() for inject in injects], rows, nothing="nothing in the queue")


def claim_inject(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        delivery = memory.queue.claim(args.session, args.worker, args.token)
    if args.json:
        print_json(delivery.as_json() if delivery else None)
    elif delivery:
        print(f"{style()('bold', delivery.delivery_id)}\n{safe(delivery.text)}")


def ack(args: Namespace) -> None:
    with opened(settings_of(args)) as memory:
        counted = memory.queue.ack(args.session, args.delivery, args.worker, args.token, receipt=args.receipt)
    said = (
        "acknowledged" if counted else "not acknowledged: the lock is lost, or there is no such delivery in flight"
    )
    answer(args, {"acked": counted}, lambda style: [style("green" if counted else "yellow", said)])


def _list(
    args: Namespace, documents: list[dict[str, Any]], rows: Iterable[tuple[str, ...]], *, nothing: str
) -> None:
    if args.json:
        print_json(documents)
        return
    for line in columns(rows) or [nothing]:
        print(cut(line, style().width))
