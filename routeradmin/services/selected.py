"""A select's answer. What depends on the candidate alone is put into words once a snapshot."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from routeradmin.engine.describe import utc_text
from routeradmin.engine.objects import AuthKind, Credential
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import Lease
from routeradmin.services.messages import Select
from routeradmin.services.runtime import Runtime

MOST_NOTES = 20_000


class Selected(NamedTuple):
    """A lease that was taken, with what led to it."""

    runtime: Runtime
    message: Select
    lease: Lease
    candidate: Candidate
    resolved: Resolved
    turn_id: str
    attempt: int
    explanation: dict[str, Any] | None
    waited_s: float = 0.0  # for a recovery, where the route says to

    def as_json(self) -> bytes:
        """The body of the answer."""
        if self.message.secret or self.message.explain:
            return orjson.dumps(self.as_dict())
        lease = self.lease
        head = (
            f'{{"lease_id":"{lease.id}","generation":{lease.generation},'
            f'"expires_at":"{utc_text(lease.expires_at)}","turn":"{self.turn_id}",'
            f'"attempt":{self.attempt},'
        )
        return head.encode() + self._noted()

    def as_dict(self) -> dict[str, Any]:
        lease = self.lease
        return {
            "lease_id": lease.id,
            "generation": lease.generation,
            "expires_at": utc_text(lease.expires_at),
            "turn": self.turn_id,
            "attempt": self.attempt,
            **self._of_candidate(),
            "explanation": self.explanation,
        }

    def _noted(self) -> bytes:
        """The rest of the answer's bytes, from the opening brace on left out."""
        notes = self.runtime.current.notes
        name = (self.candidate, self.message.api)
        noted = notes.get(name)
        if noted is None:
            if len(notes) >= MOST_NOTES:
                notes.clear()
            rest = {**self._of_candidate(), "explanation": None}
            noted = notes[name] = orjson.dumps(rest)[1:]
        return noted

    def _of_candidate(self) -> dict[str, Any]:
        candidate, resolved = self.candidate, self.resolved
        deployment = candidate.deployment
        return {
            "route": resolved.route.id,
            "deployment": deployment.id,
            "credential": candidate.credential.id,
            "provider": deployment.provider.id,
            "model": candidate.upstream_name,
            "protocol": self._protocol(),
            "base_url": deployment.endpoint.base_url,
            "auth": self._auth(candidate.credential),
            "strategy": resolved.route.strategy,
            "revision": resolved.snapshot.revision,
            "config_digest": resolved.snapshot.config_digest,
        }

    def _protocol(self) -> str:
        """The protocol to speak: the one the caller names if the deployment speaks it."""
        deployment, api = self.candidate.deployment, self.message.api
        return api if api is not None and api in deployment.protocols else deployment.protocol

    def _auth(self, credential: Credential) -> dict[str, Any]:
        kind = credential.auth_kind
        header = None
        if kind is AuthKind.API_KEY:
            header = credential.api_key_header
        elif kind is not AuthKind.ANONYMOUS:
            header = "authorization"
        secret = self.runtime.secrets.get(credential) if self.message.secret else None
        return {
            "kind": kind.value,
            "header": header,
            "secret": secret.reveal() if secret is not None else None,
        }
