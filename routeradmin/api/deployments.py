"""One model at one endpoint: ``serving_models`` in files."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.deployment_actions import DEPLOYMENTS, router

router_of(DEPLOYMENTS, router)
