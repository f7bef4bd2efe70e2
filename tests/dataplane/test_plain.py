"""Whole answers through the gateway."""

from __future__ import annotations

from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway


def test_a_chat_is_answered_by_the_deployment(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    answer = gate.post()
    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"]
    assert answer.halt == "succeeded"
    assert gate.last_call()["model"] == "a"
    assert gate.active == 0


def test_a_stream_is_passed_on(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    answer = gate.post(stream=True)
    assert answer.status == 200
    assert answer.text
    assert answer.events[-1] == "[DONE]"
    assert answer.events.count("[DONE]") == 1
    assert gate.record["halt"] == "succeeded"
