"""The routes by topic. Each module has a tuple ROUTES; the API is all of them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from clew.surfaces.http.route import Route


def all_routes() -> tuple[Route, ...]:
    topics = sorted(module.name for module in iter_modules(__path__))
    return tuple(route for topic in topics for route in import_module(f"{__name__}.{topic}").ROUTES)
