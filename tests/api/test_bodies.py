"""Partial bodies: only what was sent counts, and it is checked like the whole."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from routeradmin.api.bodies import named, partial
from routeradmin.catalog.document import KINDS, ServingModel
from routeradmin.catalog.policies import Policy


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_patch_names_nothing(kind: str) -> None:
    assert named(partial(KINDS[kind]).model_validate({})) == {}


def test_only_what_was_sent_is_named_also_inside_of_tables() -> None:
    sent = {"rpm_limit": None, "capabilities": {"tools": True}, "probe": {"mode": "chat"}}
    assert named(partial(ServingModel).model_validate(sent)) == sent


def test_fields_keep_their_written_names() -> None:
    sent = {"classify": [{"status": 400, "class": "quota"}]}
    assert named(partial(Policy).model_validate(sent))["classify"][0]["class"] == "quota"


@pytest.mark.parametrize(
    "bad",
    [
        {"weight": None},
        {"weight": "1"},
        {"weight": 2**31},
        {"unknown": 1},
        {"probe": {"unknown": 1}},
        {"id": "with space"},
        {"capabilities": None},
        {"admin_state": "gone"},
    ],
)
def test_a_patch_is_checked_like_the_whole(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        partial(ServingModel).model_validate(bad)
