"""Every way in which a call can fail, as one exception with evidence of how far it got.

Messages are made here and never quote the library's: those repeat URLs and header values.
"""

from __future__ import annotations

import errno
import ssl
from typing import Literal

import aiohttp

from routeradmin.adapters.guard import ConnectionRefusedByPolicy

FailureKind = Literal[
    "connect",
    "dns",
    "tls",
    "timeout-connect",
    "timeout-header",
    "timeout-idle",
    "timeout-total",
    "reset",
    "protocol",
    "refused-address",
    "too-large",
]
Dispatch = Literal["not-sent", "unknown", "accepted"]
Expired = Literal["timeout-header", "timeout-idle", "timeout-total"]

_EXPIRED: dict[Expired, str] = {
    "timeout-header": "the upstream did not answer in time",
    "timeout-idle": "the upstream fell silent in the middle of its answer",
    "timeout-total": "the answer was not complete in the total time",
}

UNREADABLE = (
    "the answer is compressed in a way that cannot be read here, though none was asked for; gzip "
    "and deflate can be"
)

# What the library raises for an exchange that went wrong.
LIBRARY_ERRORS = (aiohttp.ClientError, OSError, aiohttp.http.HttpProcessingError)

# What goes wrong with certificates in practice, by OpenSSL's verification code.
_CERTIFICATE_FAULTS = {
    9: "not valid yet",
    10: "expired",
    18: "self-signed",
    19: "signed by an unknown self-signed authority",
    20: "signed by an unknown authority",
    21: "signed by an unknown authority",
    62: "for another host name",
    64: "for another address",
}


class UpstreamFailure(Exception):
    """A call without a whole answer. `message` holds no URL, secret or header value.

    `dispatch`: `not-sent` (the request never left), `unknown` (it may have been acted on),
    `accepted` (an answer had begun).
    """

    def __init__(self, kind: FailureKind, dispatch: Dispatch, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.dispatch = dispatch
        self.message = message


def failure_of(
    problem: BaseException, dispatch: Dispatch, *, expired: Expired | None
) -> UpstreamFailure:
    """The failure for an exception of aiohttp; ``expired`` is the clock that cut the call off."""
    if dispatch == "not-sent":
        kind, message = _before_sending(problem)
    elif expired is not None:
        kind, message = expired, _EXPIRED[expired]
    elif _is_malformed(problem) and not isinstance(problem, aiohttp.ClientPayloadError):
        # Said by the head of an answer, whose body will not be read.
        kind, dispatch, message = "protocol", "accepted", UNREADABLE
    else:
        kind, message = _after(problem)
    return UpstreamFailure(kind, dispatch, message)


def _before_sending(problem: BaseException) -> tuple[FailureKind, str]:
    match problem:
        case aiohttp.ConnectionTimeoutError():
            return "timeout-connect", "the connection was not made in time"
        case aiohttp.ClientConnectorCertificateError(certificate_error=error):
            return "tls", tls_fault(error)
        case aiohttp.ClientSSLError(os_error=error):
            return "tls", tls_fault(error)
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedByPolicy() as refused):
            return "refused-address", str(refused.__cause__)
        case aiohttp.ClientConnectorDNSError():
            return "dns", "the upstream's host name was not found"
        case aiohttp.ClientProxyConnectionError(os_error=error):
            return "connect", f"no connection to the proxy: {errno_text(error)}"
        case aiohttp.ClientHttpProxyError(status=status):
            return "connect", f"the proxy refused the connection with status {status}"
        case TimeoutError():  # an OSError too
            return "timeout-total", "the total time was over before the request was sent"
        case OSError():
            return "connect", f"no connection: {errno_text(problem)}"
        case aiohttp.ClientConnectionError():
            return "connect", "the connection was closed before the request was sent"
    return "protocol", "the request cannot be sent: its URL, headers or proxy are malformed"


def _after(problem: BaseException) -> tuple[FailureKind, str]:
    match problem:
        case aiohttp.ClientPayloadError() if _is_malformed(problem):
            return "protocol", "the body of the answer is not encoded as its headers say"
        case aiohttp.ClientPayloadError():
            return "reset", "the upstream closed the connection before the answer was complete"
        case aiohttp.ServerDisconnectedError():
            return "reset", "the upstream closed the connection without an answer"
        case OSError():
            return "reset", f"the connection broke: {errno_text(problem)}"
        case aiohttp.ClientConnectionError():
            return "reset", "the connection was closed"
    return "protocol", "the upstream's answer is not HTTP"


def _is_malformed(problem: BaseException) -> bool:
    """Whether it is about the body's encoding: the head's word for it, or the body itself."""
    return isinstance(problem.__cause__, aiohttp.http_exceptions.ContentEncodingError)


def tls_fault(error: BaseException | None) -> str:
    """What was wrong with a certificate or a handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        code = error.verify_code
        fault = _CERTIFICATE_FAULTS.get(code, f"not accepted (code {code})")
        return f"the upstream's certificate is {fault}"
    reason = getattr(error, "reason", None)
    return f"no TLS connection: {str(reason or 'the handshake failed').lower().replace('_', ' ')}"


def errno_text(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "no answer")
