"""Which words a decision goes by."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.services.intent.words import MOST_CHARS, of_body, of_text


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": "old"}, {"role": "user", "content": "new"}]},
        {
            "messages": [
                {"role": "system", "content": "old"},
                {"role": "user", "content": [{"type": "text", "text": "new"}]},
                {"role": "assistant", "content": "old"},
            ]
        },
        {"input": "new", "instructions": "old"},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "new"}]}]},
        {"prompt": "new"},
        {"prompt": ["new"]},
    ],
)
def test_the_latest_is_what_the_user_said_last(body: dict[str, Any]) -> None:
    assert of_body(body, has_image=False).latest == "new"


def test_a_message_without_words_gives_way_to_the_one_before() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    body = {"messages": [{"role": "user", "content": "look"}, {"role": "user", "content": [image]}]}
    words = of_body(body, has_image=True)
    assert words.latest == "look"
    assert "base64" not in words.everything


def test_everything_is_looked_through_also_tools_and_what_was_said_before() -> None:
    body = {
        "system": [{"type": "text", "text": "one"}],
        "messages": [
            {"role": "assistant", "tool_calls": [{"function": {"arguments": "two"}}]},
            {"role": "tool", "content": "three"},
            {"role": "user", "content": "four"},
        ],
    }
    words = of_body(body, has_image=False)
    assert words.everything.split() == ["one", "two", "three", "four"]


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": [1, None]}, {"input": 7}])
def test_a_body_without_words_has_none(body: dict[str, Any]) -> None:
    assert of_body(body, has_image=False).latest == ""


def test_long_text_keeps_its_beginning_and_end_and_never_shows() -> None:
    words = of_text("a" * 5000 + "z" * 5000)
    assert len(words.latest) == MOST_CHARS + 1
    assert words.latest[0] == "a"
    assert words.latest[-1] == "z"
    assert "aaa" not in repr(words)


def test_half_a_character_is_replaced() -> None:
    assert of_text("a\ud800z").latest == "a?z"


def test_depth_does_not_matter() -> None:
    content: Any = "deep"
    for _ in range(5000):
        content = [content]
    assert of_body({"input": content}, has_image=False).everything == "deep"


def test_what_a_tool_was_given_is_all_looked_through_whatever_its_members_are_called() -> None:
    given = {"id": 4111111111111111, "data": {"url": "a@example.com"}, "b@example.com": None}
    call = {"type": "tool_use", "id": "t1", "name": "pay", "input": given}
    body = {"messages": [{"role": "assistant", "content": [call]}]}
    everything = of_body(body, has_image=False).everything
    for part in ("4111111111111111", "a@example.com", "b@example.com", "pay"):
        assert part in everything
    assert "t1" not in everything
