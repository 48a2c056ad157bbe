"""The doctor's rules about engines that do not answer."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance, case, osie_boot
from tests.unit.engine.doctor.rules.test_silence import HEARD, STARTED, WORK
from tinkbox.engine.doctor.case import ON_APPLIANCE, AwaitedService, Case
from tinkbox.engine.doctor.rules.appliance import engine_away
from tinkbox.engine.doctor.rules.engine import machine_engine_away, service_gone
from tinkbox.engine.doctor.rules.work import service_not_ready
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.reasons import Reason
from tinkbox.model.vitals import Vitals
from tinkbox.model.workflow import State


def examined(seconds: float, **changes: object) -> Case:
    """A machine, so many seconds after its worker was heard of last."""
    told = case(*osie_boot(0), work=replace(WORK, **changes))
    return replace(told, now=HEARD + timedelta(seconds=seconds))


def test_an_engine_that_is_away_while_an_action_runs_is_a_fault() -> None:
    away = HEARD - timedelta(seconds=4)
    (found,) = machine_engine_away(examined(8, engine_away=away))
    assert found.gravity is Gravity.FAULT
    assert found.cause == "The Docker engine on the machine does not answer for 0:12, and os/write needs it."
    assert found.evidence == (
        "2026-11-21 03:01:36 the engine did not answer its worker, and does not since",
        "2026-11-21 03:01:40 the worker was heard of last, and said so",
        "2026-11-21 03:01:00 the action began; it has 600 s",
    )
    assert "`systemctl restart docker`" in found.remedy
    assert "`tinkbox workflow retry w1`" in found.remedy


def test_one_that_restarts_or_answers_and_one_of_a_silent_worker_are_not_told() -> None:
    away = HEARD - timedelta(seconds=4)
    assert not [*machine_engine_away(examined(8))]
    assert not [*machine_engine_away(examined(0, engine_away=away))]
    assert not [*machine_engine_away(examined(8, engine_away=away, action_state=State.PENDING))]
    assert not [*machine_engine_away(examined(60, engine_away=away))], "SilentWorker says more"


GONE = AwaitedService(name="db", host=ON_APPLIANCE, phase="READY", begun_at=STARTED, timeout=timedelta(seconds=300))
ENGINE = replace(GONE, reason=Reason.ENGINE_GONE, message="no Docker engine answers at unix:///x")


def test_a_service_whose_engine_is_away_is_a_fault_of_its_host() -> None:
    (found,) = service_gone(examined(1, gone=(ENGINE,)))
    assert (found.gravity, found.subject) == (Gravity.FAULT, "db")
    assert found.cause.endswith(
        "Service db of workflow 'install-7', on the appliance, was ready and is not there any more: "
        "the container engine of its host does not answer."
    )
    assert found.remedy.startswith("`tinkbox doctor` says what is wrong with the appliance's container engine")
    assert "its host says: 'no Docker engine answers at unix:///x'" in found.evidence
    (found,) = service_gone(examined(1, gone=(replace(ENGINE, host="node8"),)))
    assert found.remedy.startswith("On node8: `systemctl status docker` shows why")


def test_a_service_that_restarts_is_suspect_and_one_that_failed_a_fault() -> None:
    restarts, failed = replace(GONE, phase="RESTARTING"), replace(GONE, phase="FAILED", reason=Reason.SERVICE_FAILED)
    found = [*service_gone(examined(1, gone=(restarts, failed)))]
    assert [each.gravity for each in found] == [Gravity.SUSPECT, Gravity.FAULT]
    assert found[0].cause.endswith("it is RESTARTING now.")
    assert found[1].remedy.startswith("Read what it printed: `tinkbox service logs w1/db`.")
    assert not [*service_gone(examined(1, gone=(failed,), state=State.SUCCESS))]


def test_a_service_that_never_was_ready_for_its_engine_is_told_where_to_look() -> None:
    (found,) = service_not_ready(examined(1, state=State.PENDING, services=(replace(ENGINE, phase="PENDING"),)))
    assert found.gravity is Gravity.FAULT
    assert found.cause.endswith("is not ready: the container engine of its host, the appliance, does not answer.")
    assert "`tinkbox doctor`" in found.remedy
    assert "console" not in found.remedy
    assert BEGIN < HEARD


NOWHERE = EngineTrouble(fault=EngineFault.NO_SOCKET, why="no Docker engine answers at unix:///x", url="unix:///x")


@pytest.mark.parametrize(
    ("trouble", "cause", "remedy"),
    [
        (NOWHERE, "The setting `docker` names unix:///x, and there is no such socket", "such as `docker: unix:///var/run"),
        (
            replace(NOWHERE, others=("unix:///var/run/docker.sock",)),
            "The setting `docker` names unix:///x, and there is no such socket",
            "write `docker: unix:///var/run/docker.sock` into tinkbox.yaml, then `systemctl restart tinkbox`.",
        ),
        (replace(NOWHERE, fault=EngineFault.NOT_A_SOCKET), "names unix:///x, which is no socket", "`systemctl status docker`"),
        (replace(NOWHERE, fault=EngineFault.NO_RIGHT), "tinkbox has no right to use", "systemd/services.conf"),
        (replace(NOWHERE, fault=EngineFault.REFUSED), "No container engine listens at unix:///x", "`systemctl restart docker`"),
        (
            replace(NOWHERE, fault=EngineFault.REFUSED, url="http://10.0.0.9:2375"),
            "No container engine listens at http://10.0.0.9:2375",
            "correct `docker:` in tinkbox.yaml",
        ),
        (replace(NOWHERE, fault=EngineFault.SILENT), "container engine does not answer", "`systemctl restart docker`"),
    ],
)  # fmt: skip
def test_what_keeps_the_appliance_from_its_engine_decides_what_to_do(
    trouble: EngineTrouble, cause: str, remedy: str
) -> None:
    (found,) = engine_away(appliance(vitals=Vitals(at=BEGIN, engine=trouble)))
    assert found.gravity is Gravity.FAULT
    assert cause in found.cause
    assert found.cause.endswith(": services of workflows that run on the appliance are down.")
    assert found.evidence[0].endswith("no Docker engine answers at unix:///x")
    assert remedy in found.remedy
