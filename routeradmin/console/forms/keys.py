"""API keys and users."""

from __future__ import annotations

from typing import Any

from django import forms

from routeradmin.access.models import Role, Scope
from routeradmin.console import catalog
from routeradmin.console.drafts import Draft
from routeradmin.console.fields import Several, whole

SCOPES = (
    (Scope.SELECT, "select: ask which deployment to use"),
    (Scope.SECRETS, "secrets: get the upstream secret with a decision"),
    (Scope.INFERENCE, "inference: send requests through routeradmin"),
    (Scope.READ, "read: state, catalog without secrets, metrics"),
    (Scope.WRITE, "write: catalog and actions"),
    (Scope.ADMIN, "admin: keys and users"),
)


class KeyDraft(Draft):
    fixed = ()
    name = forms.CharField(label="Name", max_length=256, help_text="Who or what uses it.")
    scopes = forms.MultipleChoiceField(
        label="Scopes", choices=SCOPES, widget=forms.CheckboxSelectMultiple
    )
    routes = Several(
        catalog.Choices("routes", "alias"), label="Routes", help_text="None ticked: all routes."
    )
    rpm_limit = whole("Requests per minute", "Empty is unlimited.")
    tpm_limit = whole("Tokens per minute", "Empty is unlimited.")
    max_parallel_requests = whole("Parallel requests", "Empty is unlimited.")
    tokens_per_day = whole("Tokens per day", "Empty is unlimited.")
    expires_at = forms.DateTimeField(
        label="Expires, UTC",
        required=False,
        help_text="Empty is never.",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    groups = (
        ("Key", ("name", "scopes", "expires_at")),
        ("Routes", ("routes",)),
        ("Limits", ("rpm_limit", "tpm_limit", "max_parallel_requests", "tokens_per_day")),
    )

    def typed(self) -> dict[str, Any]:
        values = super().typed()
        values["routes"] = values.get("routes") or None
        return values


class UserDraft(Draft):
    fixed = ("username",)
    username = forms.CharField(label="Username", max_length=150)
    role = forms.ChoiceField(
        label="Role",
        choices=(
            (Role.VIEWER, "viewer: looks"),
            (Role.OPERATOR, "operator: also acts on deployments and cooldowns"),
            (Role.ADMIN, "admin: also changes catalog, keys and users"),
        ),
        initial=Role.VIEWER,
    )
    is_active = forms.BooleanField(label="May sign in", required=False, initial=True)
    password = forms.CharField(
        label="New password",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Replacing it ends the person's sessions. Empty keeps it.",
    )
    groups = (("User", ("username", "role", "is_active", "password")),)

    def touched(self) -> dict[str, Any]:
        """An empty password field means the password stays."""
        touched = super().touched()
        if not touched.get("password"):
            touched.pop("password", None)
        return touched


class NewUserDraft(UserDraft):
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
