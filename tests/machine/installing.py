"""A lab in which an operator installs Debian with `tinkbox install`, and looks at what came of it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any, Final

import pytest

from examples.demo.operator import Command, Operator, OperatorFailed
from examples.lab.firmware import Firmware
from examples.lab.machine import Machine, empty_disk
from tests.machine.lab import PATIENCE, Lab, address, built, hostname, laboratory, mac, until

Debian = str
DEBIANS: Final[Sequence[Debian]] = ("debian-13", "debian-12")
USER: Final = "debian"
LOGIN_SECONDS: Final = 180.0
GIB: Final = 1 << 30
# Larger than the image, so that there is room to grow into.
DISK: Final = 8 * GIB
_ACTIONS: Final = ("install-image", "reboot")
_SEED: Final = 8 << 20
_TOKEN: Final = re.compile(rb"/metadata/([\w-]{64})")


@dataclass(frozen=True)
class Site:
    """`lab` with what an installation needs, and its `operator`."""

    lab: Lab
    operator: Operator

    def add(self, *systems: Debian) -> None:
        """Make these system images known."""
        known = {each["name"] for each in self.lab.json("image", "list")}
        for system in systems:
            if system not in known:
                file = built(f"build/system-images/{system}.qcow2")
                named = ["--id", system, "--default-user", USER, "--scratch", str(self.lab.work)]
                self.lab.appliance.typed("image", "import", file, *named)

    def forget(self, system: Debian) -> None:
        """Delete a system image, all its versions."""
        tags = [each["tag"] for each in self.lab.json("image", "list") if each["name"] == system]
        self.lab.appliance.command("image", "delete", *(f"{system}:{tag}" for tag in tags))

    def machine(self, number: int, firmware: Firmware = "bios", **more: Any) -> Machine:
        """Plug in machine `number`, off, with an empty disk.

        OVMF, told by iPXE to go on, would spend a minute on each kind of HTTP boot before the disk: there the disk comes first.
        """
        return self.lab.machine(number, firmware, network_first=firmware == "bios", **{"disk_size": DISK, **more})

    def begins(self, system: Debian, number: int, *flags: str | Path) -> Command:
        """Type `tinkbox install`; returns when the workflow is there."""
        command = self.operator.begins(
            "install", system, hostname(number), "--ssh-key", self.operator.public_key, *flags
        )
        until(lambda: command.ended or _created(command), "the workflow of tinkbox install")
        return command

    def creates(self, parameters: Mapping[str, str]) -> str:
        """The same by hand; returns the workflow's id."""
        made = self.lab.appliance.command("workflow", "create", "-t", "install", "-r", json.dumps(parameters))
        return made.split()[-1]

    def workflow(self, command: Command) -> str:
        """The id of the workflow that it made."""
        created = _created(command)
        assert created, "\n".join(command.lines)
        return created

    def succeeds(self, command: Command, machine: Machine) -> list[str]:
        """Wait for the end of `tinkbox install`; returns its lines, and fails unless it succeeded."""
        self.over(command, machine)
        command.succeed()
        return command.lines

    def fails(self, command: Command, machine: Machine | None = None) -> str:
        """What a `tinkbox install` says that has to fail."""
        self.over(command, machine)
        with pytest.raises(OperatorFailed):
            command.succeed()
        return "\n".join(command.lines)

    def over(self, command: Command, machine: Machine | None) -> None:
        def look() -> bool:
            assert machine is None or machine.running or command.ended, "the machine is off"
            return command.ended

        until(look, "the end of tinkbox install", 3 * PATIENCE)

    def on(self, number: int, script: str, at: str = "") -> str:
        """What a command prints in the installed system."""
        return self.operator.logs_in(f"{USER}@{at or address(number)}", LOGIN_SECONDS, script)

    def timeline(self, number: int) -> list[str]:
        """What the machine was seen at, with the details."""
        return [f"{each['stage']}: {each['detail']}" for each in self.lab.appliance.timeline(mac(number))]

    def logs(self, workflow: str) -> str:
        return self.lab.appliance.command("workflow", "logs", workflow)

    def progress(self, workflow: str) -> tuple[int, int] | None:
        """How far the running action says that it is, and of how much."""
        shown = self.lab.json("workflow", "get", workflow)
        found = next((each["progress"] for each in shown["actions"] if each.get("progress")), None)
        return (found["done"], found["total"]) if found else None

    def action_running(self, workflow: str, name: str) -> bool:
        shown = self.lab.json("workflow", "get", workflow)
        return any(each["name"] == name and each["state"] == "RUNNING" for each in shown["actions"])


def _created(command: Command) -> str:
    return next((line.split()[2] for line in command.lines if line.startswith("Created Workflow:")), "")


@contextmanager
def site(*systems: Debian, **more: Any) -> Iterator[Site]:
    """A lab with an operator, and with these system images."""
    with laboratory(**more) as lab:
        found = Site(lab, Operator(lab.network, lab.appliance, lab.work, say=lambda text: None))
        for name in _ACTIONS:
            lab.load(built(f"build/images/{name}.tar"))
        found.add(*systems)
        yield found


def second_disk(work: Path, name: str, size: int) -> tuple[Path, tuple[str, ...]]:
    """Another disk with a serial number: its file, and what the emulator is told."""
    file = empty_disk(work / f"{name}.raw", size)
    drive = f"if=none,id={name},format=raw,file={file}"
    return file, ("-drive", drive, "-device", f"virtio-blk-pci,drive={name},serial={name}")


def token_on(disk: Path) -> str:
    """The metadata token in the seed at the end of a disk."""
    found = _TOKEN.search(_end(disk))
    assert found is not None, "there is no seed with a token at the end of the disk"
    return found[1].decode()


def seeded(disk: Path) -> bool:
    """Whether a seed lies at the end of a disk, whole or not."""
    return _TOKEN.search(_end(disk)) is not None


def _end(disk: Path) -> bytes:
    with disk.open("rb") as file:
        file.seek(-2 * _SEED, SEEK_END)
        return file.read()


def bootable(disk: Path) -> bool:
    """Whether a disk has a partition table: what firmware and people take for a system."""
    with disk.open("rb") as file:
        head = file.read(1024)
    return head[510:512] == b"\x55\xaa" or head[512:520] == b"EFI PART"
