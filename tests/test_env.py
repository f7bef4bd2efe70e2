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
