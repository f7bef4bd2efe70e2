"""Other names for routes; an alias's name is its id."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Alias

ALIASES = Noun("aliases", "alias", Alias)
router = router_of(ALIASES)
