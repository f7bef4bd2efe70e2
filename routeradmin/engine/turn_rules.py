"""What one outcome means for the turn: the rules between an attempt's end and the next step."""

from __future__ import annotations

from routeradmin.engine.policy import FallbackLists, Policy
from routeradmin.engine.refusal import MODEL_COOLDOWN, RATE_LIMIT_EXCEEDED, Refusal
from routeradmin.engine.state import Dispatch, FailureClass, Outcome
from routeradmin.engine.turn_state import HaltReason, Mood

OWN_LIST_ONLY = frozenset({FailureClass.CONTENT_POLICY, FailureClass.CONTEXT_WINDOW})
PREVIEWED = frozenset({FailureClass.RATE_LIMITED, FailureClass.QUOTA})
_MOVING = frozenset({FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.QUOTA})
_REFUSED_BEFORE = frozenset({Dispatch.NOT_SENT, Dispatch.REJECTED})


def verdict(outcome: Outcome, policy: Policy, has_own_list: bool) -> HaltReason | Mood:
    """The halt this outcome means, or how the turn may go on.

    ``has_own_list``: the policy names fallback routes for this class alone.
    """
    failure = outcome.failure
    if failure is None:
        return HaltReason.SUCCEEDED
    if failure is FailureClass.CANCELLED:
        return HaltReason.CANCELLED
    if failure is FailureClass.DEADLINE:
        return HaltReason.DEADLINE
    if outcome.visible_output:
        return HaltReason.VISIBLE_OUTPUT
    if outcome.retriable:
        return Mood.RETRY
    if outcome.dispatch in _REFUSED_BEFORE and (
        failure in _MOVING
        or (failure is FailureClass.UNAUTHORIZED and policy.turn.move_on_unauthorized)
    ):
        return Mood.MOVE
    if outcome.dispatch is Dispatch.UNKNOWN:
        return HaltReason.AMBIGUOUS_DISPATCH
    if failure in OWN_LIST_ONLY and has_own_list:
        return Mood.LEAVE
    return HaltReason.INELIGIBLE_FAILURE


def fallback_list(lists: FallbackLists, cls: str | None) -> tuple[str, ...]:
    """The routes to go on with after this class; an absent rate-limit list means ``general``."""
    if cls == FailureClass.CONTEXT_WINDOW:
        return lists.context_window or ()
    if cls == FailureClass.CONTENT_POLICY:
        return lists.content_policy or ()
    if cls in PREVIEWED and lists.rate_limit is not None:
        return lists.rate_limit
    return lists.general or ()


def class_of_refusal(refusal: Refusal) -> str | None:
    """A turn without any attempt goes by what keeps its route's candidates back."""
    limited = refusal.kind in (MODEL_COOLDOWN, RATE_LIMIT_EXCEEDED)
    return FailureClass.RATE_LIMITED.value if limited else None
