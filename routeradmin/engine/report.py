"""A caller's report of an attempt it made itself, as an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from routeradmin.engine.error_body import ErrorBody
from routeradmin.engine.hints import retry_after_s
from routeradmin.engine.outcome import class_of_status, is_2xx, ruled
from routeradmin.engine.policy import ClassifyRule
from routeradmin.engine.state import Dispatch, FailureClass, Outcome

Told = Literal["success", "failure", "cancelled"]


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """The body of a report. ``message`` must be redacted already."""

    outcome: Told
    status: int | None = None
    error_class: FailureClass | None = None
    dispatch: Dispatch | None = None
    retry_after: str | float | None = None
    visible_output: bool = False
    message: str = ""
    latency_ms: float | None = None
    ttft_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def from_report(
    told: ReportFacts,
    rules: Sequence[ClassifyRule] = (),
    *,
    now: float,
    replay_unanswered: bool = True,
) -> Outcome:
    """What counts, in this order: ``error_class``, ``status``, ``outcome``."""
    failure = _class(told, rules)
    dispatch = told.dispatch or _default_dispatch(told, failure)
    return Outcome(
        failure=failure,
        dispatch=dispatch,
        status=told.status,
        hint_s=_hint_s(told, failure, now),
        visible_output=told.visible_output,
        message=told.message,
        latency_ms=told.latency_ms,
        ttft_ms=told.ttft_ms,
        input_tokens=told.input_tokens,
        output_tokens=told.output_tokens,
        retriable=not told.visible_output
        and _retriable(told, failure, dispatch, replay_unanswered),
    )


def _class(told: ReportFacts, rules: Sequence[ClassifyRule]) -> FailureClass | None:
    if told.error_class is not None:
        return told.error_class
    if told.status is not None and not is_2xx(told.status):
        body = ErrorBody(text=told.message.lower())
        return ruled(rules, told.status, body) or class_of_status(told.status)
    if told.outcome == "success":
        return None
    if told.outcome == "cancelled":
        return FailureClass.CANCELLED
    return FailureClass.TRANSIENT


def _default_dispatch(told: ReportFacts, failure: FailureClass | None) -> Dispatch:
    """The outcome table's value: a 2xx was accepted, any other transient end is unknown."""
    if failure is None:
        return Dispatch.ACCEPTED
    if failure in (FailureClass.CANCELLED, FailureClass.DEADLINE):
        return Dispatch.UNKNOWN
    if failure is not FailureClass.TRANSIENT:
        return Dispatch.REJECTED
    return Dispatch.ACCEPTED if is_2xx(told.status) else Dispatch.UNKNOWN


def _retriable(
    told: ReportFacts, failure: FailureClass | None, dispatch: Dispatch, replay_unanswered: bool
) -> bool:
    if failure is not FailureClass.TRANSIENT:
        return failure is FailureClass.RATE_LIMITED
    if dispatch is Dispatch.UNKNOWN and told.status is None:
        return replay_unanswered
    return dispatch is not Dispatch.REJECTED


def _hint_s(told: ReportFacts, failure: FailureClass | None, now: float) -> float | None:
    if failure not in (FailureClass.RATE_LIMITED, FailureClass.TRANSIENT):
        return None
    return retry_after_s(told.retry_after, now) or None
