"""Custom selectors: found by entry point and by setting, and held to a time limit.

A selector runs on a thread of its own and is waited for no longer than its limit, since nothing
can end a Python function from outside. One that is late is not called again before it returns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Any

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateState
from routeradmin.engine.strategies import Selector

GROUP = "routeradmin.selectors"
LIMIT_S = 0.05

log = logging.getLogger(__name__)


class SelectorTooSlow(Exception):
    """It did not answer within its limit, or has not yet returned from the call before."""


class _Worker:
    """One daemon thread, started when first needed: a selector that never returns must not keep
    the process from ending, as an executor's thread would."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = (
            SimpleQueue()
        )
        self._thread: Thread | None = None

    def submit(self, call: Callable[..., Any], *given: Any) -> Future[Any]:
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        future: Future[Any] = Future()
        self._jobs.put((future, call, given))
        return future

    def _run(self) -> None:
        while True:
            future, call, given = self._jobs.get()
            try:
                future.set_result(call(*given))
            except BaseException as error:  # foreign code: the caller is told, the thread lives on
                future.set_exception(error)


class Limited:
    """A selector with its limit in seconds. Raises SelectorTooSlow, and what the selector does."""

    def __init__(self, name: str, selector: Selector, limit_s: float = LIMIT_S) -> None:
        self.name = name
        self.selector = selector
        self.limit_s = limit_s
        self._late: Future[int] | None = None
        self._thread = _Worker(f"selector-{name}")

    def __call__(
        self,
        candidates: Sequence[Candidate],
        states: Sequence[CandidateState],
        request: SelectRequest,
        now: float,
        rng: Random,
    ) -> int:
        if self._late is not None and not self._late.done():
            raise SelectorTooSlow(f"selector {self.name!r} has not returned yet")
        self._late = None
        future = self._thread.submit(self.selector, candidates, states, request, now, rng)
        try:
            answer: int = future.result(self.limit_s)
            return answer
        except TimeoutError:
            if future.done():
                raise  # its own
            self._late = future
            message = f"selector {self.name!r} took longer than {self.limit_s:g} s"
            raise SelectorTooSlow(message) from None


@dataclass(frozen=True, slots=True)
class Found:
    """What was found under a name: ``origin`` says where, ``problem`` why it cannot be used."""

    name: str
    origin: str
    selector: Limited | None = None
    problem: str = ""


def find(configured: Mapping[str, str], limit_s: float = LIMIT_S) -> list[Found]:
    """All of them; ``configured`` (name to ``package.module:attribute``) wins over entry points."""
    found = {name: _configured(name, path, limit_s) for name, path in configured.items()}
    for entry in _installed():
        if entry.name not in found:
            found[entry.name] = _from_entry(entry, limit_s)
    for one in found.values():
        if one.problem:
            log.error("selector %s (%s) cannot be used: %s", one.name, one.origin, one.problem)
    return list(found.values())


def usable(found: Iterable[Found]) -> dict[str, Selector]:
    """By the name that a route's strategy gives: ``custom:<name>``."""
    return {one.name: one.selector for one in found if one.selector is not None}


def _installed() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)


def _configured(name: str, path: str, limit_s: float) -> Found:
    origin = f"setting {path}"
    module, _, attribute = path.partition(":")
    try:
        loaded = getattr(import_module(module), attribute)
    except Exception as error:  # whatever a foreign module raises, the process starts
        return Found(name, origin, problem=f"{type(error).__name__} while importing it")
    return _made(name, origin, loaded, limit_s)


def _from_entry(entry: EntryPoint, limit_s: float) -> Found:
    origin = f"entry point {entry.value}"
    try:
        loaded = entry.load()
    except Exception as error:  # whatever a foreign module raises, the process starts
        return Found(entry.name, origin, problem=f"{type(error).__name__} while importing it")
    return _made(entry.name, origin, loaded, limit_s)


def _made(name: str, origin: str, loaded: Any, limit_s: float) -> Found:
    """A class is made one of, without arguments."""
    try:
        selector = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # foreign code again
        return Found(name, origin, problem=f"{type(error).__name__} while making one")
    if not callable(selector):
        return Found(name, origin, problem="it cannot be called")
    return Found(name, origin, Limited(name, selector, limit_s))
