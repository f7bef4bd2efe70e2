"""The audit page finds what was done, whatever it was done to."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from routeradmin.services import changes
from routeradmin.services.changes.commit import Reported
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY


def test_every_kind_that_is_recorded_can_be_asked_for(catalog: Runtime, as_viewer: Client) -> None:
    page = as_viewer.get("/audit").content.decode()
    select = page[page.index('name="kind"') : page.index("</select>")]
    offered = re.findall(r'<option value="([^"]+)"', select)
    assert {"policies", "rules", "intents", "webhooks", "secrets"} <= set(offered)
    assert offered == list(changes.AUDITED)


def test_an_entry_of_a_kind_that_nobody_could_ask_for_is_not_made() -> None:
    with pytest.raises(ValueError, match="kinds of the audit log"):
        Reported("create", "sprockets", "one")


def test_a_filter_by_kind_shows_its_entries_alone(catalog: Runtime, as_viewer: Client) -> None:
    changes.update("policies", "calm", {"name": "Calm"}, BY, if_match="*")
    changes.create_webhook({"name": "pager", "url": "https://pager.example.com/in"}, BY)
    page = as_viewer.get("/audit?kind=policies").content.decode()
    assert "calm" in page
    assert "pager" not in page
