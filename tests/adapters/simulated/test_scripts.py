"""Which script a call meets, in which order its steps come, and what rates do."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.adapters.simulated import SimulatedProvider, fingerprint
from tests.adapters.simulated.conftest import Clock
from tests.adapters.simulated.raw import HELLO, Raw

KEY = "sk-first-key-aaaa1111"
OTHER = "sk-other-key-bbbb2222"


def statuses(raw: Raw, calls: int, **more: Any) -> list[int | None]:
    return [raw.chat(**more).status for _ in range(calls)]


@pytest.mark.parametrize(
    ("repeat", "expected"),
    [
        ("last", [500, 429, 429, 429, 429]),
        ("cycle", [500, 429, 500, 429, 500]),
        ("once", [500, 429, 200, 200, 200]),
    ],
)
def test_after_the_steps_the_last_the_first_or_a_normal_answer_comes(
    raw: Raw, repeat: str, expected: list[int]
) -> None:
    raw.script({"status": 500}, {"status": 429}, repeat=repeat)

    assert statuses(raw, 5) == expected


def test_a_step_can_stand_for_several_calls(raw: Raw) -> None:
    raw.script({"status": 500, "times": 3}, {})

    assert statuses(raw, 5) == [500, 500, 500, 200, 200]


def test_a_script_for_a_model_comes_before_a_pattern_and_that_before_all(raw: Raw) -> None:
    raw.script({"status": 500}, model="*")
    raw.script({"status": 502}, model="gpt-*")
    raw.script({"status": 503}, model="gpt-4o")

    asked = ["gpt-4o", "gpt-5", "claude"]
    assert [raw.chat(model=model).status for model in asked] == [503, 502, 500]


@pytest.mark.parametrize("said", [KEY, KEY[-4:], fingerprint(KEY)])
def test_one_key_of_a_model_can_fail_and_another_not(raw: Raw, said: str) -> None:
    raw.script({"status": 429}, model="m", credential=said)

    assert raw.chat(key=KEY).status == 429
    assert raw.chat(key=OTHER).status == 200
    assert raw.call("POST", "/v1/messages", HELLO, {"x-api-key": KEY}).status == 429


def test_a_script_for_a_kind_touches_no_other(raw: Raw) -> None:
    raw.script({"status": 500}, kind="embeddings")

    assert raw.call("POST", "/v1/embeddings", {"model": "m", "input": "x"}).status == 500
    assert raw.chat().status == 200


def test_one_of_several_providers_in_one_process_can_fail(raw: Raw) -> None:
    raw.script({"status": 500}, prefix="/lab-a")

    paths = [f"/{lab}/v1/chat/completions" for lab in ("lab-a", "lab-b")]
    assert [raw.call("POST", path, HELLO).status for path in paths] == [500, 200]
    assert raw.chat().status == 200


def test_the_model_list_fails_only_when_it_is_named(raw: Raw) -> None:
    raw.script({"status": 500})
    assert raw.call("GET", "/v1/models").status == 200

    raw.script({"status": 503}, kind="models")
    assert raw.call("GET", "/v1/models").status == 503
    assert raw.call("GET", "/v1/models/m").status == 503
    assert raw.chat().status == 500


def test_putting_a_script_again_starts_it_from_its_first_step(raw: Raw) -> None:
    raw.script({"status": 500}, {}, model="m")
    assert statuses(raw, 2) == [500, 200]

    raw.script({"status": 502}, {}, model="m")
    assert statuses(raw, 2) == [502, 200]


def test_every_nth_call_is_rate_limited(raw: Raw) -> None:
    raw.script(rates={"rate_limit_every": 3, "retry_after_s": 9})

    answers = [raw.chat() for _ in range(6)]

    assert [answer.status for answer in answers] == [200, 200, 429, 200, 200, 429]
    assert answers[2].headers["retry-after"] == "9"


def test_a_share_of_calls_fails_the_same_way_each_time(raw: Raw) -> None:
    rates = {"fail_rate": 0.3, "seed": 7, "fail_status": 502}
    raw.script(rates=rates)
    first = statuses(raw, 100)
    raw.script(rates=rates)

    assert statuses(raw, 100) == first
    assert 15 <= first.count(502) <= 45
    assert set(first) == {200, 502}


def test_a_minute_s_quota_holds_per_key_and_opens_with_the_next_minute(
    raw: Raw, clock: Clock
) -> None:
    raw.script(rates={"rpm": 2})
    clock.now_s = 1_800_000_000 // 60 * 60 + 45.0

    limited = [raw.chat(key=KEY) for _ in range(3)][-1]
    assert (limited.status, limited.headers["retry-after"]) == (429, "15")
    assert raw.chat(key=OTHER).status == 200

    clock.now_s += 15
    assert statuses(raw, 3, key=KEY) == [200, 200, 429]


def test_rates_come_before_steps_and_take_none_of_them(raw: Raw) -> None:
    raw.script({"status": 500}, {"status": 501}, {"status": 502}, rates={"rate_limit_every": 2})

    assert statuses(raw, 5) == [500, 429, 501, 429, 502]


def test_latency_is_drawn_between_its_bounds(raw: Raw, provider: SimulatedProvider) -> None:
    raw.script(rates={"latency_ms": [0.5, 1.0]})
    playing = provider.scripts.find("chat", "m", "")
    assert playing is not None
    assert playing.rates is not None

    assert raw.chat().status == 200
    assert all(0.0005 <= playing.rates.latency_s() <= 0.001 for _ in range(100))
