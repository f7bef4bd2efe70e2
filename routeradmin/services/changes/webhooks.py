"""Webhooks: created, changed, deleted. No revision: no webhook is catalog."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from routeradmin.adapters import webhooks
from routeradmin.adapters.addresses import check_target
from routeradmin.adapters.sealing import Secret
from routeradmin.alerting.models import AlertEvent, Webhook
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor, Reported, audit, plain
from routeradmin.services.changes.errors import NotFound, Stale
from routeradmin.services.secrets import fingerprint_of
from routeradmin.web_url import UrlRefused, host_of

FIELDS = ("name", "url", "events", "is_enabled")
SHOWN = ("fingerprint", "last_attempt_at", "last_status", "last_error", "failures", "created_at")


def create_webhook(
    fields: Mapping[str, Any], by: Actor, reason: str = ""
) -> tuple[Webhook, Secret | None]:
    """The webhook, and its signing secret where it was made here: it is not shown again.

    ``fields``: name, url, and optionally events (empty: all), is_enabled, secret. Raises Invalid.
    """
    values = checked_fields(fields, needed=("name", "url"))
    given = values.pop("secret", None)
    secret = given or webhooks.new_secret()
    with publishing.writing():
        row = Webhook(uid=f"wh_{secrets.token_hex(6)}", **values)
        _seal(row, secret)
        row.save()
        changes = {name: [None, values[name]] for name in values}
        _audit("create", row, changes | {"secret": [None, row.fingerprint]}, by, reason)
    _reload()
    return row, None if given else secret


def update_webhook(
    uid: str, patch: Mapping[str, Any], by: Actor, *, if_match: int | str, reason: str = ""
) -> Webhook:
    """Raises NotFound, Stale, Invalid."""
    values = checked_fields(patch)
    secret = values.pop("secret", None)
    with publishing.writing():
        row = _found(uid, if_match)
        changes: dict[str, Any] = {
            name: [getattr(row, name), value]
            for name, value in values.items()
            if getattr(row, name) != value
        }
        for name in changes:
            setattr(row, name, values[name])
        if secret is not None and fingerprint_of(secret) != row.fingerprint:
            before = row.fingerprint
            _seal(row, secret)
            changes["secret"] = [before, row.fingerprint]
        if changes:
            row.version += 1
            row.updated_at = publishing.moment(runtimes.get())
            row.save()
            if not row.is_enabled:
                row.undelivered.all().delete()
            _audit("update", row, changes, by, reason)
    _reload()
    return row


def delete_webhook(uid: str, by: Actor, *, if_match: int | str, reason: str = "") -> None:
    """What waits to be sent to it is dropped. Raises NotFound, Stale."""
    with publishing.writing():
        row = _found(uid, if_match)
        _audit("delete", row, {"name": [row.name, None]}, by, reason)
        row.delete()
    _reload()


def webhook_values(row: Webhook) -> dict[str, Any]:
    """The fields as JSON, without the secret."""
    return {"id": row.uid} | {name: plain(getattr(row, name)) for name in (*FIELDS, *SHOWN)}


def checked_fields(fields: Mapping[str, Any], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values in their stored form. Raises Invalid with every problem at once."""
    problems = [Problem(f"/{name}", "is required") for name in needed if not fields.get(name)]
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if any(problem.pointer == f"/{name}" for problem in problems):
            continue
        try:
            values[name] = _checked(name, value)
        except ValueError as problem:
            problems.append(Problem(f"/{name}", str(problem)))
    if problems:
        raise Invalid(problems)
    return values


def _checked(name: str, value: Any) -> Any:
    """Raises ValueError, whose text is fit for a form field."""
    match name:
        case "name":
            if not (isinstance(value, str) and value.isprintable() and len(value.encode()) <= 256):
                raise ValueError("must be 1 to 256 bytes of text without control characters")
            return value
        case "url":
            return _checked_url(value)
        case "events":
            if not isinstance(value, list | tuple) or not set(value) <= set(AlertEvent.values):
                raise ValueError(
                    f"must list some of {', '.join(AlertEvent.values)}, or none for all"
                )
            return sorted(set(value))
        case "is_enabled":
            if not isinstance(value, bool):
                raise ValueError("must be true or false")
            return value
        case "secret":
            secret = Secret(value if isinstance(value, str) else "")
            webhooks.key_of(secret)
            return secret
    raise ValueError("is not a field of a webhook: remove it")


def _checked_url(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    try:
        return check_target(value, runtimes.upstream_policy())
    except UrlRefused as problem:
        raise ValueError(str(problem)) from None


def _found(uid: str, if_match: int | str) -> Webhook:
    row = Webhook.objects.filter(uid=uid).first()
    if row is None:
        raise NotFound("webhooks", uid)
    if if_match not in ("*", row.version):
        raise Stale("webhooks", uid, row.version, webhook_values(row))
    return row


def _seal(row: Webhook, secret: Secret) -> None:
    row.ciphertext = runtimes.get().sealer.seal(secret)
    row.fingerprint = fingerprint_of(secret)


def _reload() -> None:
    runtime = runtimes.get()
    runtime.alerts.targets.load(runtime.sealer)


def _without_path(url: str) -> str:
    """Whom it leads to, and a mark that tells it from others: at many receivers, who knows the
    whole address may post there."""
    return f"{host_of(url)} ({fingerprint_of(Secret(url))})"


def _audit(action: str, row: Webhook, changes: dict[str, Any], by: Actor, reason: str) -> None:
    """Whoever may read sees it, while webhooks are for administrators alone."""
    now = publishing.moment(runtimes.get())
    if "url" in changes:
        changes = changes | {"url": [url and _without_path(url) for url in changes["url"]]}
    audit([Reported(action, "webhooks", row.uid, changes)], by, now, reason)
