"""Signs that need no model."""

from __future__ import annotations

from time import perf_counter

import pytest

from routeradmin.engine.intents import Intent
from routeradmin.engine.reflexes import Keywords, luhn, signs

ALL = ("image", "email", "card", "key")


def seen(text: str, *, has_image: bool = False) -> tuple[str, ...]:
    return signs(text, has_image=has_image, wanted=ALL)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("write to maria.lopez+x@mail.example.com please", "email"),
        ("schreib an jürgen@müller.example", "email"),
        ("写信给li.wei@example.cn确认", "email"),
        ("card 4111 1111 1111 1111 expired", "card"),
        ("card 4111-1111-1111-1111.", "card"),
        ("378282246310005", "card"),
        ("use sk-proj-0123456789abcdefABCDEF", "key"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "key"),
        ("AKIAIOSFODNN7EXAMPLE", "key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "key"),
    ],
)
def test_sensitive_text_is_seen(text: str, sign: str) -> None:
    assert seen(text) == (sign,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@property decorators and a @ sign",
        "user@localhost has no domain",
        "4111 1111 1111 1112 has a wrong checksum",
        "order 12345678901234567890123456",
        "0000 0000 0000 0000",
        "sk-short and task-lists-are-not-keys",
        "a day has 86400 seconds, 2**64 is 18446744073709551616",
    ],
)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert seen(text) == ()


def test_signs_come_in_their_order_and_only_those_wanted() -> None:
    text = "a@example.com 4111111111111111"
    assert seen(text, has_image=True) == ("image", "email", "card")
    assert signs(text, has_image=True, wanted=("card",)) == ("card",)


def test_luhn_ignores_what_stands_between_digits() -> None:
    assert luhn("4111-1111 1111-1111")
    assert not luhn("4111-1111 1111-1112")


@pytest.mark.parametrize("text", ["a@" * 20_000, "a." * 20_000 + "@", "4 " * 20_000, "x" * 99_999])
def test_no_text_takes_long(text: str) -> None:
    started = perf_counter()
    seen(text)
    assert perf_counter() - started < 2


def intent(id: str, *keywords: str, local: bool = False) -> Intent:
    return Intent(id, "r", keywords=keywords, local_only=local)


def test_a_keyword_stands_by_itself_unless_its_script_has_no_spaces() -> None:
    words = Keywords([intent("coding", "regex", "正则")])
    assert words.find("a REGEX please", "") == ("coding", "regex")
    assert words.find("regexes", "") is None
    assert words.find("写一个正则表达式", "") == ("coding", "正则")


def test_two_intents_named_at_once_decide_nothing_but_one_that_is_local_wins() -> None:
    words = Keywords([intent("a", "sql"), intent("b", "joke"), intent("s", "secret", local=True)])
    assert words.find("an sql joke", "") is None
    assert words.find("an sql joke", "a secret above it") == ("s", "secret")


def test_keywords_of_other_intents_count_only_in_what_was_said_last() -> None:
    words = Keywords([intent("a", "sql")])
    assert words.find("thanks", "sql thanks") is None
