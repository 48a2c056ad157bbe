"""A rendering may take so much time for keys and passwords; the next one may again."""

from collections import Counter

import pytest

from tests.unit.sprig.around import around
from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.surroundings import MAX_SLOW


def test_slow_work_is_paid_for_and_each_rendering_begins_anew() -> None:
    given = around()
    given.pay(MAX_SLOW)
    with pytest.raises(GoError, match="too many keys and passwords"):
        given.pay(1)
    given.renew()
    given.pay(MAX_SLOW)


def test_numbers_below_a_bound_are_all_as_likely() -> None:
    given = around()
    counts = Counter(given.below(3) for _ in range(3000))
    assert set(counts) == {0, 1, 2}
    assert min(counts.values()) > 900
    assert 0 <= given.below(1 << 63) < 1 << 63
