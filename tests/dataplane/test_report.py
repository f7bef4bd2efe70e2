"""Report, renew, release: what becomes of a lease, and what the turn does next."""

from __future__ import annotations

import pytest

from routeradmin.engine.objects import WhenExhausted
from routeradmin.engine.policy import Policy, RetryPolicy
from tests.conftest import FakeClock
from tests.dataplane.desk import Desk
from tests.engine.world import catalog, deployment, route

ONE_ROUND = Policy("p", retry=RetryPolicy(max_attempts=1))


def cooldowns(desk: Desk) -> dict[str, float]:
    now = desk.runtime.clock()
    return {
        str(state.key): round(state.cooldown_until - now, 3)
        for state in desk.runtime.store.states()
        if state.cooldown_until > now
    }


def test_a_success_ends_the_turn(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    answer = desk.succeeded(desk.took(), input_tokens=10, output_tokens=5, latency_ms=100)
    assert answer == {
        "released": True,
        "cooldown": None,
        "next": {"action": "done", "wait_ms": 0, "halt": "succeeded"},
    }


def test_a_429_cools_the_candidate_for_as_long_as_the_upstream_says(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    lease = desk.took()
    answer = desk.failed(lease, 429, retry_after="20")
    assert answer["cooldown"] == {
        "reason": "rate-limited",
        "until": "2026-01-01T00:00:20.000Z",
        "level": 0,
    }
    assert answer["next"] == {"action": "next", "wait_ms": 0, "halt": None}
    assert cooldowns(desk) == {f"{lease['deployment']}/k": 20.0}
    second = desk.took(turn=lease["turn"])
    assert second["attempt"] == 2
    assert second["deployment"] != lease["deployment"]


def test_reporting_twice_gives_the_first_answer_and_counts_once(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    lease = desk.took()
    first = desk.failed(lease, 429, retry_after="20")
    assert desk.succeeded(lease) == first
    (state,) = desk.runtime.store.states()
    assert (state.failures, state.successes, state.active) == (1, 0, 0)


def test_a_wrong_generation_is_fenced_and_changes_nothing(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    lease = desk.took()
    for verb in ("report", "renew", "release"):
        body = {"generation": 99} | ({"outcome": "success"} if verb == "report" else {})
        answer = desk.call("POST", f"/api/v1/leases/{lease['lease_id']}/{verb}", body)
        assert (answer.status, answer.code) == (409, "lease_fenced")
    (state,) = desk.runtime.store.states()
    assert state.active == 1


def test_a_lease_never_issued_is_404(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    for verb in ("report", "renew", "release"):
        body = {"outcome": "success"} if verb == "report" else {}
        answer = desk.call("POST", f"/api/v1/leases/unheard-of/{verb}", body)
        assert (answer.status, answer.code) == (404, "lease_not_found")


def test_a_lease_of_another_key_is_not_found(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.let("other", "rk_other", frozenset({"select"}))
    lease = desk.took()
    path = f"/api/v1/leases/{lease['lease_id']}/release"
    assert desk.call("POST", path, {}, token="rk_other").status == 404
    assert desk.call("POST", path, {}).json == {"released": True}


def test_releasing_twice_is_answered_and_gives_back_once(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    lease, path = desk.took(), "/api/v1/leases/{}/release"
    desk.took()
    answers = [desk.call("POST", path.format(lease["lease_id"])).json for _ in range(2)]
    assert answers == [{"released": True}, {"released": False}]
    (state,) = desk.runtime.store.states()
    assert state.active == 1


def test_reporting_a_released_lease_twice_gives_the_first_answer(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    lease = desk.took()
    desk.call("POST", f"/api/v1/leases/{lease['lease_id']}/release")
    first = desk.failed(lease, 500)
    second = desk.took(turn=lease["turn"])
    assert desk.failed(lease, 500) == first
    assert desk.succeeded(second)["next"]["action"] == "done"


def test_renewing_moves_the_end(desk: Desk, clock: FakeClock) -> None:
    desk.publish(catalog([deployment("a")]))
    lease = desk.took(lease_ttl_s=10)
    clock.advance(9)
    path = f"/api/v1/leases/{lease['lease_id']}/renew"
    assert desk.call("POST", path, {"lease_ttl_s": 60}).json["expires_at"].endswith("00:01:09.000Z")
    clock.advance(30)
    desk.succeeded(lease)


def test_a_late_report_is_fenced_but_says_how_the_turn_goes_on(
    desk: Desk, clock: FakeClock
) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    lease = desk.took(lease_ttl_s=10)
    clock.advance(11)
    for _ in range(2):
        answer = desk.report(lease, outcome="failure", status=429, retry_after=20)
        assert (answer.status, answer.code) == (409, "lease_fenced")
        assert answer.error["next"] == {"action": "next", "wait_ms": 0, "halt": None}
    state = next(s for s in desk.runtime.store.states() if s.key.deployment == lease["deployment"])
    assert (state.failures, state.active) == (1, 0)


def test_the_turn_waits_between_rounds_and_says_how_long(desk: Desk, clock: FakeClock) -> None:
    desk.publish(catalog([deployment("a")]))
    lease = desk.took()
    answer = desk.failed(lease, 500)
    assert answer["next"] == {"action": "retry", "wait_ms": 1000, "halt": None}
    early = desk.select(turn=lease["turn"])
    assert (early.status, early.code, early.headers["retry-after"]) == (409, "turn_waiting", "1")
    clock.advance(1)
    second = desk.took(turn=lease["turn"])
    assert desk.failed(second, 500)["next"]["wait_ms"] == 2000
    clock.advance(2)
    third = desk.took(turn=lease["turn"])
    assert desk.failed(third, 500)["next"]["wait_ms"] == 4000
    clock.advance(4)
    fourth = desk.took(turn=lease["turn"])
    assert desk.failed(fourth, 500)["next"] == {"action": "stop", "wait_ms": 0, "halt": "exhausted"}
    over = desk.select(turn=lease["turn"])
    assert (over.status, over.code, over.error["halt"]) == (409, "turn_halted", "exhausted")


@pytest.mark.parametrize(
    ("report", "halt"),
    [
        ({"status": 401}, "ineligible-failure"),
        ({"status": 404}, "ineligible-failure"),
        ({"status": 400}, "ineligible-failure"),
        ({"status": 500, "visible_output": True}, "visible-output"),
        ({"error_class": "content-policy", "status": 400}, "ineligible-failure"),
        ({"outcome": "cancelled"}, "cancelled"),
    ],
)
def test_what_ends_a_turn(desk: Desk, report: dict[str, object], halt: str) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    answer = desk.report(desk.took(), **{"outcome": "failure", **report}).json
    assert answer["next"] == {"action": "stop", "wait_ms": 0, "halt": halt}


def test_a_turn_is_bound_to_its_model_and_its_key(desk: Desk) -> None:
    desk.publish(
        catalog(
            [deployment("a"), deployment("b")],
            route(["a", "b"], id="r", alias="m"),
            route(["b"], id="o", alias="other"),
        )
    )
    desk.let("second", "rk_second", frozenset({"select"}))
    lease = desk.took()
    assert desk.select("other", turn=lease["turn"]).status == 422
    unknown = desk.select(turn=lease["turn"], token="rk_second")
    assert (unknown.status, unknown.code) == (404, "turn_not_found")
    assert desk.select(turn="never-made").code == "turn_not_found"


def test_an_attempt_must_be_reported_before_the_next(desk: Desk, clock: FakeClock) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    lease = desk.took(lease_ttl_s=30)
    busy = desk.select(turn=lease["turn"])
    assert (busy.status, busy.code) == (409, "turn_busy")
    desk.call("POST", f"/api/v1/leases/{lease['lease_id']}/release")
    second = desk.took(turn=lease["turn"], lease_ttl_s=30)
    assert second["deployment"] != lease["deployment"]
    clock.advance(31)
    late = desk.select(turn=lease["turn"])
    assert (late.status, late.code) == (409, "turn_waiting")


def test_a_turn_keeps_its_facts_unless_the_next_select_states_others(desk: Desk) -> None:
    desk.publish(catalog([deployment("a", tpm_limit=1000), deployment("b", tpm_limit=1000)]))
    lease = desk.took(input_tokens=300, max_output_tokens=100)
    desk.failed(lease, 500)
    second = desk.took(turn=lease["turn"])
    states = {s.key.deployment: s for s in desk.runtime.store.states()}
    assert states[second["deployment"]].tpm_used == 400
    assert states[lease["deployment"]].tpm_used == 0


def test_a_continued_turn_that_asks_for_the_secret_skips_candidates_without_one(desk: Desk) -> None:
    desk.publish(
        catalog(
            [deployment("a", keys=("here",)), deployment("b", keys=("gone",))],
            route(["a", "b"], strategy="fill_first"),
            missing_secrets=("gone",),
        )
    )
    lease = desk.took()
    assert desk.failed(lease, 429, retry_after=9)["next"]["action"] == "next"
    # The other candidate has no secret to hand out, so the turn can only wait for the first.
    assert desk.select(turn=lease["turn"], secret=True).code == "turn_waiting"


def test_g01_all_cooling_tells_when_to_come_back(desk: Desk, clock: FakeClock) -> None:
    desk.publish(
        catalog(
            [deployment("a"), deployment("b")],
            route(["a"], ["b"], fallback_enabled=True, policy_id="p"),
            policies={"p": ONE_ROUND},
        )
    )
    lease = desk.took()
    assert desk.failed(lease, 429, retry_after=40)["next"]["action"] == "next"
    second = desk.took(turn=lease["turn"])
    assert desk.failed(second, 429, retry_after=25)["next"]["halt"] == "exhausted"
    answer = desk.select()
    assert (answer.status, answer.code) == (429, "model_cooldown")
    assert answer.headers["retry-after"] == "25"
    assert (answer.error["reset_seconds"], answer.error["model"]) == (25, "m")
    assert answer.error["provider"] == "p"
    clock.advance(26)
    assert desk.took()["deployment"] == "b"


def test_g02_a_second_cooldown_is_not_cut_short_by_the_first(desk: Desk, clock: FakeClock) -> None:
    desk.publish(
        catalog([deployment("a"), deployment("b")], route(["a", "b"], strategy="fill_first"))
    )
    first, second = desk.took(), desk.took()
    clock.advance(0.1)
    desk.failed(first, 429, retry_after=1)
    clock.advance(0.1)
    desk.failed(second, 429, retry_after=20)
    clock.advance(1.8)
    assert cooldowns(desk) == {"a/k": 18.2}
    assert desk.took()["deployment"] == "b"


def test_g03_a_huge_hint_is_capped(desk: Desk, clock: FakeClock) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.failed(desk.took(), 429, retry_after="568157")
    assert cooldowns(desk) == {"a/k": 1800.0}
    clock.advance(1799)
    answer = desk.select()
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    clock.advance(2)
    assert desk.select().status == 200


def test_g04_retry_after_as_a_date(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.failed(desk.took(), 429, retry_after="Thu, 01 Jan 2026 00:00:06 GMT")
    assert cooldowns(desk) == {"a/k": 6.0}


def test_g04_a_past_date_starts_the_local_backoff(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.failed(desk.took(), 429, retry_after="Wed, 31 Dec 2025 23:00:00 GMT")
    assert cooldowns(desk) == {"a/k": 1.0}


def test_g24_one_models_429_leaves_the_credentials_other_models_alone(desk: Desk) -> None:
    desk.publish(
        catalog(
            [deployment("m1", keys=("k1", "k2")), deployment("m2", keys=("k1", "k2"))],
            route(["m1"], id="r1", alias="m1", strategy="fill_first"),
            route(["m2"], id="r2", alias="m2", strategy="fill_first"),
        )
    )
    lease = desk.took("m1")
    assert lease["credential"] == "k1"
    desk.failed(lease, 429, retry_after=60)
    assert desk.took("m1", turn=lease["turn"])["credential"] == "k2"
    assert desk.took("m1")["credential"] == "k2"
    assert desk.took("m2")["credential"] == "k1"


def test_d34_a_route_may_wait_for_a_recovery_that_comes_in_time(
    desk: Desk, clock: FakeClock
) -> None:
    for max_wait_s, status in ((10.0, 200), (3.0, 429), (0.0, 429)):
        desk.publish(
            catalog(
                [deployment("a")],
                route(["a"], when_exhausted=WhenExhausted.WAIT, max_wait_s=max_wait_s),
            )
        )
        desk.failed(desk.took(), 429, retry_after=5)
        before = clock.now
        assert desk.select().status == status
        assert clock.now - before == (5.0 if status == 200 else 0.0)
        clock.advance(5)


def test_a_message_is_kept_without_what_looks_like_a_secret(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    desk.failed(desk.took(), 429, message="bad key sk-abcdefghijklmnopqrstuvwxyz123456")
    (state,) = desk.runtime.store.states()
    assert state.last_error is not None
    assert "abcdefgh" not in state.last_error.message


def test_a_finished_turn_is_recorded_once_with_its_attempts(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    lease = desk.took()
    desk.failed(lease, 429, retry_after=9)
    second = desk.took(turn=lease["turn"])
    for _ in range(2):
        desk.succeeded(second, input_tokens=7, output_tokens=3)
    (record,) = desk.runtime.journal.take().turns
    assert (record["halt"], record["route"], record["model"]) == ("succeeded", "r", "m")
    assert [attempt["class"] for attempt in record["attempts"]] == ["rate-limited", None]
    assert record["attempts"][1]["usage"] == {"input": 7, "output": 3}
    assert record["attempts"][0]["usage"] == {"input": None, "output": None}
