"""Catalog files are read exactly, and refused with every place that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.catalog.document import Document
from routeradmin.catalog.files import read
from routeradmin.catalog.files.reading import MAX_BYTES, MAX_DECLARATIONS
from routeradmin.catalog.problems import Invalid
from tests.catalog.documents import GONE, changed, example, example_bytes, small

LLM = "llm.catalog/1"


def llm(**changes: Any) -> dict[str, Any]:
    values = {kind: small()[kind] for kind in Document.LLM}
    plain = changed(values, models__1__upstream_name="x", routes__2__alias="w")
    return changed({"format": LLM, **plain}, **changes)


def refused(values: Any) -> dict[str, str]:
    data = values if isinstance(values, bytes) else json.dumps(values).encode()
    with pytest.raises(Invalid) as caught:
        read(data)
    return {problem.pointer: problem.detail for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("providers/0/name", "P"),
        ("accounts/0/tags", []),
        ("endpoints/0/headers", {}),
        ("models/0/name", "M"),
        ("serving_models/0/weight", 1),
        ("serving_models/0/capabilities/vision", True),
        ("routes/0/strategy", "round_robin"),
        ("aliases", []),
        ("defaults", {}),
    ],
)
def test_llm_catalog_refuses_fields_of_the_superset_even_at_their_default(
    place: str, value: Any
) -> None:
    assert list(refused(llm(**{place.replace("/", "__"): value}))) == [f"/{place}"]


@pytest.mark.parametrize("kind", Document.LLM)
def test_llm_catalog_requires_all_seven_lists(kind: str) -> None:
    assert f"/{kind}" in refused(llm(**{kind: GONE}))


@pytest.mark.parametrize(
    "place",
    [
        *(
            f"serving_models/0/capabilities/{name}"
            for name in (
                "tools",
                "tool_choice",
                "temperature",
                "top_p",
                "reasoning_efforts",
                "context_window",
                "max_output_tokens",
            )
        ),
        "serving_models/0/capabilities",
        "serving_models/0/protocol",
        "providers/0/category",
        "accounts/0/auth_kind",
        "endpoints/0/base_url",
        "models/0/upstream_name",
        "routes/0/alias",
        "targets/0/position",
    ],
)
def test_llm_catalog_requires_every_declared_field(place: str) -> None:
    assert list(refused(llm(**{place.replace("/", "__"): GONE}))) == [f"/{place}"]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("routes/0/alias", "two words"),
        ("routes/0/alias", "größe"),
        ("serving_models/0/protocol", "embeddings"),
        ("targets/1/position", 0),
        ("providers/0/id", ""),
        ("providers/0/id", "x" * 257),
        ("providers/0/category", "a b"),
        ("models/0/upstream_name", "日本"),
        ("accounts/0/secret_reference_id", "tab\t"),
        ("accounts/0/auth_kind", "oauth"),
        ("accounts/0/billing_kind", "free"),
        ("serving_models/0/capabilities/tools", 1),
        ("serving_models/0/capabilities/context_window", 0),
        ("serving_models/0/capabilities/context_window", 4096.0),
        ("serving_models/0/capabilities/max_output_tokens", -1),
        ("serving_models/0/capabilities/reasoning_efforts", "low"),
        ("routes/0/fallback_enabled", "false"),
        ("targets/0/position", -1),
        ("targets/0/position", True),
    ],
)
def test_llm_catalog_refuses_values_outside_its_grammar(place: str, value: Any) -> None:
    problems = refused(llm(**{place.replace("/", "__"): value}))
    assert [one for one in problems if one.startswith(f"/{place}")]


def test_a_route_of_llm_catalog_has_at_most_64_targets() -> None:
    deployments = [{**llm()["serving_models"][0], "id": f"x{n}"} for n in range(65)]
    targets = [
        {"id": f"t{n}", "route_id": "r", "serving_model_id": f"x{n}", "position": n}
        for n in range(65)
    ]
    values = llm(serving_models=deployments, targets=targets)

    assert list(refused(values)) == ["/targets/64"]
    assert len(read(json.dumps({**values, "format": "routeradmin.catalog/1"}).encode()).targets)


def test_the_superset_needs_no_list_at_all() -> None:
    assert read(b'{"format": "routeradmin.catalog/1"}') == Document()


@pytest.mark.parametrize("format", [GONE, "llm.catalog/2", 1, None, ["llm.catalog/1"]])
def test_a_missing_or_foreign_format_is_refused(format: Any) -> None:
    assert list(refused(changed(llm(), format=format))) == ["/format"]


def test_both_formats_of_one_shape_read_alike() -> None:
    values = {"format": LLM, **example().model_dump(exclude_unset=True, mode="json")}

    assert read(json.dumps(values).encode()) == example()
    assert read(b"\xef\xbb\xbf" + example_bytes()) == example()


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'format = "llm.catalog/1"\nx = = 1', "line 2, column 5"),
        (b'format = "llm.catalog/1"\nx = [', "end of document"),
        (b'{"format": "llm.catalog/1",\n "x": }', "line 2, column 7"),
        (b"\xff\xfe", "byte 0"),
    ],
)
def test_syntax_errors_are_placed_and_quote_nothing(data: bytes, place: str) -> None:
    problems = refused(data)
    assert place in problems[""]
    assert "=" not in problems[""]


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"x = " + b"[" * 200_000,
        b"x = " + b"1" * 5000,
        b'{"x": ' + b"1" * 5000 + b"}",
        b'{"x": NaN}',
        b'{"x": 1, "x": 2}',
        b"[]",
        b"",
    ],
)
def test_hostile_files_are_refused_and_never_crash(data: bytes) -> None:
    assert refused(data)


def test_every_problem_is_told_at_once_in_the_order_of_the_file() -> None:
    values = changed(
        small(),
        endpoints__0__base_url="ftp://x",
        serving_models__3__weight=2**31,
        providers__1__colour="blue",
        routes__0__strategy="best",
        policies__0__retry={"max_attempts": 17},
        policies__0__classify=[{"class": "quota"}],
    )
    assert list(refused(values)) == [
        "/providers/1/colour",
        "/endpoints/0/base_url",
        "/serving_models/3/weight",
        "/routes/0/strategy",
        "/policies/0/classify/0",
        "/policies/0/retry/max_attempts",
    ]


def test_values_are_never_echoed() -> None:
    secret = "sk-very-secret-value"
    values = changed(
        small(),
        endpoints__0__base_url=f"https://user:{secret}@a.example/",
        endpoints__1__headers={"x-extra": secret + "\n"},
        accounts__0__auth_kind=secret,
        serving_models__0__weight=secret,
        routes__0__strategy=secret,
        routes__1__alias=secret + "\x00",
        serving_models__1__drain_until=secret,
    )
    problems = refused(values)
    assert len(problems) == 7
    assert secret not in repr(problems)


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "X-Api-Key", "Host", "cookie", "Proxy-Authorization", "Connection"),
        *("transfer-encoding", "content-length", "TE", "bad name", "", "x" * 129),
    ],
)
def test_headers_cannot_carry_keys_or_steer_the_connection(name: str) -> None:
    assert refused(changed(small(), endpoints__0__headers={name: "v"}))
    if name.lower() not in ("authorization", "x-api-key"):
        assert refused(changed(small(), accounts__3__api_key_header=name))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("proxy", "https://user:pass@proxy.example"),
        ("proxy", "socks5://proxy.example"),
        ("proxy", "http://proxy.example/path"),
        ("ca_file", "relative.pem"),
        ("connect_timeout_s", 0),
        ("idle_timeout_s", -1),
        ("total_timeout_s", 10**10),
        ("base_url", "file:///etc/passwd"),
        ("base_url", "https://a.example/v1?x=1"),
        ("base_url", "https://a.example/v1#x"),
        ("base_url", "https://"),
        ("base_url", "https://a.example/" + "x" * 4096),
        ("base_url", "https://a.example/\u0000"),
        ("probe", {"mode": "ping"}),
        ("probe", {"interval_s": 0}),
        ("probe", {"failure_threshold": 0}),
    ],
)
def test_endpoints_refuse_values_that_cannot_be_used(place: str, value: Any) -> None:
    problems = refused(changed(small(), **{f"endpoints__0__{place}": value}))
    assert [one for one in problems if one.startswith(f"/endpoints/0/{place}")]


def test_names_are_trimmed_and_composed_so_that_one_name_has_one_spelling() -> None:
    values = changed(small(), routes__0__alias="  cafe\u0301 ", aliases__1__target="caf\u00e9")
    read_back = read(json.dumps(values).encode())

    assert read_back.routes[0].alias == read_back.aliases[1].target == "caf\u00e9"


@pytest.mark.parametrize("text", ["a\nb", "a\x7f", "a\u2028b", "\ud800", "", "   ", "é" * 129])
def test_names_hold_no_control_characters_and_256_bytes_at_most(text: str) -> None:
    assert list(refused(changed(small(), routes__0__name=text))) == ["/routes/0/name"]


def test_patterns_hold_one_star() -> None:
    assert list(refused(changed(small(), routes__2__alias="a*b*"))) == ["/routes/2/alias"]
    assert list(refused(changed(small(), models__1__upstream_name="**"))) == [
        "/models/1/upstream_name"
    ]


def test_what_a_file_leaves_out_can_be_told_from_what_it_states() -> None:
    stated = changed(small(), serving_models__0__admin_state="enabled")
    first, second = read(json.dumps(stated).encode()).serving_models[:2]

    assert "admin_state" in first.model_fields_set
    assert "admin_state" not in second.model_fields_set


def test_limits_of_size_and_count_are_named_too_large() -> None:
    padding = b"#" * (2 * 1024 * 1024)
    providers = [{"id": f"p{n}", "category": "c"} for n in range(4097)]
    for data in (
        example_bytes() + padding,
        b"x" * (MAX_BYTES + 1),
        json.dumps(llm(providers=providers)).encode(),
        json.dumps({"format": "routeradmin.catalog/1", "models": [0] * (MAX_DECLARATIONS + 1)}),
    ):
        with pytest.raises(Invalid) as caught:
            read(data if isinstance(data, bytes) else data.encode())
        assert caught.value.code == "too-large"
    superset = {"format": "routeradmin.catalog/1", "providers": providers}
    assert len(read(json.dumps(superset).encode()).providers) == 4097
