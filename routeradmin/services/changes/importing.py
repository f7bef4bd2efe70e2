"""Importing a file of any known program: read, checked, compared, and applied whole or not."""

from __future__ import annotations

from dataclasses import dataclass

from routeradmin.catalog import validate
from routeradmin.catalog.document import Document
from routeradmin.catalog.files import Remark, open_file
from routeradmin.catalog.problems import Invalid
from routeradmin.services.changes.commit import Actor
from routeradmin.services.changes.documents import Imported, Mode, replace_document

OURS = "catalog"


@dataclass(frozen=True, slots=True)
class FileImport:
    """What became of a file. ``source`` is ``catalog`` or the program whose file it is.

    ``unmapped`` and ``notes`` have their places in the file; a catalog of ours has none.
    """

    source: str
    unmapped: tuple[Remark, ...]
    notes: tuple[Remark, ...]
    imported: Imported


def import_file(
    data: bytes,
    by: Actor,
    *,
    format: str = "auto",
    mode: Mode = "merge",
    dry_run: bool = False,
    if_match: int | str = "*",
    reason: str = "",
) -> FileImport:
    """``format`` is one of ``catalog.files.FORMATS``; the rest is ``replace_document``'s.

    Literal keys of another program's file are stored sealed. Raises Invalid, Stale. Another
    program's file has no place for a problem of the catalog made of it: there the entry is named.
    """
    draft = open_file(data, format)
    try:
        done = replace_document(
            draft.document,
            by,
            mode=mode,
            dry_run=dry_run,
            if_match=if_match,
            reason=reason,
            secrets=draft.secrets,
        )
    except Invalid as invalid:
        if draft.source == OURS:
            raise
        named = validate.as_in_file(invalid.problems, draft.document, Document())
        raise Invalid(named, invalid.code) from invalid
    if draft.source != OURS:
        named = validate.as_in_file(done.warnings, draft.document, Document())
        done = Imported(done.diff, done.revision, done.changed, tuple(named), done.secrets)
    return FileImport(draft.source, draft.unmapped, draft.notes, done)
