"""Runtime state that processes share through Redis or Valkey.

The promise: limits and turns are exact over all processes, because Redis decides every grant; a
view is local, exact about what this process did, and at most ``POLL_EVERY_S`` + ``FRAME_S`` plus
one answer old about the others' counters (health and cooldowns are pushed at once). While Redis is
out of reach every step is this process's own, as in the memory store that this one builds on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import orjson
from redis.exceptions import RedisError

from routeradmin.adapters.state_memory import CURSORS_KEPT
from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.link import LIMIT_S, Unreachable, end
from routeradmin.adapters.state_redis.sharing import SharedHealth
from routeradmin.engine import durable, health
from routeradmin.engine.policy import Policy
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import Binding, CandidateKey, CandidateState, Change, Outcome
from routeradmin.engine.turn_book import Kept
from routeradmin.engine.turn_state import Opening, TurnState

log = logging.getLogger(__name__)

POLL_EVERY_S = 0.1
LISTEN_AGAIN_S = 0.2

Told = Callable[[list[Any]], None]


class RedisStore(SharedHealth):
    """``open`` before use and ``close`` after. ``fence`` is the leader's mark: a probe's verdict
    counts only while it is in force. ``on_told`` gets what other processes ``tell``."""

    def __init__(
        self,
        url: str,
        prefix: str,
        clock: Callable[[], float],
        epoch: str | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        super().__init__(url, prefix, clock, epoch, limit_s)
        self.fence = ""
        self.on_told: list[Told] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, *, follow: bool = True) -> None:
        """Come up if Redis answers; ``follow``: keep the view fresh until ``close``."""
        await self.link.open()
        if follow:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._poll()), loop.create_task(self._listen())]

    async def close(self) -> None:
        for task in self._tasks:
            await end(task)
        await self.link.close()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_EVERY_S)
            with suppress(Unreachable):
                await self.look()

    async def _listen(self) -> None:
        """Pushes, for as long as it lasts; what was missed the next poll brings, but for what was
        forgotten."""
        while True:
            try:
                async with self.link.client.pubsub() as pushes:
                    await pushes.subscribe(f"{self.link.prefix}:push")
                    async for message in pushes.listen():
                        if message["type"] == "message":
                            self._told(orjson.loads(message["data"]))
            except (RedisError, OSError) as problem:
                log.debug("not listening to pushes: %s", problem)
            await asyncio.sleep(LISTEN_AGAIN_S)

    def _told(self, message: list[Any]) -> None:
        if message[0] == "state":
            self.pushed(*message[1:])
            return
        if message[0] == "forgotten":
            self.forgotten(*message[1:])
            return
        for listener in self.on_told:
            listener(message)

    def tell(self, *message: Any) -> None:
        """To every process that listens, this one included; lost while Redis is out of reach."""
        self.link.post(("tell", orjson.dumps(message).decode()))

    # health

    async def set_cooldown(
        self, key: CandidateKey, seconds: float, set_by: str, message: str, now: float
    ) -> Change:
        changes = await self._commit(
            key, lambda s: (health.set_manual(s, seconds, set_by, message, now),), now
        )
        return changes[0]

    async def clear(self, key: CandidateKey, set_by: str, now: float) -> Change | None:
        def judge(state: CandidateState) -> Sequence[Change]:
            change = health.clear(state, set_by, now)
            return () if change is None else (change,)

        changes = await self._commit(key, judge, now)
        return changes[0] if changes else None

    async def probed(
        self,
        key: CandidateKey,
        ok: bool,
        threshold: int,
        policy: Policy,
        outcome: Outcome,
        now: float,
    ) -> Sequence[Change]:
        return await self._commit(
            key,
            lambda s: health.probed(s, ok, threshold, policy, outcome, now),
            now,
            self.fence,
        )

    # catalog, restarts

    def bind(self, snapshot: Snapshot) -> None:
        """What this catalog took out is forgotten, unless another process saw to that: it may be
        there again by now. ``prune`` sees to what no catalog here had."""
        before = [state.key for state in self._local] if self._bound else []
        super().bind(snapshot)
        with self._lock:
            for key in dict.fromkeys(before):
                if self._local.get(key) is None and not self.mirror.is_seen_to(key, self.clock()):
                    self._forget(key)

    def _renew_secret(self, state: CandidateState, now: float) -> list[Change]:
        version = self._local.secret_version(state.key)

        def judge(one: CandidateState) -> Sequence[Change]:
            if one.secret_version >= version:  # another process saw to it
                return ()
            change = health.renew_secret(one, version, now)
            return () if change is None else (change,)

        self._commit_later(state.key, judge, now)
        return []

    def restore(self, records: Iterable[dict[str, Any]], now: float) -> None:
        """What Redis knows is newer than what was written down."""
        with self._lock:
            unknown = [r for r in records if self._version_of(r) == 0]
        super().restore(unknown, now)
        with self._lock:
            restored = [self._local.get(durable.key_of(record)) for record in unknown]
        for state in restored:
            if state is not None and state.version == 0:
                self._commit_later(state.key, lambda s: (), now, anyway=True)

    def _version_of(self, record: dict[str, Any]) -> int:
        state = self._local.get(durable.key_of(record))
        return 0 if state is None else state.version

    # turns

    async def load_turn(self, turn_id: str, now: float) -> Kept | None:
        try:
            return await self._load_turn(turn_id, now)
        except Unreachable:
            return await super().load_turn(turn_id, now)

    async def save_turn(self, turn: TurnState | Opening, now: float, version: int) -> bool:
        try:
            answer = await self.link.call(self._save_step(turn, now, version))
        except Unreachable:
            saved = await super().save_turn(turn, now, version)
            if saved:
                self.apart.turn_changed(turn.id)
            return saved
        if answer[0] == "stale":
            return False
        with self._lock:
            self._turns.put(Kept(turn, self._turns.after(version)), now)
        return True

    def note_turn(self, turn: TurnState, now: float, version: int) -> None:
        super().note_turn(turn, now, version)
        begun = self._turns.after(version)
        if not self.link.is_up:
            self.apart.turn_changed(turn.id)
            return

        def then(answer: list[Any] | None) -> None:
            if answer is None:
                self.apart.turn_changed(turn.id)
            elif answer[0] == "stale":
                with self._lock:
                    self._turns.drop(turn.id, self._turns.after(begun))

        self.link.post(self._save_step(turn, now, begun), then)

    def _save_step(self, turn: TurnState | Opening, now: float, version: int) -> tuple[Any, ...]:
        text = wire.turn_text(turn, now)
        return ("save_turn", turn.id, version, self._turns.after(version), text)

    # sessions

    async def binding(self, names: Sequence[str], now: float) -> Binding | None:
        try:
            found = await self.link.call(("bound", list(names)))
        except Unreachable:
            return None
        bindings = (wire.binding_of(text) for text in found if text)
        return next((one for one in bindings if one is not None and one.until > now), None)

    def bind_session(self, name: str, binding: Binding, now: float) -> None:
        self.link.post(("bind", repr(now), name, repr(binding.until), wire.binding_text(binding)))

    async def prune(self, suspected: frozenset[str]) -> frozenset[str]:
        """Forget candidates that the catalog does not have and did not have at the last call,
        whose answer ``suspected`` is; cursors likewise. Raises Unreachable."""
        keys, cursors = await self.link.call(("known",))
        candidates = [key for key in keys or () if wire.key_of(key).deployment]
        foreign = {f"c{key}" for key in candidates if not self._local.names(wire.key_of(key))}
        if len(cursors or ()) > CURSORS_KEPT:
            foreign |= {f"t{name}" for name in cursors if name not in self._cursors}
        for name in foreign & suspected:
            if name[0] == "c":
                self._forget(wire.key_of(name[1:]))
            else:
                self.link.post(("drop_cursor", name[1:]))
        return frozenset(foreign - suspected)
