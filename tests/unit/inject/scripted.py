"""Ten scripted sessions over the memories of a made-up parcel service, with what would have helped at each call.

Written by hand: the calls do not borrow the wording of the memories. `control` marks routine calls that nobody
wants to hear anything about. The sessions of `CHOOSING` were looked at when the gates of the injector were chosen,
those of `REPORTING` only to measure it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Note(NamedTuple):
    key: str
    text: str
    paths: tuple[str, ...] = ()
    type: str = "note"


class Call(NamedTuple):
    tool: str
    query: str | None = None
    path: str | None = None
    helps: tuple[str, ...] = ()
    control: bool = False
    phase: str = "pre"


def read(path: str, *helps: str) -> Call:
    return Call("Read", None, path, helps)


def edit(path: str, *helps: str) -> Call:
    return Call("Edit", None, path, helps)


def grep(pattern: str, *helps: str, path: str | None = None) -> Call:
    return Call("Grep", pattern, path, helps)


def bash(command: str, *helps: str, path: str | None = None) -> Call:
    return Call("Bash", command, path, helps)


def failed(line: str, *helps: str, tool: str = "Bash", path: str | None = None) -> Call:
    return Call(tool, line, path, helps, phase="failure")


def routine(command: str) -> Call:
    return Call("Bash", command, None, (), control=True)


def aside(path: str, tool: str = "Read") -> Call:
    """A file nobody left a note about."""
    return Call(tool, None, path, (), control=True)


def _note(line: str) -> Note:
    fields = json.loads(line)
    return Note(fields["key"], fields["text"], tuple(fields["paths"]), fields["type"])


_LINES = Path(__file__).with_name("scripted_notes.jsonl").read_text(encoding="utf-8").splitlines()
MEMORIES = tuple(_note(line) for line in _LINES)

VAT_SESSION = (
    routine("git status"),
    routine("ls -la"),
    grep("round\\(", path="src/billing"),
    read("src/billing/vat.py", "b2", "b14"),
    grep("tax rate of a foreign consumer", "b14", "b2"),
    aside("README.md"),
    edit("src/billing/vat.py", "b2", "b14"),
    bash("pytest tests/billing -q"),
    failed("AssertionError: assert 1905 == 1904 in test_vat_total_of_three_items", "b2", "b19"),
    read("src/billing/money.py", "b1"),
    routine("git diff"),
    aside("docs/images/logo.svg"),
    read("src/billing/ledger.py", "b11", "b19"),
    bash("grep -rn 'Decimal(' src/billing | head", "b1"),
    routine("git add -A"),
    routine("git commit -m 'fix'"),
)

LOGIN_SESSION = (
    routine("pwd"),
    routine("git log --oneline -5"),
    read("src/auth/throttle.py", "a2"),
    grep("too many attempts rate limit", "a2"),
    edit("src/auth/throttle.py", "a2"),
    read("src/auth/passwords.py", "a3"),
    aside("src/auth/__init__.py"),
    bash("pytest tests/auth/test_throttle.py -x", path="tests/auth/test_throttle.py"),
    failed("redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379"),
    routine("docker ps"),
    read("src/auth/cookies.py", "a5"),
    grep("samesite", "a5"),
    read("src/auth/sessions.py", "a10"),
    Call("Task", "find out how signing out on all devices is done", None, ("a10",)),
    aside("LICENSE"),
    routine("git push"),
)

SOLVER_SESSION = (
    routine("ls src"),
    routine("cat README.md | head -20"),
    read("src/routing/solver.py", "r1", "r8", "r13"),
    grep("SetTimeLimit|time_limit", "r1"),
    edit("src/routing/solver.py", "r1", "r8", "r13"),
    bash("python -m src.routing.solver --vans 12 --orders 300"),
    failed("OverflowError: value too large to convert to int64 in AddDisjunction", "r8"),
    read("src/routing/windows.py", "r3", "r11"),
    grep("stop exactly at the closing time of a slot", "r3"),
    aside("src/routing/__init__.py"),
    bash("pytest tests/routing/test_solver.py -k large", "r18", path="tests/routing/test_solver.py"),
    failed("MemoryError: killed by signal 9 while running test_large_tour", "r18"),
    read("src/routing/distances.py", "r2", "r15", "r19"),
    failed("requests.exceptions.ReadTimeout: osrm table service did not answer for 250 sources", "r15", "r2"),
    routine("htop -n 1"),
    routine("git stash list"),
)

OUTBOX_SESSION = (
    routine("git checkout -b outbox-retries"),
    aside("CONTRIBUTING.md"),
    read("src/notify/outbox.py", "n7", "n14"),
    grep("backoff", "n14"),
    edit("src/notify/outbox.py", "n7", "n14"),
    Call("Task", "why would a customer receive the same text message two times", None, ("n7", "n1")),
    read("src/notify/sms.py", "n1", "n13"),
    aside("src/notify/__init__.py"),
    read("src/notify/webhooks.py", "n4", "n5"),
    grep("X-Signature timestamp tolerance", "n4"),
    bash("celery -A src.platform inspect active"),
    routine("date"),
    read("src/platform/tasks.py", "p8"),
    failed("kombu.exceptions.EncodeError: Object of type Order is not JSON serializable", "p8"),
    routine("git rebase -i HEAD~2"),
    routine("echo done"),
)

MIGRATION_SESSION = (
    routine("ls migrations | tail -3"),
    Call("Write", None, "migrations/0142_delivery_status.py", ("p2", "p3")),
    grep("create_index", "p3", path="migrations"),
    bash("alembic upgrade head", "p2"),
    failed('psycopg.errors.InvalidSqlStatementName: prepared statement "_pg3_0" does not exist', "p4"),
    read("src/platform/db.py", "p4", "p18"),
    grep("which connections go to the follower", "p18"),
    aside("migrations/env.py"),
    aside("alembic.ini"),
    routine("psql -c 'select 1'"),
    bash("docker build -t parcel .", "p14"),
    failed("write /var/lib/docker/tmp: no space left on device", "p1"),
    read("Dockerfile", "p14"),
    routine("df -h"),
    read("deploy/k8s/web.yaml", "p5", "p6"),
    routine("kubectl get pods"),
)

BOARD_SESSION = (
    routine("npm ci"),
    routine("npm run lint"),
    read("web/src/pages/Board.tsx", "w5", "w8"),
    edit("web/src/pages/Board.tsx", "w5", "w8"),
    grep("useSortable|DndContext", "w8"),
    aside("web/package.json"),
    aside("web/tsconfig.json"),
    read("web/src/lib/query.ts", "w6"),
    Call("Task", "the table of tours gets slow when there are very many lines", None, ("w5",)),
    bash("npm run build"),
    failed("error: gzip size of index.js 371 kB is over the limit", "w10"),
    read("web/src/lib/dates.ts", "w4"),
    failed("TypeError: Cannot read properties of undefined (reading 'map')"),
    aside("web/src/pages/About.tsx"),
    routine("npx tsc --noEmit"),
    routine("git fetch origin"),
)

INVOICE_SESSION = (
    routine("git pull"),
    routine("tree -L 2"),
    read("src/billing/pdf.py", "b4"),
    edit("templates/invoice.css", "b4"),
    grep("address block on the printed bill is cut off", "b4"),
    read("src/billing/numbering.py", "b3"),
    Call("Task", "is it allowed that two invoices leave a hole in the sequence", None, ("b3",)),
    aside("src/billing/__init__.py"),
    read("src/billing/stripe_hooks.py", "b5"),
    bash("stripe trigger payment_intent.succeeded", "b5"),
    failed('IntegrityError: duplicate key value violates unique constraint "payments_event_id"', "b5"),
    aside("docs/changelog.md"),
    read("src/billing/refunds.py", "b15"),
    grep("who has to confirm a large repayment", "b15"),
    bash("pytest tests/billing/test_payments.py", "b13", path="tests/billing/test_payments.py"),
    routine("whoami"),
)

TRACKING_SESSION = (
    routine("node --version"),
    routine("npm test"),
    read("web/src/pages/Tracking.tsx", "w1"),
    edit("web/src/pages/Tracking.tsx", "w1"),
    grep("expected arrival shown to the recipient", "r14"),
    read("src/routing/eta.py", "r14"),
    read("web/src/components/Map.tsx", "w3"),
    failed("Error: 429 Too Many Requests for https://tile.openstreetmap.org/12/2104/1353.png", "w3"),
    aside("web/src/components/Footer.tsx"),
    aside("web/public/robots.txt"),
    bash("npx playwright test e2e/tracking.spec.ts", "w7", path="web/e2e/tracking.spec.ts"),
    failed("TimeoutError: page.waitForLoadState('networkidle') exceeded 30000ms", "w7"),
    read("web/src/i18n/index.ts", "w14"),
    read("web/src/sw.ts", "w16"),
    grep("offline list of the driver is outdated", "w16"),
    routine("git branch -a"),
)

SAML_SESSION = (
    routine("git show --stat HEAD"),
    read("src/auth/saml.py", "a4"),
    failed("saml2.validate.NotValidYet: assertion is not valid before 2026-03-01T12:00:40Z", "a4"),
    edit("src/auth/saml.py", "a4"),
    bash("pytest tests/auth/test_saml.py", "a16", path="tests/auth/test_saml.py"),
    aside("tests/conftest.py"),
    aside("tests/auth/__init__.py"),
    read("src/auth/oauth.py", "a7", "a14"),
    grep("two browser tabs sign in at the same time", "a7"),
    failed("invalid_grant: refresh token has been superseded", "a14", "a1"),
    read("src/auth/tokens.py", "a1", "a18"),
    bash("openssl x509 -in idp.pem -noout -dates"),
    read("src/auth/webauthn.py", "a17"),
    routine("uname -a"),
    routine("env | sort"),
    routine("git tag"),
)

GEO_SESSION = (
    routine("which python"),
    routine("python --version"),
    read("src/routing/geocode.py", "r6"),
    grep("house number with a letter gets lost", "r6"),
    edit("src/routing/geocode.py", "r6"),
    read("src/routing/zones.py", "r12"),
    Call("Task", "where do old diesel vehicles get banned from the city", None, ("r12",)),
    aside("src/routing/py.typed"),
    read("src/routing/shifts.py", "r5"),
    grep("maximum working time of a driver", "r5"),
    bash("python scripts/import_streets.py --dry-run"),
    failed("ModuleNotFoundError: No module named 'shapely'"),
    read("src/notify/schedule.py", "n2"),
    bash("pytest tests/notify/test_schedule.py", "n16", path="tests/notify/test_schedule.py"),
    aside(".editorconfig"),
    routine("git clean -n"),
)

CHOOSING = (VAT_SESSION, SOLVER_SESSION, MIGRATION_SESSION, INVOICE_SESSION, SAML_SESSION)
REPORTING = (LOGIN_SESSION, OUTBOX_SESSION, BOARD_SESSION, TRACKING_SESSION, GEO_SESSION)
SESSIONS = (*CHOOSING, *REPORTING)
