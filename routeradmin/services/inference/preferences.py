"""The ``provider`` member of an inference body: preferences in OpenRouter's words."""

from __future__ import annotations

from typing import Any

from routeradmin.engine.preferences import SORTS, Preferences
from routeradmin.services.inference.facts import Invalid

MEMBER = "provider"
LISTS = ("order", "only", "ignore")
UNDERSTOOD = (*LISTS, "allow_fallbacks", "sort")
MOST_NAMES = 64
MOST_UNKNOWN = 16


def read(document: dict[str, Any]) -> Preferences | None:
    """None where there is no such object. Raises Invalid for a word of the wrong type.

    Words that OpenRouter knows and this does not are kept by name, to be shown as dropped.
    """
    given = document.get(MEMBER)
    if not isinstance(given, dict):
        return None
    lists = {name: _names(given, name) for name in LISTS}
    fallbacks = given.get("allow_fallbacks")
    if fallbacks is not None and not isinstance(fallbacks, bool):
        raise Invalid(f"{MEMBER}.allow_fallbacks", "true or false")
    unknown = [str(name)[:64] for name in given if name not in UNDERSTOOD]
    return Preferences(
        **lists,
        allow_fallbacks=fallbacks is not False,
        sort=_sort(given.get("sort")),
        unknown=tuple(unknown[:MOST_UNKNOWN]),
    )


def _names(given: dict[str, Any], name: str) -> tuple[str, ...]:
    listed = given.get(name)
    if listed is None:
        return ()
    if not isinstance(listed, list) or len(listed) > MOST_NAMES:
        raise Invalid(f"{MEMBER}.{name}", f"a list of at most {MOST_NAMES} names")
    if not all(isinstance(one, str) and one for one in listed):
        raise Invalid(f"{MEMBER}.{name}", "a list of names")
    return tuple(listed)


def _sort(wanted: Any) -> str | None:
    """A word, or OpenRouter's longer form ``{"by": word}``."""
    if isinstance(wanted, dict):
        wanted = wanted.get("by")
    if wanted is not None and wanted not in SORTS:
        raise Invalid(f"{MEMBER}.sort", f"one of {', '.join(SORTS)}")
    return None if wanted is None else str(wanted)
