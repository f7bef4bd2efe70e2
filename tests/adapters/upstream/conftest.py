"""Every test of the client runs on both event loops: sockets fail in different ways on them."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from tests.adapters.upstream import servers


@pytest.fixture(autouse=True, params=[asyncio.new_event_loop, uvloop.new_event_loop])
def event_loop_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "new_event_loop", request.param)
