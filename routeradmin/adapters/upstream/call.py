"""What is asked of an upstream, and the settings of the endpoint that is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(slots=True, frozen=True)
class EndpointSettings:
    """How an endpoint is reached; endpoints with equal settings share a connection pool.

    `header_timeout_s` runs from the open connection to the end of the answer's head (the upload
    included), `idle_timeout_s` between two pieces of the body, `total_timeout_s` over everything.
    `ca_file` replaces the system's authorities. `proxy` is an http:// or https:// URL whose own
    address is held to the address policy too; names of upstreams are then resolved by the proxy.
    """

    proxy: str | None = field(default=None, repr=False)  # may hold user-info
    ca_file: str | None = None
    connect_timeout_s: float = 15
    header_timeout_s: float = 60
    idle_timeout_s: float = 180
    total_timeout_s: float = 600


DEFAULT_SETTINGS = EndpointSettings()


@dataclass(slots=True, frozen=True)
class UpstreamCall:
    """One HTTP request. The URL is sent as it is: build it from a checked base URL.

    Headers are the caller's alone (Idempotency-Key and credentials included); Content-Length and
    Host are always made from body and URL.
    """

    url: str = field(repr=False)  # a query may hold a key
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    method: str = "POST"
    settings: EndpointSettings = DEFAULT_SETTINGS


def path_segment(name: str) -> str:
    """A name (of a model, say) as one path segment that no URL library folds or splits.

    Slashes become %2F. Raises ValueError for names whose parts are `.` or `..`, which servers
    that decode first would resolve to another path, and for empty ones.
    """
    parts = name.replace("\\", "/").split("/")
    if not name or any(part in (".", "..") for part in parts):
        raise ValueError("this name cannot stand in a URL path: it is empty or holds . or .. parts")
    return quote(name, safe="")
