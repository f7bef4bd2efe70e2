"""What services raise, as answers of the decision and inference paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from routeradmin.dataplane.errors import ApiError
from routeradmin.engine.errors import ModelNotFound
from routeradmin.engine.state import LeaseFenced, LeaseNotFound
from routeradmin.services import refusals
from routeradmin.services.reporting import LeaseExpired


def refused(problem: refusals.Refused) -> ApiError:
    refusal = problem.refusal
    more: dict[str, Any] = {"reasons": list(refusal.reasons), "model": refusal.model}
    if refusal.reset_s is not None:
        more["reset_seconds"] = refusal.reset_s
    if refusal.provider is not None:
        more["provider"] = refusal.provider
    return ApiError(
        refusal.status,
        refusal.kind,
        refusal.message,
        retry_after_s=refusal.retry_after_s,
        should_retry=None if refusal.should_retry else False,
        more=more,
    )


def halted(problem: refusals.TurnHalted) -> ApiError:
    return ApiError(409, "turn_halted", str(problem), param="turn", more={"halt": problem.halt})


def waiting(problem: refusals.TurnWaiting) -> ApiError:
    return ApiError(
        409, "turn_waiting", str(problem), param="turn", retry_after_s=problem.remaining_s
    )


def late(problem: LeaseExpired) -> ApiError:
    more = {"next": problem.answer["next"], "cooldown": problem.answer["cooldown"]}
    return ApiError(409, "lease_fenced", str(problem), more=more)


def _plain(status: int, code: str, param: str | None = None) -> Callable[[Exception], ApiError]:
    return lambda problem: ApiError(status, code, str(problem), param=param)


ANSWERS: dict[type[Exception], Callable[[Any], ApiError]] = {
    refusals.Refused: refused,
    refusals.RouteNotAllowed: _plain(403, "model_access_denied", "model"),
    refusals.TooManyExcluded: _plain(422, "invalid_request", "exclude"),
    refusals.TurnNotFound: _plain(404, "turn_not_found", "turn"),
    refusals.TurnMismatch: _plain(422, "turn_mismatch", "model"),
    refusals.TurnHalted: halted,
    refusals.TurnWaiting: waiting,
    refusals.TurnBusy: _plain(409, "turn_busy", "turn"),
    refusals.LimitRefused: lambda problem: ApiError(
        429, "rate_limit_exceeded", str(problem), retry_after_s=problem.retry_after_s
    ),
    refusals.StateUnknown: lambda problem: ApiError(
        503, "state_unavailable", str(problem), retry_after_s=1.0
    ),
    refusals.Stopping: lambda problem: ApiError(
        503, "server_stopping", str(problem), retry_after_s=1.0
    ),
    ModelNotFound: _plain(404, "model_not_found", "model"),
    LeaseNotFound: _plain(404, "lease_not_found"),
    LeaseFenced: _plain(409, "lease_fenced"),
    LeaseExpired: late,
}
KNOWN = tuple(ANSWERS)


def answer_for(problem: Exception) -> ApiError:
    """The answer for one of ``KNOWN``."""
    return ANSWERS[type(problem)](problem)
