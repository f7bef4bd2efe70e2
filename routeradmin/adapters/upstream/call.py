"""What is asked of an upstream, and the settings of the endpoint that is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

from routeradmin.adapters.upstream.head import CommonHeaders, Pairs

Headers = Mapping[str, str] | Pairs | CommonHeaders


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


class UpstreamCall(NamedTuple):
    """One HTTP request. The URL is sent as it is: build it from a checked base URL.

    Headers are the caller's alone (Idempotency-Key and credentials included); Content-Length and
    Host are always made from body and URL. `more` are headers of this call beside `headers`, which
    calls that are alike may share; no name stands in both.
    """

    url: str
    headers: Headers = ()
    body: bytes = b""
    method: str = "POST"
    settings: EndpointSettings = DEFAULT_SETTINGS
    more: Pairs = ()

    def __repr__(self) -> str:
        # URL and headers may hold secrets, the body holds a prompt
        return f"UpstreamCall(method={self.method!r}, settings={self.settings!r})"


def path_segment(name: str) -> str:
    """A name (of a model, say) as one path segment that no URL library folds or splits.

    Slashes become %2F. Raises ValueError for names whose parts are `.` or `..`, which servers
    that decode first would resolve to another path, and for empty ones.
    """
    parts = name.replace("\\", "/").split("/")
    if not name or any(part in (".", "..") for part in parts):
        raise ValueError("this name cannot stand in a URL path: it is empty or holds . or .. parts")
    return quote(name, safe="")
