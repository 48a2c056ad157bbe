"""Benchmarks: each beside a peer or the bare mechanism in the same run; they print ratios and assert nothing."""
