"""One model at one endpoint, with what it can do and how much: ``serving_model`` in files."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from routeradmin.catalog.models.base import Named, admin_state_field, tags_field
from routeradmin.catalog.models.credential import Credential
from routeradmin.catalog.models.endpoint import Endpoint
from routeradmin.catalog.models.model import UpstreamModel
from routeradmin.catalog.models.probing import PROBE_MODES, Probed, probe_constraints
from routeradmin.constraints import INT31, at_most, between, filled, limits, one_of
from routeradmin.engine.objects import AdminState, ProbeMode

PROTOCOLS = ("responses", "messages", "chat-completions", "completions", "embeddings")


class Deployment(Named, Probed):
    """Capabilities are NULL where not declared; ``probe_mode`` empty means the endpoint's probe.

    Limits: NULL is unlimited, 0 admits nothing. Prices are per million tokens.
    """

    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="deployments")
    model = models.ForeignKey(UpstreamModel, models.PROTECT, related_name="deployments")
    protocol = models.CharField(max_length=32, choices=[(p, p) for p in PROTOCOLS])
    protocols = models.JSONField(default=list, blank=True)
    credentials = models.ManyToManyField(
        Credential, through="DeploymentCredential", related_name="deployments"
    )
    tools = models.BooleanField(null=True, blank=True)
    tool_choice = models.BooleanField(null=True, blank=True)
    temperature = models.BooleanField(null=True, blank=True)
    top_p = models.BooleanField(null=True, blank=True)
    reasoning_efforts = models.JSONField(null=True, blank=True, default=None)
    context_window = models.BigIntegerField(null=True, blank=True)
    max_output_tokens = models.BigIntegerField(null=True, blank=True)
    vision = models.BooleanField(null=True, blank=True)
    audio = models.BooleanField(null=True, blank=True)
    embeddings = models.BooleanField(null=True, blank=True)
    json_schema = models.BooleanField(null=True, blank=True)
    weight = models.BigIntegerField(default=1)
    priority = models.BigIntegerField(default=0)
    rpm_limit = models.BigIntegerField(null=True, blank=True)
    tpm_limit = models.BigIntegerField(null=True, blank=True)
    max_parallel_requests = models.BigIntegerField(null=True, blank=True)
    admin_state = admin_state_field()
    drain_until = models.DateTimeField(null=True, blank=True)
    tags = tags_field()
    probe_mode = models.CharField(max_length=8, choices=PROBE_MODES, blank=True, default="")
    input_price = models.FloatField(null=True, blank=True)
    output_price = models.FloatField(null=True, blank=True)

    class Meta(Named.Meta):
        constraints = (
            *filled("deployment", "uid"),
            one_of("deployment", "protocol", PROTOCOLS),
            one_of("deployment", "admin_state", AdminState),
            one_of("deployment", "probe_mode", ("", *ProbeMode)),
            between("deployment", "weight", 0, INT31),
            between("deployment", "priority", 0, INT31),
            *limits("deployment", "rpm_limit", "tpm_limit", "max_parallel_requests"),
            between("deployment", "context_window", 1, optional=True),
            between("deployment", "max_output_tokens", 1, optional=True),
            at_most("deployment", "max_output_tokens", "context_window"),
            between("deployment", "input_price", 0, optional=True),
            between("deployment", "output_price", 0, optional=True),
            *probe_constraints("deployment"),
        )


class DeploymentCredential(models.Model):
    """A place in a deployment's own list of credentials; without any the endpoint's counts."""

    deployment = models.ForeignKey(Deployment, models.CASCADE, related_name="account_list")
    credential = models.ForeignKey(Credential, models.PROTECT, related_name="account_places")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("deployment", "position")
        constraints = (
            UniqueConstraint(
                fields=["deployment", "position"], name="deploymentcredential_one_per_position"
            ),
            UniqueConstraint(
                fields=["deployment", "credential"], name="deploymentcredential_named_once"
            ),
            between("deploymentcredential", "position", 0, INT31),
        )

    def __str__(self) -> str:
        return f"{self.deployment_id}[{self.position}]"
