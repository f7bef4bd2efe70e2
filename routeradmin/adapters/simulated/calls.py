"""Every call the simulated provider got: counts, who is on the line, and the last requests."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

Json = dict[str, Any]
SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"}
)
FINGERPRINT_LENGTH = 12
ANONYMOUS = "none"


def fingerprint(secret: str) -> str:
    """The first 12 hex digits of the secret's SHA-256: it tells secrets apart and shows none."""
    if not secret:
        return ANONYMOUS
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()[:FINGERPRINT_LENGTH]


@dataclass(slots=True)
class CallRecord:
    """One request, without its secret; ``body`` is kept only where the provider was told to.

    ``aborted`` turns true when the client leaves before the answer is complete.
    """

    n: int
    at: float
    kind: str
    method: str
    path: str
    model: str | None
    credential: str
    stream: bool
    headers: dict[str, str]
    body_keys: list[str]
    body: Any = field(default=None, repr=False)
    status: int | None = None
    aborted: bool = False
    done: bool = False

    def as_json(self) -> Json:
        return {
            "n": self.n,
            "at": self.at,
            "kind": self.kind,
            "method": self.method,
            "path": self.path,
            "model": self.model,
            "credential": self.credential,
            "stream": self.stream,
            "idempotency_key": self.headers.get("idempotency-key"),
            "headers": self.headers,
            "body_keys": self.body_keys,
            **({} if self.body is None else {"body": self.body}),
            "status": self.status,
            "aborted": self.aborted,
            "done": self.done,
        }


class Gauge:
    """How many at once, now and at most."""

    __slots__ = ("most", "now")

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def up(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def down(self) -> None:
        self.now -= 1


class CallLog:
    """Counts exact since the last reset; requests kept up to ``keep``, oldest dropped first."""

    def __init__(self, keep: int = 1000) -> None:
        self.keep = keep
        self.reset()

    def reset(self) -> None:
        """Forget everything; calls on the line at this moment are not counted any more."""
        self.total = 0
        self.aborted = 0
        self.paths: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.credentials: Counter[str] = Counter()
        self.gauge = Gauge()
        self.model_gauges: defaultdict[str, Gauge] = defaultdict(Gauge)
        self.pair_gauges: defaultdict[tuple[str, str], Gauge] = defaultdict(Gauge)
        self.streams = Gauge()
        self.requests: deque[CallRecord] = deque(maxlen=self.keep)
        self._open: set[int] = set()

    def begin(self, call: CallRecord) -> None:
        """Count a request that has been read completely."""
        self.total += 1
        self.paths[call.path] += 1
        self.credentials[call.credential] += 1
        if call.model is not None:
            self.pairs[call.model, call.credential] += 1
        self.requests.append(call)
        self._open.add(id(call))
        for gauge in self._gauges(call):
            gauge.up()

    def end(self, call: CallRecord, *, aborted: bool = False) -> None:
        """The answer is out, or the client has left. Counted once."""
        if id(call) not in self._open:
            return
        self._open.discard(id(call))
        call.done, call.aborted = not aborted, aborted
        self.aborted += aborted
        self.statuses["none" if call.status is None else str(call.status)] += 1
        for gauge in self._gauges(call):
            gauge.down()

    def as_json(self, *, last: int, model: str | None = None) -> Json:
        """Totals, and the ``last`` requests (of one model where named), oldest first."""
        shown = [call for call in self.requests if model is None or call.model == model]
        return {
            "total": self.total,
            "aborted": self.aborted,
            "concurrent": self.gauge.now,
            "max_concurrent": self.gauge.most,
            "open_streams": self.streams.now,
            "max_open_streams": self.streams.most,
            "paths": dict(self.paths),
            "statuses": dict(self.statuses),
            "credentials": dict(self.credentials),
            "models": {name: self._model_json(name) for name in sorted(self.model_gauges)},
            "requests": [call.as_json() for call in (shown[-last:] if last else [])],
        }

    def _model_json(self, name: str) -> Json:
        per_credential = {
            credential: {
                "calls": count,
                "concurrent": self.pair_gauges[name, credential].now,
                "max_concurrent": self.pair_gauges[name, credential].most,
            }
            for (model, credential), count in self.pairs.items()
            if model == name
        }
        return {
            "calls": sum(entry["calls"] for entry in per_credential.values()),
            "concurrent": self.model_gauges[name].now,
            "max_concurrent": self.model_gauges[name].most,
            "credentials": per_credential,
        }

    def _gauges(self, call: CallRecord) -> Iterable[Gauge]:
        yield self.gauge
        if call.model is not None:
            yield self.model_gauges[call.model]
            yield self.pair_gauges[call.model, call.credential]
        if call.stream:
            yield self.streams
