"""Settings to a working Clew. The only place that names adapters."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.clew import Clew
from clew.errors import ClewError, Misconfigured
from clew.model.upkeep import Check, RestoreReport
from clew.ports import Embedder
from clew.relate.reindex import ANALYSER, stamp
from clew.remember.forget import finish_pending
from clew.settings import EmbedSettings, Settings, load_settings
from clew.store.backup import Progress, ignore
from clew.store.backup import restore as restore_store
from clew.store.sqlite import open_engine
from clew.store.store import Store
from clew.store.upkeep import file_checks


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def open_clew(
    url: str | os.PathLike[str] | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Clew:
    settings = load_settings(overrides or {}, home=Path(home) if home else None, directory=Path.cwd())
    return compose(settings, database_path(settings, url))


def compose(settings: Settings, path: Path, *, in_background: bool = True) -> Clew:
    """`in_background`: fill in missing vectors while the process lives; not for a short-lived one."""
    store = Store(open_engine(path))
    _stamp(store)
    finish_pending(store)
    return Clew(
        store=store,
        make_embedder=lambda: make_embedder(settings.embed, settings.home),
        clock=SystemClock(),
        settings=settings,
        in_background=in_background,
    )


def _stamp(store: Store) -> None:
    """A new store notes which analyser it begins with, so that a later one knows what to re-index."""
    try:
        with store.read() as tx:
            is_new = tx.meta.get(ANALYSER) is None
        if is_new:
            store.write(stamp, durable=False)
    except ClewError:  # read-only or damaged: whoever uses the store next is told, and so is the doctor
        return


def restore(
    settings: Settings, source: Path, *, overwrite: bool = True, progress: Progress = ignore
) -> RestoreReport:
    """Put a backup in the place of the store; other processes may keep it open."""
    return restore_store(source, database_path(settings), overwrite=overwrite, progress=progress)


def doctor(settings: Settings) -> Sequence[Check]:
    """Like `Clew.doctor`, also for a store that cannot be opened."""
    path = database_path(settings)
    if not path.exists():
        return [Check("file", True, f"there is no store at {path} yet"), *file_checks(path)]
    try:
        with compose(settings, path) as opened:
            return [Check("file", True, str(path)), *opened.doctor()]
    except ClewError as error:
        return [Check("file", False, error.message, error.next), *file_checks(path)]


def database_path(settings: Settings, url: str | os.PathLike[str] | None = None) -> Path:
    """The file a URL names; CLEW_HOME/clew.db without one."""
    text = os.fspath(url) if url is not None else settings.store.url
    if not text:
        return settings.home / "clew.db"
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///")).expanduser().absolute()
    scheme, separator, _rest = text.partition("://")
    if separator:
        raise Misconfigured(
            f"'{scheme}://' is not a kind of store this Clew can open",
            code="URL_UNSUPPORTED",
            next="give the path of a file, or sqlite:///path",
        )
    return Path(text).expanduser().absolute()


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
    )
