"""A log line for a turn that is over: by default only for one that failed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

log = logging.getLogger("routeradmin.turns")

_FINE = frozenset({"succeeded", "cancelled"})


def tells_of_success() -> bool:
    return log.isEnabledFor(logging.INFO)


def tell(record: Mapping[str, Any]) -> None:
    """``record`` is the turn as the journal keeps it."""
    halt = record["halt"] or "refused"
    level = logging.INFO if halt in _FINE else logging.WARNING
    if not log.isEnabledFor(level):
        return
    attempts = record["attempts"]
    last: Mapping[str, Any] = attempts[-1] if attempts else {}
    log.log(
        level,
        "turn ended: %s after %d attempt%s",
        halt,
        len(attempts),
        "" if len(attempts) == 1 else "s",
        extra={
            "request_id": record["request_id"],
            "turn": record["id"],
            "route": record["route"],
            "deployment": last.get("deployment"),
            "halt": halt,
            "error_class": last.get("class"),
            "attempts": len(attempts),
            "duration_ms": record["duration_ms"],
            "overhead_ms": record["overhead_ms"],
        },
    )
