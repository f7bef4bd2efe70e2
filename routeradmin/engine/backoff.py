"""How long a cooldown or a turn's wait lasts; every length in seconds, none can overflow."""

from __future__ import annotations

import math
from random import Random

from routeradmin.engine.policy import CooldownPolicy, RetryPolicy


def doubled_s(base_s: float, doublings: int) -> float:
    """``base_s`` x 2^``doublings``; infinity where a float cannot hold it."""
    try:
        return math.ldexp(base_s, max(doublings, 0))
    except OverflowError:
        return math.inf


def step(base_s: float, cap_s: float, level: int) -> tuple[float, int]:
    """Length at this level and the level after it, which stays once the cap is reached."""
    length_s = doubled_s(base_s, level)
    if length_s >= cap_s:
        return cap_s, level
    return length_s, level + 1


def capped_hint_s(hint_s: float | None, policy: CooldownPolicy) -> float | None:
    """The upstream's own wait as this policy honours it; None where there is none to honour."""
    if hint_s is None or not hint_s > 0:
        return None
    return min(hint_s, policy.rate_limited_cap_s)


def rate_limited(policy: CooldownPolicy, level: int, hint_s: float | None) -> tuple[float, int]:
    """Length and level after a 429: a hint counts exactly and leaves the level alone."""
    hint_s = capped_hint_s(hint_s, policy)
    if hint_s is not None:
        return hint_s, level
    return step(policy.rate_limited_base_s, policy.rate_limited_cap_s, level)


def transient(policy: CooldownPolicy, level: int, hint_s: float | None) -> tuple[float, int]:
    """Length and level after the failure that set a transient cooldown; a hint only lengthens."""
    length_s, level = step(policy.transient_base_s, policy.transient_cap_s, level)
    return max(length_s, capped_hint_s(hint_s, policy) or 0.0), level


def round_wait_s(retry: RetryPolicy, round_number: int, hint_s: float | None, rng: Random) -> float:
    """The wait after round ``round_number`` (1 is the first), never below an honoured hint.

    Jitter makes that share of the local wait random and leaves the hint alone, so no answer is
    asked for sooner than the upstream said. ``rng`` is used only when there is jitter.
    """
    local_s = doubled_s(retry.backoff_base_ms / 1000, min(round_number, retry.max_doublings))
    if retry.jitter > 0:
        local_s *= 1 - min(retry.jitter, 1.0) * rng.random()
    if hint_s is None or not hint_s > 0:
        return local_s
    return max(local_s, min(hint_s, retry.max_server_delay_s))
