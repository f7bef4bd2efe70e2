"""Paths and the dialect each speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from routeradmin.adapters.simulated import chat, embeddings, messages, responses
from routeradmin.adapters.simulated.ask import Ask, Frame, Json
from routeradmin.adapters.simulated.errors import is_anthropic


class Dialect(NamedTuple):
    """How a kind of call is answered; no ``frames`` where it never streams."""

    plain: Callable[[Ask], Json]
    frames: Callable[[Ask], list[Frame]] | None = None


DIALECTS = {
    "chat": Dialect(chat.plain, chat.frames),
    "completions": Dialect(chat.completion, chat.completion_frames),
    "responses": Dialect(responses.plain, responses.frames),
    "embeddings": Dialect(embeddings.plain),
    "messages": Dialect(messages.plain, messages.frames),
    "count_tokens": Dialect(messages.count),
}
KINDS = {
    "chat/completions": "chat",
    "completions": "completions",
    "responses": "responses",
    "embeddings": "embeddings",
    "messages": "messages",
    "messages/count_tokens": "count_tokens",
}


def locate(path: str) -> tuple[str, str | None] | None:
    """Kind of call, and the model that a path under ``/v1/models/`` names; None if unknown.

    Anything may stand before ``/v1``, so that one process can pose as several providers.
    """
    _, found, rest = path.partition("/v1/")
    if not found:
        return None
    if rest == "models" or rest.startswith("models/"):
        return "models", unquote(rest.removeprefix("models").removeprefix("/")) or None
    kind = KINDS.get(rest)
    return None if kind is None else (kind, None)


def prefix_of(path: str) -> str:
    """What stands before ``/v1``, without slashes at its ends."""
    return path.partition("/v1/")[0].strip("/")


def id_header(kind: str, serial: int) -> tuple[str, str]:
    """The vendor's request id, under the name the vendor uses."""
    name = "request-id" if is_anthropic(kind) else "x-request-id"
    return name, f"req_sim{serial:08d}"
