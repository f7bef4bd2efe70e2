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
        ("4111 1111 1111 1111 12/27", "card"),
        ("4111111111111111 123", "card"),
        ("4111-1111-1111-1111-123", "card"),
        ("qty 2 4111 1111 1111 1111", "card"),
        ("5500 0000 0000 0004 09/28 cvc 111", "card"),
        ("2024-05-01 4111111111111111", "card"),
        ("4111 1111 1111 1111\n123", "card"),
        ("4111 1111\n1111 1111", "card"),
        ("4111\u00a01111\u00a01111\u00a01111 12 27", "card"),
        ("4111\u20111111\u20111111\u20111111", "card"),
        ("4111.1111.1111.1111", "card"),
        ("4111 - 1111 - 1111 - 1111", "card"),
        ("4111  1111  1111  1111", "card"),
        ("４１１１ １１１１ １１１１ １１１１ 123", "card"),
        ("4111\u200b1111\u200b1111\u200b1111", "card"),
        ("card-4111111111111111", "card"),
        ("_4111111111111111_", "card"),
        ("1,4111111111111111,Ann", "card"),
        ("3782 822463 10005 1234", "card"),
        ("6759 6498 2643 8453 2 7", "card"),
        (r'{"card": "4111\u00a01111\u00a01111\u00a01111", "cvc": 123}', "card"),
        ("_maria@example.com_", "email"),
        ("maria@example.com--Ann", "email"),
        ("写信给li.wei@example.cn" + "确认" * 20, "email"),
        ("字" * 80 + "li.wei@example.cn", "email"),
        ("https://x.example/?mail=maria%40example.com&x=1", "email"),
        ("maria@\u200bexample.com", "email"),
        ("maria＠example.com", "email"),
        ("почта@пример.рф", "email"),
        (r'{"to": "maria\u0040example.com"}', "email"),
        ("密钥sk-proj-0123456789abcdefABCDEF", "key"),
        ("key_sk-proj-0123456789abcdefABCDEF_", "key"),
        (r"a\nsk-proj-0123456789abcdefABCDEF", "key"),
        (r"\u5bc6\u94a5sk-proj-0123456789abcdefABCDEF", "key"),
        ("sk-proj-0123\u200b456789abcdefABCDEF", "key"),
        ("**AKIAIOSFODNN7EXAMPLE**", "key"),
        ("_AKIAIOSFODNN7EXAMPLE_", "key"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----", "key"),
        ("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", "key"),
        ("_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "key"),
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
        "4111 1111 1111 1112 12/27",
        "an id of 411111111111111111111111111111 digits",
        "2015 2016 2017 2018 2019 2020 2021 2022 2023 2024 2025 2026 2027",
        "0.4111111111111111, 0.5500000000000004, 3.4111111111111111",
        "212-555-0123 646-555-0145 718-555-0199 917-555-0111 347-555-0177",
        "4111\n1111\n1111\n1111",
        "41 11 11 11 11 11 11 11 12 27",
        "xsk-proj-0123456789abcdefABCDEF is a word",
        "maria@example, maria@example.1 and @example.com",
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


@pytest.mark.parametrize(
    "text",
    [
        *("a@" * 20_000, "a." * 20_000 + "@", "4 " * 20_000, "x" * 99_999),
        *("-eyJ" * 25_000, "4112 " * 20_000, "4" * 99_999, "a@" + "a." * 50_000),
        *("-----BEGIN " * 9_000, r"\u4e2d" * 16_000, "1 2 3 4 5 6 7 8 9 0 1 2 x " * 4_000),
    ],
    ids=lambda text: text[:8],
)
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


@pytest.mark.parametrize(
    "text", ["_regex_", "my_regex_here", r"look:\nregex", "re\u00adgex", "正则regex正则"]
)
def test_nothing_that_is_not_read_hides_a_keyword(text: str) -> None:
    assert Keywords([intent("coding", "regex")]).find(text, "") == ("coding", "regex")


def test_two_intents_named_at_once_decide_nothing_but_one_that_is_local_wins() -> None:
    words = Keywords([intent("a", "sql"), intent("b", "joke"), intent("s", "secret", local=True)])
    assert words.find("an sql joke", "") is None
    assert words.find("an sql joke", "a secret above it") == ("s", "secret")


def test_keywords_of_other_intents_count_only_in_what_was_said_last() -> None:
    words = Keywords([intent("a", "sql")])
    assert words.find("thanks", "sql thanks") is None
