"""What one process counts of its own work. No database, no locks, no text: see ``exposition``.

Everything here is kept by the id of something in the catalog or by a word of a closed list, so
that it stays as small as the catalog; ``forget`` drops what left it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from routeradmin.engine.state import Change, Outcome
from routeradmin.services.metering.histogram import Histogram

SELECT, INFERENCE = "select", "inference"
SUCCESS = "success"
REFUSED = "refused"  # in place of a halt: nothing could serve the request

OVERHEAD_S = (
    *(0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.25, 1.0),
)
QUEUE_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0)
FIRST_TOKEN_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)
PUSH_LAG_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0)
# The bounds that OpenTelemetry's conventions for generative AI ask for.
DURATION_S = tuple(0.01 * 2**n for n in range(14))
TOKENS = tuple(4**n for n in range(14))


class Call(NamedTuple):
    """What the figures of calls made here are told apart by: an operation, a provider's id."""

    operation: str
    provider: str


class Served:
    """The figures of one deployment. ``attempts`` by failure class or ``success``."""

    __slots__ = ("attempts", "cooldowns", "first_token", "input_tokens", "output_tokens")

    def __init__(self) -> None:
        self.attempts: dict[str, int] = {}
        self.cooldowns: dict[str, int] = {}
        self.first_token = Histogram(FIRST_TOKEN_S)
        self.input_tokens = 0
        self.output_tokens = 0


class UnderWay:
    """``with`` it, a request counts as in flight; one serves all of them."""

    __slots__ = ("_meters",)

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def __enter__(self) -> None:
        self._meters.in_flight += 1

    def __exit__(self, *problem: object) -> None:
        self._meters.in_flight -= 1


class Meters:
    """Counters and histograms. Times in seconds, whatever the caller measured in."""

    def __init__(self) -> None:
        self.overhead = {SELECT: Histogram(OVERHEAD_S), INFERENCE: Histogram(OVERHEAD_S)}
        self.queue = Histogram(QUEUE_S)
        self.push_lag = Histogram(PUSH_LAG_S)
        self.turns: dict[str, int] = {}
        self.in_flight = 0
        self._under_way = UnderWay(self)
        self.served: defaultdict[str, Served] = defaultdict(Served)
        # By the class of the failure too, which is empty for a success.
        self.durations: defaultdict[tuple[Call, str], Histogram] = defaultdict(
            lambda: Histogram(DURATION_S)
        )
        self.tokens: defaultdict[tuple[Call, str], Histogram] = defaultdict(
            lambda: Histogram(TOKENS)
        )

    def under_way(self) -> UnderWay:
        """A request is being carried out."""
        return self._under_way

    def heard(self, changes: Sequence[Change]) -> None:
        """A state store's listener: only cooldowns that begin are counted."""
        for change in changes:
            if change.kind == "cooldown-set":
                _count(self.served[change.key.deployment].cooldowns, change.cls or "unknown")

    def attempt(self, deployment: str, outcome: Outcome) -> None:
        """One attempt is over, whoever made the call."""
        served = self.served[deployment]
        _count(served.attempts, SUCCESS if outcome.failure is None else outcome.failure.value)
        served.input_tokens += outcome.input_tokens or 0
        served.output_tokens += outcome.output_tokens or 0
        if outcome.ttft_ms is not None:
            served.first_token.observe(outcome.ttft_ms / 1000)

    def called(self, call: Call, outcome: Outcome) -> None:
        """A call made here has ended; what nobody reported is not counted as 0."""
        if outcome.latency_ms is not None:
            error = "" if outcome.failure is None else outcome.failure.value
            self.durations[call, error].observe(outcome.latency_ms / 1000)
        for kind, tokens in (("input", outcome.input_tokens), ("output", outcome.output_tokens)):
            if tokens is not None:
                self.tokens[call, kind].observe(tokens)

    def turn(self, halt: str) -> None:
        """A turn is over."""
        _count(self.turns, halt or REFUSED)

    def forget(self, deployments: Collection[str], providers: Collection[str]) -> None:
        """Keep the figures of these only."""
        for id in [id for id in list(self.served) if id not in deployments]:
            del self.served[id]
        for key in [key for key in list(self.durations) if key[0].provider not in providers]:
            del self.durations[key]
        for name in [name for name in list(self.tokens) if name[0].provider not in providers]:
            del self.tokens[name]


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
