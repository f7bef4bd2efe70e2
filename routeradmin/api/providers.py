"""Vendors and labs."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Provider

PROVIDERS = Noun("providers", "provider", Provider)
router = router_of(PROVIDERS)
