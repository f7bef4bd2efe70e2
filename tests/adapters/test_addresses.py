"""Base URLs in one spelling, and addresses that are never, or only by choice, called."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from routeradmin.adapters.address_ranges import kind_of
from routeradmin.adapters.addresses import AddressRefused, check_address, check_url
from routeradmin.adapters.guard import ConnectionRefusedByPolicy, GuardedResolver
from routeradmin.web_url import UrlRefused

METADATA = IPv4Address("169.254.169.254")


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1/"),
        ("https://api.example.com/v1/", "https://api.example.com/v1/"),
        ("HTTPS://API.Example.COM:443", "https://api.example.com/"),
        ("http://h.example:80/a/./b/../c", "http://h.example/a/c/"),
        ("http://h.example:443/%2e%2E/a/%2e", "http://h.example:443/a/"),
        ("http://h.example/a//", "http://h.example/a//"),
        ("http://h.example:/v1", "http://h.example/v1/"),
        ("http:\\\\h.example\\v1", "http://h.example/v1/"),
        ("http://bücher.example/ü{x}|%zz", "http://xn--bcher-kva.example/%C3%BC%7Bx%7D|%zz/"),
        ("http://2130706433/v1", "http://127.0.0.1/v1/"),
        ("http://0x7F.1", "http://127.0.0.1/"),
        ("http://017700000001.", "http://127.0.0.1/"),
        ("http://%31%32%37.0.0.1", "http://127.0.0.1/"),
        ("http://１２７.0.0.1", "http://127.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:8080", "http://[::1]:8080/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("http://[2606:4700:0:0:1:0:0:1]", "http://[2606:4700::1:0:0:1]/"),
    ],
)
def test_a_base_url_has_one_spelling(given_url: str, normal: str) -> None:
    assert check_url(given_url, "loopback") == normal
    assert check_url(normal, "loopback") == normal


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("file:///etc/passwd", "scheme"),
        ("api.example.com/v1", "scheme"),
        ("", "scheme"),
        ("http://", "host"),
        ("http://user:hunter22@h.example/", "user-info"),
        ("http://@h.example/", "user-info"),
        ("http://h.example/?key=hunter22", "query"),
        ("http://h.example/?", "query"),
        ("http://h.example/#hunter22", "fragment"),
        ("http://h.example/a b", "characters"),
        ("http://h.example/\x00", "characters"),
        ("http://h.example/\u3000", "characters"),
        (" http://h.example/", "characters"),
        ("http://h.example:65536/", "port"),
        ("http://h.example:٣/", "port"),
        ("http://1.2.3.4.5/", "host"),
        ("http://256.0.0.1/", "host"),
        ("http://08.1/", "host"),
        ("http://[::1/", "host"),
        ("http://[fe80::1%25eth0]/", "host"),
        ("http://a%2fb/", "host"),
        ("http://h.example/" + "a" * 4096, "length"),
    ],
)
def test_a_refused_url_names_the_rule_and_repeats_nothing(url: str, rule: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        check_url(url, "private")
    assert refused.value.rule == rule
    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize("policy", ["none", "loopback", "private"])
@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.169.254.",
        "2852039166",
        "0xA9FEA9FE",
        "0251.0376.0251.0376",
        "１６９.254.169.254",
        "[::ffff:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[2606:4700::5efe:a9fe:a9fe]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "0.0.0.0",
        "0",
        "[::]",
        "224.0.0.1",
        "255.255.255.255",
        "[ff02::1]",
        "metadata",
        "METADATA.google.internal",
        "metadata.google.internal.",
        "instance-data",
    ],
)
def test_some_hosts_are_never_called(host: str, policy: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        check_url(f"http://{host}/v1", policy)
    assert refused.value.rule in ("never-address", "metadata-host")


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("8.8.8.8", {"none", "loopback", "private"}),
        ("[64:ff9b::808:808]", {"none", "loopback", "private"}),
        ("no-address.example", {"none", "loopback", "private"}),
        ("127.8.0.1", {"loopback", "private"}),
        ("[::1]", {"loopback", "private"}),
        ("[::ffff:127.0.0.1]", {"loopback", "private"}),
        ("10.1.2.3", {"private"}),
        ("100.64.0.1", {"private"}),
        ("[fd12::1]", {"private"}),
        ("[::ffff:192.168.0.1]", {"private"}),
        ("[64:ff9b::a00:1]", {"private"}),
    ],
)
def test_other_hosts_are_called_as_the_policy_says(host: str, allowed: set[str]) -> None:
    def passes(policy: str) -> bool:
        try:
            check_url(f"http://{host}/", policy)
        except AddressRefused:
            return False
        return True

    assert {policy for policy in ("none", "loopback", "private") if passes(policy)} == allowed


EMBEDDINGS = [
    lambda v4: 0xFFFF << 32 | v4,
    lambda v4: 0xFFFF_0000 << 32 | v4,
    lambda v4: 0x64_FF9B << 96 | v4,
    lambda v4: 0x2002 << 112 | v4 << 80,
    lambda v4: 0x2001 << 112 | 0xFFFF_FFFF & ~v4,
    lambda v4: 0x2606_4700 << 96 | 0x5EFE << 32 | v4,
]


@settings(deadline=None)
@given(st.sampled_from(EMBEDDINGS), st.sampled_from(["169.254.0.0", "224.0.0.0"]), st.integers(0))
def test_an_embedded_address_that_is_never_called_is_seen(
    embed: Callable[[int], int], base: str, offset: int
) -> None:
    v4 = int(IPv4Address(base)) + offset % 65536
    assert kind_of(IPv6Address(embed(v4))) == "never"


def _spelled(value: int, base: int) -> str:
    return {8: f"0{value:o}", 10: str(value), 16: f"0x{value:X}"}[base]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.lists(st.sampled_from([8, 10, 16])))
def test_every_spelling_of_an_ipv4_address_is_that_address(
    value: int, parts: int, bases: list[int]
) -> None:
    octets = value.to_bytes(4)
    numbers = [*octets[: parts - 1], int.from_bytes(octets[parts - 1 :])]
    bases = [*bases, 10, 10, 10, 10]
    host = ".".join(_spelled(number, base) for number, base in zip(numbers, bases, strict=False))
    try:
        assert check_url(f"http://{host}/", "private") == f"http://{IPv4Address(value)}/"
    except AddressRefused:
        assert kind_of(IPv4Address(value)) == "never"


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FF), max_size=60))
def test_whatever_is_accepted_is_stable_and_clean(tail: str) -> None:
    try:
        url = check_url("http://" + tail, "private")
    except UrlRefused:
        assume(False)
    assert check_url(url, "private") == url
    assert url.isascii()
    assert url.endswith("/")
    assert not {*url} & {*' "<>`\\?#'}


class Names(AbstractResolver):
    """Answers every name with the same addresses."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=a, port=port, family=family, proto=0, flags=0)
            for a in self._addresses
        ]

    async def close(self) -> None:
        return None


def test_a_name_keeps_its_allowed_addresses_only() -> None:
    inner = Names("169.254.169.254", "8.8.8.8", "10.0.0.1", "fe80::1%eth0")
    found = asyncio.run(GuardedResolver(inner, "none").resolve("models.example", 443))
    assert [answer["host"] for answer in found] == ["8.8.8.8"]


def test_a_name_without_an_allowed_address_is_refused() -> None:
    resolver = GuardedResolver(Names("127.0.0.1"), "none")
    with pytest.raises(ConnectionRefusedByPolicy) as refused:
        asyncio.run(resolver.resolve("rebound.example", 443))
    assert isinstance(refused.value.__cause__, AddressRefused)


def test_a_name_without_any_address_is_not_found() -> None:
    with pytest.raises(OSError, match="no address"):
        asyncio.run(GuardedResolver(Names(), "none").resolve("empty.example", 443))


def test_a_metadata_name_is_not_even_looked_up() -> None:
    with pytest.raises(ConnectionRefusedByPolicy):
        asyncio.run(GuardedResolver(Names("8.8.8.8"), "private").resolve("metadata", 80))


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(AddressRefused):
        check_address("/run/socket", "private")
