"""How often somebody may ask."""

from tinkbox.model.rates import Buckets, Rate

SLOW = Rate(burst=3, a_second=0.5)


def taken(buckets: Buckets, key: str, now: float, asked: int = 10) -> int:
    return sum(buckets.take(key, now) for _ in range(asked))


def test_a_burst_is_admitted_and_then_so_many_a_second() -> None:
    buckets = Buckets(SLOW, 9)
    assert taken(buckets, "a", 100.0) == 3
    assert taken(buckets, "a", 101.9) == 0
    assert taken(buckets, "a", 102.0) == 1, "asking in vain costs nothing"
    assert taken(buckets, "a", 106.0) == 2
    assert taken(buckets, "a", 1e6) == 3, "no more than a burst is saved up"


def test_what_counts_in_bytes_takes_as_many_and_in_vain_none() -> None:
    buckets = Buckets(SLOW, 9)
    assert [buckets.take("a", 100.0, amount) for amount in (2, 2, 1, 1)] == [True, False, True, False]
    assert [buckets.take("a", 104.0, amount) for amount in (3, 2)] == [False, True]


def test_a_clock_that_is_set_back_takes_nothing_from_anybody() -> None:
    buckets = Buckets(SLOW, 9)
    assert taken(buckets, "a", 5000.0, 1) == 1
    assert taken(buckets, "a", 100.0) == 2
    assert taken(buckets, "a", 102.0) == 1


def test_everybody_has_a_bucket_of_their_own() -> None:
    buckets = Buckets(SLOW, 9)
    assert [taken(buckets, each, 100.0) for each in ("a", "b", "a")] == [3, 3, 0]


def test_whoever_asked_longest_ago_is_forgotten() -> None:
    buckets = Buckets(SLOW, 2)
    for each in ("a", "b", "a", "c"):
        buckets.take(each, 100.0)
    assert (len(buckets), "a" in buckets, "b" in buckets, "c" in buckets) == (2, True, False, True)
    assert taken(buckets, "a", 100.0) == 1
