"""Faults that users of gateways reported of configuration, seen from the upstream's side.

The gateway serves from its own thread; changes are written to a database in the test's.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from routeradmin.adapters.references import References
from routeradmin.adapters.simulated.calls import fingerprint
from routeradmin.catalog.document import Document
from routeradmin.catalog.files import read
from routeradmin.services import changes, publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import Actor
from tests.catalog.documents import example_bytes
from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway

ADA = Actor("user:ada")
FIRST, SECOND = "sk-first-0123456789", "sk-second-0123456789"

Publish = Callable[[Document], None]


@pytest.fixture
def publish(gate: Gateway, db: None) -> Iterator[Publish]:
    """Write a whole catalog; afterwards ``changes`` of any kind are in force in the gateway."""
    runtime = gate.runtime
    runtime.references = References({})
    with runtimes.use(runtime):
        publishing.load(runtime)
        gate.key()
        yield lambda wanted: void(changes.replace_document(wanted, ADA, mode="replace"))


def void(_: object) -> None:
    pass


def key_seen(gate: Gateway) -> str:
    """The fingerprint of the key that the upstream saw last."""
    found: str = gate.last_call()["credential"]
    return found


class TestAKeyThatIsReplaced:
    def test_is_used_by_the_very_next_request_and_the_old_one_never_again(
        self, gate: Gateway, publish: Publish
    ) -> None:
        publish(document(gate.upstream, "a"))
        changes.replace_secret("a", FIRST, ADA)
        assert gate.post().status == 200
        assert key_seen(gate) == fingerprint(FIRST)
        changes.replace_secret("a", SECOND, ADA)
        for _ in range(2):
            assert gate.post().status == 200
            assert key_seen(gate) == fingerprint(SECOND)

    def test_in_its_file_is_noticed_without_a_publish(
        self, gate: Gateway, publish: Publish, tmp_path: Path
    ) -> None:
        file = tmp_path / "key"
        file.write_text(FIRST)
        wanted = document(gate.upstream, "a")
        (account,) = wanted.accounts
        renamed = account.model_copy(update={"secret_reference_id": f"file:{file}"})
        publish(wanted.model_copy(update={"accounts": (renamed,)}))
        assert gate.post().status == 200
        assert key_seen(gate) == fingerprint(FIRST)
        revision = gate.runtime.current.revision
        file.write_text(SECOND + "\n")
        assert publishing.outside_secrets_changed(gate.runtime)
        publishing.refresh_secrets(gate.runtime)
        assert gate.post().status == 200
        assert key_seen(gate) == fingerprint(SECOND)
        assert gate.runtime.current.revision == revision

    @pytest.mark.parametrize("echo", ["***", "sk-***6789", "••••", "sk-first...", "xxxxxxxxxxxx"])
    def test_by_its_own_mask_stays_what_it_was(
        self, gate: Gateway, publish: Publish, echo: str
    ) -> None:
        publish(document(gate.upstream, "a"))
        changes.replace_secret("a", FIRST, ADA)
        changes.update("credentials", "a", {"name": "A"}, ADA, if_match="*")
        with pytest.raises(changes.Invalid):
            changes.update("credentials", "a", {"name": "B", "secret": echo}, ADA, if_match="*")
        with pytest.raises(changes.Invalid):
            changes.replace_secret("a", echo, ADA)
        assert gate.post().status == 200
        assert key_seen(gate) == fingerprint(FIRST)


class TestWhatIsSwitchedOffOrDeleted:
    @pytest.fixture(autouse=True)
    def _served(self, gate: Gateway, publish: Publish) -> None:
        wanted = document(
            gate.upstream,
            "exact",
            deployments={"star": {}},
            routes=[{"id": "pattern", "alias": "p-*"}],
            more_targets=[("pattern", "star", 0)],
        )
        models = tuple(
            one.model_copy(update={"upstream_name": "*"}) if one.id == "star" else one
            for one in wanted.models
        )
        publish(wanted.model_copy(update={"models": models}))
        for account in ("exact", "star"):
            changes.replace_secret(account, FIRST, ADA)

    @pytest.mark.parametrize(("name", "id"), [("chat", "exact"), ("p-1", "star")])
    def test_is_not_called_again_whether_named_exactly_or_by_a_pattern(
        self, gate: Gateway, name: str, id: str
    ) -> None:
        assert gate.post(model=name).status == 200
        before = gate.calls()
        changes.disable(id, ADA)
        assert gate.post(model=name).status == 503
        changes.enable(id, ADA)
        assert gate.post(model=name).status == 200
        changes.delete("deployments", id, ADA, if_match="*", cascade=True)
        assert gate.post(model=name).status == 404
        assert gate.calls() == before + 1


def test_a_limit_is_not_overrun_by_requests_of_one_instant(gate: Gateway, publish: Publish) -> None:
    retry = {"retry": {"max_attempts": 1}}
    publish(document(gate.upstream, "a", deployments={"a": {"rpm_limit": 5}}, policy=retry))
    changes.replace_secret("a", FIRST, ADA)
    with ThreadPoolExecutor(20) as pool:
        statuses = sorted(answer.status for answer in pool.map(lambda _: gate.post(), range(20)))
    assert statuses == [200] * 5 + [429] * 15
    assert gate.calls("a") == 5


def test_an_alias_chain_of_sixteen_answers_and_one_of_seventeen_is_never_saved(
    gate: Gateway, publish: Publish
) -> None:
    def chain(length: int) -> list[dict[str, Any]]:
        names = [f"n{n}" for n in range(length)] + ["chat"]
        return [{"name": names[n], "target": names[n + 1]} for n in range(length)]

    publish(document(gate.upstream, "a", aliases=chain(16)))
    changes.replace_secret("a", FIRST, ADA)
    assert gate.post(model="n0").status == 200
    with pytest.raises(changes.Invalid, match="16"):
        publish(document(gate.upstream, "a", aliases=chain(17)))
    for loop, told in (
        ([{"name": x, "target": y} for x, y in ("ab", "bc", "ca")], "a -> b -> c -> a"),
        ([{"name": "a", "target": "a"}], "a is an alias of itself"),
    ):
        with pytest.raises(changes.Invalid, match=told):
            publish(document(gate.upstream, "a", aliases=loop))
    before = gate.calls()
    assert gate.post(model="c").status == 404
    assert gate.calls() == before


def explained(gate: Gateway, **asked: Any) -> dict[str, Any]:
    answer = gate.post(json.dumps({"model": "code", **asked}).encode(), "/api/v1/explain")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    return found


def reasons(found: dict[str, Any]) -> list[list[str]]:
    return [target["rejections"] for target in found["targets"]]


class TestTheShippedExampleOverHttp:
    """The published cases of llm.catalog/1, imported and then asked for as a client does."""

    def test_explains_as_published(self, gate: Gateway, publish: Publish) -> None:
        publish(read(example_bytes()))
        found = explained(gate, input_tokens=512, max_output_tokens=256)
        assert found["selected_target_id"] == "coding-primary"
        assert found["config_digest"].startswith("1365b05f")
        assert reasons(found) == [[], ["fallback-disabled"]]
        bindings = [target["provenance"]["binding_revision"][:8] for target in found["targets"]]
        assert bindings == ["1a6ea40f", "5dd662a7"]

    def test_is_the_same_catalog_in_any_order(self, gate: Gateway, publish: Publish) -> None:
        publish(read(example_bytes()))
        values = tomllib.loads(example_bytes().decode())
        shuffled = {
            kind: entries[::-1] if isinstance(entries, list) else entries
            for kind, entries in reversed(values.items())
        }
        for endpoint in shuffled["endpoints"]:
            endpoint["base_url"] = endpoint["base_url"].rstrip("/") + "/"
        done = changes.import_file(json.dumps(shuffled).encode(), ADA, mode="replace")
        assert done.imported.changed is False
        for target in shuffled["targets"]:
            target["position"] = 1 - target["position"]
        changes.import_file(json.dumps(shuffled).encode(), ADA, mode="replace")
        found = explained(gate, input_tokens=512)
        assert found["selected_target_id"] == "coding-secondary"
        assert not found["config_digest"].startswith("1365b05f")

    def test_needs_fallback_for_what_the_first_target_cannot_do(
        self, gate: Gateway, publish: Publish
    ) -> None:
        publish(read(example_bytes()))
        changes.replace_secret("remote", SECOND, ADA)
        asked = {"input_tokens": 512, "temperature": 0.5}
        found = explained(gate, **asked)
        assert (found["selected_target_id"], reasons(found)) == (
            None,
            [["temperature"], ["fallback-disabled"]],
        )
        answer = gate.post(json.dumps({"model": "code", **asked}).encode(), "/api/v1/select")
        assert (answer.status, answer.error["code"]) == (400, "unsupported")
        assert answer.error["reasons"] == ["fallback-disabled", "temperature"]
        changes.update("routes", "coding", {"fallback_enabled": True}, ADA, if_match="*")
        assert explained(gate, **asked)["selected_target_id"] == "coding-secondary"

    def test_tells_every_reason_in_order(self, gate: Gateway, publish: Publish) -> None:
        publish(read(example_bytes()))
        found = explained(
            gate,
            requires=["tools"],
            tool_choice="required",
            temperature=1.0,
            top_p=0.5,
            reasoning_effort="high",
            max_output_tokens=2000,
            input_tokens=4000,
        )
        assert reasons(found)[0] == [
            "tools",
            "tool-choice",
            "temperature",
            "top-p",
            "reasoning-effort",
            "output-limit",
            "context-window",
        ]

    @pytest.mark.parametrize(
        ("input_tokens", "max_output_tokens", "told"),
        [
            (3968, 128, []),
            (3969, 128, ["context-window"]),
            (3072, None, []),
            (3073, None, ["context-window"]),
            (None, None, ["input-tokens-unknown"]),
        ],
    )
    def test_meets_its_window_exactly(
        self,
        gate: Gateway,
        publish: Publish,
        input_tokens: int | None,
        max_output_tokens: int | None,
        told: list[str],
    ) -> None:
        publish(read(example_bytes()))
        asked = {"input_tokens": input_tokens, "max_output_tokens": max_output_tokens}
        assert reasons(explained(gate, **asked))[0] == told
