"""The semantic cache."""

from __future__ import annotations

import pytest

from routeradmin.adapters.embeddings import unit_rows
from routeradmin.services.intent.cache import SemanticCache

NOW = 1000.0


def digests(cache: SemanticCache, count: int) -> list[bytes]:
    return [cache.digest(f"text {n}") for n in range(count)]


def test_the_same_text_is_found_again_and_a_key_of_its_own_makes_digests() -> None:
    one, other = SemanticCache(10, 0.95, 0), SemanticCache(10, 0.95, 0)
    one.keep(one.digest("text"), "coding", 0.9, NOW)
    found = one.exact(one.digest("text"), NOW + 1e9)
    assert found is not None
    assert (found.intent_id, found.confidence) == ("coding", 0.9)
    assert one.digest("text") != other.digest("text")


def test_the_least_recently_used_goes_first() -> None:
    cache = SemanticCache(2, 0.95, 0)
    a, b, c = digests(cache, 3)
    cache.keep(a, "a", 1, NOW)
    cache.keep(b, "b", 1, NOW)
    assert cache.exact(a, NOW)
    cache.keep(c, "c", 1, NOW)
    assert cache.exact(b, NOW) is None
    assert cache.exact(a, NOW)
    assert cache.evictions == 1
    assert len(cache) == 2


def test_with_a_ttl_entries_age() -> None:
    cache = SemanticCache(2, 0.95, 60)
    (a,) = digests(cache, 1)
    cache.keep(a, "a", 1, NOW)
    assert cache.exact(a, NOW + 59.9)
    assert cache.exact(a, NOW + 60) is None
    assert len(cache) == 0


def test_none_at_all_is_a_cache_that_is_off() -> None:
    cache = SemanticCache(0, 0.95, 0)
    cache.keep(b"x", "a", 1, NOW)
    assert not cache.is_on
    assert len(cache) == 0


@pytest.mark.semantic
def test_a_similar_text_is_found_from_the_similarity_on() -> None:
    cache = SemanticCache(10, 0.95, 0)
    rows = unit_rows([[1, 0], [1, 0.3], [1, 0.4]])
    cache.keep(b"a", "a", 1, NOW, rows[0])
    found = cache.similar(rows[1], NOW)
    assert found is not None
    assert found[0].intent_id == "a"
    assert found[1] == pytest.approx(0.958, abs=0.001)
    assert cache.similar(rows[2], NOW) is None


@pytest.mark.semantic
def test_rows_are_used_again_and_old_ones_answer_no_more() -> None:
    cache = SemanticCache(300, 0.99, 60)
    rows = unit_rows([[1, n / 50] for n in range(900)])
    for n, digest in enumerate(digests(cache, 900)):
        cache.keep(digest, str(n), 1, NOW, rows[n])
    assert len(cache) == 300
    found = cache.similar(rows[899], NOW)
    assert found is not None
    assert int(found[0].intent_id) >= 600  # neighbours are alike; none of those gone is told
    assert cache.similar(rows[0], NOW) is None
    assert cache.similar(rows[899], NOW + 60) is None
