"""Reading when to come back from whatever headers an upstream sends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.engine.hints import duration_s, hint_s, retry_after_s

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("20", 20),
        (" 20 ", 20),
        ("1.5", 1.5),
        (20, 20),
        ("568157", 568157),
        ("0", 0),
        ("Sun, 29 Nov 2026 12:00:06 GMT", 6),
        ("Sunday, 29-Nov-26 12:00:06 GMT", 6),
        ("Sun Nov 29 12:00:06 2026", 6),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0),
        ("Sunday, 29-Nov-94 12:00:06 GMT", 0),
        ("Sun Nov  1 12:00:06 2026", 0),
    ],
)
def test_retry_after_is_read_as_seconds_and_in_all_three_date_forms(value, seconds):
    assert retry_after_s(value, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "-1",
        "nan",
        "inf",
        "1e999",
        "9" * 400,
        "soon",
        "1_000",
        "٣",
        "20s",
        None,
        "Sun, 31 Feb 2026 12:00:06 GMT",
        "Sun, 29 Foo 2026 12:00:06 GMT",
        "\x00",
        "1;2",
    ],
)
def test_an_unreadable_retry_after_counts_as_absent(value):
    assert retry_after_s(value, NOW) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "20"}, 20),
        ({"retry-after-ms": "1500", "retry-after": "20"}, 1.5),
        ({"retry-after-ms": "nan", "retry-after": "20"}, 20),
        ({"retry-after-ms": "-1", "retry-after": "20"}, 20),
        ({"retry-after": "0", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"retry-after": "-3", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-reset-requests": "1s"}, 1),
        ({"x-ratelimit-reset-requests": "250ms"}, 0.25),
        ({"x-ratelimit-reset-requests": "42"}, 42),
        ({"x-ratelimit-reset-requests": "2m59.56s"}, 179.56),
        ({"x-ratelimit-reset-requests": "never"}, None),
        ({"x-ratelimit-reset-requests": str(NOW + 9)}, 9),
        ({"x-ratelimit-reset-requests": str(int((NOW + 9) * 1000))}, 9),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-29T12:00:30Z"}, 30),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-29T11:00:30Z"}, None),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-29T12:00:30"}, None),
        ({}, None),
    ],
)
def test_the_first_readable_header_in_order_decides(headers, seconds):
    assert hint_s(headers, NOW) == pytest.approx(seconds)


def test_of_several_budgets_the_empty_ones_decide_and_all_must_be_back():
    headers = {
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-tokens": "6m0s",
        "x-ratelimit-remaining-tokens": "0",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-29T12:00:30Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
    }
    assert hint_s(headers, NOW) == 360


def test_without_a_budget_told_empty_the_earliest_reset_is_the_hint():
    headers = {"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}
    assert hint_s(headers, NOW) == 1
    assert hint_s(headers, NOW, exhausted_only=True) is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h2m3.5s", 3723.5), ("100us", 1e-4), ("1.", 1), ("m", None), ("", None)]
)
def test_durations_are_read_part_by_part(text, seconds):
    assert duration_s(text) == pytest.approx(seconds)


names = st.one_of(
    st.sampled_from(
        [
            "retry-after",
            "Retry-After-Ms",
            "x-ratelimit-reset-tokens",
            "x-ratelimit-remaining-tokens",
            "anthropic-ratelimit-x-reset",
        ]
    ),
    st.text(),
)
digits = st.text(alphabet="0123456789.,:-+eEmsµ GMTZ")


@given(st.dictionaries(names, st.one_of(st.text(), digits)), st.floats(0, 1e11))
def test_no_header_makes_it_raise_and_a_hint_is_always_above_zero(headers, now):
    found = hint_s(headers, now)
    assert found is None or found > 0
