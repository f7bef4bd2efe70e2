"""Secrets kept elsewhere: `env:NAME` and `file:/path`, read when they are used."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from routeradmin.adapters.sealing import Secret

MAX_SECRET_BYTES = 64 * 1024

# Whoever may edit the catalog decides where a secret is sent: routeradmin's own are not on offer.
_OWN_SECRETS = frozenset(
    {
        "DATABASE_URL",
        "REDIS_URL",
        "ROUTERADMIN_BOOTSTRAP_ADMIN",
        "ROUTERADMIN_BOOTSTRAP_KEY",
        "ROUTERADMIN_ENCRYPTION_KEYS",
        "ROUTERADMIN_SECRET_KEY",
    }
)


@dataclass(slots=True, frozen=True)
class Resolved:
    """A secret, or the reason why there is none."""

    secret: Secret | None
    reason: str | None = None


@dataclass(slots=True, frozen=True)
class _Read:
    version: tuple[int, int, int]
    resolved: Resolved


def is_reference(text: str) -> bool:
    """Whether the text points outside; any other names a stored secret."""
    return text.startswith(("env:", "file:"))


class References:
    """Resolves references. A file is read again when it is replaced or written to; its last line
    end is not part of the secret."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._read: dict[str, _Read] = {}

    def resolve(self, reference: str) -> Resolved:
        """Raises ValueError for text that is no reference."""
        kind, _, rest = reference.partition(":")
        if kind == "env":
            return self._from_environment(rest)
        if kind == "file":
            return self._from_file(rest)
        raise ValueError("a reference is env:NAME or file:/absolute/path")

    def _from_environment(self, name: str) -> Resolved:
        if name in _OWN_SECRETS:
            return Resolved(None, f"{name} is routeradmin's own and is not handed out")
        value = self._environ.get(name, "")
        if not value:
            return Resolved(None, f"the environment variable {name} is not set")
        return Resolved(Secret(value))

    def _from_file(self, path: str) -> Resolved:
        if not path.startswith("/") or "\0" in path:
            return Resolved(None, "a file reference needs an absolute path, as in file:/run/key")
        try:
            found = os.stat(path)
            version = (found.st_mtime_ns, found.st_ino, found.st_size)
            known = self._read.get(path)
            if known is None or known.version != version:
                known = self._read[path] = _Read(version, _read(path, found))
        except FileNotFoundError:
            self._read.pop(path, None)
            return Resolved(None, f"the file {path} does not exist")
        except OSError as problem:
            self._read.pop(path, None)
            return Resolved(None, f"the file {path} cannot be read: {problem.strerror}")
        return known.resolved


def _read(path: str, found: os.stat_result) -> Resolved:
    # Anything else (a pipe, a device) could block for ever or never end.
    if not stat.S_ISREG(found.st_mode):
        return Resolved(None, f"{path} is not a regular file")
    if found.st_size > MAX_SECRET_BYTES:
        return Resolved(None, f"the file {path} is larger than {MAX_SECRET_BYTES} bytes")
    with open(path, "rb") as file:
        raw = file.read(MAX_SECRET_BYTES)
    try:
        value = raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        return Resolved(None, f"the file {path} is not UTF-8 text")
    return Resolved(Secret(value)) if value else Resolved(None, f"the file {path} is empty")
