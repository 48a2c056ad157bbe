"""Machines whose boots come to nothing: an OSIE that starts no worker, and one that is not there."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from examples.lab.machine import Machine
from tests.machine.lab import PATIENCE, Lab, laboratory, osie_without_worker, shell, shown, until
from tinkbox.model.boot import Stage
from tinkbox.wire.messages.status import MachineLine

pytestmark = pytest.mark.machine
GOES_ROUND, FINDS_NOTHING = 1, 2
BOOTING = "booting the OSIE on behalf of workflow on-server001"
PARKED = "this machine is parked: 3 boots without progress"
IN_VAIN = "this OSIE starts no worker"
MISSING = "the OSIE could not be loaded"
GIVEN = 3  # tries
# The architecture that machine has by its hardware document, and no OSIE was built for.
NOT_BUILT = "riscv64"


@dataclass(frozen=True)
class Parked:
    """`console`, `seen`, `status`, `document` and `stages` are what there was to see while the machine was parked."""

    lab: Lab
    machine: Machine
    console: list[str]
    seen: MachineLine
    status: str
    document: dict[str, object]
    stages: list[str]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with laboratory(osie_without_worker(tmp_path_factory.mktemp("osie"))) as made:
        made.route()
        yield made


@pytest.fixture(scope="module")
def parked(lab: Lab) -> Iterator[Parked]:
    """A machine that went round three times."""
    lab.push(GOES_ROUND)
    lab.workflow(GOES_ROUND, shell("install", "true"))
    machine = lab.machine(GOES_ROUND, memory=512)
    machine.power_on()
    machine.console.wait_for(PARKED, 2 * PATIENCE)
    seen = lab.seen(GOES_ROUND)
    told = lab.appliance.command("status"), lab.json("hardware", "get", seen.id), lab.stages(GOES_ROUND)
    console = machine.console.lines
    yield Parked(lab, machine, console, seen, *told)
    machine.power_off()


@pytest.fixture
def searching(lab: Lab) -> Iterator[Machine]:
    """A machine that was just powered on, and for which there is no OSIE."""
    lab.push(FINDS_NOTHING, arch=NOT_BUILT)
    lab.workflow(FINDS_NOTHING, shell("install", "true"))
    machine = lab.machine(FINDS_NOTHING, memory=512)
    machine.power_on()
    yield machine
    machine.power_off()


def test_three_boots_are_given_and_no_fourth(parked: Parked) -> None:
    assert sum(BOOTING in line for line in parked.console) == 3
    assert sum(IN_VAIN in line for line in parked.console) == 3
    counted = [stage for stage in parked.stages if stage in (Stage.SCRIPT, Stage.WORKER, Stage.PARKED)]
    assert counted == [Stage.SCRIPT, Stage.SCRIPT, Stage.SCRIPT, Stage.PARKED]


def test_the_operator_sees_where_it_stopped_and_what_to_do(parked: Parked) -> None:
    assert parked.seen.stage == Stage.PARKED
    for told in (parked.seen.parked, parked.status, str(parked.document["parked"])):
        assert "3 boots without progress, the furthest fetched the OSIE" in told
        assert "push its hardware again or create a new workflow" in told


def test_without_an_osie_it_tries_three_times_and_goes_on_to_its_next_boot_device(searching: Machine) -> None:
    searching.console.wait_for("giving up, trying the next boot device", PATIENCE)
    assert shown(searching, MISSING) == GIVEN
    searching.console.wait_for("Booting from Hard Disk", PATIENCE)


def test_an_osie_that_appears_meanwhile_is_booted(searching: Machine, lab: Lab) -> None:
    searching.console.wait_for(MISSING, PATIENCE)
    osie = lab.appliance.data / "osie"
    (osie / NOT_BUILT).symlink_to(osie / "x86_64")
    searching.console.wait_for(IN_VAIN, PATIENCE)
    assert shown(searching, MISSING) < GIVEN
    (osie / NOT_BUILT).unlink()


def test_pushing_its_hardware_again_releases_it_and_it_goes_on_by_itself(parked: Parked) -> None:
    parked.lab.push(GOES_ROUND)
    until(lambda: shown(parked.machine, BOOTING) > 3, "the machine to boot again")
    assert parked.lab.seen(GOES_ROUND).parked == ""
    assert "PARKED" not in parked.lab.appliance.command("status")
