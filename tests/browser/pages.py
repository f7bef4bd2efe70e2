"""Every page of the console, found in the table of URLs: a new page is tested without being named.

A URL that takes an argument needs an object of the served catalog (``OBJECTS``); one that shows no
page of its own says so (``NO_PAGE``). Whatever is in neither fails the tests that read this.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, reverse

from routeradmin.console.urls import urlpatterns
from tests.browser.serving import Site

# Answered by POST alone, by a file, or by a part of a page.
NO_PAGE = {"logout", "act", "bulk", "alerts-test", "views-save", "view", "export", "panel"}

OBJECTS: dict[str, Any] = {
    "routes": "chat",
    "aliases": "gpt-4",
    "deployments": "alpha",
    "models": "large",
    "endpoints": "acme-api",
    "providers": "acme",
    "credentials": "acme-key",
    "policies": "calm",
    "rules": "night",
    "intents": "talk",
    "users": "vera",
    "revision": 1,
    "rollback": 1,
}

# Pages that show more with a question in the address.
ASKED = {
    "explain asked": "/explain?model=chat&draws=200",
    "explain refused": "/explain?model=nosuch&load=wrong",
    "judge asked": "/judge?status=429&retry_after=20",
    "live filtered": "/?state=disabled",
    "live without a match": "/?q=nosuch",
    "live with a panel": "/?panel=alpha/acme-key",
    "list without a match": "/deployments?q=nosuch",
    "log without a match": "/events?q=nosuch",
    "clone": "/new/deployments?clone=alpha",
    "rule of a route": "/new/rules?route_id=chat&position=1",
}


def url_patterns() -> Iterator[URLPattern]:
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        if pattern.name not in NO_PAGE:
            yield pattern


NAMES = tuple(str(pattern.name) for pattern in url_patterns()) + tuple(ASKED)


def made(site: Site) -> dict[str, Any]:
    """What no catalog file can hold: a key, a webhook, a recorded turn."""
    turns = site.call("GET", "turns")["items"] or [{"id": ""}]
    return {
        "keys": site.call("GET", "keys")["items"][0]["id"],
        "alerts": site.call("GET", "webhooks")["items"][0]["id"],
        "turn": turns[0]["id"],
    }


def addresses(site: Site) -> dict[str, str]:
    """Name -> path of every page; raises KeyError for one whose object nobody named."""
    objects = OBJECTS | made(site)
    found = {}
    for pattern in url_patterns():
        name = str(pattern.name)
        taken = pattern.pattern.converters
        noun = name if name in objects else name.partition("-")[0]
        found[name] = reverse(name, args=[objects[noun]] if taken else [])
    return found | ASKED


def make_objects(site: Site) -> None:
    """One of each kind that ``made`` looks for."""
    site.call("POST", "keys", {"name": "machine", "scopes": ["inference"]})
    hook = {"name": "bell", "url": f"{site.upstream}/hook"}
    site.call("POST", "webhooks", hook)
    site.ask(json.dumps(["a question of many words"]))
