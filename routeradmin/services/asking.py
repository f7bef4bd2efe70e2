"""From a message and a key to what the engine is asked, and to the route it may use."""

from __future__ import annotations

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import resolve_for
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import RouteNotAllowed
from routeradmin.services.runtime import Runtime

_NOTHING: frozenset[str] = frozenset()


def request_of(message: Select, key: Key) -> SelectRequest:
    """The facts of a select body. A tool choice that names a tool counts as not ``auto``."""
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
        exclude=frozenset(message.exclude) if message.exclude else _NOTHING,
        session=message.session,
        tags=frozenset(message.tags) if message.tags else _NOTHING,
        api=message.api,
        # The caller makes the call itself: a translation is ours to offer, not theirs to need.
        translatable=False,
        lease_ttl_s=message.lease_ttl_s,
        needs_secret=message.secret,
        key_id=key.uid,
    )


def resolve_allowed(runtime: Runtime, request: SelectRequest, key: Key, now: float) -> Resolved:
    """The route that answers to the request's model. Raises ModelNotFound, RouteNotAllowed."""
    resolved = resolve_for(runtime.current.snapshot, request.model, request, runtime.store, now)
    if not key.may_use(resolved.route.id):
        raise RouteNotAllowed(request.model)
    return resolved
