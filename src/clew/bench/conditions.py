"""Under which conditions figures came about: by which Clew, and what of its settings is not as everybody has it.

What a command was asked for by its options stands in its report already. Addresses are not told, for passwords and
names of machines stand in them: only that there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import clew
from clew.settings import Settings

OF_RECALL = ("remember", "recall", "rank", "embed", "graph", "relate", "llm")  # sections that rankings depend on
_ADDRESSES = ("embed.url", "llm.url")


def conditions(settings: Settings, sections: Collection[str] = ()) -> dict[str, Any]:
    """For a report. Without sections, of all of them."""
    defaults = {path: value for path, value, _source, _doc in Settings(home=settings.home).items()}
    apart = {
        path: "(an address)" if path in _ADDRESSES else value
        for path, value, source, _doc in settings.items()
        if value != defaults[path] and source != "call" and (not sections or path.split(".")[0] in sections)
    }
    apart.pop("store.url", None)  # the store is that of the benchmark
    return {"clew": clew.__version__, "settings": apart}


def measured_by(report: Mapping[str, Any]) -> str:
    """The same in words."""
    apart = ", ".join(f"{path} = {value}" for path, value in report["settings"].items())
    return f"measured by Clew {report['clew']}, " + (f"with {apart}" if apart else "with settings as they come")
