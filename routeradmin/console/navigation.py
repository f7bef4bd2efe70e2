"""The console's sections: one table that the navigation and the tests read."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A page of the navigation; ``right`` names the role a person needs to see it."""

    title: str
    url_name: str
    right: str = "viewer"


SECTIONS: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    (
        "Operate",
        (
            Entry("Live", "live"),
            Entry("Explain", "explain"),
            Entry("Playground", "playground"),
            Entry("Turns", "turns"),
            Entry("Events", "events"),
            Entry("Alerts", "alerts"),
        ),
    ),
    (
        "Catalog",
        (
            Entry("Routes", "routes"),
            Entry("Aliases", "aliases"),
            Entry("Deployments", "deployments"),
            Entry("Models", "models"),
            Entry("Endpoints", "endpoints"),
            Entry("Providers", "providers"),
            Entry("Credentials", "credentials"),
            Entry("Policies", "policies"),
            Entry("Rules", "rules"),
            Entry("Intents", "intents"),
            Entry("Defaults", "defaults", "admin"),
        ),
    ),
    (
        "Change",
        (
            Entry("Revisions", "revisions"),
            Entry("Import / export", "transfer"),
            Entry("Audit", "audit"),
        ),
    ),
    (
        "Access",
        (
            Entry("API keys", "keys"),
            Entry("Users", "users", "admin"),
        ),
    ),
)
