"""Secrets at rest and in memory: sealed with Fernet, held in a type that never shows itself."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Never

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

MASK = "***"


class Secret:
    """A secret value. Every text form is `***`; `reveal()` is the only way to the value.

    Cannot be pickled and json refuses it: a secret that is to be kept is sealed.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        return self.__value

    def __str__(self) -> str:
        return MASK

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self.__value.encode(), other.__value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self.__value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> Never:
        raise TypeError("a secret is never pickled: seal it, or keep its reference")


class CannotOpen(Exception):
    """None of the encryption keys opens this; the message says so without the sealed text."""

    def __init__(self) -> None:
        super().__init__(
            "a stored secret cannot be opened: add the key it was sealed with to "
            "ROUTERADMIN_ENCRYPTION_KEYS, or enter the secret again"
        )


class Sealer:
    """Seals with the first key and opens with any. Raises ValueError for a malformed key."""

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise ValueError("sealing needs at least one Fernet key")
        fernets = [Fernet(key) for key in keys]
        self._newest = fernets[0]
        self._all = MultiFernet(fernets)

    def __repr__(self) -> str:
        return "Sealer(***)"

    def seal(self, secret: Secret | str) -> str:
        """The sealed form, printable ASCII; differs every time."""
        value = secret.reveal() if isinstance(secret, Secret) else secret
        return self._newest.encrypt(value.encode()).decode("ascii")

    def open(self, sealed: str) -> Secret:
        """Raises CannotOpen."""
        try:
            return Secret(self._all.decrypt(sealed.encode()).decode())
        except InvalidToken:
            raise CannotOpen from None

    def rotate(self, sealed: str) -> str:
        """The same secret under the newest key; keeps the time of its first sealing. Raises
        CannotOpen."""
        try:
            return self._all.rotate(sealed.encode()).decode("ascii")
        except InvalidToken:
            raise CannotOpen from None

    def is_newest(self, sealed: str) -> bool:
        """Whether the newest key opens it, so that nothing is left to rotate."""
        try:
            self._newest.decrypt(sealed.encode())
        except InvalidToken:
            return False
        return True


def fingerprint(secret: Secret, pepper: Secret | str) -> str:
    """Twelve hex digits that tell secrets apart on a page. Keyed, so that a guessed secret cannot
    be tried against it without the pepper."""
    key = pepper.reveal() if isinstance(pepper, Secret) else pepper
    return hmac.new(key.encode(), secret.reveal().encode(), hashlib.sha256).hexdigest()[:12]
