"""The same action as an API call: people learn the API from the console. Never a token."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

ORIGIN = "$ROUTERADMIN"  # the server's address, and $KEY an API key, are the reader's to set
SECRETS = ("secret", "password")  # fields whose values no page shows
AUTH = '-H "Authorization: Bearer $KEY"'


def _url(path: str) -> str:
    return f'"{ORIGIN}/api/v1/{path}"'


def get(noun: str, uid: str) -> str:
    return f"curl {AUTH} \\\n  {_url(f'{noun}/{quote(uid)}')}"


def _json(values: Mapping[str, Any]) -> str:
    """A shell's word of it. What is secret is a variable of the reader's shell."""
    held = [name for name in SECRETS if name in values]
    given = {**values, **{name: f"${name.upper()}" for name in held}}
    word = shlex.quote(json.dumps(given, ensure_ascii=False, default=_text))
    for name in held:
        variable = f'"${name.upper()}"'
        word = word.replace(variable, f"\"'{variable}'\"")
    return word


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def post(path: str, body: Mapping[str, Any] | None = None) -> str:
    text = _json(body) if body else ""
    given = f" \\\n  --json {text}" if text else ""
    return f"curl -X POST {AUTH}{given} \\\n  {_url(path)}"


def delete(path: str) -> str:
    return f"curl -X DELETE {AUTH} \\\n  {_url(path)}"


def create(noun: str, values: Mapping[str, Any]) -> str:
    return post(noun, values)


def update(noun: str, uid: str, patch: Mapping[str, Any]) -> str:
    given = f"--json {_json(patch)}"
    path = _url(f"{noun}/{quote(uid)}")
    return f'curl -X PATCH {AUTH} -H "If-Match: $ETAG" \\\n  {given} \\\n  {path}'


def import_file(name: str, mode: str, format: str, revision: int | None) -> str:
    """``revision``: the one that was looked at; without one nothing is changed, only shown."""
    said = {"mode": mode, **({"format": format} if format else {})}
    match = f"-H 'If-Match: \"{revision}\"'" if revision is not None else ""
    query = urlencode(said if match else {**said, "dry_run": "true"})
    sent = f"--data-binary {shlex.quote('@' + name)}"
    return (
        f"curl -X PUT {AUTH} {match}".rstrip() + f" \\\n  {sent} \\\n  {_url(f'catalog?{query}')}"
    )


def delete_object(noun: str, uid: str, *, cascade: bool = False) -> str:
    """The object as it was looked at: its ETag is the reader's to put in."""
    path = f"{noun}/{quote(uid)}" + ("?cascade=true" if cascade else "")
    return f'curl -X DELETE {AUTH} -H "If-Match: $ETAG" \\\n  {_url(path)}'


def roll_back(number: int, looked_at: int) -> str:
    """If-Match is the revision in force that was looked at."""
    match = f"-H 'If-Match: \"{looked_at}\"'"
    return f"curl -X POST {AUTH} {match} \\\n  {_url(f'revisions/{number}/rollback')}"


def deployment_action(uid: str, action: str, body: Mapping[str, Any] | None = None) -> str:
    return post(f"deployments/{quote(uid)}/{action}", body)


def each_deployment(uids: Sequence[str], action: str) -> str:
    """One call for each, in a shell's loop."""
    listed = " ".join(shlex.quote(quote(uid)) for uid in uids)
    call = post(f"deployments/$id/{action}")
    return f"for id in {listed}; do\n{call}\ndone"


def clear_cooldown(deployment: str, credential: str | None) -> str:
    where = f"deployment={quote(deployment, safe='')}"
    if credential is not None:
        where += f"&credential={quote(credential, safe='')}"
    return delete(f"cooldowns?{where}")
