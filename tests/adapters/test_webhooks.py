"""Signatures as the specification has them, and which secrets make them."""

from __future__ import annotations

import base64

import pytest

from routeradmin.adapters import webhooks
from routeradmin.adapters.sealing import Secret


def test_the_specifications_own_example_comes_out_as_published() -> None:
    secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = webhooks.headers(
        secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert headers == {
        "content-type": "application/json",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_made_secret_is_usable_and_never_the_same() -> None:
    first, second = webhooks.new_secret(), webhooks.new_secret()
    assert first != second
    assert len(webhooks.key_of(first)) == 32


@pytest.mark.parametrize(
    "text",
    [
        "",
        "whsec_",
        "whsec_***",
        base64.b64encode(bytes(32)).decode(),
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_ü",
    ],
)
def test_any_other_text_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="must be whsec_ and the base64") as refused:
        webhooks.key_of(Secret(text))
    assert not text or text == "whsec_" or text not in str(refused.value)
