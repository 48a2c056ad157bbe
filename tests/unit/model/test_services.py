"""What services are, and when they are started again."""

import pytest

from tinkbox.model.services import ENDED, SERVING, Phase, Restart, RestartPolicy

NO, ON_FAILURE, ALWAYS = (Restart(policy=policy, limit=3) for policy in RestartPolicy)


@pytest.mark.parametrize(
    ("restart", "exit_code", "restarts", "delay"),
    [
        (ON_FAILURE, 1, 0, 1.0),
        (ON_FAILURE, 137, 2, 4.0),
        (ON_FAILURE, 1, 3, None),
        (ON_FAILURE, 0, 0, None),
        (ALWAYS, 0, 0, 1.0),
        (ALWAYS, 0, 3, None),
        (NO, 1, 0, None),
        (NO, 0, 0, None),
        (Restart(limit=0), 1, 0, None),
    ],
)
def test_whether_and_when_a_service_is_started_again(
    restart: Restart, exit_code: int, restarts: int, delay: float | None
) -> None:
    assert restart.delay(exit_code, restarts) == delay


def test_the_delay_doubles_up_to_a_minute_however_often_it_was_started() -> None:
    patient = Restart(limit=1000)
    assert [patient.delay(1, restarts) for restarts in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert patient.delay(1, 999) == 60


def test_unless_a_template_says_otherwise_what_fails_is_started_again_five_times() -> None:
    assert [Restart().delay(1, restarts) for restarts in (4, 5)] == [16, None]
    assert Restart().delay(0, 0) is None


def test_a_service_that_ended_serves_nobody() -> None:
    assert not ENDED & SERVING
    assert {phase.value for phase in ENDED} == {"EXITED", "FAILED", "STOPPED"}
    assert {phase.value for phase in SERVING} == {"READY", "UNHEALTHY"}
    assert Phase.PENDING not in ENDED | SERVING
