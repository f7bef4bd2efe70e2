"""The neutral document: one catalog as routeradmin.catalog/1 declares it.

llm.catalog/1 is the subset of the fields named in each table's ``LLM``. What a document states
and what it leaves to defaults is told apart by pydantic's ``model_fields_set``.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from routeradmin.catalog.fields import (
    AdminState,
    AliasName,
    AuthKind,
    BaseUrl,
    BillingKind,
    Count,
    Efforts,
    FilePath,
    HeaderName,
    Headers,
    Ident,
    Idents,
    Instant,
    KeyHeader,
    Name,
    OneOrMore,
    Position,
    Positive,
    Price,
    ProbeMode,
    Protocol,
    Protocols,
    ProxyUrl,
    RequestPath,
    Seconds,
    SomeSeconds,
    Strategy,
    Tags,
    Text,
    TextList,
    UpstreamName,
    Weight,
    WhenExhausted,
)
from routeradmin.catalog.intent_settings import IntentSettings
from routeradmin.catalog.policies import Policy
from routeradmin.catalog.table import Table

LLM_FORMAT = "llm.catalog/1"
FORMAT = "routeradmin.catalog/1"


class Provider(Table):
    """A vendor or lab."""

    LLM = LLM_REQUIRED = ("id", "category")

    id: Ident
    category: Ident
    name: Name | None = None
    kind: Ident = "openai-compatible"
    admin_state: AdminState = "enabled"
    tags: Tags = ()

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}


class Account(Table):
    """A credential: a reference to a secret, or none, of one provider."""

    LLM = (
        "id",
        "provider_id",
        "auth_kind",
        "billing_kind",
        "secret_reference_id",
        "api_key_header",
    )
    LLM_REQUIRED = ("id", "provider_id", "auth_kind", "billing_kind")

    id: Ident
    provider_id: Ident
    auth_kind: AuthKind
    billing_kind: BillingKind
    secret_reference_id: Ident | None = None
    api_key_header: KeyHeader | None = None
    name: Name | None = None
    admin_state: AdminState = "enabled"
    tags: Tags = ()

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}


class Probe(Table):
    """How a health probe asks."""

    mode: ProbeMode = "off"
    interval_s: SomeSeconds = 30
    timeout_s: SomeSeconds = 5
    failure_threshold: Annotated[int, Field(ge=1, le=1_000_000)] = 5
    path: RequestPath | None = None


class Endpoint(Table):
    """A base URL, stored normalised with its trailing slash, reached with a credential."""

    LLM = LLM_REQUIRED = ("id", "account_id", "base_url")

    id: Ident
    account_id: Ident
    base_url: BaseUrl
    name: Name | None = None
    headers: Headers = Field(default_factory=dict)
    proxy: ProxyUrl | None = None
    ca_file: FilePath | None = None
    connect_timeout_s: SomeSeconds = 15
    header_timeout_s: SomeSeconds = 60
    idle_timeout_s: SomeSeconds = 180
    total_timeout_s: SomeSeconds = 600
    probe: Probe = Field(default_factory=Probe)

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}


class Model(Table):
    """An upstream model name; one ``*`` takes what the route's pattern matched."""

    LLM = LLM_REQUIRED = ("id", "upstream_name")

    id: Ident
    upstream_name: UpstreamName
    name: Name | None = None

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}


class Capabilities(Table):
    """None is not declared, hence not checked."""

    LLM = LLM_REQUIRED = (
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "reasoning_efforts",
        "context_window",
        "max_output_tokens",
    )

    tools: bool | None = None
    tool_choice: bool | None = None
    temperature: bool | None = None
    top_p: bool | None = None
    reasoning_efforts: Efforts | None = None
    context_window: Positive | None = None
    max_output_tokens: Positive | None = None
    vision: bool | None = None
    audio: bool | None = None
    embeddings: bool | None = None
    json_schema: bool | None = None


class ServingModel(Table):
    """A deployment: one model at one endpoint. No ``account_ids``: the endpoint's account."""

    LLM = LLM_REQUIRED = ("id", "endpoint_id", "model_id", "protocol", "capabilities")

    id: Ident
    endpoint_id: Ident
    model_id: Ident
    protocol: Protocol
    capabilities: Capabilities = Field(default_factory=Capabilities)
    name: Name | None = None
    protocols: Protocols = ()
    account_ids: Idents = ()
    weight: Weight = 1
    priority: Weight = 0
    rpm_limit: Count | None = None
    tpm_limit: Count | None = None
    max_parallel_requests: Count | None = None
    admin_state: AdminState = "enabled"
    drain_until: Instant | None = None
    tags: Tags = ()
    probe: Probe | None = None
    input_price: Price | None = None
    output_price: Price | None = None

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}


