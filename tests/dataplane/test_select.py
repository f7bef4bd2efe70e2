"""Select over HTTP: what an answer holds, and who may ask."""

from __future__ import annotations

import pytest

from routeradmin.engine.objects import AdminState
from tests.conftest import FakeClock
from tests.dataplane.desk import Desk
from tests.engine.world import catalog, deployment, route


def test_an_answer_says_where_to_go_and_how_to_authenticate(desk: Desk) -> None:
    desk.publish(catalog([deployment("a", upstream="up-1")], route(["a"], id="chat", alias="m")))
    lease = desk.took("m", input_tokens=5)
    assert len(lease["lease_id"]) > 12
    assert (
        lease.items()
        >= {
            "generation": 1,
            "expires_at": "2026-01-01T00:02:00.000Z",
            "attempt": 1,
            "route": "chat",
            "deployment": "a",
            "credential": "k",
            "provider": "p",
            "model": "up-1",
            "protocol": "chat-completions",
            "base_url": "https://models.example.invalid/v1/",
            "auth": {"kind": "bearer", "header": "authorization", "secret": None},
            "strategy": "simple_shuffle",
            "revision": 1,
            "config_digest": "digest",
            "explanation": None,
        }.items()
    )


def test_no_output_and_the_least_top_p_are_wishes_too(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.took(input_tokens=5, max_output_tokens=0, top_p=0)


def test_every_key_of_the_documented_answer_is_there_and_no_other(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    documented = (
        "lease_id generation expires_at turn attempt route deployment credential provider model "
        "protocol base_url auth strategy revision config_digest explanation"
    )
    assert list(desk.took()) == documented.split()


def test_an_unknown_model_is_404_and_named_as_it_was_asked_for(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")], aliases={"old": "m"}))
    answer = desk.select("no/such-model")
    assert (answer.status, answer.code) == (404, "model_not_found")
    assert "no/such-model" in answer.error["message"]


@pytest.mark.parametrize("token", [None, "", "rk_wrong"])
def test_a_missing_or_wrong_key_is_401(desk: Desk, token: str | None) -> None:
    desk.publish(catalog([deployment("a")]))
    answer = desk.select(token=token)
    assert (answer.status, answer.code) == (401, "invalid_api_key")


def test_a_key_may_come_as_x_api_key(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.let("other", "rk_second", frozenset({"select"}))
    body = {"model": "m"}
    answer = desk.call(
        "POST", "/api/v1/select", body, token=None, headers=[("x-api-key", "rk_second")]
    )
    assert answer.status == 200


def test_a_key_without_the_scope_is_403(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.let("reader", "rk_reader", frozenset({"read"}))
    answer = desk.select(token="rk_reader")
    assert (answer.status, answer.code) == (403, "insufficient_scope")
    explained = desk.call("POST", "/api/v1/explain", {"model": "m"}, token="rk_reader")
    assert explained.status == 200


def test_secrets_need_their_own_scope(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.let("plain", "rk_plain", frozenset({"select"}))
    answer = desk.select(token="rk_plain", secret=True)
    assert (answer.status, answer.code) == (403, "insufficient_scope")
    assert answer.error["param"] == "secret"


def test_a_key_limited_to_routes_is_refused_on_others(desk: Desk) -> None:
    desk.publish(
        catalog(
            [deployment("a")],
            route(["a"], id="one", alias="one"),
            route(["a"], id="two", alias="two"),
        )
    )
    desk.let("one", "rk_one", frozenset({"select"}), frozenset({"one"}))
    assert desk.select("one", token="rk_one").status == 200
    answer = desk.select("two", token="rk_one")
    assert (answer.status, answer.code) == (403, "model_access_denied")


def test_an_expired_key_is_401(desk: Desk, clock: FakeClock) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.let("short", "rk_short", frozenset({"select"}), expires_at=clock.now + 10)
    assert desk.select(token="rk_short").status == 200
    clock.advance(10)
    assert desk.select(token="rk_short").status == 401


def test_nothing_able_is_400_and_lists_the_reasons_sorted(desk: Desk) -> None:
    from routeradmin.engine.objects import Capabilities

    can = Capabilities(tools=False, vision=False)
    desk.publish(catalog([deployment("a", capabilities=can), deployment("b", capabilities=can)]))
    answer = desk.select(requires=["vision", "tools"])
    assert (answer.status, answer.code) == (400, "unsupported")
    assert answer.error["reasons"] == ["tools", "vision"]


def test_everything_disabled_is_503_and_not_worth_asking_again(desk: Desk) -> None:
    desk.publish(catalog([deployment("a", admin_state=AdminState.DISABLED)]))
    answer = desk.select()
    assert (answer.status, answer.code) == (503, "no_available_deployment")
    assert answer.headers["x-should-retry"] == "false"
    assert "retry-after" not in answer.headers


def test_parallel_limits_refuse_with_retry_after(desk: Desk) -> None:
    desk.publish(catalog([deployment("a", max_parallel_requests=1)]))
    lease = desk.took()
    answer = desk.select()
    assert (answer.status, answer.code) == (429, "rate_limit_exceeded")
    assert answer.headers["retry-after"] == "1"
    assert answer.error["reasons"] == ["parallel-limit"]
    desk.succeeded(lease)
    assert desk.select().status == 200


def test_g15_a_limit_of_three_means_three(desk: Desk, clock: FakeClock) -> None:
    desk.publish(catalog([deployment("a", rpm_limit=3)]))
    statuses = [desk.select().status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    clock.advance(60)
    assert desk.select().status == 200


def test_g14_round_robin_is_per_route(desk: Desk) -> None:
    names = "abcd"
    desk.publish(
        catalog(
            [deployment(name) for name in names],
            route(["a", "b"], id="x", alias="x", strategy="round_robin"),
            route(["c", "d"], id="y", alias="y", strategy="round_robin"),
        )
    )
    served = [desk.took(model)["deployment"] for model in ("x", "y") * 3]
    assert served == ["a", "c", "b", "d", "a", "c"]


def test_an_asked_for_explanation_shows_the_choice_that_was_made(desk: Desk) -> None:
    desk.publish(catalog([deployment(name) for name in "abcdef"]))
    for _ in range(20):
        lease = desk.took(explain=True)
        explanation = lease["explanation"]
        assert explanation["selected_target_id"] == lease["deployment"]
        assert explanation["selected_credential_id"] == lease["credential"]
        assert len(explanation["targets"]) == 6


def test_an_asked_for_explanation_shows_how_things_stood_before_the_slot_was_taken(
    desk: Desk,
) -> None:
    desk.publish(catalog([deployment("a", max_parallel_requests=1, rpm_limit=1)]))
    (target,) = desk.took(explain=True)["explanation"]["targets"]
    assert target["rejections"] == []
    assert (target["runtime"]["active"], target["runtime"]["rpm"]["used"]) == (0, 0)


def test_explaining_changes_nothing(desk: Desk) -> None:
    desk.publish(
        catalog([deployment("a"), deployment("b")], route(["a", "b"], strategy="round_robin"))
    )
    before = desk.runtime.store.seq
    winners = {
        desk.call("POST", "/api/v1/explain", {"model": "m"}).json["selected_target_id"]
        for _ in range(5)
    }
    assert winners == {"a"}
    assert desk.runtime.store.seq == before
    assert desk.took()["deployment"] == "a"


def test_simulation_draws_shares_and_counts_refusals(desk: Desk) -> None:
    desk.publish(catalog([deployment("a", weight=3), deployment("b")]))
    body = {"model": "m", "draws": 4000, "seed": 1}
    shares = desk.call("POST", "/api/v1/simulate", body).json["shares"]
    assert shares["a/k"] == pytest.approx(0.75, abs=0.03)
    body["overlay"] = {"a/k": {"cooling": True}}
    found = desk.call("POST", "/api/v1/simulate", body).json
    assert found["shares"] == {"a/k": 0.0, "b/k": 1.0}
    body["overlay"] = {"a/k": {"cooling": True}, "b/k": {"unhealthy": True}}
    assert desk.call("POST", "/api/v1/simulate", body).json["refused"] == 4000
