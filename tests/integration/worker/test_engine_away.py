"""The engine of a machine that hangs or dies while its action runs: the appliance's doctor says so, and that it is over."""

import json
import logging
import os
import signal
import time
from typing import Any

from tests.integration.cli.serving import run_here, serving
from tests.integration.worker.machine import Lab, until

_LOG = logging.getLogger(__name__)
FOR_EVER = "trap 'exit 143' TERM\n/bin/busybox touch /marks/begun\nwhile true; do /bin/busybox sleep 0.1; done"


def found(lab: Lab, workflow: str) -> list[dict[str, Any]]:
    """What the doctor says of the workflow's engine now."""
    told = run_here("--data", str(lab.configuration.data), "doctor", workflow, "-o", "json").out
    return [each for each in json.loads(told)["diagnoses"] if each["rule"] == "MachineEngineAway"]


def seconds_until(lab: Lab, workflow: str, *, away: bool) -> float:
    began = time.monotonic()
    until(lambda: bool(found(lab, workflow)) is away, f"the engine to be {'away' if away else 'back'}")
    return time.monotonic() - began


def test_an_engine_that_hangs_or_dies_is_a_diagnosis_of_the_action_until_it_answers(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(FOR_EVER, timeout=600)
        until(lambda: lab.marked("begun"), "the action")
        assert not found(lab, workflow)
        dockerd = lab.engine._first
        os.kill(dockerd, signal.SIGSTOP)
        try:
            hangs = seconds_until(lab, workflow, away=True)
        finally:
            os.kill(dockerd, signal.SIGCONT)
        back = seconds_until(lab, workflow, away=False)
        lab.engine.kill()
        dies = seconds_until(lab, workflow, away=True)
        (told,) = found(lab, workflow)
        state = json.loads(lab.tinkbox("workflow", "state", workflow, "-o", "json"))
        lab.engine.start()
        _LOG.info("seconds until told: hangs %.0f, back %.0f, dies %.0f; %s", hangs, back, dies, told)
        assert (told["gravity"], told["workflow"]) == ("fault", workflow)
        assert "action-1 needs it." in told["cause"]
        assert state["diagnosis"]["rule"] == "MachineEngineAway"
        assert lab.finished(workflow) == "FAILED"