class Route(Table):
    """A public model name. No ``strategy`` or ``policy_id``: what ``defaults`` says."""

    LLM = ("id", "alias", "fallback_enabled")
    LLM_REQUIRED = ("id", "alias")
    ALWAYS = frozenset({"fallback_enabled"})

    id: Ident
    alias: AliasName
    fallback_enabled: bool = False
    name: Name | None = None
    strategy: Strategy | None = None
    policy_id: Ident | None = None
    when_exhausted: WhenExhausted = "fail"
    max_wait_s: Seconds = 0
    affinity_ttl_s: Seconds = 0
    preview: Idents = ()
    admin_state: AdminState = "enabled"
    tags: Tags = ()

    def implied(self) -> dict[str, Any]:
        return {"name": self.alias}


class Target(Table):
    """A deployment at a position of a route; targets that share one form a tier."""

    LLM = LLM_REQUIRED = ("id", "route_id", "serving_model_id", "position")

    id: Ident
    route_id: Ident
    serving_model_id: Ident
    position: Position


class Alias(Table):
    """Another name for a route alias or another alias."""

    name: Name
    target: AliasName


class When(Table):
    """Facts of a request; every one given must hold. ``hours`` are ``HH:MM-HH:MM`` in UTC."""

    tags: Tags = ()
    key: OneOrMore = ()
    header: dict[HeaderName, Text] = Field(default_factory=dict)
    hours: OneOrMore = ()
    min_input_tokens: Count | None = None
    max_input_tokens: Count | None = None
    tools: bool | None = None


class Rule(Table):
    """Where its condition holds, only these deployments of the route may be used."""

    id: Ident
    route_id: Ident
    position: Position = 0
    when: When = Field(default_factory=When)
    only: Idents = ()


class Intent(Table):
    """What ``auto`` may mean, and the route that serves it."""

    id: Ident
    name: Name | None = None
    description: Text = ""
    examples: TextList = ()
    keywords: Tags = ()
    route_id: Ident
    local_only: bool = False

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}


class Defaults(Table):
    """What routes without a strategy or policy get, and what ``auto`` goes by."""

    strategy: Strategy | None = None
    policy_id: Ident | None = None
    auto_priority: Tags = ()
    intents: IntentSettings = Field(default_factory=IntentSettings)


class Document(Table):
    """A whole catalog. Lists keep the order in which they were given."""

    LLM = LLM_REQUIRED = (
        "providers",
        "accounts",
        "endpoints",
        "models",
        "serving_models",
        "routes",
        "targets",
    )

    providers: Annotated[tuple[Provider, ...], Field(strict=False)] = ()
    accounts: Annotated[tuple[Account, ...], Field(strict=False)] = ()
    endpoints: Annotated[tuple[Endpoint, ...], Field(strict=False)] = ()
    models: Annotated[tuple[Model, ...], Field(strict=False)] = ()
    serving_models: Annotated[tuple[ServingModel, ...], Field(strict=False)] = ()
    routes: Annotated[tuple[Route, ...], Field(strict=False)] = ()
    targets: Annotated[tuple[Target, ...], Field(strict=False)] = ()
    aliases: Annotated[tuple[Alias, ...], Field(strict=False)] = ()
    policies: Annotated[tuple[Policy, ...], Field(strict=False)] = ()
    rules: Annotated[tuple[Rule, ...], Field(strict=False)] = ()
    intents: Annotated[tuple[Intent, ...], Field(strict=False)] = ()
    defaults: Defaults = Field(default_factory=Defaults)


KINDS: dict[str, type[Table]] = {
    "providers": Provider,
    "accounts": Account,
    "endpoints": Endpoint,
    "models": Model,
    "serving_models": ServingModel,
    "routes": Route,
    "targets": Target,
    "aliases": Alias,
    "policies": Policy,
    "rules": Rule,
    "intents": Intent,
}


def key_of(entry: Table) -> str:
    """What identifies an entry within its kind: the id, and an alias's name."""
    return str(getattr(entry, "name" if isinstance(entry, Alias) else "id"))
