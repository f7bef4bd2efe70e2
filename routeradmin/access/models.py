"""People and programs: users with a role, API keys with scopes and limits."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from routeradmin.constraints import filled, limits, one_of
from routeradmin.versioned import Versioned


class Role(models.TextChoices):
    """Each role may do what the ones before it may."""

    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    ADMIN = "admin", "Admin"


class Scope(models.TextChoices):
    SELECT = "select"
    SECRETS = "secrets"
    INFERENCE = "inference"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class User(AbstractUser, Versioned):
    role = models.CharField(max_length=16, choices=Role, default=Role.VIEWER)

    class Meta(AbstractUser.Meta):
        constraints = (one_of("user", "role", Role.values), *filled("user", "username"))

    @property
    def may_operate(self) -> bool:
        """Actions: drain, disable, enable, cooldowns, probes."""
        return self.role in (Role.OPERATOR, Role.ADMIN)

    @property
    def may_configure(self) -> bool:
        """Catalog, keys and users."""
        return self.role == Role.ADMIN


class ApiKey(Versioned):
    """A program's key: only its SHA-256 is kept; ``prefix`` is what people recognise it by.

    ``routes``: ids of the routes it may use; NULL is all of them, an empty list none. Limits are
    per minute, ``tokens_per_day`` per UTC day; NULL is unlimited.
    """

    uid = models.CharField(max_length=32, unique=True)
    name = models.CharField(max_length=256)
    hash = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=16)
    scopes = models.JSONField(default=list)
    routes = models.JSONField(null=True, default=None)
    rpm_limit = models.BigIntegerField(null=True, blank=True)
    tpm_limit = models.BigIntegerField(null=True, blank=True)
    max_parallel_requests = models.BigIntegerField(null=True, blank=True)
    tokens_per_day = models.BigIntegerField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name", "uid")
        constraints = (
            *filled("apikey", "uid", "name", "hash"),
            *limits("apikey", "rpm_limit", "tpm_limit", "max_parallel_requests", "tokens_per_day"),
        )

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """A person's name for what a page's address asks for; ``query`` is that, without ``?``.

    ``page`` is the page's name among the console's addresses. At most one view of a page is what
    its bare address opens with.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="saved_views")
    page = models.CharField(max_length=32)
    name = models.CharField(max_length=64)
    query = models.CharField(max_length=1000, blank=True, default="")
    is_default = models.BooleanField(default=False)

    class Meta:
        ordering = ("page", "name")
        constraints = (
            *filled("savedview", "page", "name"),
            models.UniqueConstraint(fields=["user", "page", "name"], name="savedview_one_per_name"),
            models.UniqueConstraint(
                fields=["user", "page"],
                condition=models.Q(is_default=True),
                name="savedview_one_default",
            ),
        )

    def __str__(self) -> str:
        return self.name
