"""One typed tree of settings. The only reader of the environment and of configuration files.

Path = name everywhere: `[recall] floor = 0.4` in TOML, `CLEW_RECALL__FLOOR`, `settings.recall.floor`,
`clew config show recall.floor`. Later wins: default, user file, project file, environment, call.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clew.errors import Misconfigured

PROJECT_FILE = ".clew.toml"
USER_FILE = "config.toml"


def _setting(default: Any, doc: str, *, project: bool = False, **allowed: Any) -> Any:
    """`project`: a project's own file may set it. Such a file comes with a cloned repository, so it may
    narrow what Clew does, never say where text is stored or sent. `allowed`: `choices`, or `least`, `above`
    and `most`, the ends of a number's range."""
    return field(default=default, metadata={"doc": doc, "project": project, "choices": (), **allowed})


@dataclass(frozen=True, slots=True)
class StoreSettings:
    url: str = _setting("", "where memories live: a file, or empty for clew.db under CLEW_HOME (also CLEW_URL)")


@dataclass(frozen=True, slots=True)
class RememberSettings:
    max_chars: int = _setting(500_000, "longest content of one memory, in characters", least=1)
    working_ttl_hours: float = _setting(24.0, "how long a working memory lives", project=True, above=0, most=8_760)
    working_max: int = _setting(200, "working memories kept per user", least=1)
    strict_token_rule: bool = _setting(True, "the bare word 'token' makes a memory confidential")


@dataclass(frozen=True, slots=True)
class RecallSettings:
    limit: int = _setting(
        10, "results of one recall when the caller names no limit", project=True, least=1, most=1_000
    )
    floor: float = _setting(0.0, "least relevance of a result, 0 to 1", project=True, least=0, most=1)
    retrieval: str = _setting(
        "hybrid", "what evidence to use", project=True, choices=("lexical", "semantic", "hybrid")
    )
    rules_limit: int = _setting(50, "rules shown at most with one recall", project=True, least=0)
    read_model_mb: int = _setting(512, "memory for search indices; larger scopes are searched on disk", least=0)


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    provider: str = _setting(
        "static", "which model makes vectors", choices=("static", "minilm", "endpoint", "none")
    )
    url: str = _setting("", "base address of an OpenAI-compatible endpoint, with provider 'endpoint'")
    model: str = _setting("", "model name at the endpoint")
    dim: int = _setting(0, "length of the endpoint's vectors", least=0)
    key_env: str = _setting("CLEW_EMBED_KEY", "environment variable that holds the endpoint's key")
    timeout_s: float = _setting(10.0, "how long one request to the endpoint may take", above=0, most=600)
    batch: int = _setting(64, "texts per request to the endpoint", least=1)
    unrelated: float = _setting(0.1, "cosine of unrelated texts under the endpoint's model", least=-1, most=1)
    same: float = _setting(0.8, "cosine of texts that say the same under the endpoint's model", least=-1, most=1)
    threads: int = _setting(2, "threads of the MiniLM model", least=1)


@dataclass(frozen=True, slots=True)
class Settings:
    home: Path
    store: StoreSettings = StoreSettings()
    remember: RememberSettings = RememberSettings()
    recall: RecallSettings = RecallSettings()
    embed: EmbedSettings = EmbedSettings()
    project: str | None = None  # named by the project file
    sources: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def items(self) -> Iterator[tuple[str, Any, str, str]]:
        """(path, value, where it came from, what it means) for every setting."""
        for section, name, meta in _all_fields():
            path = f"{section}.{name}"
            yield path, getattr(getattr(self, section), name), self.sources.get(path, "default"), meta["doc"]


_SECTIONS: Mapping[str, type[Any]] = {
    "store": StoreSettings,
    "remember": RememberSettings,
    "recall": RecallSettings,
    "embed": EmbedSettings,
}
_TYPES = {"str": str, "int": int, "float": float, "bool": bool}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
# Names that stand outside the tree: where it begins, and short forms of common settings.
_SPECIAL = ("CLEW_HOME", "CLEW_URL", "CLEW_PROJECT", "CLEW_EMBED_KEY", "CLEW_DEBUG")


def load_settings(
    overrides: Mapping[str, Any] = MappingProxyType({}),
    *,
    home: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    directory: Path | None = None,
) -> Settings:
    """Read every source in order. An unknown key is refused with the nearest known one."""
    home = home or home_directory(environ)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    layers = [
        (str(home / USER_FILE), _flat(_read_toml(home / USER_FILE), str(home / USER_FILE))),
        *_project_layer(directory),
        ("environment", _from_environment(environ)),
        ("call", _flat(dict(overrides), "call")),
    ]
    project = None
    for source, layer in layers:
        project = layer.pop("project", project)
        for path, value in layer.items():
            values[path] = _parsed(path, value, source)
            sources[path] = source
    return _assembled(home, values, sources, project)


