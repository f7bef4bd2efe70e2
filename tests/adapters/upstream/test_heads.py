"""The head of a request: what is sent, and what cannot be."""

from __future__ import annotations

import pytest

from routeradmin.adapters.upstream import CommonHeaders, UpstreamCall, UpstreamClient
from routeradmin.adapters.upstream.head import added, lines_of
from tests.adapters.upstream.servers import PATIENT, Peer, Upstream, beside, fetch, plain

SECRET = "sk-secret-0123456789"


def test_what_every_request_carries_gives_way_to_what_is_given() -> None:
    lines = lines_of({"User-Agent": "mine", "x-kept": "é"}).decode().split("\r\n")
    assert lines == [
        "User-Agent: mine",
        "x-kept: é",
        "accept: */*",
        "accept-encoding: identity",
        "",
    ]


def test_what_is_made_from_body_and_url_is_left_out() -> None:
    given = {"Host": "elsewhere", "content-length": "9", "Transfer-Encoding": "chunked"}
    assert b"elsewhere" not in lines_of(given)
    assert lines_of(given) == lines_of({})


@pytest.mark.parametrize(
    ("name", "value"),
    [("x", "a\r\nb: c"), ("x", "a\nb"), ("x", "a\0"), ("x y", "a"), ("x:", "a"), ("", "a")],
)
def test_a_header_that_would_break_the_head_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        added([(name, value)])


def test_common_headers_show_no_secret() -> None:
    common = CommonHeaders({"authorization": f"Bearer {SECRET}"})
    assert SECRET in common.lines.decode()
    assert SECRET not in repr(common)
    assert SECRET not in repr(UpstreamCall(f"http://x/?key={SECRET}", common, SECRET.encode()))


def test_headers_of_one_call_stand_beside_those_of_all() -> None:
    async def serving(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.write(plain(b"{}"))
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        common = CommonHeaders({"x-shared": "1"})
        for number in ("a", "b"):
            more = {"idempotency-key": number}.items()
            await fetch(
                client, UpstreamCall(upstream.url, common, b"{}", settings=PATIENT, more=more)
            )
        heads = [request.decode().split("\r\n") for request in upstream.requests]
        assert all("x-shared: 1" in head for head in heads)
        assert ["idempotency-key: a" in heads[0], "idempotency-key: b" in heads[1]] == [True, True]

    beside(serving, test)


def test_an_answer_before_the_request_was_sent_whole_ends_the_connection() -> None:
    async def refusing(peer: Peer) -> None:
        await peer.write(plain(b"{}", status="413 Content Too Large"))
        await peer.gone()

    async def test(client: UpstreamClient, upstream: Upstream) -> None:
        call = UpstreamCall(upstream.url, body=b"x" * 30_000_000, settings=PATIENT)
        answer, _ = await fetch(client, call)
        assert answer.status == 413
        await fetch(client, UpstreamCall(upstream.url, body=b"{}", settings=PATIENT))
        assert upstream.connections == 2

    beside(refusing, test)
