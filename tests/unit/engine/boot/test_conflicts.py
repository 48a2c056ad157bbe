"""How far those are believed who answer for the addresses of a pool."""

from tinkbox.engine.boot.conflicts import KEPT_OUT_BRIEFLY_SECONDS, KEPT_OUT_SECONDS, Conflicts
from tinkbox.model.limits import BELIEVED_OF_ONE_HOST

LIAR = "02:00:00:00:00:66"


def kept_out(
    conflicts: Conflicts, numbers: range, by: str = LIAR, now: float = 0.0, *, needed: bool = True
) -> list[int]:
    return [conflicts.answered(each, by, now, needed=needed) for each in numbers]


def test_one_host_keeps_a_few_addresses_from_known_machines_and_no_more() -> None:
    conflicts = Conflicts(100)
    said = kept_out(conflicts, range(37))
    assert said == [KEPT_OUT_SECONDS] * BELIEVED_OF_ONE_HOST + [0] * (37 - BELIEVED_OF_ONE_HOST)
    assert conflicts.not_believed(0.0) == [(LIAR, 37)]
    assert kept_out(conflicts, range(50, 51), by="another") == [KEPT_OUT_SECONDS]


def test_when_a_host_answered_last_is_known_and_when_any_did() -> None:
    conflicts = Conflicts(100)
    kept_out(conflicts, range(3))
    kept_out(conflicts, range(3, 5), by="another", now=40.0)
    assert (conflicts.seconds_since(LIAR, 60.0), conflicts.seconds_since("", 60.0)) == (60.0, 20.0)


def test_in_a_small_pool_one_host_is_believed_for_two_addresses() -> None:
    assert kept_out(Conflicts(5), range(4)) == [KEPT_OUT_SECONDS, KEPT_OUT_BRIEFLY_SECONDS, 0, 0]


def test_hosts_with_as_many_macs_as_addresses_keep_a_part_of_a_pool_from_known_machines_and_no_more() -> None:
    conflicts = Conflicts(100)
    said = [conflicts.answered(each, f"02:{each}", 0.0, needed=True) for each in range(100)]
    assert said == [KEPT_OUT_SECONDS] * 25 + [0] * 75
    assert conflicts.not_believed(0.0) == [("", 100)]
    assert conflicts.answered(101, "03:1", 0.0, needed=False) == KEPT_OUT_BRIEFLY_SECONDS


def test_a_host_whose_mac_does_not_show_may_be_many() -> None:
    assert kept_out(Conflicts(100), range(100), by="") == [KEPT_OUT_SECONDS] * 25 + [0] * 75


def test_unknown_machines_are_not_lent_what_a_liar_claims() -> None:
    conflicts = Conflicts(100)
    assert kept_out(conflicts, range(50), needed=False) == [KEPT_OUT_SECONDS] * 25 + [KEPT_OUT_BRIEFLY_SECONDS] * 25


def test_an_answer_counts_for_ten_minutes_and_once_for_an_address() -> None:
    conflicts = Conflicts(100)
    for now in range(20):
        kept_out(conflicts, range(3), now=float(now))
    assert conflicts.not_believed(19.0) == []
    kept_out(conflicts, range(3, 12), now=20.0)
    assert conflicts.not_believed(20.0) == [(LIAR, 12)]
    assert conflicts.not_believed(20.0 + KEPT_OUT_SECONDS) == []
    assert kept_out(conflicts, range(40, 41), now=20.0 + KEPT_OUT_SECONDS) == [KEPT_OUT_SECONDS]


def test_what_was_kept_out_before_a_restart_counts() -> None:
    conflicts = Conflicts(8)
    conflicts.restored(1, 0.0)
    conflicts.restored(2, 0.0)
    assert kept_out(conflicts, range(3, 4), needed=False) == [KEPT_OUT_BRIEFLY_SECONDS]
    assert kept_out(conflicts, range(4, 5)) == [0]
