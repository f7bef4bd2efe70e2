"""LiteLLM's settings: strategy, retries, cooldowns, fallbacks; the rest is listed."""

from __future__ import annotations

from typing import Any, ClassVar

from routeradmin.catalog.files.drafting import Drafting
from routeradmin.catalog.files.keys import key_of
from routeradmin.catalog.files.litellm_fallbacks import Fallbacks
from routeradmin.catalog.files.values import AMOUNT, TABLE, text

STRATEGIES = {
    "simple-shuffle": "simple_shuffle",
    "least-busy": "least_busy",
    "latency-based-routing": "latency_based",
    "usage-based-routing": "usage_based",
    "usage-based-routing-v2": "usage_based",
}
_CLIENT_KEYS = ("master_key", "LITELLM_MASTER_KEY")
_CODE = ("callbacks", "success_callback", "failure_callback", "custom_auth")
_MAPPED = {
    *("routing_strategy", "num_retries", "retry_after", "allowed_fails", "cooldown_time"),
    *("request_timeout", "timeout", "model_group_alias", "enable_pre_call_checks"),
    *Fallbacks.NAMES,
}


class Settings:
    """Reads the four sections of settings; ``router_settings`` win over ``litellm_settings``."""

    SECTIONS: ClassVar[tuple[str, ...]] = (
        "router_settings",
        "litellm_settings",
        "general_settings",
        "environment_variables",
    )

    def __init__(self, values: dict[str, Any], drafting: Drafting) -> None:
        self._drafting = drafting
        self._sections = {
            name: drafting.read(TABLE, values, name, ()) or {} for name in self.SECTIONS
        }
        self.timeout_s = self._number("request_timeout") or self._number("timeout")

    def apply(self, deployment_ids: dict[str, str]) -> None:
        """Policies, defaults and aliases, once all routes are known."""
        self._strategy()
        self._aliases()
        tables = self._tables()
        if tables:
            policy_id = self._drafting.policy(self._drafting.source, **tables)
            self._drafting.defaults["policy_id"] = policy_id
        fallbacks = Fallbacks(self._drafting, deployment_ids, tables)
        for section in ("router_settings", "litellm_settings"):
            fallbacks.read(section, self._sections[section])
        fallbacks.apply()
        self._list_the_rest()
        self._keys()

    def _find(self, name: str) -> tuple[str, Any] | None:
        for section in ("router_settings", "litellm_settings"):
            if self._sections[section].get(name) is not None:
                return section, self._sections[section][name]
        return None

    def _number(self, name: str) -> float | None:
        found = self._find(name)
        if found is None:
            return None
        return self._drafting.fit(AMOUNT, found[1], (found[0], name))

    def _strategy(self) -> None:
        found = self._find("routing_strategy")
        if found is None:
            return
        strategy = STRATEGIES.get(str(found[1]))
        if strategy is None:
            self._drafting.leave(found[0], "routing_strategy", why="is no strategy known here")
            return
        self._drafting.defaults["strategy"] = strategy
        weighted = any("weight" in one for one in self._drafting.kinds["serving_models"].values())
        if weighted and strategy != "simple_shuffle":
            what = f"weights are kept, but {strategy} does not use them, nor did the source"
            self._drafting.note(found[0], "routing_strategy", what=what)

    def _aliases(self) -> None:
        section, links = self._find("model_group_alias") or ("", {})
        links = self._drafting.fit(TABLE, links, (section, "model_group_alias")) or {}
        for name, target in links.items():
            place = (section, "model_group_alias", name)
            if isinstance(target, dict):
                if target.get("hidden"):
                    self._drafting.leave(*place, "hidden", why="aliases are always listed")
                target = target.get("model")
            if model := text(target):
                self._drafting.alias(name, model)
            else:
                self._drafting.leave(*place, why="names no model")

    def _tables(self) -> dict[str, Any]:
        retry, cooldown = self._retry(), self._cooldown()
        named = {"retry": retry, "cooldown": cooldown}
        return {name: table for name, table in named.items() if table}

    def _retry(self) -> dict[str, Any]:
        table: dict[str, Any] = {}
        retries, wait_s = self._number("num_retries"), self._number("retry_after")
        if retries is not None:
            table["max_attempts"] = min(int(retries) + 1, 16)
            if retries > 15:
                self._drafting.note("router_settings", "num_retries", what="was cut to 15")
        if wait_s:
            # the wait after the first round is twice the base
            table["backoff_base_ms"] = int(min(wait_s * 500, 3_600_000))
        return table

    def _cooldown(self) -> dict[str, Any]:
        table: dict[str, Any] = {}
        fails, length_s = self._number("allowed_fails"), self._number("cooldown_time")
        if fails is not None:
            table["allowed_fails"] = int(fails) + 1
            what = "the source cools down above this number of failures: one more is counted here"
            self._drafting.note("router_settings", "allowed_fails", what=what)
        if length_s:
            same = ("rate_limited_base_s", "transient_base_s", "unauthorized_s", "not_found_s")
            table |= dict.fromkeys(same, length_s)
            table["transient_cap_s"] = max(60.0, length_s)
            table["rate_limited_cap_s"] = max(1800.0, length_s)
        return table

    def _list_the_rest(self) -> None:
        for section, values in self._sections.items():
            for name in values:
                if section == "environment_variables":
                    why = "is the source's own environment: set what is wanted here yourself"
                    self._drafting.leave(section, name, why=why)
                elif name not in _MAPPED or section == "general_settings":
                    self._drafting.leave(section, name, why=_why(section, name))

    def _keys(self) -> None:
        """Client keys are made anew; equal and contradicting secrets are told."""
        general = self._sections["general_settings"]
        environment = self._sections["environment_variables"]
        if not general.get("master_key") and not environment.get("LITELLM_MASTER_KEY"):
            what = "names no master_key: the source asked its clients for none, here they need one"
            self._drafting.note("general_settings", what=what)
        stated = {str(one) for one in (general.get("master_key"),) if one}
        other = environment.get("LITELLM_MASTER_KEY")
        if other and stated and str(other) not in stated:
            what = "differs from general_settings.master_key: decide which one clients hold"
            self._drafting.note("environment_variables", "LITELLM_MASTER_KEY", what=what)
        for name, value in environment.items():
            key = key_of(value)
            for account_id, secret in self._drafting.secrets.items():
                if key.kind == "literal" and secret == key.text:
                    what = f"is the same key as the account {account_id} holds"
                    self._drafting.note("environment_variables", name, what=what)


def _why(section: str, name: str) -> str:
    if name in _CLIENT_KEYS:
        return "is a client and admin key of the source: create an API key instead"
    if name in _CODE:
        return "is code of the source that may guard access: check it before traffic moves here"
    if section == "general_settings" and (name in _MAPPED or name == "drop_params"):
        return "had no effect under general_settings: state it in the policy if it is wanted"
    if name == "retry_policy":
        return "counts retries per error: one policy counts them all here"
    return "has no counterpart"
