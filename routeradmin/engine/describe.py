"""Runtime state as JSON: cooldowns, windows and moments in the shapes of the API."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from routeradmin.engine.condition import cooling, effective_state, remaining_s
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateState
from routeradmin.engine.windows import ends, used, window


def utc_text(at: float) -> str:
    """ISO 8601 in UTC with milliseconds, from epoch seconds."""
    second, ms = divmod(round(at * 1000), 1000)
    return f"{_to_the_second(second)}.{ms:03d}Z"


@lru_cache(maxsize=1024)
def _to_the_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None).isoformat()


def runtime_json(candidate: Candidate, state: CandidateState, now: float) -> dict[str, Any]:
    """``runtime`` of an explained target."""
    rpm, tpm = used(state, now)
    return {
        "state": effective_state(candidate, state, now),
        "active": state.active,
        "cooldown": cooldown_json(state, now),
        "rpm": window_json(rpm, candidate.rpm_limit, now),
        "tpm": window_json(tpm, candidate.tpm_limit, now),
    }


def cooldown_json(state: CandidateState, now: float) -> dict[str, Any] | None:
    """The running cooldown; None once it is over."""
    cooldown = state.cooldown
    if cooldown is None or not cooling(state, now):
        return None
    return {
        "class": str(cooldown.cls),
        "status": cooldown.status,
        "message": cooldown.message,
        "since": utc_text(cooldown.since),
        "until": utc_text(cooldown.until),
        "remaining_s": round(remaining_s(cooldown, now), 3),
        "level": cooldown.level,
        "set_by": cooldown.set_by,
    }


def window_json(spent: int, limit: int | None, now: float) -> dict[str, Any]:
    return {"used": spent, "limit": limit, "resets_at": utc_text(ends(window(now)))}
