"""Settings of switchAILocal and CLIProxyAPI files: the words of semantics, the rest is listed."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog.files.drafting import Drafting
from routeradmin.catalog.files.switchailocal_keys import GROUPS, proxy_of
from routeradmin.catalog.files.values import (
    DURATION,
    FLAG,
    LIST,
    TABLE,
    WHOLE,
    text,
)

STRATEGIES = {
    "round-robin": "round_robin",
    "fill-first": "fill_first",
    "fillfirst": "fill_first",
    "ff": "fill_first",
    "weighted-round-robin": "simple_shuffle",
    "weightedroundrobin": "simple_shuffle",
    "wrr": "simple_shuffle",
}
FORMAT_DEFAULT = "round_robin"  # what the source does where its file names no strategy
AFFINITY_TTL_S = 3600.0
_MAPPED = {
    *("config-version", "proxy-url", "force-model-prefix", "request-retry", "max-retry-interval"),
    *("routing", "quota-exceeded", "streaming", "bootstrap-retries", "auto-model-priority"),
    *("disable-cooling", "transient-error-cooldown-seconds"),
}


class Settings:
    def __init__(self, values: dict[str, Any], drafting: Drafting, *, is_new: bool) -> None:
        self._values = values
        self._drafting = drafting
        self._is_new = is_new
        self.proxy = proxy_of(drafting, values, ())
        forced = drafting.read(FLAG, values, "force-model-prefix", ())
        self.force_prefix = forced is True or FLAG.misfits(values, "force-model-prefix")
        self._quota = self._table("quota-exceeded")

    def apply(self) -> None:
        """Defaults, policy and waits, once all routes are known."""
        self._routing(self._table("routing"))
        self._policy()
        self._waiting()
        self._auto()
        self._list_quota()
        self._list_the_rest()

    def _table(self, name: str) -> dict[str, Any]:
        return self._drafting.read(TABLE, self._values, name, ()) or {}

    def _routing(self, routing: dict[str, Any]) -> None:
        stated = routing.get("strategy", "round-robin")
        strategy = STRATEGIES.get(str(stated).lower())
        if strategy is None:
            what = "is no strategy of the source, which then takes round-robin"
            self._drafting.note("routing", "strategy", what=what)
        self._drafting.defaults["strategy"] = strategy or FORMAT_DEFAULT
        if strategy == "simple_shuffle":
            what = "became simple_shuffle: the same shares by weight, drawn at random"
            self._drafting.note("routing", "strategy", what=what)
        ttl_s = self._drafting.read(DURATION, routing, "session-affinity-ttl", ("routing",))
        if self._drafting.read(FLAG, routing, "session-affinity", ("routing",)):
            for route in self._drafting.kinds["routes"].values():
                route["affinity_ttl_s"] = AFFINITY_TTL_S if ttl_s is None else ttl_s
        for name in routing:
            if name not in ("strategy", "session-affinity", "session-affinity-ttl"):
                self._drafting.leave("routing", name, why="has no counterpart")

    def _policy(self) -> None:
        retry: dict[str, Any] = {}
        drafting = self._drafting
        rounds = drafting.read(WHOLE, self._values, "request-retry", ())
        if rounds is not None:
            retry["max_attempts"] = min(rounds + 1, 16)
        streaming = self._table("streaming")
        bootstrap = drafting.read(WHOLE, streaming, "bootstrap-retries", ("streaming",))
        if bootstrap is None:
            bootstrap = drafting.read(WHOLE, self._values, "bootstrap-retries", ())
        if bootstrap is not None:
            retry["stream_max_attempts"] = min(bootstrap + 1, 16)
        for name in streaming:
            if name != "bootstrap-retries":
                drafting.leave("streaming", name, why="has no counterpart")
        turn: dict[str, Any] = {}
        rotate = drafting.read(FLAG, self._quota, "switch-project", ("quota-exceeded",))
        if rotate is not None:
            turn["rotate"] = rotate
        tables = {"retry": retry, "turn": turn, "cooldown": self._cooldown()}
        stated = {name: table for name, table in tables.items() if table}
        if stated:
            policy_id = self._drafting.policy(self._drafting.source, **stated)
            self._drafting.defaults["policy_id"] = policy_id

    def _cooldown(self) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if self._drafting.read(FLAG, self._values, "disable-cooling", ()):
            table["enabled"] = False
        name = "transient-error-cooldown-seconds"
        seconds = self._drafting.read(WHOLE, self._values, name, ())
        if seconds:
            table |= {"transient_base_s": seconds, "transient_cap_s": max(60, seconds)}
        return table

    def _waiting(self) -> None:
        """A turn waits for a recovery that comes within the interval; 0 waits for none."""
        seconds = self._drafting.read(DURATION, self._values, "max-retry-interval", ())
        if seconds:
            for route in self._drafting.kinds["routes"].values():
                route |= {"when_exhausted": "wait", "max_wait_s": seconds}

    def _auto(self) -> None:
        aliases = {route["alias"] for route in self._drafting.kinds["routes"].values()}
        found = []
        listed = self._drafting.read(LIST, self._values, "auto-model-priority", ()) or []
        for index, name in enumerate(text(one) for one in listed):
            if name in aliases:
                found.append(name)
            else:
                self._drafting.leave("auto-model-priority", index, why="names no model of the file")
        if found:
            self._drafting.defaults["auto_priority"] = found

    def _list_quota(self) -> None:
        for name in self._quota:
            if name == "switch-preview-model":
                why = "names no preview models: list them in the route's preview"
                self._drafting.leave("quota-exceeded", name, why=why)
            elif name != "switch-project":
                self._drafting.leave("quota-exceeded", name, why="has no counterpart")

    def _list_the_rest(self) -> None:
        for name, value in self._values.items():
            if name == "api-keys" and not self._is_new:
                for index, _ in enumerate(self._drafting.fit(LIST, value, (name,)) or []):
                    why = "is a key of a client: create an API key instead"
                    self._drafting.leave(name, index, why=why)
            elif name != "api-keys" and name not in _MAPPED and name not in GROUPS:
                self._drafting.leave(name, why="has no counterpart")
        if not self._is_new and not self._values.get("api-keys"):
            what = "are missing: the source asked its clients for none, here they need one"
            self._drafting.note("api-keys", what=what)
