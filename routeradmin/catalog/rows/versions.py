"""The version of one stored object, by its kind in the document and its key there."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog import models

TABLES: dict[str, Any] = {
    "providers": models.Provider,
    "accounts": models.Credential,
    "endpoints": models.Endpoint,
    "models": models.UpstreamModel,
    "serving_models": models.Deployment,
    "routes": models.Route,
    "aliases": models.Alias,
    "policies": models.Policy,
    "rules": models.Rule,
    "intents": models.Intent,
}


def version_of(kind: str, key: str) -> int | None:
    """None where there is no such object. Targets carry their route's version."""
    if kind == "defaults":
        found = models.Defaults.objects.values_list("version", flat=True)
    else:
        field = "name" if kind == "aliases" else "uid"
        found = TABLES[kind].objects.filter(**{field: key}).values_list("version", flat=True)
    return found.first()
