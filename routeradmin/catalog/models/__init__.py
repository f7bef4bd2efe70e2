"""The catalog's tables, one file per noun."""

from __future__ import annotations

from routeradmin.catalog.models.alias import Alias, PublicName, folded
from routeradmin.catalog.models.credential import Credential
from routeradmin.catalog.models.defaults import Defaults
from routeradmin.catalog.models.deployment import PROTOCOLS, Deployment, DeploymentCredential
from routeradmin.catalog.models.endpoint import Endpoint
from routeradmin.catalog.models.intent import Intent
from routeradmin.catalog.models.model import UpstreamModel
from routeradmin.catalog.models.policy import FallbackKind, FallbackList, Policy
from routeradmin.catalog.models.provider import Provider
from routeradmin.catalog.models.revision import Revision
from routeradmin.catalog.models.route import STRATEGIES, FallbackEntry, Route, RoutePreview
from routeradmin.catalog.models.rule import Rule, RuleDeployment
from routeradmin.catalog.models.secret import Secret, SecretKind
from routeradmin.catalog.models.target import Target

__all__ = [
    "PROTOCOLS",
    "STRATEGIES",
    "Alias",
    "Credential",
    "Defaults",
    "Deployment",
    "DeploymentCredential",
    "Endpoint",
    "FallbackEntry",
    "FallbackKind",
    "FallbackList",
    "Intent",
    "Policy",
    "Provider",
    "PublicName",
    "Revision",
    "Route",
    "RoutePreview",
    "Rule",
    "RuleDeployment",
    "Secret",
    "SecretKind",
    "Target",
    "UpstreamModel",
    "folded",
]
