"""The histogram: what a bucket holds, and what it adds up to."""

from __future__ import annotations

from routeradmin.services.metering import Histogram
from routeradmin.services.metering.text import buckets


def test_a_value_counts_in_the_bucket_whose_bound_it_reaches() -> None:
    histogram = Histogram((1, 2.5))
    for value in (0.5, 1, 1.1, 2.5, 7):
        histogram.observe(value)
    assert "".join(buckets("h", 'a="b"', histogram)) == (
        'h_bucket{a="b",le="1.0"} 2\n'
        'h_bucket{a="b",le="2.5"} 4\n'
        'h_bucket{a="b",le="+Inf"} 5\n'
        'h_sum{a="b"} 12.1\n'
        'h_count{a="b"} 5\n'
    )
    assert (histogram.count, histogram.total) == (5, 12.1)


def test_an_empty_one_says_so_in_every_bucket() -> None:
    assert "".join(buckets("h", "", Histogram((1,)))) == (
        'h_bucket{le="1.0"} 0\nh_bucket{le="+Inf"} 0\nh_sum 0.0\nh_count 0\n'
    )
