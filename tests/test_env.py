"""Values of environment variables that can and cannot be used."""

from __future__ import annotations

import pytest

from routeradmin import env

NAME = "ROUTERADMIN_ALLOWED_HOSTS"


def test_hosts_are_names_addresses_and_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "router, router.example.com,.example.com,10.0.0.1,[::1],my_host,*")
    assert env.hosts(NAME, "localhost") == [
        "router",
        "router.example.com",
        ".example.com",
        "10.0.0.1",
        "[::1]",
        "my_host",
        "*",
    ]


@pytest.mark.parametrize("value", ["a b", "http://x", "x:8000", "x/", "*.x", "::1", "a..b", "ä"])
def test_what_no_host_header_could_match_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(NAME, f"good.example,{value}")
    with pytest.raises(env.BadVariable, match=f"^{NAME}: accepts host names"):
        env.hosts(NAME, "localhost")


@pytest.mark.parametrize(
    ("text", "listening"),
    [
        ("", None),
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65_535)),
    ],
)
def test_an_address_to_listen_on_is_host_and_port(
    monkeypatch: pytest.MonkeyPatch, text: str, listening: tuple[str, int] | None
) -> None:
    monkeypatch.setenv("X_LISTEN", text)
    assert env.listening("X_LISTEN") == listening


@pytest.mark.parametrize("text", ["9464", ":9464", "host:", "host:x", "host:65536", "host:-1"])
def test_anything_else_is_refused_with_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("X_LISTEN", text)
    with pytest.raises(env.BadVariable, match=r"^X_LISTEN: accepts host:port"):
        env.listening("X_LISTEN")
