"""Which upstream addresses may be called: the rule for URLs when saved, for sockets when opened."""

from __future__ import annotations

from typing import Literal

from routeradmin.adapters.address_ranges import Kind, kind_of
from routeradmin.web_url import UrlRefused, parse_base_url

Policy = Literal["none", "loopback", "private"]

METADATA_HOSTS = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
    }
)

_ALLOWED: dict[Policy, frozenset[Kind]] = {
    "none": frozenset({"public"}),
    "loopback": frozenset({"public", "loopback"}),
    "private": frozenset({"public", "loopback", "private"}),
}
_RULES: dict[Kind, tuple[str, str]] = {
    "never": (
        "never-address",
        "link-local, metadata, multicast and unspecified addresses are never called",
    ),
    "loopback": (
        "loopback-address",
        "loopback addresses are not allowed here: set ROUTERADMIN_ALLOW_PRIVATE_UPSTREAMS to "
        "loopback or private to allow them",
    ),
    "private": (
        "private-address",
        "private addresses are not allowed here: set ROUTERADMIN_ALLOW_PRIVATE_UPSTREAMS to "
        "private to allow them",
    ),
}


class AddressRefused(UrlRefused):
    """The address is outside the policy."""


def check_url(url: str, policy: Policy) -> str:
    """The base URL in normal form, with a trailing slash.

    A literal address must be inside the policy; names are judged when connecting, but for the
    known metadata hosts. Raises UrlRefused (AddressRefused where the address is the reason) with
    a message fit for a form field.
    """
    parsed = parse_base_url(url)
    check_host(parsed.host, policy)
    return str(parsed)


def check_target(url: str, policy: Policy) -> str:
    """A whole URL that something is posted to, its host in normal form; path and query stay.

    Raises UrlRefused like `check_url`.
    """
    base, mark, query = url.partition("?")
    if "#" in query or any(not " " < char <= "~" for char in query):
        raise UrlRefused("query", "the query holds a character that has to be percent-encoded")
    parsed = parse_base_url(base)
    check_host(parsed.host, policy)
    return (str(parsed) if base.endswith("/") else str(parsed).removesuffix("/")) + mark + query


def check_host(host: str, policy: Policy) -> None:
    """Judges a normalised host: a literal address, or a name. Raises AddressRefused."""
    if host.lower().rstrip(".") in METADATA_HOSTS:
        raise AddressRefused("metadata-host", "hosts that serve machine metadata are never called")
    address = literal(host)
    if address is not None:
        check_address(address, policy)


def literal(host: str) -> str | None:
    """The address where the normalised host is one, without brackets."""
    if host.startswith("["):
        return host[1:-1]
    return host if host.replace(".", "").isdigit() else None


def check_address(address: str, policy: Policy) -> None:
    """Raises AddressRefused unless the policy lets this IP address be called."""
    try:
        kind = kind_of(address)
    except ValueError:
        kind = "never"
    if kind not in _ALLOWED[policy]:
        raise AddressRefused(*_RULES[kind])
