"""Before a limit refuses it is counted anew: another process may have given a slot back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from routeradmin.engine.state import CandidateKey
from tests.dataplane.catalogs import document
from tests.dataplane.serving import Answer, Gateway

# Each by another way to the refusal: the short one, and that of the turn's machine.
WAYS: dict[str, dict[str, Any]] = {
    "select": {"path": "/api/v1/select"},
    "select, explained": {"path": "/api/v1/select", "explain": True},
    "chat": {"path": "/v1/chat/completions"},
    "chat, by the machine": {
        "path": "/v1/chat/completions",
        "headers": {"x-routeradmin-deadline-ms": "600000"},
    },
}


class Elsewhere:
    """What ``recount`` finds: so many slots fewer are taken than was known."""

    def __init__(self, gate: Gateway, given_back: int) -> None:
        self.store = gate.runtime.store
        self.given_back = given_back
        self.asked: list[list[str]] = []

    async def recount(self, keys: Sequence[CandidateKey], now: float) -> bool:
        del now
        self.asked.append([key.deployment for key in keys])
        for state in self.store.states():
            if state.key in keys:
                state.active -= self.given_back
        return True


def ask(gate: Gateway, way: dict[str, Any]) -> Answer:
    body: dict[str, Any] = {"model": "chat"}
    if "select" in way["path"]:
        body |= {"explain": way.get("explain", False)}
    else:
        body |= {"messages": [{"role": "user", "content": "Which way?"}]}
    return gate.request(
        "POST", way["path"], json.dumps(body).encode(), headers=way.get("headers", {})
    )


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize(("given_back", "status"), [(1, 200), (0, 429)])
def test_a_slot_given_back_elsewhere_is_found(
    gate: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    way: dict[str, Any],
    given_back: int,
    status: int,
) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"max_parallel_requests": 1}}))
    assert ask(gate, WAYS["select"]).status == 200
    elsewhere = Elsewhere(gate, given_back)
    monkeypatch.setattr(gate.runtime.store, "recount", elsewhere.recount)
    answer = ask(gate, way)
    assert answer.status == status, answer.body
    assert elsewhere.asked == [["a"]], "once, and only for what limits keep back"


def test_what_cools_is_not_counted_anew(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"status": 429, "headers": {"retry-after": "60"}})
    assert gate.post().status == 429
    elsewhere = Elsewhere(gate, 1)
    monkeypatch.setattr(gate.runtime.store, "recount", elsewhere.recount)
    assert gate.post().status == 429
    assert elsewhere.asked == []


def test_a_minutes_requests_are_given_back_by_nobody(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"rpm_limit": 1}}))
    assert gate.post().status == 200
    elsewhere = Elsewhere(gate, 1)
    monkeypatch.setattr(gate.runtime.store, "recount", elsewhere.recount)
    assert gate.post().status == 429
    assert elsewhere.asked == []


@pytest.mark.parametrize("way", ["select", "chat"])
def test_what_was_waited_is_not_waited_again(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    one_slot = {"a": {"max_parallel_requests": 1}}
    waits: dict[str, Any] = {"when_exhausted": "wait", "max_wait_s": 5}
    gate.use(document(gate.upstream, "a", deployments=one_slot, **waits))
    assert ask(gate, WAYS["select"]).status == 200
    elsewhere = Elsewhere(gate, 0)
    monkeypatch.setattr(gate.runtime.store, "recount", elsewhere.recount)
    gate.slept.clear()
    assert ask(gate, WAYS[way]).status == 429
    assert elsewhere.asked == [["a"]]
    assert 4 <= sum(gate.slept) <= 5


def test_a_key_at_its_limit_is_refused_in_words_where_the_choice_has_a_note(gate: Gateway) -> None:
    """The route's own selector is not there, so another strategy stands in, and is noted."""
    gate.use(document(gate.upstream, "a", strategy="custom:gone"))
    key = gate.key("rk_limited-key-0123456789", rpm_limit=1)
    path, body = "/api/v1/select", json.dumps({"model": "chat"}).encode()
    assert gate.request("POST", path, body, key=key).status == 200
    answer = gate.request("POST", path, body, key=key)
    assert answer.status == 429, answer.body
    assert "rpm_limit" in answer.error["message"]
