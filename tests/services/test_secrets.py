"""Secrets: sealed in rows, open in one place, replaced at once, never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from routeradmin.adapters.references import References
from routeradmin.adapters.sealing import CannotOpen, Sealer
from routeradmin.catalog.models import Credential, Revision
from routeradmin.catalog.models import Secret as SecretRow
from routeradmin.journal.models import AuditEntry, Event
from routeradmin.services import changes, publishing
from routeradmin.services.changes import Actor, Invalid
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.conftest import FERNET_KEY

ADA = Actor("user:ada")
FIRST, SECOND = "sk-first-0123456789", "sk-second-0123456789"


def given(runtime: Runtime, **fields: Any) -> None:
    """A catalog whose one credential has its secret stored."""
    catalog = make.catalog(accounts=[make.account(**fields)])
    changes.replace_document(make.document(catalog), ADA)


def revealed(runtime: Runtime, credential: str = "acme-key") -> str | None:
    deployment = runtime.current.snapshot.deployments["acme-large"]
    secret = runtime.secrets.get(deployment.credentials[0])
    return secret.reveal() if secret is not None else None


def test_a_replaced_secret_is_in_use_at_once(runtime: Runtime) -> None:
    given(runtime)
    assert revealed(runtime) is None
    assert "no secret" in runtime.secrets.missing["acme-key"]
    assert runtime.current.snapshot.missing_secrets == {"acme-key"}
    changes.replace_secret("acme-key", FIRST, ADA)
    changes.replace_secret("acme-key", SECOND, ADA)
    assert revealed(runtime) == SECOND
    assert runtime.current.snapshot.missing_secrets == frozenset()


def test_a_replaced_secret_is_counted_so_that_cooldowns_of_the_old_one_end(
    runtime: Runtime,
) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    changes.replace_secret("acme-key", SECOND, ADA)
    credential = runtime.current.snapshot.deployments["acme-large"].credentials[0]
    assert credential.secret_version == 2
    assert Revision.objects.count() == 3


def test_the_same_secret_again_changes_nothing(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    sealed = SecretRow.objects.get().ciphertext
    assert changes.replace_secret("acme-key", FIRST, ADA).changed is False
    assert SecretRow.objects.get().ciphertext == sealed


def test_an_edit_of_another_field_keeps_the_stored_secret(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    sealed = SecretRow.objects.get().ciphertext
    version = Credential.objects.get().version
    changes.update("credentials", "acme-key", {"name": "Key"}, ADA, if_match=version)
    assert SecretRow.objects.get().ciphertext == sealed
    assert revealed(runtime) == FIRST


@pytest.mark.parametrize("mask", ["***", "••••••••", "sk-\n", "", "   ", 7, None])
def test_a_mask_or_an_unusable_text_never_becomes_the_secret(
    runtime: Runtime, mask: object
) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    with pytest.raises(Invalid) as refused:
        changes.replace_secret("acme-key", mask, ADA)
    assert [one.pointer for one in refused.value.problems] == ["/secret"]
    assert revealed(runtime) == FIRST


def test_an_update_that_carries_a_secret_is_refused_as_an_unknown_field(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    with pytest.raises(Invalid) as refused:
        changes.update("credentials", "acme-key", {"secret": "***"}, ADA, if_match="*")
    assert [one.pointer for one in refused.value.problems] == ["/secret"]
    assert revealed(runtime) == FIRST


def test_rows_hold_ciphertext_and_audit_holds_fingerprints(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA, "rotation")
    row = SecretRow.objects.get()
    assert FIRST not in row.ciphertext
    assert len(row.fingerprint) == 12
    entry = AuditEntry.objects.get(action="replace-secret")
    assert entry.changes == {"secret": [None, row.fingerprint]}


def test_a_credential_is_created_with_its_secret(runtime: Runtime) -> None:
    given(runtime)
    body = {
        "id": "new",
        "provider_id": "acme",
        "auth_kind": "bearer",
        "billing_kind": "metered",
        "secret": SECOND,
    }
    saved = changes.create("credentials", body, ADA)
    assert saved.values["secret_reference_id"] == "new"
    assert "secret" not in saved.values
    assert "new" in runtime.secrets


def test_encryption_keys_rotate_without_changing_a_secret(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    old = SecretRow.objects.get()
    fresh = Fernet.generate_key().decode()
    runtime.sealer = Sealer([fresh, FERNET_KEY])
    assert changes.rotate_sealing(ADA) == 1
    assert changes.rotate_sealing(ADA) == 0
    row = SecretRow.objects.get()
    assert row.ciphertext != old.ciphertext
    assert (row.secret_version, row.fingerprint) == (old.secret_version, old.fingerprint)
    runtime.sealer = Sealer([fresh])
    publishing.load(runtime)
    assert revealed(runtime) == FIRST


def test_a_rotation_that_cannot_open_everything_changes_nothing(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    sealed = SecretRow.objects.get().ciphertext
    runtime.sealer = Sealer([Fernet.generate_key().decode()])
    with pytest.raises(CannotOpen):
        changes.rotate_sealing(ADA)
    assert SecretRow.objects.get().ciphertext == sealed


def test_a_secret_that_cannot_be_opened_is_missing_and_the_rest_serves(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    runtime.sealer = Sealer([Fernet.generate_key().decode()])
    publishing.load(runtime)
    assert revealed(runtime) is None
    assert "ROUTERADMIN_ENCRYPTION_KEYS" in runtime.secrets.missing["acme-key"]


def test_an_outside_secret_is_read_and_its_change_is_noticed(
    runtime: Runtime, tmp_path: Path
) -> None:
    environment = {"ACME_KEY": FIRST}
    runtime.references = References(environment)
    given(runtime, secret_reference_id="env:ACME_KEY")
    assert revealed(runtime) == FIRST
    assert not publishing.outside_secrets_changed(runtime)
    environment["ACME_KEY"] = SECOND
    assert publishing.outside_secrets_changed(runtime)
    publishing.refresh_secrets(runtime)
    assert revealed(runtime) == SECOND
    assert runtime.current.snapshot.deployments["acme-large"].credentials[0].secret_version == 2
    assert runtime.current.revision == 1
    (event,) = Event.objects.filter(kind="secret-replaced")
    assert (event.credential, event.set_by) == ("acme-key", "reference")
    environment.clear()
    publishing.refresh_secrets(runtime)
    assert revealed(runtime) is None


def test_a_secret_kept_outside_is_not_replaced_here(runtime: Runtime) -> None:
    runtime.references = References({"ACME_KEY": FIRST})
    given(runtime, secret_reference_id="env:ACME_KEY")
    with pytest.raises(Invalid, match="ACME_KEY"):
        changes.replace_secret("acme-key", SECOND, ADA)


def test_text_from_outside_loses_the_secrets_of_today_and_yesterday(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    changes.replace_secret("acme-key", SECOND, ADA)
    text = runtime.redact(f"bad keys {FIRST} and {SECOND}")
    assert "0123456" not in text


def test_a_secret_nobody_names_any_more_is_noted_and_found_again_by_a_rollback(
    runtime: Runtime,
) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    changes.delete("credentials", "acme-key", ADA, if_match="*", cascade=True)
    assert SecretRow.objects.get().unused_since is not None
    changes.rollback(2, ADA)
    assert SecretRow.objects.get().unused_since is None
    assert revealed(runtime) == FIRST


def test_a_new_credential_does_not_overwrite_the_secret_of_another(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    body = make.account("other", secret_reference_id="acme-key-secret", secret=SECOND)
    with pytest.raises(Invalid, match="acme-key-secret"):
        changes.create("credentials", body, ADA)
    assert revealed(runtime) == FIRST


def test_a_reference_that_moves_to_another_secret_counts_as_a_new_one(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_secret("acme-key", FIRST, ADA)
    changes.create("credentials", make.account("other", secret=SECOND), ADA)
    patch = {"secret_reference_id": "other-secret"}
    changes.update("credentials", "acme-key", patch, ADA, if_match="*")
    assert revealed(runtime) == SECOND
    assert runtime.current.snapshot.deployments["acme-large"].credentials[0].secret_version == 2
