"""Benchmarks; each prints ratios measured in one run, since machines differ and drift."""
