"""switchAILocal's and CLIProxyAPI's ``config.yaml``, the old layout and that of version 8."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from routeradmin.catalog.files.draft import Draft, Remark
from routeradmin.catalog.files.drafting import Drafting, Place
from routeradmin.catalog.files.switchailocal_keys import GROUPS, Entry, entries_of
from routeradmin.catalog.files.switchailocal_settings import Settings
from routeradmin.catalog.files.values import LIST, TABLE, WHOLE

SOURCE = "switchailocal"
NEW_LAYOUT = 8


def parse(values: dict[str, Any], repeated: list[Remark]) -> Draft:
    """The draft of a configuration. Raises Invalid where it is none."""
    return from_values(values, Drafting(SOURCE, notes=repeated))


def from_values(values: dict[str, Any], drafting: Drafting) -> Draft:
    version = drafting.read(WHOLE, values, "config-version", ())
    is_new = version is not None and version >= NEW_LAYOUT
    groups = (drafting.read(TABLE, values, "api-keys", ()) or {}) if is_new else values
    root: Place = ("api-keys",) if is_new else ()
    settings = Settings(values, drafting, is_new=is_new)
    routes = _Routes(drafting)
    for group in groups:
        if group in GROUPS:
            for index, entry in enumerate(drafting.read(LIST, groups, group, root) or []):
                place = (*root, group, index)
                drafting.here = place
                stated = drafting.fit(TABLE, entry, place)
                if stated is None:
                    continue  # not a key of nobody at the vendor's
                for one in entries_of(drafting, group, stated, place, settings.proxy):
                    routes.add(one, force_prefix=settings.force_prefix)
        elif is_new:
            drafting.leave(*root, group, why="is a group of providers that is not known here")
    drafting.here = ()
    routes.place_targets()
    settings.apply()
    if not drafting.kinds["accounts"]:
        what = "holds no provider key: credentials of OAuth logins are kept in files beside it"
        drafting.note(what=what)
    return drafting.finish()


class _Routes:
    """Public names: ``prefix/name``, and ``name`` alone unless the prefix is forced."""

    def __init__(self, drafting: Drafting) -> None:
        self._drafting = drafting
        self._deployments: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)

    def add(self, entry: Entry, *, force_prefix: bool) -> None:
        for name, deployment_id in entry.served:
            names = [f"{entry.prefix}/{name}"] if entry.prefix else []
            if not entry.prefix or not force_prefix:
                names.append(name)
            for public in names:
                route_id = self._drafting.route(public)
                found = (entry.priority, deployment_id)
                if found not in self._deployments[route_id]:
                    self._deployments[route_id].append(found)

    def place_targets(self) -> None:
        """The highest priority is the first tier, as in the source."""
        for route_id, found in self._deployments.items():
            priorities = sorted({priority for priority, _ in found}, reverse=True)
            for position, priority in enumerate(priorities):
                for one, deployment_id in found:
                    if one == priority:
                        self._drafting.target(route_id, deployment_id, position)
            if len(priorities) > 1:
                self._drafting.kinds["routes"][route_id]["fallback_enabled"] = True
