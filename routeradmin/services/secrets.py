"""The one place where secrets are opened: from rows and references into memory.

Callers of upstreams get them by credential; nobody reads a ciphertext anywhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db.models import Max

from routeradmin.adapters.redaction import Redactor
from routeradmin.adapters.references import References, is_reference
from routeradmin.adapters.sealing import CannotOpen, Sealer, Secret, fingerprint
from routeradmin.catalog.document import Document
from routeradmin.catalog.models import Secret as SecretRow
from routeradmin.catalog.models import SecretKind
from routeradmin.engine.objects import Credential

log = logging.getLogger(__name__)

NOT_GIVEN = "no secret is stored under this name yet: replace the credential's secret"


@dataclass(frozen=True, slots=True)
class Opened:
    """Secrets by credential id, which value each has, and why some have none.

    ``outside``: the fingerprint behind every ``env:`` and ``file:`` reference, empty for none.
    """

    secrets: Mapping[str, Secret] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    outside: Mapping[str, str] = field(default_factory=dict)


class SecretBook:
    """Secrets in memory, refreshed at every publish."""

    def __init__(self) -> None:
        self._opened = Opened()
        self.redactor = Redactor(())

    def get(self, credential: Credential) -> Secret | None:
        return self.by_id(credential.id)

    def by_id(self, credential_id: str) -> Secret | None:
        return self._opened.secrets.get(credential_id)

    def __contains__(self, credential_id: object) -> bool:
        return credential_id in self._opened.secrets

    def __repr__(self) -> str:
        return f"SecretBook({len(self._opened.secrets)} secrets)"

    @property
    def missing(self) -> Mapping[str, str]:
        """Why a credential that needs a secret has none, by credential id."""
        return self._opened.missing

    @property
    def versions(self) -> Mapping[str, int]:
        """Which value each credential's secret has; no two values of any share a number."""
        return self._opened.versions

    @property
    def outside(self) -> Mapping[str, str]:
        return self._opened.outside

    def swap(self, opened: Opened) -> None:
        """Text from outside is cleaned of the secrets now held and of those just replaced, which
        answers still under way may quote."""
        held, replaced = set(opened.secrets.values()), set(self._opened.secrets.values())
        if held != replaced:
            self.redactor = Redactor(held | replaced)
        self._opened = opened


def open_all(document: Document, sealer: Sealer, references: References, now: datetime) -> Opened:
    """Open what the document's accounts name. Outside secrets that changed are noted in rows.

    Runs inside the publishing transaction. A secret that cannot be had is missing, not an error.
    """
    rows = {row.reference: row for row in SecretRow.objects.all()}
    found: dict[str, Secret | str] = {}
    secrets: dict[str, Secret] = {}
    versions: dict[str, int] = {}
    missing: dict[str, str] = {}
    for account in document.accounts:
        row = rows.get(account.secret_reference_id or "")
        if row is None:
            continue
        if row.reference not in found:
            found[row.reference] = _value_of(row, sealer, references, now)
        value = found[row.reference]
        versions[account.id] = row.secret_version
        if isinstance(value, Secret):
            secrets[account.id] = value
        else:
            missing[account.id] = value
    outside = {
        reference: fingerprint_of(value) if isinstance(value, Secret) else ""
        for reference, value in found.items()
        if is_reference(reference)
    }
    return Opened(secrets, versions, missing, outside)


def settled(references: References) -> Callable[[str], bool]:
    """Tells of a reference whether there is a secret behind it now; asks the rows once."""
    stored = set(SecretRow.objects.exclude(ciphertext="").values_list("reference", flat=True))

    def is_set(reference: str) -> bool:
        if is_reference(reference):
            return references.resolve(reference).secret is not None
        return reference in stored

    return is_set


def look_outside(references: References, known: Iterable[str]) -> dict[str, str]:
    """The fingerprints behind these outside references now, empty where there is no secret."""
    resolved = {reference: references.resolve(reference).secret for reference in known}
    return {
        reference: fingerprint_of(secret) if secret is not None else ""
        for reference, secret in resolved.items()
    }


def _value_of(
    row: SecretRow, sealer: Sealer, references: References, now: datetime
) -> Secret | str:
    """The secret, or why there is none."""
    if row.kind != SecretKind.STORED:
        return _outside(row, references, now)
    if not row.ciphertext:
        return NOT_GIVEN
    try:
        return sealer.open(row.ciphertext)
    except CannotOpen as problem:
        log.error("secret %s: %s", row.reference, problem)
        return str(problem)


def _outside(row: SecretRow, references: References, now: datetime) -> Secret | str:
    try:
        resolved = references.resolve(row.reference)
    except ValueError as problem:
        return str(problem)
    if resolved.secret is None:
        return resolved.reason or "the reference is unset"
    note_value(row, resolved.secret, now)
    return resolved.secret


def note_value(row: SecretRow, secret: Secret, now: datetime) -> bool:
    """Number a new value of the row's secret; False when it is the one it had."""
    mark = fingerprint_of(secret)
    if row.fingerprint == mark:
        return False
    row.fingerprint = mark
    # Numbered across all secrets, so that a credential whose reference moves to another secret
    # is seen to have another one, too.
    latest = SecretRow.objects.aggregate(latest=Max("secret_version"))["latest"]
    row.secret_version = (latest or 0) + 1
    row.version += 1
    row.changed_at = row.updated_at = now
    row.save()
    return True


def fingerprint_of(secret: Secret) -> str:
    return fingerprint(secret, settings.SECRET_KEY)
