"""Calls to upstream endpoints: one pooled client, one kind of failure, nothing decided here."""

from __future__ import annotations

from routeradmin.adapters.upstream.answer import UpstreamAnswer
from routeradmin.adapters.upstream.call import EndpointSettings, UpstreamCall, path_segment
from routeradmin.adapters.upstream.client import UpstreamClient
from routeradmin.adapters.upstream.failures import (
    UNREADABLE,
    Dispatch,
    FailureKind,
    UpstreamFailure,
)
from routeradmin.adapters.upstream.head import CommonHeaders

__all__ = [
    "UNREADABLE",
    "CommonHeaders",
    "Dispatch",
    "EndpointSettings",
    "FailureKind",
    "UpstreamAnswer",
    "UpstreamCall",
    "UpstreamClient",
    "UpstreamFailure",
    "path_segment",
]
