"""Upstream model names with ids of their own."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Model

MODELS = Noun("models", "model", Model)
router = router_of(MODELS)
