"""litellm-rs ``gateway.yaml``, also as text inside a Kubernetes ConfigMap."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog.files import yaml_source
from routeradmin.catalog.files.draft import Draft, Remark
from routeradmin.catalog.files.drafting import Drafting, Place
from routeradmin.catalog.files.keys import environment_name, key_of
from routeradmin.catalog.files.values import (
    AMOUNT,
    FLAG,
    LIST,
    TABLE,
    TEXT,
    WHOLE,
    amount,
    mapping,
    text,
    whole,
)
from routeradmin.catalog.files.vendors import OTHER, VENDORS, Vendor, unresolved_url, with_v1
from routeradmin.catalog.problems import Invalid, Problem

SOURCE = "litellm-rs"
STRATEGIES = {
    *("simple_shuffle", "round_robin", "least_busy", "latency_based", "priority_based"),
    *("cost_based", "usage_based", "rate_limit_aware"),
}
FORMAT_DEFAULT = "round_robin"  # what the source does where its file names no strategy
_PROVIDER = {
    *("name", "provider_type", "api_key", "base_url", "weight", "priority", "rpm", "tpm"),
    *("max_concurrent_requests", "timeout", "max_retries", "models", "tags", "enabled"),
    *("organization", "project", "health_check"),
}
_LIMITS = {
    "rpm": "rpm_limit",
    "tpm": "tpm_limit",
    "max_concurrent_requests": "max_parallel_requests",
}
_DESTINATION = ("provider_type", "base_url")
_HEADERS = {"organization": "openai-organization", "project": "openai-project"}


def parse(values: dict[str, Any], repeated: list[Remark]) -> Draft:
    """The draft of a gateway file. Raises Invalid where it is none."""
    drafting = Drafting(SOURCE, notes=repeated)
    if values.get("kind") != "ConfigMap":
        return from_values(values, drafting)
    files = {name: _inner(file) for name, file in mapping(values.get("data")).items()}
    name = next((name for name, (inner, _) in files.items() if "providers" in inner), None)
    if name is None:
        raise Invalid([Problem("/data", "this ConfigMap holds no gateway file with providers")])
    for other in files:
        if other != name:
            drafting.leave("data", other, why="is another file of the ConfigMap")
    inner, repeated = files[name]
    drafting.notes += repeated
    drafting.note("data", name, what="was read out of the ConfigMap around it")
    return from_values(inner, drafting, ("data", name))


def _inner(file: Any) -> tuple[dict[str, Any], list[Remark]]:
    """What a ConfigMap's entry holds; beside the gateway's file anything may stand there."""
    if not isinstance(file, str):
        return {}, []
    try:
        return yaml_source.load(file.encode(errors="replace"))
    except Invalid:
        if "providers" in file:
            raise
        return {}, []


def from_values(values: dict[str, Any], drafting: Drafting, root: Place = ()) -> Draft:
    reader = _Gateway(drafting, root)
    for index, entry in enumerate(drafting.read(LIST, values, "providers", root) or []):
        reader.provider(mapping(entry), (*root, "providers", index))
    reader.router(
        drafting.read(TABLE, values, "router", root) or {},
        drafting.read(TABLE, values, "model_aliases", root) or {},
    )
    for name in values:
        if name not in ("providers", "router", "model_aliases", "schema_version"):
            drafting.leave(*root, name, why="has no counterpart")
    return drafting.finish()


class _Gateway:
    def __init__(self, drafting: Drafting, root: Place) -> None:
        self._drafting = drafting
        self._root = root
        self._retries: dict[int, list[Place]] = {}

    def provider(self, entry: dict[str, Any], at: Place) -> None:
        """One provider: a credential, an endpoint, and a deployment for each of its models."""
        drafting, name = self._drafting, text(entry.get("name"))
        drafting.here = at
        if not name:
            drafting.leave(*at, why="has no name")
            return
        stated = drafting.read(TEXT, entry, "provider_type", at)
        kind = stated or name
        lost = [one for one in _DESTINATION if TEXT.misfits(entry, one)]
        vendor = OTHER if "provider_type" in lost else VENDORS.get(kind, OTHER)
        if stated and stated not in VENDORS:
            what = "is no vendor known here: taken for one that speaks as OpenAI does"
            drafting.note(*at, "provider_type", what=what)
        provider_id = drafting.provider(name, vendor)
        if drafting.read(FLAG, entry, "enabled", at) is False or FLAG.misfits(entry, "enabled"):
            drafting.kinds["providers"][provider_id]["admin_state"] = "disabled"
        drafting.read(TEXT, entry, "api_key", at)
        key = key_of(entry.get("api_key"))
        account_id = drafting.account(provider_id, vendor, key, (*at, "api_key"))
        url = self._base_url(entry, kind, vendor, at)
        endpoint_id = drafting.endpoint(
            account_id, url, (*at, "base_url"), **self._endpoint(entry, at)
        )
        fields = {"protocol": vendor.protocol, **self._fields(entry, at)}
        for one in lost:
            fields["admin_state"] = "disabled"
            what = "cannot be read and says where calls go: give the endpoint its URL, then enable"
            drafting.note(*at, one, what=what)
        models = drafting.read(LIST, entry, "models", at)
        if not models:
            drafting.note(*at, "models", what="are not named: models unknown, no route was made")
        for model in drafting.texts(models or [], (*at, "models")):
            model_id = drafting.model(model)
            id = drafting.deployment(f"{name}-{model}", endpoint_id, model_id, **fields)
            drafting.target(drafting.route(model), id)
        self._rest(entry, at)

    def _base_url(self, entry: dict[str, Any], kind: str, vendor: Vendor, at: Place) -> str:
        base = self._drafting.read(TEXT, entry, "base_url", at)
        variable = environment_name(base)
        if variable is not None:
            what = f"is the variable {variable}: give the endpoint its URL before it is used"
            self._drafting.note(*at, "base_url", what=what)
            return unresolved_url(variable)
        if TEXT.misfits(entry, "base_url"):
            return unresolved_url(kind)
        if not base and vendor.base_url is None:
            what = f"is missing, and {kind} has no well-known URL: give it before it is used"
            self._drafting.note(*at, "base_url", what=what)
            return unresolved_url(kind)
        url = with_v1(base or str(vendor.base_url), vendor)
        if base and url != base:
            self._drafting.note(
                *at, "base_url", what="was completed to the path that calls go below"
            )
        return url

    def _endpoint(self, entry: dict[str, Any], at: Place) -> dict[str, Any]:
        more: dict[str, Any] = {}
        drafting = self._drafting
        timeout_s = drafting.read(AMOUNT, entry, "timeout", at)
        if timeout_s:
            more["total_timeout_s"] = timeout_s
        stated = {header: drafting.read(TEXT, entry, name, at) for name, header in _HEADERS.items()}
        if headers := {header: value for header, value in stated.items() if value}:
            more["headers"] = headers
        check = drafting.read(TABLE, entry, "health_check", at)
        if check is not None:
            more["probe"] = self._probe(check, (*at, "health_check"))
        return more

    def _probe(self, check: dict[str, Any], at: Place) -> dict[str, Any]:
        probe: dict[str, Any] = {"mode": "models"}
        for name, field in (("interval", "interval_s"), ("failure_threshold", "failure_threshold")):
            if count := self._drafting.read(WHOLE, check, name, at):
                probe[field] = count
        for name in check:
            if name not in ("interval", "failure_threshold"):
                why = "has no counterpart: probes ask the endpoint for its models"
                self._drafting.leave(*at, name, why=why)
        return probe

    def _fields(self, entry: dict[str, Any], at: Place) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        drafting = self._drafting
        weight = drafting.read(AMOUNT, entry, "weight", at)
        if weight is not None:
            fields["weight"] = round(max(weight, 1.0))
        priority = drafting.read(WHOLE, entry, "priority", at)
        if priority is not None:
            fields["priority"] = priority
        for name, limit in _LIMITS.items():
            count = drafting.read(WHOLE, entry, name, at)
            if count:
                fields[limit] = count
            elif count is not None:
                drafting.note(*at, name, what="0 is no limit in the source: none was set")
        tags = drafting.texts(drafting.read(LIST, entry, "tags", at) or [], (*at, "tags"))
        return {**fields, "tags": tags} if tags else fields

    def _rest(self, entry: dict[str, Any], at: Place) -> None:
        retries = self._drafting.read(WHOLE, entry, "max_retries", at)
        if retries is not None:
            self._retries.setdefault(retries, []).append((*at, "max_retries"))
        for name in entry:
            if name not in _PROVIDER:
                self._drafting.leave(*at, name, why="has no counterpart")

    def router(self, router: dict[str, Any], aliases: dict[str, Any]) -> None:
        at: Place = (*self._root, "router")
        self._drafting.here = at
        strategy = router.get("strategy", FORMAT_DEFAULT)
        if isinstance(strategy, str) and strategy in STRATEGIES:
            self._drafting.defaults["strategy"] = strategy
        else:
            self._drafting.leave(*at, "strategy", why="is no strategy known here")
        tables = {
            "retry": self._retry(),
            "cooldown": self._breaker(
                self._drafting.read(TABLE, router, "circuit_breaker", at) or {},
                (*at, "circuit_breaker"),
            ),
        }
        tables = {name: table for name, table in tables.items() if table}
        if tables:
            self._drafting.defaults["policy_id"] = self._drafting.policy(SOURCE, **tables)
        own = self._drafting.read(TABLE, router, "model_aliases", at) or {}
        for links, place in ((aliases, self._root), (own, at)):
            for name in links:
                if target := text(links[name]):
                    self._drafting.alias(name, target)
                else:
                    self._drafting.leave(*place, "model_aliases", name, why="names no model")
        for name in router:
            if name not in ("strategy", "circuit_breaker", "model_aliases"):
                self._drafting.leave(*at, name, why="has no counterpart")

    def _retry(self) -> dict[str, Any]:
        """One policy counts for all: a number that all providers share becomes its rounds."""
        if len(self._retries) == 1:
            return {"max_attempts": min(next(iter(self._retries)) + 1, 16)}
        for places in self._retries.values():
            for place in places:
                self._drafting.leave(*place, why="differs between providers: set one in a policy")
        return {}

    def _breaker(self, breaker: dict[str, Any], at: Place) -> dict[str, Any]:
        table: dict[str, Any] = {}
        names = {
            "failure_threshold": "allowed_fails",
            "min_requests": "min_requests",
            "success_threshold": "success_threshold",
        }
        for name, value in breaker.items():
            if name in names and whole(value):
                table[names[name]] = value
            elif name == "recovery_timeout" and (length_s := amount(value)):
                same = ("rate_limited_base_s", "transient_base_s", "unauthorized_s", "not_found_s")
                table |= dict.fromkeys(same, length_s)
                table["transient_cap_s"] = max(60.0, length_s)
                table["rate_limited_cap_s"] = max(1800.0, length_s)
            else:
                self._drafting.leave(*at, name, why="has no counterpart")
        return table
