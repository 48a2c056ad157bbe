from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.hosting import restarts
from tinkbox.hosting.restarts import Note
from tinkbox.model.command_lines import not_ours
from tinkbox.model.errors import Invalid
from tinkbox.model.services import (
    TOLD_RESTARTS,
    Phase,
    PlannedService,
    Restart,
    Restarted,
    RestartPolicy,
    Service,
    Standing,
)
from tinkbox.runtime.hosting import Health, Look

FRESH = Note(standing=Standing(run="r1", phase=Phase.STARTING))
SERVICE = PlannedService(index=0, host="", spec=Service(name="web", worker="provisioner", image="web:v1"))
UP = Look(running=True, started_at="t1", address="10.0.0.2")


def over(code: int, **fields: object) -> Look:
    look = Look(running=False, started_at="t1", ended_at="t2", seconds=5.0, exit_code=code)
    return replace(look, **fields)  # type: ignore[arg-type]


def ended(
    note: Note, look: Look, service: PlannedService = SERVICE, *, alone: bool = True
) -> tuple[Note, float | None]:
    return restarts.ended(note, look, service, ("last line",), alone=alone)


def with_policy(policy: RestartPolicy, limit: int = 5) -> PlannedService:
    return replace(SERVICE, spec=replace(SERVICE.spec, restart=Restart(policy=policy, limit=limit)))


def test_without_a_health_check_it_is_ready_when_it_was_up_for_a_second() -> None:
    note = restarts.running(FRESH, UP, 0.9, ("begins",))
    assert (note.standing.phase, note.standing.tail, note.ready) == (Phase.STARTING, ("begins",), "")
    note = restarts.running(note, UP, 1.0, ("goes on",))
    assert (note.standing.phase, note.standing.address, note.ready) == (Phase.READY, "10.0.0.2", "t1")


def test_whoever_takes_over_sees_at_once_that_it_was_ready_in_this_start_but_not_in_another() -> None:
    note = replace(FRESH, ready="t1")
    assert restarts.running(note, UP, 0.0, ()).standing.phase is Phase.READY
    assert restarts.running(note, replace(UP, started_at="t3"), 0.0, ()).standing.phase is Phase.STARTING


def test_with_a_health_check_it_is_ready_when_it_is_healthy() -> None:
    note = restarts.running(FRESH, replace(UP, health=Health.STARTING), 100, ())
    assert (note.standing.phase, note.standing.message) == (Phase.STARTING, "")
    note = restarts.running(note, replace(UP, health=Health.UNHEALTHY, probe="refused"), 100, ())
    assert (note.standing.phase, note.standing.message) == (Phase.STARTING, "its health check fails: refused")
    note = restarts.running(note, replace(UP, health=Health.HEALTHY), 100, ())
    assert (note.standing.phase, note.standing.message) == (Phase.READY, "")


def test_one_that_was_ready_becomes_unhealthy_and_ready_again() -> None:
    note = replace(FRESH, ready="t1")
    note = restarts.running(note, replace(UP, health=Health.UNHEALTHY, probe="refused"), 100, ("not shown",))
    assert (note.standing.phase, note.standing.message) == (Phase.UNHEALTHY, "its health check fails: refused")
    assert note.standing.tail == ()
    assert restarts.running(note, replace(UP, health=Health.HEALTHY), 100, ()).standing.phase is Phase.READY


