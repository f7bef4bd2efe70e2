"""Django settings; every knob an operator has is an environment variable (docs/operations.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dj_database_url

from routeradmin import env, logs
from routeradmin.adapters import open_telemetry

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.directory("ROUTERADMIN_DATA_DIR", BASE_DIR / "var")

SECRET_KEY = env.generated("ROUTERADMIN_SECRET_KEY", DATA_DIR / "secret.key", "token")
ENCRYPTION_KEYS = env.fernet_keys("ROUTERADMIN_ENCRYPTION_KEYS", DATA_DIR / "encryption.keys")
DEBUG = False
ALLOWED_HOSTS = env.hosts("ROUTERADMIN_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
TRUSTED_PROXIES = env.networks("ROUTERADMIN_TRUSTED_PROXIES")
PRIVATE_UPSTREAMS = env.choice(
    "ROUTERADMIN_ALLOW_PRIVATE_UPSTREAMS", "loopback", ("none", "loopback", "private")
)
BOOTSTRAP_ADMIN = env.bootstrap_admin("ROUTERADMIN_BOOTSTRAP_ADMIN")
BOOTSTRAP_KEY = env.bootstrap_key("ROUTERADMIN_BOOTSTRAP_KEY")
SELECTORS = env.selectors("ROUTERADMIN_SELECTORS")
METRICS_LISTEN = env.listening("ROUTERADMIN_METRICS_LISTEN")
OPEN_METRICS = env.flag("ROUTERADMIN_OPEN_METRICS", False)
REDIS_URL = env.url("REDIS_URL", ("redis", "rediss", "unix"))
REDIS_LIMIT_MS = env.number("ROUTERADMIN_REDIS_LIMIT_MS", 40, least=1, most=5000)
REDIS_PREFIX = env.text("ROUTERADMIN_REDIS_PREFIX", "routeradmin")
open_telemetry.wanted(os.environ)  # refused here, before anything is started
DATABASE_URL = env.url("DATABASE_URL", ("postgres", "postgresql", "sqlite"))

INSTALLED_APPS = [
    "daphne",  # first, so that its runserver wins
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic",
    "django.contrib.staticfiles",
    "channels",
    "django.forms",  # its widget templates, beside our own field template
    "ninja",  # serves the API page's assets from here instead of a CDN
    "routeradmin.access",
    "routeradmin.catalog",
    "routeradmin.journal",
    "routeradmin.alerting",
    "routeradmin.console",
    "routeradmin.worker",
]

MIDDLEWARE = [
    "routeradmin.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "routeradmin.urls"
ASGI_APPLICATION = "routeradmin.asgi.application"
APPEND_SLASH = False  # ids may hold slashes; a redirect would change them

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"


def _database() -> dict[str, Any]:
    if DATABASE_URL:
        found: dict[str, Any] = dict(dj_database_url.parse(DATABASE_URL, conn_max_age=0))
        # Not kept between requests: under ASGI each request has a thread, and so a connection, of
        # its own. The long-lived threads keep theirs (services.database).
        if DATABASE_URL.startswith("postgres"):
            # A database that is gone is noticed soon: what waits for it waits for a few seconds.
            limits = {
                "connect_timeout": 3,
                "tcp_user_timeout": 5000,
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 3,
            }
            found["OPTIONS"] = {**limits, **found.get("OPTIONS", {})}
            found["ENGINE"] = "routeradmin.adapters.postgres"
        return found
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA_DIR / "routeradmin.sqlite3",
        "OPTIONS": {
            # IMMEDIATE: a transaction that will write takes the lock at its start and waits for
            # it, instead of failing half-way with "database is locked".
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


# Several processes may be one system where both engines that they share are there.
IS_SHARED = bool(REDIS_URL) and DATABASE_URL.startswith("postgres")

DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if REDIS_URL:
    CHANNEL_LAYERS: dict[str, Any] = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": f"{REDIS_PREFIX}:channels"},
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

AUTH_USER_MODEL = "access.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "live"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# The embedded default is plain HTTP on loopback; behind TLS an operator sets this to 1.
HTTPS_ONLY = env.flag("ROUTERADMIN_HTTPS_ONLY", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS_ONLY else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # whether subdomains may be reached without TLS is the domain owner's matter
    "security.W008",  # the proxy that ends TLS redirects; health probes come in plain
    "security.W021",  # as W005, for browsers' preload lists
]
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024  # the largest catalog file

LOGGING = logs.config(
    env.choice("ROUTERADMIN_LOG_FORMAT", "text", ("text", "json")),
    env.choice("ROUTERADMIN_LOG_TURNS", "failed", ("failed", "all", "none")),
)
