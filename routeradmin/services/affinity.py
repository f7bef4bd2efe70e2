"""Sessions that like to stay with one candidate, for routes with an affinity time.

A binding outranks the route's strategy, not its tiers or rules: where its candidate may not be
used, or an earlier tier is open again, the session moves and is bound anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from routeradmin.engine.describe import utc_text
from routeradmin.engine.eligibility import rejections
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.state import Binding, CandidateKey, StateView
from routeradmin.engine.store import StateStore

SESSIONS_KEPT = 100_000


class Session(NamedTuple):
    """``names`` are what may identify it, the best first; ``source`` is where they were found."""

    names: tuple[str, ...]
    source: str


class Affinity:
    """Which candidate served a session last, by route and API key; the least recently used go
    first. Names of sessions are kept as digests only. What other processes know is asked for
    (``recall``) at the beginning of a request; what is here is enough while they are out of reach.
    """

    def __init__(self) -> None:
        self._bound: OrderedDict[str, Binding] = OrderedDict()

    async def recall(
        self,
        store: StateStore,
        resolved: Resolved,
        session: Session | None,
        key_id: str | None,
        now: float,
    ) -> None:
        """Learn where the session is bound; the binding that was made last counts."""
        if session is None or resolved.route.affinity_ttl_s <= 0:
            return
        names = [_digest(resolved, name, key_id) for name in session.names]
        found = await store.binding(names, now)
        known = self.bound(resolved, session, key_id, now)
        if found is not None and (known is None or found.until >= known.until):
            self._keep(names[0], found)

    def bound(
        self, resolved: Resolved, session: Session | None, key_id: str | None, now: float
    ) -> Binding | None:
        """The running binding; None where the route has no affinity."""
        if session is None or resolved.route.affinity_ttl_s <= 0:
            return None
        for name in session.names:
            found = self._bound.get(_digest(resolved, name, key_id))
            if found is not None and found.until > now:
                return found
        return None

    def preferred(
        self, resolved: Resolved, session: Session | None, key_id: str | None, now: float
    ) -> CandidateKey | None:
        found = self.bound(resolved, session, key_id, now)
        return None if found is None else found.key

    def served(
        self,
        store: StateStore,
        resolved: Resolved,
        session: Session | None,
        key_id: str | None,
        key: CandidateKey,
        now: float,
    ) -> None:
        """Bind the session to this candidate, for the route's time from now on."""
        if session is None or resolved.route.affinity_ttl_s <= 0:
            return
        old = self.bound(resolved, session, key_id, now)
        before = None if old is None else old.before if old.key == key else old.key
        digest = _digest(resolved, session.names[0], key_id)
        binding = Binding(key, now + resolved.route.affinity_ttl_s, before)
        self._keep(digest, binding)
        store.bind_session(digest, binding, now)

    def _keep(self, digest: str, binding: Binding) -> None:
        self._bound[digest] = binding
        self._bound.move_to_end(digest)
        while len(self._bound) > SESSIONS_KEPT:
            self._bound.popitem(last=False)


def explained(
    binding: Binding | None,
    session: Session,
    resolved: Resolved,
    request: SelectRequest,
    view: StateView,
    now: float,
    chosen: CandidateKey | None,
) -> dict[str, Any]:
    """What a session's binding had to do with the choice. ``why``: what kept the bound candidate
    from being used; ``returned``: the session is back where it was before it last moved."""
    if binding is None:
        return {"source": session.source, "bound_to": None, "kept": False, "why": []}
    return {
        "source": session.source,
        "bound_to": str(binding.key),
        "until": utc_text(binding.until),
        "before": None if binding.before is None else str(binding.before),
        "kept": chosen == binding.key,
        "returned": chosen is not None and chosen == binding.before != binding.key,
        "why": [] if chosen == binding.key else _why(binding.key, resolved, request, view, now),
    }


def _why(
    key: CandidateKey, resolved: Resolved, request: SelectRequest, view: StateView, now: float
) -> list[str]:
    route = resolved.route
    candidate = next((one for one in route.candidates if one.key == key), None)
    if candidate is None:
        return ["gone"]
    return list(rejections(candidate, route, request, view, now)) or ["earlier-tier"]


def _digest(resolved: Resolved, name: str, key_id: str | None) -> str:
    parts = (resolved.route.id, resolved.matched or "", key_id or "", name)
    text = "\n".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def named(session: str | None) -> Session | None:
    """A session that the caller names itself."""
    return None if session is None else Session((session,), "session")


def first_of(options: Sequence[tuple[str, object]]) -> Session | None:
    """The first (source, value) whose value is a text that is not empty."""
    for source, value in options:
        if isinstance(value, str) and value.strip():
            return Session((value.strip(),), source)
    return None
