"""Memories in and out over HTTP, and how the store is doing: export, import, statistics, doctor."""

from __future__ import annotations

import io
from typing import Any

from clew.errors import Denied
from clew.surfaces.http.route import JSON_LINES, MARKDOWN, Call, Route, Send, Written
from clew.surfaces.http.shapes import memories as shapes

MAX_IMPORT_KB = 1 << 20  # a gigabyte: what is larger is imported where the store is
_OF_THE_FILE = ("path", "file_bytes", "log_bytes", "bytes_per_memory")


class _Lines(io.TextIOBase):
    """What an export writes, handed on to the client."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def write(self, text: str) -> int:
        self._send(text.encode())
        return len(text)


def export(call: Call) -> Any:
    asked = call.query
    scope = call.place(asked) if asked.project is not None or asked.user is not None else None

    def write(send: Send) -> None:
        call.clew.export(_Lines(send), scope=scope, identity=call.identity, all_projects=asked.all_projects)  # type: ignore[arg-type]

    return Written(write)


def import_file(call: Call) -> Any:
    asked = call.query
    assert call.file is not None
    report = call.clew.import_file(
        call.file,
        scope=call.place(asked) if asked.project is not None or asked.user is not None else None,
        identity=call.identity,
        dry_run=asked.dry_run,
    )
    return report.as_json()


def stats(call: Call) -> Any:
    document = call.clew.stats(identity=call.identity).as_json()
    try:
        call.identity.check_operator()
    except Denied:
        return {name: value for name, value in document.items() if name not in _OF_THE_FILE}
    return document


def doctor(call: Call) -> Any:
    return {"checks": [check.as_json() for check in call.clew.doctor(identity=call.identity)]}


ROUTES = (
    Route(
        "GET", "/v1/export", "export", "Every memory that may be exported, as JSON Lines.", export,
        answer=str, query=shapes.ExportWanted, produces=JSON_LINES, also=(404,),
    ),
    Route(
        "POST", "/v1/import", "import", "Bring in an export or notes; running it again adds nothing.", import_file,
        answer=shapes.ImportShown, query=shapes.ImportWanted, consumes=JSON_LINES, also_consumes=(MARKDOWN,),
        to_file=True, max_body_kb=MAX_IMPORT_KB, also=(404, 409),
    ),
    Route("GET", "/v1/stats", "stats", "How much there is of what.", stats, answer=shapes.StatsShown),
    Route(
        "GET", "/v1/doctor", "doctor", "Look at everything that can break.", doctor,
        answer=shapes.DoctorShown, for_operators=True,
    ),
)  # fmt: skip
