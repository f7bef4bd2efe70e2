"""``POST /v1/chat/completions`` through the gateway, beside the same calls to the upstream itself
and through the least that could stand in between (``bare_forward``).

The gateway has one core; the mock upstream shares the other with the load, which flatters neither:
the mock and the load together take a few microseconds a request. Rounds alternate, medians are
printed, and the ratios are what counts. Other gateways take part in the same rounds where
``BENCH_PEERS`` names some (see README.md here).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from benchmarks.catalogs import catalog
from benchmarks.mock_upstream import PARTS
from benchmarks.peers import peers
from benchmarks.rounds import Medians, Subject, by_turns, line
from benchmarks.servers import CLIENT_CPU, free_port, process, routeradmin, uvicorn

ROUNDS = 3
SECONDS = 1.5
CHAT = {"model": "chat", "messages": [{"role": "user", "content": "Which way to the church?"}]}
FRAMES = len(PARTS)
PATH = "/v1/chat/completions"
DIRECT, BARE = "upstream itself", "bare forwarding"


@contextmanager
def upstream() -> Iterator[int]:
    port = int(os.environ.get("BENCH_MOCK_PORT") or free_port())
    command = [sys.executable, "-m", "benchmarks.mock_upstream", str(port)]
    with process(command, port, {}, "/", cpu=CLIENT_CPU) as up:
        yield up


def chats(port: int) -> Subject:
    return Subject(port, PATH, CHAT)


@contextmanager
def subjects() -> Iterator[dict[str, Subject]]:
    with ExitStack() as stack:
        mock = stack.enter_context(upstream())
        forwarding = {"BENCH_UPSTREAM": f"http://127.0.0.1:{mock}{PATH}"}
        bare = stack.enter_context(uvicorn("benchmarks.bare_forward:application", forwarding))
        gateway = stack.enter_context(routeradmin(catalog(mock, deployments=3)))
        ours = {DIRECT: chats(mock), BARE: chats(bare), "gateway": chats(gateway)}
        yield {**ours, **stack.enter_context(peers(ours["gateway"]))}


def streaming(subject: Subject) -> Subject:
    return replace(subject, body={**subject.body, "stream": True})


def run() -> None:
    with subjects() as asked:
        plain: dict[int, dict[str, Medians]] = {}
        for connections in (1, 16, 64):
            plain[connections] = by_turns(asked, connections, rounds=ROUNDS, seconds=SECONDS)
            show_plain(connections, plain[connections])
        streams = {name: streaming(subject) for name, subject in asked.items()}
        for connections in (1, 16):
            rows = by_turns(streams, connections, rounds=ROUNDS, seconds=SECONDS)
            show_streams(connections, rows, plain[connections])


def title(kind: str, connections: int) -> str:
    return f"\n{kind}, {connections} connections, {ROUNDS} rounds of {SECONDS:g} s (medians)"


def show_plain(connections: int, rows: dict[str, Medians]) -> None:
    print(title("plain chat", connections))
    direct, bare = rows[DIRECT], rows[BARE]
    for name, found in rows.items():
        print(
            line(
                name,
                found,
                f"{found.rps / direct.rps:6.1%} of direct",
                f"{found.rps / bare.rps:6.1%} of bare forwarding",
                f"p50 +{found.p50_ms - direct.p50_ms:.3f} ms",
            )
        )


def show_streams(connections: int, rows: dict[str, Medians], whole: dict[str, Medians]) -> None:
    """A frame costs what a stream takes of the processor more than a whole answer, shared out."""
    print(title(f"streaming chat ({FRAMES} frames)", connections))
    direct, bare = rows[DIRECT], rows[BARE]
    for name, found in rows.items():
        frame_us = (found.cpu_us - whole[name].cpu_us) / FRAMES
        print(
            line(
                name,
                found,
                f"{found.rps / bare.rps:6.1%} of bare forwarding",
                f"first token +{found.first_ms - direct.first_ms:.3f} ms",
                f"cpu {frame_us:5.1f} us a frame",
            )
        )
