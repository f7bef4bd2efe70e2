"""The decision API over one socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from routeradmin.dataplane.socket import (
    LEAST_HELD,
    MOST_BYTES_AT_ONCE,
    MOST_FRAME_BYTES,
    DecisionSocket,
)
from routeradmin.services.runtime import Runtime
from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, WAIT_S, Gateway


def opened(gate: Gateway, key: str = KEY, path: str = "/ws/select") -> ClientConnection:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    url = f"ws://127.0.0.1:{gate.port}{path}"
    return connect(url, additional_headers=headers, open_timeout=WAIT_S, compression=None)


@pytest.fixture
def socket(gate: Gateway) -> Iterator[ClientConnection]:
    gate.use(document(gate.upstream, ["a", "b"], strategy="round_robin"))
    with opened(gate) as connection:
        yield connection


def ask(socket: ClientConnection, op: str, lease: str | None = None, **body: Any) -> Any:
    frame = {"id": 7, "op": op, "lease_id": lease, "body": body}
    socket.send(json.dumps(frame))
    answer = json.loads(socket.recv(WAIT_S))
    assert answer["id"] == 7
    return answer


def test_a_lease_is_taken_renewed_and_reported(gate: Gateway, socket: ClientConnection) -> None:
    taken = ask(socket, "select", model="chat")
    assert taken["status"] == 200
    lease = taken["body"]["lease_id"]
    assert gate.active == 1
    assert ask(socket, "renew", lease)["status"] == 200
    told = ask(socket, "report", lease, outcome="success", latency_ms=5)
    assert told["body"]["next"]["action"] == "done"
    assert gate.active == 0


def test_leases_are_given_back_when_the_socket_closes(
    gate: Gateway, socket: ClientConnection
) -> None:
    leases = [ask(socket, "select", model="chat")["body"]["lease_id"] for _ in range(5)]
    assert ask(socket, "release", leases[0])["body"] == {"released": True}
    assert gate.active == 4
    socket.close()
    gate.until(lambda: gate.active == 0)


def test_many_frames_may_be_under_way(gate: Gateway, socket: ClientConnection) -> None:
    for n in range(200):
        socket.send(json.dumps({"id": n, "op": "select", "body": {"model": "chat"}}))
    answers = [json.loads(socket.recv(WAIT_S)) for _ in range(200)]
    assert sorted(answer["id"] for answer in answers) == list(range(200))
    assert {answer["status"] for answer in answers} == {200}
    assert gate.active == 200


def test_explaining_reserves_nothing(gate: Gateway, socket: ClientConnection) -> None:
    explained = ask(socket, "explain", model="chat")
    assert len(explained["body"]["targets"]) == 2
    assert gate.active == 0


@pytest.mark.parametrize(
    ("frame", "status", "code"),
    [
        ("no json", 400, "invalid_json"),
        ("[]", 400, "invalid_json"),
        ('{"op":"dance"}', 422, "invalid_request"),
        ('{"op":"select","body":{}}', 422, "invalid_request"),
        ('{"op":"select","body":{"model":"nothing"}}', 404, "model_not_found"),
        ('{"op":"report","lease_id":"x","body":{"outcome":"success"}}', 404, "lease_not_found"),
        ('{"op":"release","body":[]}', 404, "lease_not_found"),
    ],
)
def test_what_cannot_be_done_is_said_in_the_same_shape(
    socket: ClientConnection, frame: str, status: int, code: str
) -> None:
    socket.send(frame)
    answer = json.loads(socket.recv(WAIT_S))
    assert (answer["status"], answer["body"]["error"]["code"]) == (status, code)


@pytest.mark.parametrize(("key", "code"), [("", 4401), ("rk_unknown", 4401), ("reader", 4403)])
def test_strangers_are_turned_away_after_the_handshake(gate: Gateway, key: str, code: int) -> None:
    gate.key("reader", scopes=frozenset({"read"}))
    with opened(gate, key) as connection, pytest.raises(ConnectionClosedError) as closed:
        connection.recv(WAIT_S)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


def test_a_revoked_key_decides_nothing_more(gate: Gateway, socket: ClientConnection) -> None:
    assert ask(socket, "select", model="chat")["status"] == 200  # the handshake is over
    gate.runtime.keys._by_hash.clear()
    assert ask(socket, "select", model="chat")["status"] == 401


def test_other_paths_have_no_socket(gate: Gateway) -> None:
    with pytest.raises(InvalidStatus):
        opened(gate, path="/v1/models")


def test_leases_that_ran_out_are_not_kept_for_the_end_of_the_socket(gate: Gateway) -> None:
    async def story() -> int:
        held = DecisionSocket(gate.runtime, {"headers": [(b"x-api-key", KEY.encode())]}, ignore)
        for _ in range(3 * LEAST_HELD):
            await held.take(b'{"op":"select","body":{"model":"chat","lease_ttl_s":1}}')
            await asyncio.sleep(0)
            gate.clock.advance(0.5)
        return len(held._leases)

    async def ignore(message: Any) -> None:
        pass

    gate.use(document(gate.upstream, ["a"]))
    assert asyncio.run(story()) <= LEAST_HELD + 1


def test_what_was_said_of_a_lease_is_recorded_though_its_socket_closes(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While what waits for a lease is let go."""

    async def story() -> None:
        held = DecisionSocket(gate.runtime, {"headers": [(b"x-api-key", KEY.encode())]}, hear)
        await held.take(b'{"op":"select","body":{"model":"chat"}}')
        gate_is_open = asyncio.Event()
        await is_answered.wait()
        lease = json.loads(answers[0]["text"])["body"]["lease_id"]
        settle = gate.runtime.store.settle

        async def slow(*args: Any) -> Any:
            await gate_is_open.wait()
            return await settle(*args)

        async def wait(seconds: float) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(gate.runtime.store, "settle", slow)
        monkeypatch.setattr(gate.runtime, "sleep", wait)
        await held.take(
            orjson.dumps({"op": "report", "lease_id": lease, "body": {"outcome": "success"}})
        )
        await held.take(b'{"op":"select","body":{"model":"chat"}}')
        await asyncio.sleep(0)
        await held.take(b'{"op":"select","body":{"model":"chat"}}')  # has not begun yet
        closing = asyncio.create_task(held.close())
        await asyncio.sleep(0)
        gate_is_open.set()
        await closing

    answers: list[Any] = []
    is_answered = asyncio.Event()

    async def hear(message: Any) -> None:
        answers.append(message)
        is_answered.set()

    only_one = {"a": {"max_parallel_requests": 1}}
    gate.use(
        document(gate.upstream, "a", deployments=only_one, when_exhausted="wait", max_wait_s=60)
    )
    asyncio.run(asyncio.wait_for(story(), WAIT_S))
    assert [record["halt"] for record in gate.records] == ["succeeded"]
    assert gate.active == 0


def test_frames_wait_while_too_many_bytes_are_under_way(bare_runtime: Runtime) -> None:
    most: list[int] = []

    class Slow(DecisionSocket):
        async def _answer(self, frame: bytes) -> None:
            most.append(self._bytes)
            await asyncio.sleep(0)

    async def story() -> None:
        socket = Slow(bare_runtime, {"headers": []}, nobody)
        for _ in range(40):
            await socket.take(b"x" * MOST_FRAME_BYTES)
        await socket.close()
        assert socket._bytes == 0

    async def nobody(message: Any) -> None:
        del message

    asyncio.run(story())
    assert max(most) == MOST_BYTES_AT_ONCE
