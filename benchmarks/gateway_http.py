"""``POST /v1/chat/completions`` through the gateway, beside the same calls to the upstream itself
and through the least that could stand in between (``bare_forward``).

The gateway has one core; the mock upstream shares the other with the load, which flatters neither:
the mock and the load together take a few microseconds a request. Rounds alternate, medians are
printed, and the ratios are what counts. Other gateways take part in the same rounds where
``BENCH_PEERS`` names some that are running (see README.md here).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.load import Load, Measured, measure
from benchmarks.mock_upstream import PARTS
from benchmarks.servers import CLIENT_CPU, KEY, free_port, process, routeradmin, uvicorn

ROUNDS = 3
SECONDS = 3.0
CHAT = {"model": "chat", "messages": [{"role": "user", "content": "Which way to the church?"}]}
FRAMES = len(PARTS)
PATH = "/v1/chat/completions"


def catalog(port: int) -> str:
    head = f"""
format = "routeradmin.catalog/1"
[[providers]]
id = "lab"
category = "cloud"
[[accounts]]
id = "key"
provider_id = "lab"
auth_kind = "bearer"
billing_kind = "metered"
secret_reference_id = "env:BENCH_KEY"
[[endpoints]]
id = "box"
account_id = "key"
base_url = "http://127.0.0.1:{port}/v1"
[[models]]
id = "small"
upstream_name = "small"
[[routes]]
id = "chat"
alias = "chat"
"""
    return head + "".join(
        f"""
[[serving_models]]
id = "d{n}"
endpoint_id = "box"
model_id = "small"
protocol = "chat-completions"
rpm_limit = 2000000000
max_parallel_requests = 1000000
[[targets]]
id = "t{n}"
route_id = "chat"
serving_model_id = "d{n}"
position = 0
"""
        for n in range(3)
    )


@contextmanager
def upstream() -> Iterator[int]:
    port = int(os.environ.get("BENCH_MOCK_PORT") or free_port())
    command = [sys.executable, "-m", "benchmarks.mock_upstream", str(port)]
    with process(command, port, {}, "/", cpu=CLIENT_CPU) as up:
        yield up


@dataclass(frozen=True)
class Subject:
    """Something that answers chats: by which path, key and model."""

    port: int
    key: str = KEY
    model: str = "chat"
    path: str = PATH
    headers: dict[str, str] = field(default_factory=dict)

    def load(self, connections: int, *, stream: bool) -> Load:
        body = {**CHAT, "model": self.model}
        return Load(
            port=self.port,
            path=self.path,
            connections=connections,
            seconds=SECONDS,
            method="POST",
            body=json.dumps({**body, "stream": True} if stream else body),
            headers={"authorization": f"Bearer {self.key}", **self.headers},
            cpu=CLIENT_CPU,
        )


def peers() -> dict[str, Subject]:
    """Those of the JSON file that ``BENCH_PEERS`` names: Subject's fields by name."""
    file = os.environ.get("BENCH_PEERS")
    found = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    return {name: Subject(**fields) for name, fields in found.items()}


def run() -> None:
    with (
        upstream() as mock,
        uvicorn(
            "benchmarks.bare_forward:application",
            {"BENCH_UPSTREAM": f"http://127.0.0.1:{mock}{PATH}"},
        ) as bare,
        routeradmin(catalog(mock)) as gateway,
    ):
        subjects = {
            "upstream itself": Subject(mock),
            "bare forwarding": Subject(bare),
            "gateway": Subject(gateway),
            **peers(),
        }
        for stream in (False, True):
            for connections in (1, 16, 64):
                rows: dict[str, list[Measured]] = {name: [] for name in subjects}
                for _ in range(ROUNDS):
                    for name, subject in subjects.items():
                        rows[name].append(measure(subject.load(connections, stream=stream)))
                show(stream, connections, rows)


def show(stream: bool, connections: int, rows: dict[str, list[Measured]]) -> None:
    kind = f"streaming chat ({FRAMES} frames)" if stream else "plain chat"
    print(f"\n{kind}, {connections} connections, {ROUNDS} rounds of {SECONDS:g} s (medians)")
    direct = rows["upstream itself"]
    base, least = median(r.rps for r in direct), median(r.p50_ms for r in direct)
    for name, measured in rows.items():
        rps = median(one.rps for one in measured)
        p50 = median(one.p50_ms for one in measured)
        wrong = sum(one.wrong for one in measured)
        first = median(one.first_ms for one in measured)
        print(
            f"  {name:16} {rps:9.0f} req/s  {rps / base:6.1%} of direct   p50 {p50:7.3f} ms "
            f"(+{p50 - least:.3f})  p99 {median(one.p99_ms for one in measured):7.3f} ms"
            + (f"  first {first:7.3f} ms" if stream else "")
            + (f"  {1000 * (p50 - least) / FRAMES:5.1f} us a frame" if stream else "")
            + (f"   {wrong} wrong answers" if wrong else "")
        )
