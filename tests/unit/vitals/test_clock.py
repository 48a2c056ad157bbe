"""A clock that is set while it is watched."""

from datetime import UTC, datetime, timedelta

from tinkbox.vitals.clock import TOLD_FOR, ClockWatch

BEGIN = datetime(2026, 11, 29, 12, tzinfo=UTC)


class Clocks:
    def __init__(self) -> None:
        self.wall = BEGIN
        self.steady = 1000.0
        self.watch = ClockWatch(lambda: self.wall, lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.steady += seconds


def test_a_clock_that_goes_on_has_not_jumped() -> None:
    clocks = Clocks()
    for _ in range(100):
        clocks.pass_by(3600)
        clocks.wall += timedelta(milliseconds=20)
        assert clocks.watch.look() is None


def test_a_jump_is_told_for_an_hour_with_its_size() -> None:
    clocks = Clocks()
    clocks.pass_by(10)
    clocks.wall += timedelta(days=365)
    jump = clocks.watch.look()
    assert jump is not None
    assert (jump.at, jump.by) == (clocks.wall, timedelta(days=365))
    clocks.pass_by(TOLD_FOR.total_seconds())
    assert clocks.watch.look() == jump
    clocks.pass_by(1)
    assert clocks.watch.look() is None


def test_small_steps_that_add_up_are_a_jump() -> None:
    clocks = Clocks()
    clocks.wall -= timedelta(seconds=4)
    assert clocks.watch.look() is None
    clocks.wall -= timedelta(seconds=4)
    jump = clocks.watch.look()
    assert jump is not None
    assert jump.by == timedelta(seconds=-8)
