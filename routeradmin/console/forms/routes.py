"""Routes with their targets: a list whose numbers make the tiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft
from routeradmin.console.fields import One, Several, Text, number
from routeradmin.console.forms.providers import ID_HELP, admin_state, offer, tags

STRATEGIES = (
    ("", "the catalog's default"),
    ("simple_shuffle", "simple_shuffle: random by weight"),
    ("round_robin", "round_robin: one after the other"),
    ("least_busy", "least_busy: fewest active requests"),
    ("latency_based", "latency_based: fastest lately"),
    ("priority_based", "priority_based: lowest priority number"),
    ("usage_based", "usage_based: smallest share of its tokens used"),
    ("rate_limit_aware", "rate_limit_aware: most room to its limits"),
    ("fill_first", "fill_first: the first until it cools or fills"),
)
WHEN_EXHAUSTED = (
    ("fail", "fail: answer at once"),
    ("wait", "wait: up to the time below, if something recovers in it"),
    ("least_bad", "least_bad: take what recovers first"),
)
DEPLOYMENTS = "serving_models"
BLANK_ROWS = 3
STEPS = {"earlier": -1, "later": 1}  # what a row's buttons do to its tier
MOST_OPTIONS = 100  # above it a row is a text field that suggests, not a select


class TierEditor(forms.Widget):
    """Rows of a tier number and a deployment; an empty deployment is no target."""

    template_name = "console/parts/tier_editor.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        rows = list(value or ())
        last = max((row["position"] for row in rows), default=-1)
        blanks = [{"id": "", "serving_model_id": "", "position": last + 1}] * BLANK_ROWS
        context["widget"]["rows"] = [
            {**row, "tier": row["position"] + 1} for row in [*rows, *blanks]
        ]
        deployments = catalog.Choices(DEPLOYMENTS)()
        context["widget"]["deployments"] = deployments
        context["widget"]["by_name"] = len(deployments) > MOST_OPTIONS
        return context

    def rearranged(self, data: Mapping[str, Any], name: str) -> list[dict[str, str]] | None:
        """The rows after a button of the editor was pressed, None if none was."""
        verb, _, place = str(data.get(f"{name}-do") or "").partition(":")
        if not verb:
            return None
        rows = self._rows(data, name)
        chosen = rows[int(place)] if place.isdecimal() and int(place) < len(rows) else None
        if chosen is not None and verb == "remove":
            rows.remove(chosen)
        elif chosen is not None and verb in STEPS:
            chosen["tier"] = str(max(1, whole_tier(chosen["tier"]) + STEPS[verb]))
        targets = [row for row in rows if row["serving_model_id"]]
        return sorted(targets, key=lambda row: whole_tier(row["tier"]))

    def value_from_datadict(
        self, data: Mapping[str, Any], files: Any, name: str
    ) -> list[dict[str, str]]:
        return [row for row in self._rows(data, name) if row["serving_model_id"]]

    def _rows(self, data: Mapping[str, Any], name: str) -> list[dict[str, str]]:
        many = getattr(data, "getlist", lambda key: list(data.get(key, ())))
        columns = (many(f"{name}-{part}") for part in ("id", "tier", "deployment"))
        return [
            {"id": target, "tier": tier, "serving_model_id": deployment}
            for target, tier, deployment in zip(*columns, strict=False)
        ]

    def id_for_label(self, id_: str) -> str:
        return ""


def whole_tier(text: str) -> int:
    """The tier that was typed; what is no number stands in the first until it is corrected."""
    try:
        return max(1, int(text))
    except ValueError:
        return 1


class Targets(forms.Field):
    """``[{id, serving_model_id, position}]``: equal numbers are one tier, gaps are closed."""

    widget = TierEditor

    def prepare_value(self, value: Any) -> Any:
        return [
            row if "position" in row else {**row, "position": whole_tier(row["tier"]) - 1}
            for row in value or ()
        ]

    def clean(self, value: Any) -> Any:
        try:
            tiers = [int(row["tier"] or 1) for row in value or ()]
        except ValueError:
            raise forms.ValidationError("A tier is a whole number: 1 is tried first.") from None
        dense = {tier: place for place, tier in enumerate(sorted(set(tiers)))}
        rows = [
            {
                **({"id": row["id"]} if row["id"] else {}),
                "serving_model_id": row["serving_model_id"],
                "position": dense[tier],
            }
            for row, tier in zip(value or (), tiers, strict=True)
        ]
        if not rows:
            raise forms.ValidationError("Choose at least one deployment to serve the route.")
        chosen = [row["serving_model_id"] for row in rows]
        if len(set(chosen)) < len(chosen):
            raise forms.ValidationError("A deployment may be a target only once a route.")
        return sorted(rows, key=lambda row: row["position"])


class RouteDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    alias = forms.CharField(
        label="Alias",
        max_length=256,
        help_text="The model name callers ask for. It may hold one *.",
    )
    name = Text(label="Name", max_length=256)
    targets = Targets(
        label="Targets",
        help_text="Deployments with the same number form a tier; the strategy picks within it. "
        "Later tiers are fallbacks.",
    )
    fallback_enabled = forms.BooleanField(
        label="Fall back to later tiers",
        required=False,
        help_text="Off: only the first tier is used, and no fallback list of the policy.",
    )
    strategy = forms.ChoiceField(label="Strategy", choices=STRATEGIES, required=False)
    policy_id = One(
        catalog.Choices("policies"),
        label="Policy",
        empty="the catalog's default",
        required=False,
    )
    when_exhausted = forms.ChoiceField(
        label="When nothing is available",
        choices=WHEN_EXHAUSTED,
        initial="fail",
        help_text="Only after the fallback routes of the policy, if fallback is on.",
    )
    max_wait_s = number("Longest wait, seconds", "Only with “wait”.")
    affinity_ttl_s = number("Session affinity, seconds", "0 or empty: off.")
    preview = Several(
        catalog.Choices(DEPLOYMENTS),
        label="Preview deployments",
        help_text="Tried once when a target is rate-limited or out of quota.",
    )
    admin_state = admin_state()
    tags = tags()
    groups = (
        ("Route", ("id", "alias", "name", "admin_state", "tags")),
        ("Targets", ("targets", "fallback_enabled")),
        ("Choice", ("strategy", "policy_id", "affinity_ttl_s")),
        ("Exhaustion", ("when_exhausted", "max_wait_s", "preview")),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present = self.initial.get("strategy") or self.data.get("strategy") or ""
        if present.startswith("custom:"):
            offer(self, "strategy", [*STRATEGIES, (present, present)])

    def rearranged(self) -> Self | None:
        rows = TierEditor().rearranged(self.data, "targets")
        if rows is None:
            return None
        typed = {
            name: field.widget.value_from_datadict(self.data, self.files, name)
            for name, field in self.fields.items()
        }
        return type(self)(initial={**typed, "targets": rows}, exists=self.exists)

    def lacking(self) -> list[str]:
        """Without a target a route is refused."""
        return super().lacking() or ([] if catalog.document().serving_models else [DEPLOYMENTS])

    def typed(self) -> dict[str, Any]:
        values = super().typed()
        values["strategy"] = values.get("strategy") or None
        return values
