"""Secrets that do not show themselves, and what is sealed with which key."""

from __future__ import annotations

import copy
import json
import logging
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pytest
from cryptography.fernet import Fernet

from routeradmin.adapters.sealing import CannotOpen, Sealer, Secret, fingerprint

VALUE = "sk-live-0123456789abcdef"


@dataclass
class Holder:
    key: Secret


def test_no_text_form_of_a_secret_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(VALUE)
    logging.getLogger("test").warning("with %s and %r in %s", secret, secret, {"key": secret})
    shown = [
        *(str(secret), repr(secret), f"{secret}", f"{secret:>40}", "-".join([str(secret)])),
        *(repr(Holder(secret)), repr(asdict(Holder(secret))), repr([secret]), caplog.text),
    ]
    assert all("***" in text and VALUE[:8] not in text for text in shown)
    assert secret.reveal() == VALUE
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("write", [json.dumps, pickle.dumps])
def test_a_secret_is_not_serialised(write: Callable[[object], object]) -> None:
    with pytest.raises(TypeError):
        write(Secret(VALUE))


def test_secrets_compare_by_value_and_only_with_secrets() -> None:
    assert Secret(VALUE) == Secret(VALUE)
    assert Secret(VALUE) != Secret(VALUE + "x")
    assert Secret(VALUE) != VALUE
    assert len({Secret(VALUE), Secret(VALUE)}) == 1
    assert copy.deepcopy(Secret(VALUE)) == copy.copy(Secret(VALUE)) == Secret(VALUE)
    assert not Secret("")


def test_what_is_sealed_opens_and_differs_every_time() -> None:
    sealer = Sealer([Fernet.generate_key().decode()])
    first, second = sealer.seal(VALUE), sealer.seal(Secret(VALUE))
    assert first != second
    assert VALUE not in first
    assert sealer.open(first) == sealer.open(second) == Secret(VALUE)
    assert "***" in repr(sealer)


def test_rotation_moves_a_secret_to_the_newest_key() -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    sealed = Sealer([old]).seal(VALUE)
    both = Sealer([new, old])
    assert not both.is_newest(sealed)
    rotated = both.rotate(sealed)
    assert both.is_newest(rotated)
    assert Sealer([new]).open(rotated) == Secret(VALUE)
    with pytest.raises(CannotOpen, match="ROUTERADMIN_ENCRYPTION_KEYS"):
        Sealer([old]).open(rotated)


@pytest.mark.parametrize("sealed", ["", "no token", "gAAAAA", "é"])
def test_what_was_not_sealed_here_cannot_be_opened(sealed: str) -> None:
    sealer = Sealer([Fernet.generate_key().decode()])
    with pytest.raises(CannotOpen):
        sealer.open(sealed)
    with pytest.raises(CannotOpen):
        sealer.rotate(sealed)
    assert not sealer.is_newest(sealed)


@pytest.mark.parametrize("keys", [[], ["short"]])
def test_sealing_needs_good_keys(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="Fernet key"):
        Sealer(keys)


def test_a_fingerprint_is_short_stable_and_depends_on_the_pepper() -> None:
    shown = fingerprint(Secret(VALUE), "pepper")
    assert shown == fingerprint(Secret(VALUE), Secret("pepper"))
    assert len(shown) == 12
    assert shown != fingerprint(Secret(VALUE), "other")
    assert shown != fingerprint(Secret(VALUE + "x"), "pepper")
