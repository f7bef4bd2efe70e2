"""What kind of address an IP is, looking through every form that embeds an IPv4 address.

Python's own properties are not enough: 3.11 calls ::ffff:169.254.169.254 neither link-local nor
private, and no version looks inside NAT64, 6to4, Teredo or ISATAP addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

Kind = Literal["public", "private", "loopback", "never"]
Address = IPv4Address | IPv6Address

_STRICTEST_FIRST: tuple[Kind, ...] = ("never", "private", "loopback", "public")


def _nets(*texts: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(text) for text in texts)


# Link-local, unspecified, multicast, broadcast and reserved ranges, and the addresses at which
# clouds serve machine metadata outside of them (AWS, Google, Alibaba, Azure, Oracle).
_NEVER = _nets(
    "0.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
    "::/128",
    "fe80::/10",
    "ff00::/8",
    "fd00:ec2::/32",
    "fd20:ce::254/128",
)
# Local-use NAT64 and deprecated site-local addresses, which Python takes for global ones.
_PRIVATE = _nets("64:ff9b:1::/48", "fec0::/10")
_LOOPBACK = _nets("127.0.0.0/8", "::1/128")
# Embeds an address of its own below: judged by that, not by the prefix.
_EMBEDDING = _nets("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "2002::/16")


@lru_cache(maxsize=4096)
def kind_of(address: Address | str) -> Kind:
    """The strictest kind of the address and of all addresses embedded in it.

    `private` is everything that is not globally routable and not in another kind. A zone
    (`%eth0`) is ignored. Raises ValueError for text that is no address.
    """
    if isinstance(address, str):
        address = ip_address(address.partition("%")[0])
    kinds = {_own_kind(address), *map(_own_kind, embedded(address))}
    return next(kind for kind in _STRICTEST_FIRST if kind in kinds)


def _own_kind(address: Address) -> Kind:
    if any(address in net for net in _NEVER):
        return "never"
    if any(address in net for net in _LOOPBACK):
        return "loopback"
    if any(address in net for net in _PRIVATE):
        return "private"
    if address.is_global or any(address in net for net in _EMBEDDING):
        return "public"
    return "private"


def embedded(address: Address) -> Iterator[IPv4Address]:
    """IPv4 addresses inside an IPv6 address: mapped, compatible, translated, NAT64, 6to4, Teredo,
    ISATAP."""
    if isinstance(address, IPv4Address):
        return
    value = int(address)
    low = IPv4Address(value & 0xFFFF_FFFF)
    top96 = value >> 32
    if top96 in (0xFFFF, 0xFFFF_0000, 0x0064_FF9B << 64) or (top96 == 0 and value > 1):
        yield low
    if value >> 80 == 0x0064_FF9B_0001:  # RFC 8215: the prefix length inside /48 is not known
        yield low
        yield IPv4Address((value >> 64 & 0xFFFF) << 16 | value >> 40 & 0xFFFF)
    if value >> 112 == 0x2002:
        yield IPv4Address(value >> 80 & 0xFFFF_FFFF)
    if value >> 96 == 0x2001_0000:
        yield IPv4Address(value >> 64 & 0xFFFF_FFFF)
        yield IPv4Address(~value & 0xFFFF_FFFF)
    if value >> 32 & 0xFDFF_FFFF == 0x5EFE:
        yield low
