"""THE rule table: may this candidate be used, and if not, why (every reason, in fixed order).

Three groups: what the candidate declares (static), what people want (administrative), and what
is going on (runtime). The hot path takes the first two from a table compiled per tier and asks
``usable`` for the third; both are this table, stopped at the first reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from routeradmin.engine.condition import admin_state_at, unhealthy
from routeradmin.engine.objects import AdminState, Capabilities, Rule
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import CandidateState, Health, StateView
from routeradmin.engine.windows import window

if TYPE_CHECKING:
    from routeradmin.engine.snapshot import Candidate, Route

STATIC = (
    "tools",
    "tool-choice",
    "temperature",
    "top-p",
    "reasoning-effort",
    "output-limit",
    "input-tokens-unknown",
    "context-window",
    "opaque-state",
    "protocol",
    "vision",
    "audio",
    "embeddings",
    "json_schema",
    "fallback-disabled",
)
ADMINISTRATIVE = ("rule", "excluded", "disabled", "draining", "no-secret")

# Called API -> protocols that a request to it can be translated to.
TRANSLATIONS = {
    "chat-completions": frozenset({"messages"}),
    "messages": frozenset({"chat-completions"}),
}
LOCAL_TAG = "local"
_UNHEALTHY = Health.UNHEALTHY


def rejections(
    candidate: Candidate, route: Route, request: SelectRequest, view: StateView, now: float
) -> tuple[str, ...]:
    """Every reason against the candidate, in order; empty means it may be used."""
    allowed = permitted(route, request, now)
    return (
        *static(candidate, request),
        *(("fallback-disabled",) if candidate.tier and not falls_back(route, request) else ()),
        *administrative(candidate, request, now, allowed),
        *runtime(candidate, view.of(candidate), request.estimate, now),
    )


def falls_back(route: Route, request: SelectRequest) -> bool:
    """Whether the route's later tiers are open to this request."""
    preferences = request.preferences
    return route.fallback_enabled and (preferences is None or not preferences.first_tier_only)


def all_rejections(
    route: Route, request: SelectRequest, view: StateView, now: float
) -> list[tuple[Candidate, tuple[str, ...]]]:
    """``rejections`` of every candidate in tier order, with what they share looked up once."""
    allowed = permitted(route, request, now)
    wishes = request.preferences
    picky = allowed is not None or request.local_only or bool(request.exclude or wishes)
    open_tiers = falls_back(route, request)
    tokens, current = request.estimate, window(now)
    found = []
    for tier in route.tiers:
        off = ("fallback-disabled",) if tier.index and not open_tiers else ()
        for candidate, reasons in zip(tier.candidates, tier.table(request).static, strict=True):
            reasons += off
            if picky or candidate.secret_missing or not candidate.enabled:
                reasons += tuple(administrative(candidate, request, now, allowed))
            state = view.of(candidate)
            if not usable(candidate, state, tokens, now, current):
                reasons += runtime(candidate, state, tokens, now)
            found.append((candidate, reasons))
    return found


def static(candidate: Candidate, request: SelectRequest) -> Iterator[str]:
    """What the deployment declares against what the request needs; undeclared is not checked."""
    can = candidate.deployment.capabilities
    yield from _sampling(can, request)
    yield from _tokens(can, request)
    if any(revision != candidate.binding_revision for revision in request.opaque):
        yield "opaque-state"
    if request.api is not None and not speaks(candidate, request.api, request.translatable):
        yield "protocol"
    for word in ("vision", "audio", "embeddings", "json_schema"):
        if word in request.requires and getattr(can, word) is False:
            yield word


def _sampling(can: Capabilities, request: SelectRequest) -> Iterator[str]:
    if "tools" in request.requires and can.tools is False:
        yield "tools"
    if request.names_tool and can.tool_choice is False:
        yield "tool-choice"
    if request.temperature is not None and can.temperature is False:
        yield "temperature"
    if request.top_p is not None and can.top_p is False:
        yield "top-p"
    effort, efforts = request.reasoning_effort, can.reasoning_efforts
    if effort is not None and efforts is not None and effort not in efforts:
        yield "reasoning-effort"


def _tokens(can: Capabilities, request: SelectRequest) -> Iterator[str]:
    output, cap = request.max_output_tokens, can.max_output_tokens
    if output is not None and cap is not None and output > cap:
        yield "output-limit"
    if can.context_window is None:
        return
    if request.input_tokens is None:
        yield "input-tokens-unknown"
    elif request.input_tokens + ((cap or 0) if output is None else output) > can.context_window:
        yield "context-window"


def speaks(candidate: Candidate, api: str, translatable: bool) -> bool:
    """Whether the deployment speaks the called API, or a protocol it can be translated to."""
    deployment = candidate.deployment
    spoken = deployment.protocols or (deployment.protocol,)
    if api in spoken or api == deployment.protocol:
        return True
    return translatable and not TRANSLATIONS.get(api, frozenset()).isdisjoint(spoken)


