"""Whatever bytes an upstream answers with: the right halt, and none of them for anybody else."""

from __future__ import annotations

import pytest

from tests.dataplane.catalogs import document
from tests.dataplane.evil import LEAKED, SAID, Evil, EvilUpstream, beside, evils
from tests.dataplane.fault_table import Expected
from tests.dataplane.serving import Answer, Gateway, chat

EVILS = list(evils())


@pytest.mark.parametrize("evil", EVILS, ids=[evil.id for evil in EVILS])
def test_raw_evil_has_its_consequence_and_harms_nobody_else(gate: Gateway, evil: Evil) -> None:
    with beside(gate, evil) as upstream:
        gate.use(
            document(
                gate.upstream,
                "a",
                policy={"retry": {"max_attempts": 2}, "cooldown": {"allowed_fails": 100}},
                deployments={"a": {"base_url": upstream.url}},
            )
        )
        answer = gate.post(chat(stream=evil.stream))
        check(gate, evil, upstream, answer)
        upstream.good = True
        other = gate.post(chat())
        assert (other.status, other.json["choices"][0]["message"]["content"]) == (200, SAID)
        assert LEAKED.encode() not in other.body
        assert gate.active == 0


def check(gate: Gateway, evil: Evil, upstream: EvilUpstream, answer: Answer) -> None:
    expected: Expected = evil.expected
    halt = gate.record["halt"]
    assert (halt, answer.status, upstream.calls) == (
        expected.halt,
        expected.status,
        expected.calls,
    ), answer.body[:300]
    assert gate.active == 0
    assert LEAKED.encode() not in answer.body
    if answer.status != 200:
        assert answer.error["code"] == expected.code
    elif evil.stream:
        assert answer.events.count("[DONE]") == int(halt == "succeeded")
        assert bool(answer.frames[-1].get("error")) == (halt != "succeeded")
