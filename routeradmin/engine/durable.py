"""The part of a candidate's state that survives a restart, as plain JSON-able records."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from routeradmin.engine.state import CandidateKey, CandidateState, Cooldown, Health, LastError

PLAIN = (
    "secret_version",
    "recovering",
    "needs_attention",
    "consecutive_failures",
    "consecutive_successes",
    "probe_failures",
    "probe_unhealthy",
    "rate_level",
    "transient_level",
    "rate_limited_until",
    "transient_until",
    "marked_at",
)


def record(state: CandidateState) -> dict[str, Any] | None:
    """Cooldown, levels, health and evidence; None where there is nothing to remember."""
    fresh = CandidateState(state.key, secret_version=state.secret_version)
    kept = {name: getattr(state, name) for name in PLAIN}
    told = state.cooldown, state.last_error, state.health
    if told == (None, None, fresh.health) and all(
        value == getattr(fresh, name) for name, value in kept.items()
    ):
        return None
    return {
        **state.key._asdict(),
        **kept,
        "health": str(state.health),
        "cooldown": None if state.cooldown is None else asdict(state.cooldown),
        "last_error": None if state.last_error is None else asdict(state.last_error),
    }


def key_of(kept: dict[str, Any]) -> CandidateKey:
    return CandidateKey(kept["deployment"], kept["credential"], kept.get("matched", ""))


def restore(state: CandidateState, kept: dict[str, Any], now: float) -> None:
    """Put a record back. A clock that stands earlier now lengthens no cooldown: what remains is
    never above what was set."""
    for name in PLAIN:
        if name in kept:
            setattr(state, name, kept[name])
    state.health = Health(kept.get("health", Health.HEALTHY))
    error, cooldown = kept.get("last_error"), kept.get("cooldown")
    state.last_error = None if error is None else LastError(**error)
    state.cooldown, state.cooldown_until = None, 0.0
    if cooldown is not None:
        length_s = cooldown["until"] - cooldown["since"]
        until = min(cooldown["until"], now + length_s)
        shift_s = cooldown["until"] - until
        state.cooldown = Cooldown(**{**cooldown, "until": until, "since": until - length_s})
        state.cooldown_until = until
        for name in ("rate_limited_until", "transient_until", "marked_at"):
            setattr(state, name, max(0.0, getattr(state, name) - shift_s))
