"""Scripts in force: which one a call meets, and which step of it comes next."""

from __future__ import annotations

from fnmatch import fnmatchcase
from random import Random
from typing import Any

from routeradmin.adapters.simulated.calls import fingerprint
from routeradmin.adapters.simulated.script import Rates, Script, Step

WINDOW_S = 60


class Playing:
    """One script with its place in the steps and its counts."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.steps = [step for step in script.steps for _ in range(step.times)]
        self.taken = 0
        self.rates = PlayingRates(script.rates) if script.rates else None

    def fits(self, kind: str, model: str, secret: str, prefix: str) -> bool:
        """Without a kind a script is for every call but those for the model list."""
        wanted = self.script
        if wanted.kind is None and kind == "models":
            return False
        if wanted.kind not in (None, "*", kind):
            return False
        if wanted.prefix is not None and wanted.prefix.strip("/") != prefix:
            return False
        if wanted.credential is not None:
            mark = fingerprint(secret)
            if mark != wanted.credential and not secret.endswith(wanted.credential):
                return False
        return wanted.model in ("*", model) or fnmatchcase(model, wanted.model)

    def next(self) -> Step | None:
        """The step of this call; None where the script leaves it a normal answer."""
        n, self.taken = self.taken, self.taken + 1
        if n < len(self.steps):
            return self.steps[n]
        if not self.steps or self.script.repeat == "once":
            return None
        return self.steps[-1 if self.script.repeat == "last" else n % len(self.steps)]

    @property
    def rank(self) -> tuple[int, bool, bool, bool]:
        """The script that says most about a call comes first: model, credential, prefix, kind."""
        model = self.script.model
        vague = 2 if model == "*" else int("*" in model)
        wanted = self.script
        kindless = wanted.kind in (None, "*")
        return vague, wanted.credential is None, wanted.prefix is None, kindless


class PlayingRates:
    """Faults by share and by minute, with the counts they need."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self.calls = 0
        self.rng = Random(rates.seed)
        self.window = -1
        self.in_window: dict[tuple[str, str], int] = {}

    def fault(self, pair: tuple[str, str], now_s: float) -> Step | None:
        """The fault this call meets; the minute's quota is counted per model and credential."""
        rates = self.rates
        self.calls += 1
        unlucky = self.rng.random() < rates.fail_rate
        if rates.rpm is not None and self._count(pair, now_s) > rates.rpm:
            return self._limited(WINDOW_S - int(now_s) % WINDOW_S)
        if rates.rate_limit_every and self.calls % rates.rate_limit_every == 0:
            return self._limited(1)
        return Step(status=rates.fail_status) if unlucky else None

    def latency_s(self) -> float:
        return self.rng.uniform(*self.rates.latency_ms) / 1000 if self.rates.latency_ms else 0.0

    def _count(self, pair: tuple[str, str], now_s: float) -> int:
        window = int(now_s // WINDOW_S)
        if window != self.window:
            self.window, self.in_window = window, {}
        self.in_window[pair] = used = self.in_window.get(pair, 0) + 1
        return used

    def _limited(self, default_s: int) -> Step:
        wait_s = default_s if self.rates.retry_after_s is None else self.rates.retry_after_s
        return Step(status=429, headers={"retry-after": str(wait_s)})


class Scripts:
    """All scripts in force, the most specific first."""

    def __init__(self) -> None:
        self._playing: list[Playing] = []

    def put(self, script: Script) -> None:
        """Start a script from its first step; one for exactly the same calls is replaced."""
        kept = [other for other in self._playing if other.script.match != script.match]
        self._playing = sorted([*kept, Playing(script)], key=lambda playing: playing.rank)

    def clear(self) -> None:
        self._playing = []

    def find(self, kind: str, model: str, secret: str, prefix: str = "") -> Playing | None:
        """The most specific script that fits the call; ``prefix`` is what stood before ``/v1``."""
        for playing in self._playing:
            if playing.fits(kind, model, secret, prefix):
                return playing
        return None

    def as_json(self) -> list[dict[str, Any]]:
        """The scripts as they were put, each with the number of calls it has answered."""
        return [
            {**playing.script.model_dump(mode="json", exclude_unset=True), "taken": playing.taken}
            for playing in self._playing
        ]
