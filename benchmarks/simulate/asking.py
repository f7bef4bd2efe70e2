"""Steps as processes send them, for measuring what they cost a real Redis."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import redis

from routeradmin.adapters.state_redis import script, wire
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import CandidateKey, CandidateState, Cooldown, Health, Lease
from routeradmin.engine.turn_state import Opening
from routeradmin.engine.windows import window

PREFIX = "{simulate}"
FREE = -1
ANSWERED = {"released": True, "next": None, "cooldown": None, "warnings": []}


class Asker:
    """Sends calls of steps on one connection, and counts the bytes."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url)
        for steps in ((), (("known",),)):
            self.client.script_load(script.for_steps(steps).text)
        self.bytes_in = self.bytes_out = 0
        self._ids = self._numbers()

    def call(self, steps: Sequence[Sequence[Any]]) -> Any:
        arguments = wire.packed(steps)
        reply = self.client.execute_command(
            "EVALSHA", script.for_steps(steps).sha, 1, PREFIX, *arguments
        )
        self.bytes_in += sum(len(one) + 8 for one in arguments) + 80  # lengths, command, hash
        whole = reply if isinstance(reply, list) else [reply]
        self.bytes_out += sum(len(one) + 8 for one in whole)
        answers = wire.unpacked(reply)
        failed = [one for one in answers if one and one[0] == "failed"]
        assert not failed, failed
        return answers

    def calls(self, batches: Sequence[Sequence[Sequence[Any]]]) -> None:
        for steps in batches:
            self.call(steps)

    def newest_frame(self) -> tuple[int, str]:
        """Its number and the sequence it reaches, with nothing left to tell."""
        number = self.call([poll("0")])[0][2]
        while True:
            told = self.call([look(number, 0)])[0]
            if told[0] == "frames" and not told[-1]:
                return told[2], told[3]
            number = told[2] if told[0] == "frames" else self.call([poll("0")])[0][2]

    def _numbers(self) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield f"95f12fd3d398a6{number:08x}"

    def grant(self, number: int) -> tuple[str, tuple[Any, ...]]:
        """The new lease's id, and the step."""
        now, key, lease_id = time.time(), key_of(number), next(self._ids)
        lease = Lease(
            lease_id, key, 1, "key:7", now, now + 120, 900, window(now), 0, "chat", lease_id
        )
        ring = wire.Ring(())
        ring.limits = [[wire.key_text(key), FREE, FREE, FREE, 0]]
        times = (repr(now), repr(now + 120), window(now))
        return lease_id, ("reserve", *times, 900, lease_id, wire.facts(lease), "", 0, 1, ring, 0, 0)


def key_of(number: int) -> CandidateKey:
    return CandidateKey(f"openai-gpt-4o-mini-eu-{number:05}", f"openai-key-{number % 200:03}")


def save_turn(lease_id: str, number: int) -> tuple[Any, ...]:
    now = time.time()
    request = SelectRequest("chat", input_tokens=640, max_output_tokens=256, key_id="key-7")
    opening = Opening(lease_id, "chat", "chat", request, key_of(number), 0, lease_id, now)
    return ("save_turn", lease_id, 0, 1, wire.turn_text(opening, now))


def settle(lease_id: str, version: int = 0) -> tuple[Any, ...]:
    """The end of a lease alone, as the gateway's calls end."""
    return (*_closed(lease_id, version), "", 0, 0, "")


def report(lease_id: str, number: int) -> tuple[Any, ...]:
    """The same with the turn that it moves on and the answer that it keeps."""
    text = save_turn(lease_id, number)[-1]
    return (*_closed(lease_id, 0), "open", [lease_id, 0, 1, text], wire.Text(ANSWERED), "")


def _closed(lease_id: str, version: int) -> tuple[Any, ...]:
    now = time.time()
    counted = wire.success(812.5, window(now))
    return ("close", repr(now), lease_id, "1", "repeated", 725, version, "", counted)


def look(known: int, old_ms: int) -> tuple[Any, ...]:
    return ("look", repr(time.time()), known, old_ms)


def poll(since: str) -> tuple[Any, ...]:
    return ("poll", repr(time.time()), since, "")


def verdict(number: int, version: int) -> tuple[Any, ...]:
    now = time.time()
    state = CandidateState(key_of(number), health=Health.DEGRADED, rate_level=1, failures=1)
    state.cooldown = Cooldown("rate-limited", now, now + 20, 1, "result", 429, "slow down")
    record = wire.record_text(state)
    return ("commit", wire.key_text(state.key), version, record, wire.NOTHING, "")
