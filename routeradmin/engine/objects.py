"""The catalog's objects as the engine sees them: frozen values, linked to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class AdminState(StrEnum):
    """What people want; no machine path writes it."""

    ENABLED = "enabled"
    DRAINING = "draining"
    DISABLED = "disabled"


class AuthKind(StrEnum):
    ANONYMOUS = "anonymous"
    BEARER = "bearer"
    API_KEY = "api-key"
    SUBSCRIPTION_OAUTH = "subscription-oauth"


class BillingKind(StrEnum):
    METERED = "metered"
    SUBSCRIPTION = "subscription"
    SELF_HOSTED = "self-hosted"


class WhenExhausted(StrEnum):
    FAIL = "fail"
    WAIT = "wait"
    LEAST_BAD = "least_bad"


class ProbeMode(StrEnum):
    OFF = "off"
    MODELS = "models"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Probe:
    """How a health probe asks: mode, period, limits in seconds, failures until unhealthy."""

    mode: ProbeMode = ProbeMode.OFF
    interval_s: float = 30.0
    timeout_s: float = 5.0
    failure_threshold: int = 5
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    id: str
    category: str
    name: str = ""
    kind: str = "openai-compatible"
    admin_state: AdminState = AdminState.ENABLED
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret, or none, of one provider. ``secret_version`` counts rotations of the secret."""

    id: str
    provider_id: str
    auth_kind: AuthKind
    billing_kind: BillingKind
    secret_reference_id: str | None = None
    api_key_header: str | None = None
    name: str = ""
    admin_state: AdminState = AdminState.ENABLED
    tags: tuple[str, ...] = ()
    secret_version: int = 0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL with its trailing slash; owns timeouts (seconds), proxy and CA."""

    id: str
    account_id: str
    base_url: str
    name: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    proxy: str | None = None
    ca_file: str | None = None
    connect_timeout_s: float = 15.0
    header_timeout_s: float = 60.0
    idle_timeout_s: float = 180.0
    total_timeout_s: float = 600.0
    probe: Probe = field(default_factory=Probe)


@dataclass(frozen=True, slots=True)
class Model:
    id: str
    upstream_name: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a deployment declares; None means not declared, hence not checked."""

    tools: bool | None = None
    tool_choice: bool | None = None
    temperature: bool | None = None
    top_p: bool | None = None
    reasoning_efforts: tuple[str, ...] | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    vision: bool | None = None
    audio: bool | None = None
    embeddings: bool | None = None
    json_schema: bool | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """One model at one endpoint with one or more credentials.

    ``protocols`` lists every protocol it speaks, the declared one first. Limits: None is
    unlimited, 0 admits nothing. ``drain_until`` is in seconds since the epoch. Prices are per
    million tokens.
    """

    id: str
    provider: Provider
    endpoint: Endpoint
    model: Model
    protocol: str
    credentials: tuple[Credential, ...]
    protocols: tuple[str, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    name: str = ""
    weight: int = 1
    priority: int = 0
    rpm_limit: int | None = None
    tpm_limit: int | None = None
    max_parallel_requests: int | None = None
    admin_state: AdminState = AdminState.ENABLED
    drain_until: float | None = None
    tags: tuple[str, ...] = ()
    probe: Probe = field(default_factory=Probe)
    input_price: float | None = None
    output_price: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A deployment at a position of a route; targets that share a position form a tier."""

    id: str
    deployment: Deployment
    position: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A route's condition on request facts; when it holds only ``only`` may be used."""

    id: str
    position: int
    only: tuple[str, ...]
    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    hours: tuple[str, ...] = ()
    min_input_tokens: int | None = None
    max_input_tokens: int | None = None
    tools: bool | None = None
