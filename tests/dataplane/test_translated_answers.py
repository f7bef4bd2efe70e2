"""Answers of ordinary shapes that come in the other protocol: nobody's fault, and paid for once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dataplane.catalogs import document
from tests.dataplane.evil import Evil, beside
from tests.dataplane.fault_table import GOOD
from tests.dataplane.serving import Gateway

ASKED: dict[str, Any] = {
    "model": "chat",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Write it down."}],
    "tools": [{"name": "write", "input_schema": {"type": "object"}}],
}
CUT = '{"path": "/tmp/x", "text": "abc'


def said(finish: str, arguments: str, *, stream: bool) -> bytes:
    function = {"name": "write", "arguments": arguments}
    call = {"index": 0, "id": "t1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    what = "delta" if stream else "message"
    choice = {"index": 0, what: message, "finish_reason": finish}
    document = json.dumps({"id": "x", "model": "m", "choices": [choice]}).encode()
    if not stream:
        return http(document, b"application/json")
    return http(b"data: %b\n\ndata: [DONE]\n\n" % document, b"text/event-stream")


def http(body: bytes, kind: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    return head % (kind, len(body)) + body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("finish", "arguments", "stop"),
    [
        ("length", CUT, "max_tokens"),
        ("content_filter", CUT, "refusal"),
        ("stop", "{}", "tool_use"),
        ("tool_calls", "", "tool_use"),
    ],
)
def test_a_tool_call_reaches_a_messages_client_however_it_ended(
    gate: Gateway, finish: str, arguments: str, stop: str, stream: bool
) -> None:
    answering = Evil(finish, stream, GOOD, (said(finish, arguments, stream=stream),))
    with beside(gate, answering) as upstream:
        gate.use(document(gate.upstream, "a", deployments={"a": {"base_url": upstream.url}}))
        answer = gate.post({**ASKED, "stream": stream}, "/v1/messages")
        assert (answer.status, upstream.calls) == (200, 1), answer.body[:300]
    if stream:
        assert f'"stop_reason":"{stop}"'.encode() in answer.body
        assert answer.body.rstrip().endswith(b'{"type":"message_stop"}')
    else:
        assert answer.json["stop_reason"] == stop
        assert answer.json["content"] == [
            {"type": "tool_use", "id": "t1", "name": "write", "input": {}}
        ]
    state = gate.state("a")
    assert (state.cooldown, state.failures) == (None, 0)
