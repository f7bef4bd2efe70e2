"""``GET /v1/models`` and ``/v1/models/{id}``, in OpenAI's or Anthropic's shape."""

from __future__ import annotations

from collections.abc import Sequence

from routeradmin.adapters.simulated.ask import Json

RELEASED = "2026-01-01T00:00:00Z"
RELEASED_S = 1_767_225_600


def listing(names: Sequence[str], *, anthropic: bool) -> Json:
    """All models; Anthropic's shape where the request carries ``anthropic-version``."""
    entries = [entry(name, anthropic=anthropic) for name in names]
    if not anthropic:
        return {"object": "list", "data": entries}
    first, last = (names[0], names[-1]) if names else (None, None)
    return {"data": entries, "has_more": False, "first_id": first, "last_id": last}


def entry(name: str, *, anthropic: bool) -> Json:
    """One model. Any name is taken: the simulated provider serves whatever it is asked for."""
    if anthropic:
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": RELEASED,
            "lifecycle": "active",
        }
    return {"id": name, "object": "model", "created": RELEASED_S, "owned_by": "simulated"}
