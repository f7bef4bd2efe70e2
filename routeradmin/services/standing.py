"""How the worker's jobs stand: what the console shows of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class JobStanding:
    """Times are epoch seconds; ``last_error`` stays until the next success."""

    name: str
    started_at: float | None = None
    succeeded_at: float | None = None
    failed_at: float | None = None
    last_error: str = ""
    failures: int = 0
    failures_in_a_row: int = 0

    def succeeded(self, now: float) -> None:
        self.succeeded_at = now
        self.failures_in_a_row = 0
        self.last_error = ""

    def failed(self, now: float, error: str) -> None:
        self.failed_at = now
        self.failures += 1
        self.failures_in_a_row += 1
        self.last_error = error[:500]
