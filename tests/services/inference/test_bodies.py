"""Only what must change changes: everything else keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routeradmin.services.inference.bodies import (
    BadBody,
    Template,
    asking_for_usage,
    model_spans,
    parse,
    with_member,
)


def renamed(raw: bytes, name: str = "up/stream") -> bytes:
    return Template(raw, parse(raw)).write(name)


def test_the_model_is_replaced_and_nothing_else() -> None:
    raw = b'{ "zeta":1.50,\r\n "model" :  "chat" , "big": 12345678901234567890123, "e":1E+2 }'
    assert renamed(raw) == raw.replace(b'"chat"', b'"up/stream"')


@pytest.mark.parametrize(
    "raw",
    [
        b'{"metadata":{"model":"inner"},"model":"chat","tools":[{"model":{"model":1}}]}',
        b'{"model":"chat","messages":[{"content":"\\"model\\": \\"trap\\""}]}',
        b'{"messages":[{"content":"x\\\\"}],"model":"chat","y":["model","}"]}',
        b'{"a":"\\"model","b":{"c":"model"},"model":"chat"}',
        b'{"x":{"model":"a"},"mod\\u0065l":"chat"}',
        b'{"x":{"model":"a"},"\\u006D\\u006fdel":"chat","z":[{"model":"b"}]}',
        b'{"x":"[{","model":"chat","y":"]}"}',
        b'\t{"model":"ch\\u0061t \\" \\\\"}\n',
    ],
)
def test_look_alikes_do_not_fool_it(raw: bytes) -> None:
    before, after = json.loads(raw), json.loads(renamed(raw))
    assert after == {**before, "model": "up/stream"}
    assert len(model_spans(raw)) == 1


def test_a_model_written_twice_is_replaced_twice() -> None:
    raw = b'{"model":"first","x":{"model":"kept"},"model":"second"}'
    assert renamed(raw) == b'{"model":"up/stream","x":{"model":"kept"},"model":"up/stream"}'


def test_a_template_is_written_as_often_as_needed() -> None:
    raw = b'{"model":"chat","n":1}'
    template = Template(raw, parse(raw))
    assert [template.write("a"), template.write('b\u00e9"')] == [
        b'{"model":"a","n":1}',
        '{"model":"bé\\"","n":1}'.encode(),
    ]


@pytest.mark.parametrize("raw", [b"", b"[]", b"1", b'{"a":}', b'{"a":"\xff"}', b"{} {}", b"nul"])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(BadBody):
        parse(raw)


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        (b'{"stream":true}', b'{"stream":true,"stream_options":{"include_usage":true}}'),
        (b'{"stream_options":null,"a":1}', b'{"stream_options":{"include_usage":true},"a":1}'),
        (
            b'{"stream_options":{"x": 1},"a":{"stream_options":0}}',
            b'{"stream_options":{"x": 1,"include_usage":true},"a":{"stream_options":0}}',
        ),
        (
            b'{"stream_options": {"include_usage": false} }',
            b'{"stream_options": {"include_usage": true} }',
        ),
        (
            b'{"stream_options": {"include_usage": true} }',
            b'{"stream_options": {"include_usage": true} }',
        ),
    ],
)
def test_usage_is_asked_for_where_it_was_not(raw: bytes, written: bytes) -> None:
    assert asking_for_usage(raw, json.loads(raw)) == written


def test_a_member_is_added_at_the_end() -> None:
    assert with_member(b'{"a": 1 }\n', "b", [2]) == b'{"a": 1,"b":[2]}\n'
    assert with_member(b"{ }", "b", 2) == b'{"b":2}'


names = st.sampled_from(["model", "stream_options", "x", "mo", 'a"model', "é", "", "\\"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(names, values, max_size=5), st.text(min_size=1), st.booleans())
def test_any_body_comes_out_with_another_model_alone(
    body: dict[str, Any], model: str, ascii_only: bool
) -> None:
    body["model"] = "chat"
    raw = json.dumps(body, ensure_ascii=ascii_only).encode("utf-8", "replace")
    written = Template(raw, parse(raw)).write(model.encode("utf-8", "replace").decode())
    expected = {**json.loads(raw), "model": model.encode("utf-8", "replace").decode()}
    assert json.loads(written) == expected


@pytest.mark.parametrize("nested", [b"", b',"tools":[{"model":1}]'])
def test_the_one_model_of_a_large_body_is_found(nested: bytes) -> None:
    text = "word \\n \\u00e9 " * 200_000
    raw = b'{"messages":[{"content":"' + text.encode() + b'"}]' + nested + b',"model":"chat"}'
    assert [raw[start:end] for start, end in model_spans(raw)] == [b'"chat"']


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{"stream":true }', b'{"stream":true,"stream_options":{"include_usage":true}}'),
        (
            b'{"stream_options" : {"include_usage" :false,"q" :1.50, "big":98765432109876543210}}',
            b'{"stream_options" : {"include_usage" :true,"q" :1.50, "big":98765432109876543210}}',
        ),
        (b'{"stream_options":{ "q" : 1 }}', b'{"stream_options":{ "q" : 1,"include_usage":true}}'),
        (b'{"stream_options":{ }}', b'{"stream_options":{"include_usage":true}}'),
        (b'{"stream_options": null }', b'{"stream_options": {"include_usage":true} }'),
        (
            b'{"stream_options":1,"x":0,"stream_options":{"include_usage":0,"include_usage":null}}',
            b'{"stream_options":{"include_usage":true},"x":0,'
            b'"stream_options":{"include_usage":true,"include_usage":true}}',
        ),
        (
            b'{"stream_options":{"include_usage":true , "q":1}}',
            b'{"stream_options":{"include_usage":true , "q":1}}',
        ),
    ],
)
def test_asking_for_usage_changes_that_alone(before: bytes, after: bytes) -> None:
    assert asking_for_usage(before, parse(before)) == after


def test_half_a_character_keeps_its_spelling() -> None:
    raw = rb'{"\udc00":1,"messages":[{"content":"cut \ud83d"}],"model":"ch\ud83d"}'
    assert parse(raw)["messages"] == [{"content": "cut \ufffd"}]
    assert renamed(raw) == raw.replace(rb"ch\ud83d", b"up/stream")
