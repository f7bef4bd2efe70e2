"""Random catalogs through the whole control plane: rows, revisions, files, rollback."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from routeradmin.catalog import rows
from routeradmin.catalog.canonical import digest
from routeradmin.catalog.diff import diff
from routeradmin.catalog.files import write
from routeradmin.catalog.models import Revision
from routeradmin.services import changes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from tests import factories as make

ADA = Actor("user:ada")

texts = st.sampled_from(["", "a", "über", "名前", "a b", "x" * 256])
names = st.sampled_from(["n", "über", "名前"])
lists = st.lists(st.sampled_from(["eu", "us", "日本"]), max_size=2, unique=True)
limits = st.none() | st.integers(0, 2**31 - 1)
seconds = st.sampled_from([0.5, 1, 30, 180.25])


def optional(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    found = st.fixed_dictionaries({}, optional=fields)
    return found.map(lambda one: {name: value for name, value in one.items() if value is not None})


deployments = optional(
    name=names,
    weight=st.integers(0, 2**31 - 1),
    priority=st.integers(0, 9),
    rpm_limit=limits,
    tpm_limit=limits,
    tags=lists,
    capabilities=optional(tools=st.booleans(), context_window=st.integers(1, 10**6)),
    account_ids=st.sampled_from([[], ["k0"], ["k0", "k1"]]),
    probe=optional(mode=st.sampled_from(["off", "models", "chat"]), interval_s=seconds),
    input_price=st.sampled_from([0, 0.15, 3]),
)
routes = optional(
    name=names,
    fallback_enabled=st.booleans(),
    strategy=st.sampled_from(["simple_shuffle", "round_robin", "least_busy", "fill_first"]),
    when_exhausted=st.sampled_from(["fail", "wait"]),
    max_wait_s=seconds,
    tags=lists,
)
endpoints = optional(
    name=names,
    headers=st.dictionaries(st.sampled_from(["x-a", "x-b"]), st.just("1")),
    idle_timeout_s=seconds,
    probe=optional(timeout_s=seconds),
)


@st.composite
def catalogs(draw: Any) -> dict[str, Any]:
    """Valid ones: every reference is declared, positions are whole."""
    accounts = [make.account(f"k{n}") for n in range(2)]
    ids = [f"d{n}" for n in range(draw(st.integers(1, 4)))]
    route_ids = [f"r{n}" for n in range(draw(st.integers(0, 3)))]
    targets = [
        make.target(f"{route}-{place}", route_id=route, serving_model_id=id, position=place)
        for route in route_ids
        for place, id in enumerate(draw(st.lists(st.sampled_from(ids), min_size=1, unique=True)))
    ]
    policy = {"id": "p", "fallback": {"general": draw(st.permutations(route_ids))}}
    aliases = [{"name": f"alias-{name}", "target": name} for name in route_ids[:1]]
    return make.catalog(
        accounts=accounts,
        endpoints=[make.endpoint(account_id="k0", **draw(endpoints))],
        serving_models=[make.deployment(id, **draw(deployments)) for id in ids],
        routes=[make.route(id, policy_id="p", **draw(routes)) for id in route_ids],
        targets=targets,
        policies=[policy],
        aliases=aliases,
        defaults=draw(optional(strategy=st.sampled_from(["simple_shuffle", "round_robin"]))),
    )


def published(values: dict[str, Any]) -> bytes:
    changes.replace_document(make.document(values), ADA, mode="replace")
    return exported()


def exported() -> bytes:
    return write(rows.load(), "toml")


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=catalogs(), second=catalogs(), format=st.sampled_from(["toml", "json"]))
def test_any_catalog_survives_the_database_its_files_and_the_way_back(
    runtime: Runtime, first: dict[str, Any], second: dict[str, Any], format: Any
) -> None:
    before = published(first)
    assert digest(rows.load()) == digest(make.document(first)) == in_force(runtime)
    number, old_digest = runtime.current.revision, in_force(runtime)

    again = changes.import_file(write(rows.load(), format), ADA, mode="replace")
    assert (again.imported.changed, exported()) == (False, before)

    published(second)
    wanted = make.document(second)
    assert not diff(rows.load(), wanted)
    assert bool(diff(make.document(first), wanted)) == (in_force(runtime) != old_digest)

    changes.rollback(number, ADA)
    assert (exported(), in_force(runtime)) == (before, old_digest)
    newest = Revision.objects.first()
    assert newest is not None
    assert newest.digest == old_digest


def in_force(runtime: Runtime) -> str:
    return runtime.current.snapshot.config_digest
