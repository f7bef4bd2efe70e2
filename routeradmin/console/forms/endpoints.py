"""Endpoints: addresses, timeouts, health probes."""

from __future__ import annotations

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft
from routeradmin.console.fields import Headers, One, Text, number, whole
from routeradmin.console.forms.providers import ID_HELP

PROBE_MODES = (
    ("off", "off"),
    ("models", "models: read the model list, costs nothing"),
    ("chat", "chat: one tiny real request, may be billed"),
)


class EndpointDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    name = Text(label="Name", max_length=256)
    base_url = forms.CharField(
        label="Base URL",
        max_length=4096,
        help_text="Up to the version, such as https://api.openai.com/v1/",
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    account_id = One(catalog.Choices("accounts"), label="Credential")
    headers = Headers(
        label="Extra headers", required=False, help_text="“Name: value”, one a line; no secrets."
    )
    proxy = Text(label="Proxy", max_length=4096)
    ca_file = Text(label="CA file", max_length=4096, help_text="A path on the server.")
    connect_timeout_s = number("Connect timeout, seconds", "15 when left empty.")
    header_timeout_s = number("First byte timeout, seconds", "60 when left empty.")
    idle_timeout_s = number("Idle timeout, seconds", "180 when left empty.")
    total_timeout_s = number("Total timeout, seconds", "600 when left empty.")
    probe__mode = forms.ChoiceField(
        label="Health probe", choices=PROBE_MODES, initial="off", required=False
    )
    probe__interval_s = number("Every, seconds", "30 when left empty.")
    probe__timeout_s = number("Time limit, seconds", "5 when left empty.")
    probe__failure_threshold = whole("Failures until unhealthy", "5 when left empty.", low=1)
    probe__path = Text(label="Path below the base URL", max_length=4096)
    groups = (
        ("Endpoint", ("id", "name", "base_url", "account_id", "headers")),
        (
            "Timeouts",
            ("connect_timeout_s", "header_timeout_s", "idle_timeout_s", "total_timeout_s"),
        ),
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
        ("Network", ("proxy", "ca_file")),
    )
