"""`tinkbox hardware discovered`, `accept` and `refuse`."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.golden import text as golden
from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, MACHINE, MACHINE_ID
from tinkbox.cli.output import printable

MAC = "08:00:27:00:00:07"
TOLD: dict[str, Any] = {
    "architecture": "x86_64",
    "processor": "QEMU Virtual CPU",
    "processors": 2,
    "memory": 2 * 2**30,
    "firmware": "uefi",
    "secure_boot": True,
    "firmware_version": "EDK II",
    "manufacturer": "Seed",
    "product": "Model 1\x1b[31m",
    "serial": "M-17",
    "uuid": "4c4c",
    "bmc": "10.0.0.7",
    "disks": [
        {"device": "/dev/vda", "size": 2**30, "serial": "", "model": "", "rotational": False},
        {"device": "/dev/sda", "size": 3 * 2**29, "serial": "DISK-17", "model": "ST1000", "rotational": True},
    ],
    "cards": [
        {"name": "eth0", "mac": MAC, "link": True, "speed": 1000, "driver": "virtio_net"},
        {"name": "eth1", "mac": "08:00:27:00:00:08", "link": False, "speed": 0, "driver": ""},
    ],
}
WAITING = {
    "mac": MAC,
    "standing": "waiting",
    "port": "eth1",
    "architecture": "x86_64",
    "first_seen": AT,
    "last_seen": AT,
    "problem": "",
    "summary": "Seed Model 1",
    "inventory": TOLD,
}
ASKING = WAITING | {"mac": "08:00:27:00:00:09", "standing": "asking", "inventory": None, "summary": ""}
STUCK = WAITING | {"mac": "08:00:27:00:00:0a", "problem": "rule 1 would accept it: template 'x' not found"}
Tinkbox = Callable[..., Printed]


def test_who_waits_is_shown_with_the_serials_of_its_disks(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance.answers["GET /v1/discovered"] = [WAITING, ASKING, STUCK]
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 8, 15, 22, 3, tzinfo=UTC))
    shown = tinkbox("hardware", "discovered")
    assert (shown.status, shown.out) == (0, golden("cli/hardware-discovered.txt"))
    assert tinkbox("hardware", "discovered", "-q").out.split() == [each["mac"] for each in (WAITING, ASKING, STUCK)]
    assert json.loads(tinkbox("hardware", "discovered", "--format", "json").out) == [WAITING, ASKING, STUCK]


def test_programs_get_the_memory_in_bytes(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/discovered"] = [WAITING]
    (row,) = csv.DictReader(io.StringIO(tinkbox("hardware", "discovered", "-o", "csv").out))
    assert row["memory"] == str(2 * 2**30)


def test_a_machine_is_accepted_with_a_word(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    accept = f"POST /v1/discovered/{MAC}/accept"
    appliance.answers[accept] = {"id": MACHINE_ID, "name": "machine-7", "workflow": ""}
    done = tinkbox("hardware", "accept", MAC)
    assert (done.status, done.out) == (0, f"Accepted {MAC} as machine-7:  {MACHINE_ID}\n")
    assert appliance.asked == [(accept, b"{}")]


def test_a_machine_is_accepted_with_everything(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    accept = f"POST /v1/discovered/{MAC}/accept"
    appliance.answers[accept] = {"id": MACHINE_ID, "name": "node", "workflow": "flow-1"}
    words = ["--name", "node", "--ip", "172.30.0.20", "--gateway", "172.30.0.1", "-t", "ubuntu", "--confirm-wipe"]
    done = tinkbox("hardware", "accept", MAC, *words, "-r", json.dumps({"target": MAC}))
    assert done.out == f"Accepted {MAC} as node:  {MACHINE_ID}\nCreated Workflow:  flow-1\n"
    ((_, body),) = appliance.asked
    assert json.loads(body) == {
        "name": "node",
        "address": "172.30.0.20",
        "gateway": "172.30.0.1",
        "template": "ubuntu",
        "hardware": {"target": MAC},
        "confirm_wipe": True,
    }


def test_machines_are_refused(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    other = "08:00:27:00:00:09"
    for each in (MAC, other):
        appliance.answers[f"POST /v1/discovered/{each}/refuse"] = {"mac": each}
    assert tinkbox("hardware", "refuse", MAC, other).out == f"Refused {MAC}\nRefused {other}\n"


def test_what_the_appliance_refuses_is_said(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.problem = {"status": 409, "title": "Conflict", "detail": "it is machine 7 already", "problems": []}
    done = tinkbox("hardware", "accept", MAC)
    assert done.status == 1
    assert "it is machine 7 already" in done.err


def test_a_known_machine_is_shown_with_what_it_is_made_of(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    told = TOLD | {"told_at": AT}
    appliance.answers[f"GET /v1/hardware/{MACHINE_ID}"] = MACHINE | {"inventory": told, "stalled": ""}
    appliance.answers[f"GET /v1/hardware/{MACHINE_ID}/timeline"] = []
    shown = tinkbox("hardware", "get", MACHINE_ID, "-o", "tink").out
    assert golden("cli/hardware-made-of.txt") in shown


def test_what_its_cards_lack_is_shown_by_place_and_file(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    plain = {"kind": "network", "driver": "e1000", "module": "e1000", "asks_firmware": False, "missing": []}
    devices = [
        plain | {"place": "0000:00:02.0", "id": "8086:100e"},
        plain
        | {"place": "0000:02:00.0", "id": "14e4:163b", "driver": "bnx2", "module": "bnx2", "missing": ["a\x1b.fw"]},
        plain | {"place": "0000:03:00.0", "id": "abcd:0001", "kind": "storage", "driver": "", "module": ""},
        plain | {"place": "0000:04:00.0", "id": "1000:005d", "driver": "", "module": "megaraid_sas"},
    ]
    told = TOLD | {"told_at": AT, "devices": devices}
    appliance.answers[f"GET /v1/hardware/{MACHINE_ID}"] = MACHINE | {"inventory": told, "stalled": ""}
    appliance.answers[f"GET /v1/hardware/{MACHINE_ID}/timeline"] = []
    lines = [line.partition(":") for line in tinkbox("hardware", "get", MACHINE_ID).out.splitlines()]
    assert [value.strip() for name, _, value in lines if name == "Lacks"] == [
        "Broadcom network card 14e4:163b at 0000:02:00.0: firmware a .fw (bnx2)",
        "storage controller abcd:0001 at 0000:03:00.0: the OSIE has no module for it",
        "Broadcom (LSI) network card 1000:005d at 0000:04:00.0: module megaraid_sas does not take it",
    ]


@pytest.mark.parametrize("devices", ["x", "[]", '"a"'])
def test_devices_are_an_object(tinkbox: Tinkbox, appliance: FakeAppliance, devices: str) -> None:
    assert tinkbox("hardware", "accept", MAC, "-r", devices).status == 2
