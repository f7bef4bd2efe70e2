"""The intents that come with the program, to be taken into a catalog and edited there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from routeradmin.catalog import rows
from routeradmin.catalog.document import Document, Intent
from routeradmin.catalog.problems import Invalid, Problem, pointer
from routeradmin.services import changes
from routeradmin.services.changes import Actor, Imported

LANGUAGES = ("en", "zh", "es", "de")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A made-up prompt with the intent it belongs to."""

    intent_id: str
    language: str
    text: str
    has_image: bool = False


@dataclass(frozen=True, slots=True)
class Shipped:
    """One intent without a route, and the prompts that accuracy is measured on."""

    id: str
    name: str
    description: str
    keywords: tuple[str, ...]
    local_only: bool
    examples: tuple[Prompt, ...]
    tests: tuple[Prompt, ...]

    def as_intent(self, route_id: str) -> Intent:
        return Intent(
            id=self.id,
            name=self.name,
            description=self.description,
            examples=tuple(prompt.text for prompt in self.examples),
            keywords=self.keywords,
            route_id=route_id,
            local_only=self.local_only,
        )


def shipped(folder: Path | None = None) -> tuple[Shipped, ...]:
    """coding, fast, reasoning, secure and vision, in this order."""
    folder = folder or settings.BASE_DIR / "fixtures" / "intents"
    return tuple(_read(path) for path in sorted(folder.glob("*.toml")))


def load(
    routes: Mapping[str, str], by: Actor, *, overwrite: bool = False, reason: str = ""
) -> Imported:
    """Take the shipped intents that ``routes`` (intent id to route id) names into the catalog.

    One that the catalog has already stays as it is unless ``overwrite``. Raises Invalid.
    """
    known = {one.id: one for one in shipped()}
    problems = [
        Problem(pointer("routes", name), f"is not shipped; there are {', '.join(known)}")
        for name in routes
        if name not in known
    ]
    if problems:
        raise Invalid(problems)
    present = {intent.id for intent in rows.load().intents}
    wanted = [
        known[name].as_intent(route_id)
        for name, route_id in routes.items()
        if overwrite or name not in present
    ]
    return changes.replace_document(Document(intents=tuple(wanted)), by, reason=reason)


def _read(path: Path) -> Shipped:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return Shipped(
        table["id"],
        table["name"],
        table["description"],
        tuple(table["keywords"]),
        table.get("local_only", False),
        _prompts(table, "examples"),
        _prompts(table, "test"),
    )


def _prompts(table: dict[str, object], split: str) -> tuple[Prompt, ...]:
    by_language = table[split]
    assert isinstance(by_language, dict)  # noqa: S101 - the files are our own
    found = []
    for language, entries in by_language.items():
        for entry in entries:
            told = {"text": entry} if isinstance(entry, str) else entry
            has_image = bool(told.get("image"))
            found.append(Prompt(str(table["id"]), language, told["text"], has_image))
    return tuple(found)
