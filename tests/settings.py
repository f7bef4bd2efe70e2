"""Settings for the test suite: the product's own, on a throw-away data directory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault(
    "ROUTERADMIN_DATA_DIR", str(Path(tempfile.mkdtemp(prefix="routeradmin-test-")))
)
if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # one directory holds one server at a time
    os.environ["ROUTERADMIN_DATA_DIR"] += f"/{worker}"

from routeradmin.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["*"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
STATIC_ROOT.mkdir(exist_ok=True)  # noqa: F405  # the static files' middleware warns without it

if not DATABASE_URL:  # noqa: F405
    # A file, as it is served from: threads that share a database in memory do not wait for each
    # other's locks, whatever the timeout.
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}  # noqa: F405
