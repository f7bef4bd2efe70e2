"""Base URLs normalised as a WHATWG URL parser does it, for http and https alone.

Host spellings matter most: `0x7f.1`, `2130706433` and full-width digits are all 127.0.0.1 to a
client that follows the standard, so they must be that to the guard as well.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

import idna

MAX_URL_BYTES = 4096

_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN_IN_HOST = frozenset('\0\t\n\r #/:<>?@[\\]^|%"`{}') | {chr(c) for c in range(0x20)}
# The path percent-encode set within ASCII; everything above is encoded too.
_ENCODED_IN_PATH = frozenset(b' "#<>?`{}')
_ONE_DOT = {".", "%2e"}
_TWO_DOTS = {"..", ".%2e", "%2e.", "%2e%2e"}


class UrlRefused(ValueError):
    """A URL breaks a rule. `rule` names it; the text never repeats user-info, path or query."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(slots=True, frozen=True)
class WebUrl:
    scheme: str
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}"


def parse_base_url(text: str) -> WebUrl:
    """The URL in its one spelling, path with a trailing slash. Raises UrlRefused."""
    _check_text(text)
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower()
    if not colon or scheme not in _DEFAULT_PORTS:
        raise UrlRefused("scheme", "a base URL starts with http:// or https://")
    if "#" in rest:
        raise UrlRefused("fragment", "a base URL has no fragment: remove # and what follows")
    if "?" in rest:
        raise UrlRefused("query", "a base URL has no query: remove ? and what follows")
    authority, slash, path = rest.replace("\\", "/").lstrip("/").partition("/")
    if "@" in authority:
        raise UrlRefused(
            "user-info", "a base URL has no user-info: give the secret as a credential instead"
        )
    host, port = _split_port(authority)
    number = _port(port, scheme)
    return WebUrl(scheme, _host(host), number, _path(slash + path))


def host_of(url: str) -> str:
    """``https://host/…``: where a URL leads, without what may be a secret in it."""
    scheme, mark, rest = url.partition("://")
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    return f"{scheme}{mark}{authority.rpartition('@')[2]}/…" if mark else "…"


def _check_text(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_URL_BYTES:
        raise UrlRefused("length", f"a base URL has at most {MAX_URL_BYTES} bytes")
    if any(char.isspace() or unicodedata.category(char) in ("Cc", "Cs", "Zs") for char in text):
        raise UrlRefused("characters", "a base URL has no spaces and no control characters")


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise UrlRefused("host", "an IPv6 address in a URL stands in brackets, as in [::1]")
        return host + bracket, rest[1:]
    host, _, port = authority.partition(":")
    return host, port


def _port(text: str, scheme: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise UrlRefused("port", "a port is a number from 0 to 65535")
    number = int(text)
    return None if number == _DEFAULT_PORTS[scheme] else number


def _host(text: str) -> str:
    if not text:
        raise UrlRefused("host", "a base URL needs a host, as in https://api.example.com/v1")
    if text.startswith("["):
        return f"[{_ipv6(text[1:-1])}]"
    name = _to_ascii(unquote_to_bytes(text))
    if not name or any(char in _FORBIDDEN_IN_HOST or char > "~" for char in name):
        raise UrlRefused("host", "the host holds a character that host names cannot hold")
    return str(_ipv4(name)) if _ends_in_number(name) else name


def _to_ascii(raw: bytes) -> str:
    try:
        text = raw.decode()
        if text.isascii():
            return text.lower()
        # Dots of other scripts separate labels, and an empty last label is kept as it is.
        mapped = idna.uts46_remap(text, std3_rules=False, transitional=False)
        labels = (label if label.isascii() else _label(label) for label in mapped.split("."))
        return ".".join(labels)
    except (UnicodeError, idna.IDNAError) as problem:
        raise UrlRefused("host", "the host is not a valid international name") from problem


def _label(text: str) -> str:
    return idna.alabel(text).decode()


def _ends_in_number(name: str) -> bool:
    last = name.removesuffix(".").rpartition(".")[2]
    return last.isdigit() or (last[:2] == "0x" and all(c in "0123456789abcdef" for c in last[2:]))


def _ipv4(name: str) -> IPv4Address:
    """The address meant by up to four parts, each decimal, octal (0...) or hex (0x...)."""
    parts = name.removesuffix(".").split(".")
    try:
        numbers = [_ipv4_part(part) for part in parts]
    except ValueError:
        numbers = []
    *leading, last = numbers or [1 << 32]
    room = 256 ** (4 - len(leading))
    if len(leading) > 3 or last >= room or any(number > 255 for number in leading):
        raise UrlRefused("host", "the host ends in a number and is no IPv4 address")
    value = last + sum(n * 256 ** (3 - i) for i, n in enumerate(leading))
    return IPv4Address(value)


def _ipv4_part(part: str) -> int:
    if part[:2] == "0x":
        return int(part[2:] or "0", 16)
    if not part.isdigit():
        raise ValueError(part)
    return int(part, 8) if part[0] == "0" else int(part)


def _ipv6(text: str) -> str:
    try:
        if "%" in text:
            raise AddressValueError("zones have no place in a URL")
        value = int(IPv6Address(text))
    except AddressValueError as problem:
        raise UrlRefused("host", "the host in brackets is no IPv6 address") from problem
    # Written out here: Python's own text form differs between versions for mapped addresses.
    pieces = [f"{value >> shift & 0xFFFF:x}" for shift in range(112, -16, -16)]
    start, length = _longest_zero_run(pieces)
    if length < 2:
        return ":".join(pieces)
    return ":".join(pieces[:start]) + "::" + ":".join(pieces[start + length :])


def _longest_zero_run(pieces: list[str]) -> tuple[int, int]:
    best = (0, 0)
    for start in range(8):
        length = 0
        while start + length < 8 and pieces[start + length] == "0":
            length += 1
        if length > best[1]:
            best = (start, length)
    return best


def _path(text: str) -> str:
    kept: list[str] = []
    for segment in text.split("/")[1:]:
        lowered = segment.lower()
        if lowered in _TWO_DOTS:
            del kept[-1:]
        elif lowered not in _ONE_DOT:
            kept.append(segment)
    raw = "/".join(["", *kept, ""]) if kept and kept[-1] else "/".join(["", *kept])
    return "".join(map(_encoded, (raw or "/").encode()))


def _encoded(byte: int) -> str:
    return f"%{byte:02X}" if byte in _ENCODED_IN_PATH or not 0x20 < byte < 0x7F else chr(byte)
