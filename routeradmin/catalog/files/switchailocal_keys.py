"""Provider keys of switchAILocal and CLIProxyAPI files: credentials, endpoints, deployments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from routeradmin.catalog.files.drafting import Drafting, Place
from routeradmin.catalog.files.keys import Key, key_of
from routeradmin.catalog.files.values import FLAG, LIST, TABLE, TEXT, WHOLE, Kind, text
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
_OF_A_KEY = {"api-key", "proxy-url", "priority", "weight"}
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

    key: Key
    place: Place
    proxy: str
    priority: int
    weight: int | None


def entries_of(
    drafting: Drafting, group: str, entry: dict[str, Any], at: Place, proxy: str
) -> Iterator[Entry]:
    """Keys of one entry that share proxy, priority and weight are credentials of one deployment."""
    default_name, vendor = GROUPS[group]
    name = drafting.read(TEXT, entry, "name", at) or default_name
    provider_id = drafting.provider(name, vendor)
    together: dict[tuple[str, int, int | None], list[_KeyLine]] = {}
    for line in _key_lines(drafting, entry, at, proxy):
        together.setdefault((line.proxy, line.priority, line.weight), []).append(line)
    listed = drafting.read(LIST, entry, "excluded-models", at) or []
    excluded = drafting.texts(listed, (*at, "excluded-models"))
    off = drafting.read(FLAG, entry, "disabled", at) is True or "*" in excluded
    prefix = drafting.read(TEXT, entry, "prefix", at) or ""
    if off:
        drafting.note(*at, what="is switched off or excludes every model: disabled")
    for lost in _lost(entry, listed):
        off = True
        what = "cannot be read and bounds what is called: set right what it meant, then enable"
        drafting.note(*at, lost, what=what)
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
        yield Entry(prefix, lines[0].priority, served)
    for name in entry:
        if name not in _ENTRY:
            drafting.leave(*at, name, why="has no counterpart")


def _key_lines(
    drafting: Drafting, entry: dict[str, Any], at: Place, proxy: str
) -> Iterator[_KeyLine]:
    default = _order(drafting, entry, at, _Order(proxy))
    lines: list[_KeyLine] = []
    for index, one in enumerate(drafting.read(LIST, entry, "api-key-entries", at) or []):
        place = (*at, "api-key-entries", index)
        own = drafting.fit(TABLE, one, place)
        if own is not None:
            for unknown in sorted(own.keys() - _OF_A_KEY):
                drafting.leave(*place, unknown, why="has no counterpart")
            order = _order(drafting, own, place, default)
            drafting.read(TEXT, own, "api-key", place)
            lines.append(_KeyLine(key_of(own.get("api-key")), (*place, "api-key"), *order))
        elif one is not None:
            lines.append(_KeyLine(_unreadable(one), place, *default))
    for index, one in enumerate(drafting.read(LIST, entry, "api-keys", at) or []):
        place = (*at, "api-keys", index)
        drafting.fit(TEXT, one, place)
        if one is not None:
            lines.append(_KeyLine(key_of(one), place, *default))
    lines += [
        _KeyLine(_unreadable(entry[name]), (*at, name), *default)
        for name in ("api-key-entries", "api-keys")
        if LIST.misfits(entry, name)
    ]
    if "api-key" in entry or not lines:
        drafting.read(TEXT, entry, "api-key", at)
        lines.append(_KeyLine(key_of(entry.get("api-key")), (*at, "api-key"), *default))
    yield from lines


def _unreadable(value: Any) -> Key:
    """A key that stands where none can be read is not taken for no key."""
    return Key("unreadable", repr(value))


def _lost(entry: dict[str, Any], excluded: list[Any]) -> Iterator[str]:
    """Settings of another kind than theirs, without which more would be called than was meant, or
    something else."""
    kinds: tuple[tuple[str, Kind[Any]], ...] = (
        *(("disabled", FLAG), ("prefix", TEXT), ("base-url", TEXT), ("excluded-models", LIST)),
    )
    for name, kind in kinds:
        if kind.misfits(entry, name):
            yield name
    if any(one is not None and text(one) is None for one in excluded):
        yield "excluded-models"


def proxy_of(drafting: Drafting, stated: dict[str, Any], at: Place, default: str = "") -> str:
    """One that cannot be read is no reason to call past it: a proxy that never resolves is."""
    proxy = drafting.read(TEXT, stated, "proxy-url", at)
    if TEXT.misfits(stated, "proxy-url"):
        drafting.note(*at, "proxy-url", what="cannot be read: give the endpoints their proxy")
        return unresolved_url("proxy-url")
    return proxy or default


class _Order(NamedTuple):
    """What an entry says of all its keys, or a key of itself."""

    proxy: str
    priority: int = 0
    weight: int | None = None


def _order(drafting: Drafting, stated: dict[str, Any], at: Place, default: _Order) -> _Order:
    proxy = proxy_of(drafting, stated, at, default.proxy)
    priority = drafting.read(_SIGNED, stated, "priority", at)
    weight = drafting.read(WHOLE, stated, "weight", at)
    return _Order(
        proxy,
        default.priority if priority is None else priority,
        default.weight if weight is None else weight,
    )


_SIGNED: Kind[int] = Kind(
    lambda one: one if isinstance(one, int) and not isinstance(one, bool) else None,
    "a whole number",
)


def _accounts(
    drafting: Drafting, provider_id: str, vendor: Vendor, lines: list[_KeyLine], *, off: bool
) -> list[str]:
    found: list[str] = []
    for line in lines:
        key = line.key
        if key.kind == "env":
            # the source itself expands no variables: some tool was to fill this in
            key = Key("template", key.text)
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
    base = drafting.read(TEXT, entry, "base-url", at)
    if TEXT.misfits(entry, "base-url"):
        url = unresolved_url(account_id)
    elif base or vendor.base_url:
        url = with_v1(base or str(vendor.base_url), vendor)
        if base and url != base:
            drafting.note(*at, "base-url", what="was completed to the path that calls go below")
    else:
        drafting.note(*at, "base-url", what="is missing: give the endpoint its URL before use")
        url = unresolved_url(account_id)
    more: dict[str, Any] = {}
    if proxy:
        more["proxy"] = proxy
    given = drafting.read(TABLE, entry, "headers", at) or {}
    stated = {name: drafting.fit(TEXT, given[name], (*at, "headers", name)) for name in given}
    if headers := {name: value for name, value in stated.items() if value is not None}:
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
    models = drafting.read(LIST, entry, "models", at) or []
    if not models:
        what = "names no model: models unknown, the source knew them by heart; no route was made"
        drafting.note(*at, "models", what=what)
        for order in (one for one in ("priority", "weight") if one in entry):
            drafting.leave(*at, order, why="orders routes, and none was made: set it on theirs")
    for index, model in enumerate(models):
        place = (*at, "models", index)
        stated = model if isinstance(model, dict) else {"name": model}
        name = text(stated.get("name"))
        if not name:
            drafting.leave(*place, why="names no model")
            continue
        if any(fnmatchcase(name, pattern) for pattern in excluded if pattern != "*"):
            drafting.note(*place, what="is among the excluded models: left out")
            continue
        if name not in deployments:
            more = {**fields, **_described(drafting, stated, place)}
            deployments[name] = drafting.deployment(
                f"{provider_id}-{name}", endpoint_id, drafting.model(name), **more
            )
        alias = drafting.read(TEXT, stated, "alias", place)
        if TEXT.misfits(stated, "alias"):
            continue  # not under the upstream's name, which others may serve
        served.append((alias or name, deployments[name]))
    return served


def _described(drafting: Drafting, model: dict[str, Any], at: Place) -> dict[str, Any]:
    capabilities: dict[str, Any] = {}
    if window := drafting.read(WHOLE, model, "max-context-length", at):
        capabilities["context_window"] = window
    listed = drafting.read(LIST, model, "input-modalities", at)
    if listed is not None:
        modalities = drafting.texts(listed, (*at, "input-modalities"))
        capabilities["vision"] = "image" in modalities
        capabilities["audio"] = "audio" in modalities
    for name in model:
        if name not in _MODEL:
            drafting.leave(*at, name, why="has no counterpart")
    fields = {"capabilities": capabilities} if capabilities else {}
    shown = drafting.read(TEXT, model, "display-name", at)
    return {**fields, "name": shown} if shown else fields
