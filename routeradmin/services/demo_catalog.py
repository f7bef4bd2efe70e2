"""The demo's part of the catalog: put into an empty one, pointed at the port in use, recognised.

Nothing here changes what an operator made: an endpoint counts as the demo's only for as long as
its id, its account and all of its base URL but the port are the fixture's.
"""

from __future__ import annotations

import secrets
from functools import cache
from urllib.parse import urlsplit

from django.conf import settings

from routeradmin.adapters.sealing import Secret
from routeradmin.catalog.document import KINDS, Document, Endpoint
from routeradmin.catalog.files import read
from routeradmin.engine.objects import Deployment
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services.changes import reports
from routeradmin.services.changes.commit import Actor, Draft, commit
from routeradmin.services.changes.stored_secrets import keep_new

HOST = "127.0.0.1"
BY = Actor("demo", "manage.py serve --demo")


@cache
def fixture() -> Document:
    return read((settings.BASE_DIR / "fixtures" / "demo.toml").read_bytes())


def is_empty(document: Document) -> bool:
    return not any(getattr(document, kind) for kind in KINDS)


def endpoints_in(document: Document) -> list[Endpoint]:
    """Those that still are the demo's."""
    known = {one.id: (one.account_id, _without_port(one.base_url)) for one in fixture().endpoints}
    return [
        one
        for one in document.endpoints
        if known.get(one.id) == (one.account_id, _without_port(one.base_url))
    ]


def port_in(document: Document) -> int:
    """The port that the demo had last time; the fixture's at first."""
    found = endpoints_in(document) or fixture().endpoints
    return urlsplit(found[0].base_url).port or 0


def put_in_place(port: int) -> bool:
    """The demo's catalog in force, with the providers at ``port``.

    An empty catalog gets all of it, with made-up secrets; in one that holds objects, only the
    ports of the demo's own endpoints change. False when there is nothing of the demo in it.
    Raises Invalid where the settings refuse loopback addresses.
    """
    found: list[Endpoint] = []

    def edit(draft: Draft) -> None:
        if is_empty(draft.before):
            draft.after = _at_port(fixture(), port)
            _keep_secrets(draft)
        else:
            draft.after = _at_port(draft.before, port)
        found.extend(endpoints_in(draft.after))
        if draft.after != draft.before:
            draft.reports.append(reports.of_documents("import", "demo", draft.before, draft.after))

    commit(edit, BY, "the demo")
    return bool(found)


def is_demo_deployment(deployment: Deployment, port: int) -> bool:
    """Whether a call to it reaches the simulated providers and nobody else."""
    url = urlsplit(deployment.endpoint.base_url)
    return deployment.endpoint.proxy is None and (url.hostname, url.port) == (HOST, port)


def playable(snapshot: Snapshot, port: int) -> frozenset[str]:
    """Routes whose every target is simulated: the only ones demo traffic may ask for."""
    return frozenset(
        route.id
        for route in snapshot.routes.values()
        if route.tiers
        and all(
            is_demo_deployment(candidate.deployment, port)
            for tier in route.tiers
            for candidate in tier.candidates
        )
    )


def _at_port(document: Document, port: int) -> Document:
    ours = {one.id for one in endpoints_in(document)}
    moved = tuple(
        one.model_copy(update={"base_url": _with_port(one.base_url, port)})
        if one.id in ours
        else one
        for one in document.endpoints
    )
    return document.model_copy(update={"endpoints": moved})


def _keep_secrets(draft: Draft) -> None:
    for account in draft.after.accounts:
        if account.secret_reference_id is not None:
            keep_new(draft, account.id, Secret(f"demo-{account.id}-{secrets.token_hex(12)}"))


def _without_port(base_url: str) -> tuple[str, str | None, str]:
    parts = urlsplit(base_url)
    return parts.scheme, parts.hostname, parts.path


def _with_port(base_url: str, port: int) -> str:
    parts = urlsplit(base_url)
    return parts._replace(netloc=f"{parts.hostname}:{port}").geturl()
