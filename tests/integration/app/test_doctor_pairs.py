"""Machines whose MACs or addresses are mixed up, provoked with real DHCP clients, and what the doctor says of them."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.integration.app.doctor_lab import DoctorLab, Report, doctor_lab
from tests.machine.lab import hardware, mac

POOL = "dhcp: {mode: pool, pool: 172.30.0.100-172.30.0.109, lease: 10m}\n"
LENT = "172.30.0.100"
# Such that only the MACs of TYPED and ASKING are alike.
HOLDER, OWNER, TYPED, ASKING, CONTROLLER, TWIN, CLONE, COPY = 1, 20, 50, 51, 80, 100, 120, 135
BARRED, UNWORKED, ADDED = 150, 200, 220
UUIDS = ("0x61:00" + "1a" * 16, "0x61:00" + "2b" * 16)


def tinkbox(lab: DoctorLab, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tinkbox", "--data", str(lab.appliance.data), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("pairs"), POOL, ("x86_64", "aarch64")) as made:
        for number in (HOLDER, TYPED, CONTROLLER, TWIN, CLONE, COPY):
            made.known(number, ip=None)
        made.known(BARRED, allow_pxe=False)
        forbidden = hardware(UNWORKED)
        forbidden["network"]["interfaces"][0]["netboot"]["allow_workflow"] = False
        made.ask("POST", "/v1/hardware", forbidden)
        created = {"template": "it", "hardware": {"device_1": mac(UNWORKED)}}
        made.ask("POST", "/v1/workflows", created)
        assert made.box(HOLDER).asks()
        made.known(OWNER, ip={"address": LENT, "netmask": "255.255.255.0"})
        assert made.box(CONTROLLER).asks_as("iDRAC")
        for number in (OWNER, ASKING, BARRED, UNWORKED):
            assert not made.box(number).asks(tries=2)
        one, other = made.box(TWIN), made.box(TWIN)
        assert one.asks(7)
        other.asks(11)
        assert one.asks(7)
        one, other = made.box(CLONE), made.box(CLONE)
        for box, uuid in ((one, UUIDS[0]), (other, UUIDS[1]), (one, UUIDS[0])):
            assert box.asks(7, "-x", uuid)
            assert box.script()
        one, other = made.box(COPY), made.box(COPY)
        for box, uuid in ((one, UUIDS[0]), (other, UUIDS[1]), (one, UUIDS[0])):
            assert box.asks(7, "-x", uuid)
        yield made


@pytest.fixture(scope="module")
def report(lab: DoctorLab) -> Report:
    return lab.doctor()


def test_a_reserved_address_that_is_lent_is_told_with_its_holder_and_the_end(report: Report) -> None:
    found = report.of(OWNER)["NoAddress"]
    assert found["gravity"] == "fault"
    assert f"{LENT}, is lent to" in found["cause"]
    assert mac(HOLDER) in found["cause"]
    assert f"the pool lent {LENT} to {mac(HOLDER)} until 20" in found["evidence"][-1]


def test_a_machine_that_is_registered_with_its_controllers_mac_is_told_so(report: Report) -> None:
    told = report.of(CONTROLLER)
    assert set(told) == {"ManagementController"}
    assert "it calls itself 'iDRAC'" in told["ManagementController"]["cause"]


def test_a_machine_that_is_added_with_an_address_that_is_lent_is_told_so_at_once(lab: DoctorLab) -> None:
    (lease,) = (each for each in lab.ask("GET", "/v1/leases") if each["mac"] == mac(TWIN))
    added = tinkbox(lab, "hardware", "add", mac(ADDED), "--address", lease["address"])
    assert f"tinkbox: {lease['address']} is lent to {mac(TWIN)} until 20" in added.stderr


def test_an_unknown_mac_like_that_of_a_machine_that_is_waited_for_is_paired(report: Report) -> None:
    asking, waited = report.of(ASKING), report.of(TYPED)
    assert (set(asking), set(waited)) == ({"WrongMac"}, {"WrongMac"}), (asking, waited)
    for found in (asking["WrongMac"], waited["WrongMac"]):
        assert found["gravity"] == "suspect"
        assert mac(ASKING) in found["cause"]
        assert mac(TYPED) in found["cause"]
        assert f"--add-mac {mac(ASKING)} --remove-mac {mac(TYPED)} --force" in found["remedy"]


def test_two_machines_with_one_mac_are_told_by_processor_and_by_uuid(report: Report) -> None:
    assert "now one processor, now another" in report.of(TWIN)["SameMac"]["cause"]
    for number in (CLONE, COPY):
        assert "now one UUID, now another" in report.of(number)["SameMac"]["cause"]


@pytest.mark.parametrize(("number", "key"), [(BARRED, "allow_pxe"), (UNWORKED, "allow_workflow")])
def test_a_machine_that_its_document_keeps_from_booting_is_told_so(
    lab: DoctorLab, report: Report, number: int, key: str
) -> None:
    assert f"{key}: false" in report.of(number)["NotPermitted"]["cause"]
    machine = lab.ask("GET", f"/v1/hardware/{mac(number)}")
    assert machine["state"] == "parked"
    assert f"{key}: false" in machine["parked"]


def test_the_remedy_of_a_wrong_mac_mends_it(lab: DoctorLab, report: Report) -> None:
    remedy = report.of(ASKING)["WrongMac"]["remedy"]
    command = remedy.split("`")[1].split()
    tinkbox(lab, *command[command.index("hardware") :])
    assert lab.box(ASKING).asks()
    assert "WrongMac" not in lab.doctor().of(ASKING)
