"""litellm-rs ``gateway.yaml``, also as text inside a Kubernetes ConfigMap."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog.files import yaml_source
from routeradmin.catalog.files.draft import Draft, Remark
from routeradmin.catalog.files.drafting import Drafting, Place
from routeradmin.catalog.files.keys import environment_name, key_of
from routeradmin.catalog.files.values import amount, mapping, sequence, whole
from routeradmin.catalog.files.vendors import OTHER, VENDORS, unresolved_url, with_v1
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
_HEADERS = {"organization": "openai-organization", "project": "openai-project"}


def parse(values: dict[str, Any], repeated: list[Remark]) -> Draft:
    """The draft of a gateway file. Raises Invalid where it is none."""
    drafting = Drafting(SOURCE, notes=repeated)
    if values.get("kind") != "ConfigMap":
        return from_values(values, drafting)
    for name, text in mapping(values.get("data")).items():
        inner, repeated = yaml_source.load(str(text).encode())
        if "providers" in inner:
            drafting.notes += repeated
            drafting.note("data", name, what="was read out of the ConfigMap around it")
            return from_values(inner, drafting, ("data", name))
    raise Invalid([Problem("/data", "this ConfigMap holds no gateway file with providers")])


def from_values(values: dict[str, Any], drafting: Drafting, root: Place = ()) -> Draft:
    reader = _Gateway(drafting, root)
    for index, entry in enumerate(sequence(values.get("providers"))):
        reader.provider(mapping(entry), (*root, "providers", index))
    reader.router(mapping(values.get("router")), mapping(values.get("model_aliases")))
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
        drafting, name = self._drafting, str(entry.get("name") or "")
        drafting.here = at
        if not name:
            drafting.leave(*at, why="has no name")
            return
        kind = str(entry.get("provider_type") or name)
        vendor = VENDORS.get(kind, OTHER)
        provider_id = drafting.provider(name, vendor)
        if entry.get("enabled") is False:
            drafting.kinds["providers"][provider_id]["admin_state"] = "disabled"
        key = key_of(entry.get("api_key"))
        account_id = drafting.account(provider_id, vendor, key, (*at, "api_key"))
        url = self._base_url(entry, kind, at)
        endpoint_id = drafting.endpoint(
            account_id, url, (*at, "base_url"), **self._endpoint(entry, at)
        )
        fields = {"protocol": vendor.protocol, **self._fields(entry, at)}
        models = sequence(entry.get("models"))
        if not models:
            drafting.note(*at, "models", what="are not named: models unknown, no route was made")
        for model in map(str, models):
            model_id = drafting.model(model)
            id = drafting.deployment(f"{name}-{model}", endpoint_id, model_id, **fields)
            drafting.target(drafting.route(model), id)
        self._rest(entry, at)

    def _base_url(self, entry: dict[str, Any], kind: str, at: Place) -> str:
        vendor, base = VENDORS.get(kind, OTHER), entry.get("base_url")
        variable = environment_name(base)
        if variable is not None:
            what = f"is the variable {variable}: give the endpoint its URL before it is used"
            self._drafting.note(*at, "base_url", what=what)
            return unresolved_url(variable)
        if not base and vendor.base_url is None:
            what = f"is missing, and {kind} has no well-known URL: give it before it is used"
            self._drafting.note(*at, "base_url", what=what)
            return unresolved_url(kind)
        url = with_v1(str(base or vendor.base_url), vendor)
        if base and url != base:
            self._drafting.note(
                *at, "base_url", what="was completed to the path that calls go below"
            )
        return url

    def _endpoint(self, entry: dict[str, Any], at: Place) -> dict[str, Any]:
        more: dict[str, Any] = {}
        timeout_s = amount(entry.get("timeout"))
        if timeout_s:
            more["total_timeout_s"] = timeout_s
        headers = {_HEADERS[name]: str(entry[name]) for name in _HEADERS if entry.get(name)}
        if headers:
            more["headers"] = headers
        if "health_check" in entry:
            more["probe"] = self._probe(mapping(entry["health_check"]), (*at, "health_check"))
        return more

    def _probe(self, check: dict[str, Any], at: Place) -> dict[str, Any]:
        probe: dict[str, Any] = {"mode": "models"}
        for name, field in (("interval", "interval_s"), ("failure_threshold", "failure_threshold")):
            if whole(check.get(name)):
                probe[field] = check[name]
        for name in check:
            if name not in ("interval", "failure_threshold"):
                why = "has no counterpart: probes ask the endpoint for its models"
                self._drafting.leave(*at, name, why=why)
        return probe

    def _fields(self, entry: dict[str, Any], at: Place) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        weight = amount(entry.get("weight"))
        if weight is not None:
            fields["weight"] = round(max(weight, 1.0))
        if whole(entry.get("priority")) is not None:
            fields["priority"] = entry["priority"]
        for name, limit in _LIMITS.items():
            if whole(entry.get(name)):
                fields[limit] = entry[name]
            elif entry.get(name) == 0:
                self._drafting.note(*at, name, what="0 is no limit in the source: none was set")
        tags = [str(tag) for tag in sequence(entry.get("tags"))]
        return {**fields, "tags": tags} if tags else fields

    def _rest(self, entry: dict[str, Any], at: Place) -> None:
        retries = whole(entry.get("max_retries"))
        if retries is not None:
            self._retries.setdefault(retries, []).append((*at, "max_retries"))
        for name in entry:
            if name not in _PROVIDER:
                self._drafting.leave(*at, name, why="has no counterpart")

    def router(self, router: dict[str, Any], aliases: dict[str, Any]) -> None:
        at: Place = (*self._root, "router")
        self._drafting.here = at
        strategy = router.get("strategy", FORMAT_DEFAULT)
        if strategy in STRATEGIES:
            self._drafting.defaults["strategy"] = strategy
        else:
            self._drafting.leave(*at, "strategy", why="is no strategy known here")
        tables = {
            "retry": self._retry(),
            "cooldown": self._breaker(
                mapping(router.get("circuit_breaker")), (*at, "circuit_breaker")
            ),
        }
        tables = {name: table for name, table in tables.items() if table}
        if tables:
            self._drafting.defaults["policy_id"] = self._drafting.policy(SOURCE, **tables)
        for name, target in {**aliases, **mapping(router.get("model_aliases"))}.items():
            self._drafting.alias(name, str(target))
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
            elif name == "recovery_timeout" and amount(value):
                same = ("rate_limited_base_s", "transient_base_s", "unauthorized_s", "not_found_s")
                table |= dict.fromkeys(same, value)
                table["transient_cap_s"] = max(60, value)
                table["rate_limited_cap_s"] = max(1800, value)
            else:
                self._drafting.leave(*at, name, why="has no counterpart")
        return table
