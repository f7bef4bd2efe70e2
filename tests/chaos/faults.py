"""What is done to the system, and how it is put right again."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from tests.chaos.stage import Stage
from tests.process.family import send
from tests.process.server import until

SLOW_S = 0.5
REPLACED = "all workers were replaced"
REPLACE_LIMIT_S = 400.0  # a start takes a while, one after the other


class Hurt(StrEnum):
    """What a fault takes away, by which its effects are excused."""

    WORKER = "worker"
    REDIS = "redis"
    DATABASE = "database"


@dataclass(frozen=True)
class Fault:
    """``begin`` breaks something, ``end`` mends it; both may be asked for in a thread."""

    name: str
    hurts: frozenset[Hurt]
    begin: Callable[[Stage, Random], None]
    end: Callable[[Stage], None] = lambda stage: None


def kill_worker(stage: Stage, rng: Random) -> None:
    send([rng.choice(stage.worker_pids)], signal.SIGKILL)


def replace_workers(stage: Stage, rng: Random) -> None:
    assert stage.server.process is not None
    before = stage.server.log.read_text().count(REPLACED)
    stage.server.process.send_signal(signal.SIGHUP)
    until(lambda: stage.server.log.read_text().count(REPLACED) > before, REPLACE_LIMIT_S, 0.1)


def kill_both(stage: Stage, rng: Random) -> None:
    stage.redis.kill()
    stage.database.kill()


def start_both(stage: Stage) -> None:
    stage.redis.start()
    stage.database.start()


REDIS, DATABASE = frozenset({Hurt.REDIS}), frozenset({Hurt.DATABASE})
FAULTS = (
    Fault("worker killed", frozenset({Hurt.WORKER}), kill_worker),
    Fault("workers replaced", frozenset(), replace_workers),
    Fault("redis killed", REDIS, lambda s, rng: s.redis.kill(), lambda s: s.redis.start()),
    Fault("redis frozen", REDIS, lambda s, rng: s.redis.freeze(), lambda s: s.redis.thaw()),
    Fault(
        "redis slow", REDIS, lambda s, rng: s.redis_wire.slow(SLOW_S), lambda s: s.redis_wire.mend()
    ),
    Fault(
        "database killed", DATABASE, lambda s, r: s.database.kill(), lambda s: s.database.start()
    ),
    Fault(
        "database frozen", DATABASE, lambda s, r: s.database.freeze(), lambda s: s.database.thaw()
    ),
    Fault(
        "database slow",
        DATABASE,
        lambda s, rng: s.database_wire.slow(SLOW_S),
        lambda s: s.database_wire.mend(),
    ),
    Fault("both killed", REDIS | DATABASE, kill_both, start_both),
)
