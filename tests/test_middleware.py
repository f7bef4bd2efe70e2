"""Headers on every answer, and the sender's own address."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from routeradmin.middleware import DOCS_POLICY, POLICY, SecurityHeaders


def seen(settings: Any, proxies: list[str], sender: str, **headers: str) -> HttpRequest:
    """The request as the views behind the middleware see it."""
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR=sender, headers=headers)
    SecurityHeaders(lambda _: HttpResponse())(request)
    return request


@pytest.mark.parametrize(
    ("path", "policy"), [("/", POLICY), ("/api/v1/docs", DOCS_POLICY), ("/api/v1/docsx", POLICY)]
)
def test_every_answer_says_what_a_page_may_load(path: str, policy: str) -> None:
    answer: Any = SecurityHeaders(lambda _: HttpResponse())(RequestFactory().get(path))
    assert answer.headers["Content-Security-Policy"] == policy


def test_an_asynchronous_view_gets_the_same_headers() -> None:
    async def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    async def call() -> Any:
        answer: Any = SecurityHeaders(view)(RequestFactory().get("/"))
        return await answer

    assert async_to_sync(call)().headers["Content-Security-Policy"] == POLICY


def test_a_stranger_cannot_claim_another_address(settings: Any) -> None:
    request = seen(
        settings,
        ["10.0.0.0/8"],
        "203.0.113.9",
        x_forwarded_for="198.51.100.1",
        x_forwarded_proto="https",
    )
    assert request.META["REMOTE_ADDR"] == "203.0.113.9"
    assert "HTTP_X_FORWARDED_FOR" not in request.META
    assert "HTTP_X_FORWARDED_PROTO" not in request.META


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("192.0.2.66, 198.51.100.1, 10.0.0.7", "198.51.100.1"),
        ("nonsense", "10.0.0.1"),
        ("", "10.0.0.1"),
        ("nonsense, 10.0.0.7", "10.0.0.7"),
    ],
)
def test_trusted_proxies_are_believed_as_far_as_they_reach(
    settings: Any, forwarded: str, address: str
) -> None:
    request = seen(settings, ["10.0.0.0/8"], "10.0.0.1", x_forwarded_for=forwarded)
    assert request.META["REMOTE_ADDR"] == address


def test_a_mapped_address_of_a_proxy_is_its_own(settings: Any) -> None:
    request = seen(settings, ["10.0.0.0/8"], "::ffff:10.0.0.1", x_forwarded_for="198.51.100.1")
    assert request.META["REMOTE_ADDR"] == "198.51.100.1"
