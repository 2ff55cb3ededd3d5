"""What Clew did, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clew.surfaces.cli.terminal import Style, one_line

if TYPE_CHECKING:
    from clew.model.report import WorkReport

SHOWN = 12  # hooks


def work(found: WorkReport, style: Style) -> Iterator[str]:
    where = f" in {one_line(found.project)}" if found.project else ""
    whose = f" for {one_line(found.user)}" if found.user else ""
    yield style("bold", f"{found.since:%Y-%m-%d} to {found.until:%Y-%m-%d}{where}{whose}")
    yield f"sessions   {found.sessions:,}{_listed(found.outcomes)}"
    pushed = ", ".join((f"{found.pushes['start']:,} at the start", f"{found.pushes['hints']:,} hints"))
    yield f"pushes     {sum(found.pushes.values()):,} ({pushed}); {found.tokens:,} tokens"
    given_up = f"; {found.given_up:,} given up" if found.given_up else ""
    yield f"delivered  {found.delivered:,}{_listed(found.receipts)}{given_up}"
    if found.looked:
        yield f"looked     {sum(found.looked.values()):,}{_listed(found.looked)}"
    yield f"captured   {sum(found.captured.values()):,}{_listed(found.captured)}"
    if found.hooks is not None:
        yield f"hooks      {sum(found.hooks.values()):,}{_listed(dict(list(found.hooks.items())[:SHOWN]))}"
    if found.denied or found.quarantined:
        denied = f"{found.denied:,} by policies, " if found.denied is not None else ""
        yield f"refused    {denied}{found.quarantined or 0:,} in quarantine"


def _listed(counts: Mapping[str, int]) -> str:
    told = [f"{count:,} {one_line(name)}" for name, count in counts.items() if count]
    return f" ({', '.join(told)})" if told else ""