def administrative(
    candidate: Candidate, request: SelectRequest, now: float, allowed: frozenset[str] | None
) -> Iterator[str]:
    """What people decided; ``allowed`` are the deployment ids that the route's rules leave."""
    if against_rules(candidate, request, allowed):
        yield "rule"
    if excluded(candidate, request):
        yield "excluded"
    wanted = admin_state(candidate, now)
    if wanted is not AdminState.ENABLED:
        yield wanted.value
    if request.needs_secret and candidate.secret_missing:
        yield "no-secret"


def excluded(candidate: Candidate, request: SelectRequest) -> bool:
    """Whether the caller does not want it: named in ``exclude``, or against its preferences."""
    names, wishes = request.exclude, request.preferences
    if names and (candidate.deployment.id in names or str(candidate.key) in names):
        return True
    return wishes is not None and wishes.forbids(candidate)


def against_rules(
    candidate: Candidate, request: SelectRequest, allowed: frozenset[str] | None
) -> bool:
    """Whether a route rule, or an intent that may only reach local deployments, forbids it."""
    deployment = candidate.deployment
    if allowed is not None and deployment.id not in allowed:
        return True
    return request.local_only and LOCAL_TAG not in deployment.tags


def admin_state(candidate: Candidate, now: float) -> AdminState:
    """The stricter of what people want of the candidate and of its route."""
    wishes = {admin_state_at(candidate, now)}
    if candidate.assumed_admin is None:
        wishes.add(candidate.route_admin_state)
    strict_first = (AdminState.DISABLED, AdminState.DRAINING)
    return next((wish for wish in strict_first if wish in wishes), AdminState.ENABLED)


def runtime(
    candidate: Candidate, state: CandidateState, tokens: int, now: float
) -> tuple[str, ...]:
    """What is going on now; ``tokens`` is the estimate that a grant would hold."""
    fresh = state.window != window(now)
    rpm, tpm = (0, 0) if fresh else (state.rpm_used, state.tpm_used)
    slots, requests, limit = candidate.max_parallel, candidate.rpm_limit, candidate.tpm_limit
    reasons = []
    if state.cooldown_until > now:
        reasons.append("cooling-down")
    if unhealthy(state, now):
        reasons.append("unhealthy")
    if slots is not None and state.active >= slots:
        reasons.append("parallel-limit")
    if requests is not None and rpm >= requests:
        reasons.append("rpm-limit")
    if limit is not None and (tpm >= limit or (tpm > 0 and tpm + tokens > limit)):
        reasons.append("tpm-limit")
    return tuple(reasons)


def usable(
    candidate: Candidate,
    state: CandidateState,
    tokens: int,
    now: float,
    current: int,
    forgiven: bool = False,
) -> bool:
    """``runtime`` stopped at its first reason; ``current`` is the window of ``now``.

    ``forgiven``: a cooldown or an unhealthy verdict does not count.
    """
    if not forgiven and (
        state.cooldown_until > now or state.health is _UNHEALTHY or state.probe_unhealthy
    ):
        return False
    limit = candidate.max_parallel
    if limit is not None and state.active >= limit:
        return False
    if state.window != current:
        return not candidate.shut
    limit = candidate.rpm_limit
    if limit is not None and state.rpm_used >= limit:
        return False
    limit = candidate.tpm_limit
    if limit is None:
        return True
    tpm = state.tpm_used
    return tpm < limit and (tpm <= 0 or tpm + tokens <= limit)


def permitted(route: Route, request: SelectRequest, now: float) -> frozenset[str] | None:
    """The deployment ids that the first of the route's rules that holds leaves; None: all."""
    rule = ruling(route, request, now)
    return None if rule is None else frozenset(rule.only)


def ruling(route: Route, request: SelectRequest, now: float) -> Rule | None:
    """The first of the route's rules that holds."""
    return next((rule for rule in route.rules if holds(rule, request, now)), None)


def holds(rule: Rule, request: SelectRequest, now: float) -> bool:
    """Whether every condition the rule states is met; a list of keys or hours needs one of them."""
    tokens = request.input_tokens
    return not (
        (rule.tags and not request.tags.issuperset(rule.tags))
        or (rule.keys and request.key_id not in rule.keys)
        or not set(rule.headers) <= set(request.headers)
        or (rule.hours and not any(_within(span, now) for span in rule.hours))
        or (rule.min_input_tokens is not None and (tokens or 0) < rule.min_input_tokens)
        or (
            rule.max_input_tokens is not None and (tokens is None or tokens > rule.max_input_tokens)
        )
        or (rule.tools is not None and ("tools" in request.requires) is not rule.tools)
    )


def _within(span: str, now: float) -> bool:
    """``HH:MM-HH:MM`` in UTC, the end excluded; a span may pass midnight."""
    start, _, end = span.partition("-")
    minute = int(now % 86400) // 60
    first, last = _minutes(start), _minutes(end)
    return first <= minute < last if first <= last else minute >= first or minute < last


def _minutes(text: str) -> int:
    hours, _, minutes = text.strip().partition(":")
    return int(hours) * 60 + int(minutes or 0)