def home_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """CLEW_HOME, or where this platform keeps data of programs."""
    if environ.get("CLEW_HOME"):
        return Path(environ["CLEW_HOME"]).expanduser().absolute()
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/clew").expanduser()
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / "clew"
    return Path(environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "clew"


def find_project_file(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        if (folder / PROJECT_FILE).is_file():
            return folder / PROJECT_FILE
    return None


def _project_layer(directory: Path | None) -> list[tuple[str, dict[str, Any]]]:
    file = find_project_file(directory) if directory else None
    if file is None:
        return []
    layer = _flat(_read_toml(file), str(file))
    for path in layer:
        if path != "project" and not _meta(path)["project"]:
            raise Misconfigured(
                f"{file} may not set {path}",
                code="SETTING_NOT_FOR_PROJECTS",
                next="move it to your own config.toml (clew config show tells where) or the environment",
            )
    return [(str(file), layer)]


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        import tomllib  # only for a file that is there: it would cost every start some milliseconds

        return tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):  # the store will say so where it matters
        return {}
    except (OSError, ValueError) as error:  # not UTF-8 and not TOML are both ValueErrors
        raise Misconfigured(
            f"{file} cannot be read: {error}", code="CONFIG_UNREADABLE", next="correct the file"
        ) from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in sorted(environ.items()):
        if name == "CLEW_URL" and value:
            found["store.url"] = value
        elif name == "CLEW_PROJECT" and value:
            found["project"] = value
        elif name.startswith("CLEW_") and "__" in name:
            path = name.removeprefix("CLEW_").lower().replace("__", ".")
            _meta(path, f"environment variable {name}")
            found[path] = value
        elif name.startswith("CLEW_") and name not in _SPECIAL:
            _refuse_typing_error(name)
    return found


def _refuse_typing_error(name: str) -> None:
    """CLEW_HOM is a mistake worth stopping for; a name that resembles none of ours may be somebody else's."""
    near = _nearest(name, _SPECIAL, cutoff=0.8)
    if near:
        raise Misconfigured(
            f"there is no environment variable {name}",
            code="SETTING_UNKNOWN",
            next=f"did you mean {near[0]}?",
        )


def _flat(tree: Mapping[str, Any], source: str) -> dict[str, Any]:
    """{'recall': {'floor': 0.4}} and {'recall.floor': 0.4} both become the latter."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": item for name, item in value.items()}
        else:
            flat[key] = value
    for path in flat:
        if path != "project":
            _meta(path, source)
    return flat


def _meta(path: str, source: str = "") -> Mapping[str, Any]:
    known = {f"{section}.{name}": meta for section, name, meta in _all_fields()}
    if path in known:
        return known[path]
    near = _nearest(path, known)
    raise Misconfigured(
        f"{source + ': ' if source else ''}there is no setting '{path}'",
        code="SETTING_UNKNOWN",
        next=f"did you mean '{near[0]}'?" if near else "list them: clew config show",
    )


def _all_fields() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for section, cls in _SECTIONS.items():
        for entry in fields(cls):
            yield section, entry.name, {**entry.metadata, "type": entry.type}


def _parsed(path: str, value: Any, source: str) -> Any:
    meta = _meta(path, source)
    wanted = _TYPES[meta["type"]]
    parsed = _as_bool(value) if wanted is bool else _as(wanted, value)
    if parsed is None or (meta["choices"] and parsed not in meta["choices"]) or not _is_within(parsed, meta):
        expected = " or ".join(meta["choices"]) or f"{meta['type']}{_range(meta)}"
        raise Misconfigured(
            f"{source}: {path} is {str(value)[:40]!r}, expected {expected}",
            code="SETTING_INVALID",
            next=f"correct {path}",
        )
    return parsed


def _is_within(value: Any, meta: Mapping[str, Any]) -> bool:
    if "above" in meta and value <= meta["above"]:
        return False
    return bool(meta.get("least", value) <= value <= meta.get("most", value))


def _range(meta: Mapping[str, Any]) -> str:
    words = {"least": "at least", "above": "more than", "most": "at most"}
    ends = [f"{text} {meta[name]:,}" for name, text in words.items() if name in meta]
    return f" ({', '.join(ends)})" if ends else ""


def _as_bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _as(wanted: type[Any], value: Any) -> Any:
    if isinstance(value, bool) or (wanted is int and isinstance(value, float) and not value.is_integer()):
        return None
    try:
        parsed = wanted(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return parsed if wanted is not float or math.isfinite(parsed) else None


def _assembled(home: Path, values: Mapping[str, Any], sources: dict[str, str], project: str | None) -> Settings:
    settings = Settings(home=home, project=project, sources=MappingProxyType(sources))
    for section, cls in _SECTIONS.items():
        changed = {path.split(".", 1)[1]: value for path, value in values.items() if path.startswith(section + ".")}
        if changed:
            settings = replace(settings, **{section: replace(cls(), **changed)})
    _check_scale(settings.embed)
    return settings


def _check_scale(embed: EmbedSettings) -> None:
    if embed.unrelated >= embed.same:
        raise Misconfigured(
            f"embed.unrelated is {embed.unrelated}, not below embed.same, {embed.same}",
            code="SETTING_INVALID",
            next="measure both: the cosine of texts that have nothing in common, and of texts that say the same",
        )


def _nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    from difflib import get_close_matches  # only mistakes need it

    return get_close_matches(name, list(known), n=1, cutoff=cutoff)
