"""The event-stream parser: cuts, line ends, bounds, and bytes kept as they came."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routeradmin.adapters.sse import Event, EventStream, EventTooLarge


def parse(*chunks: bytes, **options: bool) -> list[Event]:
    stream = EventStream(**options)
    events = [event for chunk in chunks for event in stream.feed(chunk)]
    return events + stream.finish()


def data(*chunks: bytes) -> list[bytes]:
    return [event.data for event in parse(*chunks)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_of_the_standard_ends_a_line(end: bytes) -> None:
    wire = end.join([b"event: message", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    assert data(wire) == [b"a\nb", b"c"]


def test_line_separators_of_unicode_stay_inside_the_json() -> None:
    text = json.dumps({"text": "a\u2028b\u2029c\x85d"}, ensure_ascii=False).encode()
    assert data(b"data: " + text + b"\n\n") == [text]


def test_an_event_keeps_the_bytes_it_came_as() -> None:
    wire = b": hi\r\nid: 7\r\nevent: delta\r\ndata:x\r\nretry: 5\r\n\r\n"
    assert parse(wire) == [Event(wire, b"x", "delta", "7")]


def test_events_without_data_are_left_out() -> None:
    assert data(b"event: ping\n\ndata:\n\ndata\n\n\n\n\ndata: x\n\n") == [b"x"]


def test_comment_blocks_come_out_only_on_request() -> None:
    wire = b": PROCESSING\n\ndata: x\n: between\ndata: y\n\n"
    assert data(wire) == [b"x\ny"]
    assert [event.data for event in parse(wire, comments=True)] == [b"", b"x\ny"]


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    assert data(b"\xef\xbb", b"\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n") == [b"x"]


def test_only_one_space_after_the_colon_is_dropped() -> None:
    assert data(b"data:  x: y\n\n") == [b" x: y"]


def test_a_huge_line_in_small_chunks_is_one_event() -> None:
    line = b"x" * 700_000
    wire = b"data: " + line + b"\n\n"
    assert data(*(wire[i : i + 1000] for i in range(0, len(wire), 1000))) == [line]


def test_what_has_not_ended_is_shown_and_not_dispatched() -> None:
    stream = EventStream()
    assert stream.feed(b"data: a\n\ndata: b\n") == [Event(b"data: a\n\n", b"a")]
    assert stream.finish() == []
    assert stream.unfinished == b"data: b\n"


@pytest.mark.parametrize("cut", [5, 12, 40])
def test_an_event_above_the_bound_is_refused_after_those_before_it(cut: int) -> None:
    wire = b"data: a\n\ndata: " + b"x" * 50 + b"\n\n"
    stream = EventStream(max_event_bytes=30)
    events: list[Event] = []

    def feed_all() -> None:
        for start in range(0, len(wire), cut):
            events.extend(stream.feed(wire[start : start + cut]))
        events.extend(stream.feed(b""))

    with pytest.raises(EventTooLarge, match="larger than 30 bytes"):
        feed_all()
    assert [event.data for event in events] == [b"a"]


PIECES = st.sampled_from(
    [
        *(b"\r", b"\n", b"\r\n", b"data: ", b"data:", b"event: e", b"id: 1", b": c", b"x"),
        *(b"\xe2\x80", b"\xef\xbb\xbf", "é\u2028".encode(), b"{}", b"\n\n", b"\r\n\r\n"),
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map(b"".join), st.data())
def test_any_cut_of_the_bytes_gives_the_same_events(wire: bytes, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(wire)), max_size=12)))
    edges = [0, *cuts, len(wire)]
    chunks = [wire[a:b] for a, b in pairwise(edges)]
    assert parse(*chunks, comments=True) == parse(wire, comments=True)


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1).filter(lambda b: not {10, 13} & set(b)), max_size=5))
def test_what_was_written_is_what_is_read(payloads: list[bytes]) -> None:
    wire = b"".join(b"data: " + payload + b"\n\n" for payload in payloads)
    events = parse(*(wire[i : i + 1] for i in range(len(wire))))
    assert [event.data for event in events] == payloads
    assert b"".join(event.raw for event in events) == wire


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["data: x", "data:y", "data: ", ": c", "event: e", "id: 1", "", "junk"]),
        max_size=12,
    )
)
def test_a_chunk_of_whole_events_is_read_as_if_it_came_byte_by_byte(lines: list[str]) -> None:
    wire = "\n".join([*lines, "", ""]).encode()
    slowly = [wire[i : i + 1] for i in range(len(wire))]
    for start in (b"", b"data: first\n\n"):
        assert parse(start + wire, comments=True) == parse(start, *slowly, comments=True)
        assert parse(start, wire, comments=True) == parse(start, *slowly, comments=True)
