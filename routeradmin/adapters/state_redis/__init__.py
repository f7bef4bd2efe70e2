"""The state store of several processes: Redis decides, Python chooses."""

from __future__ import annotations

from routeradmin.adapters.state_redis.store import RedisStore

__all__ = ["RedisStore"]
