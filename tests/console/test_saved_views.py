"""Saved views: a person's names for what a page's address asks for."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from routeradmin.access.models import SavedView, User
from routeradmin.services.runtime import Runtime
from tests.console.conftest import signed_in


def save(browser: Client, name: str, query: str, page: str = "live", **more: str) -> str:
    answer = browser.post("/views/save", {"page": page, "name": name, "query": query, **more})
    return str(answer.headers.get("Location", answer.status_code))


def test_a_view_keeps_filters_order_and_groups_and_not_where_one_was(
    catalog: Runtime, as_viewer: Client
) -> None:
    there = save(as_viewer, "Trouble", "state=cooling&sort=active&group=provider&q=&panel=a/b")
    assert there == "/?state=cooling&sort=active&group=provider"
    page = as_viewer.get(there).content.decode()
    assert (
        '<a href="/?state=cooling&amp;sort=active&amp;group=provider" aria-current="true">Trouble'
    ) in page
    assert 'aria-current="true">Trouble' not in as_viewer.get("/?state=healthy").content.decode()


def test_the_bare_address_opens_the_default_view_and_show_all_shows_all(
    catalog: Runtime, as_viewer: Client
) -> None:
    save(as_viewer, "Mine", "state=cooling", is_default="1")
    assert as_viewer.get("/")["Location"] == "/?state=cooling"
    assert as_viewer.get("/?all").status_code == 200
    assert as_viewer.get("/?state=healthy").status_code == 200
    assert 'href="/?all">Show all' in as_viewer.get("/?state=healthy").content.decode()
    save(as_viewer, "Other", "provider=acme", is_default="1")
    assert as_viewer.get("/")["Location"] == "/?provider=acme"
    assert SavedView.objects.filter(is_default=True).count() == 1


def test_a_snapshot_of_the_bare_address_is_no_redirect(catalog: Runtime, as_viewer: Client) -> None:
    save(as_viewer, "Mine", "state=cooling", is_default="1")
    assert as_viewer.get("/", headers={"HX-Request": "true"}).status_code == 200


@pytest.mark.parametrize("page", ["turns", "events"])
def test_the_lists_of_what_happened_have_views_too(
    catalog: Runtime, as_viewer: Client, page: str
) -> None:
    save(as_viewer, "Large", "deployment=acme-large&before=77", page, is_default="1")
    assert as_viewer.get(f"/{page}")["Location"] == f"/{page}?deployment=acme-large"
    assert (
        f'href="/{page}?all">Show all'
        in as_viewer.get(f"/{page}?deployment=acme-large").content.decode()
    )


def test_a_view_is_renamed_and_deleted_and_no_longer_the_start(
    catalog: Runtime, as_viewer: Client
) -> None:
    save(as_viewer, "Mine", "state=cooling", is_default="1")
    save(as_viewer, "Other", "state=healthy")
    view = SavedView.objects.get(name="Mine")
    as_viewer.post(f"/views/{view.pk}", {"do": "rename", "name": " Hot "})
    as_viewer.post(f"/views/{view.pk}", {"do": "no-start"})
    assert "Hot" in as_viewer.get("/views").content.decode()
    assert as_viewer.get("/").status_code == 200
    taken = as_viewer.post(f"/views/{view.pk}", {"do": "rename", "name": "Other"})
    assert taken.status_code == 422
    assert "There is a view “Other” already" in taken.content.decode()
    as_viewer.post(f"/views/{view.pk}", {"do": "delete"})
    assert [one.name for one in SavedView.objects.all()] == ["Other"]


def test_a_view_is_its_owner_s_alone(catalog: Runtime, as_viewer: Client, admin: User) -> None:
    save(as_viewer, "Mine", "state=cooling", is_default="1")
    other = signed_in(admin)
    assert other.get("/").status_code == 200
    assert "Mine" not in other.get("/views").content.decode()
    uid = SavedView.objects.get().pk
    assert other.post(f"/views/{uid}", {"do": "delete"}).status_code == 404
    assert SavedView.objects.count() == 1


def test_a_view_without_a_name_or_of_no_page_is_refused(
    catalog: Runtime, as_viewer: Client
) -> None:
    assert save(as_viewer, "", "state=cooling") == "422"
    assert save(as_viewer, "x", "state=cooling", page="users") == "422"
    assert SavedView.objects.count() == 0


def test_the_database_itself_keeps_one_default_a_page(viewer: User) -> None:
    first = {"user": viewer, "page": "live", "is_default": True}
    SavedView.objects.create(name="a", **first)
    with pytest.raises(IntegrityError), transaction.atomic():
        SavedView.objects.create(name="b", **first)
