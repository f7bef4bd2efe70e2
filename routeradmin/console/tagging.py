"""Tags of many deployments at once."""

from __future__ import annotations

from collections.abc import Callable

from routeradmin.console import catalog
from routeradmin.console.fields import split
from routeradmin.services import changes

CHANGES: dict[str, Callable[[list[str], list[str]], list[str]]] = {
    "tag": lambda present, tags: [*present, *(tag for tag in tags if tag not in present)],
    "untag": lambda present, tags: [tag for tag in present if tag not in tags],
}


def words(text: str) -> list[str]:
    """Tags as they are typed in a form. Raises Invalid."""
    try:
        return list(dict.fromkeys(split(text)))
    except ValueError as problem:
        raise changes.Invalid([changes.Problem("/tags", str(problem))]) from None


def change(uid: str, action: str, tags: list[str], by: changes.Actor, reason: str) -> None:
    """Give the deployment these tags, or take them away. Raises NotFound, Invalid."""
    if not tags:
        raise changes.Invalid([changes.Problem("/tags", "write at least one tag")])
    entry = catalog.index().deployments.get(uid)
    present = list(entry.tags) if entry else []
    wanted = CHANGES[action](present, tags)
    changes.update("deployments", uid, {"tags": wanted}, by, if_match="*", reason=reason)
