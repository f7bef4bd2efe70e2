"""The panel beside the list: one candidate with its evidence, its past, and why it is not used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync

from routeradmin.console import board
from routeradmin.engine.errors import EngineError
from routeradmin.journal.models import Attempt, Event
from routeradmin.services import candidates, explaining, runtime
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select

Row = dict[str, Any]

ATTEMPTS_READ = 200
ATTEMPTS_SHOWN = 6
ERRORS_SHOWN = 4
EVENTS_SHOWN = 6
ROUTES_EXPLAINED = 4
PLAIN_TOKENS = 512  # what a plain request is taken to have
NOBODY = Key(uid="", name="", scopes=frozenset({"read"}))


class Why(NamedTuple):
    """What one route would do with the candidate now; ``reasons`` speak against it."""

    alias: str
    verdict: str
    reasons: Sequence[str]


def context(uid: str, wanted: board.Filter) -> dict[str, Any]:
    """What the panel shows of the candidate with that id; ``panel_row`` None: it is gone."""
    row = row_of(uid)
    found = {"panel": uid, "panel_closed": wanted.link(), "panel_row": row}
    if row is None:
        return found
    attempts = list(
        Attempt.objects.filter(deployment=row["deployment"], credential=row["credential"])
        .select_related("turn")
        .order_by("-pk")[:ATTEMPTS_READ]
    )
    return {
        **found,
        "beats": runtime.get().heartbeats,
        "why": explained(row),
        "attempts": attempts[:ATTEMPTS_SHOWN],
        "errors": [one for one in attempts if one.failure_class][:ERRORS_SHOWN],
        "changes": Event.objects.filter(
            deployment=row["deployment"],
            credential__in=("", row["credential"]),
            matched__in=("", row["matched"] or ""),
        )[:EVENTS_SHOWN],
    }


def row_of(uid: str) -> Row | None:
    current = runtime.get()
    snapshot, states = current.current.snapshot, current.store.states()
    for place, state in candidates.observed(snapshot, states):
        if str(place.candidate.key) == uid:
            row = candidates.candidate_json(place, state, current.clock())
            return board.offered(row, snapshot)
    return None


def explained(row: Row) -> list[Why]:
    """Of each of its routes, the first few."""
    current = runtime.get()
    known = current.current.snapshot.routes
    aliases = [known[uid].alias for uid in row["routes"] if uid in known][:ROUTES_EXPLAINED]

    async def on_the_loop() -> list[Why]:
        return [await _explained(row, alias) for alias in aliases]

    return async_to_sync(on_the_loop)() if aliases else []


async def _explained(row: Row, alias: str) -> Why:
    plain = Select(model=alias, input_tokens=PLAIN_TOKENS)
    try:
        told = await explaining.explain(runtime.get(), plain, NOBODY)
    except EngineError as problem:
        return Why(alias, str(problem), ())
    return _verdict(row, alias, told)


def _verdict(row: Row, alias: str, told: dict[str, Any]) -> Why:
    mine = next((one for one in told["targets"] if _is(one, row)), None)
    if mine is None:
        return Why(alias, "It is no target of this route for a plain request.", ())
    if mine["rejections"]:
        return Why(alias, "Not used:", mine["rejections"])
    chosen = next((one for one in told["targets"] if _chosen(one, told)), None)
    if chosen is None:
        return Why(alias, "It may be used.", ())
    if _is(chosen, row):
        return Why(alias, "A plain request would go here now.", ())
    other = f"{chosen['serving_model_id']}/{chosen['credential_id']}"
    if chosen["position"] < mine["position"]:
        return Why(alias, f"It may be used, but an earlier tier has {other}.", ())
    return Why(alias, f"It may be used; the strategy would take {other} now.", ())


def _is(target: dict[str, Any], row: Row) -> bool:
    pair = target["serving_model_id"], target["credential_id"]
    return pair == (row["deployment"], row["credential"])


def _chosen(target: dict[str, Any], told: dict[str, Any]) -> bool:
    pair = target["target_id"], target["credential_id"]
    return pair == (told["selected_target_id"], told["selected_credential_id"])
