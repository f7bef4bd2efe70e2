"""What ``auto`` may mean, and the routes that serve it."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Intent

INTENTS = Noun("intents", "intent", Intent)
router = router_of(INTENTS)
