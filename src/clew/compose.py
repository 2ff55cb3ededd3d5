"""Settings to a working Clew. The only place that names adapters."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.clew import Clew
from clew.errors import ClewError, Misconfigured, NotFound
from clew.lazy import LazyModule
from clew.model.address import POSTGRES, is_no_path, scheme_of, without_password
from clew.model.facts import ANALYSER, COPY_STATE, PURGE_PENDING
from clew.model.kinds import check_given
from clew.model.progress import Progress, no_progress
from clew.settings import EmbedSettings, LlmSettings, Settings, load_settings
from clew.store.store import Store
from clew.wire.address import is_address

if TYPE_CHECKING:
    from clew.model import copying
    from clew.model import upkeep as answers
    from clew.ports import Clock, Embedder, LanguageModel
    from clew.relate import reindex
    from clew.remember import forget
    from clew.store import backup, copy, copy_sides, sqlite_copy, upkeep
    from clew.store.copy_sides import Side
    from clew.store.postgres_filling import BulkLoad
    from clew.store.session import Engine
else:
    copy, copy_sides, sqlite_copy = (
        LazyModule(f"clew.store.{name}") for name in ("copy", "copy_sides", "sqlite_copy")
    )
    answers, backup, upkeep = (
        LazyModule(f"clew.{name}") for name in ("model.upkeep", "store.backup", "store.upkeep")
    )
    forget, reindex = LazyModule("clew.remember.forget"), LazyModule("clew.relate.reindex")


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


_GIVEN = {"url": "str | PathLike | None", "home": "str | PathLike | None", "token": "str | None"}


def open_clew(
    url: str | os.PathLike[str] | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    token: str | None = None,
) -> Clew:
    check_given({"url": url, "home": home, "token": token}, _GIVEN)
    settings = load_settings(overrides or {}, home=Path(home) if home else None, directory=working_directory())
    address = os.fspath(url) if url is not None else settings.store.url
    if is_address(address):
        if overrides:
            raise Misconfigured(
                "a Clew that is elsewhere has its own settings",
                code="SETTINGS_ARE_REMOTE",
                next="leave them out, or change them where it runs",
            )
        return open_remote(address, token=token)
    return compose(settings, store_url(settings, url))


def open_remote(address: str, *, token: str | None = None) -> Clew:
    """The Clew at an address; its settings are its own. Without a token: CLEW_TOKEN, if it is set."""
    from clew.wire.client import connect

    return connect(address, token=token or os.environ.get("CLEW_TOKEN"))


def working_directory() -> Path | None:
    """None when it was deleted under our feet: then there is no project file to look for."""
    try:
        return Path.cwd()
    except OSError:
        return None


def compose(
    settings: Settings, store_at: Path | str, *, in_background: bool = True, clock: Clock | None = None
) -> Clew:
    """`store_at`: a file, or the URL of a PostgreSQL database. `in_background`: fill in missing vectors while the
    process lives; not for a short-lived one. `clock`: another than the system's, for what takes a week."""
    store = Store(open_engine(settings, store_at))
    _settle(store)
    clew = Clew(
        store=store,
        make_embedder=lambda: make_embedder(settings.embed, settings.home),
        clock=clock or SystemClock(),
        settings=settings,
        in_background=in_background,
        make_llm=lambda: make_llm(settings.llm),
    )
    if in_background:
        _resume_jobs(clew)
    return clew


def open_engine(settings: Settings, store_at: Path | str) -> Engine:
    if isinstance(store_at, Path):
        from clew.store import sqlite

        return sqlite.open_engine(store_at)
    try:
        from clew.store import postgres
    except ImportError as error:
        raise _no_postgres() from error
    return postgres.open_engine(store_at, connections=settings.store.connections)


def _no_postgres() -> Misconfigured:
    return Misconfigured(
        "PostgreSQL needs a library that is not installed",
        code="EXTRA_MISSING",
        next="install it: pip install 'clew[postgres]'",
    )


def store_url(settings: Settings, url: str | os.PathLike[str] | None = None) -> Path | str:
    """Where the store is: the URL of a PostgreSQL database, or the path of a file."""
    text = os.fspath(url) if url is not None else settings.store.url
    if not is_postgres(text):
        return database_path(settings, url)
    return f"postgresql://{text.partition('://')[2]}"  # libpq compares letter by letter


def is_postgres(url: str) -> bool:
    return scheme_of(url) in POSTGRES


