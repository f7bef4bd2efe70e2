"""LiteLLM's proxy ``config.yaml``: its model list. The settings beside it are litellm_settings'."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from routeradmin.catalog.files.draft import Draft, Remark
from routeradmin.catalog.files.drafting import Drafting, Place, stem
from routeradmin.catalog.files.keys import environment_name, key_of
from routeradmin.catalog.files.litellm_params import Params, split_model
from routeradmin.catalog.files.litellm_settings import Settings
from routeradmin.catalog.files.values import LIST, TABLE, TEXT, mapping, text
from routeradmin.catalog.files.vendors import OTHER, VENDORS, Vendor, unresolved_url, with_v1

SOURCE = "litellm"
OPENAI_HOST = "api.openai.com"
_BASES = ("api_base", "base_url")
_DESTINATION = (*_BASES, "custom_llm_provider")


def parse(values: dict[str, Any], repeated: list[Remark]) -> Draft:
    """The draft of a proxy configuration. Raises Invalid where it is none."""
    return from_values(values, Drafting(SOURCE, notes=repeated))


def from_values(values: dict[str, Any], drafting: Drafting) -> Draft:
    settings = Settings(values, drafting)
    reader = _Models(drafting, settings.timeout_s)
    models = drafting.read(LIST, values, "model_list", ())
    if not models:
        drafting.note("model_list", what="holds no model: nothing but settings was read")
    for index, entry in enumerate(models or ()):
        reader.add(index, entry)
    reader.place_targets()
    settings.apply(reader.deployment_ids)
    for name in values:
        if name not in ("model_list", *Settings.SECTIONS):
            drafting.leave(name, why="has no counterpart")
    return drafting.finish()


class _Models:
    """Entries of ``model_list``: those that share a name are one route."""

    def __init__(self, drafting: Drafting, timeout_s: float | None) -> None:
        self._drafting = drafting
        self._timeout_s = timeout_s
        self._orders: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self.deployment_ids: dict[str, str] = {}  # the source's own id -> ours

    def add(self, index: int, entry: Any) -> None:
        place: Place = ("model_list", index)
        self._drafting.here = place
        params = mapping(mapping(entry).get("litellm_params"))
        alias = text(mapping(entry).get("model_name"))
        if not alias or not text(params.get("model")):
            self._drafting.leave(*place, why="needs model_name and litellm_params.model")
            return
        for name in entry:
            if name not in ("model_name", "litellm_params", "model_info"):
                self._drafting.leave(*place, name, why="is an unknown key")
        info = self._drafting.read(TABLE, entry, "model_info", place)
        self._place(alias, Params(self._drafting, place, params, info or {}))

    def _place(self, alias: str, read: Params) -> None:
        drafting, params = self._drafting, read.params
        at = (*read.place, "litellm_params")
        provider, upstream, inferred = split_model(params)
        if inferred:
            drafting.note(*at, "model", what=f"names no provider: {provider} was inferred")
        bases = [drafting.read(TEXT, params, name, at) for name in _BASES]
        base = bases[0] or bases[1]
        lost = next((one for one in _DESTINATION if TEXT.misfits(params, one)), None)
        name = self._provider_name(provider, base or lost)
        vendor = VENDORS.get(provider, OTHER)
        provider_id = drafting.provider(name, vendor)
        key = key_of(params.get("api_key"))
        account_id = drafting.account(provider_id, vendor, key, (*at, "api_key"))
        if lost is not None:
            what = "cannot be read and says where calls go: give the endpoint its URL, then enable"
            drafting.note(*at, lost, what=what)
        if lost is not None and not base:
            url, usable = unresolved_url(provider), False
        else:
            url, usable = self._base_url(provider, vendor, base, (*at, "api_base"))
        timeout_s = read.timeout_s or self._timeout_s
        more = {} if timeout_s is None else {"total_timeout_s": timeout_s}
        endpoint_id = drafting.endpoint(account_id, url, (*at, "api_base"), **more)
        fields = read.fields()
        fields.setdefault("protocol", vendor.protocol)
        if not usable or lost is not None:
            fields["admin_state"] = "disabled"
        route_id = drafting.route(alias)
        wanted = read.id or alias
        model_id = drafting.model(upstream)
        deployment_id = drafting.deployment(wanted, endpoint_id, model_id, **fields)
        self.deployment_ids.setdefault(read.id or deployment_id, deployment_id)
        self._orders[route_id].append((read.order, deployment_id))

    @staticmethod
    def _provider_name(provider: str, base: Any) -> str:
        """OpenAI's protocol at another address is another provider."""
        custom = provider == "openai" and base and OPENAI_HOST not in str(base)
        return "openai-compatible" if custom else stem(provider)

    def _base_url(self, provider: str, vendor: Vendor, base: Any, place: Place) -> tuple[str, bool]:
        """The URL, and whether it can be called."""
        drafting = self._drafting
        variable = environment_name(base)
        if variable is not None:
            what = f"is the variable {variable}: give the endpoint its URL, then enable"
            drafting.note(*place, what=what)
            return unresolved_url(variable), False
        if not base and vendor.base_url is None:
            drafting.note(*place, what=f"is missing, and {provider} has no well-known URL")
            return unresolved_url(provider), False
        url = with_v1(str(base or vendor.base_url), vendor)
        if provider == "azure":
            url = f"{str(base).rstrip('/')}/openai/v1/"
        if base and url != base:
            drafting.note(*place, what="was completed to the path that calls go below")
        return url, True

    def place_targets(self) -> None:
        """``order`` makes tiers; without it all deployments of a name share one."""
        self._drafting.here = ()
        for route_id, found in self._orders.items():
            orders = sorted({order for order, _ in found})
            for order, deployment_id in found:
                self._drafting.target(route_id, deployment_id, orders.index(order))
            if len(orders) > 1:
                self._drafting.kinds["routes"][route_id]["fallback_enabled"] = True
