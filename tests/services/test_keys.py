"""API keys: shown once, found in memory, out at once when revoked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest
from django.db import connection

from routeradmin.access.models import ApiKey
from routeradmin.journal.models import AuditEntry
from routeradmin.services import changes, keys
from routeradmin.services.changes import Actor, Invalid
from routeradmin.services.runtime import Runtime
from tests.conftest import START, FakeClock

ADA = Actor("user:ada")


def created(**fields: Any) -> tuple[ApiKey, str]:
    return changes.create_key({"name": "ci", "scopes": ["select", "read"], **fields}, ADA)


def test_a_key_opens_what_its_scopes_say(runtime: Runtime, clock: FakeClock) -> None:
    _, token = created(routes=["chat"])
    key = runtime.keys.find(token, clock())
    assert key is not None
    assert key.scopes == {"select", "read"}
    assert key.may_use("chat")
    assert not key.may_use("other")
    assert runtime.keys.find(token + "x", clock()) is None


def test_only_a_hash_and_a_short_prefix_are_kept(runtime: Runtime) -> None:
    row, token = created()
    stored = ApiKey.objects.values().get()
    assert token not in str(stored)
    assert len(row.prefix) < 8
    assert token not in str(list(AuditEntry.objects.values()))
    assert token not in str(changes.key_values(row))


def test_a_revoked_key_opens_nothing_at_once(runtime: Runtime, clock: FakeClock) -> None:
    row, token = created()
    changes.revoke_key(row.uid, ADA)
    assert runtime.keys.find(token, clock()) is None
    assert ApiKey.objects.get().revoked_at is not None


def test_an_expired_key_opens_nothing(runtime: Runtime, clock: FakeClock) -> None:
    _, token = created(expires_at=datetime.fromtimestamp(START + 60, UTC))
    assert runtime.keys.find(token, clock()) is not None
    clock.advance(60)
    assert runtime.keys.find(token, clock()) is None


def test_no_database_is_asked_for_a_key(
    runtime: Runtime, clock: FakeClock, django_assert_num_queries: Any
) -> None:
    _, token = created()
    with django_assert_num_queries(0):
        assert runtime.keys.find(token, clock()) is not None


def test_use_is_written_down_later_and_never_moves_back(runtime: Runtime, clock: FakeClock) -> None:
    _, token = created()
    clock.advance(10)
    runtime.keys.find(token, clock())
    keys.write_used(runtime.keys)
    used = ApiKey.objects.get().last_used_at
    assert used == datetime.fromtimestamp(START + 10, UTC)
    runtime.keys.find(token, START)
    keys.write_used(runtime.keys)
    assert ApiKey.objects.get().last_used_at == used


def test_an_edit_on_an_old_version_is_refused(runtime: Runtime) -> None:
    row, _ = created()
    assert changes.update_key(row.uid, {"rpm_limit": 5}, ADA, if_match=1).version == 2
    with pytest.raises(changes.Stale):
        changes.update_key(row.uid, {"rpm_limit": 6}, ADA, if_match=1)
    assert changes.update_key(row.uid, {"rpm_limit": 5}, ADA, if_match=2).version == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("scopes", []),
        ("scopes", ["everything"]),
        ("scopes", [["read"]]),
        ("routes", "chat"),
        ("rpm_limit", -1),
        ("rpm_limit", True),
        ("expires_at", "tomorrow"),
        ("colour", "red"),
    ],
)
def test_a_wrong_field_is_named(runtime: Runtime, field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        created(**{field: value})
    assert {one.pointer for one in refused.value.problems} == {f"/{field}"}
    assert not ApiKey.objects.exists()


def test_an_unknown_key_is_not_found(runtime: Runtime) -> None:
    with pytest.raises(changes.NotFound):
        changes.delete_key("key_0", ADA, if_match="*")


def test_a_load_that_began_before_a_revocation_does_not_undo_it(
    transactional_db: None, bare_runtime: Runtime, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, token = created()
    is_reading, is_loaded = Event(), Event()
    read = keys.key_of

    def slowly(found: ApiKey) -> keys.Key:
        is_reading.set()
        is_loaded.wait(0.2)  # the other load goes first, where it can
        return read(found)

    def reload() -> None:
        try:
            ring.load()
        finally:
            connection.close()

    ring = keys.KeyRing()
    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(keys, "key_of", slowly)
        earlier = pool.submit(reload)
        assert is_reading.wait(10)
        ApiKey.objects.filter(pk=row.pk).update(revoked_at=datetime.now(UTC))
        ring.load()
        is_loaded.set()
        earlier.result()
    assert ring.find(token, clock()) is None
