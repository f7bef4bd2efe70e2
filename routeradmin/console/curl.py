"""The same action as an API call: people learn the API from the console. Never a token."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

ORIGIN = "$ROUTERADMIN"  # the server's address, and $KEY an API key, are the reader's to set
AUTH = '-H "Authorization: Bearer $KEY"'


def _url(path: str) -> str:
    return f'"{ORIGIN}/api/v1/{path}"'


def get(noun: str, uid: str) -> str:
    return f"curl {AUTH} \\\n  {_url(f'{noun}/{quote(uid)}')}"


def post(path: str, body: Mapping[str, Any] | None = None) -> str:
    text = shlex.quote(json.dumps(body, ensure_ascii=False)) if body else ""
    given = f" \\\n  --json {text}" if text else ""
    return f"curl -X POST {AUTH}{given} \\\n  {_url(path)}"


def delete(path: str) -> str:
    return f"curl -X DELETE {AUTH} \\\n  {_url(path)}"


def create(noun: str, values: Mapping[str, Any]) -> str:
    """A secret is the reader's to put in."""
    given = {**values, "secret": "$SECRET"} if "secret" in values else values
    return post(noun, given)


def update(noun: str, uid: str, patch: Mapping[str, Any]) -> str:
    given = f"--json {shlex.quote(json.dumps(patch, ensure_ascii=False))}"
    path = _url(f"{noun}/{quote(uid)}")
    return f'curl -X PATCH {AUTH} -H "If-Match: $ETAG" \\\n  {given} \\\n  {path}'


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
