"""Faults that users of gateways have reported, each as the behaviour that rules them out."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from routeradmin.adapters.sealing import Secret
from routeradmin.adapters.simulated import running_in_thread
from routeradmin.adapters.simulated.calls import fingerprint
from routeradmin.services.secrets import Opened
from tests.dataplane.catalogs import document
from tests.dataplane.serving import SECRET, Gateway, chat

ONE_ROUND = {"retry": {"max_attempts": 1}}


def frame(content: str | None = None, **choice: Any) -> str:
    delta = {} if content is None else {"content": content}
    body = {"choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}]}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


ROLE = 'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'
STOP = frame(finish_reason="stop")
END = STOP + "data: [DONE]\n\n"


def stream_of(*chunks: Any, **step: Any) -> dict[str, Any]:
    headers = {"content-type": "text/event-stream"}
    return {"chunks": list(chunks), "headers": headers, **step}


class TestEachWaitUsesTheNewestAnswer:
    def test_hints_that_grow_are_followed(self, gate: Gateway) -> None:
        retry = {"backoff_base_ms": 50, "max_server_delay_s": 3}
        gate.use(document(gate.upstream, "a", policy={"retry": retry}))
        hints = [{"status": 429, "headers": {"retry-after": str(n)}} for n in (1, 2, 3)]
        gate.script("a", *hints, repeat="once")
        assert gate.post().status == 200
        assert gate.slept == pytest.approx([1, 2, 3])
        assert [w["code"] for w in gate.record["warnings"]] == ["turn-retried"] * 3
        assert gate.calls("a") == 4


class TestAClientThatHangsUp:
    def test_is_no_failure_of_the_provider(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", policy={"cooldown": {"allowed_fails": 3}}))
        gate.script("a", {"chunk_delay_ms": 100})
        for n in range(1, 6):
            with gate.open_stream() as connection:
                connection.recv(4096)
            gate.until(lambda n=n: len(gate.records) == n)
        assert [record["halt"] for record in gate.records] == ["cancelled"] * 5
        assert gate.active == 0
        state = gate.state("a")
        assert (state.failures, state.cooldown, state.rate_level) == (0, None, 0)
        gate.until(lambda: gate.provider.calls()["aborted"] == 5)  # it may notice later than we
        gate.provider.clear_scripts()
        assert gate.post(stream=True).text

    def test_gives_its_slot_back_each_time(self, gate: Gateway) -> None:
        only_one = {"a": {"max_parallel_requests": 1}}
        gate.use(document(gate.upstream, "a", deployments=only_one))
        gate.script("a", {"chunk_delay_ms": 20})
        for _ in range(10):
            with gate.open_stream() as connection:
                connection.recv(4096)
                assert gate.active == 1
            gate.until(lambda: gate.active == 0)
        gate.until(lambda: gate.provider.calls()["open_streams"] == 0)
        assert gate.post().status == 200

    def test_before_the_answer_is_noticed_too(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        gate.script("a", {"silence": True})
        with gate.open_stream():
            gate.until(lambda: gate.calls("a") == 1)
        gate.until(lambda: gate.active == 0 and bool(gate.records))
        assert gate.record["halt"] == "cancelled"
        gate.until(lambda: gate.provider.calls()["aborted"] == 1)


class TestCircularFallbacks:
    def test_come_to_an_end(self, gate: Gateway) -> None:
        gate.use(
            document(
                gate.upstream,
                "a",
                policy={**ONE_ROUND, "fallback": {"general": ["r2"]}},
                deployments={"b": {}},
                routes=[{"id": "r2", "alias": "r2", "fallback_enabled": True, "policy_id": "q"}],
                more_targets=[("r2", "b", 0)],
                policies=[{"id": "q", "fallback": {"general": ["chat"]}}],
                fallback_enabled=True,
            )
        )
        gate.script("*", {"status": 503})
        answer = gate.post()
        assert answer.halt == "exhausted"
        assert (gate.calls("a"), gate.calls("b")) == (1, 1)

    def test_a_deployment_named_twice_is_visited_once(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", "a", "b", policy=ONE_ROUND))
        gate.script("*", {"status": 503})
        assert gate.post().halt == "exhausted"
        assert (gate.calls("a"), gate.calls("b")) == (1, 1)

    def test_our_own_refusals_call_nobody(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        answer = gate.post({"model": "chat"})
        assert answer.status == 400
        assert answer.error["param"] == "messages"
        assert gate.calls() == 0


class TestBrokenStreams:
    def test_nothing_is_replayed_once_text_is_out(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", "b"))
        gate.script("a", {"text": "Hel lo", "reset": "text", "break_nth": 2})
        answer = gate.post(stream=True)
        assert answer.text == "Hel lo"
        assert answer.frames[-1]["error"]["message"]
        assert '"stop"' not in answer.body.decode()
        assert (gate.calls("a"), gate.calls("b")) == (1, 0)
        assert gate.record["halt"] == "visible-output"

    def test_one_that_just_stops_is_no_success(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        gate.script("a", stream_of(ROLE, frame("Par"), frame("tial")))
        answer = gate.post(stream=True)
        assert answer.text == "Partial"
        assert "error" in answer.frames[-1]
        assert "[DONE]" not in answer.events
        state = gate.state("a")
        assert (state.successes, state.failures) == (0, 1)


class TestARateLimitInsideAStream:
    LIMITED = 'data: {"error":{"message":"slow down","code":429}}\n\n'

    def test_is_passed_over_where_there_is_another(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", "b", policy=ONE_ROUND))
        gate.script("a", stream_of(self.LIMITED, "data: [DONE]\n\n"))
        gate.script("b", {"text": "ok"})
        answer = gate.post(stream=True)
        assert answer.status == 200
        assert answer.text.strip() == "ok"
        assert answer.events.count("[DONE]") == 1
        cooldown = gate.state("a").cooldown
        assert cooldown is not None
        assert cooldown.until - cooldown.since == 1

    def test_becomes_the_status_where_there_is_none(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", policy=ONE_ROUND))
        gate.script("a", stream_of(self.LIMITED, "data: [DONE]\n\n"))
        answer = gate.post(stream=True)
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("split", [1, 2, 7, None])
def test_characters_survive_every_cut(gate: Gateway, split: int | None) -> None:
    text = "北京今天多云🙂"
    whole = (ROLE + frame(text) + END).encode()
    cuts = [whole.index("北".encode()) + 1, whole.index("🙂".encode()) + 2]
    pieces = [whole[: cuts[0]], whole[cuts[0] : cuts[1]], whole[cuts[1] :]]
    if split is not None:
        pieces = [whole[n : n + split] for n in range(0, len(whole), split)]
    chunks = [{"base64": b64encode(piece).decode()} for piece in pieces]
    gate.use(document(gate.upstream, "a"))
    gate.script("a", stream_of(*chunks))
    answer = gate.post(stream=True)
    assert answer.text == text
    assert len(answer.frames) == 3


class TestSecrets:
    def test_stay_out_of_connection_errors(self, gate: Gateway) -> None:
        with running_in_thread() as gone:
            pass
        gate.use(document(gone, "a", "b", policy=ONE_ROUND))
        answer = gate.post()
        assert answer.status == 502
        assert "'b'" in answer.error["message"]
        said = answer.body.decode() + repr(answer.headers) + json.dumps(gate.records)
        port = gone.rpartition(":")[2]
        assert not any(word in said for word in (SECRET.format("a"), SECRET.format("b"), port))

    @pytest.mark.parametrize("stream", [True, False])
    @pytest.mark.parametrize(
        "step",
        [
            {"status": 400, "error": {"message": "key {{secret}} is bad", "code": "{{secret}}"}},
            {"status": 401, "body": "no: {{secret}}"},
            {"text": "your key is {{secret}} indeed"},
            {"error_in_200": {"message": "not {{secret}}", "type": "{{secret}}"}},
            {"error_in_200": {"message": "{{secret}}"}, "error_after": "text"},
        ],
    )
    def test_that_an_upstream_quotes_are_masked(
        self, gate: Gateway, step: dict[str, Any], stream: bool
    ) -> None:
        gate.use(document(gate.upstream, "a", policy=ONE_ROUND))
        gate.script("a", step)
        answer = gate.post(stream=stream, headers={"x-routeradmin-trace": "1"})
        secret = SECRET.format("a")
        said = answer.body.decode() + repr(answer.headers) + json.dumps(gate.records)
        assert not any(secret[n : n + 8] in said for n in range(len(secret) - 7))


def test_a_packed_answer_is_read_whole(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"gzip": True, "text": "word " * 40})
    answer = gate.post()
    assert "word word" in answer.json["choices"][0]["message"]["content"]
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert "content-encoding" not in answer.headers
    assert gate.post(stream=True).text.startswith("word")


def test_frames_without_choices_do_no_harm(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    empty = 'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\n'
    bare = 'data: {"id":"x"}\n\n'
    gate.script("a", stream_of(bare, ROLE, frame("all"), bare, frame(" there"), empty, END))
    answer = gate.post(stream=True)
    assert answer.text == "all there"
    assert not any(f.get("usage") for f in answer.frames)
    assert gate.record["attempts"][0]["usage"] == {"input": 10, "output": 5}
    assert gate.state("a").tpm_used == 15


def test_comments_are_neither_data_nor_visible(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", "b", policy=ONE_ROUND))
    comment = ": PROCESSING\n\n"
    inside = 'data: {"choices":[{"index":0,\n: PROCESSING\ndata: "delta":{"content":"x"}}]}\n\n'
    gate.script("a", stream_of(comment, ROLE, comment, inside, comment, END))
    answer = gate.post(stream=True)
    assert answer.text == "x"
    assert not any(data.startswith(":") for data in answer.events)
    gate.script("a", stream_of(comment, comment))
    gate.script("b", {"text": "other"})
    assert gate.post(stream=True).text.strip() == "other"


@pytest.mark.parametrize("replay", [False, True])
def test_a_request_that_was_read_and_not_answered(gate: Gateway, replay: bool) -> None:
    gate.use(
        document(
            gate.upstream,
            "a",
            "b",
            policy={**ONE_ROUND, "turn": {"replay_unanswered": replay}},
            endpoint={"header_timeout_s": 0.2},
        )
    )
    gate.script("a", {"silence": True})
    answer = gate.post()
    assert gate.calls("a") == 1
    assert gate.calls("b") == int(replay)
    assert answer.halt == ("succeeded" if replay else "ambiguous-dispatch")


class TestModelNamesWithSlashes:
    @pytest.mark.parametrize("path", ["mistralai/mistral-7b", "mistralai%2Fmistral-7b"])
    def test_can_be_fetched(self, gate: Gateway, path: str) -> None:
        gate.use(document(gate.upstream, "a", alias="mistralai/mistral-7b"))
        listed = gate.get("/v1/models").json["data"]
        answer = gate.get(f"/v1/models/{path}")
        assert answer.status == 200
        assert answer.json == listed[0]
        assert answer.json["id"] == "mistralai/mistral-7b"

    def test_unknown_ones_are_404(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a"))
        answer = gate.get("/v1/models/no/such")
        assert (answer.status, answer.error["code"]) == (404, "model_not_found")
        answer = gate.post(chat("no/such"))
        assert (answer.status, answer.error["code"]) == (404, "model_not_found")


def limited(after: Any) -> dict[str, Any]:
    return {"status": 429, "headers": {"retry-after": str(after)}}


class TestCooldowns:
    def test_tell_the_client_when_to_come_back(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", "b", policy=ONE_ROUND))
        gate.script("a", limited(40))
        gate.script("b", limited(25), repeat="once")
        assert gate.post().status == 429
        gate.clock.advance(0.5)
        answer = gate.post()
        assert (answer.status, answer.headers["retry-after"]) == (429, "25")
        assert answer.error["code"] == "model_cooldown"
        assert answer.error["reset_seconds"] == 25
        assert (gate.calls("a"), gate.calls("b")) == (1, 1)
        gate.clock.advance(25.5)
        assert gate.post().headers["x-routeradmin-deployment"] == "b"

    def test_a_huge_hint_is_capped_and_can_be_cleared(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", policy=ONE_ROUND))
        gate.script("a", limited(568157))
        gate.post()
        gate.clock.advance(1799)
        answer = gate.post()
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        gate.clock.advance(2)
        gate.post()
        assert gate.calls("a") == 2

    @pytest.mark.parametrize("status", [429, 503])
    def test_dates_are_waits_too(self, gate: Gateway, status: int) -> None:
        gate.use(document(gate.upstream, "a", policy={"retry": {"max_attempts": 2}}))
        step = {"status": status, "headers": {"retry-after": "Thu, 01 Jan 2026 00:00:06 GMT"}}
        gate.script("a", step, repeat="once")
        assert gate.post().status == 200
        assert gate.slept == pytest.approx([6])

    def test_are_of_one_model_and_one_credential(self, gate: Gateway) -> None:
        keys: dict[str, dict[str, Any]] = {"m1": {"keys": ["k1", "k2"]}, "m2": {"keys": ["k1"]}}
        gate.use(
            document(
                gate.upstream,
                "m1",
                policy=ONE_ROUND,
                deployments=keys,
                routes=[{"id": "two", "alias": "two"}],
                more_targets=[("two", "m2", 0)],
                strategy="fill_first",
            )
        )
        gate.script("m1", limited(60), credential=SECRET.format("k1"))
        assert [gate.post().status for _ in range(2)] == [200, 200]
        served = [[a["credential"] for a in record["attempts"]] for record in gate.records]
        assert served == [["k1", "k2"], ["k2"]]
        assert gate.post(chat("two")).status == 200


def test_a_limit_of_three_means_three(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"rpm_limit": 3}}))
    answers = [gate.post() for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[3].error["code"] == "rate_limit_exceeded"
    assert gate.calls("a") == 3


def test_a_rotated_secret_is_used_at_once(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.post()
    gate.runtime.secrets.swap(Opened({"a": Secret("a-new-secret-0123456789")}))
    gate.post()
    used = [call["credential"] for call in gate.provider.calls()["requests"]]
    assert used == [fingerprint(SECRET.format("a")), fingerprint("a-new-secret-0123456789")]
