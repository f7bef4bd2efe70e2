"""Runtime state as JSON, the one shape that explanations, the state document and pages share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from routeradmin.engine.condition import cooling, effective_state, health_at, remaining_s
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateState, LastError
from routeradmin.engine.windows import ends, used, window


def utc_text(at: float) -> str:
    """ISO 8601 in UTC with milliseconds, from epoch seconds."""
    moment = datetime.fromtimestamp(round(at * 1000) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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


def candidate_json(
    candidate: Candidate, state: CandidateState, routes: Sequence[str], now: float
) -> dict[str, Any]:
    """One entry of the state document."""
    runtime = runtime_json(candidate, state, now)
    deployment = candidate.deployment
    return {
        "id": str(candidate.key),
        "deployment": deployment.id,
        "credential": candidate.credential.id,
        "provider": deployment.provider.id,
        "routes": list(routes),
        "state": runtime["state"],
        "admin_state": deployment.admin_state.value,
        "health": health_at(state, now).value,
        "active": state.active,
        "max_parallel_requests": candidate.max_parallel,
        "rpm": runtime["rpm"],
        "tpm": runtime["tpm"],
        "latency_ms": latency_json(state),
        "successes": state.successes,
        "failures": state.failures,
        "consecutive_failures": state.consecutive_failures,
        "level": state.rate_level,
        "cooldown": runtime["cooldown"],
        "last_error": error_json(state.last_error),
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


def latency_json(state: CandidateState) -> dict[str, float | None]:
    """Milliseconds; None where there is no sample."""
    return {
        "ema": state.latency_ema_ms,
        "p50": percentile(state.latencies_ms, 0.5),
        "p95": percentile(state.latencies_ms, 0.95),
        "ttft_p50": percentile(state.ttfts_ms, 0.5),
    }


def percentile(samples: Sequence[float], share: float) -> float | None:
    """Nearest rank."""
    if not samples:
        return None
    ranked = sorted(samples)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def error_json(error: LastError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "class": str(error.cls),
        "status": error.status,
        "message": error.message,
        "at": utc_text(error.at),
    }
