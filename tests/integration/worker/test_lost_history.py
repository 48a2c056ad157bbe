"""The appliance's store is put back to an earlier day while a machine works on: nothing runs twice, nothing is stopped.

The worker's own process, a real engine, the appliance's own process.  Each action notes every start of it in
/marks/starts, and waits there until it may end.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.cli.serving import serving
from tests.integration.engine.appliance import hardware, mac
from tests.integration.worker.machine import IMAGE, Lab, Refused, until

BUSYBOX = "/bin/busybox"
STORE = "tinkbox.sqlite"
VERDICTS = ("takeover", "retry", "cancel")
HOW = ("folder", "backup")
# When the store was copied: its first action is done by then, runs, has not begun, or nobody has asked for it.
MOMENTS = ("between two actions", "in the middle of one", "before its start")


@dataclass
class Rollback:
    """A machine `lab` whose appliance's store can be put back; `other` is a second machine of it."""

    lab: Lab
    other: Lab
    how: str
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def data(self) -> Path:
        return self.lab.configuration.data

    @property
    def copy(self) -> Path:
        return self.lab.folder / "copy"

    def start(self) -> None:
        self.running.enter_context(serving(self.lab.configuration))

    def take(self) -> None:
        """Copy the store: all of the folder of an appliance that is off, or the database of one that serves."""
        if self.how == "backup":
            with closing(sqlite3.connect(self.data / STORE)) as store, closing(sqlite3.connect(self.copy)) as copy:
                store.backup(copy)
            return
        self.running.close()
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.data, self.copy, ignore=shutil.ignore_patterns("*.sock"))
        self.start()

    def put_back(self) -> None:
        """Bring back the copy, and the appliance with it."""
        self.running.close()
        if self.how == "backup":
            for left in self.data.glob(f"{STORE}-*"):
                left.unlink()
            shutil.copy(self.copy, self.data / STORE)
        else:
            shutil.rmtree(self.data)
            shutil.copytree(self.copy, self.data)
        self.start()

    def create(self) -> str:
        """Three actions on the machine and a last one on the other; returns the workflow's id."""

        def task(number: int, *names: str) -> dict[str, object]:
            actions = [
                {"name": name, "image": IMAGE, "timeout": 600, "command": [BUSYBOX, "sh", "-c", _script(name)]}
                for name in names
            ]
            worker = f"{{{{.device_{number}}}}}"
            return {
                "name": f"task-{number}",
                "worker": worker,
                "volumes": [f"{self.lab.marks}:/marks"],
                "actions": actions,
            }

        tasks = [task(1, "one"), task(2, "two", "three")]
        text = json.dumps({"version": "0.1", "name": "test", "global_timeout": 600, "tasks": tasks})
        self.lab.tinkbox("template", "create", "-n", "test", stdin=text.encode())
        devices = json.dumps({"device_1": mac(1), "device_2": mac(2)})
        return self.lab.tinkbox("workflow", "create", "-t", "test", "-r", devices).split()[-1]

    @property
    def starts(self) -> list[str]:
        return (self.lab.marks / "starts").read_text().split()

    def runs(self, name: str) -> list[str]:
        """Wait until this action runs, for the engine as well; returns its container."""
        until(lambda: self.lab.marked(f"begun-{name}") and len(self.alive()) == 1, f"the start of {name}")
        return self.alive()

    def waits(self, workflow: str, running: list[str]) -> None:
        """Wait until the workflow waits for a person; meanwhile nothing begins, and nothing of what runs is stopped."""
        begun = self.starts

        def waiting() -> bool:
            assert (self.starts, self.alive()) == (begun, running)
            return bool(self.lab.stands(workflow)["reason"] == "HistoryLost")

        until(waiting, "the workflow to wait for a person")

    def lost(self, workflow: str) -> list[object]:
        """What the workflow waits for a person with."""
        shown = json.loads(self.lab.tinkbox("workflow", "get", workflow, "--format", "json"))
        return list(shown.get("lost_histories", []))

    def lost_of_machine(self) -> object:
        shown = json.loads(self.lab.tinkbox("hardware", "get", mac(1), "--format", "json"))
        return shown.get("lost_history")

    def alive(self) -> list[str]:
        """The containers that run."""
        return sorted(self.lab.engine.cli("ps", "-q").stdout.split())


