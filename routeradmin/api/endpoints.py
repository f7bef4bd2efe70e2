"""Base URLs, reached with a credential; they own timeouts, proxy, CA and probe."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Endpoint

ENDPOINTS = Noun("endpoints", "endpoint", Endpoint)
router = router_of(ENDPOINTS)
