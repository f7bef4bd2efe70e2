"""The catalog in force in this process: one snapshot, swapped whole."""

from __future__ import annotations

from routeradmin.catalog.document import Document
from routeradmin.engine.snapshot import EMPTY, Snapshot


class Current:
    """Readers take ``snapshot`` once per request and keep it; ``swap`` replaces it.

    ``document`` is what the snapshot was compiled from, kept for the control plane; ``notes`` is a
    scratchpad for what can be made again from the snapshot.
    """

    def __init__(self, snapshot: Snapshot = EMPTY, document: Document | None = None) -> None:
        self.snapshot = snapshot
        self.document = document or Document()
        self.notes: dict[object, bytes] = {}

    @property
    def revision(self) -> int:
        return self.snapshot.revision

    def swap(self, snapshot: Snapshot, document: Document) -> None:
        self.document = document
        self.snapshot = snapshot
        self.notes = {}
