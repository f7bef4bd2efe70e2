"""The ninja application: routers by noun, faults as problems, one document for both planes."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from routeradmin.api import (
    aliases,
    audit,
    catalog,
    cooldowns,
    credentials,
    deployments,
    endpoints,
    events,
    faults,
    incidents,
    intents,
    keys,
    models,
    policies,
    providers,
    revisions,
    routes,
    rules,
    state,
    turns,
    users,
    webhooks,
)
from routeradmin.api.docs import Docs
from routeradmin.api.openapi import ApiDocument
from routeradmin.api.parsing import StrictParser

DESCRIPTION = (
    "Decisions and inference (the data plane) and management (the control plane) of one router. "
    "Authenticate with an API key; the console's session works for management too. Management "
    "answers errors as RFC 9457 problem documents, decisions and inference in OpenAI's shape."
)


class ManagementApi(NinjaAPI):
    """NinjaAPI whose document covers the bare ASGI paths too."""

    _document: OpenAPISchema | None = None

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        if self._document is None:
            self._document = ApiDocument(self, path_prefix or self.get_root_path(path_params or {}))
        return self._document

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = ManagementApi(
    title="routeradmin",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api",
    docs=Docs(),
    parser=StrictParser(),
)
faults.install(api)
for path, router in {
    "/state": state.router,
    "/events": events.router,
    "/cooldowns": cooldowns.router,
    "/providers": providers.router,
    "/credentials": credentials.router,
    "/endpoints": endpoints.router,
    "/models": models.router,
    "/deployments": deployments.router,
    "/routes": routes.router,
    "/aliases": aliases.router,
    "/policies": policies.router,
    "/rules": rules.router,
    "/intents": intents.router,
    "/keys": keys.router,
    "/users": users.router,
    "/webhooks": webhooks.router,
    "/incidents": incidents.router,
    "/turns": turns.router,
    "/catalog": catalog.router,
    "/revisions": revisions.router,
    "/audit": audit.router,
}.items():
    api.add_router(path, router)
