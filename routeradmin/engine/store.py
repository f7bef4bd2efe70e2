"""The protocol of the store that keeps runtime state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from routeradmin.engine.state import (
    Binding,
    CandidateKey,
    CandidateState,
    Change,
    Grant,
    Lease,
    Listener,
    Outcome,
    ReportState,
    Settlement,
    StateView,
)

if TYPE_CHECKING:
    from routeradmin.engine.key_use import KeyUse
    from routeradmin.engine.policy import Policy
    from routeradmin.engine.snapshot import Snapshot
    from routeradmin.engine.turn_book import Kept, Tell
    from routeradmin.engine.turn_state import Opening, TurnState


class StateStore(StateView, Protocol):
    """Leases, windows, cursors, cooldowns, health; turns and first report answers.

    Two implementations pass one shared test suite. Every ``now`` is the caller's clock.
    """

    epoch: str

    @property
    def seq(self) -> int:
        """Grows by at least one with every change that a reader could see."""
        ...

    def bind(self, snapshot: Snapshot) -> None:
        """Serve this snapshot: keep state by key, forget departed keys, and where a credential's
        ``secret_version`` moved, clear its cooldowns."""
        ...

    def states(self) -> Iterable[CandidateState]: ...

    def expire(self, now: float) -> Sequence[Lease]:
        """Give back every lease whose time is over; reading paths may rely on the caller's tick."""
        ...

    async def reserve(self, grant: Grant, now: float) -> Lease | None:
        """Take one slot atomically: parallel, rpm and tpm checked and charged together, those of
        the owner's key with them, and what the grant says of its turn kept.

        A grant without a turn begins one: the lease's id is the turn's.

        None: another caller took the last one. Raises TurnMoved, KeyRefused.
        """
        ...

    async def recount(self, keys: Sequence[CandidateKey], now: float) -> bool:
        """Before these count as full: learn what others gave back by now. False where nobody else
        counts, so that what was known is all there is."""
        ...

    async def renew(
        self, lease_id: str, ttl_s: float, now: float, generation: int | None = None
    ) -> Lease:
        """Raises LeaseNotFound, LeaseFenced."""
        ...

    async def release(self, lease_id: str, now: float, generation: int | None = None) -> bool:
        """Give back without an outcome; False when it was given back before.

        Raises LeaseNotFound, LeaseFenced.
        """
        ...

    async def settle(
        self,
        lease_id: str,
        outcome: Outcome,
        policy: Policy,
        now: float,
        generation: int | None = None,
        tell: Tell | None = None,
    ) -> Settlement:
        """Give back with an outcome: usage, latency, health and cooldown change together, and
        with ``tell`` the lease's turn and the answer to this report and all that repeat it.

        An outcome obtained with a secret that was rotated since changes nothing but the slot.
        Raises LeaseNotFound, LeaseFenced (wrong generation only).
        """
        ...

    async def lease(self, lease_id: str) -> Lease:
        """Raises LeaseNotFound."""
        ...

    async def set_cooldown(
        self, key: CandidateKey, seconds: float, set_by: str, message: str, now: float
    ) -> Change:
        """A manual cooldown; a later end of a running one wins."""
        ...

    async def clear(self, key: CandidateKey, set_by: str, now: float) -> Change | None:
        """Both levels and all counts 0, health healthy, no cooldown."""
        ...

    async def probed(
        self,
        key: CandidateKey,
        ok: bool,
        threshold: int,
        policy: Policy,
        outcome: Outcome,
        now: float,
    ) -> Sequence[Change]: ...

    async def phase(self, lease_id: str) -> ReportState:
        """What a report would meet; REPEATED after one. Raises LeaseNotFound."""
        ...

    async def load_turn(self, turn_id: str, now: float) -> Kept | None:
        """A copy, to be changed and saved."""
        ...

    async def save_turn(self, turn: TurnState | Opening, now: float, version: int) -> bool:
        """Kept one hour after its last change. ``version`` is the one that was loaded, 0 for a
        new turn. False: another moved it on since, and nothing was saved."""
        ...

    def note_turn(self, turn: TurnState, now: float, version: int) -> None:
        """The same without waiting, for a turn that this caller's grant moved on from there."""
        ...

    async def binding(self, names: Sequence[str], now: float) -> Binding | None:
        """Where other processes bound a session of one of these names, the best name first; None
        where there are none, or none that did."""
        ...

    def bind_session(self, name: str, binding: Binding, now: float) -> None:
        """Tell the other processes."""
        ...

    def key_use(self, uid: str, now: float) -> KeyUse:
        """What an API key has used, as far as is known here: exact about this process's part."""
        ...

    def forget_keys(self, uids: Iterable[str]) -> None:
        """API keys that are no more."""
        ...

    def listen(self, listener: Listener) -> None:
        """Be called, synchronously, with every journal-worthy change after it is visible."""
        ...

    def export(self, now: float) -> Sequence[dict[str, Any]]:
        """Durable part (cooldowns, levels, health, evidence) of every candidate that has some."""
        ...

    def restore(self, records: Iterable[dict[str, Any]], now: float) -> None: ...
