"""People and the first of them."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.access.models import ApiKey, Role, User
from routeradmin.journal.models import AuditEntry
from routeradmin.services import bootstrap, changes
from routeradmin.services.changes import Actor, Invalid
from routeradmin.services.runtime import Runtime
from tests.factories import PASSWORD

ADA = Actor("user:ada")


def test_a_user_is_created_with_a_role_and_audited_without_the_password(runtime: Runtime) -> None:
    user = changes.create_user({"username": "bob", "password": PASSWORD, "role": "operator"}, ADA)
    assert user.check_password(PASSWORD)
    assert (user.may_operate, user.may_configure) == (True, False)
    assert PASSWORD not in str(list(AuditEntry.objects.values()))


def test_a_name_that_differs_in_case_alone_is_taken(runtime: Runtime, admin: User) -> None:
    with pytest.raises(changes.AlreadyExists):
        changes.create_user({"username": "ADA", "password": PASSWORD}, ADA)


@pytest.mark.parametrize(
    "patch",
    [{"role": "viewer"}, {"is_active": False}],
    ids=["demoted", "switched off"],
)
def test_the_last_admin_stays(runtime: Runtime, admin: User, patch: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        changes.update_user("ada", patch, ADA, if_match=1)
    with pytest.raises(Invalid):
        changes.delete_user("ada", ADA, if_match=1)
    stored = User.objects.get(username="ada")
    assert (stored.role, stored.is_active, stored.version) == (Role.ADMIN, True, 1)


def test_a_new_password_is_checked_and_replaces_the_old(runtime: Runtime, admin: User) -> None:
    with pytest.raises(Invalid) as refused:
        changes.update_user("ada", {"password": "123"}, ADA, if_match=1)
    assert {one.pointer for one in refused.value.problems} == {"/password"}
    changes.update_user("ada", {"password": PASSWORD + "!"}, ADA, if_match=1)
    assert User.objects.get().check_password(PASSWORD + "!")


def test_the_first_admin_is_made_once(runtime: Runtime) -> None:
    made = bootstrap.first_admin()
    assert made is not None
    user = User.objects.get()
    assert user.check_password(made[1])
    assert user.role == Role.ADMIN
    assert bootstrap.first_admin() is None
    assert User.objects.count() == 1


def test_the_environment_names_the_first_admin_and_key_and_repeating_it_changes_nothing(
    runtime: Runtime, settings: Any
) -> None:
    settings.BOOTSTRAP_ADMIN = ("root", "a:password")
    settings.BOOTSTRAP_KEY = "bootstrap-key-0123456789"
    assert bootstrap.first_admin() is None
    changes.create_user({"username": "bob", "password": PASSWORD, "role": "admin"}, ADA)
    changes.update_user("root", {"role": "viewer"}, ADA, if_match=1)
    bootstrap.from_environment()
    root = User.objects.get(username="root")
    assert root.check_password("a:password")
    assert root.role == Role.VIEWER
    assert ApiKey.objects.count() == 1
    key = runtime.keys.find("bootstrap-key-0123456789", runtime.clock())
    assert key is not None
    assert "admin" in key.scopes
