"""How a candidate is called: address, credentials, settings. Gateway, probes and tests use it."""

from __future__ import annotations

from collections.abc import Mapping

from routeradmin.adapters.sealing import Secret
from routeradmin.adapters.upstream import EndpointSettings, UpstreamCall
from routeradmin.engine.objects import AuthKind, Credential, Endpoint

PATHS: Mapping[str, str] = {
    "chat-completions": "chat/completions",
    "completions": "completions",
    "embeddings": "embeddings",
    "responses": "responses",
    "messages": "messages",
}
MODELS_PATH = "models"
ANTHROPIC_VERSION = "2023-06-01"


class NoSecret(Exception):
    """The credential needs a secret and none is stored, its reference is unset, or it left the
    catalog while a turn was under way."""

    def __init__(self, credential_id: str) -> None:
        super().__init__(f"no secret of credential {credential_id!r} is at hand")


def auth_headers(credential: Credential, secret: Secret | None) -> dict[str, str]:
    """The header that carries the secret. Raises NoSecret."""
    if credential.auth_kind is AuthKind.ANONYMOUS:
        return {}
    if secret is None:
        raise NoSecret(credential.id)
    if credential.auth_kind is AuthKind.API_KEY:
        return {credential.api_key_header or "x-api-key": secret.reveal()}
    return {"authorization": f"Bearer {secret.reveal()}"}


def call_headers(
    endpoint: Endpoint, credential: Credential, secret: Secret | None, protocol: str
) -> dict[str, str]:
    """Everything an upstream call carries besides what the caller sent. Raises NoSecret."""
    headers = {"accept": "application/json", **dict(endpoint.headers)}
    if protocol == "messages":
        headers.setdefault("anthropic-version", ANTHROPIC_VERSION)
    return headers | auth_headers(credential, secret)


def settings_of(endpoint: Endpoint) -> EndpointSettings:
    return EndpointSettings(
        proxy=endpoint.proxy,
        ca_file=endpoint.ca_file,
        connect_timeout_s=endpoint.connect_timeout_s,
        header_timeout_s=endpoint.header_timeout_s,
        idle_timeout_s=endpoint.idle_timeout_s,
        total_timeout_s=endpoint.total_timeout_s,
    )


def post(
    endpoint: Endpoint,
    credential: Credential,
    secret: Secret | None,
    protocol: str,
    body: bytes,
    settings: EndpointSettings | None = None,
) -> UpstreamCall:
    """A POST in one of the protocols. Raises NoSecret."""
    headers = call_headers(endpoint, credential, secret, protocol)
    headers["content-type"] = "application/json"
    return UpstreamCall(
        url=endpoint.base_url + PATHS[protocol],
        headers=headers,
        body=body,
        settings=settings or settings_of(endpoint),
    )


def get(
    endpoint: Endpoint,
    credential: Credential,
    secret: Secret | None,
    protocol: str,
    path: str,
    settings: EndpointSettings | None = None,
) -> UpstreamCall:
    """A GET below the base URL. Raises NoSecret."""
    return UpstreamCall(
        url=endpoint.base_url + path.lstrip("/"),
        headers=call_headers(endpoint, credential, secret, protocol),
        method="GET",
        settings=settings or settings_of(endpoint),
    )
