"""Every fault at every stage gives the right halt, the right answer, and exact upstream calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.adapters.simulated import running_in_thread
from tests.dataplane.catalogs import document
from tests.dataplane.fault_table import BRIEF_S, GOOD, Cell, Expected, cells
from tests.dataplane.serving import Answer, Gateway

PATHS = {
    "chat-completions": "/v1/chat/completions",
    "completions": "/v1/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
USER = [{"role": "user", "content": "Which way?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CELLS = list(cells())


@pytest.fixture(scope="module")
def closed() -> str:
    """A URL whose port nobody listens on any more."""
    with running_in_thread() as url:
        pass
    return url


def body(cell: Cell) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "chat", "stream": cell.stream}
    if cell.protocol == "responses":
        asked |= {"input": "Which way?"}
    elif cell.protocol == "completions":
        asked |= {"prompt": "Which way?"}
    else:
        asked |= {"messages": USER, "max_tokens": 50}
    if cell.tools:
        function = {"name": "f", "parameters": SCHEMA}
        asked["tools"] = {
            "chat-completions": [{"type": "function", "function": function}],
            "messages": [{"name": "f", "input_schema": SCHEMA}],
            "responses": [{"type": "function", **function}],
        }[cell.protocol]
    return asked


@pytest.mark.parametrize("tiers", [1, 2], ids=["alone", "with-another"])
@pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])
def test_a_fault_has_its_consequence(gate: Gateway, closed: str, cell: Cell, tiers: int) -> None:
    faulty: dict[str, Any] = {"protocol": cell.protocol}
    if cell.refused:
        faulty["base_url"] = f"{closed}/v1/"
    if cell.silent:
        faulty["endpoint"] = {"header_timeout_s": BRIEF_S, "idle_timeout_s": BRIEF_S}
    gate.use(
        document(
            gate.upstream,
            *("ab"[:tiers]),
            policy={"retry": {"max_attempts": 2}},
            deployments={"a": faulty, "b": {"protocol": cell.protocol}},
        )
    )
    gate.script("a", cell.step)
    answer = gate.post(body(cell), PATHS[cell.protocol])
    moved = cell.expected.moves and tiers == 2
    check_calls(gate, cell.expected, moved)
    if not (cell.silent and cell.expected is GOOD):  # else the upstream keeps its end open
        gate.until(lambda: gate.provider.calls()["concurrent"] == 0)
    gate.drop_connections()  # the upstream may have closed one that the gateway still keeps
    check_answer(cell, answer, moved)


def check_calls(gate: Gateway, expected: Expected, moved: bool) -> None:
    assert (gate.calls("a"), gate.calls("b")) == (expected.calls, int(moved))
    assert gate.active == 0
    record = gate.record
    assert record["halt"] == ("succeeded" if moved else expected.halt)
    assert len(gate.records) == 1
    attempts = record["attempts"]
    assert [attempt["n"] for attempt in attempts] == list(range(1, len(attempts) + 1))
    if expected.visible:
        assert attempts[-1]["visible_events"] >= 1


def check_answer(cell: Cell, answer: Answer, moved: bool) -> None:
    expected = cell.expected
    good = moved or expected.halt == "succeeded"
    assert answer.status == (200 if good else expected.status)
    if cell.stream and answer.status == 200:
        check_stream(cell, answer, good)
        return
    assert answer.halt == ("succeeded" if moved else expected.halt)
    if good:
        assert "error" not in answer.json or answer.json["error"] is None
        return
    error = answer.error
    assert error["message"]
    if expected.code is not None:
        assert error["code"] == expected.code
    if cell.protocol == "messages":
        assert answer.json["type"] == "error"
    if expected.halt == "ineligible-failure":
        assert answer.headers["x-should-retry"] == "false"
    if answer.status == 429:
        assert int(answer.headers["retry-after"]) >= 1


def check_stream(cell: Cell, answer: Answer, good: bool) -> None:
    assert answer.headers["content-type"].startswith("text/event-stream")
    for data in answer.events:
        assert data == "[DONE]" or isinstance(json.loads(data), dict)
    marked = cell.protocol in ("chat-completions", "completions")
    assert answer.events.count("[DONE]") == int(good and marked)
    errors = [frame for frame in answer.frames if frame.get("error")]
    assert len(errors) == int(not good)
    if good:
        last = {"messages": "message_stop", "responses": "response.completed"}
        if not marked:
            assert answer.frames[-1]["type"] == last[cell.protocol]
    else:
        assert answer.frames[-1] is not None
        assert errors[0] == answer.frames[-1]
        assert errors[0]["error"]["code"] == cell.expected.code
