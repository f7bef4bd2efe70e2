"""People and their roles; a user's name is the id."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field
from pydantic.config import JsonDict

from routeradmin.access.models import User
from routeradmin.api import etags, listing
from routeradmin.api.access import actor, administering, reason
from routeradmin.api.answers import answer, location, nothing
from routeradmin.api.bodies import Page
from routeradmin.api.nouns import flat_fields
from routeradmin.catalog.table import Table
from routeradmin.services import changes

router = Router(tags=["users"])

WRITE_ONLY: JsonDict = {"format": "password", "writeOnly": True}


class UserFields(Table):
    """``role``: viewer, operator or admin."""

    role: str = "viewer"
    is_active: bool = True


class UserBody(UserFields):
    username: str = Field(max_length=150)
    password: str = Field(max_length=1024, json_schema_extra=WRITE_ONLY)


class UserPatch(UserFields):
    """Only the named fields change; a new password ends the user's sessions."""

    username: str = ""
    password: str = Field("", max_length=1024, json_schema_extra=WRITE_ONLY)


class UserView(UserFields):
    id: str
    username: str


FIELDS = flat_fields(UserView)


def found(id: str) -> User:
    """Raises NotFound."""
    row = User.objects.filter(username=id).first()
    if row is None:
        raise changes.NotFound("users", id)
    return row


def show(request: HttpRequest, row: User, status: int = 200) -> HttpResponse:
    headers = {"Location": location("users", row.username)} if status == 201 else None
    return answer(request, changes.user_values(row), status=status, etag=row.etag, headers=headers)


def based_on(request: HttpRequest, id: str) -> int | str:
    """Raises Problem 428 and 412, NotFound."""
    row = found(id)
    return etags.based_on(request, row.etag, row.version)


@router.get(
    "",
    response=Page[UserView],
    auth=administering,
    summary="List users",
    openapi_extra={"parameters": listing.documented(FIELDS)},
)
def list_users(request: HttpRequest) -> HttpResponse:
    rows = map(changes.user_values, User.objects.all())
    return answer(request, listing.of_request(request, rows, FIELDS))


@router.post("", response={201: UserView}, auth=administering, summary="Create a user")
def create_user(request: HttpRequest, body: UserBody) -> HttpResponse:
    values = body.model_dump(exclude_unset=True)
    row = changes.create_user(values, actor(request), reason(request))
    return show(request, row, status=201)


@router.get("/{path:id}", response=UserView, auth=administering, summary="Get a user")
def get_user(request: HttpRequest, id: str) -> HttpResponse:
    return show(request, found(id))


def _change(request: HttpRequest, id: str, values: dict[str, Any]) -> HttpResponse:
    version = based_on(request, id)
    row = changes.update_user(id, values, actor(request), if_match=version, reason=reason(request))
    return show(request, row)


@router.put("/{path:id}", response=UserView, auth=administering, summary="Replace a user")
def replace_user(request: HttpRequest, id: str, body: UserPatch) -> HttpResponse:
    """A password that is not named stays."""
    kept = {name for name in ("username", "password") if name not in body.model_fields_set}
    return _change(request, id, body.model_dump(exclude=kept))


@router.patch("/{path:id}", response=UserView, auth=administering, summary="Update a user")
def update_user(request: HttpRequest, id: str, body: UserPatch) -> HttpResponse:
    return _change(request, id, body.model_dump(exclude_unset=True))


@router.delete("/{path:id}", response={204: None}, auth=administering, summary="Delete a user")
def delete_user(request: HttpRequest, id: str) -> HttpResponse:
    """The last active admin stays."""
    version = based_on(request, id)
    changes.delete_user(id, actor(request), if_match=version, reason=reason(request))
    return nothing()