def test_an_error_is_followed_by_a_restart_after_ever_longer() -> None:
    note, delays = FRESH, []
    while not note.over:
        note, delay = ended(note, over(1))
        delays.append(delay)
        if len(delays) == 3:
            assert note.standing.message == "ended with exit code 1 (last line): started again in 4 s"
            assert (note.standing.phase, note.standing.restarts) == (Phase.RESTARTING, 3)
            assert (note.standing.exit_code, note.standing.tail, note.decided) == (1, ("last line",), "t2")
    assert delays == [1, 2, 4, 8, 16, None]
    assert (note.standing.phase, note.standing.reason) == (Phase.FAILED, "ServiceFailed")
    assert note.standing.message == "ended with exit code 1 (last line), after 5 restarts in a row"
    assert note.standing.restarts == 5
    assert [each.number for each in note.standing.restarted] == [1, 2, 3, 4, 5]
    assert note.standing.restarted[2] == Restarted(
        number=3, exit_code=1, message="ended with exit code 1 (last line): started again in 4 s"
    )
    assert restarts.decode(restarts.encode(note).encode()).standing.restarted == note.standing.restarted


def test_of_restarts_the_newest_are_kept() -> None:
    note = FRESH
    for _ in range(40):
        note, _ = ended(note, over(1), with_policy(RestartPolicy.ALWAYS, 100))
    assert [each.number for each in note.standing.restarted] == list(range(41 - TOLD_RESTARTS, 41))


def test_restarts_are_counted_in_words() -> None:
    for limit, said in ((0, ""), (1, ", after 1 restart")):
        note, _ = ended(replace(FRESH, row=limit), over(1), with_policy(RestartPolicy.ON_FAILURE, limit))
        assert note.standing.message == f"ended with exit code 1 (last line){said}"


def test_one_that_was_up_for_long_begins_a_new_row() -> None:
    note = replace(FRESH, row=5, standing=replace(FRESH.standing, restarts=5))
    note, delay = ended(note, over(1, seconds=60.0))
    assert (delay, note.row, note.standing.restarts) == (1, 1, 6)


@pytest.mark.parametrize(
    ("policy", "code", "phase", "reason"),
    [
        (RestartPolicy.ON_FAILURE, 0, Phase.EXITED, ""),
        (RestartPolicy.NO, 0, Phase.EXITED, ""),
        (RestartPolicy.NO, 1, Phase.FAILED, "ServiceFailed"),
        (RestartPolicy.ALWAYS, 0, Phase.RESTARTING, ""),
    ],
)  # fmt: skip
def test_what_becomes_of_an_end_is_up_to_the_policy(
    policy: RestartPolicy, code: int, phase: Phase, reason: str
) -> None:
    note, delay = ended(FRESH, over(code), with_policy(policy))
    assert (note.standing.phase, note.standing.reason, delay is None) == (phase, reason, phase is not Phase.RESTARTING)


def test_one_that_is_to_be_up_always_and_ends_well_for_ever_has_failed() -> None:
    note, delay = ended(FRESH, over(0), with_policy(RestartPolicy.ALWAYS, limit=0))
    assert (note.standing.phase, note.standing.reason, delay) == (Phase.FAILED, "ServiceFailed", None)


def test_one_that_ends_well_before_it_is_healthy_never_served() -> None:
    note, _ = ended(FRESH, over(0, health=Health.UNHEALTHY))
    assert (note.standing.phase, note.standing.reason) == (Phase.FAILED, "ServiceEnded")
    assert note.standing.message == "ended with exit code 0 (last line) before its health check succeeded"
    for served in (replace(FRESH, ready="t0"), FRESH):
        look = over(0, health=Health.UNHEALTHY if served.ready else Health.HEALTHY)
        assert ended(served, look)[0].standing.phase is Phase.EXITED


@pytest.mark.parametrize("policy", RestartPolicy)
@pytest.mark.parametrize("code", [0, 1, 137, 255])
def test_an_end_that_is_not_its_own_is_followed_by_a_start_that_does_not_count(
    policy: RestartPolicy, code: int
) -> None:
    before = replace(FRESH, row=5, standing=replace(FRESH.standing, restarts=5))
    note, delay = ended(before, over(code), with_policy(policy), alone=False)
    assert delay == 1
    assert (note.row, note.standing.restarts, note.decided) == (5, 5, "t2")
    assert note.standing.phase is Phase.RESTARTING
    assert "engine" in note.standing.message


