"""Retry, turn, cooldown, fallback and classification rules shared by routes."""

from __future__ import annotations

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.policies import Policy

POLICIES = Noun("policies", "policy", Policy)
router = router_of(POLICIES)
