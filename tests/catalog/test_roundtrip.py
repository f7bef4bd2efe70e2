"""Whatever a document says survives export and import, in both file formats, byte for byte."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.catalog.canonical import canonical, digest
from routeradmin.catalog.diff import diff
from routeradmin.catalog.document import Document
from routeradmin.catalog.fields import STRATEGIES
from routeradmin.catalog.files import read, write
from routeradmin.catalog.files.reading import from_values
from routeradmin.catalog.problems import Invalid
from routeradmin.catalog.validate import problems
from tests.catalog.documents import changed, document, example, small

idents = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=12)
names = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12
).filter(lambda text: text.strip() != "")
literals = names.map(lambda text: text.replace("*", "x"))
texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)
counts = st.integers(0, 2**63 - 1)
seconds = st.floats(0.001, 10**9) | st.integers(1, 10**9)
moments = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
admin_states = st.sampled_from(["enabled", "draining", "disabled"])
kinds = st.sampled_from(["responses", "messages", "chat-completions", "completions", "embeddings"])


def table(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Each field may be left out; ``id`` and names that a table cannot do without may not."""
    needed = {name: field for name, field in fields.items() if name in REQUIRED}
    rest = {name: field for name, field in fields.items() if name not in REQUIRED}
    return st.fixed_dictionaries(needed, optional=rest)


REQUIRED = {
    *("id", "category", "provider_id", "auth_kind", "billing_kind", "account_id", "base_url"),
    *("upstream_name", "endpoint_id", "model_id", "protocol", "alias", "route_id"),
    *("serving_model_id", "position", "target", "class", "code"),
}
probes = table(
    mode=st.sampled_from(["off", "models", "chat"]),
    interval_s=seconds,
    timeout_s=seconds,
    failure_threshold=st.integers(1, 100),
    path=st.sampled_from(["models", "health?x=1"]),
)
capabilities = table(
    tools=st.booleans(),
    temperature=st.booleans(),
    reasoning_efforts=st.lists(idents, max_size=2),
    context_window=st.integers(1, 2**63 - 1),
    max_output_tokens=st.integers(1, 2**63 - 1),
    vision=st.booleans(),
    json_schema=st.booleans(),
)
policies = table(
    id=idents,
    name=names,
    retry=table(
        max_attempts=st.integers(1, 16),
        stream_max_attempts=st.integers(1, 16),
        jitter=st.floats(0, 1),
    ),
    turn=table(deadline_s=seconds, rotate=st.booleans()),
    cooldown=table(enabled=st.booleans(), quota_s=seconds, allowed_fails=st.integers(1, 9)),
    fallback=table(general=st.lists(idents, max_size=2), rate_limit=st.lists(idents, max_size=2)),
    classify=st.lists(
        table(
            status=st.integers(100, 599),
            code=names,
            **{"class": st.sampled_from(["quota", "transient", "caller"])},
        ),
        max_size=2,
    ),
)
tables = {
    "providers": table(id=idents, category=idents, name=names, kind=idents, tags=st.lists(names)),
    "accounts": table(
        id=idents,
        provider_id=idents,
        auth_kind=st.sampled_from(["anonymous", "bearer", "api-key", "subscription-oauth"]),
        billing_kind=st.sampled_from(["metered", "subscription", "self-hosted"]),
        secret_reference_id=idents,
        api_key_header=st.sampled_from(["X-Key", "x-goog-api-key"]),
        admin_state=admin_states,
    ),
    "endpoints": table(
        id=idents,
        account_id=idents,
        base_url=st.sampled_from(
            ["https://a.example", "http://[::1]:8080/v1", "https://ä.example"]
        ),
        headers=st.dictionaries(st.sampled_from(["x-a", "X-B"]), idents),
        proxy=st.just("http://proxy.example:3128"),
        idle_timeout_s=seconds,
        probe=probes,
    ),
    "models": table(id=idents, upstream_name=idents.map(lambda text: text.replace("*", "x"))),
    "serving_models": table(
        id=idents,
        endpoint_id=idents,
        model_id=idents,
        protocol=kinds,
        capabilities=capabilities,
        protocols=st.lists(kinds, max_size=3),
        account_ids=st.lists(idents, max_size=2),
        weight=st.integers(0, 2**31 - 1),
        rpm_limit=counts,
        admin_state=admin_states,
        drain_until=moments.map(lambda moment: moment.isoformat()),
        probe=probes,
        input_price=st.floats(0, 1000),
    ),
    "routes": table(
        id=idents,
        alias=literals,
        fallback_enabled=st.booleans(),
        name=names,
        strategy=st.sampled_from([*STRATEGIES, "round-robin", "custom:mine"]),
        when_exhausted=st.sampled_from(["fail", "wait", "least_bad"]),
        max_wait_s=seconds,
        preview=st.lists(idents, max_size=2),
    ),
    "targets": table(
        id=idents, route_id=idents, serving_model_id=idents, position=st.integers(0, 9)
    ),
    "aliases": st.fixed_dictionaries({"name": names, "target": literals}),
    "policies": policies,
    "rules": table(
        id=idents,
        route_id=idents,
        position=st.integers(0, 9),
        when=table(
            key=idents,
            header=st.dictionaries(st.just("x-a"), texts),
            hours=st.just(["22:00-06:00"]),
            tools=st.booleans(),
        ),
        only=st.lists(idents, max_size=2),
    ),
    "intents": table(
        id=idents, route_id=idents, name=names, description=texts, examples=st.lists(names)
    ),
}
catalogs = st.fixed_dictionaries(
    {"format": st.just("routeradmin.catalog/1")},
    optional={
        **{kind: st.lists(entry, max_size=2) for kind, entry in tables.items()},
        "defaults": table(
            strategy=st.sampled_from(STRATEGIES), policy_id=idents, auto_priority=st.lists(names)
        ),
    },
)


