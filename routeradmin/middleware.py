"""What every answer of the control plane carries, and whom a request is from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

POLICY = (
    "default-src 'self'; base-uri 'none'; object-src 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
# The API page's own style sheet draws its icons from data: images, and its widget writes styles.
DOCS_PATH = "/api/v1/docs"
DOCS_POLICY = f"{POLICY}; img-src 'self' data:; style-src 'self' 'unsafe-inline'"

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


class SecurityHeaders:
    """Sets the content security policy and puts the client's own address into REMOTE_ADDR.

    The address is taken from X-Forwarded-For only as far as trusted proxies vouch for it; from
    anyone else the forwarding headers are removed, so that nothing later believes them.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        self.trusted = [ip_network(entry, strict=False) for entry in settings.TRUSTED_PROXIES]
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        self._settle_sender(request)
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseBase):
            return _protected(request, answer)
        return self._later(request, answer)

    async def _later(
        self, request: HttpRequest, answer: Awaitable[HttpResponseBase]
    ) -> HttpResponseBase:
        return _protected(request, await answer)

    def _settle_sender(self, request: HttpRequest) -> None:
        sender = request.META.get("REMOTE_ADDR", "")
        if not self._is_trusted(sender):
            for name in ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST"):
                request.META.pop(name, None)
            return
        hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        # Nearest first: the first hop that is no proxy of ours is the client.
        for hop in reversed([hop.strip() for hop in hops if hop.strip()]):
            if _address(hop) is None:
                return
            request.META["REMOTE_ADDR"] = hop
            if not self._is_trusted(hop):
                return

    def _is_trusted(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self.trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _protected(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    is_docs = request.path.rstrip("/") == DOCS_PATH
    answer.headers.setdefault("Content-Security-Policy", DOCS_POLICY if is_docs else POLICY)
    answer.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
    return answer
