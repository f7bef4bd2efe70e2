"""What requests of each protocol ask for."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.services.inference import facts
from routeradmin.services.inference.facts import Facts, Invalid

TOOLS = [{"type": "function", "function": {"name": "f"}}]


def chat(*contents: Any, **fields: Any) -> Facts:
    messages = [{"role": "user", "content": content} for content in contents]
    return facts.read("chat-completions", {"model": "m", "messages": messages, **fields})


def anthropic(*contents: Any, **fields: Any) -> Facts:
    messages = [{"role": "user", "content": content} for content in contents]
    return facts.read("messages", {"model": "m", "messages": messages, **fields})


def responses(given: Any, **fields: Any) -> Facts:
    return facts.read("responses", {"model": "m", "input": given, **fields})


def test_tokens_are_bounded_by_utf8_bytes_and_16_a_message() -> None:
    assert chat("abc").input_tokens == 3 + 16
    assert chat("北京", [{"type": "text", "text": "🙂"}]).input_tokens == 6 + 4 + 32


@pytest.mark.parametrize(
    ("part", "needs"),
    [
        ({"type": "image_url", "image_url": {"url": "data:,"}}, {"vision"}),
        ({"type": "input_audio", "input_audio": {}}, {"audio"}),
        ({"type": "file", "file": {}}, set()),
        ({"type": "novel"}, set()),
        ("bare", set()),
    ],
)
def test_parts_without_a_bound_make_it_unknown(part: Any, needs: set[str]) -> None:
    found = chat([{"type": "text", "text": "x"}, part])
    assert found.input_tokens is None
    assert found.requires == needs


def test_chat_fields_are_read() -> None:
    found = chat(
        "x",
        stream=True,
        n=2,
        tools=TOOLS,
        tool_choice={"type": "function", "function": {"name": "f"}},
        temperature=1,
        top_p=0.5,
        reasoning_effort="high",
        max_tokens=5,
        max_completion_tokens=7,
        response_format={"type": "json_schema", "json_schema": {}},
        stream_options={"include_usage": True},
    )
    assert found.stream
    assert found.usage_wanted
    assert found.choices == 2
    assert found.requires == {"tools", "json_schema"}
    assert found.tool_choice == "named"
    assert (found.temperature, found.top_p, found.reasoning_effort) == (1.0, 0.5, "high")
    assert found.max_output_tokens == 7


def test_nulls_are_as_absent_fields() -> None:
    names = ("stream", "n", "tools", "tool_choice", "temperature", "top_p", "max_tokens")
    assert chat("x", **dict.fromkeys(names)) == chat("x")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": ""}, "model"),
        ({"model": 3}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "x"}, "messages"),
        ({"stream": "yes"}, "stream"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": "9"}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"reasoning_effort": 4}, "reasoning_effort"),
    ],
)
def test_fields_that_routing_goes_by_are_checked(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Invalid) as refused:
        chat("x", **fields)
    assert refused.value.param == param
    assert param in str(refused.value)


@pytest.mark.parametrize(
    ("api", "name"),
    [
        ("chat-completions", "max_tokens"),
        ("chat-completions", "max_completion_tokens"),
        ("completions", "max_tokens"),
        ("responses", "max_output_tokens"),
        ("messages", "max_tokens"),
    ],
)
@pytest.mark.parametrize(
    ("given", "bound"), [(0, 0), (7.0, 7), (-1, None), (-2, None), (None, None)]
)
def test_no_output_and_no_bound_are_for_the_upstream_to_judge(
    api: str, name: str, given: Any, bound: int | None
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "prompt": "x"}
    assert facts.read(api, {**body, name: given}).max_output_tokens == bound


def test_a_bound_in_the_older_field_counts_where_the_newer_states_none() -> None:
    assert chat("x", max_completion_tokens=-1, max_tokens=5).max_output_tokens == 5
    assert chat("x", max_completion_tokens=0, max_tokens=5).max_output_tokens == 0


def test_a_number_of_choices_that_is_none_counts_as_one() -> None:
    assert [chat("x", n=n).choices for n in (0, -1, None, 3)] == [1, 1, 1, 3]


def test_messages_are_counted_with_system_tools_and_results() -> None:
    found = anthropic(
        "ab",
        [
            {"type": "text", "text": "c"},
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "d"}],
            },
        ],
        system="ef",
        tool_choice={"type": "any"},
        max_tokens=9,
    )
    assert found.input_tokens is not None
    assert found.input_tokens >= 2 + 1 + 2 + 1 + 2 + 32
    assert found.tool_choice == "any"
    assert found.max_output_tokens == 9
    assert anthropic([{"type": "image", "source": {}}]).requires == {"vision"}
    assert anthropic([{"type": "document", "source": {}}]).input_tokens is None


def test_responses_are_counted_unless_the_provider_keeps_a_part() -> None:
    assert responses("abc", instructions="de").input_tokens == 5 + 16
    item = {"role": "user", "content": [{"type": "input_text", "text": "abc"}]}
    assert responses([item]).input_tokens == 3 + 16
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}
    assert responses([image]).requires == {"vision"}
    assert responses("abc", previous_response_id="r").input_tokens is None
    assert responses([{"type": "item_reference", "id": "x"}]).input_tokens is None
    assert responses("abc", reasoning={"effort": "low"}).reasoning_effort == "low"


def test_embeddings_and_completions_take_texts_and_tokens() -> None:
    def embedded(given: Any) -> Facts:
        return facts.read("embeddings", {"model": "m", "input": given})

    assert embedded("abc").input_tokens == 3 + 16
    assert embedded(["abc", "d"]).input_tokens == 4 + 32
    assert embedded([1, 2, 3]).input_tokens == 3 + 16
    assert embedded([[1], [2, 3]]).input_tokens == 3 + 32
    assert embedded("x").requires == {"embeddings"}
    asked = facts.read("completions", {"model": "m", "prompt": ["a", "b"], "n": 2})
    assert asked.choices == 4
    with pytest.raises(Invalid):
        facts.read("embeddings", {"model": "m"})


@pytest.mark.parametrize("name", ["tools", "response_format"])
def test_what_is_nested_too_deeply_to_be_counted_is_refused(name: str) -> None:
    nested: Any = {}
    for _ in range(300):
        nested = {"type": "json_schema", "inner": nested}
    with pytest.raises(Invalid, match="nested"):
        chat("x", **{name: nested})


def test_no_more_tokens_than_can_be_counted_are_asked_for() -> None:
    assert chat("x", max_tokens=2**53).max_output_tokens == 2**53
    with pytest.raises(Invalid):
        chat("x", max_tokens=2**53 + 1)
