"""Provider keys of switchAILocal and CLIProxyAPI files: credentials, endpoints, deployments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from routeradmin.catalog.files.drafting import Drafting, Place
from routeradmin.catalog.files.keys import Key, key_of
from routeradmin.catalog.files.values import mapping, sequence, whole
from routeradmin.catalog.files.vendors import OTHER, VENDORS, Vendor, unresolved_url, with_v1

GROUPS: dict[str, tuple[str, Vendor]] = {
    "openai-compatibility": ("openai-compatible", OTHER),
    "claude-api-key": ("claude", VENDORS["anthropic"]),
    "codex-api-key": ("codex", replace(VENDORS["openai"], protocol="responses")),
    "gemini-api-key": ("gemini", VENDORS["gemini"]),
    "switchai-api-key": ("switchai", OTHER),
    "claude": ("claude", VENDORS["anthropic"]),
    "codex": ("codex", replace(VENDORS["openai"], protocol="responses")),
    "gemini": ("gemini", VENDORS["gemini"]),
}
_ENTRY = {
    *("name", "api-key", "api-keys", "api-key-entries", "base-url", "prefix", "proxy-url"),
    *("priority", "weight", "models", "excluded-models", "disabled", "headers"),
}
_MODEL = {"name", "alias", "display-name", "max-context-length", "input-modalities"}


@dataclass(frozen=True, slots=True)
class Entry:
    """Deployments of one key group: (public name, deployment id), its prefix and priority."""

    prefix: str
    priority: int
    served: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _KeyLine:
    """One key with what may be set per key."""

    value: Any
    place: Place
    proxy: str
    priority: int
    weight: int | None


def entries_of(
    drafting: Drafting, group: str, entry: dict[str, Any], at: Place, proxy: str
) -> Iterator[Entry]:
    """Keys of one entry that share proxy, priority and weight are credentials of one deployment."""
    default_name, vendor = GROUPS[group]
    provider_id = drafting.provider(str(entry.get("name") or default_name), vendor)
    together: dict[tuple[str, int, int | None], list[_KeyLine]] = {}
    for line in _key_lines(entry, at, proxy):
        together.setdefault((line.proxy, line.priority, line.weight), []).append(line)
    excluded = [str(one) for one in sequence(entry.get("excluded-models"))]
    off = "*" in excluded or entry.get("disabled") is True
    if off:
        drafting.note(*at, what="is switched off or excludes every model: disabled")
    for lines in together.values():
        accounts = _accounts(drafting, provider_id, vendor, lines, off=off)
        endpoint_id = _endpoint(drafting, accounts[0], vendor, entry, at, lines[0].proxy)
        fields: dict[str, Any] = {"protocol": vendor.protocol}
        if len(accounts) > 1:
            fields["account_ids"] = accounts
        if lines[0].weight is not None:
            fields["weight"] = lines[0].weight
        if off:
            fields["admin_state"] = "disabled"
        served = _models(drafting, provider_id, endpoint_id, entry, at, excluded, fields)
        yield Entry(str(entry.get("prefix") or ""), lines[0].priority, served)
    for name in entry:
        if name not in _ENTRY:
            drafting.leave(*at, name, why="has no counterpart")


def _key_lines(entry: dict[str, Any], at: Place, proxy: str) -> Iterator[_KeyLine]:
    lines: list[tuple[Any, dict[str, Any], Place]] = []
    for index, one in enumerate(sequence(entry.get("api-key-entries"))):
        place = (*at, "api-key-entries", index, "api-key")
        lines.append((mapping(one).get("api-key"), mapping(one), place))
    for index, one in enumerate(sequence(entry.get("api-keys"))):
        lines.append((one, {}, (*at, "api-keys", index)))
    if "api-key" in entry or not lines:
        lines.append((entry.get("api-key"), {}, (*at, "api-key")))
    for value, own, place in lines:
        stated = {**entry, **own}
        yield _KeyLine(
            value,
            place,
            str(stated.get("proxy-url") or proxy),
            _number(stated.get("priority")) or 0,
            whole(stated.get("weight")),
        )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _accounts(
    drafting: Drafting, provider_id: str, vendor: Vendor, lines: list[_KeyLine], *, off: bool
) -> list[str]:
    found: list[str] = []
    for line in lines:
        key = key_of(line.value)
        if key.kind == "env":
            # the source itself expands no variables: some tool was to fill this in
            key = Key("template", str(line.value))
        more = {"admin_state": "disabled"} if off else {}
        account_id = drafting.account(provider_id, vendor, key, line.place, **more)
        if account_id in found:
            drafting.note(*line.place, what=f"repeats the key of {account_id}")
        else:
            found.append(account_id)
    return found


def _endpoint(
    drafting: Drafting,
    account_id: str,
    vendor: Vendor,
    entry: dict[str, Any],
    at: Place,
    proxy: str,
) -> str:
    base = entry.get("base-url")
    if base or vendor.base_url:
        url = with_v1(str(base or vendor.base_url), vendor)
        if base and url != base:
            drafting.note(*at, "base-url", what="was completed to the path that calls go below")
    else:
        drafting.note(*at, "base-url", what="is missing: give the endpoint its URL before use")
        url = unresolved_url(account_id)
    more: dict[str, Any] = {}
    if proxy:
        more["proxy"] = proxy
    headers = {name: str(value) for name, value in mapping(entry.get("headers")).items()}
    if headers:
        more["headers"] = headers
    return drafting.endpoint(account_id, url, (*at, "base-url"), **more)


def _models(
    drafting: Drafting,
    provider_id: str,
    endpoint_id: str,
    entry: dict[str, Any],
    at: Place,
    excluded: list[str],
    fields: dict[str, Any],
) -> list[tuple[str, str]]:
    """Several aliases of one upstream name are one deployment."""
    served: list[tuple[str, str]] = []
    deployments: dict[str, str] = {}
    models = sequence(entry.get("models"))
    if not models:
        what = "names no model: models unknown, the source knew them by heart; no route was made"
        drafting.note(*at, "models", what=what)
        for order in (one for one in ("priority", "weight") if one in entry):
            drafting.leave(*at, order, why="orders routes, and none was made: set it on theirs")
    for index, model in enumerate(models):
        stated = mapping(model) or {"name": str(model)}
        place = (*at, "models", index)
        name = str(stated.get("name") or "")
        if any(fnmatchcase(name, pattern) for pattern in excluded if pattern != "*"):
            drafting.note(*place, what="is among the excluded models: left out")
            continue
        if name not in deployments:
            more = {**fields, **_described(drafting, stated, place)}
            deployments[name] = drafting.deployment(
                f"{provider_id}-{name}", endpoint_id, drafting.model(name), **more
            )
        served.append((str(stated.get("alias") or name), deployments[name]))
    return served


def _described(drafting: Drafting, model: dict[str, Any], at: Place) -> dict[str, Any]:
    capabilities: dict[str, Any] = {}
    if whole(model.get("max-context-length")):
        capabilities["context_window"] = model["max-context-length"]
    if isinstance(model.get("input-modalities"), list):
        capabilities["vision"] = "image" in model["input-modalities"]
        capabilities["audio"] = "audio" in model["input-modalities"]
    for name in model:
        if name not in _MODEL:
            drafting.leave(*at, name, why="has no counterpart")
    fields = {"capabilities": capabilities} if capabilities else {}
    return {**fields, "name": str(model["display-name"])} if model.get("display-name") else fields
