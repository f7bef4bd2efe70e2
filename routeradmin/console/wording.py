"""What a policy's numbers do, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FALLBACK_TITLES = (
    ("general", "Any other failure"),
    ("context_window", "Context window exceeded"),
    ("content_policy", "Content policy"),
    ("rate_limit", "Rate limit or quota"),
)


ONES = {
    "accounts": "credential",
    "serving_models": "deployment",
    "policies": "policy",
    "aliases": "alias",
    "defaults": "defaults",
}


def one_of(kind: str) -> str:
    """What one entry of the document's list is called."""
    return ONES.get(kind, kind.removesuffix("s"))


def seconds(value: float) -> str:
    """1800 as 30 min, 0.5 as 0.5 s."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if value >= size and value % size == 0:
            return f"{value / size:g} {unit}"
    return f"{value:g} s"


def waits_s(retry: Any) -> list[float]:
    """The wait after each round but the last, in seconds, without an upstream's hint."""
    return [
        retry.backoff_base_ms * 2 ** min(n, retry.max_doublings) / 1000
        for n in range(1, retry.max_attempts)
    ]


def _doubling(base: float, cap: float) -> str:
    steps: list[str] = []
    value = base
    while len(steps) < 4 and value < cap:
        steps.append(seconds(value))
        value *= 2
    if value >= cap:
        return ", ".join([*steps, seconds(cap)]) + " from then on"
    return ", ".join(steps) + f", doubling up to {seconds(cap)}"


def retry_words(retry: Any) -> str:
    if retry.max_attempts == 1:
        return "Tries each tier once and moves on without waiting."
    waits = ", ".join(f"{wait:g}" for wait in waits_s(retry))
    text = f"Tries a tier {retry.max_attempts} times: waits {waits} s in between, then moves on."
    text += f" Waits longer when the provider asks, up to {seconds(retry.max_server_delay_s)}."
    return text + (f" {retry.jitter:.0%} of each wait is random." if retry.jitter else "")


def turn_words(turn: Any) -> str:
    text = f"At most {turn.max_turn_attempts} attempts on {turn.max_targets} targets"
    text += f" and {turn.max_fallback_routes} fallback routes"
    text += f", within {seconds(turn.deadline_s)}." if turn.deadline_s else "."
    if turn.rotate:
        text += " A tier's other candidates are tried before any wait."
    else:
        text += " The same candidate is tried again after each wait."
    if not turn.replay_unanswered:
        text += " A request that got no answer is not repeated."
    if turn.move_on_unauthorized:
        text += " After a rejected key the next candidate is tried."
    return text


def cooldown_words(rules: Any) -> list[str]:
    if not rules.enabled:
        return ["No failure cools a deployment."]
    rate = _doubling(rules.rate_limited_base_s, rules.rate_limited_cap_s)
    transient = _doubling(rules.transient_base_s, rules.transient_cap_s)
    return [
        f"Rate limit: as long as the provider says, else {rate}.",
        f"Out of quota {seconds(rules.quota_s)}, rejected key {seconds(rules.unauthorized_s)}, "
        f"not found {seconds(rules.not_found_s)}.",
        f"Errors and timeouts: after {rules.allowed_fails} in a row, or more than half of at least "
        f"{rules.min_requests} in a minute: {transient}.",
        f"Healthy again after {rules.success_threshold} successes in a row.",
    ]


def fallback_words(fallback: Any, alias_of: Callable[[str], str]) -> list[str]:
    lists = [(title, getattr(fallback, name)) for name, title in FALLBACK_TITLES]
    given = [f"{title}: {', '.join(map(alias_of, routes))}." for title, routes in lists if routes]
    return given or ["No fallback routes."]


def affinity_words(ttl_s: float) -> str:
    if ttl_s <= 0:
        return "Sessions are not kept together: every request is chosen for anew."
    return (
        f"A session stays with the candidate that served it last, for {seconds(ttl_s)}; "
        "while that may not be used, it is served elsewhere."
    )
