"""A route's conditions on request facts, and the deployments that may be used where they hold."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Rule

RULES = Noun("rules", "rule", Rule)
router = router_of(RULES)
