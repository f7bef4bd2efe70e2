"""The fast path and the rules never disagree, whatever the catalog, the state and the request."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from routeradmin.engine import strategies
from routeradmin.engine.eligibility import all_rejections, rejections, runtime, usable
from routeradmin.engine.explain import explain
from routeradmin.engine.refusal import Refusal
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateKey, FailureClass
from routeradmin.engine.strategies import Field
from routeradmin.engine.tables import Table
from routeradmin.engine.windows import window
from tests.engine.anything import any_case, any_request, any_world
from tests.engine.world import NOW, World, catalog, deployment, route

seeds = st.integers(0, 2**48)
keys = st.sets(st.sampled_from([CandidateKey(f"d{n}", "k0") for n in range(3)]))
LONG = settings(max_examples=10_000, deadline=None)
SHORT = settings(max_examples=1000, deadline=None)


def twin(rng: Random) -> Random:
    copy = Random()
    copy.setstate(rng.getstate())
    return copy


@LONG
@given(seeds)
def test_what_explain_says_is_what_select_does(seed: int) -> None:
    world, request = any_case(seed)
    rng = twin(world.rng)
    explanation = explain(world.snapshot, "m", request, world.store, NOW, rng)
    found = world.look(request)
    reasons = {target.candidate.key: target.rejections for target in explanation.targets}
    if isinstance(found, Refusal):
        assert explanation.winner is None
        assert all(reasons.values())
        assert dict(found.candidates) == reasons
    else:
        key = found.candidate.key
        assert explanation.winner == key
        assert reasons[key] == (("cooling-down",) if found.least_bad else ())
    assert rng.getstate() == world.rng.getstate()


@SHORT
@given(seeds)
def test_a_refusal_states_a_way_out_exactly_where_there_is_one(seed: int) -> None:
    world, request = any_case(seed)
    found = world.look(request)
    if isinstance(found, Pick):
        return
    assert (
        found.status
        == {
            "unsupported": 400,
            "no_available_deployment": 503,
            "model_cooldown": 429,
            "rate_limit_exceeded": 429,
        }[found.kind]
    )
    assert found.should_retry is (found.retry_after_s is not None)
    assert found.retry_after_s is None or found.retry_after_s >= 1
    assert found.reasons == tuple(sorted({r for _, rs in found.candidates for r in rs}))


@SHORT
@given(seeds)
def test_the_first_reason_is_looked_for_with_the_same_rules(seed: int) -> None:
    world, request = any_case(seed)
    tokens = request.estimate
    for candidate in world.resolved().route.candidates:
        state = world.store.of(candidate)
        all_reasons = tuple(runtime(candidate, state, tokens, NOW))
        assert usable(candidate, state, tokens, NOW, window(NOW)) is (not all_reasons)
        limits = [r for r in all_reasons if r not in ("cooling-down", "unhealthy")]
        assert usable(candidate, state, tokens, NOW, window(NOW), True) is (not limits)


@SHORT
@given(seeds)
def test_looking_up_once_what_candidates_share_changes_no_reason(seed: int) -> None:
    world, request = any_case(seed)
    route_ = world.resolved().route
    found = all_rejections(route_, request, world.store, NOW)
    assert found == [
        (candidate, rejections(candidate, route_, request, world.store, NOW))
        for candidate in route_.candidates
    ]


@SHORT
@given(seeds)
def test_a_table_holds_exactly_those_that_no_standing_rule_rejects(seed: int) -> None:
    """Shared tables included: the same tier is asked for several requests in turn."""
    world, request = any_case(seed)
    route_ = world.resolved().route
    standing = {"rule", "excluded", "cooling-down", "unhealthy", "parallel-limit", "rpm-limit"}
    for tier in route_.tiers:
        for _ in range(2):
            inside = set(tier.table(request).candidates)
            for candidate in tier.candidates:
                reasons = set(rejections(candidate, route_, request, world.store, NOW))
                reasons -= standing | {"tpm-limit", "fallback-disabled"}
                assert (candidate in inside) is (not reasons and not candidate.shut)


@SHORT
@given(seeds)
def test_requests_that_share_a_table_need_the_same(seed: int) -> None:
    rng = Random(seed)
    world, asked = any_world(rng), [any_request(rng) for _ in range(6)]
    for tier in world.resolved().route.tiers:
        for request in asked:
            shared = tier.table(request)
            alone = tier._build(request)
            assert shared.candidates == alone.candidates


class Plain:
    """A view that suspects everybody: every state is looked at."""

    def __init__(self, world: World) -> None:
        self._store = world.store

    def of(self, candidate: Candidate) -> Any:
        return self._store.of(candidate)

    def row(self, table: Table) -> Any:
        return [replace(self._store.of(c), suspect=True) for c in table.candidates]

    def suspects(self, table: Table) -> None:
        return None

    def cursor(self, name: str) -> int:
        return self._store.cursor(name)


def by_value(found: object) -> object:
    """A pick without the identity of its ring's table, which may be built anew each time."""
    if not isinstance(found, Pick) or found.ring is None:
        return found
    return found._replace(ring=None), found.ring.members(), found.ring.taken


