"""A secret that is replaced with one process is out of use with all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.process.server import Server
from tests.scaleout.system import System

pytestmark = [pytest.mark.services, pytest.mark.slow]

ANSWER = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "hello"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()
CATALOG = """
format = "routeradmin.catalog/1"

[[endpoints]]
id = "box"
account_id = "keyed"
base_url = "http://127.0.0.1:PORT/v1/"

[[models]]
id = "small"
upstream_name = "small"

[[serving_models]]
id = "one"
endpoint_id = "box"
model_id = "small"
protocol = "chat-completions"

[[routes]]
id = "keyed"
alias = "keyed"

[[targets]]
id = "keyed-one"
route_id = "keyed"
serving_model_id = "one"
position = 0
"""


class Upstream(ThreadingHTTPServer):
    """Answers every chat and remembers with which secret it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.secrets: list[str] = []


class Answering(BaseHTTPRequestHandler):
    server: Upstream

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.secrets.append(self.headers["authorization"])
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def chat(server: Server) -> None:
    messages = [{"role": "user", "content": "hi"}]
    answer = server.call("POST", "/v1/chat/completions", {"model": "keyed", "messages": messages})
    assert answer.status == 200, answer.body


def test_no_process_goes_on_with_the_old_secret(
    four: list[Server], system: System, upstream: Upstream
) -> None:
    one, two = four[:2]
    one.post("/api/v1/providers", {"id": "keyer", "category": "lab"})
    keyed = {"id": "keyed", "provider_id": "keyer", "auth_kind": "bearer"}
    secret = {"billing_kind": "metered", "secret": "first-secret-of-two"}
    one.post("/api/v1/credentials", {**keyed, **secret})
    catalog = CATALOG.replace("PORT", str(upstream.server_address[1]))
    system.put_catalog(one, catalog.encode(), mode="merge")
    system.wait_for_revision(four, 1.0)
    for server in (one, two):
        chat(server)
    assert upstream.secrets == ["Bearer first-secret-of-two"] * 2
    upstream.secrets.clear()
    one.post("/api/v1/credentials/keyed/secret", {"secret": "second-secret-of-two"})
    system.wait_for_revision(four, 1.0)
    for server in (one, two):
        chat(server)
    assert upstream.secrets == ["Bearer second-secret-of-two"] * 2
