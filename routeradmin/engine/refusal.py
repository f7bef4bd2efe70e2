"""Nothing eligible: which answer, and when it is worth asking again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from routeradmin.engine.eligibility import ADMINISTRATIVE, STATIC, all_rejections
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateKey, CandidateState, FailureClass, StateView
from routeradmin.engine.windows import ends, window

UNSUPPORTED = "unsupported"
NO_AVAILABLE_DEPLOYMENT = "no_available_deployment"
MODEL_COOLDOWN = "model_cooldown"
RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"

SLOT_RETRY_S = 1.0  # nobody knows when a parallel slot frees up
_STATIC = frozenset(STATIC)
_FINAL = frozenset((*ADMINISTRATIVE, "unhealthy"))
_LIMITS = frozenset(("parallel-limit", "rpm-limit", "tpm-limit"))
_FREED = _LIMITS - {"rpm-limit"}
_RATE_CLASSES = frozenset((FailureClass.RATE_LIMITED, FailureClass.QUOTA))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody was chosen. ``reasons``: sorted, unique; ``candidates``: each with its own.

    ``retry_after_s`` is whole seconds, at least 1, as is ``reset_s``; ``recovers_at`` the exact
    moment in epoch seconds. ``should_retry`` False: asking again cannot help.
    """

    kind: str
    status: int
    reasons: tuple[str, ...]
    model: str
    candidates: tuple[tuple[CandidateKey, tuple[str, ...]], ...]
    retry_after_s: int | None = None
    reset_s: int | None = None
    recovers_at: float | None = None
    should_retry: bool = True
    provider: str | None = None
    full: tuple[CandidateKey, ...] = ()  # whom only what is given back before the minute ends frees

    @property
    def message(self) -> str:
        """One line for the caller: what is the matter and what to do."""
        why = ", ".join(self.reasons) or "the route has no candidates"
        if self.kind == UNSUPPORTED:
            way = "change the request, or add a deployment that can"
            return f"No target of {self.model!r} can serve this request ({why}): {way}."
        if self.retry_after_s is None:
            return f"No deployment of {self.model!r} is in service ({why}): ask the operator."
        wait = f"try again in {self.retry_after_s} s"
        if self.kind == MODEL_COOLDOWN:
            return f"Every deployment of {self.model!r} is cooling down ({why}): {wait}."
        if self.kind == RATE_LIMIT_EXCEEDED:
            return f"Every deployment of {self.model!r} is at its limit ({why}): {wait}."
        return f"No deployment of {self.model!r} is available now ({why}): {wait}."


class _Case(NamedTuple):
    candidate: Candidate
    state: CandidateState
    reasons: tuple[str, ...]


def refuse(resolved: Resolved, request: SelectRequest, view: StateView, now: float) -> Refusal:
    """Decide in the order of the rules: unsupported, out of service, cooling, at limits, else."""
    found = all_rejections(resolved.route, request, view, now)
    cases = [_Case(candidate, view.of(candidate), reasons) for candidate, reasons in found]
    able = [case for case in cases if _STATIC.isdisjoint(case.reasons)]
    if cases and not able:
        return _answer(resolved, cases, (), UNSUPPORTED, 400, now)
    left = [c for c in able if _FINAL.isdisjoint(c.reasons) and not c.candidate.shut]
    if not left:
        return _answer(resolved, cases, (), NO_AVAILABLE_DEPLOYMENT, 503, now)
    if all(_rate_cooled(case) for case in left):
        return _answer(resolved, cases, left, MODEL_COOLDOWN, 429, now)
    if all(_rate_cooled(case) or _at_limit(case) for case in left):
        return _answer(resolved, cases, left, RATE_LIMIT_EXCEEDED, 429, now)
    return _answer(resolved, cases, left, NO_AVAILABLE_DEPLOYMENT, 503, now)


def _answer(
    resolved: Resolved,
    cases: Sequence[_Case],
    left: Sequence[_Case],
    kind: str,
    status: int,
    now: float,
) -> Refusal:
    at = min((recovers_at(c.state, c.reasons, now) for c in left), default=None)
    wait_s = None if at is None else whole_seconds(at - now)
    providers = {case.candidate.deployment.provider.id for case in left or cases}
    return Refusal(
        kind=kind,
        status=status,
        reasons=tuple(sorted({reason for case in cases for reason in case.reasons})),
        model=resolved.requested,
        candidates=tuple((case.candidate.key, case.reasons) for case in cases),
        retry_after_s=wait_s,
        reset_s=wait_s,
        recovers_at=at,
        should_retry=at is not None,
        provider=providers.pop() if len(providers) == 1 else None,
        full=tuple(c.candidate.key for c in left if _FREED.issuperset(c.reasons)),
    )


def _rate_cooled(case: _Case) -> bool:
    cooldown = case.state.cooldown
    return "cooling-down" in case.reasons and cooldown is not None and cooldown.cls in _RATE_CLASSES


def _at_limit(case: _Case) -> bool:
    """At limits and nothing worse; a candidate that only lost a race has no reason at all."""
    return _LIMITS.issuperset(case.reasons)


def recovers_at(state: CandidateState, reasons: Sequence[str], now: float) -> float:
    """When all the given runtime reasons are over, in epoch seconds."""
    at = now
    if "cooling-down" in reasons:
        at = state.cooldown_until
    if "rpm-limit" in reasons or "tpm-limit" in reasons:
        at = max(at, ends(window(now)))
    if "parallel-limit" in reasons or not reasons:
        at = max(at, now + SLOT_RETRY_S)
    return at


def whole_seconds(seconds: float) -> int:
    """Rounded up, at least 1; a microsecond of float noise does not add a second."""
    return max(1, math.ceil(seconds - 1e-6))
