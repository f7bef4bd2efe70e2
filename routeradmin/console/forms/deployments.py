"""Deployments: what is called, what it can do, how much it may get."""

from __future__ import annotations

from typing import Any

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft
from routeradmin.console.fields import Maybe, One, Several, Text, Words, number, whole
from routeradmin.console.forms.endpoints import PROBE_MODES
from routeradmin.console.forms.providers import ID_HELP, admin_state, tags

PROTOCOLS = tuple(
    (word, word)
    for word in ("chat-completions", "responses", "messages", "completions", "embeddings")
)
INT31 = 2**31 - 1
UNLIMITED = "Empty is unlimited; 0 admits nothing."


class DeploymentDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    name = Text(label="Name", max_length=256)
    endpoint_id = One(catalog.Choices("endpoints", "base_url"), label="Endpoint")
    model_id = One(catalog.Choices("models", "upstream_name"), label="Model")
    protocol = forms.ChoiceField(label="Protocol", choices=PROTOCOLS)
    protocols = forms.MultipleChoiceField(
        label="Further protocols it speaks",
        choices=PROTOCOLS,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    account_ids = Several(
        catalog.Choices("accounts"),
        label="Credentials",
        help_text="None ticked: the endpoint's own.",
    )
    admin_state = admin_state()
    tags = tags()
    weight = whole("Weight", "Share in weighted shuffles; 1 when left empty.", high=INT31)
    priority = whole("Priority", "Lower goes first; 0 when left empty.", high=INT31)
    max_parallel_requests = whole("Parallel requests", UNLIMITED)
    rpm_limit = whole("Requests per minute", UNLIMITED)
    tpm_limit = whole("Tokens per minute", UNLIMITED)
    capabilities__context_window = whole("Context window, tokens", "Empty: not checked.", low=1)
    capabilities__max_output_tokens = whole("Most output tokens", "Empty: not checked.", low=1)
    capabilities__tools = Maybe(label="Tools")
    capabilities__tool_choice = Maybe(label="Tool choice")
    capabilities__temperature = Maybe(label="Temperature")
    capabilities__top_p = Maybe(label="Top p")
    capabilities__vision = Maybe(label="Vision")
    capabilities__audio = Maybe(label="Audio")
    capabilities__embeddings = Maybe(label="Embeddings")
    capabilities__json_schema = Maybe(label="JSON schema")
    capabilities__reasoning_efforts = Words(
        label="Reasoning efforts", required=False, help_text="low, medium, high; empty: not checked"
    )
    input_price = number("Input price", "Per million tokens.")
    output_price = number("Output price", "Per million tokens.")
    probe__mode = forms.ChoiceField(
        label="Health probe",
        choices=(("", "as the endpoint says"), *PROBE_MODES),
        required=False,
    )
    probe__interval_s = number("Every, seconds")
    probe__timeout_s = number("Time limit, seconds")
    probe__failure_threshold = whole("Failures until unhealthy", low=1)
    probe__path = Text(label="Path below the base URL", max_length=4096)
    groups = (
        ("Deployment", ("id", "name", "endpoint_id", "model_id", "protocol", "protocols")),
        ("Credentials and state", ("account_ids", "admin_state", "tags")),
        ("Choice", ("weight", "priority")),
        ("Limits", ("max_parallel_requests", "rpm_limit", "tpm_limit")),
        (
            "Capabilities",
            tuple(
                f"capabilities__{name}"
                for name in (
                    "context_window",
                    "max_output_tokens",
                    "tools",
                    "tool_choice",
                    "temperature",
                    "top_p",
                    "vision",
                    "audio",
                    "embeddings",
                    "json_schema",
                    "reasoning_efforts",
                )
            ),
        ),
        ("Prices", ("input_price", "output_price")),
        (
            "Health probe",
            (
                "probe__mode",
                "probe__interval_s",
                "probe__timeout_s",
                "probe__failure_threshold",
                "probe__path",
            ),
        ),
    )

    def typed(self) -> dict[str, Any]:
        """Without a probe mode the whole table is the endpoint's; no efforts is not declared."""
        values = super().typed()
        values["capabilities__reasoning_efforts"] = (
            values.get("capabilities__reasoning_efforts") or None
        )
        if not values.get("probe__mode"):
            values.update({name: None for name in values if name.startswith("probe__")})
        return values

    def patch(self) -> dict[str, Any]:
        """A probe that is taken back to the endpoint's is no table of empty fields."""
        patch = super().patch()
        if "probe" in patch and not self.cleaned_data.get("probe__mode"):
            patch["probe"] = None
        return patch
