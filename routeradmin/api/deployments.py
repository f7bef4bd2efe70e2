"""One model at one endpoint: ``serving_models`` in files."""

from __future__ import annotations

from routeradmin.api import deployment_actions
from routeradmin.api.crud import router_of

router = router_of(deployment_actions.DEPLOYMENTS, deployment_actions.router)
