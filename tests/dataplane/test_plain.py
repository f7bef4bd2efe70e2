"""What a client of the inference API sees besides the answer itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.adapters.sealing import Secret
from routeradmin.dataplane.client import header_value
from routeradmin.services.secrets import Opened
from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, SECRET, Gateway, chat

TRACED = {"x-routeradmin-trace": "1"}


def test_headers_say_who_answered(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"), revision=12)
    answer = gate.post(headers={"x-request-id": "mine-1"})
    assert answer.status == 200
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.headers["x-routeradmin-route"] == "chat"
    assert answer.headers["x-routeradmin-deployment"] == "a"
    assert answer.headers["x-routeradmin-revision"] == "12"
    assert answer.headers["x-routeradmin-attempts"] == "1"
    assert answer.headers["x-routeradmin-halt"] == "succeeded"
    assert float(answer.headers["x-routeradmin-overhead-ms"]) >= 0
    assert "server" not in gate.last_call()["headers"]


def test_names_of_any_script_fit_into_headers() -> None:
    assert header_value("acme/größe:50%") == b"acme/gr%C3%B6%C3%9Fe:50%"
    assert header_value("a\r\nb") == b"a%0D%0Ab"


def test_the_answer_is_passed_on_as_it_is(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    body = '{ "choices":[{"x":1.50}], "novel": {"z":1,"a":[]} }\n'
    gate.script("a", {"body": body})
    assert gate.post().body.decode() == body


@pytest.mark.parametrize("stream", [False, True])
def test_half_a_character_is_passed_on_as_it_is_spelled(gate: Gateway, stream: bool) -> None:
    """Who cuts a text in the middle of a character, or streams it in halves, writes such."""
    gate.use(document(gate.upstream, "a"))
    whole = r'{"choices":[{"message":{"content":"cut \ud83d"}}]}'
    frames = [
        r'data: {"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}' + "\n\n",
        r'data: {"choices":[{"index":0,"delta":{"content":"\ude00"},"finish_reason":"stop"}]}'
        + "\n\n",
        "data: [DONE]\n\n",
    ]
    kind = {"headers": {"content-type": "text/event-stream"}}
    gate.script("a", {"chunks": frames, **kind} if stream else {"body": whole})
    asked = rb'{"model":"chat","messages":[{"role":"user","content":"cut \ud83d"}],"stream":%s}'
    answer = gate.post(asked % (b"true" if stream else b"false"))
    assert answer.status == 200
    assert answer.body.decode() == ("".join(frames) if stream else whole)


@pytest.mark.parametrize("said", ["messages", "chat-completions"])
def test_half_a_character_is_an_unknown_one_in_another_protocol(gate: Gateway, said: str) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": said}}))
    path = "/v1/chat/completions" if said == "messages" else "/v1/messages"
    bodies = {
        "messages": r'{"type":"message","id":"m","role":"assistant","model":"a",'
        r'"stop_reason":"end_turn",'
        r'"usage":{"input_tokens":1,"output_tokens":1},'
        r'"content":[{"type":"text","text":"cut \ud83d"}]}',
        "chat-completions": r'{"object":"chat.completion","id":"c","model":"a","choices":'
        r'[{"index":0,"finish_reason":"stop",'
        r'"message":{"role":"assistant","content":"cut \ud83d"}}]}',
    }
    gate.script("a", {"body": bodies[said]})
    asked = rb'{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"cut \ud83d"}]}'
    answer = gate.post(asked, path)
    assert answer.status == 200
    assert "cut \ufffd" in answer.body.decode()


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, br"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_in_an_unknown_encoding_is_said_to_be_one(
    gate: Gateway, encoding: str, stream: bool
) -> None:
    gate.use(document(gate.upstream, "a", policy={"retry": {"max_attempts": 1}}))
    kind = "text/event-stream" if stream else "application/json"
    headers = {"content-encoding": encoding, "content-type": kind}
    gate.script("a", {"headers": headers, "body": {"base64": "GwwA+KU="}})
    answer = gate.post(stream=stream, headers={"accept-encoding": "br, zstd"})
    assert (answer.status, answer.halt) == (502, "exhausted")
    assert "compressed in a way that cannot be read" in answer.error["message"]
    attempt = gate.record["attempts"][0]
    assert (attempt["class"], attempt["dispatch"]) == ("transient", "accepted")
    assert gate.last_call()["headers"]["accept-encoding"] == "identity"


def test_the_turn_record_comes_on_request(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", policy={}))
    gate.script("a", {"status": 500}, repeat="once")
    answer = gate.post(headers=TRACED)
    turn = answer.json["routeradmin"]
    assert turn == json.loads(json.dumps(gate.record))
    assert [attempt["class"] for attempt in turn["attempts"]] == ["transient", None]
    assert turn["halt"] == "succeeded"
    assert turn["request_id"] == answer.headers["x-request-id"]
    assert "routeradmin" not in gate.post().json


@pytest.mark.parametrize("protocol", ["chat-completions", "messages", "responses"])
def test_a_streams_record_is_in_its_last_chunk(gate: Gateway, protocol: str) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": protocol}}))
    path = {"messages": "/v1/messages", "responses": "/v1/responses"}.get(
        protocol, "/v1/chat/completions"
    )
    body = chat(stream=True, max_tokens=9)
    if protocol == "responses":
        body = {"model": "chat", "input": "?", "stream": True}
    answer = gate.post(body, path, headers=TRACED)
    assert answer.frames[-1]["routeradmin"]["halt"] == "succeeded"
    if protocol != "chat-completions":
        last = {"messages": "message_stop", "responses": "response.completed"}
        assert answer.frames[-1]["type"] == last[protocol]
    gate.script("a", {"break_after": "text"})
    answer = gate.post(body, path, headers=TRACED)
    assert answer.frames[-1]["routeradmin"]["halt"] == "visible-output"
    assert answer.frames[-1]["error"]


@pytest.mark.parametrize(
    ("path", "protocol", "last"),
    [
        ("/v1/messages", "chat-completions", "message_stop"),
        ("/v1/chat/completions", "messages", None),
    ],
)
def test_a_translated_streams_record_is_in_its_last_chunk_too(
    gate: Gateway, path: str, protocol: str, last: str | None
) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": protocol}}))
    answer = gate.post(chat(stream=True, max_tokens=9), path, headers=TRACED)
    assert answer.frames[-1]["routeradmin"]["halt"] == "succeeded"
    assert answer.frames[-1].get("type") == last
    assert sum("routeradmin" in frame for frame in answer.frames) == 1
    untraced = gate.post(chat(stream=True, max_tokens=9), path)
    kinds = [frame.get("type") for frame in answer.frames]
    assert [frame.get("type") for frame in untraced.frames] == (kinds if last else kinds[:-1])


def test_counting_tokens_is_never_a_stream(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": "messages"}}))
    answer = gate.post(chat(stream=True), "/v1/messages/count_tokens")
    assert answer.status == 200
    assert answer.json["input_tokens"] > 0
    assert gate.state("a").failures == 0


def test_the_record_comes_with_a_refusal_too(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"status": 401})
    assert gate.post(headers=TRACED).json["routeradmin"]["halt"] == "ineligible-failure"


def test_records_hold_neither_prompt_nor_answer(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"text": "forty-two exactly"})
    gate.post({**chat(), "messages": [{"role": "user", "content": "a private question"}]})
    said = json.dumps(gate.records)
    assert "private" not in said
    assert "forty" not in said


def test_usage_is_settled_on_the_lease(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"tpm_limit": 100_000}}))
    gate.script("a", {"usage": {"prompt_tokens": 30, "completion_tokens": 12}})
    gate.post(max_tokens=500)
    assert gate.state("a").tpm_used == 42
    assert gate.record["attempts"][0]["usage"] == {"input": 30, "output": 12}


@pytest.mark.parametrize("stream", [True, False])
def test_usage_that_is_not_reported_stays_unknown_but_counts(gate: Gateway, stream: bool) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"usage": None})
    gate.post(stream=stream)
    assert gate.record["attempts"][0]["usage"] == {"input": None, "output": None}
    assert gate.state("a").tpm_used > 0


def test_a_prompt_is_weighed_without_any_output(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"protocol": "completions"}}))
    asked = {"model": "chat", "prompt": "x", "max_tokens": 0, "echo": True, "logprobs": 1}
    assert gate.post(asked, "/v1/completions").status == 200
    assert gate.last_call()["body"] == {**asked, "model": "a"}


def test_a_failure_gives_its_estimate_back(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"status": 400})
    gate.post(max_tokens=500)
    assert gate.state("a").tpm_used == 0


def test_a_stream_measures_the_time_to_its_first_token(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"delay_ms": 30, "chunk_delay_ms": 5, "words": 8})
    gate.post(stream=True)
    assert gate.record["attempts"][0]["ttft_ms"] >= 30
    assert gate.state("a").latencies_ms[0] > gate.state("a").ttfts_ms[0]
    assert gate.record["attempts"][0]["visible_events"] >= 8


class TestKeyLimits:
    def test_are_told_with_every_answer(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        gate.key(rpm_limit=2, tpm_limit=10_000)
        first, second, third = gate.post(), gate.post(stream=True), gate.post()
        assert first.headers["x-ratelimit-limit-requests"] == "2"
        assert first.headers["x-ratelimit-remaining-requests"] == "1"
        assert first.headers["x-ratelimit-reset-requests"] == "60s"
        assert int(first.headers["x-ratelimit-remaining-tokens"]) < 10_000
        assert second.headers["x-ratelimit-remaining-requests"] == "0"
        assert (third.status, third.halt) == (429, "limit-refused")
        assert third.headers["x-ratelimit-remaining-requests"] == "0"
        assert third.error["code"] == "rate_limit_exceeded"
        assert gate.calls() == 2
        gate.clock.advance(60)
        assert gate.post().status == 200

    def test_hold_for_requests_under_way(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        gate.key(max_parallel_requests=1)
        gate.script("a", {"chunk_delay_ms": 20})
        with gate.open_stream() as connection:
            connection.recv(4096)
            assert gate.post().status == 429
        gate.until(lambda: gate.active == 0)
        assert gate.post().status == 200

    def test_count_tokens_by_the_day(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        gate.key(tokens_per_day=50)
        gate.script("a", {"usage": {"prompt_tokens": 40, "completion_tokens": 10}})
        assert gate.post().status == 200
        refused = gate.post()
        assert (refused.status, refused.headers["retry-after"]) == (429, "86400")
        gate.clock.advance(86_400)
        assert gate.post().status == 200


class TestRefusals:
    @pytest.mark.parametrize(
        ("method", "path", "status", "code"),
        [
            ("GET", "/v1/nothing", 404, "not_found"),
            ("POST", "/v1", 404, "not_found"),
            ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
            ("POST", "/v1/models", 405, "method_not_allowed"),
            ("POST", "/v1/messages/batches", 404, "not_found"),
        ],
    )
    def test_come_in_the_dialects_shape(
        self, gate: Gateway, method: str, path: str, status: int, code: str
    ) -> None:
        answer = gate.request(method, path, b"{}" if method == "POST" else None)
        assert answer.status == status
        assert answer.error["code"] == code
        assert ("type" in answer.json) == path.startswith("/v1/messages")

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/embeddings"])
    @pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"model": "\xff"}'])
    def test_of_what_is_no_object(self, gate: Gateway, path: str, raw: bytes) -> None:
        answer = gate.post(raw, path)
        assert (answer.status, answer.error["code"]) == (400, "invalid_json")

    def test_of_headers_that_make_no_sense(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        for name in ("deadline-ms", "input-tokens"):
            answer = gate.post(headers={f"x-routeradmin-{name}": "soon"})
            assert (answer.status, answer.error["param"]) == (400, f"x-routeradmin-{name}")

    def test_of_missing_keys_and_scopes(self, gate: Gateway) -> None:
        gate.key("rk_only-reads", scopes=frozenset({"read"}))
        assert gate.request("POST", "/v1/messages", b"{}", key=None).json["type"] == "error"
        answer = gate.post(key="rk_only-reads")
        assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")
        answer = gate.request("POST", "/v1/messages", b"{}", headers={"x-api-key": KEY}, key=None)
        assert answer.status == 400


class TestAMixedRoute:
    """One deployment of each protocol in one tier."""

    @pytest.fixture(autouse=True)
    def _mixed(self, gate: Gateway) -> None:
        gate.use(
            document(
                gate.upstream,
                ["a", "an"],
                policy={},
                deployments={"an": {"protocol": "messages"}},
                strategy="round_robin",
            )
        )

    @pytest.mark.parametrize("stream", [True, False])
    def test_serves_clients_of_both(self, gate: Gateway, stream: bool) -> None:
        for _ in range(2):
            answer = gate.post(stream=stream)
            assert answer.status == 200
            if stream:
                assert answer.text
                assert answer.events[-1] == "[DONE]"
            else:
                assert answer.json["object"] == "chat.completion"
            said = gate.post(chat(stream=stream, max_tokens=20), "/v1/messages")
            assert said.status == 200
            if stream:
                assert said.frames[-1]["type"] == "message_stop"
            else:
                assert said.json["type"] == "message"
        assert (gate.calls("a"), gate.calls("an")) == (2, 2)

    def test_keeps_to_those_that_can_say_it(self, gate: Gateway) -> None:
        for _ in range(3):
            answer = gate.post(logit_bias={"50256": -100})
            assert answer.headers["x-routeradmin-deployment"] == "a"

    def test_falls_back_across_protocols(self, gate: Gateway) -> None:
        gate.script("a", {"status": 500})
        for stream in (True, False):
            for _ in range(2):
                assert gate.post(stream=stream).status == 200

    def test_puts_errors_into_the_clients_words(self, gate: Gateway) -> None:
        gate.script("*", {"status": 400, "error": {"message": "too long a tale"}})
        for _ in range(2):
            answer = gate.post()
            assert (answer.status, answer.error["message"]) == (400, "too long a tale")
            assert answer.json.keys() == {"error"}
            answer = gate.post(chat(max_tokens=20), "/v1/messages")
            assert (answer.status, answer.error["message"]) == (400, "too long a tale")
            assert answer.error["type"] == "invalid_request_error"


def test_a_session_stays_with_its_candidate(gate: Gateway) -> None:
    names = ["a", "b", "c", "d"]
    gate.use(document(gate.upstream, names, affinity_ttl_s=60))
    served = [
        gate.post(headers={"x-routeradmin-session": "s"}).headers["x-routeradmin-deployment"]
        for _ in range(12)
    ]
    assert len(set(served)) == 1


def test_rules_see_tags_and_headers(gate: Gateway) -> None:
    rule: dict[str, Any] = {"id": "r", "route_id": "chat", "only": ["b"]}
    for when, headers in (
        ({"tags": ["eu"]}, {"x-routeradmin-tags": "eu, fast"}),
        ({"header": {"x-team": "blue"}}, {"x-team": "blue"}),
    ):
        gate.use(document(gate.upstream, ["a"], ["b"], rules=[{**rule, "when": when}]))
        assert gate.post().headers["x-routeradmin-deployment"] == "a"
        assert gate.post(headers=headers).headers["x-routeradmin-deployment"] == "b"


def test_a_credential_that_left_the_catalog_meanwhile_costs_an_attempt_not_the_turn(
    gate: Gateway,
) -> None:
    gate.use(document(gate.upstream, ["a", "b"], strategy="fill_first"))
    gate.runtime.secrets.swap(Opened({"b": Secret(SECRET.format("b"))}))
    answer = gate.post()
    assert (answer.status, answer.headers["x-routeradmin-deployment"]) == (200, "b")
    left, served = gate.record["attempts"]
    assert (left["class"], left["dispatch"], served["class"]) == ("transient", "not-sent", None)
    assert "'a'" in left["message"]
    assert gate.active == 0
