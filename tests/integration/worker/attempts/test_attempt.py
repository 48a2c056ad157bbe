"""What an action sees and how its end is told, on a real engine."""

import json

import pytest

from tests.integration.cli.serving import serving
from tests.integration.worker.machine import BUSYBOX, Lab, until


def test_data_is_handed_on_from_action_to_action_and_shown_to_the_operator(lab: Lab) -> None:
    write = 'echo "{\\"ip\\": \\"1.2.3.4\\"}" >/workflow/facts.json; echo $TINKBOX_WORKFLOW >/marks/id'
    read = "read id </marks/id; cat /workflow/$id/facts.json; echo more >>/workflow/facts.json"
    busybox = "alias cat='/bin/busybox cat'\n"
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(write, busybox + read)
        assert lab.finished(workflow) == "SUCCESS"
        assert '{"ip": "1.2.3.4"}' in lab.tinkbox("workflow", "logs", workflow)
        assert (lab.marks / "id").read_text().strip() == workflow
        assert lab.tinkbox("workflow", "data", workflow, "-l") == "Latest workflow data version: 2\n"


def test_data_that_an_action_takes_away_is_gone_for_the_next(lab: Lab) -> None:
    look = "for each in /workflow/*; do [ -e $each ] && [ ! -d $each ] && exit 1; done; exit 0"
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow("echo 1 >/workflow/file", "/bin/busybox rm /workflow/file", look)
        assert lab.finished(workflow) == "SUCCESS"
        assert "version: 2" in lab.tinkbox("workflow", "data", workflow, "-l")


def test_an_action_gives_its_own_reason(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow("echo DiskTooSmall >/dev/reason; echo needs 8 GB >/dev/message; echo last; exit 3")
        assert lab.finished(workflow) == "FAILED"
        told = lab.told(workflow)
    assert (told["reason"], told["message"], told["exit_code"]) == ("DiskTooSmall", "needs 8 GB", 3)


def test_a_timeout_stops_the_container_and_runs_on_timeout(lab: Lab) -> None:
    hook = ["/bin/busybox", "touch", "/marks/hurried"]
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(
            "echo stuck; while true; do /bin/busybox sleep 1; done", timeout=8, **{"on-timeout": hook}
        )
        assert lab.finished(workflow) == "TIMEOUT"
        assert lab.marked("hurried")
        until(lambda: lab.containers() == [], "the containers' removal")
        assert lab.told(workflow)["reason"] == "Timeout"


def test_an_image_nobody_loaded_is_named(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow("true", image="tools/nothing:v9")
        assert lab.finished(workflow) == "FAILED"
        told = lab.told(workflow)
    assert told["reason"] == "ImageNotFound"
    assert "tools/nothing" in json.dumps(told)


@pytest.mark.parametrize("whose", ["ours", "another's"])
def test_actions_of_one_image_run_the_same_bytes_while_its_tag_moves(lab: Lab, whose: str) -> None:
    with serving(lab.configuration), lab.working():
        # The engine pulls it here as from there, and the appliance knows only its addresses as its own.
        host = f"localhost:{lab.configuration.http_port}/" if whose == "another's" else ""
        lab.image("tools/moving:v1", {"bin/busybox": BUSYBOX, "which": b"first "})
        look = "/bin/busybox cat /which >>/marks/which"
        hold = "; until [ -e /marks/moved ]; do /bin/busybox sleep 0.1; done"
        workflow = lab.workflow(look + hold, look, image=f"{host}tools/moving:v1")
        until(lambda: lab.marked("which"), "the first action")
        lab.image("tools/moving:v1", {"bin/busybox": BUSYBOX, "which": b"second "})
        lab.allow("moved")
        assert lab.finished(workflow) == "SUCCESS"
        (pinned,) = [each for each in lab.events(workflow) if "images" in each or each["kind"] == "image.pinned"]
    assert (lab.marks / "which").read_text() == "first first "
    assert pinned["kind"] == ("image.pinned" if host else "workflow.created")


def test_the_worker_ends_when_an_action_asks_for_a_reboot(lab: Lab) -> None:
    with serving(lab.configuration), lab.working() as worker:
        lab.workflow("echo now >/worker/reboot", volumes=[f"{lab.folder / 'worker'}:/worker"])
        assert worker.ended() == 0


def test_an_action_and_its_hook_reach_the_appliance_by_the_name_of_their_workflow(lab: Lab) -> None:
    # By its name alone: on this host nobody answers DNS for it.
    ask = (
        "echo $TINKBOX_WORKFLOW >>/marks/asked; port=${TINKBOX_SERVER##*:}; "
        "/bin/busybox wget -q -O - http://$TINKBOX_WORKFLOW.workflows.tinkbox.internal:$port/ >/marks/answer 2>&1; "
        "/bin/busybox grep -c $TINKBOX_WORKFLOW.workflows.tinkbox.internal /etc/hosts >>/marks/known; exit 3"
    )
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(ask, **{"on-failure": ["/bin/busybox", "sh", "-c", ask]})
        assert lab.finished(workflow) == "FAILED"
    assert (lab.marks / "known").read_text() == "1\n1\n"
    assert "bad address" not in (lab.marks / "answer").read_text()
    assert "404" in (lab.marks / "answer").read_text()