def _script(name: str) -> str:
    return (
        f"echo {name} >>/marks/starts; {BUSYBOX} touch /marks/begun-{name}; "
        f"while [ ! -e /marks/go-{name} ]; do {BUSYBOX} sleep 0.02; done"
    )


@contextmanager
def rollback(lab: Lab, how: str) -> Iterator[Rollback]:
    other = Lab(lab.folder / "other", lab.configuration, lab.engine)
    other.folder.mkdir()
    made = Rollback(lab, other, how)
    with made.running:
        made.start()
        lab.tinkbox("hardware", "push", stdin=json.dumps(hardware(2)).encode())
        (other.folder / "worker.json").write_text(lab.tinkbox("hardware", "credential", mac(2)))
        yield made


def lost(made: Rollback, moment: str) -> str:
    """Put the store back to this moment, while `two` runs; returns the workflow, which waits for a person since."""
    lab = made.lab
    workflow = made.create()
    if moment == "before its start":
        made.take()
    with lab.working():
        made.runs("one")
        if moment == "in the middle of one":
            made.take()
        lab.allow("go-one")
        until(lambda: made.lab.stands(workflow)["current_action"] == "two", "the end of one")
        until(lambda: not lab.containers(), "the worker to know that its report arrived")
        if moment == "between two actions":
            made.take()
    return workflow


@pytest.mark.parametrize(
    ("moment", "how", "verdict"),
    [
        pytest.param(
            moment, how, verdict,
            marks=() if (moment, how, verdict) == ("between two actions", "backup", "takeover") else pytest.mark.campaign,
        )
        for moment in MOMENTS for how in HOW for verdict in VERDICTS
    ],
)  # fmt: skip
def test_a_store_that_was_put_back_runs_nothing_twice(lab: Lab, moment: str, how: str, verdict: str) -> None:
    with rollback(lab, how) as made:
        workflow = lost(made, moment)
        # The first machine is told to wait as well where the store does not know what it did.
        with lab.working(), made.other.working():
            running = made.runs("two")
            made.put_back()
            made.waits(workflow, running)
            machines = 1 if moment == "between two actions" else 2
            until(lambda: len(made.lost(workflow)) == machines, "every machine to say what it did")
            assert made.alive() == running
        with lab.working(), made.other.working():  # both workers are started anew
            made.waits(workflow, running)
            assert (made.starts, made.alive()) == (["one", "two"], running)
            told = json.loads(lab.tinkbox("workflow", "get", workflow, "--format", "json"))
            assert "task-2/two" in str(told), told
            lab.tinkbox("workflow", verdict, workflow)
            if verdict == "cancel":
                assert lab.finished(workflow) == "CANCELED"
                until(lambda: not lab.containers(), "the containers to be removed")
                assert made.starts == ["one", "two"]
                return
            if verdict == "retry":
                until(lambda: made.starts.count("two") == 2, "the action to be run again")
                assert not set(running) & set(made.alive())
            lab.allow("go-two")
            lab.allow("go-three")
            assert lab.finished(workflow) == "SUCCESS"
            until(lambda: not lab.containers(), "the last container's removal")
        again = {"takeover": [], "retry": ["two"] if moment == "between two actions" else ["one", "two"]}[verdict]
        assert made.starts == ["one", "two", *again, "three"]


