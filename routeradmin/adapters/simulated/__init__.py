"""A provider made of words alone: speaks OpenAI and Anthropic, and fails the way it is told to."""

from __future__ import annotations

from routeradmin.adapters.simulated.calls import fingerprint
from routeradmin.adapters.simulated.provider import SimulatedProvider
from routeradmin.adapters.simulated.script import Rates, Script, Step
from routeradmin.adapters.simulated.serving import running, running_in_thread

__all__ = [
    "Rates",
    "Script",
    "SimulatedProvider",
    "Step",
    "fingerprint",
    "running",
    "running_in_thread",
]
