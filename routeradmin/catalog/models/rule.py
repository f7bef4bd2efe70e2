"""A route's condition on request facts, and the deployments it then allows."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from routeradmin.catalog.models.base import Declared
from routeradmin.catalog.models.deployment import Deployment
from routeradmin.catalog.models.route import Route
from routeradmin.constraints import INT31, between, filled


class Rule(Declared):
    """``when`` is the format's table, without what it leaves out."""

    route = models.ForeignKey(Route, models.CASCADE, related_name="rules")
    position = models.BigIntegerField(default=0)
    when = models.JSONField(default=dict, blank=True)

    class Meta(Declared.Meta):
        ordering = ("position", "uid")  # type: ignore[assignment]  # the base sorts by one
        constraints = (*filled("rule", "uid"), between("rule", "position", 0, INT31))


class RuleDeployment(models.Model):
    """A place in a rule's ``only`` list."""

    rule = models.ForeignKey(Rule, models.CASCADE, related_name="only_list")
    deployment = models.ForeignKey(Deployment, models.PROTECT, related_name="rule_places")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("rule", "position")
        constraints = (
            UniqueConstraint(fields=["rule", "position"], name="ruledeployment_one_per_position"),
            between("ruledeployment", "position", 0, INT31),
        )

    def __str__(self) -> str:
        return f"{self.rule_id}[{self.position}]"
