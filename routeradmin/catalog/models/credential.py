"""A secret, or none, of one provider: ``account`` in catalog files."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q

from routeradmin.catalog.models.base import Named, admin_state_field, tags_field
from routeradmin.catalog.models.provider import Provider
from routeradmin.catalog.models.secret import Secret
from routeradmin.constraints import filled, one_of
from routeradmin.engine.objects import AdminState, AuthKind, BillingKind


class Credential(Named):
    provider = models.ForeignKey(Provider, models.PROTECT, related_name="credentials")
    auth_kind = models.CharField(max_length=32, choices=[(k.value, k.value) for k in AuthKind])
    billing_kind = models.CharField(
        max_length=32, choices=[(k.value, k.value) for k in BillingKind]
    )
    secret = models.ForeignKey(
        Secret, models.PROTECT, related_name="credentials", null=True, blank=True
    )
    api_key_header = models.CharField(max_length=128, blank=True, default="")
    admin_state = admin_state_field()
    tags = tags_field()

    class Meta(Named.Meta):
        constraints = (
            *filled("credential", "uid"),
            one_of("credential", "auth_kind", AuthKind),
            one_of("credential", "billing_kind", BillingKind),
            one_of("credential", "admin_state", AdminState),
            CheckConstraint(
                condition=Q(auth_kind=AuthKind.ANONYMOUS.value, secret__isnull=True)
                | (~Q(auth_kind=AuthKind.ANONYMOUS.value) & Q(secret__isnull=False)),
                name="credential_secret_unless_anonymous",
            ),
            CheckConstraint(
                condition=(Q(auth_kind=AuthKind.API_KEY.value) & ~Q(api_key_header=""))
                | (~Q(auth_kind=AuthKind.API_KEY.value) & Q(api_key_header="")),
                name="credential_header_iff_api_key",
            ),
            CheckConstraint(
                condition=~Q(auth_kind=AuthKind.SUBSCRIPTION_OAUTH.value)
                | Q(billing_kind=BillingKind.SUBSCRIPTION.value),
                name="credential_oauth_bills_by_subscription",
            ),
        )

    @property
    def secret_reference_id(self) -> str | None:
        return self.secret.reference if self.secret else None
