"""A turn as ``GET /turns/{id}`` shows it."""

from __future__ import annotations

from typing import Any

from routeradmin.engine.describe import utc_text
from routeradmin.engine.turn import Turn


def as_record(
    turn: Turn,
    *,
    request_id: str = "",
    overhead_ms: float | None = None,
) -> dict[str, Any]:
    return {
        **turn.record(),
        "started_at": utc_text(turn.state.started_at),
        "request_id": request_id or None,
        "key": turn.state.request.key_id,
        "revision": turn.resolved.snapshot.revision,
        "overhead_ms": overhead_ms,
    }
