from tinkbox.model import shells
from tinkbox.model.actions.action import Action
from tinkbox.model.workflow import PlannedAction

ACTION = PlannedAction(index=1, task="disk", worker="m1", address="m", spec=Action(name="wipe", image="i", timeout=5))


def test_what_happens_to_a_shell_is_told_with_who_did_it() -> None:
    about = {"task": "disk", "action": "wipe", "worker": "m1", "attempt": "a"}
    assert shells.opened(ACTION, "a", "s", "anna", user="root", record_input=True) == (
        "shell.opened", {**about, "session": "s", "who": "anna", "user": "root", "record_input": True},
    )  # fmt: skip
    assert shells.command("s", "anna", ("ls", "-l")) == (
        "shell.command", {"session": "s", "who": "anna", "argv": ["ls", "-l"]},
    )  # fmt: skip
    assert shells.attached("s", "ben", driver=False) == (
        "shell.attached", {"session": "s", "who": "ben", "driver": False},
    )  # fmt: skip
    assert shells.detached("s", "anna", driver=True) == (
        "shell.detached", {"session": "s", "who": "anna", "driver": True},
    )  # fmt: skip
    assert shells.driver_changed("s", "ben", "anna") == (
        "shell.driver", {"session": "s", "who": "ben", "before": "anna"},
    )  # fmt: skip


def test_how_a_shell_ended_is_told_with_its_recording() -> None:
    ended = shells.ended("s", exit_code=3, reason="", message="", sha256="abc", size=7)
    assert ended == (
        "shell.ended",
        {"session": "s", "exit_code": 3, "reason": "", "message": "", "sha256": "abc", "bytes": 7},
    )
