"""Trying a text: what ``auto`` would make of it, with nothing reserved and nothing recorded."""

from __future__ import annotations

from typing import Any

from routeradmin.services.intent.words import of_text
from routeradmin.services.runtime import Runtime


async def try_out(runtime: Runtime, text: str, *, has_image: bool = False) -> dict[str, Any]:
    """The decision as explanations show it; also while intents are switched off.

    It goes through the cache and may ask the classifier, as a request would.
    """
    snapshot = runtime.current.snapshot
    words = of_text(text, has_image=has_image)
    decision = await runtime.intents.decide(runtime, snapshot, words, runtime.clock())
    return {**decision.as_json(), "enabled": snapshot.matrix.is_on}
