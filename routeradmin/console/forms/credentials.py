"""Credentials. A secret is written, never shown: replacing it is an action of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft, Groups
from routeradmin.console.fields import One, Text
from routeradmin.console.forms.providers import ID_HELP, admin_state, tags

AUTH_KINDS = (
    ("bearer", "bearer: Authorization header"),
    ("api-key", "api-key: a header you name"),
    ("anonymous", "anonymous: no secret"),
    ("subscription-oauth", "subscription-oauth"),
)
BILLING_KINDS = (
    ("metered", "metered"),
    ("subscription", "subscription"),
    ("self-hosted", "self-hosted"),
)


def secret_field(*, required: bool) -> forms.CharField:
    return forms.CharField(
        label="Secret",
        required=required,
        strip=True,
        max_length=65536,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="Stored encrypted and never shown again.",
    )


class CredentialDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    name = Text(label="Name", max_length=256)
    provider_id = One(catalog.Choices("providers"), label="Provider")
    auth_kind = forms.ChoiceField(label="Authentication", choices=AUTH_KINDS)
    api_key_header = Text(
        label="Header of the key", max_length=128, help_text="Only for api-key, such as x-api-key."
    )
    billing_kind = forms.ChoiceField(label="Billing", choices=BILLING_KINDS)
    secret_reference_id = Text(
        label="Secret reference",
        max_length=256,
        help_text="env:NAME or file:/path for a secret kept outside, or a stored secret's name. "
        "Leave empty to store the secret you type here.",
    )
    admin_state = admin_state()
    tags = tags()
    groups: ClassVar[Groups] = (
        ("Credential", ("id", "name", "provider_id", "admin_state", "tags")),
        ("Authentication", ("auth_kind", "api_key_header", "billing_kind", "secret_reference_id")),
    )


class NewCredentialDraft(CredentialDraft):
    secret = secret_field(required=False)
    groups: ClassVar[Groups] = (
        ("Credential", ("id", "name", "provider_id", "admin_state", "tags")),
        (
            "Authentication",
            ("auth_kind", "api_key_header", "billing_kind", "secret", "secret_reference_id"),
        ),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        given = [name for name in ("secret", "secret_reference_id") if cleaned.get(name)]
        if cleaned.get("auth_kind") == "anonymous" and given:
            self.add_error(given[0], "An anonymous credential has no secret: leave this empty.")
        elif cleaned.get("auth_kind") != "anonymous" and not given:
            self.add_error("secret", "Give the secret, or a reference to where it is kept.")
        elif len(given) == 2:
            self.add_error("secret_reference_id", "Give the secret or a reference, not both.")
        return cleaned


class SecretForm(forms.Form):
    """The replacement of a secret."""

    secret = secret_field(required=True)
    reason = forms.CharField(required=False, max_length=500, label="Reason for this change")
