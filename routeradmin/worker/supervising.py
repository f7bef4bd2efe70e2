"""``serve --workers N``: one listening socket, N processes behind it, each replaced when it ends.

SIGTERM and SIGINT stop them all; SIGHUP replaces them one after the other, each only once its
successor answers, so that no moment is without one.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
START_LIMIT_S = 60.0
STOP_LIMIT_S = 55.0  # above what a worker gives its open requests, and then its last writes
QUICK_END_S = 5.0  # a worker that ends sooner is started again only after a pause
PAUSE_S = 1.0


class CannotStart(Exception):
    """A worker process ended, or did not answer, at the start."""


@dataclass(eq=False)
class Child:
    """One worker process; it writes a line to its pipe once it answers requests. No two that run
    have the same ``number``, and numbers stay small."""

    number: int
    process: subprocess.Popen[bytes]
    pipe: int
    started_at: float
    is_ready: bool = False

    def look(self) -> None:
        if not self.is_ready:
            try:
                self.is_ready = bool(os.read(self.pipe, 1))
            except BlockingIOError:
                return

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None


@dataclass(eq=False)
class Supervisor:
    """``command`` plus ``--listener FD --ready FD --number N --siblings DIRECTORY`` starts a
    worker, with ``--metrics FD`` where there is a port for scrapers."""

    command: Sequence[str]
    listener: socket.socket
    count: int
    metrics: socket.socket | None = None
    children: list[Child] = field(default_factory=list)
    _leaving: list[Child] = field(default_factory=list)
    _signals: list[int] = field(default_factory=list)
    _running: dict[int, Child] = field(default_factory=dict)
    _siblings: TemporaryDirectory[str] = field(
        default_factory=lambda: TemporaryDirectory(prefix="routeradmin-")
    )

    def run(self, greet: Callable[[], None]) -> None:
        """Until told to stop. Raises CannotStart."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda caught, frame: self._signals.append(caught))
        try:
            self.children = [self._start() for _ in range(self.count)]
            for child in self.children:
                self._wait_for(child)
            if not self._stopping:
                greet()
            self._watch()
        finally:
            # The workers have it too, and close it in time: none is let in whom nobody serves.
            self.listener.close()
            # Only who was told by SIGTERM may have a proxy in front that has to turn away first.
            leaving = signal.SIGTERM in self._signals
            self._stop(
                [*self.children, *self._leaving], signal.SIGTERM if leaving else signal.SIGHUP
            )
            self._siblings.cleanup()

    @property
    def _stopping(self) -> bool:
        return any(number != signal.SIGHUP for number in self._signals)

    def _watch(self) -> None:
        while not self._stopping:
            if signal.SIGHUP in self._signals:
                # Only these: another kind may have come since.
                self._signals[:] = [one for one in self._signals if one != signal.SIGHUP]
                self._replace_all()
            self._tend()
            time.sleep(LOOK_EVERY_S)

    def _tend(self) -> None:
        """Start another for each that ended."""
        for place, child in enumerate(self.children):
            child.look()
            if child.has_ended and not self._stopping:
                self.children[place] = self._again(child)

    def _again(self, child: Child) -> Child:
        log.error("worker %d ended with status %s: starting another", *_end(child))
        os.close(child.pipe)
        if time.monotonic() - child.started_at < QUICK_END_S:
            time.sleep(PAUSE_S)
        return self._start()

    def _replace_all(self) -> None:
        """One after the other; the others are seen to meanwhile, for streams take their time."""
        for place in range(len(self.children)):
            if self._stopping:
                return
            new = self._start()
            try:
                self._wait_for(new, self._tend)
            except CannotStart as problem:
                log.error("%s: the workers that run go on", problem)
                self._stop([new])
                return
            old, self.children[place] = self.children[place], new
            self._leaving = [old]
            self._let_go(old)
        log.warning("all workers were replaced")

    def _let_go(self, old: Child) -> None:
        old.process.send_signal(signal.SIGHUP)  # nothing happens if it ended by itself
        ends = time.monotonic() + STOP_LIMIT_S
        while not (old.has_ended or self._stopping or time.monotonic() > ends):
            self._tend()
            time.sleep(LOOK_EVERY_S / 2)
        if not self._stopping:  # else it is stopped with the others
            self._leaving = []
            self._stop([old], limit_s=0.0)

    def _start(self) -> Child:
        read, write = os.pipe()
        os.set_blocking(read, False)
        number, shared = self._free_number(), self._shared()
        process = subprocess.Popen(  # noqa: S603  # our own command line
            [
                *(*self.command, "--ready", str(write), "--number", str(number)),
                *("--siblings", self._siblings.name),
                *(word for option, handle in shared.items() for word in (option, str(handle))),
            ],
            pass_fds=(*shared.values(), write),
            start_new_session=True,  # Ctrl-C is this process's to hand on
        )
        os.close(write)
        child = Child(number, process, read, time.monotonic())
        self._running[number] = child
        return child

    def _free_number(self) -> int:
        taken = {number for number, child in self._running.items() if not child.has_ended}
        return next(number for number in itertools.count(1) if number not in taken)

    def _shared(self) -> dict[str, int]:
        """The sockets that all workers listen on, by option."""
        named = {"--listener": self.listener, "--metrics": self.metrics}
        return {option: one.fileno() for option, one in named.items() if one is not None}

    def _wait_for(self, child: Child, meanwhile: Callable[[], None] = lambda: None) -> None:
        ends = time.monotonic() + START_LIMIT_S
        while not child.is_ready and not self._stopping:
            child.look()
            if child.has_ended:
                raise CannotStart("worker %d ended with status %s" % _end(child))  # noqa: UP031
            if time.monotonic() > ends:
                raise CannotStart(f"a worker did not answer within {START_LIMIT_S:g} s")
            meanwhile()
            time.sleep(LOOK_EVERY_S / 2)

    def _stop(
        self,
        children: Sequence[Child],
        number: int = signal.SIGTERM,
        limit_s: float = STOP_LIMIT_S,
    ) -> None:
        """SIGHUP stands for: another one answers in its place already."""
        for child in children:
            if not child.has_ended:
                child.process.send_signal(number)
        ends = time.monotonic() + limit_s
        for child in children:
            try:
                child.process.wait(max(0.0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("worker %d did not stop: it is killed", child.process.pid)
                child.process.kill()
                child.process.wait()
            os.close(child.pipe)


def _end(child: Child) -> tuple[int, int | None]:
    return child.process.pid, child.process.returncode


def own_command(plane: str) -> list[str]:
    """The command line of a worker: this program again."""
    return [sys.executable, sys.argv[0], "serve", "--plane", plane]
