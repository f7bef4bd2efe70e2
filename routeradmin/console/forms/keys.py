"""API keys and users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.dateparse import parse_datetime

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
ALL, LISTED = "all", "only"
REACHES = (
    (ALL, "all routes, also those added later"),
    (LISTED, "only the routes ticked below"),
)
LIMITS = ("rpm_limit", "tpm_limit", "max_parallel_requests", "tokens_per_day")


class KeyDraft(Draft):
    """Which routes a key may use is said by ``reach``: no box ticked never means all of them."""

    fixed = ()
    name = forms.CharField(label="Name", max_length=256, help_text="Who or what uses it.")
    scopes = forms.MultipleChoiceField(
        label="Scopes", choices=SCOPES, widget=forms.CheckboxSelectMultiple
    )
    reach = forms.ChoiceField(label="Routes it may use", choices=REACHES, widget=forms.RadioSelect)
    routes = Several(
        catalog.Choices("routes", "alias"),
        label="Ticked routes",
        help_text="With “only” and none ticked it may use no route.",
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
        ("Routes", ("reach", "routes")),
        ("Limits", LIMITS),
    )

    @staticmethod
    def values_of(fields: Mapping[str, Any]) -> dict[str, Any]:
        """A key's fields as the form holds them: with its reach, and a time to the minute. Whoever
        leaves the minute alone leaves the seconds alone."""
        expires_at = parse_datetime(fields["expires_at"] or "")
        if expires_at is not None:
            expires_at = expires_at.replace(second=0, microsecond=0)
        reach = ALL if fields["routes"] is None else LISTED
        return {**fields, "expires_at": expires_at, "reach": reach}

    def unlisted(self, name: str, value: str) -> str:
        """A route that was deleted, or a model of a provider, which is a route without an entry."""
        provider, colon, model = value.partition(":")
        if name == "routes" and colon and model and provider in catalog.index().providers:
            return f"{value} – a model of {provider}"
        return super().unlisted(name, value)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        ticked = set(cleaned.get("routes") or ()) - set(self._seen().get("routes") or ())
        if cleaned.get("reach") == ALL and ticked:
            self.add_error("reach", "Routes are ticked below: choose “only”, or untick them.")
        return cleaned

    def given(self) -> dict[str, Any]:
        """A new key's fields as the API takes them."""
        return _with_routes(self.typed(), self.typed())

    def patch(self) -> dict[str, Any]:
        return _with_routes(self.touched(), self.typed())

    def consequences(self) -> list[str]:
        found, touched, seen = [], self.touched(), self._seen()
        expires_at = touched.get("expires_at")
        if expires_at is not None and expires_at <= publishing.moment(runtime.get()):
            found.append("That time has passed: whoever uses the key is refused with 401 at once.")
        before, after = set(seen.get("scopes") or ()), set(self.typed()["scopes"])
        if lost := _in_order(before - after):
            found.append(f"Calls that need {', '.join(lost)} are refused from the next one on.")
        if seen and (gained := _in_order(after - before)):
            found.append(f"It may do what needs {', '.join(gained)} from the next call on.")
        found += self._reaching(seen)
        found += self._unlimited(seen)
        zero = [str(self.fields[name].label) for name in LIMITS if touched.get(name) == 0]
        if zero:
            found.append(f"A limit of 0 lets nothing through: {', '.join(zero)}.")
        return found

    def _reaching(self, seen: Mapping[str, Any]) -> list[str]:
        """What the key may use that it might not before, and the other way round."""
        typed = self.typed()
        before, after = seen.get("reach"), typed["reach"]
        had, has = set(seen.get("routes") or ()), set(typed["routes"] or ())
        if after == ALL:
            every = "It may use every route from the next request on, also those added later."
            return [every] if before == LISTED else []
        if not has and (before != LISTED or had):
            return ["No route is ticked: requests for any route are refused."]
        if before == ALL:
            return ["Requests for any other route are refused from the next one on."]
        if before is None:
            return []
        found = []
        if has - had:
            found.append(f"It may also use {_called(has - had)} from the next request on.")
        if had - has:
            found.append(f"Requests for {_called(had - has)} are refused from the next one on.")
        return found

    def _unlimited(self, seen: Mapping[str, Any]) -> list[str]:
        """Limits that are gone: an empty field is none."""
        emptied = {name for name, value in self.touched().items() if value is None}
        gone = {name for name in emptied if seen.get(name) is not None}
        found = [str(self.fields[name].label) for name in LIMITS if name in gone]
        sentences = [f"No longer limited: {', '.join(found)}."] if found else []
        return [*sentences, "It does not expire any more."] if "expires_at" in gone else sentences


def _with_routes(fields: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """``reach`` and the boxes as the one field they are: null for all routes."""
    values = {name: value for name, value in fields.items() if name not in ("reach", "routes")}
    if len(values) < len(fields):
        values["routes"] = None if typed["reach"] == ALL else typed["routes"]
    return values


def _in_order(scopes: set[str]) -> list[str]:
    return [scope for scope in Scope.values if scope in scopes]


def _called(routes: Iterable[str]) -> str:
    index = catalog.index()
    return ", ".join(sorted(index.alias_of(uid) for uid in routes))


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