@SHORT
@given(seeds, keys, keys)
def test_looking_only_at_suspects_gives_the_answer_of_the_full_scan(
    seed: int, skip: set[CandidateKey], forgive: set[CandidateKey]
) -> None:
    world, request = any_case(seed)
    rng = twin(world.rng)
    quick = world.look(request, skip=skip, forgive=forgive)
    full = pick(world.resolved(), request, Plain(world), NOW, rng, skip=skip, forgive=forgive)
    assert by_value(quick) == by_value(full)
    assert rng.getstate() == world.rng.getstate()


@SHORT
@given(seeds)
def test_strategies_choose_as_their_one_line_rules_say(seed: int) -> None:
    world, request = any_case(seed)
    route_ = world.resolved().route
    table = route_.tiers[0].table(request)
    if not table.candidates:
        return
    field = Field(table, world.store, request.estimate, NOW, world.rng, 5)
    free = [p for p in range(len(table.candidates)) if field.free(p)]
    assert field.all_free() == free
    assert field.taken() == [p for p in range(len(table.candidates)) if p not in free]
    if not free:
        assert all(rule(field) is None for rule in strategies.BY_NAME.values())
        return
    states = field.states
    assert strategies.round_robin(field) == free[5 % len(free)]
    assert strategies.fill_first(field) == free[0]
    priority = [table.candidates[p].deployment.priority for p in free]
    assert strategies.priority_based(field) == free[priority.index(min(priority))]
    fewest = min(states[p].active for p in free)
    busy = strategies.least_busy(field)
    assert busy is not None
    assert states[busy].active == fewest
    shuffled = strategies.simple_shuffle(field)
    assert shuffled in free
    weight = {p: table.candidates[p].deployment.weight for p in free}
    assert not any(weight.values()) or weight[shuffled or 0] > 0


@given(
    weights=st.lists(st.integers(0, 4), min_size=2, max_size=5),
    keys=st.lists(st.integers(1, 3), min_size=5, max_size=5),
    cooled=st.sets(st.integers(0, 9)),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_drawing_from_the_table_has_the_shares_of_the_scan(
    weights: list[int], keys: list[int], cooled: set[int], seed: int
) -> None:
    """Against exact shares: chi-square with at most 14 degrees of freedom, p about 1e-6."""
    listed = [
        deployment(f"d{n}", weight=weight, keys=[f"k{k}" for k in range(keys[n])])
        for n, weight in enumerate(weights)
    ]
    world = World(catalog(listed, route([d.id for d in listed])), seed)
    candidates = world.resolved().route.candidates
    for place in cooled:
        if place < len(candidates):
            key = candidates[place].key
            world.cool(key.deployment, 60, key=key.credential)
    expected = exact_shares([c for p, c in enumerate(candidates) if p not in cooled])
    if not expected:
        assert world.refused().kind == "model_cooldown"
        return
    draws = 3000
    seen: Counter[CandidateKey] = Counter()
    for _ in range(draws):
        found = world.look()
        assert isinstance(found, Pick)
        seen[found.candidate.key] += 1
    assert set(seen) <= {key for key, share in expected.items() if share}
    chi = sum(
        (seen[key] - share * draws) ** 2 / (share * draws)
        for key, share in expected.items()
        if share
    )
    assert chi < 60


def exact_shares(left: list[Candidate]) -> dict[CandidateKey, float]:
    """By deployment weight, then even; even over deployments where no weight is left."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in left:
        groups.setdefault(candidate.deployment.id, []).append(candidate)
    total = sum(group[0].deployment.weight for group in groups.values())
    shares = {}
    for group in groups.values():
        weight = group[0].deployment.weight
        share = weight / total if total else 1 / len(groups)
        shares.update({candidate.key: share / len(group) for candidate in group})
    return shares


@SHORT
@given(seeds)
def test_the_least_bad_is_only_ever_a_transient_one(seed: int) -> None:
    world, request = any_case(seed)
    found = world.look(request)
    if isinstance(found, Pick) and found.least_bad:
        cooldown = world.store.of(found.candidate).cooldown
        assert cooldown is not None
        assert cooldown.cls == FailureClass.TRANSIENT
