"""Environment variables, read once and refused loudly when a value makes no sense.

Every reader raises :class:`BadVariable`, whose text is one line that names the variable and says
what it accepts; ``manage.py`` prints that line and stops.
"""

from __future__ import annotations

import os
import re
import secrets
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.fernet import Fernet

_HOST = re.compile(r"\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9a-fA-F:.]+\]", re.ASCII)


class BadVariable(Exception):
    """An environment variable holds a value that cannot be used."""

    def __init__(self, name: str, accepts: str) -> None:
        super().__init__(f"{name}: {accepts}")


def text(name: str, default: str = "") -> str:
    """The variable, or what the file named by ``<name>_FILE`` holds, or the default."""
    path = os.environ.get(f"{name}_FILE", "")
    if not path:
        return os.environ.get(name, default).strip()
    if os.environ.get(name):
        raise BadVariable(name, f"set either {name} or {name}_FILE, not both")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadVariable(f"{name}_FILE", "needs the path of a readable text file") from problem


def choice(name: str, default: str, accepted: tuple[str, ...]) -> str:
    value = text(name, default)
    if value not in accepted:
        raise BadVariable(name, f"accepts {', '.join(accepted)}")
    return value


def flag(name: str, default: bool) -> bool:
    return choice(name, "1" if default else "0", ("0", "1")) == "1"


def number(name: str, default: int, *, least: int, most: int) -> int:
    value = text(name, str(default))
    if not value.isdecimal() or not least <= int(value) <= most:
        raise BadVariable(name, f"accepts a whole number from {least} to {most}")
    return int(value)


def words(name: str, default: str = "") -> list[str]:
    return [word for word in (part.strip() for part in text(name, default).split(",")) if word]


def networks(name: str) -> list[str]:
    """Comma-separated addresses or CIDR ranges, each checked."""
    values = words(name)
    for value in values:
        try:
            ip_network(value, strict=False)
        except ValueError as problem:
            raise BadVariable(
                name, "accepts addresses or CIDR ranges separated by commas"
            ) from problem
    return values


def hosts(name: str, default: str) -> list[str]:
    """Comma-separated host names as Django matches them: ``.name`` with what is below it, ``*``
    all; without scheme and port, which are never part of a match."""
    values = words(name, default)
    for value in values:
        if value != "*" and not _HOST.fullmatch(value):
            raise BadVariable(
                name,
                "accepts host names or addresses separated by commas, without scheme and port: "
                "example.com, .example.com, 10.0.0.1, [::1], or * for any",
            )
    return values


def url(name: str, schemes: tuple[str, ...]) -> str:
    """A URL with one of ``schemes``, or the empty string when unset."""
    value = text(name)
    if value and value.partition("://")[0] not in schemes:
        raise BadVariable(name, "accepts a URL that starts with " + ", ".join(schemes) + " and ://")
    try:
        _ = urlsplit(value).port
    except ValueError as problem:
        raise BadVariable(
            name,
            f"accepts a URL such as {schemes[0]}://user:password@host:port/name, with "
            "special characters in it percent-encoded",
        ) from problem
    return value


def listening(name: str) -> tuple[str, int] | None:
    """``host:port`` to listen on; None when unset."""
    value = text(name)
    if not value:
        return None
    host, colon, port = value.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise BadVariable(name, "accepts host:port, as in 127.0.0.1:9464 or [::1]:9464")
    return host.strip("[]"), int(port)


def directory(name: str, default: Path) -> Path:
    """A directory that is created (mode 0700) when missing."""
    path = Path(text(name, str(default))).expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise BadVariable(name, "needs a directory that can be created and written") from problem
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadVariable(name, "needs a directory that can be written")
    return path


def generated(name: str, path: Path, make: str) -> str:
    """The variable, else the value kept in ``path`` (mode 0600), generated at the first start."""
    value = text(name)
    if value:
        return value
    if not path.exists():
        fresh = Fernet.generate_key().decode() if make == "fernet" else secrets.token_urlsafe(50)
        _write_once(path, fresh)
    return path.read_text(encoding="utf-8").strip()


def _write_once(path: Path, value: str) -> None:
    # A second process that starts at the same moment must end up with the same key: the complete
    # file is linked into place, and whoever comes second reads what is there.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(value + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()


def fernet_keys(name: str, path: Path) -> list[str]:
    """Fernet keys, newest first; the first seals, all of them open."""
    keys = [key.strip() for key in generated(name, path, "fernet").split(",") if key.strip()]
    for key in keys:
        try:
            Fernet(key)
        except ValueError as problem:
            raise BadVariable(
                name, "accepts Fernet keys (32 bytes, URL-safe base64) separated by commas"
            ) from problem
    if not keys:
        raise BadVariable(name, "needs at least one Fernet key")
    return keys


def selectors(name: str) -> dict[str, str]:
    """``name=package.module:attribute`` separated by commas, by name."""
    found = {}
    for word in words(name):
        label, _, path = word.partition("=")
        if not re.fullmatch(r"[\w.-]+", label) or not re.fullmatch(r"[\w.]+:\w+", path):
            raise BadVariable(name, "accepts name=package.module:attribute separated by commas")
        found[label] = path
    return found


def bootstrap_admin(name: str) -> tuple[str, str] | None:
    value = text(name)
    if not value:
        return None
    user, _, password = value.partition(":")
    if not user or not password:
        raise BadVariable(name, "accepts name:password")
    return user, password


def bootstrap_key(name: str) -> str:
    value = text(name)
    if value and (
        len(value) < 20 or not value.isascii() or not value.isprintable() or " " in value
    ):
        raise BadVariable(name, "accepts 20 or more printable ASCII characters without spaces")
    return value
