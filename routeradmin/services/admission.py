"""The limits of API keys in words: why an attempt is not admitted, and what is left.

The state store counts, and decides with every grant: see ``engine.key_use``.
"""

from __future__ import annotations

from dataclasses import dataclass

from routeradmin.engine.key_use import DAY_S, refused_by
from routeradmin.engine.windows import ends, window
from routeradmin.services.keys import Key
from routeradmin.services.runtime import Runtime

SLOT_RETRY_S = 1.0  # nobody knows when a running attempt ends

_WORDS = {
    "max_parallel_requests": "at once",
    "rpm_limit": "requests a minute",
    "tpm_limit": "tokens a minute",
    "tokens_per_day": "tokens a day",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which limit admits nothing more, and when to come back."""

    limit: str
    message: str
    retry_after_s: float


def refusal(key: Key, limit: str, now: float) -> Refusal:
    """``limit`` is the field of the key's allowance that refused."""
    retry_after_s = SLOT_RETRY_S
    if limit == "tokens_per_day":
        retry_after_s = (int(now // DAY_S) + 1) * DAY_S - now
    elif limit != "max_parallel_requests":
        retry_after_s = ends(window(now)) - now
    value = getattr(key.allowance, limit)
    message = f"This API key has reached its limit of {value} {_WORDS[limit]} ({limit})."
    return Refusal(limit, message, retry_after_s)


def seems_full(runtime: Runtime, key: Key, estimate: int, now: float) -> bool:
    """Whether an attempt of so many tokens would be refused, as far as is known here. Only a
    grant knows for certain."""
    if key.allowance is None:
        return False
    use = runtime.store.key_use(key.uid, now)
    return refused_by(key.allowance, use, estimate) is not None


def headers(runtime: Runtime, key: Key, now: float) -> list[tuple[bytes, bytes]]:
    """``x-ratelimit-*`` of the minute's limits that the key has."""
    if key.rpm_limit is None and key.tpm_limit is None:
        return []
    use = runtime.store.key_use(key.uid, now)
    reset = b"%ds" % max(1, -int(-(ends(window(now)) - now) // 1))
    pairs: list[tuple[bytes, bytes]] = []
    for word, limit, used in (
        (b"requests", key.rpm_limit, use.requests),
        (b"tokens", key.tpm_limit, use.tokens),
    ):
        if limit is not None:
            pairs.append((b"x-ratelimit-limit-" + word, b"%d" % limit))
            pairs.append((b"x-ratelimit-remaining-" + word, b"%d" % max(0, limit - used)))
            pairs.append((b"x-ratelimit-reset-" + word, reset))
    return pairs
