"""Secrets are written, never read back: given with a credential, replaced, re-encrypted."""

from __future__ import annotations

import re
from typing import Any, cast

from django.db.models import Q

from routeradmin.adapters.references import MAX_SECRET_BYTES, is_reference
from routeradmin.adapters.sealing import Secret
from routeradmin.alerting.models import Webhook
from routeradmin.catalog.document import Account
from routeradmin.catalog.models import Secret as SecretRow
from routeradmin.catalog.models import SecretKind
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.catalog.rows.writing import secret_ids
from routeradmin.journal.models import Event
from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor, Commit, Draft, Reported, audit, commit
from routeradmin.services.changes.nouns import find
from routeradmin.services.secrets import fingerprint_of, note_value

MASKS = frozenset("*•·.xX")  # what consoles show in place of a secret
PARTLY_MASKED = re.compile(r"\*{3}|\.{3}|[xX]{8}")  # or of its middle


def taken_from(body: dict[str, Any]) -> Secret | None:
    """The ``secret`` of a request's body, taken out of it so that nothing else sees it.

    Raises Invalid for a mask, an empty or an unusable text; the message never holds it.
    """
    if "secret" not in body:
        return None
    return usable(body.pop("secret"))


def usable(value: object) -> Secret:
    """Raises Invalid."""
    if not isinstance(value, str) or not value.strip():
        raise _refused("must be a text that is not empty")
    if set(value) <= MASKS or PARTLY_MASKED.search(value):
        raise _refused("is a mask: enter the secret itself, or leave it out to keep it")
    if not value.isprintable() or not value.isascii() or " " in value:
        raise _refused("must be printable ASCII without spaces, as a header carries it")
    if len(value) > MAX_SECRET_BYTES:
        raise _refused(f"must be at most {MAX_SECRET_BYTES} characters long")
    return Secret(value)


def _refused(detail: str) -> Invalid:
    return Invalid([Problem("/secret", detail)])


def keep_new(draft: Draft, credential_id: str, secret: Secret) -> None:
    """Store a new credential's secret under the name that the credential gives.

    Raises Invalid when another credential's secret is stored there: it would be overwritten.
    """
    account = _account(draft.after, credential_id)
    reference = account.secret_reference_id
    if reference and any(one.secret_reference_id == reference for one in draft.before.accounts):
        raise _refused(
            f"would replace the one that another credential has under the name {reference}: leave "
            "it out to share that one, or choose another secret_reference_id"
        )
    _keep(draft, account, secret)


def replace_secret(credential_id: str, value: object, by: Actor, reason: str = "") -> Commit:
    """Store another secret for the credential: every process uses it for its next call.

    The same secret again changes nothing. Raises Invalid, NotFound.
    """
    secret = usable(value)

    def edit(draft: Draft) -> None:
        _keep(draft, _account(draft.before, credential_id), secret)

    return commit(edit, by, reason)


def _account(document: Any, credential_id: str) -> Account:
    return cast(Account, find(document, "credentials", credential_id))


def _keep(draft: Draft, account: Account, secret: Secret) -> None:
    reference = account.secret_reference_id
    if reference is None:
        raise _refused("an anonymous credential has none: choose another auth_kind first")
    if is_reference(reference):
        raise _refused(f"is kept outside, at {reference}: change it there, or name a stored one")
    store(draft, account.id, reference, secret)


def store(draft: Draft, credential_id: str, reference: str, secret: Secret) -> None:
    """Seal the secret under its name and report it; the same one again changes nothing."""
    secret_ids({reference}, draft.now)
    row = SecretRow.objects.get(reference=reference)
    before = row.fingerprint or None
    if row.ciphertext and row.fingerprint == fingerprint_of(secret):
        return
    row.ciphertext = draft.runtime.sealer.seal(secret)
    note_value(row, secret, draft.now)
    draft.touched_secrets = True
    draft.secrets[reference] = "replaced" if before else "added"
    draft.reports.append(
        Reported(
            "replace-secret", "credentials", credential_id, {"secret": [before, row.fingerprint]}
        )
    )
    draft.events.append(
        Event(
            kind="secret-replaced",
            at=draft.now,
            credential=credential_id,
            facts={"fingerprint": row.fingerprint},
        )
    )


def rotate_sealing(by: Actor) -> int:
    """Seal every stored secret with the newest encryption key; how many were not already.

    The secrets stay the same, so nothing is published. Raises CannotOpen; nothing is changed then.
    """
    runtime = runtimes.get()
    now = publishing.moment(runtime)
    count = 0
    with publishing.writing():
        for row in SecretRow.objects.filter(~Q(ciphertext=""), kind=SecretKind.STORED):
            if not runtime.sealer.is_newest(row.ciphertext):
                row.ciphertext = runtime.sealer.rotate(row.ciphertext)
                row.save(update_fields=["ciphertext"])
                count += 1
        for webhook in Webhook.objects.all():
            if not runtime.sealer.is_newest(webhook.ciphertext):
                webhook.ciphertext = runtime.sealer.rotate(webhook.ciphertext)
                webhook.save(update_fields=["ciphertext"])
                count += 1
        if count:
            report = Reported("rotate-encryption-key", "secrets", "", {"secrets": [None, count]})
            audit([report], by, now, "")
    return count
