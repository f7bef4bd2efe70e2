"""A key's own limits hold for decisions as they do for inference."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.dataplane.desk import Answer, Desk
from tests.engine.world import catalog, deployment

TOKEN = "rk_limited"


@pytest.fixture(autouse=True)
def _catalog(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))


def limited(desk: Desk, **limits: Any) -> None:
    desk.let("limited", TOKEN, frozenset({"select"}), **limits)


def select(desk: Desk, **facts: Any) -> Answer:
    return desk.select(token=TOKEN, **facts)


def end(desk: Desk, answer: Answer, verb: str, **body: Any) -> Answer:
    return desk.call("POST", f"/api/v1/leases/{answer.json['lease_id']}/{verb}", body, token=TOKEN)


def test_requests_a_minute_are_refused_with_the_time_to_the_next(
    desk: Desk, clock: FakeClock
) -> None:
    limited(desk, rpm_limit=2)
    clock.advance(15)
    answers = [select(desk) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].code == "rate_limit_exceeded"
    assert answers[2].headers["retry-after"] == "45"
    assert "rpm_limit" in answers[2].error["message"]
    clock.advance(45)
    assert select(desk).status == 200


@pytest.mark.parametrize("verb", ["report", "release"])
def test_a_parallel_slot_comes_back_with_its_lease(desk: Desk, verb: str) -> None:
    limited(desk, max_parallel_requests=1)
    first = select(desk)
    assert select(desk).status == 429
    end(desk, first, verb, **({"outcome": "success"} if verb == "report" else {}))
    assert select(desk).status == 200


def test_a_parallel_slot_comes_back_when_its_lease_runs_out(desk: Desk, clock: FakeClock) -> None:
    limited(desk, max_parallel_requests=1)
    first = select(desk, lease_ttl_s=10)
    clock.advance(9)
    end(desk, first, "renew", lease_ttl_s=10)
    clock.advance(9)
    assert select(desk).status == 429
    clock.advance(1)
    assert select(desk).status == 200


def test_tokens_are_held_and_then_replaced_by_what_was_used(desk: Desk) -> None:
    limited(desk, tpm_limit=1000)
    first = select(desk, input_tokens=500, max_output_tokens=400)
    assert select(desk, input_tokens=200).status == 429
    end(desk, first, "report", outcome="success", input_tokens=100, output_tokens=50)
    assert select(desk, input_tokens=800).status == 200


def test_a_failure_without_output_gives_its_tokens_back(desk: Desk) -> None:
    limited(desk, tpm_limit=1000)
    first = select(desk, input_tokens=900)
    end(desk, first, "report", outcome="failure", status=500)
    assert select(desk, input_tokens=900).status == 200


def test_a_turn_at_its_keys_limit_halts(desk: Desk) -> None:
    limited(desk, rpm_limit=1)
    first = select(desk)
    end(desk, first, "report", outcome="failure", status=500)
    assert select(desk, turn=first.json["turn"]).status == 429
