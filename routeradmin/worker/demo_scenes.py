"""What goes wrong in the demo, and when: a cycle of scenes, each a few scripts for a few seconds.

Within the first minute: a rate limit with a hint, an outage that opens a cooldown and heals, a
route whose whole first tier rests, a policy's fallback route, a rate limit without a hint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from routeradmin.adapters.simulated import SimulatedProvider
from routeradmin.services.runtime import Runtime

CYCLE_S = 75.0

Script = dict[str, Any]


# Least and most milliseconds to the first word, and those between two words, when all is well.
PACES = {
    "wave-large-2": (250, 700, 30),
    "wave-mini-2": (60, 180, 10),
    "sonata-4": (350, 900, 35),
    "etude-4": (120, 300, 15),
    "llama-8b": (400, 900, 40),
    "qwen-14b": (600, 1200, 50),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """``step`` is what calls meet from ``from_s`` to ``to_s`` of the cycle. ``account`` narrows
    it to the calls with that account's secret."""

    from_s: float
    to_s: float
    model: str
    step: Mapping[str, Any]
    account: str | None = None


def _limited(words: str, retry_after_s: int | None = None) -> Script:
    headers = {} if retry_after_s is None else {"retry-after": str(retry_after_s)}
    return {"status": 429, "headers": headers, "error": {"message": words}, "delay_ms": 60}


OVERLOADED = {"status": 503, "delay_ms": 250, "error": {"message": "Overloaded, try again later"}}
OUT_OF_MEMORY = {"status": 500, "error": {"message": "CUDA out of memory"}}

SCENES = (
    # Both keys and the other model of the route's first tier rest at once, then its second tier.
    Scene(3, 13, "wave-large-2", _limited("Team A is over its minute quota", 28), "openwave-a"),
    Scene(8, 28, "sonata-4", OVERLOADED),
    Scene(14, 24, "wave-large-2", _limited("Team B is over its minute quota", 16), "openwave-b"),
    Scene(20, 30, "qwen-14b", OUT_OF_MEMORY),
    Scene(38, 43, "etude-4", _limited("Too many requests")),
    Scene(48, 58, "wave-mini-2", {"reset": True}),
)


class Director:
    """Puts the scripts of the scenes in force as their time comes."""

    def __init__(self, provider: SimulatedProvider, started_at: float) -> None:
        self._provider = provider
        self._started_at = started_at
        self._playing: tuple[Scene, ...] | None = None
        self._changes = 0

    async def tick(self, runtime: Runtime) -> None:
        at_s = (runtime.clock() - self._started_at) % CYCLE_S
        playing = tuple(scene for scene in SCENES if scene.from_s <= at_s < scene.to_s)
        if playing == self._playing:
            return
        self._playing = playing
        self._changes += 1
        self._provider.clear_scripts()
        for model in PACES:
            self._provider.put_script(pace_of(model, seed=self._changes))
        for scene in playing:
            self._provider.put_script(script_of(scene, runtime))


def pace_of(model: str, seed: int) -> Script:
    least_ms, most_ms, word_ms = PACES[model]
    return {
        "model": model,
        "steps": [{"chunk_delay_ms": word_ms}],
        "rates": {"latency_ms": [least_ms, most_ms], "seed": seed},
    }


def script_of(scene: Scene, runtime: Runtime) -> Script:
    """The scene's fault as the simulated provider takes it, for the secret used right now."""
    script: Script = {"model": scene.model, "steps": [dict(scene.step)]}
    if scene.account is not None:
        secret = runtime.secrets.by_id(scene.account)
        script["credential"] = secret.reveal() if secret is not None else None
    return script
