"""The console at scale: 1,000 deployments in 100 routes, 500 state changes a minute.

First what one page costs its browser: first paint, frames, bytes, how busy its main thread is.
Then what fifty open pages cost the gateway: p99 of chats with and without them, measured in pairs,
each pair the other way round than the one before. What counts is the median of the pairs' ratios.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from playwright.sync_api import Page, WebSocket, sync_playwright

from benchmarks.catalogs import catalog
from benchmarks.gateway_http import chats, upstream
from benchmarks.load import Measured, measure
from benchmarks.servers import CLIENT_CPU, KEY, ROOT, routeradmin

ROUTES, DEPLOYMENTS = 100, 1000
CHANGES_A_MINUTE = 500
WATCHED_S = 20.0
CONSOLES = 50
PAIRS = 9
PAIR_S = 3.0
CONNECTIONS = 4
CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@contextmanager
def changing(port: int) -> Iterator[None]:
    """Cooldowns come and go on deployments outside ``chat``, at the rate of the benchmark."""
    ended = threading.Event()

    def change() -> None:
        n = 0
        while not ended.wait(60 / CHANGES_A_MINUTE):
            deployment = f"d{10 + (7 * (n // 2)) % (DEPLOYMENTS - 10)}"
            if n % 2:
                call(port, "DELETE", f"cooldowns?deployment={deployment}")
            else:
                body = f'{{"deployment": "{deployment}", "seconds": 60, "reason": "bench"}}'
                call(port, "POST", "cooldowns", body)
            n += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def call(port: int, method: str, path: str, body: str = "") -> None:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/{path}", body.encode() or None, headers, method=method
    )
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310
        pass


@contextmanager
def signed_in(port: int) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(base_url=f"http://127.0.0.1:{port}")
        page = context.new_page()
        page.goto("/login")
        page.fill("#id_username", "bench")
        page.fill("#id_password", "bench-password-1")
        page.click("button.primary")
        page.wait_for_url(f"http://127.0.0.1:{port}/")
        yield page
        browser.close()


def one_page(port: int) -> str:
    """Print what one page costs; returns its session for the watchers."""
    with signed_in(port) as page, changing(port):
        paints = [first_paint_ms(page) for _ in range(7)]
        frames: list[int] = []
        readings: list[int] = []
        page.on("websocket", lambda socket: _count(socket, frames))
        page.goto("/")
        page.wait_for_timeout(2000)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable")
        page.on("requestfinished", lambda one: readings.append(one.sizes()["responseBodySize"]))
        frames.clear()
        before, started = task_s(devtools), time.monotonic()
        page.wait_for_timeout(1000 * WATCHED_S)
        took = time.monotonic() - started
        busy = (task_s(devtools) - before) / took
        print(f"\none page, {DEPLOYMENTS} deployments, {CHANGES_A_MINUTE} state changes a minute")
        print(f"  first contentful paint {median(paints):7.0f} ms (of {len(paints)}, median)")
        print(f"  frames                 {len(frames) / took:7.2f} a second")
        print(f"  bytes of frames        {sum(frames) / took / 1000:7.2f} kB a second")
        print(f"  boards read again      {len(readings):7d} in {took:.0f} s, {sum(readings)} bytes")
        print(f"  main thread busy       {busy:7.1%}")
        cookies = {one["name"]: one["value"] for one in page.context.cookies()}  # type: ignore[typeddict-item]
        return "; ".join(f"{name}={value}" for name, value in cookies.items())


def _count(socket: WebSocket, frames: list[int]) -> None:
    socket.on("framereceived", lambda text: frames.append(len(text)))


FIRST_PAINT = """new Promise((told) => {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName("first-contentful-paint")) told(entry.startTime);
  }).observe({ type: "paint", buffered: true });
})"""


def first_paint_ms(page: Page) -> float:
    page.goto("/")
    return float(page.evaluate(FIRST_PAINT))


def task_s(devtools: object) -> float:
    metrics = devtools.send("Performance.getMetrics")["metrics"]  # type: ignore[attr-defined]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


@contextmanager
def consoles(port: int, cookie: str) -> Iterator[None]:
    """Fifty open sockets in a process of their own, each reading what it gets."""
    command = [sys.executable, "-m", "benchmarks.watchers", str(port), str(CONSOLES)]
    child = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"COOKIE": cookie}, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        if child.stdout.readline().strip() != "watching":
            raise RuntimeError("the consoles were not let in")
        yield
    finally:
        child.terminate()
        child.wait(10)
        child.stdout.close()


def many_pages(port: int, cookie: str) -> None:
    alone: list[Measured] = []
    watched: list[Measured] = []
    load = chats(port).load(CONNECTIONS, PAIR_S)

    def measure_watched() -> None:
        with consoles(port, cookie):
            watched.append(measure(load))

    with changing(port):
        measure(load)  # nothing is compiled or opened for the first time in what counts
        for number in range(PAIRS):
            steps = [lambda: alone.append(measure(load)), measure_watched]
            for step in steps if number % 2 else reversed(steps):
                step()
    how = f"{CONNECTIONS} connections, {PAIRS} pairs of {PAIR_S:g} s, client cpu {CLIENT_CPU}"
    print(f"\nchats, {how}")
    told("no console", alone)
    told(f"{CONSOLES} consoles", watched)
    pairs = list(zip(alone, watched, strict=True))
    ratios = sorted(two.p99_ms / one.p99_ms for one, two in pairs)
    more_ms = median(two.p99_ms - one.p99_ms for one, two in pairs)
    print(
        f"  p99 of a pair: ratio {median(ratios):.3f} (half of them within "
        f"{ratios[len(ratios) // 4]:.3f} to {ratios[-1 - len(ratios) // 4]:.3f}), {more_ms:+.3f} ms"
    )


def told(name: str, measured: list[Measured]) -> None:
    if wrong := sum(one.wrong for one in measured):
        raise RuntimeError(f"{name}: {wrong} chats were not answered with 200")
    p50, p99 = (median(getattr(one, part) for one in measured) for part in ("p50_ms", "p99_ms"))
    rps = median(one.rps for one in measured)
    print(f"  {name:12} {rps:8.0f} req/s   p50 {p50:7.3f} ms   p99 {p99:7.3f} ms   (medians)")


def _catalog(mock: int) -> str:
    return catalog(mock, deployments=DEPLOYMENTS, routes=ROUTES, rpm_limit=None)


def run() -> None:
    with upstream() as mock, routeradmin(_catalog(mock)) as port:
        cookie = one_page(port)
        many_pages(port, cookie)
