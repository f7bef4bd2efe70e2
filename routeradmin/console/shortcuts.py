"""The console's keys: one table that the help shows and static/js/console.js obeys."""

from __future__ import annotations

from typing import NamedTuple


class Shortcut(NamedTuple):
    """``keys`` are names of ``KeyboardEvent.key``: a space is one after the other, a plus together.

    ``act`` is what console.js calls it; without one the browser or the tier editor sees to the key,
    also when single keys are switched off. ``url_name`` is where ``go`` leads.
    """

    keys: str
    meaning: str
    act: str = ""
    url_name: str = ""

    @property
    def printed(self) -> tuple[str, ...]:
        """The caps to press, as they are printed."""
        return tuple(PRINTED.get(cap, cap) for cap in self.keys.replace("+", " ").split())


PRINTED = {"Escape": "Esc", "ArrowUp": "↑", "ArrowDown": "↓", "X": "Shift x"}

SHORTCUTS: tuple[tuple[str, tuple[Shortcut, ...]], ...] = (
    (
        "On every page",
        (
            Shortcut("/", "Search", "search"),
            Shortcut("j", "Next row", "next"),
            Shortcut("k", "Previous row", "previous"),
            Shortcut("Enter", "Open the row; on Live beside the list"),
            Shortcut("e", "Explain the row's route, or this page's", "explain"),
            Shortcut("g l", "Go to Live", "go", "live"),
            Shortcut("g r", "Go to Routes", "go", "routes"),
            Shortcut("g d", "Go to Deployments", "go", "deployments"),
            Shortcut("?", "Show these keys", "help"),
            Shortcut("Escape", "Close a menu, a message, a dialog or the panel"),
        ),
    ),
    (
        "Live and Deployments",
        (
            Shortcut("d", "Drain the row's deployment", "drain"),
            Shortcut("c", "Clear the row's cooldown", "clear"),
            Shortcut("t", "Show the row's probe and what it costs", "probe"),
            Shortcut("u", "Undo what was just done", "undo"),
            Shortcut("p", "Pause the live page, or go on", "pause"),
            Shortcut("x", "Tick the row", "tick"),
            Shortcut("X", "Tick all rows up to this one", "tick"),
        ),
    ),
    (
        "Route editor",
        (
            Shortcut("Alt+ArrowUp", "Move the target to the tier before"),
            Shortcut("Alt+ArrowDown", "Move the target to the tier after"),
        ),
    ),
)
