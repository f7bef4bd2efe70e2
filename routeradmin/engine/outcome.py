"""From the facts of an ended attempt to its class, dispatch evidence, retriability and hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from routeradmin.engine import error_body, provider_errors
from routeradmin.engine.error_body import ErrorBody
from routeradmin.engine.hints import hint_s
from routeradmin.engine.policy import ClassifyRule
from routeradmin.engine.state import Dispatch, FailureClass, Outcome


class Ending(StrEnum):
    """How far an attempt came before it ended."""

    SUCCESS = "success"
    NOT_CONNECTED = "not-connected"  # refused, name not resolved, TLS failure: nothing was sent
    UNANSWERED = "unanswered"  # sent, then silence, timeout, reset or close before any answer
    ANSWERED = "answered"  # a complete answer with a status outside 2xx
    MALFORMED = "malformed"  # 2xx with HTML, cut or invalid JSON, no choices
    ERROR_INSIDE = "error-inside"  # 2xx whose body or stream frame is an error object
    BROKEN = "broken"  # a stream that breaks, or stops without an end
    CANCELLED = "cancelled"  # the client hung up
    DEADLINE = "deadline"  # the caller's deadline passed
    STOPPED = "stopped"  # this process stops and waits no longer


@dataclass(slots=True)
class AttemptFacts:
    """What the caller saw. ``document`` is the error body parsed as JSON, if it was JSON.

    ``text`` is the raw body, only searched; ``message`` is kept and must be redacted already.
    Nobody changes one (see ``SelectRequest``).
    """

    ending: Ending
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    document: object = None
    text: str = ""
    message: str = ""
    visible_output: bool = False
    latency_ms: float | None = None
    ttft_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


_NO_FAULT = {
    Ending.CANCELLED: FailureClass.CANCELLED,
    Ending.DEADLINE: FailureClass.DEADLINE,
    Ending.STOPPED: FailureClass.CANCELLED,
}
_HINTED = frozenset({FailureClass.RATE_LIMITED, FailureClass.TRANSIENT})
_NAMES = frozenset(str(failure) for failure in FailureClass)


def classify(
    facts: AttemptFacts,
    rules: Sequence[ClassifyRule] = (),
    *,
    now: float,
    replay_unanswered: bool = True,
) -> Outcome:
    """The outcome of an attempt; ``rules`` are the policy's and go first. Never raises.

    ``now`` (epoch seconds) is what a date in a header is compared with.
    """
    failure = _class(facts, rules)
    dispatch, retriable = _dispatch(facts, failure, replay_unanswered)
    return Outcome(
        failure=failure,
        dispatch=dispatch,
        status=facts.status,
        hint_s=_hint_s(facts, failure, now),
        visible_output=facts.visible_output,
        message=facts.message,
        latency_ms=facts.latency_ms,
        ttft_ms=facts.ttft_ms,
        input_tokens=facts.input_tokens,
        output_tokens=facts.output_tokens,
        retriable=retriable and not facts.visible_output,
    )


def class_of_status(status: int) -> FailureClass:
    """The class of a status outside 2xx that comes without telling words."""
    if status == 429:
        return FailureClass.RATE_LIMITED
    if status == 402:
        return FailureClass.QUOTA
    if status in (401, 403):
        return FailureClass.UNAUTHORIZED
    if status == 404:
        return FailureClass.NOT_FOUND
    if status == 408 or not 300 <= status < 500:
        return FailureClass.TRANSIENT
    return FailureClass.REFUSED if status < 400 else FailureClass.CALLER


def ruled(
    rules: Sequence[ClassifyRule], status: int | None, body: ErrorBody
) -> FailureClass | None:
    """The class of the first operator's rule whose every condition holds."""
    for rule in rules:
        if (
            (rule.status is None or rule.status == status)
            and (rule.code is None or rule.code.lower() in body.codes)
            and (rule.contains is None or rule.contains.lower() in body.text)
            and rule.failure_class in _NAMES
        ):
            return FailureClass(rule.failure_class)
    return None


def is_2xx(status: int | None) -> bool:
    return status is not None and 200 <= status < 300


def _class(facts: AttemptFacts, rules: Sequence[ClassifyRule]) -> FailureClass | None:
    if facts.ending is Ending.SUCCESS:
        return None
    if facts.ending in _NO_FAULT:
        return _NO_FAULT[facts.ending]
    if facts.ending in (Ending.NOT_CONNECTED, Ending.UNANSWERED):
        return FailureClass.TRANSIENT  # no answer came that words or a status could be read from
    body = error_body.read(facts.document, facts.text, facts.headers)
    found = ruled(rules, facts.status, body)
    if found is not None:
        return found
    if facts.ending not in (Ending.ANSWERED, Ending.ERROR_INSIDE):
        return FailureClass.TRANSIENT
    status = None if is_2xx(facts.status) else facts.status
    found = provider_errors.known(body, status)
    if found is None and (status := status or body.status) is not None:
        found = class_of_status(status)
    return found or FailureClass.TRANSIENT


def _dispatch(
    facts: AttemptFacts, failure: FailureClass | None, replay_unanswered: bool
) -> tuple[Dispatch, bool]:
    if failure is None:
        return Dispatch.ACCEPTED, False
    if failure in (FailureClass.CANCELLED, FailureClass.DEADLINE):
        return Dispatch.UNKNOWN, False
    if failure is not FailureClass.TRANSIENT:
        return Dispatch.REJECTED, failure is FailureClass.RATE_LIMITED
    if facts.ending is Ending.NOT_CONNECTED:
        return Dispatch.NOT_SENT, True
    if facts.ending is Ending.UNANSWERED:
        return Dispatch.UNKNOWN, replay_unanswered
    if facts.ending is Ending.ANSWERED and not is_2xx(facts.status):
        return Dispatch.UNKNOWN, True
    return Dispatch.ACCEPTED, True


def _hint_s(facts: AttemptFacts, failure: FailureClass | None, now: float) -> float | None:
    """Headers of a 2xx came before the error inside it and say nothing of it."""
    if failure not in _HINTED or is_2xx(facts.status):
        return None
    exhausted_only = failure is not FailureClass.RATE_LIMITED
    return hint_s(facts.headers, now, exhausted_only=exhausted_only)
