"""Signed webhooks as the Standard Webhooks specification has them (standardwebhooks.com, 1.0)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from routeradmin.adapters.sealing import Secret

PREFIX = "whsec_"
LEAST_BYTES, MOST_BYTES = 24, 64
RULE = (
    f"must be {PREFIX} and the base64 of {LEAST_BYTES} to {MOST_BYTES} random bytes; leave it out "
    "to have one made"
)


def new_secret() -> Secret:
    """256 random bits."""
    return Secret(PREFIX + base64.b64encode(secrets.token_bytes(32)).decode())


def key_of(secret: Secret) -> bytes:
    """The signing key inside. Raises ValueError, whose text is fit for a form field."""
    text = secret.reveal()
    try:
        key = base64.b64decode(text.removeprefix(PREFIX).encode(), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError(RULE) from None
    if not text.startswith(PREFIX) or not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise ValueError(RULE)
    return key


def headers(secret: Secret, message_id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Of one attempt, at ``at_s`` epoch seconds; a message keeps its id in all attempts."""
    signed = f"{message_id}.{at_s}.".encode() + body
    signature = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": "v1," + base64.b64encode(signature).decode(),
    }
