"""Who calls, and whether the key may: from memory, never from the database."""

from __future__ import annotations

from routeradmin.dataplane.errors import ApiError
from routeradmin.dataplane.http import Scope
from routeradmin.services.keys import Key
from routeradmin.services.runtime import Runtime


def bearer(scope: Scope) -> str | None:
    """The key of ``Authorization: Bearer`` or ``x-api-key``; the first one that is present."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, token = value.partition(b" ")
            if kind.lower() == b"bearer":
                return str(token.strip().decode("latin-1"))
        elif name == b"x-api-key":
            return str(value.strip().decode("latin-1"))
    return None


def authorize(runtime: Runtime, scope: Scope, *scopes: str) -> Key:
    """The caller's key, if it has one of ``scopes``.

    Raises ApiError 401 ``invalid_api_key`` (missing, unknown, revoked, expired) or 403
    ``insufficient_scope``.
    """
    token = bearer(scope)
    if token is None:
        raise ApiError(
            401,
            "invalid_api_key",
            "No API key was sent; send one as 'Authorization: Bearer <key>'.",
            headers=((b"www-authenticate", b"Bearer"),),
        )
    key = runtime.keys.find(token, runtime.clock())
    if key is None:
        raise ApiError(
            401,
            "invalid_api_key",
            "This API key is unknown, revoked or expired; make one on the Keys page or with "
            "'manage.py create_key'.",
            headers=((b"www-authenticate", b"Bearer"),),
        )
    if key.scopes.isdisjoint(scopes):
        raise ApiError(
            403,
            "insufficient_scope",
            f"The key '{key.name}' lacks the scope {' or '.join(scopes)}.",
        )
    return key