@pytest.mark.parametrize("format", ["toml", "json"])
@given(values=catalogs)
def test_any_document_survives_export_and_import_byte_for_byte(
    format: Any, values: dict[str, Any]
) -> None:
    first = from_values(values)
    exported = write(first, format)
    second = read(exported)

    assert write(second, format) == exported
    assert canonical(second) == canonical(first)
    assert not diff(first, second)


@given(values=catalogs)
def test_checking_any_document_ends_in_problems_with_places_that_exist(
    values: dict[str, Any],
) -> None:
    for problem in problems(from_values(values)):
        kind, *rest = problem.pointer.removeprefix("/").split("/")
        entries = values[kind] if kind != "defaults" else [values[kind]]
        if rest and kind != "defaults":
            assert int(rest[0]) < len(entries)


@pytest.mark.parametrize("format", ["toml", "json"])
def test_the_example_and_a_rich_catalog_survive_both_formats(format: Any) -> None:
    rich = document(
        changed(
            small(),
            endpoints__0__headers={"x-b": "1", "X-A": 'quote " and \\'},
            serving_models__0__drain_until="2026-01-01T00:00:00Z",
            rules__0__when={"header": {"x-plan": 'über "alles"'}},
            policies__0__classify=[{"code": "full", "class": "quota"}],
        )
    )
    for source in (example(), rich):
        exported = write(source, format)
        assert digest(read(exported)) == digest(source)
        assert write(read(exported), format) == exported


def test_a_plain_document_is_exported_as_llm_catalog() -> None:
    assert write(example()).startswith(b'format = "llm.catalog/1"\n')
    assert json.loads(write(example(), "json"))["format"] == "llm.catalog/1"
    assert read(write(Document())) == Document()


def test_a_drain_limit_may_be_a_date_time_of_toml() -> None:
    exported = write(document(changed(small(), serving_models__0__drain_until="2026-01-01T00:00Z")))
    dated = exported.replace(b'"2026-01-01T00:00:00.000Z"', b"2026-01-01T01:00:00+01:00")

    assert dated != exported
    moment = next(one.drain_until for one in read(dated).serving_models if one.drain_until)
    assert moment.utcoffset() == timedelta(0)
    assert write(read(dated)) == exported


@given(data=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_bytes_do_more_than_being_refused(data: bytes) -> None:
    with pytest.raises(Invalid):
        read(data)


@given(
    values=st.dictionaries(
        st.sampled_from(["format", *tables, "defaults"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.sampled_from(["id", "name", "headers", "probe"]), inner)
            ),
            max_leaves=6,
        ),
    ),
    format=st.sampled_from(["llm.catalog/1", "routeradmin.catalog/1"]),
)
def test_no_values_do_more_than_being_refused(values: dict[str, Any], format: str) -> None:
    with contextlib.suppress(Invalid):
        from_values({**values, "format": format})
