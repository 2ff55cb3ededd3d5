"""Settings to a working Clew. The only place that names adapters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.clew import Clew
from clew.errors import Misconfigured
from clew.ports import Embedder
from clew.settings import EmbedSettings, Settings, load_settings
from clew.store.sqlite import open_engine
from clew.store.store import Store


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


def compose(settings: Settings, path: Path) -> Clew:
    return Clew(
        store=Store(open_engine(path)),
        make_embedder=lambda: make_embedder(settings.embed, settings.home),
        clock=SystemClock(),
        settings=settings,
    )


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

            return MiniLmEmbedder.load(home, threads=settings.threads)
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
