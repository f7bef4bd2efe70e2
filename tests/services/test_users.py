"""People and the first of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.forms import AuthenticationForm

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


@pytest.mark.parametrize("name", ["Ａｄａ", "ＡＤＡ", "ﬁona", "ÉVE", "éve"])
def test_a_name_that_is_another_spelling_of_one_that_is_there_is_taken(
    runtime: Runtime, admin: User, name: str
) -> None:
    changes.create_user({"username": "fiona", "password": PASSWORD}, ADA)
    changes.create_user({"username": "Éve", "password": PASSWORD}, ADA)
    with pytest.raises(changes.AlreadyExists):
        changes.create_user({"username": name, "password": PASSWORD}, ADA)


def test_whoever_is_created_can_sign_in_under_the_name_that_was_typed(
    runtime: Runtime, admin: User
) -> None:
    made = changes.create_user({"username": "Ｎｉａ", "password": PASSWORD}, ADA)
    assert made.username == "Nia"
    form = AuthenticationForm(None, {"username": "Ｎｉａ", "password": PASSWORD})
    assert form.is_valid()
    same = changes.update_user("Nia", {"username": "Ｎｉａ", "role": "operator"}, ADA, if_match=1)
    assert same.role == "operator"
    with pytest.raises(Invalid):
        changes.update_user("Nia", {"username": "Ｂｏｂ"}, ADA, if_match="*")


def test_a_name_is_measured_as_it_is_stored(runtime: Runtime) -> None:
    with pytest.raises(Invalid) as refused:
        changes.create_user({"username": "ﬃ" * 60, "password": PASSWORD}, ADA)
    assert {one.pointer for one in refused.value.problems} == {"/username"}


@pytest.mark.parametrize("password", ["administrator1", "Administrator12", "xadministrator"])
def test_a_password_that_is_nearly_the_name_is_refused(runtime: Runtime, password: str) -> None:
    fields = {"username": "administrator1", "password": password}
    with pytest.raises(Invalid, match="too similar to the username"):
        changes.create_user(fields, ADA)
    changes.create_user(fields | {"password": PASSWORD, "role": "admin"}, ADA)
    with pytest.raises(Invalid, match="too similar to the username"):
        changes.update_user("administrator1", {"password": password}, ADA, if_match="*")


def test_a_password_that_is_nearly_the_address_is_refused(runtime: Runtime, admin: User) -> None:
    admin.email = "lovelace@example.org"
    admin.save()
    with pytest.raises(Invalid, match="too similar to the email"):
        changes.update_user("ada", {"password": "lovelace@example"}, ADA, if_match="*")


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


def test_a_weak_password_of_the_environment_starts_and_is_warned_of_once(
    runtime: Runtime, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.BOOTSTRAP_ADMIN = ("ｒｏｏｔ－ｕｓｅｒ", "root-user1")
    settings.BOOTSTRAP_KEY = ""
    for _ in range(2):  # the second start finds the one that the first one made
        bootstrap.from_environment()
    assert User.objects.get().username == "root-user"
    (warned,) = [one.getMessage() for one in caplog.records if "BOOTSTRAP_ADMIN" in one.message]
    assert "too similar to the username" in warned
    assert "root-user1" not in warned


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
