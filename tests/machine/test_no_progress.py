"""A machine that boots and boots and comes to nothing is parked, the reason is told, and the operator can release it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import PATIENCE, Lab, built, laboratory, shell, until
from tinkbox.model.boot import Stage
from tinkbox.wire.cpio import archive
from tinkbox.wire.status import MachineLine

pytestmark = pytest.mark.machine
ONE = 1
BOOTING = "booting the OSIE on behalf of workflow on-server001"
PARKED = "this machine is parked: 3 boots without progress"
# An OSIE that starts no worker: its first process resets the machine.
INIT = b"""#!/bin/busybox sh
/bin/busybox mkdir -p /dev
/bin/busybox mount -t devtmpfs devtmpfs /dev
echo "this OSIE starts no worker" > /dev/console
/bin/busybox reboot -f
"""


@dataclass(frozen=True)
class Parked:
    """`seen`, `status` and `documents` are what the operator was told while the machine was parked."""

    lab: Lab
    console: list[str]
    seen: MachineLine
    status: str
    documents: list[dict[str, object]]
    timeline: list[str]


@pytest.fixture(scope="module")
def osie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built kernel with a ramdisk that comes to nothing."""
    folder = tmp_path_factory.mktemp("osie")
    architecture = folder / "x86_64"
    architecture.mkdir()
    (architecture / "vmlinuz").write_bytes(built("build/osie/x86_64/vmlinuz").read_bytes())
    files = {"init": INIT, "bin/busybox": Path("/bin/busybox").read_bytes()}
    (architecture / "initramfs").write_bytes(archive(files, mode=0o755))
    return folder


@pytest.fixture(scope="module")
def parked(osie: Path) -> Iterator[Parked]:
    """A machine that went round three times, and what was to be seen of it then; at the end it was released."""
    with laboratory(osie) as lab:
        lab.route()
        lab.push(ONE)
        lab.workflow(ONE, shell("install", "true"))
        machine = lab.machine(ONE, memory=512)
        machine.power_on()
        machine.console.wait_for(PARKED, PATIENCE)
        console = machine.console.lines
        status = lab.appliance.command("status")
        documents = lab.json("hardware", "get", lab.seen(ONE).id)
        found = Parked(lab, console, lab.seen(ONE), status, documents, lab.stages(ONE))
        lab.push(ONE)
        yield found


def test_three_boots_are_given_and_no_fourth(parked: Parked) -> None:
    assert sum(BOOTING in line for line in parked.console) == 3
    assert sum("this OSIE starts no worker" in line for line in parked.console) == 3
    assert [stage for stage in parked.timeline if stage in (Stage.SCRIPT, Stage.WORKER, Stage.PARKED)] == [
        *[Stage.SCRIPT] * 3,
        Stage.PARKED,
    ]


def test_the_operator_sees_where_it_stopped_and_what_to_do(parked: Parked) -> None:
    assert parked.seen.stage == Stage.PARKED
    (document,) = parked.documents
    for told in (parked.seen.parked, parked.status, str(document["parked"])):
        assert "3 boots without progress, the furthest fetched the OSIE" in told
        assert "push its hardware again or create a new workflow" in told


def test_pushing_its_hardware_again_releases_it_and_it_goes_on_by_itself(parked: Parked) -> None:
    lab = parked.lab
    (machine,) = lab.machines
    until(lambda: sum(BOOTING in line for line in machine.console.lines) > 3, "the machine to boot again")
    assert lab.seen(ONE).parked == ""
    assert "parked:" not in lab.appliance.command("status")
