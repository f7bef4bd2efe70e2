"""The catalog as a file: read whole, imported whole."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from routeradmin.api import etags
from routeradmin.api.access import actor, reading, reason, writing
from routeradmin.api.answers import answer
from routeradmin.api.faults import too_large
from routeradmin.api.parsing import CATALOG_LIMIT
from routeradmin.api.problems import Problem
from routeradmin.catalog import files
from routeradmin.catalog.diff import Diff
from routeradmin.catalog.problems import Problem as Finding
from routeradmin.services import changes, runtime

router = Router(tags=["catalog"])

# What clients send when nobody told them: curl's default is the last.
UNSAID = ("", "application/octet-stream", "text/plain", "application/x-www-form-urlencoded")
YAML = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")
MEDIA_TYPES = {
    "application/json": "json",
    **dict.fromkeys(("application/toml", "text/toml", "text/x-toml"), "toml"),
    **dict.fromkeys((*YAML, *UNSAID), "auto"),
}
WRITTEN_AS = {"json": "application/json", "toml": "application/toml"}
BINARY = {"type": "string", "format": "binary"}
FILE = {media_type: {"schema": BINARY} for media_type in WRITTEN_AS.values()}
GIVEN = {**FILE, "application/yaml": {"schema": BINARY}}
FileFormat = Literal["auto", "toml", "json", "litellm", "litellm-rs", "switchailocal"]


class Entry(BaseModel):
    kind: str
    id: str


class ChangedEntry(Entry):
    """``fields`` maps a field, dotted for nested tables, to ``before`` and ``after``."""

    fields: dict[str, Any]


class CatalogDiff(BaseModel):
    """What differs, as data and, in ``text``, to read."""

    added: list[Entry]
    removed: list[Entry]
    changed: list[ChangedEntry]
    text: str


class Warned(BaseModel):
    pointer: str
    detail: str


class Warnings(BaseModel):
    items: list[Warned]


class CatalogChange(BaseModel):
    """What a change of the whole catalog did, or with ``dry_run`` would do.

    ``secrets`` maps a stored secret that the change brought to ``added`` or ``replaced``.
    """

    revision: int
    changed: bool
    dry_run: bool
    diff: CatalogDiff
    warnings: list[Warned]
    secrets: dict[str, str]


class CatalogImport(CatalogChange):
    """``source``: ``catalog``, or the program whose file it was. ``unmapped`` has no counterpart
    here, ``notes`` were inferred or look wrong; both point into the file."""

    source: str
    unmapped: list[Warned]
    notes: list[Warned]


def diff_item(found: Diff) -> dict[str, Any]:
    return found.as_json() | {"text": found.as_text()}


def change_item(done: changes.Imported, *, dry_run: bool = False) -> dict[str, Any]:
    return {
        "revision": done.revision,
        "changed": done.changed,
        "dry_run": dry_run,
        "diff": diff_item(done.diff),
        "warnings": [warning_item(warning) for warning in done.warnings],
        "secrets": dict(done.secrets),
    }


def import_item(file: changes.FileImport, *, dry_run: bool) -> dict[str, Any]:
    return change_item(file.imported, dry_run=dry_run) | {
        "source": file.source,
        "unmapped": [one.as_json() for one in file.unmapped],
        "notes": [one.as_json() for one in file.notes],
    }


@router.get(
    "/warnings", response=Warnings, auth=reading, summary="List what is worth a look in the catalog"
)
def list_warnings(request: HttpRequest) -> HttpResponse:
    """Allowed, and probably not meant: routes that nobody could serve now, lists that lead back,
    credentials without a secret or without use. Each names its object."""
    return answer(
        request, {"items": [warning_item(warning) for warning in changes.standing_warnings()]}
    )


def warning_item(warning: Finding) -> dict[str, str]:
    return {"pointer": warning.pointer, "detail": warning.detail}


def tag_of(revision: int) -> str:
    return f'"{revision}"'


@router.get(
    "",
    auth=reading,
    summary="Get the catalog as a file",
    openapi_extra={"responses": {200: {"content": FILE}}},
)
def get_catalog(request: HttpRequest, format: Literal["toml", "json"] = "toml") -> HttpResponse:
    """Canonical; secrets as references only. The ETag is the revision."""
    current = runtime.get().current
    etag, document = tag_of(current.revision), current.document
    if etags.unchanged(request, etag):
        return HttpResponse(status=304, headers={"ETag": etag})
    return HttpResponse(
        files.write(document, format),
        content_type=WRITTEN_AS[format],
        headers={"ETag": etag, "Cache-Control": "private, no-cache"},
    )


@router.put(
    "",
    response=CatalogImport,
    auth=writing,
    summary="Import a catalog file",
    openapi_extra={"requestBody": {"required": True, "content": GIVEN}},
)
def put_catalog(
    request: HttpRequest,
    mode: Literal["merge", "replace"] = "merge",
    dry_run: bool = False,
    format: FileFormat = "auto",
) -> HttpResponse:
    """All or nothing; answers with the diff. A dry run changes nothing and needs no If-Match.

    Takes both catalog formats as TOML or JSON, and the configuration files of LiteLLM's proxy,
    litellm-rs and switchAILocal; ``auto`` tells them apart by content type and content.
    """
    data, told = body_of(request), format_of(request)
    revision = runtime.get().current.revision
    check = etags.check_match if dry_run else etags.require_match
    check(request, tag_of(revision))
    file = changes.import_file(
        data,
        actor(request),
        format=told if format == "auto" else format,
        mode=mode,
        dry_run=dry_run,
        if_match=changes.ANY if dry_run or etags.matches_any(request) else revision,
        reason=reason(request),
    )
    return answer(request, import_item(file, dry_run=dry_run), etag=tag_of(file.imported.revision))


def body_of(request: HttpRequest) -> bytes:
    body: bytes = request.body
    if len(body) > CATALOG_LIMIT:
        raise too_large(CATALOG_LIMIT)
    return body


def format_of(request: HttpRequest) -> str:
    """By content type; what does not settle it is told by the content. Raises Problem 415."""
    media_type = (request.content_type or "").strip().lower()
    if media_type not in MEDIA_TYPES:
        raise Problem(
            415,
            "unsupported_media_type",
            "Send a catalog as application/toml or application/json, another program's file as "
            "application/yaml.",
        )
    return MEDIA_TYPES[media_type]