def test_signals_and_memory_that_ran_out_are_named() -> None:
    note, _ = ended(FRESH, over(143), with_policy(RestartPolicy.NO))
    assert (note.standing.signal, note.standing.message) == ("SIGTERM", "was ended by SIGTERM (last line)")
    note, _ = ended(FRESH, over(128 + 40), with_policy(RestartPolicy.NO))
    assert note.standing.signal == "SIGRTMIN+6"
    note, _ = ended(FRESH, over(137, out_of_memory=True), with_policy(RestartPolicy.NO))
    assert (note.standing.signal, note.standing.reason) == ("SIGKILL", "ServiceFailed")
    assert "memory ran out" in note.standing.message
    note, _ = ended(FRESH, over(137), with_policy(RestartPolicy.NO))
    assert (
        note.standing.message
        == "was ended by SIGKILL, and not through its engine: perhaps its memory ran out (last line)"
    )
    note, _ = restarts.ended(FRESH, over(255), with_policy(RestartPolicy.NO), (), alone=True)
    assert (note.standing.signal, note.standing.message) == ("", "ended with exit code 255")


def test_nothing_that_a_service_prints_looks_like_a_command_of_ours() -> None:
    said = "`tinkbox workflow cancel node1`"
    begun = restarts.running(FRESH, replace(UP, health=Health.STARTING, probe=said), 0.1, (said,))
    over_now, _ = restarts.ended(FRESH, over(1), SERVICE, (said,), alone=True)
    for note in (begun, over_now):
        assert "'tinkbox workflow cancel node1'" in note.standing.tail
        assert "`" not in f"{note.standing}"


def test_a_refusal_is_final_and_bounded() -> None:
    note = restarts.refused(FRESH, "ImageNotFound", "x" * 10_000)
    assert (note.standing.phase, note.standing.reason, len(note.standing.message)) == (
        Phase.FAILED, "ImageNotFound", 8_192,
    )  # fmt: skip
    assert note.over


def test_one_that_is_over_stays_what_it_is_when_it_is_ended() -> None:
    for phase in (Phase.EXITED, Phase.FAILED):
        note = replace(FRESH, standing=replace(FRESH.standing, phase=phase, reason="Some", exit_code=3))
        assert restarts.stopping(note) == note
        assert restarts.stopped(note, over(143)) == note


def test_one_that_is_not_wanted_any_more_is_stopping_and_then_stopped() -> None:
    note = restarts.stopping(restarts.running(FRESH, UP, 5, ()))
    assert (note.standing.phase, note.standing.address) == (Phase.STOPPING, "")
    assert restarts.stopped(note, None).standing.phase is Phase.STOPPED
    standing = restarts.stopped(note, over(137)).standing
    assert (standing.phase, standing.exit_code, standing.signal) == (Phase.STOPPED, 137, "SIGKILL")


def test_made_ready_again_it_has_no_address_and_no_trouble() -> None:
    standing = replace(FRESH.standing, phase=Phase.READY, address="10.0.0.2", reason="Some", message="trouble")
    note = restarts.beginning(replace(FRESH, standing=standing), "fetching image web:v1")
    assert note.standing == replace(FRESH.standing, message="fetching image web:v1")
    assert restarts.listening(note, (80, 443)).standing.ports == (80, 443)


@given(
    st.sampled_from(Phase), st.integers(0, 9), st.text(max_size=9), st.text(max_size=9), st.lists(st.text(max_size=9))
)
def test_a_note_is_read_as_it_was_written(phase: Phase, row: int, decided: str, ready: str, tail: list[str]) -> None:
    standing = Standing(run="r1", phase=phase, restarts=row, tail=tuple(map(not_ours, tail[:5])), ports=(80,))
    note = Note(standing=standing, row=row, decided=decided, ready=ready)
    assert restarts.decode(restarts.encode(note).encode()) == note


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"standing": {}, "row": 1}'])
def test_what_is_no_note_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        restarts.decode(content)
