"""A command as a client: of the Clew that the settings name, or of the daemon that serves this home.

A daemon is asked only if it answers at once and means the same by its settings; a command in a project with
settings of its own, or with another version of Clew, opens the store itself. A process that lives on waits longer
for a daemon that is busy: it would otherwise keep the store open beside it for hours.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from clew.settings import Settings
from clew.wire.address import is_address

if TYPE_CHECKING:
    from clew import Clew

PROBE_S, PATIENT_PROBE_S = 0.05, 5.0


def elsewhere(settings: Settings, *, stays: bool = False) -> Clew | None:
    """None when the store is to be opened here. `stays`: by a process that lives on."""
    if not is_address(settings.store.url):
        return _daemon_of(settings, within_s=PATIENT_PROBE_S if stays else PROBE_S)
    from clew.wire.client import connect

    return connect(settings.store.url, token=os.environ.get("CLEW_TOKEN"))


def _daemon_of(settings: Settings, *, within_s: float) -> Clew | None:
    run = settings.home / "run"
    try:
        told = json.loads((run / "daemon.json").read_bytes())
    except (OSError, ValueError):
        return None
    from clew.wire.fingerprint import fingerprint_of

    if not isinstance(told, dict) or told.get("fingerprint") != fingerprint_of(settings):
        return None
    from clew.wire.address import Address
    from clew.wire.client import RemoteClew
    from clew.wire.transport import Transport

    transport = Transport(Address("unix", path=str(run / "clew.sock")))
    if transport.is_answering(within_s=within_s):
        return RemoteClew(transport)
    transport.close()
    return None
