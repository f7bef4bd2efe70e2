"""The model list: names that this key may use, in the shape the client's SDK knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from routeradmin.dataplane.auth import authorize
from routeradmin.engine.resolve import resolve
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services.keys import Key
from routeradmin.services.refusals import RouteNotAllowed

if TYPE_CHECKING:
    from routeradmin.dataplane.app import Exchange

OWNER = "routeradmin"
_SINCE_S = 1_767_225_600  # the catalog keeps no dates of names; clients want one
_SINCE = "2026-01-01T00:00:00Z"


async def listed(exchange: Exchange) -> None:
    """Exact names only: what a pattern answers to cannot be listed."""
    key = authorize(exchange.runtime, exchange.scope, "inference", "read", "select")
    snapshot = exchange.runtime.current.snapshot
    anthropic = _is_anthropic(exchange)
    items = [_entry(name, anthropic) for name in names(snapshot, key)]
    if anthropic:
        ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {}
        whole = {"data": items, "has_more": False, "first_id": None, "last_id": None, **ends}
    else:
        whole = {"object": "list", "data": items}
    await exchange.reply(200, orjson.dumps(whole))


async def one(exchange: Exchange) -> None:
    """Any name that a request may use, also ``provider:model`` and what a pattern takes."""
    key = authorize(exchange.runtime, exchange.scope, "inference", "read", "select")
    name = exchange.argument
    resolved = resolve(exchange.runtime.current.snapshot, name)
    if not key.may_use(resolved.route.id):
        raise RouteNotAllowed(name)
    await exchange.reply(200, orjson.dumps(_entry(name, _is_anthropic(exchange))))


def names(snapshot: Snapshot, key: Key) -> list[str]:
    return sorted(name for name, route_id in snapshot.names.items() if key.may_use(route_id))


def _entry(name: str, anthropic: bool) -> dict[str, Any]:
    if anthropic:
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": _SINCE,
            "lifecycle": "active",
        }
    return {"id": name, "object": "model", "created": _SINCE_S, "owned_by": OWNER}


def _is_anthropic(exchange: Exchange) -> bool:
    return any(name == b"anthropic-version" for name, _ in exchange.scope["headers"])
