"""``manage.py explain MODEL``: why which candidate, by the code that decides; with ``--draws`` how
decisions would spread."""

from __future__ import annotations

import argparse
import json
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from routeradmin.engine.errors import ModelNotFound
from routeradmin.services import explaining
from routeradmin.services.keys import Key
from routeradmin.services.messages import Assumed, Select, Simulate
from routeradmin.worker.management.commands.create_key import words
from routeradmin.worker.management.loading import loaded

WHOLE = {"input_tokens": int, "max_output_tokens": int, "temperature": float, "top_p": float}
TEXTS = ("tool_choice", "reasoning_effort", "session", "api")
LISTS = ("requires", "exclude", "tags")
FACTS = (*WHOLE, *TEXTS, *LISTS)
STATES = ("cooling", "unhealthy", "disabled")
AMOUNTS = ("active", "rpm", "tpm")
OPERATOR = Key(uid="command", name="command", scopes=frozenset({"select"}))


class Command(BaseCommand):
    help = (
        "Explain what select would answer: every candidate with every reason against it. Reserves "
        "nothing. Knows the cooldowns that a running server wrote down, not its open requests."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("model", help="an alias, provider:model, or auto")
        for name, kind in WHOLE.items():
            parser.add_argument(_option(name), type=kind)
        for name in TEXTS:
            parser.add_argument(_option(name))
        for name in LISTS:
            parser.add_argument(_option(name), type=words, help="separated by commas")
        parser.add_argument(
            "--secret", action="store_true", help="pass over candidates without a secret"
        )
        parser.add_argument("--draws", type=int, help="simulate this many decisions")
        parser.add_argument("--seed", type=int, default=0, help="of the simulation")
        parser.add_argument(
            "--assume",
            action="append",
            default=[],
            metavar="CANDIDATE:STATE[,STATE...]",
            help="in the simulation, as in d1/key-a:cooling,active=3; states are "
            f"{', '.join(STATES)} (=false takes away), {', '.join(AMOUNTS)} (=number)",
        )
        parser.add_argument("--json", action="store_true", help="the API's answer")

    def handle(self, *args: Any, **options: Any) -> None:
        runtime = loaded()
        facts = {name: options[name] for name in FACTS if options[name] is not None}
        facts |= {"model": options["model"], "secret": options["secret"]}
        try:
            if options["draws"] is None and not options["assume"]:
                found = async_to_sync(explaining.explain)(runtime, Select(**facts), OPERATOR)
            else:
                draws = 1000 if options["draws"] is None else options["draws"]
                overlay = dict(map(_assumed, options["assume"]))
                message = Simulate(**facts, overlay=overlay, draws=draws, seed=options["seed"])
                found = async_to_sync(explaining.simulate)(runtime, message, OPERATOR)
        except ModelNotFound as unknown:
            raise CommandError(str(unknown)) from unknown
        except ValidationError as why:
            raise CommandError("\n".join(map(_told, why.errors()))) from why
        self.stdout.write(json.dumps(found, indent=2) if options["json"] else _text(found))


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _told(error: Any) -> str:
    place = ".".join(map(str, error["loc"]))
    return f"{_option(place) if error['loc'][0] in FACTS else place}: {error['msg']}"


def _assumed(text: str) -> tuple[str, Assumed]:
    """``CANDIDATE:STATE,STATE``; the last colon counts, for ids may hold some."""
    candidate, separator, states = text.rpartition(":")
    assumed: dict[str, Any] = {}
    for state in words(states) if separator else ():
        name, _, value = state.partition("=")
        if name in STATES and value in ("", "true", "false"):
            assumed[name] = value != "false"
        elif name in AMOUNTS and value.isascii() and value.isdigit():
            assumed[name] = int(value)
        else:
            assumed.clear()
            break
    if not candidate or not assumed:
        raise CommandError(
            f"--assume {text} is not understood: write CANDIDATE:STATE, as in d1/key-a:cooling"
        )
    return candidate, Assumed(**assumed)


def _text(found: dict[str, Any]) -> str:
    if "explanation" not in found:
        return "\n".join(_explained(found))
    shares = [f"{share:7.2%}  {candidate}" for candidate, share in found["shares"].items()]
    refused = [f"refused  {found['refused']}"] if found["refused"] else []
    return "\n".join([*_explained(found["explanation"]), "", "shares:", *shares, *refused])


def _explained(found: dict[str, Any]) -> list[str]:
    target, credential = found["selected_target_id"], found["selected_credential_id"]
    chosen = f"{target} with {credential}" if target else "none"
    lines = [
        f"route {found['route_id']} (alias {found['alias']}), revision {found['revision']}, "
        f"digest {found['config_digest'][:12]}",
        f"selected: {chosen}",
    ]
    for one in found["targets"]:
        is_chosen = (one["target_id"], one["credential_id"]) == (target, credential)
        against = ", ".join(one["rejections"]) or "nothing against it"
        candidate = f"{one['serving_model_id']}/{one['credential_id']}"
        lines.append(
            f"{'>' if is_chosen else ' '} {one['position']}  {one['target_id']}  "
            f"{candidate}  {one['runtime']['state']}  {against}"
        )
    lines += [
        f"then route {one['route_id']} (alias {one['alias']}): {one['usable']} of "
        f"{one['candidates']} candidates may be used"
        for one in found.get("fallback_routes", ())
    ]
    return lines
