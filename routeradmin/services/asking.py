"""From a message and a key to what the engine is asked, and to the route it may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from routeradmin.engine.intents import Decision
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved, is_auto
from routeradmin.engine.select import resolve_for
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services import admission
from routeradmin.services.intent.words import Words, of_text
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import RouteNotAllowed, TooManyExcluded
from routeradmin.services.runtime import Runtime

_NOTHING: frozenset[str] = frozenset()
MOST_EXCLUDED = 1024
MOST_NAME_CHARS = 2048  # three ids, each bounded by the catalog, and what stands between them
Headers = tuple[tuple[str, str], ...]


class Asking(NamedTuple):
    """A request with its route. ``decision`` is how ``auto`` came by it, None for other names."""

    request: SelectRequest
    resolved: Resolved
    decision: Decision | None = None
    at: float | None = None  # when the request came, where deciding took time


def needs_words(snapshot: Snapshot, model: str) -> bool:
    """Whether intents decide about this name."""
    return snapshot.has_intents and is_auto(snapshot, model)


async def asking_of(
    runtime: Runtime,
    request: SelectRequest,
    key: Key,
    now: float,
    words: Words,
    *,
    may_call: bool = True,
) -> Asking:
    """``resolve_allowed`` for a name that intents decide about.

    No upstream is asked for a key that is at its limits, nor where ``may_call`` is False.
    The request that comes back is held to local deployments where the intent says so. Raises
    ModelNotFound, RouteNotAllowed.
    """
    snapshot = runtime.current.snapshot
    may_call = may_call and not admission.seems_full(runtime, key, request.estimate, now)
    decision = await runtime.intents.decide(runtime, snapshot, words, now, may_call=may_call)
    request = replace(request, local_only=decision.local_only)
    if decision.route_id is None:
        resolved = resolve_for(snapshot, request.model, request, runtime.store, now)
    else:
        resolved = Resolved(snapshot.routes[decision.route_id], None, request.model, snapshot)
    if not key.may_use(resolved.route.id):
        raise RouteNotAllowed(request.model)
    return Asking(request, resolved, decision, now)


def words_of(message: Select) -> Words:
    return of_text(message.text or "", has_image="vision" in message.requires)


async def asking_of_message(
    runtime: Runtime, message: Select, key: Key, now: float, headers: Headers = ()
) -> Asking:
    """A select body's request and route, found without asking anybody.

    Raises ModelNotFound, RouteNotAllowed.
    """
    request = request_of(runtime.current.snapshot, message, key, headers)
    if needs_words(runtime.current.snapshot, message.model):
        return await asking_of(runtime, request, key, now, words_of(message), may_call=False)
    return Asking(request, resolve_allowed(runtime, request, key, now))


def request_of(
    snapshot: Snapshot, message: Select, key: Key, headers: Headers = ()
) -> SelectRequest:
    """The facts of a select body. A tool choice that names a tool counts as not ``auto``.

    ``headers`` are those of the caller's request that some rule reads. Raises TooManyExcluded."""
    choice = message.tool_choice
    return SelectRequest(
        model=message.model,
        input_tokens=message.input_tokens,
        max_output_tokens=message.max_output_tokens,
        requires=frozenset(message.requires) if message.requires else _NOTHING,
        tool_choice=choice if choice is None or isinstance(choice, str) else "named",
        temperature=message.temperature,
        top_p=message.top_p,
        reasoning_effort=message.reasoning_effort,
        exclude=excluded(snapshot, message.exclude) if message.exclude else _NOTHING,
        session=message.session,
        tags=frozenset(message.tags) if message.tags else _NOTHING,
        api=message.api,
        # The caller makes the call itself: a translation is ours to offer, not theirs to need.
        translatable=False,
        lease_ttl_s=message.lease_ttl_s,
        needs_secret=message.secret,
        key_id=key.uid,
        headers=headers,
        preferences=None if message.preferences is None else message.preferences.as_preferences(),
    )


def excluded(snapshot: Snapshot, names: Sequence[str]) -> frozenset[str]:
    """Those that the catalog has: the others exclude nothing, and requests are kept with their
    turns. Raises TooManyExcluded."""
    ours = snapshot.excludable()
    found = {own for name in names if (own := ours.get(name) or _matched(ours, name)) is not None}
    if len(found) > MOST_EXCLUDED:
        raise TooManyExcluded(MOST_EXCLUDED)
    return frozenset(found)


def _matched(ours: Mapping[str, str], name: str) -> str | None:
    """A candidate of a pattern, by the name that it took: ``deployment/credential@name``."""
    if len(name) > MOST_NAME_CHARS:
        return None
    ends = (at for at, char in enumerate(name) if char == "@")
    return name if any(name[:at] in ours for at in ends) else None


def resolve_allowed(runtime: Runtime, request: SelectRequest, key: Key, now: float) -> Resolved:
    """The route that answers to the request's model. Raises ModelNotFound, RouteNotAllowed."""
    resolved = resolve_for(runtime.current.snapshot, request.model, request, runtime.store, now)
    if not key.may_use(resolved.route.id):
        raise RouteNotAllowed(request.model)
    return resolved
