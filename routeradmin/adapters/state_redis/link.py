"""The connection to Redis: steps of one loop tick share a script call, and none waits for long.

A step that Redis let wait for ``limit_s``, or a broken connection, takes the link down: what waits
is told so at once, and callers go on without. The link then tries again by itself and comes up once
Redis has answered quickly a few times in a row.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context
from threading import Lock
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.script import for_steps
from routeradmin.adapters.state_redis.waiting import Waiting

log = logging.getLogger(__name__)

LIMIT_S = 0.04  # of waiting, in line and for the answer
LEAST_SHARE = 0.25  # of it for the answer alone: as much more where all was spent in line
CONNECT_LIMIT_S = 1.0
RETRY_EVERY_S = 0.1
QUICK_ANSWERS = 3
MOST_PER_CALL = 256

Step = Sequence[Any]
Answer = list[Any]
Then = Callable[[Answer | None], None]


class Unreachable(Exception):
    """Redis is gone, or too slow to wait for."""


class Link:
    """``post`` from any thread; ``call`` from any loop; both in the order they were made.

    ``on_up`` is awaited when Redis answers, and calls ``rise``: from then on the link counts as
    up. ``on_down`` is called when it does not any more. What is posted while it is down is dropped.
    """

    def __init__(
        self,
        url: str,
        prefix: str,
        on_up: Callable[[], Awaitable[None]],
        on_down: Callable[[], None],
        limit_s: float = LIMIT_S,
    ) -> None:
        self.prefix = "{" + prefix + "}"  # braces: one slot, wherever keys are spread over slots
        self.client: Redis = Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_LIMIT_S,
            retry=Retry(NoBackoff(), 0),
            decode_responses=False,
        )
        self.is_up = False
        self._limit_s = limit_s
        self._on_up = on_up
        self._on_down = on_down
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: AbstractConnection | None = None
        self._lock = Lock()
        self._queue: deque[tuple[Step, Then]] = deque()
        self._flying: list[tuple[Step, Then]] = []
        self._waiting = Waiting(0.0)
        self._watch: asyncio.TimerHandle | None = None
        self._pump: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._broken = asyncio.Event()

    @property
    def is_of_this_loop(self) -> bool:
        return _running() is self._loop

    async def open(self) -> None:
        """Try to come up once, now; keep trying in the background until ``close``."""
        self._loop = asyncio.get_running_loop()
        self._broken = asyncio.Event()
        try:
            await self._come_up(1)
        except (RedisError, OSError, TimeoutError, Unreachable) as problem:
            log.warning("Redis is out of reach, going on with local state: %s", problem)
            self._broken.set()
            self._on_down()
        self._keeper = self._loop.create_task(self._keep())

    async def close(self) -> None:
        """Send what was posted, then end."""
        if self.is_up and self._pump is not None:
            await asyncio.wait({self._pump}, timeout=self._limit_s)
        await end(self._keeper)
        await end(self._pump)
        self.is_up = False
        await self._disconnect()
        await self.client.aclose()

    def post(self, step: Step, then: Then | None = None) -> None:
        """Have it done after all asked before; ``then`` gets the answer, None if none came."""
        loop = self._loop
        if loop is None or not self.is_up:
            return
        with self._lock:
            self._queue.append((step, then or _ignore))
        if self.is_of_this_loop:
            self._kick()
        else:
            loop.call_soon_threadsafe(self._kick)

    async def call(self, step: Step) -> Answer:
        """The answer. Raises Unreachable."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is None or not self._loop.is_running():
                raise Unreachable("the link is not open")
            there = asyncio.run_coroutine_threadsafe(self.call(step), self._loop)
            return await asyncio.wrap_future(there)
        if not self.is_up:
            raise Unreachable("Redis is out of reach")
        future: asyncio.Future[Answer] = loop.create_future()

        def then(answer: Answer | None) -> None:
            if future.done():
                return
            if answer is None:
                future.set_exception(Unreachable("Redis did not answer in time"))
            else:
                future.set_result(answer)

        with self._lock:
            self._queue.append((step, then))
        self._kick()
        return await future

    async def ask(self, *steps: Step) -> list[Answer]:
        """Past the queue and its time limit, for coming up. Raises RedisError, OSError."""
        answers: list[Answer] = []
        for start in range(0, len(steps), MOST_PER_CALL):
            answers += await self._run([list(s) for s in steps[start : start + MOST_PER_CALL]])
        return answers

    async def time_s(self) -> tuple[float, float]:
        """Redis's clock, epoch seconds, and how long the answer took. Raises Unreachable."""
        assert self._loop is not None  # noqa: S101
        started = self._loop.time()
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                seconds, micros = await self.client.time()
        except (RedisError, OSError) as problem:
            raise Unreachable(str(problem)) from problem
        return seconds + micros / 1e6, self._loop.time() - started

    def _kick(self) -> None:
        if self.is_up and self._queue and (self._pump is None or self._pump.done()):
            assert self._loop is not None  # noqa: S101
            # Not in the context of the request that happens to be the first one in line.
            self._pump = self._loop.create_task(self._drain(), context=Context())

    async def _drain(self) -> None:
        """One call at a time: while it is under way the next one's steps come together."""
        in_line_s = 0.0
        while self._queue and self.is_up:
            flying = self._flying = self._take()
            stood_s = min(in_line_s, self._limit_s * (1 - LEAST_SHARE))
            has_left_some = bool(self._queue)  # what comes now came while this call is under way
            self._begin_to_wait(stood_s)
            try:
                answers = await self._run([step for step, _ in flying])
            except (RedisError, OSError, Unreachable) as problem:
                self._go_down(str(problem) or type(problem).__name__)
                return
            finally:
                self._end_waiting()
            if self._flying is not flying:  # given up meanwhile
                return
            self._flying = []
            in_line_s = self._waiting.waited_s - (0.0 if has_left_some else stood_s)
            for (step, then), answer in zip(flying, answers, strict=True):
                if answer and answer[0] == "failed":
                    log.error("a step failed in Redis: %s", answer[1])
                    then(None)
                else:
                    then(answer)
                del step

    def _take(self) -> list[tuple[Step, Then]]:
        with self._lock:
            queue = self._queue
            return [queue.popleft() for _ in range(min(len(queue), MOST_PER_CALL))]

    def _begin_to_wait(self, in_line_s: float) -> None:
        assert self._loop is not None  # noqa: S101
        self._waiting = Waiting(self._loop.time(), in_line_s)
        self._watch = self._loop.call_at(self._waiting.look_at, self._look)

    def _look(self) -> None:
        assert self._loop is not None  # noqa: S101
        waiting = self._waiting
        waiting.look(self._loop.time())
        if waiting.waited_s >= self._limit_s:
            self._go_down(f"no answer within {self._limit_s * 1000:.0f} ms")
        else:
            self._watch = self._loop.call_at(waiting.look_at, self._look)

    def _end_waiting(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def fall(self, why: str) -> None:
        """Go on alone and join anew."""
        self._go_down(why)

    def _go_down(self, why: str) -> None:
        if not self.is_up:
            return
        log.warning("Redis is out of reach, going on with local state: %s", why)
        self.is_up = False
        with self._lock:
            waiting = [*self._flying, *self._queue]
            self._flying = []
            self._queue.clear()
        self._on_down()
        for _, then in waiting:
            then(None)
        self._broken.set()

    async def _keep(self) -> None:
        """Come up again after every fall."""
        while True:
            await self._broken.wait()
            if self._pump is not None:
                await end(self._pump)
            await self._disconnect()
            await asyncio.sleep(RETRY_EVERY_S)
            try:
                await self._come_up(QUICK_ANSWERS)
            except (RedisError, OSError, TimeoutError, Unreachable):
                continue
            except Exception:
                log.exception("joining Redis again failed")
                continue
            log.warning("Redis answers again: state is shared")

    async def _come_up(self, quick_answers: int) -> None:
        assert self._loop is not None  # noqa: S101
        await self._disconnect()
        pool = self.client.connection_pool
        self._connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        for _ in range(quick_answers):
            async with asyncio.timeout(self._limit_s if quick_answers > 1 else CONNECT_LIMIT_S):
                await self._run([])
        await self._on_up()
        self._kick()

    def rise(self) -> None:
        """From here on steps are sent; those posted before the loop turns go first."""
        self._broken.clear()
        self.is_up = True

    async def _run(self, steps: list[Step]) -> list[Answer]:
        connection = self._connection
        if connection is None:
            raise Unreachable("not connected")
        script, payload = for_steps(steps), wire.packed(steps)
        try:
            await connection.send_command("EVALSHA", script.sha, 1, self.prefix, *payload)
            reply = await connection.read_response()
        except NoScriptError:  # Redis started anew
            await connection.send_command("EVAL", script.text, 1, self.prefix, *payload)
            reply = await connection.read_response()
        except ResponseError as problem:
            raise Unreachable(str(problem)) from problem
        return wire.unpacked(reply)

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(RedisError, OSError):
                await connection.disconnect()
            await self.client.connection_pool.release(connection)


async def end(task: asyncio.Task[None] | None) -> None:
    """Cancel, for as often as it takes: libraries swallow a cancellation now and then."""
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.2)


def _ignore(answer: Answer | None) -> None:
    del answer


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
