"""Retry, rotation, fallback and halts, seen from outside."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dataplane.catalogs import document
from tests.dataplane.serving import KEY, Answer, Gateway

RATE_LIMITED = {"status": 429}
BROKEN = {"status": 500}
SECONDS = {"backoff_base_ms": 500}


def limited(seconds: int) -> dict[str, Any]:
    return {"status": 429, "headers": {"retry-after": str(seconds)}}


def calls(gate: Gateway, names: str) -> list[int]:
    return [gate.calls(name) for name in names]


def assert_halted(answer: Answer, halt: str, status: int, code: str | None = None) -> None:
    assert (answer.halt, answer.status) == (halt, status)
    if code is not None:
        assert answer.error["code"] == code


def test_timeouts_are_tried_as_often_as_rounds_and_auth_errors_once(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", policy={"retry": {"max_attempts": 3}}))
    gate.script("a", {"status": 504})
    assert_halted(gate.post(), "exhausted", 502, "upstream_error")
    assert gate.calls("a") == 3
    gate.script("a", {"status": 401})
    gate.clock.advance(10)
    answer = gate.post()
    assert_halted(answer, "ineligible-failure", 502, "upstream_auth_error")
    assert answer.headers["x-should-retry"] == "false"
    assert gate.calls("a") == 4


def test_a_general_list_is_followed_as_far_as_allowed(gate: Gateway) -> None:
    policy = {
        "retry": {"max_attempts": 1},
        "turn": {"max_fallback_routes": 1},
        "fallback": {"general": ["x", "y"]},
    }
    routes = [{"id": "x", "alias": "x"}, {"id": "y", "alias": "y"}]
    targets = [("x", "xx", 0), ("y", "yy", 0)]
    more: dict[str, dict[str, Any]] = {"xx": {}, "yy": {}}
    gate.use(
        document(
            gate.upstream,
            "a",
            policy=policy,
            deployments=more,
            routes=routes,
            more_targets=targets,
            fallback_enabled=True,
        )
    )
    gate.script("a", BROKEN)
    answer = gate.post()
    assert answer.status == 200
    assert answer.headers["x-routeradmin-deployment"] == "xx"
    gate.script("xx", BROKEN)
    assert_halted(gate.post(), "exhausted", 502)
    assert gate.calls("yy") == 0


def test_a_rate_limit_list_is_for_rate_limits_and_context_has_its_own(gate: Gateway) -> None:
    policy = {
        "retry": {"max_attempts": 1},
        "fallback": {"general": ["g"], "rate_limit": ["r", "chat"]},
    }
    routes = [{"id": "g", "alias": "g"}, {"id": "r", "alias": "r"}]
    gate.use(
        document(
            gate.upstream,
            "a",
            policy=policy,
            deployments={"gg": {}, "rr": {}},
            routes=routes,
            more_targets=[("g", "gg", 0), ("r", "rr", 0)],
            aliases=[{"name": "other", "target": "chat"}],
            fallback_enabled=True,
        )
    )
    too_long = {"status": 400, "error": {"code": "context_length_exceeded"}}
    for model in ("chat", "other"):
        gate.clock.advance(10)
        gate.script("a", limited(1), too_long, BROKEN)
        assert gate.post(model=model).headers["x-routeradmin-deployment"] == "rr"
        gate.clock.advance(2)
        refused = gate.post(model=model)
        assert_halted(refused, "ineligible-failure", 400, "context_length_exceeded")
        assert gate.calls("gg") == (model == "other")
        assert gate.post(model=model).headers["x-routeradmin-deployment"] == "gg"


@pytest.mark.parametrize(
    ("steps", "waits"),
    [
        ([BROKEN] * 2, [1, 2]),
        ([BROKEN] * 3, [1, 2, 4]),
        ([limited(60)], [30]),
        ([limited(5)], [5]),
        ([limited(0)], [1]),
        ([limited(1), limited(2), limited(3)], [1, 2, 4]),
    ],
)
def test_rounds_wait_for_the_longer_of_backoff_and_hint(
    gate: Gateway, steps: list[dict[str, Any]], waits: list[float]
) -> None:
    gate.use(document(gate.upstream, "a", policy={"retry": SECONDS}))
    gate.script("a", *steps, repeat="once")
    answer = gate.post(headers={"x-routeradmin-trace": "1"})
    assert answer.status == 200
    assert gate.slept == pytest.approx(waits)
    turn = answer.json["routeradmin"]
    assert [attempt["waited_ms"] for attempt in turn["attempts"]] == [0, *(w * 1000 for w in waits)]
    assert [warning["code"] for warning in turn["warnings"]] == ["turn-retried"] * len(waits)


def test_four_failures_exhaust_a_single_target(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", policy={"retry": SECONDS}))
    gate.script("a", BROKEN)
    answer = gate.post()
    assert_halted(answer, "exhausted", 502)
    assert "(after 4 attempts)" in answer.error["message"]
    assert gate.slept == pytest.approx([1, 2, 4])
    assert answer.headers["x-routeradmin-attempts"] == "4"


@pytest.mark.parametrize("tiers", [["a"], ["a", "b"]])
def test_a_wait_beyond_the_deadline_is_not_started(gate: Gateway, tiers: list[str]) -> None:
    gate.use(document(gate.upstream, *tiers, policy={"retry": SECONDS}))
    gate.script("a", limited(30))
    answer = gate.post(headers={"x-routeradmin-deadline-ms": "5000"})
    assert gate.slept == []
    if len(tiers) == 1:
        assert_halted(answer, "exhausted", 429)
        assert "(after 1 attempt)" in answer.error["message"]
        assert int(answer.headers["retry-after"]) == 30
    else:
        assert answer.status == 200


class TestTwoTargets:
    """The second tier is there, and what becomes of the first decides whether it is used."""

    @pytest.fixture(autouse=True)
    def two(self, gate: Gateway) -> None:
        gate.use(document(gate.upstream, "a", "b", policy={"retry": {"max_attempts": 1}}))

    def test_a_rejected_key_ends_the_turn(self, gate: Gateway) -> None:
        gate.script("a", {"status": 401})
        assert_halted(gate.post(), "ineligible-failure", 502, "upstream_auth_error")
        assert calls(gate, "ab") == [1, 0]

    def test_visible_text_is_never_replayed(self, gate: Gateway) -> None:
        gate.script("a", {"break_after": "text"})
        answer = gate.post(stream=True)
        assert answer.status == 200
        assert answer.frames[-1]["error"]["code"] == "upstream_error"
        assert "[DONE]" not in answer.events
        assert calls(gate, "ab") == [1, 0]
        assert gate.record["halt"] == "visible-output"
        assert gate.record["attempts"][0]["visible_events"] >= 1

    def test_a_key_without_requests_left_gets_no_second_attempt(self, gate: Gateway) -> None:
        gate.key(rpm_limit=1)
        gate.script("a", BROKEN)
        answer = gate.post()
        assert_halted(answer, "limit-refused", 429, "rate_limit_exceeded")
        assert int(answer.headers["retry-after"]) == 60
        assert calls(gate, "ab") == [1, 0]

    def test_a_quota_moves_on_at_once(self, gate: Gateway) -> None:
        gate.script("a", {"status": 402})
        assert gate.post().status == 200
        assert calls(gate, "ab") == [1, 1]
        assert gate.slept == []

    def test_an_unanswered_request_is_ambiguous_where_replay_is_off(self, gate: Gateway) -> None:
        policy = {"turn": {"replay_unanswered": False}}
        endpoint = {"header_timeout_s": 0.2}
        gate.use(document(gate.upstream, "a", "b", policy=policy, endpoint=endpoint))
        gate.script("a", {"silence": True})
        answer = gate.post()
        assert_halted(answer, "ambiguous-dispatch", 502, "ambiguous_dispatch")
        assert answer.headers["x-should-retry"] == "false"
        assert calls(gate, "ab") == [1, 0]


def test_one_attempt_in_total_is_an_attempt_bound(gate: Gateway) -> None:
    policy = {"retry": {"max_attempts": 1}, "turn": {"max_turn_attempts": 1, "max_targets": 1}}
    gate.use(document(gate.upstream, "a", "b", policy=policy))
    gate.script("a", BROKEN)
    assert_halted(gate.post(), "attempt-bound", 502)
    assert calls(gate, "ab") == [1, 0]


@pytest.mark.parametrize("rotates", [True, False])
def test_a_stream_starts_over_with_the_next_credential_before_its_first_byte(
    gate: Gateway, rotates: bool
) -> None:
    policy = {
        "retry": {"stream_max_attempts": 2 if rotates else 1},
        "turn": {"move_on_unauthorized": True, "rotate": rotates},
    }
    keys = {"a": {"keys": ["k1", "k2"]}}
    gate.use(document(gate.upstream, "a", policy=policy, deployments=keys, strategy="fill_first"))
    gate.script("a", {"status": 401}, repeat="once")
    answer = gate.post(stream=True)
    tried = [attempt["credential"] for attempt in gate.record["attempts"]]
    if rotates:
        assert answer.text
        assert answer.events[-1] == "[DONE]"
        assert not any("error" in frame for frame in answer.frames)
        assert (gate.calls("a"), tried) == (2, ["k1", "k2"])
    else:
        assert answer.status == 502
        assert (gate.calls("a"), tried) == (1, ["k1"])


def test_a_stream_that_is_unauthorized_after_its_first_byte_does_not_start_over(
    gate: Gateway,
) -> None:
    policy = {"turn": {"move_on_unauthorized": True}}
    keys = {"a": {"keys": ["k1", "k2"]}}
    gate.use(document(gate.upstream, "a", policy=policy, deployments=keys, strategy="fill_first"))
    gate.script("a", {"error_in_200": {"code": "invalid_api_key"}, "error_after": "text"})
    answer = gate.post(stream=True)
    assert answer.status == 200
    assert "error" in answer.frames[-1]
    assert gate.calls("a") == 1
    assert gate.record["halt"] == "visible-output"


def test_round_robin_takes_each_providers_keys_in_turn(gate: Gateway) -> None:
    keys = {"g": {"keys": ["gA", "gB"]}, "o": {"keys": ["oA", "oB"]}}
    gate.use(document(gate.upstream, ["g", "o"], deployments=keys, strategy="round_robin"))
    for _ in range(5):
        assert gate.post().status == 200
    served = [record["attempts"][0]["credential"] for record in gate.records]
    assert served == ["gA", "gB", "oA", "oB", "gA"]


def test_request_retry_three_is_four_rounds(gate: Gateway) -> None:
    policy = {"cooldown": {"enabled": False}, "turn": {"max_turn_attempts": 32}}
    keys = {"a": {"keys": ["k1", "k2", "k3"]}}
    gate.use(document(gate.upstream, "a", policy=policy, deployments=keys))
    gate.script("a", BROKEN)
    assert_halted(gate.post(), "exhausted", 502)
    assert gate.calls("a") == 12


@pytest.mark.parametrize(("max_wait_s", "status"), [(10, 200), (3, 429), (0, 429)])
def test_a_route_may_wait_for_a_recovery(gate: Gateway, max_wait_s: int, status: int) -> None:
    gate.use(
        document(
            gate.upstream,
            "a",
            policy={"retry": {"max_attempts": 1}},
            when_exhausted="wait",
            max_wait_s=max_wait_s,
        )
    )
    gate.script("a", limited(5), repeat="once")
    assert gate.post().status == 429
    gate.slept.clear()
    answer = gate.post()
    assert answer.status == status
    assert gate.slept == ([5] if status == 200 else [])
    if status == 429:
        assert answer.error["code"] == "model_cooldown"
        assert answer.headers["retry-after"] == "5"


def test_content_policy_goes_by_its_own_list_alone(gate: Gateway) -> None:
    lists: dict[str, Any] = {"general": ["b"]}
    refused = {"status": 400, "error": {"code": "content_policy_violation", "message": "x"}}

    def publish() -> None:
        gate.use(
            document(
                gate.upstream,
                "a",
                policy={"fallback": lists},
                deployments={"bb": {}, "cc": {}},
                routes=[{"id": "b", "alias": "b"}, {"id": "c", "alias": "c"}],
                more_targets=[("b", "bb", 0), ("c", "cc", 0)],
                fallback_enabled=True,
            )
        )

    publish()
    gate.script("a", refused)
    assert_halted(gate.post(), "ineligible-failure", 400, "content_policy_violation")
    assert gate.calls("bb") == 0
    assert gate.state("a").cooldown is None
    lists["content_policy"] = ["c"]
    publish()
    assert gate.post().headers["x-routeradmin-deployment"] == "cc"
    assert gate.calls("bb") == 0


def test_previews_serve_a_rate_limited_route(gate: Gateway) -> None:
    gate.use(
        document(
            gate.upstream,
            "a",
            deployments={"a": {"keys": ["k1"]}, "p": {"keys": ["k1"]}},
            preview=["p"],
            fallback_enabled=True,
        )
    )
    gate.script("a", RATE_LIMITED)
    assert gate.post().headers["x-routeradmin-deployment"] == "p"


def test_a_deadline_ends_a_silent_attempt(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"silence": True})
    answer = gate.post(headers={"x-routeradmin-deadline-ms": "100"})
    assert_halted(answer, "deadline", 504, "deadline_exceeded")
    assert gate.active == 0
    assert gate.state("a").failures == 0


def test_every_attempt_of_a_turn_carries_the_same_idempotency_key(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", policy={}))
    gate.script("a", BROKEN, repeat="once")
    gate.post()
    gate.post(headers={"idempotency-key": "mine"})
    keys = [call["idempotency_key"] for call in gate.provider.calls()["requests"]]
    assert keys[0] == keys[1] != keys[2] == "mine"
    assert keys[0]


def test_a_target_disabled_meanwhile_is_skipped(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", "b", deployments={"a": {"admin_state": "disabled"}}))
    assert gate.post().headers["x-routeradmin-deployment"] == "b"
    gate.use(document(gate.upstream, "a", deployments={"a": {"admin_state": "disabled"}}))
    answer = gate.post()
    assert_halted(answer, "exhausted", 503, "no_available_deployment")
    assert answer.headers["x-should-retry"] == "false"


def test_nothing_that_fits_is_unsupported(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a", deployments={"a": {"capabilities": {"tools": False}}}))
    tools = [{"type": "function", "function": {"name": "f"}}]
    answer = gate.post(tools=tools)
    assert answer.status == 400
    assert answer.error["code"] == "unsupported"
    assert answer.error["reasons"] == ["tools"]
    assert answer.halt is None
    assert gate.calls() == 0


def test_a_key_is_held_to_its_routes(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.key("rk_another-key-0123456789", routes=frozenset({"other"}))
    answer = gate.post(key="rk_another-key-0123456789")
    assert answer.status == 403
    assert answer.error["code"] == "model_access_denied"
    assert KEY not in answer.body.decode()


def test_a_deadline_ends_a_stream_with_an_error(gate: Gateway) -> None:
    gate.use(document(gate.upstream, "a"))
    gate.script("a", {"chunk_delay_ms": 50, "words": 100})
    answer = gate.post(stream=True, headers={"x-routeradmin-deadline-ms": "200"})
    assert answer.status == 200
    assert answer.frames[-1]["error"]["code"] == "deadline_exceeded"
    assert "[DONE]" not in answer.events
    assert gate.record["halt"] == "deadline"
    assert gate.state("a").failures == 0
    gate.until(lambda: gate.provider.calls()["open_streams"] == 0)
