"""API keys and users."""

from __future__ import annotations

from typing import Any

from django import forms

from routeradmin.access.models import Role, Scope
from routeradmin.console import catalog
from routeradmin.console.drafts import Draft
from routeradmin.console.fields import Several, whole
from routeradmin.services import publishing, runtime

SCOPES = (
    (Scope.SELECT, "select: ask which deployment to use"),
    (Scope.SECRETS, "secrets: get the upstream secret with a decision"),
    (Scope.INFERENCE, "inference: send requests through routeradmin"),
    (Scope.READ, "read: state, catalog without secrets, metrics"),
    (Scope.WRITE, "write: catalog and actions"),
    (Scope.ADMIN, "admin: keys and users"),
)
LIMITS = ("rpm_limit", "tpm_limit", "max_parallel_requests", "tokens_per_day")


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
        ("Limits", LIMITS),
    )

    def typed(self) -> dict[str, Any]:
        values = super().typed()
        values["routes"] = values.get("routes") or None
        return values

    def consequences(self) -> list[str]:
        found, touched, seen = [], self.touched(), self._seen()
        expires_at = touched.get("expires_at")
        if expires_at is not None and expires_at <= publishing.moment(runtime.get()):
            found.append("That time has passed: whoever uses the key is refused with 401 at once.")
        lost = [scope for scope in seen.get("scopes") or () if scope not in self.typed()["scopes"]]
        if lost:
            found.append(f"Calls that need {', '.join(lost)} are refused from the next one on.")
        if seen and touched.get("routes"):
            found.append("Requests for any other route are refused from the next one on.")
        zero = [str(self.fields[name].label) for name in LIMITS if touched.get(name) == 0]
        if zero:
            found.append(f"A limit of 0 lets nothing through: {', '.join(zero)}.")
        return found


class UserDraft(Draft):
    fixed = ("username",)
    username = forms.CharField(label="Username", max_length=150)
    role = forms.ChoiceField(
        label="Role",
        choices=(
            (Role.VIEWER, "Viewer: looks"),
            (Role.OPERATOR, "Operator: also acts on deployments and cooldowns"),
            (Role.ADMIN, "Admin: also changes catalog, keys and users"),
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

    def consequences(self) -> list[str]:
        touched = self.touched()
        if not self.exists:
            return []
        found = []
        if touched.get("password"):
            found.append("The new password ends this person's sessions.")
        if touched.get("is_active") is False:
            found.append("Whoever may not sign in is signed out at once.")
        if "role" in touched:
            found.append("The new role counts from this person's next click on.")
        return found


class NewUserDraft(UserDraft):
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
