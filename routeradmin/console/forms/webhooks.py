"""Webhooks that alerts are sent to."""

from __future__ import annotations

from typing import Any

from django import forms

from routeradmin.alerting.models import AlertEvent
from routeradmin.console.drafts import Draft

EVENTS = (
    (AlertEvent.COOLDOWN_STORM, "many candidates start to cool within a minute"),
    (AlertEvent.NEEDS_ATTENTION, "a candidate needs a person: a rejected key, for example"),
    (AlertEvent.ROUTE_WITHOUT_TARGET, "a route has nobody to serve it"),
    (AlertEvent.LAGGARD_PROCESS, "a process does not take a new revision"),
    (AlertEvent.JOURNAL_DROPS, "records are lost because the database is slow or gone"),
)


class WebhookDraft(Draft):
    fixed = ()
    name = forms.CharField(label="Name", max_length=256, help_text="Who is told by it.")
    url = forms.CharField(
        label="Address", max_length=4096, help_text="Messages are sent there by POST, signed."
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=EVENTS,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked: all of them.",
    )
    is_enabled = forms.BooleanField(label="Switched on", required=False, initial=True)
    secret = forms.CharField(
        label="Signing secret",
        required=False,
        max_length=256,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="whsec_ and base64. Empty: a new webhook gets one, another keeps its own.",
    )
    groups = (("Webhook", ("name", "url", "is_enabled")), ("What it is told", ("events", "secret")))

    def touched(self) -> dict[str, Any]:
        """An empty secret means the secret stays."""
        touched = super().touched()
        if not touched.get("secret"):
            touched.pop("secret", None)
        return touched

    def consequences(self) -> list[str]:
        touched, found = self.touched(), []
        if touched.get("is_enabled") is False:
            found.append("Nobody is told anything at this address while it is switched off.")
        if self._seen() and touched.get("secret"):
            found.append("Messages are signed with the new secret at once: tell the receiver.")
        if self._seen().get("events") and not self.typed()["events"]:
            found.append("None is ticked: it is told of every kind of event.")
        if str(touched.get("url", "")).startswith("http:"):
            found.append("This address is not encrypted: anybody on the way can read the messages.")
        return found