def _resume_jobs(clew: Clew) -> None:
    try:
        clew.resume_jobs()
    except ClewError:  # as below: a store that cannot be read says so where it is used
        return


def _settle(store: Store) -> None:
    """A new store notes which analyser it begins with; one that a hard forget left unfinished is finished; an
    unfinished copy is refused."""
    try:
        with store.read() as tx:
            facts = tx.meta.at_opening()
        if not facts.keys() & {ANALYSER, COPY_STATE}:
            store.write(reindex.stamp, durable=False)
    except ClewError:  # read-only or damaged: whoever uses the store next is told, and so is the doctor
        return
    if COPY_STATE in facts:
        store.close()
        raise copy_sides.unfinished(store.location, facts[COPY_STATE])
    if facts.get(PURGE_PENDING):
        forget.finish_pending(store)


def restore(
    settings: Settings, source: Path, *, overwrite: bool = True, progress: Progress = no_progress
) -> answers.RestoreReport:
    """Put a backup in the place of the store; other processes may keep it open."""
    return backup.restore(source, database_path(settings), overwrite=overwrite, progress=progress)


def is_new_store(settings: Settings) -> bool:
    """Whether opening the store would make it."""
    place = store_url(settings)
    if isinstance(place, Path):
        return not place.exists()
    from clew.store import postgres

    return postgres.schema_found(place) is None


def check_store(settings: Settings) -> None:
    """Refuse where opening the store would make it: for what is to be taken out of one."""
    if is_new_store(settings):
        place = store_url(settings)
        raise NotFound(
            f"there is no store at {place if isinstance(place, Path) else without_password(place)}",
            code="STORE_NOT_FOUND",
            next="name the directory of yours by CLEW_HOME, or make a store: clew init",
        )


def migrate(settings: Settings) -> tuple[str, int, int]:
    """Bring the store to the present schema: where it is, the schema it had, the one it has."""
    place = store_url(settings)
    if isinstance(place, Path):
        from clew.store import sqlite

        before = sqlite.schema_of(place)
        open_engine(settings, place).close()
        return str(place), before, sqlite.schema_of(place)
    from clew.store import postgres

    before = postgres.schema_found(place) or 0
    postgres.migrate(place)
    return postgres.shown(place), before, postgres.schema_found(place) or 0


def bulk_load(url: str) -> BulkLoad:
    """A PostgreSQL database that is empty and about to be filled, by its owner's URL."""
    try:
        from clew.store import postgres_filling
    except ImportError as error:
        raise _no_postgres() from error
    return postgres_filling.BulkLoad(url)


def copy_store(
    settings: Settings, source: str, target: str, *, progress: Progress = no_progress
) -> copying.CopyReport:
    """Everything of one store into another, which is empty or an unfinished copy of it. Each is a path or a URL."""
    with (
        closing(_copied_side(settings, source, is_source=True)) as taken,
        closing(_copied_side(settings, target)) as filled,
    ):
        return copy.copy_store(taken, filled, progress=progress)


def _copied_side(settings: Settings, url: str, *, is_source: bool = False) -> Side:
    place = store_url(settings, url)
    if isinstance(place, Path):
        return sqlite_copy.open_source(place) if is_source else sqlite_copy.open_target(place)
    try:
        from clew.store import postgres_copy
    except ImportError as error:
        raise _no_postgres() from error
    return postgres_copy.open_source(place) if is_source else postgres_copy.open_target(place)


def doctor(settings: Settings) -> Sequence[answers.Check]:
    """Like `Clew.doctor`, also for a store that cannot be opened."""
    if isinstance(place := store_url(settings), str):
        return _doctor_of_server(settings, place)
    path = database_path(settings)
    if not path.exists():
        return [_no_store_yet(path), *upkeep.file_checks(path)]
    try:
        with compose(settings, path, in_background=False) as opened:
            return [answers.Check("file", True, str(path)), *opened.doctor()]
    except ClewError as error:
        return [answers.Check("file", False, error.message, error.next), *upkeep.file_checks(path)]


def _no_store_yet(path: Path) -> answers.Check:
    """Fine, if one can be made there."""
    around = next(folder for folder in path.parents if folder.is_symlink() or folder.exists())
    if around.is_dir() and os.access(around, os.W_OK | os.X_OK):
        return answers.Check("file", True, f"there is no store at {path} yet")
    move = "make it a directory that you may write to, or set CLEW_HOME to another one"
    return answers.Check("file", False, f"there is no store at {path}, and {around} can hold none", move)


