"""`tinkbox install` against an appliance: what it refuses, what it begins, and what it shows."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.door import image_archive
from tests.integration.cli.person import Person
from tests.integration.cli.serving import DEADLINE, Configuration, Ended, configure, run_here, serving
from tests.integration.cli.test_following import following, line
from tests.integration.engine.appliance import mac
from tests.system_images import system_image
from tests.unit.model.test_ssh_keys import key
from tests.workers import door_of
from tinkbox import __version__
from tinkbox.model.workflow import Outcome, State
from tinkbox.osie.image import OsieImage, write
from tinkbox.wire.messages.worker import Hello, Report, decode_credential

UP = "node7 is up at 172.30.0.11, host key SHA256:abc (ed25519)"


class Box:
    """An appliance that has nothing yet, and what a person types there."""

    def __init__(self, configuration: Configuration, folder: Path) -> None:
        self.configuration = configuration
        self.folder = folder
        self.key = folder / "id.pub"
        self.key.write_text(f"{key()} anna@laptop\n")

    def type(self, *words: str) -> Ended:
        return run_here("--data", str(self.configuration.data), *words)

    def done(self, *words: str) -> str:
        ended = self.type(*words)
        assert (ended.status, ended.err) == (0, "")
        return ended.out

    def install(self, *words: str) -> Ended:
        return self.type("install", "debian-13", *words, "--ssh-key", str(self.key))

    def add_osie(self) -> None:
        folder = self.configuration.data / "osie" / "x86_64"
        folder.mkdir(parents=True)
        write(
            OsieImage(architecture="x86_64", version=__version__, kernel="6.12", files={}, packages={}, https=True),
            folder,
        )

    def add_images(self) -> str:
        for name in ("install-image:v1", "reboot:v1"):
            path = self.folder / "action.tar"
            path.write_bytes(image_archive(name))
            self.done("image", "load", str(path))
        digest = system_image(self.folder / "debian.tar")
        self.done("image", "load", str(self.folder / "debian.tar"))
        return digest

    def work(self, state: State = State.SUCCESS, message: str = "") -> None:
        """Do one action as the worker of the machine."""
        credential = self.done("hardware", "credential", mac(7))

        async def worked() -> None:
            async with door_of(decode_credential(credential)) as door:
                offer = await door.next(Hello(boot_id="boot-1"))
                assert offer is not None
                reason = "" if state is State.SUCCESS else "Broken"
                outcome = Outcome(state=state, exit_code=0, reason=reason, message=message)
                await door.report(
                    offer.attempt, Report(workflow_id=offer.workflow_id, boot_id="boot-1", outcome=outcome)
                )

        asyncio.run(worked())


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    configuration = configure(tmp_path)
    with serving(configuration):
        yield Box(configuration, tmp_path)


def test_each_thing_that_is_missing_is_named_with_what_to_type_and_nothing_is_begun(box: Box) -> None:
    refused = box.install("node7", mac(8))
    assert refused.status == 1
    for said in (
        "4 things stand in the way", " hardware add MAC",
        f" hardware add {mac(8)} --name NAME` first",
        "the action images install-image:v1 and reboot:v1 are not loaded: type `tinkbox ", " image load install-image.tar reboot.tar`",
        " osie build",
    ):  # fmt: skip
        assert said in refused.err
    assert (
        box.done("hardware", "add", mac(7), "--name", "node7", "--address", "127.0.0.7/8")
        == f"node7 {mac(7)} 127.0.0.7\n"
    )
    box.add_osie()
    digest = box.add_images()

    nobody = box.type("install", "debian-13", "node7")
    assert (nobody.status, "you could not log in to node7. Add --ssh-key" in nobody.err) == (
        1,
        True,
    )
    container = box.type("install", "reboot:v1", "node7", "--ssh-key", str(box.key))
    assert "reboot:v1 is a container image" in container.err
    assert box.done("workflow", "list", "-q") == ""

    begun = box.install("node7", "--no-wait", "--timeout", "10m", "--hostname", "web1")
    workflow_id = begun.out.split()[2]
    assert begun.out.splitlines()[0] == f"Created Workflow:  {workflow_id}  debian-13@{digest} on node7"
    made = json.loads(box.done("workflow", "get", workflow_id, "--format", "json"))
    assert made["template_id"] == "install"
    assert made["devices"] == {
        "device_1": mac(7), "image": f"debian-13@{digest}", "disk": "only", "hostname": "web1",
        "ssh_keys": f"{key()} anna@laptop", "timeout": "600",
    }  # fmt: skip
    busy = box.install("node7")
    assert (busy.status, f"node7 has workflow {workflow_id}, which is not over" in busy.err) == (1, True)
    assert box.done("workflow", "list", "-q").split() == [workflow_id]
    for name in ("debian-13", "debian-13:20261101", f"debian-13@{digest}"):
        kept = box.type("image", "delete", name)
        assert (kept.status, f" workflow cancel {workflow_id[:8]}` first" in kept.err) == (1, True)
    box.done("workflow", "cancel", workflow_id)
    box.done("image", "delete", f"debian-13@{digest}")


def test_it_is_followed_to_its_end_and_a_failure_says_what_helps(box: Box) -> None:
    box.done("hardware", "add", mac(7), "--name", "node7", "--address", "127.0.0.7/8")
    box.add_osie()
    box.add_images()
    command = ("install", "debian-13:20261101", mac(7), "--ssh-key", str(box.key))
    with following(box.configuration, *command) as watched:
        assert line(watched).startswith("Created Workflow:")
        assert (
            line(watched)
            == "node7: waits for it: power it on, or reboot it when it is on; it must boot from the network\n"
        )
        box.work()
        box.work(message=UP)
        out, err = watched.communicate(timeout=DEADLINE)
        assert (watched.returncode, err) == (0, "")
        assert out.splitlines()[-2:] == [UP, "ssh debian@172.30.0.11"]
    with following(box.configuration, *command) as watched:
        workflow_id = line(watched).split()[2]
        line(watched)
        box.work(State.FAILED, "no disk fits")
        out, _ = watched.communicate(timeout=DEADLINE)
        assert watched.returncode == 1
        assert "node7: installation / image: Broken: no disk fits" in out
        assert f"tinkbox --data {box.configuration.data} workflow retry {workflow_id[:8]}" in out
    with following(box.configuration, *command) as watched:
        workflow_id = line(watched).split()[2]
        line(watched)
        watched.send_signal(signal.SIGINT)
        _, err = watched.communicate(timeout=DEADLINE)
        assert watched.returncode == 130
        assert f"tinkbox --data {box.configuration.data} workflow watch {workflow_id[:8]}" in err
    assert "PENDING" in box.done("workflow", "get", workflow_id, "--format", "json")


def test_in_a_terminal_the_lines_are_drawn_again(box: Box) -> None:
    box.done("hardware", "add", mac(7), "--name", "node7", "--address", "127.0.0.7/8")
    box.add_osie()
    box.add_images()
    words = ["--data", str(box.configuration.data), "install", "debian-13", "node7", "--ssh-key", str(box.key)]
    with Person(words) as anna:
        anna.sees("Created Workflow:", "node7: waits for it: power it on")
        box.work()
        box.work(message=UP)
        anna.sees("\x1b[", UP, "ssh debian@172.30.0.11")
        assert anna.ends() == 0
        assert anna.settings() == anna.before


def test_the_command_line_is_checked_first(box: Box) -> None:
    with pytest.raises(SystemExit) as wrong:
        box.install("a", "b", "--hostname", "x")
    assert wrong.value.code == 2
    box.key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert "PRIVATE key" in box.install("a").err
    big = box.folder / "big"
    big.write_bytes(bytes(200_000))
    assert "more than 128 KiB" in box.type("install", "debian-13", "a", "--user-data", str(big)).err
