"""One inference request: its body, the facts read from it, and what its headers ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from routeradmin.adapters import header_lines
from routeradmin.engine.preferences import Preferences
from routeradmin.engine.request import SelectRequest
from routeradmin.services.inference import bodies, facts, preferences
from routeradmin.services.inference.facts import Facts, Invalid
from routeradmin.services.inference.whole import COUNT_TOKENS

# Request headers that upstreams understand and the client may set.
_FORWARDED: Mapping[str, tuple[str, ...]] = {
    facts.MESSAGES: ("anthropic-version", "anthropic-beta"),
    facts.RESPONSES: ("openai-beta",),
    facts.CHAT: ("openai-beta",),
}
_OURS = (
    "x-routeradmin-session",
    "x-routeradmin-tags",
    "x-routeradmin-input-tokens",
    "x-routeradmin-deadline-ms",
    "x-routeradmin-trace",
    "idempotency-key",
)
_LISTS = frozenset({"anthropic-beta", "openai-beta", "x-routeradmin-tags"})
_WANTED = {
    api: frozenset(name.encode() for name in (*_OURS, *_FORWARDED.get(api, ())))
    for api in facts.APIS
}
_MOST_TAGS = 64
_MOST_TAG_CHARS = 256
_MOST_SESSION_CHARS = 1024


@dataclass(frozen=True, slots=True)
class Wishes:
    """The ``x-routeradmin-*`` request headers, and what is passed on upstream.

    ``deadline_s`` counts from the request's arrival.
    """

    session: str | None = None
    tags: frozenset[str] = frozenset()
    input_tokens: int | None = None
    deadline_s: float | None = None
    trace: bool = False
    idempotency_key: str | None = None
    forwarded: tuple[tuple[str, str], ...] = ()


_NONE = Wishes()


@dataclass(slots=True)
class Asked:
    """``api`` is the called protocol, ``operation`` it or ``count_tokens``; ``raw`` the body.
    ``headers`` are the request's own, names in lower case. Nobody changes one (see
    ``SelectRequest``)."""

    api: str
    operation: str
    raw: bytes
    document: dict[str, Any]
    facts: Facts
    wishes: Wishes
    headers: Sequence[tuple[bytes, bytes]] = ()
    preferences: Preferences | None = None

    @property
    def counts_only(self) -> bool:
        return self.operation == COUNT_TOKENS


def read(
    api: str, operation: str, raw: bytes, headers: Sequence[tuple[bytes, bytes]] = ()
) -> Asked:
    """Raises BadBody, Invalid."""
    wishes = wishes_of(headers, api)
    document = bodies.parse(raw)
    liked = preferences.read(document)
    if liked is not None:  # it is ours to act on, and providers refuse members they do not know
        raw = bodies.without_member(raw, preferences.MEMBER)
        document = {name: v for name, v in document.items() if name != preferences.MEMBER}
    found = facts.read(api, document)
    if operation == COUNT_TOKENS:  # never a stream, whatever a client left in the body
        found = replace(found, stream=False)
    return Asked(api, operation, raw, document, found, wishes, headers, liked)


def wishes_of(pairs: Iterable[tuple[bytes, bytes]], api: str) -> Wishes:
    """From request headers, names in lower case. Raises Invalid, naming the header."""
    wanted = _WANTED[api]
    lines = [line for line in pairs if line[0] in wanted]
    if not lines:
        return _NONE
    given = _values(lines)
    forwarded = [(name, given[name]) for name in _FORWARDED.get(api, ()) if name in given]
    return Wishes(
        session=given.get("x-routeradmin-session", "")[:_MOST_SESSION_CHARS] or None,
        tags=_tags(given.get("x-routeradmin-tags")),
        input_tokens=_whole(given, "x-routeradmin-input-tokens", 0),
        deadline_s=_seconds(given),
        trace=given.get("x-routeradmin-trace") == "1",
        idempotency_key=given.get("idempotency-key") or None,
        forwarded=tuple(forwarded),
    )


def _values(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Lists may go on in further lines; what is a single value may only be said again: which of
    two idempotency keys or deadlines was meant cannot be known. Raises Invalid."""
    given: dict[str, str] = {}
    for raw_name, raw_value in lines:
        name, value = raw_name.decode(), raw_value.decode("latin-1").strip()
        if name in _LISTS:
            header_lines.add(given, name, value)
        elif given.setdefault(name, value) != value:
            raise Invalid(name, "stated once, or the same each time")
    return given


def request_of(
    asked: Asked, key_id: str, *, translatable: bool, with_headers: bool = False
) -> SelectRequest:
    """What the engine is asked. The caller's own bound of the input wins over the computed one.

    ``with_headers``: some route's rules look at the request's headers.
    """
    found, wishes = asked.facts, asked.wishes
    tokens = found.input_tokens if wishes.input_tokens is None else wishes.input_tokens
    return SelectRequest(
        model=found.model,
        input_tokens=tokens,
        max_output_tokens=found.max_output_tokens,
        requires=found.requires,
        tool_choice=found.tool_choice,
        temperature=found.temperature,
        top_p=found.top_p,
        reasoning_effort=found.reasoning_effort,
        session=wishes.session,
        tags=wishes.tags,
        api=asked.api,
        translatable=translatable,
        needs_secret=True,
        key_id=key_id,
        headers=_texts(asked.headers) if with_headers else (),
        preferences=asked.preferences,
    )


def _texts(headers: Sequence[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _tags(text: str | None) -> frozenset[str]:
    words = (word.strip() for word in (text or "").split(","))
    return frozenset([word[:_MOST_TAG_CHARS] for word in words if word][:_MOST_TAGS])


def _seconds(given: Mapping[str, str]) -> float | None:
    milliseconds = _whole(given, "x-routeradmin-deadline-ms", 1)
    return None if milliseconds is None else milliseconds / 1000


def _whole(given: Mapping[str, str], name: str, least: int) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise Invalid(name, f"a whole number of at least {least}")
    return int(text)
