"""Importing a file of any known program: read, checked, compared, and applied whole or not."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from routeradmin.adapters.sealing import CannotOpen
from routeradmin.catalog import validate
from routeradmin.catalog.document import KINDS, key_of
from routeradmin.catalog.files import Draft, Remark, Unfit, open_file
from routeradmin.catalog.files.draft import placed
from routeradmin.catalog.files.reading import Malformed
from routeradmin.catalog.files.sound import Part, whole, without_repeated
from routeradmin.catalog.files.structure import in_order
from routeradmin.catalog.models import Secret as SecretRow
from routeradmin.catalog.problems import Invalid, Problem, Severity, pointer
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor
from routeradmin.services.changes.documents import Imported, Mode, replace_document

OURS = "catalog"


@dataclass(frozen=True, slots=True)
class FileImport:
    """What became of a file. ``source`` is ``catalog`` or the program whose file it is.

    ``unmapped`` and ``notes`` have their places in the file; a catalog of ours has none.
    ``holds_secrets``: keys stand in it in clear text, so that it must not be shown.
    """

    source: str
    unmapped: tuple[Remark, ...]
    notes: tuple[Remark, ...]
    imported: Imported
    holds_secrets: bool = False


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

    Literal keys of another program's file are stored sealed. Raises Invalid, Stale, and Unfit for
    another program's file, which tells what it leaves open as well.
    """
    try:
        draft = open_file(data, format)
    except Malformed as malformed:
        found = [*malformed.problems, *_further(malformed.part, by, mode)]
        raise Invalid(in_order(found)) from malformed
    if draft.source == OURS and validate.duplicates(draft.document):
        raise Invalid(in_order(list(_further(whole(draft.document), by, mode))))
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
        told = _in_source(invalid.problems, draft)
        raise Unfit(told, draft.source, draft.unmapped, draft.notes, invalid.code) from invalid
    if draft.source != OURS:
        found = [*_reused(done, draft), *_secrets_taken_over(draft), *done.warnings]
        done = replace(done, warnings=tuple(_in_source(found, draft)))
    return FileImport(draft.source, draft.unmapped, draft.notes, done, bool(draft.secrets))


def _in_source(found: Iterable[Problem], draft: Draft) -> list[Problem]:
    """Problems with places in the catalog made of the file, told at their places in the file."""
    ids = {kind: [key_of(one) for one in getattr(draft.document, kind)] for kind in KINDS}
    return placed(found, ids, draft.places)


def _reused(done: Imported, draft: Draft) -> Iterator[Problem]:
    """Ids that a reader made up and that mean something else in the catalog already: with merge
    the file's entry takes the other's place, which may not have been meant."""
    for one in done.diff.changed:
        entries = getattr(draft.document, one.kind) if one.kind in KINDS else ()
        keys = [key_of(entry) for entry in entries]
        if one.id in keys:
            fields = ", ".join(change.field for change in one.fields)
            detail = f"there is one of that id already: the file changes its {fields}"
            yield Problem(pointer(one.kind, keys.index(one.id)), detail, Severity.WARNING)
    for index, account in enumerate(draft.document.accounts):
        if done.secrets.get(account.secret_reference_id or "") == "replaced":
            detail = "the secret stored under that id is replaced by the file's key"
            yield Problem(pointer("accounts", index), detail, Severity.WARNING)


def _further(part: Part | None, by: Actor, mode: Mode) -> Iterator[Problem]:
    """What else is wrong with a file that is refused already: ids that stand twice, and what
    trying the rest of it finds."""
    if part is None:
        return
    for problem in validate.duplicates(part.document):
        # It says where the id stood first: off by what is left out before it.
        if problem.pointer.split("/")[1] not in part.lacking:
            yield from part.in_file([problem])
    rest = without_repeated(part)
    try:
        replace_document(rest.document, by, mode=mode, dry_run=True)
    except Invalid as invalid:
        yield from rest.in_file(invalid.problems)


def _secrets_taken_over(draft: Draft) -> Iterator[Problem]:
    """Credentials that the file gives no key, under whose name one is stored from before: it would
    go to an endpoint that it may not have been meant for."""
    stored = set(SecretRow.objects.exclude(ciphertext="").values_list("reference", flat=True))
    for index, account in enumerate(draft.document.accounts):
        reference = account.secret_reference_id
        if reference in stored and reference not in draft.secrets:
            detail = (
                f"the secret that is stored as {reference} is used: replace it if it is not its"
            )
            yield Problem(pointer("accounts", index), detail, Severity.WARNING)


def sealed_file(data: bytes) -> str:
    """The file for a page to hand back in a later step: it may hold keys, so nobody can read it."""
    return runtimes.get().sealer.seal(base64.b64encode(data).decode())


def opened_file(sealed: str) -> bytes:
    """Raises Invalid for text that is not ``sealed_file``'s."""
    try:
        return base64.b64decode(runtimes.get().sealer.open(sealed).reveal(), validate=True)
    except (CannotOpen, ValueError):
        raise Invalid([Problem("", "the file is not at hand any more: choose it again")]) from None
