"""Every metric family, made from the meters and the state store at the moment of asking.

The parts come as text; between two of them the event loop may serve requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from routeradmin.engine.health import HARMLESS, NOT_THE_DEPLOYMENTS
from routeradmin.engine.state import MANUAL, FailureClass
from routeradmin.engine.turn_state import HaltReason
from routeradmin.services.metering.histogram import Histogram
from routeradmin.services.metering.meters import REFUSED, Meters, Served
from routeradmin.services.metering.standing import STATES, Standing, standings
from routeradmin.services.metering.text import buckets, head, label, single

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

DEPENDENCIES = ("database", "store")
# Counters that are watched for their first step start at 0: no rate shows how a series began.
HALTS: Mapping[str, int] = dict.fromkeys([one.value for one in HaltReason] + [REFUSED], 0)
CAUSES: Mapping[str, int] = dict.fromkeys(
    [one.value for one in FailureClass if one not in HARMLESS | NOT_THE_DEPLOYMENTS] + [MANUAL], 0
)


def shared(runtime: Runtime) -> Iterator[str]:
    """What all processes that share state would say alike, in pieces of a few lines."""
    standing: dict[str, Standing] = {}
    snapshot = runtime.current.snapshot
    for id, found in standings(snapshot, runtime.store.states(), runtime.clock()):
        standing[label("deployment", id)] = found
        yield ""
    yield from _deployments(standing)


def own(runtime: Runtime) -> Iterator[str]:
    """What this process counted, and how it is."""
    meters, snapshot = runtime.meters, runtime.current.snapshot
    providers = {one.provider.id for one in snapshot.deployments.values()}
    meters.forget(snapshot.deployments, providers)
    yield from _served({label("deployment", id): one for id, one in meters.served.items()})
    yield from _cooldowns(snapshot.deployments, meters.served)
    yield from _requests(meters)
    yield from _calls(meters)
    yield from _process(runtime)


def _deployments(standing: Mapping[str, Standing]) -> Iterator[str]:
    name = "routeradmin_deployment_state"
    yield head(name, "gauge", "0 healthy, 1 partial, 2 down: no candidate of it takes a request.")
    for id, one in standing.items():
        yield f"{name}{{{id}}} {one.level}\n"
    name = "routeradmin_deployment_in_state"
    yield head(name, "gauge", "1 while some candidate of the deployment is in this state.")
    for id, one in standing.items():
        yield "".join(
            [f'{name}{{{id},state="{word}"}} {int(word in one.states)}\n' for word in STATES]
        )
    name = "routeradmin_leases"
    yield head(name, "gauge", "Leases neither released nor expired.")
    for id, one in standing.items():
        yield f"{name}{{{id}}} {one.leases}\n"


def _served(served: Mapping[str, Served]) -> Iterator[str]:
    name = "routeradmin_attempts_total"
    yield head(name, "counter", "Attempts that ended: success, or the class of the failure.")
    for id, one in served.items():
        yield _counted(name, f"{id},class", one.attempts)
    name = "routeradmin_tokens_total"
    yield head(name, "counter", "Tokens that upstreams or callers reported.")
    for id, one in served.items():
        tokens = {"input": one.input_tokens, "output": one.output_tokens}
        yield _counted(name, f"{id},type", tokens)
    name = "routeradmin_first_token_seconds"
    yield head(name, "histogram", "From an attempt's start to its first visible output.")
    for id, one in served.items():
        if one.first_token.count:
            yield "".join(buckets(name, id, one.first_token))


def _cooldowns(deployments: Iterable[str], served: Mapping[str, Served]) -> Iterator[str]:
    name = "routeradmin_cooldowns_total"
    yield head(name, "counter", "Cooldowns that began, by the class of their cause.")
    for id in deployments:
        counts = served[id].cooldowns if id in served else {}
        yield _counted(name, f"{label('deployment', id)},class", {**CAUSES, **counts})


def _requests(meters: Meters) -> Iterator[str]:
    yield single(
        "routeradmin_requests_in_flight",
        "gauge",
        "Inference requests that this process is carrying out.",
        meters.in_flight,
    )
    name = "routeradmin_turns_total"
    yield head(name, "counter", "Turns that ended, by their halt.")
    yield _counted(name, "halt", {**HALTS, **meters.turns})
    name = "routeradmin_overhead_seconds"
    yield head(
        name,
        "histogram",
        "Time spent here on one request; waits for upstreams or recovery left out.",
    )
    for operation, histogram in meters.overhead.items():
        yield from buckets(name, label("operation", operation), histogram)
    yield from _histogram(
        "routeradmin_queue_seconds",
        "One wait of a request here: before another round, or for a recovery.",
        meters.queue,
    )


def _calls(meters: Meters) -> Iterator[str]:
    name = "gen_ai_client_operation_duration_seconds"
    yield head(name, "histogram", "Duration of calls to upstreams, each attempt by itself.")
    for (call, error), histogram in list(meters.durations.items()):
        labels = _call(*call) + (f",{label('error_type', error)}" if error else "")
        yield "".join(buckets(name, labels, histogram))
    name = "gen_ai_client_token_usage"
    yield head(name, "histogram", "Tokens of one call as its upstream reported them.")
    for (call, kind), histogram in list(meters.tokens.items()):
        labels = f"{_call(*call)},{label('gen_ai_token_type', kind)}"
        yield "".join(buckets(name, labels, histogram))


def _process(runtime: Runtime) -> Iterator[str]:
    journal = runtime.journal
    yield single(
        "routeradmin_config_revision",
        "gauge",
        "The revision of the catalog that this process serves.",
        runtime.current.revision,
    )
    yield from _histogram(
        "routeradmin_push_lag_seconds",
        "From a revision's publication by another process to its being in force in this one.",
        runtime.meters.push_lag,
    )
    name = "routeradmin_journal_dropped_total"
    yield head(name, "counter", "Records thrown away: the database did not take them in time.")
    dropped = {"changes": journal.dropped_changes, "turns": journal.dropped_turns}
    yield _counted(name, "kind", dropped)
    yield single(
        "routeradmin_journal_waiting", "gauge", "Records that wait to be written.", journal.waiting
    )
    yield single(
        "routeradmin_reports_dropped_total",
        "counter",
        "Reports taken down for later that came to nothing: too many, or of a lease never found.",
        runtime.postponed.dropped,
    )
    name = "routeradmin_degraded"
    yield head(name, "gauge", "1 while the process goes on without this.")
    known = sorted({*DEPENDENCIES, *runtime.degraded})
    yield _counted(name, "dependency", {word: int(word in runtime.degraded) for word in known})
    yield single(
        "routeradmin_ready", "gauge", "1 while requests are accepted.", int(runtime.accepting)
    )


def _counted(name: str, labels: str, counts: Mapping[str, int]) -> str:
    """One sample per entry; ``labels`` ends in the name of the label that its key is."""
    return "".join([f'{name}{{{labels}="{word}"}} {n}\n' for word, n in list(counts.items())])


def _histogram(name: str, help: str, histogram: Histogram) -> Iterator[str]:
    yield head(name, "histogram", help)
    yield "".join(buckets(name, "", histogram))


def _call(operation: str, provider: str) -> str:
    return f"{label('gen_ai_operation_name', operation)},{label('gen_ai_provider_name', provider)}"
