"""A value of a setting as somebody wrote it, in a file, a variable or a call: what it means, if anything.

What is not what a setting wants gives None; whoever asked says so, with the setting's name. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST_TOKENS = 100_000  # as much as the recall matrix takes
_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "tuple[str, ...]": tuple, "BudgetOverrides": dict}
_KINDS: Mapping[type[Any], str] = {
    tuple: "a list of words", dict: 'tokens by org and work type, such as {"acme": {"feature": 300}}'
}  # fmt: skip
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class BudgetOverrides(tuple[tuple[str, str, int], ...]):
    """Tokens by org and work type, as the settings have them: hashable, as every setting is."""

    __slots__ = ()

    def of(self, org: str, work_type: str | None) -> int | None:
        return next((tokens for named, kind, tokens in self if (named, kind) == (org, work_type)), None)

    def as_json(self) -> dict[str, dict[str, int]]:
        told: dict[str, dict[str, int]] = {}
        for org, work_type, tokens in self:
            told.setdefault(org, {})[work_type] = tokens
        return told


def read(value: Any, type_: str) -> Any:
    """A value of a setting of this type, by the name that its field has for it."""
    wanted = _TYPES[type_]
    special = {bool: _as_bool, tuple: _as_words, dict: _as_overrides}.get(wanted)
    return special(value) if special else as_number(wanted, value)


def wanted_by(type_: str) -> str:
    """What is wanted, in words."""
    return _KINDS.get(_TYPES[type_], type_)


def is_within(value: Any, meta: Mapping[str, Any]) -> bool:
    if "above" in meta and value <= meta["above"]:
        return False
    return bool(meta.get("least", value) <= value <= meta.get("most", value))


def range_of(meta: Mapping[str, Any]) -> str:
    words = {"least": "at least", "above": "more than", "most": "at most"}
    ends = [f"{text} {meta[name]:,}" for name, text in words.items() if name in meta]
    return f" ({', '.join(ends)})" if ends else ""


def _as_bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _as_words(value: Any) -> tuple[str, ...] | None:
    """A list of texts, or one text with commas between or the list as JSON, as in the environment."""
    words = value
    if isinstance(value, str):
        words = _from_json(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        return None
    return tuple(word.strip() for word in words if word.strip())


def _as_overrides(value: Any) -> BudgetOverrides | None:
    """{org: {work type: tokens}}, or the same as JSON, as in the environment. What was parsed stays as it is."""
    if isinstance(value, BudgetOverrides):
        return value
    if isinstance(value, str):
        value = _from_json(value)
    if not isinstance(value, Mapping) or not all(isinstance(budgets, Mapping) for budgets in value.values()):
        return None
    flat = [
        (org, kind, as_number(int, tokens)) for org, budgets in value.items() for kind, tokens in budgets.items()
    ]
    is_sound = all(org and kind and tokens is not None and 0 <= tokens <= MOST_TOKENS for org, kind, tokens in flat)
    return BudgetOverrides(flat) if is_sound else None


def _from_json(text: str) -> Any:
    import json  # few have such a variable

    try:
        return json.loads(text)
    except ValueError:
        return None


def as_number(wanted: type[Any], value: Any) -> Any:
    if isinstance(value, bool) or (wanted is int and isinstance(value, float) and not value.is_integer()):
        return None
    try:
        parsed = wanted(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return parsed if wanted is not float or math.isfinite(parsed) else None