@pytest.mark.campaign
@pytest.mark.parametrize("how", HOW)
def test_a_workflow_that_the_store_does_not_know_any_more_is_not_stopped(lab: Lab, how: str) -> None:
    with rollback(lab, how) as made:
        made.take()
        with lab.working():
            made.create()
            running = made.runs("one")
            made.put_back()

            def told() -> bool:
                assert made.alive() == running
                return made.lost_of_machine() is not None

            until(told, "the machine to say what it did")
            assert "task-1/one" in str(made.lost_of_machine())
            with pytest.raises(Refused, match="HistoryLost"):  # it ends with a status that says that something is wrong
                lab.tinkbox("doctor", mac(1), "--format", "json")
            assert (made.starts, made.alive()) == (["one"], running)
            anew = made.create()
            with pytest.raises(Refused, match="does not fit"):
                lab.tinkbox("workflow", "takeover", anew)
            lab.tinkbox("hardware", "discard-history", mac(1))
            until(lambda: made.starts.count("one") == 2, "the machine to work again")
            assert not set(running) & set(made.alive())
            lab.allow("go-one")
            until(lambda: lab.stands(anew)["current_action"] == "two", "the end of one")


@pytest.mark.campaign
@pytest.mark.parametrize("verdict", ["takeover", "discard"])
def test_a_workflow_that_had_ended_before_its_retry_waits_for_a_decision(lab: Lab, verdict: str) -> None:
    with rollback(lab, "backup") as made:
        workflow = made.create()
        with lab.working(), made.other.working():
            made.runs("one")
            lab.tinkbox("workflow", "cancel", workflow)
            assert lab.finished(workflow) == "CANCELED"
            until(lambda: not lab.containers(), "the container's removal")
            made.take()
            lab.tinkbox("workflow", "retry", workflow)
            until(lambda: made.starts.count("one") == 2, "the action to be run again")
            running = made.runs("one")
            made.put_back()
            made.waits(workflow, running)
            assert lab.stands(workflow)["state"] == "CANCELED"
            with pytest.raises(Refused, match="HistoryLost"):
                lab.tinkbox("doctor", mac(1))
            assert "HistoryLost" in lab.tinkbox("status")
            if verdict == "takeover":
                lab.tinkbox("workflow", "takeover", workflow)
            else:
                with pytest.raises(Refused, match="discard-history"):
                    lab.tinkbox("workflow", "retry", workflow)
                lab.tinkbox("hardware", "discard-history", mac(1))
                lab.tinkbox("workflow", "retry", workflow)
                until(lambda: made.starts.count("one") == 3, "the action to be run again")
                assert not set(running) & set(made.alive())
            for name in ("one", "two", "three"):
                lab.allow(f"go-{name}")
            assert lab.finished(workflow) == "SUCCESS"
        assert made.starts.count("one") == {"takeover": 2, "discard": 3}[verdict]


@pytest.mark.parametrize(
    ("moment", "how"),
    [
        pytest.param(moment, how, marks=() if (moment, how) == (MOMENTS[1], "backup") else pytest.mark.campaign)
        for moment in MOMENTS[1:] for how in HOW
    ],
)  # fmt: skip
def test_what_is_held_and_what_runs_by_a_verdict_is_so_again_after_the_store_was_put_back(
    lab: Lab, moment: str, how: str
) -> None:
    with rollback(lab, how) as made:
        workflow = lab.workflow(_script("one") + "; [ -e /marks/mended ]", breakpoints=("on-failure",))
        if moment == "before its start":
            made.take()
        with lab.working():
            running = made.runs("one")
            if moment == "in the middle of one":
                made.take()
            lab.allow("go-one")
            lab.held(workflow)
            made.put_back()
            if moment == "before its start":
                made.waits(workflow, running)
                lab.tinkbox("workflow", "takeover", workflow)

            def held() -> list[object]:
                standings = json.loads(lab.tinkbox("breakpoint", "list", "--format", "json"))
                return [each["held"] for each in standings if each["held"]]

            until(lambda: bool(held()), "the action to be held again")
            made.take()
            (lab.marks / "go-one").unlink()
            lab.allow("mended")
            lab.breakpoint("retry", workflow)
            until(lambda: made.starts == ["one", "one"], "the action to run again")
            made.put_back()
            until(lambda: lab.stands(workflow)["current_action_state"] == "RUNNING", "the action to count as running")
            assert (held(), made.alive()) == ([], running)
            lab.allow("go-one")
            assert lab.finished(workflow) == "SUCCESS"
        assert made.starts == ["one", "one"]
