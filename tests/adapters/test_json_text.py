"""JSON from outside: halves of surrogate pairs are read, whatever else is no JSON is not."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.adapters import json_text

PARTS = (r"\ud83d", r"\uD83D", r"\ude00", r"\\", r"\n", r"\"", "u", "d83d", "ude00", "é", r"\u00e9")


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join))
def test_a_half_is_an_unknown_character_and_everything_else_is_itself(inside: str) -> None:
    wanted = "".join(
        "\ufffd" if "\ud800" <= char <= "\udfff" else char for char in json.loads(f'"{inside}"')
    )
    assert json_text.loads(f'{{"k":["{inside}"]}}'.encode()) == {"k": [wanted]}
    assert json_text.loads(f'"{inside}"') == wanted


@pytest.mark.parametrize(
    ("rest", "value"),
    [
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
        ("-1.50E+2", -150.0),
        ("9007199254740993", 9007199254740993),
        ('{"a":1,"a":2}', {"a": 2}),
        ("[null,true,{}]", [None, True, {}]),
    ],
)
def test_beside_a_half_everything_is_read_as_without_one(rest: str, value: Any) -> None:
    assert json_text.loads(f'["", {rest}]') == ["", value]
    assert json_text.loads(rf'["\ud83d", {rest}]') == ["\ufffd", value]


@pytest.mark.parametrize(
    "bad",
    [
        rb'"\ud83d',
        rb'["\ud83d", NaN]',
        rb'["\ud83d", Infinity]',
        rb'["\ud83d", 1e999]',
        b'["\\ud83d", "\xff"]',
        b'["\\ud83d", "\xed\xa0\xbd"]',
        rb'["\ud83d"]]',
        b'["\\ud83d", ' + b"9" * 5000 + b"]",
        b'["\\ud83d", ' + b"[" * 100_000 + b"]" * 100_000 + b"]",
    ],
    ids=range(9),
)
def test_what_is_no_json_without_its_halves_is_none_with_them(bad: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        json_text.loads(bad)
