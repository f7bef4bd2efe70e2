"""The demo's catalog: into an empty one only, and never over what an operator made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from routeradmin.catalog.canonical import by_key
from routeradmin.services import changes, demo_catalog
from routeradmin.services.changes import Actor, Invalid
from routeradmin.services.runtime import Runtime
from tests import factories as make

BY = Actor("user:ada")


def urls(runtime: Runtime) -> dict[str, str]:
    return {one.id: one.base_url for one in runtime.current.document.endpoints}


def edit(runtime: Runtime, kind: str, id: str, **fields: Any) -> None:
    """As an operator would, through an import of the whole catalog."""
    document = runtime.current.document
    entries = tuple(
        one.model_copy(update=fields) if one.id == id else one for one in getattr(document, kind)
    )
    changes.replace_document(document.model_copy(update={kind: entries}), BY, mode="replace")


def test_an_empty_catalog_gets_all_of_it_at_the_port_in_use_as_one_revision(
    runtime: Runtime,
) -> None:
    assert demo_catalog.put_in_place(41234)
    assert runtime.current.revision == 1
    assert set(urls(runtime).values()) == {
        f"http://127.0.0.1:41234/{name}/v1/" for name in ("openwave", "claridge", "homelab")
    }
    snapshot = runtime.current.snapshot
    assert (len(snapshot.deployments), len(snapshot.routes)) == (6, 4)
    assert demo_catalog.playable(snapshot, 41234) == {"chat", "fast", "batch", "local"}
    assert demo_catalog.playable(snapshot, 41235) == frozenset()


def test_every_credential_gets_a_made_up_secret_of_its_own(runtime: Runtime) -> None:
    demo_catalog.put_in_place(41234)
    found = {
        account.id: runtime.secrets.by_id(account.id)
        for account in runtime.current.document.accounts
    }
    assert found.pop("homelab-open") is None
    assert not runtime.secrets.missing
    values = {secret.reveal() for secret in found.values() if secret is not None}
    assert len(values) == 3
    assert all(value.startswith("demo-") for value in values)


def test_the_next_start_moves_the_port_and_keeps_the_rest(runtime: Runtime) -> None:
    demo_catalog.put_in_place(41234)
    edit(runtime, "serving_models", "homelab-llama", weight=7)
    assert demo_catalog.port_in(runtime.current.document) == 41234
    assert demo_catalog.put_in_place(41300)
    assert set(map(str, urls(runtime).values())) == {
        f"http://127.0.0.1:41300/{name}/v1/" for name in ("openwave", "claridge", "homelab")
    }
    assert by_key(runtime.current.document.serving_models)["homelab-llama"].weight == 7


def test_a_start_at_the_same_port_publishes_nothing(runtime: Runtime) -> None:
    demo_catalog.put_in_place(41234)
    assert demo_catalog.put_in_place(41234)
    assert runtime.current.revision == 1


@pytest.mark.parametrize(
    "base_url", ["https://api.example/v1/", "http://127.0.0.1:41234/mine/v1/"], ids=["far", "path"]
)
def test_an_endpoint_that_an_operator_pointed_elsewhere_stays_there(
    runtime: Runtime, base_url: str
) -> None:
    demo_catalog.put_in_place(41234)
    edit(runtime, "endpoints", "openwave-api", base_url=base_url)
    assert demo_catalog.put_in_place(41300)
    assert urls(runtime)["openwave-api"] == base_url
    assert urls(runtime)["homelab-box"] == "http://127.0.0.1:41300/homelab/v1/"


def test_a_route_with_any_other_target_gets_no_demo_traffic(runtime: Runtime) -> None:
    demo_catalog.put_in_place(41234)
    edit(runtime, "endpoints", "claridge-api", base_url="https://api.example/v1/")
    assert demo_catalog.playable(runtime.current.snapshot, 41234) == {"batch", "local"}


def test_a_proxy_on_the_way_counts_as_somebody_else(runtime: Runtime) -> None:
    demo_catalog.put_in_place(41234)
    deployment = runtime.current.snapshot.deployments["homelab-llama"]
    assert demo_catalog.is_demo_deployment(deployment, 41234)
    proxied = replace(deployment.endpoint, proxy="http://proxy.example:3128")
    assert not demo_catalog.is_demo_deployment(replace(deployment, endpoint=proxied), 41234)


def test_a_catalog_that_holds_anything_is_left_alone(runtime: Runtime) -> None:
    changes.replace_document(make.document(), BY)
    before = runtime.current.document
    assert not demo_catalog.put_in_place(41234)
    assert runtime.current.document == before
    assert runtime.current.revision == 1


def test_where_loopback_is_not_allowed_the_demo_is_refused_and_nothing_changes(
    runtime: Runtime, settings: Any
) -> None:
    settings.PRIVATE_UPSTREAMS = "none"
    with pytest.raises(Invalid):
        demo_catalog.put_in_place(41234)
    assert demo_catalog.is_empty(runtime.current.document)
