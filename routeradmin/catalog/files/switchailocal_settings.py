"""Settings of switchAILocal and CLIProxyAPI files: the words of semantics, the rest is listed."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog.files.drafting import Drafting
from routeradmin.catalog.files.switchailocal_keys import GROUPS
from routeradmin.catalog.files.values import duration_s, mapping, sequence, whole

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
        self.proxy = str(values.get("proxy-url") or "")
        self.force_prefix = values.get("force-model-prefix") is True

    def apply(self) -> None:
        """Defaults, policy and waits, once all routes are known."""
        self._routing(mapping(self._values.get("routing")))
        self._policy()
        self._waiting()
        self._auto()
        self._quota(mapping(self._values.get("quota-exceeded")))
        self._list_the_rest()

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
        if routing.get("session-affinity") is True:
            ttl_s = duration_s(routing.get("session-affinity-ttl"))
            for route in self._drafting.kinds["routes"].values():
                route["affinity_ttl_s"] = AFFINITY_TTL_S if ttl_s is None else ttl_s
        for name in routing:
            if name not in ("strategy", "session-affinity", "session-affinity-ttl"):
                self._drafting.leave("routing", name, why="has no counterpart")

    def _policy(self) -> None:
        retry: dict[str, Any] = {}
        rounds = whole(self._values.get("request-retry"))
        if rounds is not None:
            retry["max_attempts"] = min(rounds + 1, 16)
        streaming = mapping(self._values.get("streaming"))
        bootstrap = whole(streaming.get("bootstrap-retries", self._values.get("bootstrap-retries")))
        if bootstrap is not None:
            retry["stream_max_attempts"] = min(bootstrap + 1, 16)
        for name in streaming:
            if name != "bootstrap-retries":
                self._drafting.leave("streaming", name, why="has no counterpart")
        turn: dict[str, Any] = {}
        rotate = mapping(self._values.get("quota-exceeded")).get("switch-project")
        if isinstance(rotate, bool):
            turn["rotate"] = rotate
        tables = {"retry": retry, "turn": turn, "cooldown": self._cooldown()}
        stated = {name: table for name, table in tables.items() if table}
        if stated:
            policy_id = self._drafting.policy(self._drafting.source, **stated)
            self._drafting.defaults["policy_id"] = policy_id

    def _cooldown(self) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if self._values.get("disable-cooling") is True:
            table["enabled"] = False
        seconds = whole(self._values.get("transient-error-cooldown-seconds"))
        if seconds:
            table |= {"transient_base_s": seconds, "transient_cap_s": max(60, seconds)}
        return table

    def _waiting(self) -> None:
        """A turn waits for a recovery that comes within the interval; 0 waits for none."""
        seconds = duration_s(self._values.get("max-retry-interval"))
        if seconds:
            for route in self._drafting.kinds["routes"].values():
                route |= {"when_exhausted": "wait", "max_wait_s": seconds}

    def _auto(self) -> None:
        aliases = {route["alias"] for route in self._drafting.kinds["routes"].values()}
        found = []
        for index, name in enumerate(sequence(self._values.get("auto-model-priority"))):
            if str(name) in aliases:
                found.append(str(name))
            else:
                self._drafting.leave("auto-model-priority", index, why="names no model of the file")
        if found:
            self._drafting.defaults["auto_priority"] = found

    def _quota(self, quota: dict[str, Any]) -> None:
        for name in quota:
            if name == "switch-preview-model":
                why = "names no preview models: list them in the route's preview"
                self._drafting.leave("quota-exceeded", name, why=why)
            elif name != "switch-project":
                self._drafting.leave("quota-exceeded", name, why="has no counterpart")

    def _list_the_rest(self) -> None:
        for name, value in self._values.items():
            if name == "api-keys" and not self._is_new:
                for index, _ in enumerate(sequence(value)):
                    why = "is a key of a client: create an API key instead"
                    self._drafting.leave(name, index, why=why)
            elif name != "api-keys" and name not in _MAPPED and name not in GROUPS:
                self._drafting.leave(name, why="has no counterpart")
        if not self._is_new and not sequence(self._values.get("api-keys")):
            what = "are missing: the source asked its clients for none, here they need one"
            self._drafting.note("api-keys", what=what)
