"""The little HTTP that the hot path needs: read a bounded body, parse JSON, answer."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from routeradmin.adapters.redaction import Redactor
from routeradmin.dataplane.errors import ApiError, invalid_request

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]
M = TypeVar("M", bound=BaseModel)

JSON: Header = (b"content-type", b"application/json")
REQUEST_ID_MAX = 128
# Clients that still write when the answer comes see a broken pipe instead of it; so a body that
# is too large is read on and thrown away, up to this many bytes.
DISCARD_LIMIT = 64 * 1024 * 1024

# Ids made here are unique, not secret: random per process, then counted.
_PROCESS = secrets.token_hex(10).encode()
_numbers = count(1)


class ClientGone(Exception):
    """The client hung up before its request was complete."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole body. Raises ApiError 413 beyond ``limit`` bytes, ClientGone on a hang-up."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False) and len(body) <= limit:
        return body
    return await _read_on(receive, limit, body, more=message.get("more_body", False))


async def _read_on(receive: Receive, limit: int, first: bytes, *, more: bool) -> bytes:
    parts, size = [first], len(first)
    while more and size <= DISCARD_LIMIT:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        more = message.get("more_body", False)
    if size > limit:
        raise ApiError(
            413, "request_too_large", f"The body is larger than {limit} bytes; send less."
        )
    return b"".join(parts)


def parse(model: type[M], body: bytes) -> M:
    """The body as ``model``. Raises ApiError 400 ``invalid_json`` or 422 ``invalid_request``."""
    try:
        # All that is left of ``model_validate_json`` once it has looked through its options.
        message: M = model.__pydantic_validator__.validate_json(body or b"{}")
        return message
    except ValidationError as problem:
        if problem.errors(include_url=False)[0]["type"] == "json_invalid":
            raise ApiError(
                400, "invalid_json", "The body is not valid JSON; send one JSON object in UTF-8."
            ) from None
        raise invalid_request(problem) from None


def request_id(scope: Scope, secrets: Redactor) -> bytes:
    """The client's x-request-id when it is sane and holds none of the secrets, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            sane = 0 < len(value) <= REQUEST_ID_MAX and value.isascii() and b" " not in value
            if sane and value.decode().isprintable() and not secrets.spans(value):
                return bytes(value)
            break
    return b"%s%012x" % (_PROCESS, next(_numbers))
