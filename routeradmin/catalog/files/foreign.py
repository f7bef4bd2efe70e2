"""Files of other programs: which one it is, and its reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from routeradmin.catalog.files import litellm, litellm_rs, switchailocal, yaml_source
from routeradmin.catalog.files.draft import Draft
from routeradmin.catalog.files.switchailocal_keys import GROUPS
from routeradmin.catalog.problems import Invalid, Problem

READERS: dict[str, Callable[[bytes], Draft]] = {
    litellm.SOURCE: litellm.parse,
    litellm_rs.SOURCE: litellm_rs.parse,
    switchailocal.SOURCE: switchailocal.parse,
}
AUTO = "auto"
_SIGNS: dict[str, frozenset[str]] = {
    litellm.SOURCE: frozenset({"model_list", "litellm_settings", "router_settings"}),
    litellm_rs.SOURCE: frozenset({"providers", "schema_version"}),
    switchailocal.SOURCE: frozenset(
        {"auth-dir", "remote-management", "config-version", "routing", "request-retry"}
        | {"api-keys", *GROUPS}
    ),
}


def read(data: bytes, source: str = AUTO) -> Draft:
    """The draft of another program's file. ``source`` is a name in ``READERS`` or ``auto``.

    Raises Invalid where the file is unreadable or belongs to none of them.
    """
    if source == AUTO:
        source = detect(yaml_source.load(data)[0])
    return READERS[source](data)


def detect(values: dict[str, Any]) -> str:
    """The program whose file this is, by its top-level keys. Raises Invalid."""
    if values.get("kind") == "ConfigMap":
        return litellm_rs.SOURCE
    for source, signs in _SIGNS.items():
        if signs.intersection(values):
            return source
    names = ", ".join(READERS)
    raise Invalid([Problem("", f"is a file of none of {names}: name the program if it is one")])
