"""Files of other programs: which one it is, and its reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from routeradmin.catalog.document import FORMAT, LLM_FORMAT
from routeradmin.catalog.files import litellm, litellm_rs, switchailocal, yaml_source
from routeradmin.catalog.files.draft import Draft, Remark
from routeradmin.catalog.files.switchailocal_keys import GROUPS
from routeradmin.catalog.problems import Invalid, Problem

READERS: dict[str, Callable[[dict[str, Any], list[Remark]], Draft]] = {
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
SIGNS = frozenset[str]().union(*_SIGNS.values())


def read(data: bytes, source: str = AUTO) -> Draft:
    """The draft of another program's file. ``source`` is a name in ``READERS`` or ``auto``.

    Raises Invalid where the file is unreadable or belongs to none of them.
    """
    values, repeated = yaml_source.load(data)
    return READERS[detect(values) if source == AUTO else source](values, repeated)


def detect(values: dict[str, Any]) -> str:
    """The program whose file this is, by its top-level keys. Raises Invalid."""
    if values.get("format") in (FORMAT, LLM_FORMAT):
        raise Invalid([Problem("/format", "is a catalog's of ours, which is TOML or JSON")])
    if values.get("kind") == "ConfigMap":
        return litellm_rs.SOURCE
    for source, signs in _SIGNS.items():
        if signs.intersection(values):
            return source
    names = ", ".join(READERS)
    raise Invalid(
        [
            Problem(
                "",
                f"is a file of none of {names}: name the program if it is one of theirs; a "
                "catalog of ours is TOML or JSON and starts with its format",
            )
        ]
    )