def _doctor_of_server(settings: Settings, url: str) -> Sequence[answers.Check]:
    try:
        with compose(settings, url, in_background=False) as opened:
            return [answers.Check("store", True, opened.store.location), *opened.doctor()]
    except ClewError as error:
        return [answers.Check("store", False, error.message, error.next)]


def database_path(settings: Settings, url: str | os.PathLike[str] | None = None) -> Path:
    """The file a URL names; CLEW_HOME/clew.db without one."""
    text = os.fspath(url) if url is not None else settings.store.url
    if not text:
        return settings.home / "clew.db"
    is_url = text[:10].lower() == "sqlite:///"
    if (text[10:] if is_url else text) == ":memory:":
        raise _only_files()
    if is_url:
        return Path(text[10:]).expanduser().absolute()
    if is_address(text):
        raise Misconfigured(
            "this needs the file of the store, which is elsewhere",
            code="STORE_IS_REMOTE",
            next="do it on the machine of the store",
        )
    if is_postgres(text):
        raise Misconfigured(
            "this needs the file of a store, and the store is a PostgreSQL database",
            code="STORE_IS_POSTGRES",
            next="use the tools of the server, such as pg_dump; see docs/postgres.md",
        )
    if is_no_path(text):
        raise _unsupported(scheme_of(text))
    return Path(text).expanduser().absolute()


def _unsupported(scheme: str) -> Misconfigured:
    """Without the rest, which may hold a password."""
    what = f"'{scheme}://'" if scheme else "what was given"
    return Misconfigured(
        f"{what} is not a kind of store this Clew can open",
        code="URL_UNSUPPORTED",
        next="give the path of a file, https://host of a Clew elsewhere, or postgresql://user@host/database",
    )


def _only_files() -> Misconfigured:
    """SQLite's name for a store that nobody else can open; as a path it would make a file that stays."""
    return Misconfigured(
        "a store is a file, so that every thread and process finds it, and ':memory:' names none",
        code="URL_UNSUPPORTED",
        next="for one to throw away, name a file in a temporary directory",
    )


def make_embedder(settings: EmbedSettings, home: Path) -> Embedder | None:
    match settings.provider:
        case "none":
            return None
        case "minilm":
            from clew.providers.minilm import MiniLmEmbedder

            return MiniLmEmbedder(home, threads=settings.threads)
        case "endpoint":
            return _endpoint(settings)
        case _:
            from clew.providers.static import StaticEmbedder

            return StaticEmbedder()


def _endpoint(settings: EmbedSettings) -> Embedder:
    from clew.providers.openai import EndpointEmbedder
    from clew.remember.redact import redact

    if not (settings.url and settings.model and settings.dim):
        raise Misconfigured(
            "the embedding endpoint is not fully described",
            code="EMBED_ENDPOINT_INCOMPLETE",
            next="set embed.url, embed.model and embed.dim",
        )
    return EndpointEmbedder(
        settings.url,
        settings.model,
        settings.dim,
        os.environ.get(settings.key_env, ""),
        timeout_s=settings.timeout_s,
        batch=settings.batch,
        unrelated=settings.unrelated,
        same=settings.same,
        mask=lambda text: redact(text).text,
    )


def make_llm(settings: LlmSettings) -> LanguageModel | None:
    """None while it is switched off. Its library is looked for here and imported with the first question."""
    if not settings.enabled:
        return None
    from importlib.util import find_spec

    from clew.providers.llm import EndpointModel, extra_missing
    from clew.providers.llm_dialects import DIALECTS

    dialect, key = DIALECTS[settings.provider](), os.environ.get(settings.key_env, "")
    if find_spec(dialect.library) is None:
        raise extra_missing()
    if not settings.model:
        raise Misconfigured(
            "no language model is named",
            code="LLM_MODEL_MISSING",
            next="set llm.model to a model of the endpoint",
        )
    if not (key or settings.url):  # an endpoint of one's own may do without
        raise Misconfigured(
            f"the key of the language model is missing: {settings.key_env} is empty",
            code="LLM_KEY_MISSING",
            next=f"set {settings.key_env}, or name another variable in llm.key_env",
        )
    return EndpointModel(dialect, url=settings.url, model=settings.model, key=key, timeout_s=settings.timeout_s)
