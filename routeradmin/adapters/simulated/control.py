"""``/_script`` and ``/_calls``: how tests, demos and people set faults and read the counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson
from pydantic import ValidationError

from routeradmin.adapters.simulated.ask import Json
from routeradmin.adapters.simulated.reply import Reply, json_reply
from routeradmin.adapters.simulated.script import Script

if TYPE_CHECKING:
    from routeradmin.adapters.simulated.provider import Request, SimulatedProvider

SHOWN = 100


class BadScript(Exception):
    """The script cannot be read; the text says where."""


def answer(provider: SimulatedProvider, request: Request) -> Reply:
    """Answer a control call; a script that is wrong changes nothing and is told why (422)."""
    act = ACTIONS.get((request.method, request.path.rstrip("/")))
    if act is None:
        known = ", ".join(f"{method} {path}" for method, path in ACTIONS)
        return json_reply(404, {"error": f"Unknown control; there are {known}"})
    try:
        return json_reply(200, act(provider, request))
    except BadScript as problem:
        return json_reply(422, {"error": str(problem)})


def load(provider: SimulatedProvider, given: Any) -> None:
    """Put one script, or a list that replaces all; ``require_key`` may stand beside or alone.

    Raises BadScript before anything is changed.
    """
    entries = given if isinstance(given, list) else [given]
    if not all(isinstance(entry, dict) for entry in entries):
        raise BadScript("a script is a JSON object, or a list of them")
    keys: list[str] | None = None
    scripts: list[Script] = []
    for entry in entries:
        if "require_key" in entry:
            keys = _keys(entry["require_key"])
        rest = {name: value for name, value in entry.items() if name != "require_key"}
        if rest:
            scripts.append(_checked(rest))
    if isinstance(given, list):
        provider.clear_scripts()
    if keys is not None:
        provider.require_key(keys)
    for script in scripts:
        provider.put_script(script)


def _checked(entry: Json) -> Script:
    try:
        return Script.model_validate(entry)
    except ValidationError as problem:
        errors = problem.errors(include_input=False, include_url=False)
        places = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in errors]
        raise BadScript("; ".join(places)) from problem


def _keys(value: Any) -> list[str]:
    keys = [value] if isinstance(value, str) else value or []
    if not isinstance(keys, list) or not all(isinstance(key, str) and key for key in keys):
        raise BadScript("require_key: a key, a list of keys, or null for none")
    return keys


def _put_script(provider: SimulatedProvider, request: Request) -> Json:
    try:
        given = orjson.loads(request.body)
    except orjson.JSONDecodeError as problem:
        raise BadScript(f"the body is not JSON: {problem}") from problem
    load(provider, given)
    return _scripts(provider, request)


def _scripts(provider: SimulatedProvider, request: Request) -> Json:
    return {
        "scripts": provider.scripts.as_json(),
        "require_key": provider.required_fingerprints(),
    }


def _delete_script(provider: SimulatedProvider, request: Request) -> Json:
    provider.clear_scripts()
    return _scripts(provider, request)


def _calls(provider: SimulatedProvider, request: Request) -> Json:
    asked = {name: values[-1] for name, values in parse_qs(request.query).items()}
    last = asked.get("last", str(SHOWN))
    return provider.calls(last=int(last) if last.isdecimal() else SHOWN, model=asked.get("model"))


def _delete_calls(provider: SimulatedProvider, request: Request) -> Json:
    provider.log.reset()
    return _calls(provider, request)


ACTIONS: dict[tuple[str, str], Callable[[SimulatedProvider, Request], Json]] = {
    ("GET", "/_script"): _scripts,
    ("PUT", "/_script"): _put_script,
    ("DELETE", "/_script"): _delete_script,
    ("GET", "/_calls"): _calls,
    ("DELETE", "/_calls"): _delete_calls,
}
