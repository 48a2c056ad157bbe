"""Machines that went away by intention: when a boot that was seen counts as theirs."""

from tinkbox.engine.machines.absences import SILENCE, Absences


class Lab:
    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self.absences = Absences(lambda: self.now, self.asked.append)


def test_a_silent_workers_machine_is_back_after_a_while_and_only_once() -> None:
    lab = Lab()
    lab.absences.seen("m", "attempt")
    assert (lab.absences.is_doubted("m"), lab.absences.next_in()) == (True, SILENCE)
    lab.now = SILENCE - 0.5
    assert (lab.absences.over(), lab.absences.next_in()) == (set(), 0.5)
    lab.now = SILENCE
    assert lab.absences.over() == {"attempt"}
    assert (lab.absences.over(), lab.absences.next_in()) == (set(), None)


def test_a_worker_is_asked_once_however_often_its_machine_is_seen() -> None:
    lab = Lab()
    for _ in range(64):
        lab.absences.seen("m", "attempt")
        lab.now += SILENCE / 64
    assert lab.asked == ["m"]
    assert lab.absences.over() == {"attempt"}


def test_a_worker_that_is_there_takes_the_doubt_away() -> None:
    lab = Lab()
    assert not lab.absences.heard("m")
    lab.absences.seen("m", "attempt")
    assert lab.absences.heard("m")
    assert not lab.absences.is_doubted("m")
    lab.now = 2 * SILENCE
    assert not lab.absences.over()
    lab.absences.seen("m", "attempt")
    assert lab.asked == ["m", "m"]


def test_the_next_action_that_sends_a_machine_away_is_a_new_absence() -> None:
    lab = Lab()
    lab.absences.seen("m", "first")
    lab.now = SILENCE
    lab.absences.seen("m", "second")
    assert not lab.absences.over()
    lab.now = 2 * SILENCE
    assert lab.absences.over() == {"second"}
