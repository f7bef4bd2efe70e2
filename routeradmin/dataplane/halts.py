"""What the client is told when a turn has halted without an answer."""

from __future__ import annotations

from typing import Any

from routeradmin.dataplane import faults
from routeradmin.dataplane.errors import ApiError
from routeradmin.engine.state import FailureClass
from routeradmin.engine.turn_state import HaltReason
from routeradmin.services.inference.facts import MESSAGES
from routeradmin.services.inference.turning import Turning
from routeradmin.services.refusals import Refused
from routeradmin.services.runtime import Runtime

_LIMITED = frozenset({FailureClass.RATE_LIMITED, FailureClass.QUOTA})
_CODES = {
    FailureClass.CALLER: "invalid_request",
    FailureClass.CONTENT_POLICY: "content_policy_violation",
    FailureClass.CONTEXT_WINDOW: "context_length_exceeded",
}
_PASSED_ON = ("type", "param", "code")


def problem_of(runtime: Runtime, turning: Turning) -> ApiError:
    """The answer for any halt but ``succeeded``."""
    halt = turning.halt
    if halt.refusal is not None:
        return faults.refused(Refused(halt.refusal))
    match halt.halt:
        case HaltReason.LIMIT_REFUSED if turning.refused is not None:
            refused = turning.refused
            return ApiError(
                429,
                "rate_limit_exceeded",
                refused.message,
                retry_after_s=refused.retry_after_s,
                more={"limit": refused.limit},
            )
        case HaltReason.DEADLINE:
            return ApiError(
                504, "deadline_exceeded", "The deadline passed before an answer was complete."
            )
        case HaltReason.CANCELLED:
            return ApiError(
                503,
                "server_stopping",
                "The server was stopped before the answer was complete; ask again.",
                retry_after_s=1.0,
            )
        case HaltReason.AMBIGUOUS_DISPATCH:
            text = "may have acted on the request but did not answer; it was not sent again"
            message = f"{_last(turning)} {text}: {halt.message}."
            return ApiError(502, "ambiguous_dispatch", message, should_retry=False)
        case HaltReason.INELIGIBLE_FAILURE:
            return _ineligible(runtime, turning)
        case HaltReason.VISIBLE_OUTPUT:
            message = f"{_last(turning)} broke off in the middle of its answer: {halt.message}."
            return ApiError(502, "upstream_error", message)
    return _exhausted(turning)


def _exhausted(turning: Turning) -> ApiError:
    halt = turning.halt
    model = turning.turn.state.model
    message = f"No deployment of {model!r} answered. {_last(turning)} failed last: {halt.message}."
    if halt.cls in _LIMITED:
        return ApiError(429, "rate_limit_exceeded", message, retry_after_s=halt.retry_after_s or 1)
    return ApiError(502, "upstream_error", message)


def _ineligible(runtime: Runtime, turning: Turning) -> ApiError:
    halt = turning.halt
    if halt.cls in _CODES:
        status = halt.status if halt.status is not None and 400 <= halt.status < 500 else 400
        return _as_upstream_said(runtime, turning, status)
    if halt.cls == FailureClass.UNAUTHORIZED:
        message = f"{_last(turning)} did not accept its own credential: {halt.message}."
        return ApiError(502, "upstream_auth_error", message, should_retry=False)
    message = f"{_last(turning)} failed: {halt.message or f'status {halt.status}'}."
    return ApiError(502, "upstream_error", message, should_retry=False)


def _as_upstream_said(runtime: Runtime, turning: Turning, status: int) -> ApiError:
    """The upstream's own words, in the client's protocol; its other members are passed on where
    both protocols have them."""
    attempted = turning.attempted
    document = attempted.document if attempted is not None else None
    error = document.get("error") if isinstance(document, dict) else None
    error = error if isinstance(error, dict) else {}
    given: dict[str, Any] = {
        name: runtime.redact(value)
        for name in _PASSED_ON
        if isinstance(value := error.get(name), str) and value
    }
    same = attempted is not None and attempted.protocol == turning.asked.api
    anthropic = turning.asked.api == MESSAGES
    more = {"type": given["type"]} if same and "type" in given else {}
    code = given.get("code") or (given.get("type") if anthropic or not same else None)
    return ApiError(
        status,
        code or _CODES[FailureClass(turning.halt.cls or FailureClass.CALLER)],
        turning.halt.message or f"The upstream refused the request with status {status}.",
        param=given.get("param"),
        should_retry=False,
        more=more,
    )


def _last(turning: Turning) -> str:
    key = turning.turn.state.attempts[-1].key
    return f"Deployment {key.deployment!r}"
