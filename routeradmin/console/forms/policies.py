"""Policies: retry, turn, cooldown and fallback numbers, each with its default beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from routeradmin.catalog.policies import CooldownRules, Retry, Turn
from routeradmin.console import catalog
from routeradmin.console.drafts import Draft
from routeradmin.console.fields import Text, number, whole
from routeradmin.console.forms.providers import ID_HELP


def default(table: Any, name: str) -> str:
    value = table.model_fields[name].default
    return "No limit when left empty." if value is None else f"{value:g} when left empty."


def flag(label: str, table: Any, name: str) -> forms.BooleanField:
    initial = table.model_fields[name].default
    return forms.BooleanField(label=label, required=False, initial=initial)


def count(label: str, table: Any, name: str, **limits: int) -> Any:
    return whole(label, default(table, name), **limits)


def seconds(label: str, table: Any, name: str) -> Any:
    return number(f"{label}, seconds", default(table, name))


class RouteSelects(forms.Widget):
    """One select per place of the list, the last ones empty."""

    template_name = "console/parts/route_list.html"
    use_fieldset = True
    BLANK = 2

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        chosen = list(value or ())
        offered = dict(catalog.Choices("routes", "alias")())
        context["widget"]["rows"] = [*chosen, *[""] * self.BLANK]
        context["widget"]["routes"] = [*offered.items(), *unknown(chosen, offered)]
        return context

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        given = data.getlist(name) if hasattr(data, "getlist") else data.get(name, [])
        return [word for word in given if word]

    def id_for_label(self, id_: str) -> str:
        return ""


def unknown(chosen: Iterable[str], offered: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is listed and not offered any more stays choosable, so that saving does not lose it."""
    return [(uid, uid) for uid in dict.fromkeys(chosen) if uid not in offered]


class RouteList(forms.Field):
    """Route ids in order; empty is no list."""

    widget = RouteSelects

    def __init__(self, label: str, help_text: str = "") -> None:
        super().__init__(label=label, help_text=help_text, required=False)

    def clean(self, value: Any) -> list[str] | None:
        chosen = list(dict.fromkeys(value or ()))
        return chosen or None


class PolicyDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    name = Text(label="Name", max_length=256)
    retry__max_attempts = count("Rounds per tier", Retry, "max_attempts", low=1, high=16)
    retry__stream_max_attempts = whole(
        "Rounds per tier for streams", "The same when left empty.", low=1, high=16
    )
    retry__backoff_base_ms = count("Shortest wait, milliseconds", Retry, "backoff_base_ms")
    retry__max_doublings = count("Doublings of the wait", Retry, "max_doublings", high=32)
    retry__max_server_delay_s = seconds(
        "Longest wait a provider may ask", Retry, "max_server_delay_s"
    )
    retry__jitter = number("Random share of a wait, 0 to 1", default(Retry, "jitter"))
    turn__max_targets = count("Targets visited at most", Turn, "max_targets", low=1, high=64)
    turn__max_turn_attempts = count("Attempts at most", Turn, "max_turn_attempts", low=1)
    turn__deadline_s = seconds("Deadline", Turn, "deadline_s")
    turn__max_fallback_routes = count("Fallback routes at most", Turn, "max_fallback_routes")
    turn__rotate = flag("Try the tier's other candidates before waiting", Turn, "rotate")
    turn__replay_unanswered = flag("Repeat requests that got no answer", Turn, "replay_unanswered")
    turn__move_on_unauthorized = flag(
        "Go on after a rejected key (401, 403)", Turn, "move_on_unauthorized"
    )
    cooldown__enabled = flag("Cool deployments that fail", CooldownRules, "enabled")
    cooldown__rate_limited_base_s = seconds(
        "Rate limit, first", CooldownRules, "rate_limited_base_s"
    )
    cooldown__rate_limited_cap_s = seconds(
        "Rate limit, longest", CooldownRules, "rate_limited_cap_s"
    )
    cooldown__quota_s = seconds("Quota", CooldownRules, "quota_s")
    cooldown__unauthorized_s = seconds("Rejected key", CooldownRules, "unauthorized_s")
    cooldown__not_found_s = seconds("Not found", CooldownRules, "not_found_s")
    cooldown__transient_base_s = seconds("Transient, first", CooldownRules, "transient_base_s")
    cooldown__transient_cap_s = seconds("Transient, longest", CooldownRules, "transient_cap_s")
    cooldown__allowed_fails = count("Failures in a row", CooldownRules, "allowed_fails", low=1)
    cooldown__min_requests = count(
        "Requests in a minute before the share counts", CooldownRules, "min_requests", low=1
    )
    cooldown__success_threshold = count(
        "Successes until healthy", CooldownRules, "success_threshold", low=1
    )
    fallback__general = RouteList("General", "Tried in this order when a route has nothing left.")
    fallback__context_window = RouteList("Context window exceeded")
    fallback__content_policy = RouteList("Content policy")
    fallback__rate_limit = RouteList("Rate limit or quota", "General when left empty.")
    classify = forms.JSONField(
        label="Classification rules",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text='A list such as [{"status": 400, "contains": "overloaded", '
        '"class": "transient"}]; the first rule that holds decides.',
    )
    groups = (
        ("Policy", ("id", "name")),
        ("Retry", tuple(f"retry__{name}" for name in Retry.model_fields)),
        ("Turn", tuple(f"turn__{name}" for name in Turn.model_fields)),
        ("Cooldown", tuple(f"cooldown__{name}" for name in CooldownRules.model_fields)),
        (
            "Fallback routes by the last failure",
            (
                "fallback__general",
                "fallback__context_window",
                "fallback__content_policy",
                "fallback__rate_limit",
            ),
        ),
        ("Classification", ("classify",)),
    )
