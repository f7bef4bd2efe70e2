"""What people say of decisions: which were wrong, and what the catalog learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count

from routeradmin.catalog.canonical import by_key
from routeradmin.catalog.document import Intent
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.journal.models import IntentFeedback, Turn
from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import Actor, NotFound, reports
from routeradmin.services.changes.commit import Draft, commit
from routeradmin.services.changes.nouns import parsed, patched, replaced, stated

NOTHING = "none"  # shown where no intent was decided on
RECENT = 100


@dataclass(frozen=True, slots=True)
class Judgement:
    """``right`` is the intent that it should have been. What it was taken for is the recorded
    ``turn``'s, or said in ``decided``. ``text`` is the prompt, which nothing here keeps: it is
    only needed to make an example of it."""

    right: str
    turn: str = ""
    decided: str = ""
    text: str = ""
    add_example: bool = False


def judge(said: Judgement, by: Actor) -> IntentFeedback:
    """Note a judgement, and with ``add_example`` add the text to the right intent's examples.

    Raises Invalid, and NotFound for a turn that is not recorded.
    """
    runtime = runtimes.get()
    _check(said)
    decision = _decision_of(said.turn) if said.turn else {}
    decided = said.decided or (decision.get("intent") or NOTHING)
    if said.add_example:
        _add_example(said.right, said.text, by)
    return IntentFeedback.objects.create(
        at=publishing.moment(runtime),
        by=by.name,
        turn=said.turn,
        decided=decided,
        right=said.right,
        tier=decision.get("tier") or "",
        confidence=decision.get("confidence"),
        example_added=said.add_example,
    )


def recent() -> Sequence[IntentFeedback]:
    """The newest judgements, newest first."""
    return list(IntentFeedback.objects.all()[:RECENT])


def confusion(days: float = 90) -> dict[str, Any]:
    """Judged decisions as a table, and recorded ones by tier and intent.

    ``cells`` count pairs of what was decided and what was right; ``decisions`` are all recorded
    ones, judged or not; ``cache`` are this process's figures.
    """
    runtime = runtimes.get()
    since = publishing.moment(runtime) - timedelta(days=days)
    counted = (
        IntentFeedback.objects.filter(at__gte=since)
        .order_by()
        .values_list("decided", "right")
        .annotate(count=Count("id"))
    )
    cells = [
        {"decided": decided, "right": right, "count": count}
        for decided, right, count in sorted(counted)
    ]
    names = {name for cell in cells for name in (cell["decided"], cell["right"])}
    intents = {intent.id for intent in runtime.current.document.intents}
    judged = sum(int(cell["count"]) for cell in cells)
    wrong = sum(int(cell["count"]) for cell in cells if cell["decided"] != cell["right"])
    return {
        "intents": sorted(intents | names),
        "cells": cells,
        "judged": judged,
        "wrong": wrong,
        "decisions": _decisions(since),
        "cache": runtime.intents.standing(),
    }


def _decisions(since: datetime) -> list[dict[str, Any]]:
    counted = (
        Turn.objects.filter(started_at__gte=since, routing__intent__isnull=False)
        .order_by()
        .values_list("routing__intent__tier", "routing__intent__intent")
        .annotate(count=Count("id"))
    )
    found = [
        {"tier": tier, "intent": intent or NOTHING, "count": count}
        for tier, intent, count in counted
    ]
    return sorted(found, key=lambda one: (one["tier"], one["intent"]))


def _check(said: Judgement) -> None:
    known = by_key(runtimes.get().current.document.intents)
    problems = []
    if said.right not in known:
        listed = ", ".join(known) or "none yet"
        problems.append(Problem("/right", f"is no intent of the catalog; there are: {listed}"))
    if not said.turn and not said.decided:
        problems.append(Problem("/decided", "say what was decided, or name the recorded turn"))
    if said.add_example and not said.text.strip():
        problems.append(Problem("/text", "is needed to add an example: prompts are not recorded"))
    if problems:
        raise Invalid(problems)


def _decision_of(turn_id: str) -> dict[str, Any]:
    """Raises NotFound where no such turn with a decision is recorded."""
    row = Turn.objects.filter(uid=turn_id).first()
    decision = (row.routing or {}).get("intent") if row is not None else None
    if not isinstance(decision, dict):
        raise NotFound("turns", turn_id)
    return decision


def _add_example(intent_id: str, text: str, by: Actor) -> None:
    """One example more, if it is not there already. Raises Invalid, NotFound."""
    example = " ".join(text.split())  # examples are one line each

    def edit(draft: Draft) -> None:
        entry = next((one for one in draft.before.intents if one.id == intent_id), None)
        if entry is None:
            raise NotFound("intents", intent_id)
        draft.after = draft.before
        if example not in entry.examples:
            values = patched(stated(entry), {"examples": [*entry.examples, example]})
            changed = parsed("intents", values)
            assert isinstance(changed, Intent)  # noqa: S101 - for the type checker
            draft.after = replaced(draft.before, "intents", [changed])
        report = reports.of_object("update", "intents", intent_id, draft.before, draft.after)
        draft.reports.append(report)

    commit(edit, by, "an example from feedback")
