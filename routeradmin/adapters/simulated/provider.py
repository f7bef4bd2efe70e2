"""The simulated provider itself: a request in, a reply out, counted. It does no I/O."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from routeradmin.adapters import json_text
from routeradmin.adapters.simulated import ask as asking
from routeradmin.adapters.simulated import control, errors, faults, model_list
from routeradmin.adapters.simulated.ask import Ask, Json
from routeradmin.adapters.simulated.calls import SECRET_HEADERS, CallLog, CallRecord, fingerprint
from routeradmin.adapters.simulated.dialects import DIALECTS, id_header, locate, prefix_of
from routeradmin.adapters.simulated.playing import Scripts
from routeradmin.adapters.simulated.reply import Reply, json_reply, stream_reply
from routeradmin.adapters.simulated.script import Script

MODELS = ("sim-small", "sim-large", "sim-embed")


@dataclass(slots=True)
class Request:
    """An HTTP request, read to its end; header names in lower case."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    @property
    def secret(self) -> str:
        """What the caller authenticates with, or an empty text."""
        key = self.headers.get("x-api-key") or self.headers.get("api-key")
        if key is not None:
            return key
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() or scheme


class SimulatedProvider:
    """Answers like OpenAI and Anthropic do, except where a script says otherwise.

    ``models`` are the names it lists; it answers to any other name too. ``require_key`` makes
    every call without one of these keys a 401. The last ``keep`` requests stay readable, with
    what they said where ``keep_bodies`` is set. ``now`` gives the time in seconds.
    """

    def __init__(
        self,
        *,
        models: Sequence[str] = MODELS,
        require_key: Sequence[str] = (),
        keep: int = 1000,
        keep_bodies: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.models = tuple(models)
        self.log = CallLog(keep)
        self.scripts = Scripts()
        self.serial = 0
        self._keys = tuple(require_key)
        self._initial_keys = self._keys
        self._keep_bodies = keep_bodies
        self._now = now

    def put_script(self, script: Script | Json) -> None:
        """Put a script in force; one for the same model, credential and kind is replaced.

        Raises pydantic's ``ValidationError`` naming each field that is wrong.
        """
        self.scripts.put(Script.model_validate(script))

    def require_key(self, keys: Sequence[str]) -> None:
        """Only these keys are good from now on; none at all lets everybody in."""
        self._keys = tuple(keys)

    def clear_scripts(self) -> None:
        """Back to normal answers and to the keys given at the start."""
        self.scripts.clear()
        self._keys = self._initial_keys

    def required_fingerprints(self) -> list[str]:
        return [fingerprint(key) for key in self._keys]

    def calls(self, *, last: int = 100, model: str | None = None) -> Json:
        """What ``GET /_calls`` answers."""
        return self.log.as_json(last=last, model=model)

    def receive(self, request: Request) -> tuple[CallRecord | None, Reply]:
        """The reply to a request, and its record; calls to the controls are not recorded.

        Whoever writes the reply ends the record: ``log.end(record, aborted=...)``.
        """
        if request.path.startswith("/_"):
            return None, control.answer(self, request)
        self.serial += 1
        place = locate(request.path)
        body = _json(request.body) if request.body else None
        kind, model = place or ("unknown", None)
        if isinstance(body, dict) and kind != "models" and body.get("model") is not None:
            model = str(body["model"])
        call = self._record(request, kind, model, body)
        self.log.begin(call)
        reply = self._reply(request, place, call, body)
        call.status = reply.status
        return call, reply

    def _record(self, request: Request, kind: str, model: str | None, body: Any) -> CallRecord:
        return CallRecord(
            n=self.serial,
            at=self._now(),
            kind=kind,
            method=request.method,
            path=request.path,
            model=model,
            credential=fingerprint(request.secret),
            stream=isinstance(body, dict) and body.get("stream") is True,
            headers={k: v for k, v in request.headers.items() if k not in SECRET_HEADERS},
            body_keys=list(body) if isinstance(body, dict) else [],
            body=body if self._keep_bodies else None,
        )

    def _reply(
        self, request: Request, place: tuple[str, str | None] | None, call: CallRecord, body: Any
    ) -> Reply:
        kind, secret = call.kind, request.secret
        if place is None:
            return self._refusal(kind, 404, f"Unknown path {request.path}")
        if request.method != ("GET" if kind == "models" else "POST"):
            return self._refusal(kind, 405, f"{request.method} is not allowed on {request.path}")
        if self._keys and secret not in self._keys:
            return self._refusal(kind, 401, None)
        if kind == "models":
            return self._listed(request, call, secret)
        if not isinstance(body, dict):
            return self._refusal(kind, 400, "The body is not a JSON object")
        if call.model is None:
            return self._refusal(kind, 400, "you must provide a model parameter")
        try:
            ask = asking.read(kind, body, serial=self.serial, created_s=int(call.at))
        except (AttributeError, TypeError) as problem:
            return self._refusal(kind, 400, f"A field of the body has the wrong type: {problem}")
        return self._scripted(ask, call, secret) or self._normal(ask)

    def _normal(self, ask: Ask) -> Reply:
        headers = (id_header(ask.kind, ask.serial),)
        dialect = DIALECTS[ask.kind]
        if ask.stream and dialect.frames is not None:
            return stream_reply([frame.payload for frame in dialect.frames(ask)], headers=headers)
        return json_reply(200, dialect.plain(ask), headers=headers)

    def _listed(self, request: Request, call: CallRecord, secret: str) -> Reply:
        anthropic = "anthropic-version" in request.headers
        if call.model is None:
            body = model_list.listing(self.models, anthropic=anthropic)
        else:
            body = model_list.entry(call.model, anthropic=anthropic)
        ask = Ask("models", call.model or "*", body, self.serial, int(call.at))
        return self._scripted(ask, call, secret) or json_reply(200, body)

    def _scripted(self, ask: Ask, call: CallRecord, secret: str) -> Reply | None:
        playing = self.scripts.find(ask.kind, ask.model, secret, prefix_of(call.path))
        if playing is None:
            return None
        rates = playing.rates
        fault = rates.fault((ask.model, call.credential), call.at) if rates else None
        step = fault or playing.next()
        reply = faults.play(step, ask, secret) if step else None
        latency_s = rates.latency_s() if rates else 0.0
        if latency_s:
            reply = reply or (
                json_reply(200, ask.body) if ask.kind == "models" else self._normal(ask)
            )
            reply.wait_s, reply.instant = reply.wait_s + latency_s, False
        return reply

    def _refusal(self, kind: str, status: int, message: str | None) -> Reply:
        said = {} if message is None else {"message": message}
        return json_reply(
            status, errors.body(kind, status, said), headers=(id_header(kind, self.serial),)
        )


def _json(payload: bytes) -> Any:
    try:
        return json_text.loads(payload)
    except orjson.JSONDecodeError:
        return None
