"""Text from outside without secrets: known ones, parts of them, and what looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routeradmin.adapters.redaction import Redactor
from routeradmin.adapters.sealing import Secret

KEY = "zQ7-upstream-key-93kf02mx"


def clean(text: str, *secrets: str) -> str:
    return Redactor(secrets or [KEY]).text(text)


def test_a_known_secret_is_masked_wherever_it_stands() -> None:
    assert clean(f"key {KEY} is wrong, {KEY}!") == "key *** is wrong, ***!"


@pytest.mark.parametrize("start", range(len(KEY) - 7))
def test_eight_characters_of_a_secret_are_enough(start: int) -> None:
    assert clean(f"'{KEY[start : start + 8]}'") == "'***'"
    assert clean(f"'{KEY[start : start + 7]}'") == f"'{KEY[start : start + 7]}'"


def test_nul_characters_do_not_reach_the_records() -> None:
    assert clean("cut\0short") == "cut\ufffdshort"


def test_short_secrets_are_masked_whole_only() -> None:
    assert clean("EMPTY or EMPT", "EMPTY") == "*** or EMPT"
    assert clean("of 11 chars: abcdefghijk, abcdefghij", "abcdefghijk").endswith("***, abcdefghij")
    assert clean("abc", "abc") == "abc"


def test_escaped_spellings_of_a_secret_are_masked() -> None:
    secret = 'päss/"word"+12345'
    assert clean("p%C3%A4ss%2F%22word%22%2B12345", secret) == "***"
    assert clean('"p\\u00e4ss/\\"word\\"+12345"', secret) == '"***"'
    assert clean(secret, secret) == "***"


def test_secrets_side_by_side_leave_one_mask() -> None:
    assert clean(KEY + KEY) == "***"


def test_clean_bytes_are_passed_on_as_the_same_object() -> None:
    data = b'data: {"choices": []}\n\n'
    redactor = Redactor([Secret(KEY)])
    assert redactor.redact(data) is data
    assert redactor.redact(b"\xff" + KEY.encode() + b"\xfe") == b"\xff***\xfe"
    assert KEY[:8] not in repr(redactor)


def test_without_secrets_nothing_is_masked() -> None:
    assert Redactor([]).redact(b"anything at all") == b"anything at all"
    assert Redactor([""]).redact(b"") == b""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Incorrect API key provided: sk-abc12***9xyz.", "Incorrect API key provided: ***."),
        ("Authorization: Bearer abcdef12.34-56", "Authorization: Bearer ***"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic ***"),
        ("GET https://u:p4ss@h/v1?api_key=abc&x=1", "GET https://***@h/v1?api_key=***&x=1"),
        ("https://h/v1?x=1&key=AIzaSy", "https://h/v1?x=1&key=***"),
        ('{"api_key": "0123456789abcdef01"}', '{"api_key": "***"}'),
        ("x-goog-api-key: 0123456789abcdef01", "x-goog-api-key: ***"),
        ("token eyJhbGciOiJI.eyJzdWIi.c2ln is stale", "token *** is stale"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "bearer authentication is required",
        "api_key: required",
        "basic understanding of tokens",
        "task-force disk-related",
        "model gpt-4o not found, see https://docs.example/errors?id=7",
    ],
)
def test_ordinary_messages_stay_readable(text: str) -> None:
    assert clean(text) == text


def test_long_text_is_cut_and_a_secret_at_the_cut_does_not_show() -> None:
    redactor = Redactor([KEY])
    text = redactor.text("x" * 90 + KEY, max_chars=100)
    assert text == "x" * 90 + "***"
    cut = redactor.text(("y" * 3 + " ") * 1000, max_chars=100)
    assert len(cut) == 100
    assert cut.endswith("…")
    for before in range(560, 640):
        assert KEY[:8] not in redactor.text("x" * before + KEY * 2, max_chars=100)


SECRETS = st.lists(st.text("ab", min_size=4, max_size=16), max_size=3)


@settings(deadline=None)
@given(SECRETS, st.text("abc\n", max_size=60))
def test_the_fast_search_finds_what_a_plain_one_finds(secrets: list[str], text: str) -> None:
    covered = [False] * len(text)
    for secret in secrets:
        size = 8 if len(secret) >= 12 else len(secret)
        parts = {secret[i : i + size] for i in range(len(secret) - size + 1)}
        for i in range(len(text) - size + 1):
            if text[i : i + size] in parts:
                covered[i : i + size] = [True] * size
    spans = Redactor(secrets).spans(text.encode())
    assert {i for start, end in spans for i in range(start, end)} == {
        i for i, masked in enumerate(covered) if masked
    }
