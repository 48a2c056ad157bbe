"""`tinkbox doctor`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed

MAC = "08:00:27:00:00:01"
FOUND = {
    "rule": "OtherServer",
    "gravity": "fault",
    "machine": MAC,
    "cause": "Another DHCP server, 172.30.0.9, gives addresses to the machines that boot here, and the faster one wins.",
    "evidence": ["2026-11-21 03:00:03 accepted 172.30.0.77\x1b[2J of the DHCP server 172.30.0.9"],
    "remedy": "Stop that server.",
}


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "100")


def told(*diagnoses: dict[str, Any], **more: Any) -> dict[str, Any]:
    document = {"at": "2026-11-21T03:00:00+00:00", "mode": "reservation", "machine": "", "machines": 2, "unasked": ""}
    return {**document, "diagnoses": list(diagnoses), "servers": [], **more}


def test_a_fault_is_told_with_evidence_and_remedy(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(FOUND)
    printed = tinkbox("doctor")
    assert printed.status == 1
    assert printed.out == (
        "FAULT  OtherServer  08:00:27:00:00:01\n"
        "  Another DHCP server, 172.30.0.9, gives addresses to the machines that boot here, and the faster\n"
        "  one wins.\n"
        "    - 2026-11-21 03:00:03 accepted 172.30.0.77 [2J of the DHCP server 172.30.0.9\n"
        "  What to do: Stop that server.\n"
        "\n"
    )


def test_a_narrow_terminal_is_not_overrun(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(FOUND)
    monkeypatch.setenv("COLUMNS", "80")
    assert 60 < max(map(len, tinkbox("doctor").out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "400")
    assert 80 < max(map(len, tinkbox("doctor").out.splitlines())) <= 100


def test_what_is_no_fault_leaves_the_status_good(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/doctor?machine={MAC}"] = told({**FOUND, "gravity": "suspect"})
    printed = tinkbox("doctor", MAC)
    assert (printed.status, printed.out.splitlines()[0]) == (0, f"SUSPECT  OtherServer  {MAC}")


def test_a_clean_bill_is_a_line(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(unasked="no right to ask")
    printed = tinkbox("doctor")
    assert printed.status == 0
    assert printed.out == (
        "Nothing wrong was found with the appliance and 2 machines, seen within a day or "
        "needed by a workflow (2026-11-21 03:00:00 UTC).\n"
        "Other DHCP servers were not asked for: no right to ask\n"
    )


def test_one_machine_is_one(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(machines=1)
    assert "with the appliance and 1 machine, seen within a day" in tinkbox("doctor").out


SERVER = {"server": "dnsmasq", "where": "into a file", "lines": ["dhcp-boot=tag:ipxe,x", "  and so on" + 120 * "x"]}


def test_the_lines_for_other_servers_can_be_pasted_and_leave_the_diagnoses_in_sight(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(FOUND, mode="off", servers=[SERVER])
    shown = tinkbox("doctor").out
    assert shown.startswith(f"For dnsmasq, into a file:\n\ndhcp-boot=tag:ipxe,x\n  and so on{120 * 'x'}\n\nFAULT  ")


def test_beside_another_server_its_lines_are_for_programs_alone(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(mode="proxy", servers=[SERVER])
    assert tinkbox("doctor").out.startswith("Nothing wrong was found")
    assert json.loads(tinkbox("doctor", "--format", "json").out)["servers"] == [SERVER]


def test_programs_get_the_document(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(FOUND)
    printed = tinkbox("doctor", "--format", "json")
    assert (printed.status, json.loads(printed.out)) == (1, told(FOUND))


def test_every_format_works_and_keeps_the_status(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(FOUND, {**FOUND, "rule": "NoOsie", "machine": ""})
    shown = {each: tinkbox("doctor", "-o", each) for each in ("wide", "csv", "yaml", "name", "tink")}
    assert {each.status for each in shown.values()} == {1}
    assert shown["name"].out == f"OtherServer {MAC}\nNoOsie\n"
    assert shown["csv"].out.splitlines()[0] == "gravity,rule,machine,cause,remedy"
    assert f"fault,OtherServer,{MAC}," in shown["csv"].out
    assert "rule: NoOsie" in shown["yaml"].out
    assert shown["tink"].out == tinkbox("doctor").out
    assert tinkbox("doctor", "-q").out == "OtherServer\nNoOsie\n"


def test_wide_tells_all_of_them_in_full(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(*({**FOUND, "machine": f"{each}"} for each in range(9)))
    assert tinkbox("doctor", "-o", "wide").out.count("FAULT  OtherServer  ") == 9


def test_what_is_the_same_of_many_machines_takes_few_lines(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    strangers = [{**FOUND, "gravity": "suspect", "machine": f"08:00:27:00:00:{number:02x}"} for number in range(64)]
    appliance.answers["GET /v1/doctor?machine="] = told({**FOUND, "rule": "NoOsie", "machine": ""}, *strangers)
    lines = tinkbox("doctor").out.splitlines()
    assert sum(line.startswith("SUSPECT  OtherServer  ") for line in lines) == 3
    assert "SUSPECT  OtherServer, as above, of 61 more" in lines
    assert lines[-6].startswith("  08:00:27:00:00:03 08:00:27:00:00:04 ")
    assert lines[-3].endswith("08:00:27:00:00:16 …")
    assert len(json.loads(tinkbox("doctor", "--format", "json").out)["diagnoses"]) == 65


def test_of_a_machine_its_boots_alone_are_judged(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/doctor?machine={MAC}"] = told(machine=MAC)
    assert tinkbox("doctor", MAC).out.startswith(f"Nothing wrong was found with how {MAC} boots (")


def test_several_machines_are_examined_one_after_the_other(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers = {
        "GET /v1/hardware?label=rack%3Dr1&sort=name": [{"id": "m1", "name": "node7"}],
        "GET /v1/doctor?machine=m1": told(machine="m1"),
        f"GET /v1/doctor?machine={MAC}": told(FOUND, machine=MAC),
    }
    appliance.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = [{"id": "m1", "name": "node7"}]
    assert tinkbox("doctor", "-l", "rack=r1").out.startswith("Nothing wrong was found with how node7 boots (")
    printed = tinkbox("doctor", MAC, "m1")
    assert printed.status == 1
    assert f"FAULT  OtherServer  {MAC}\n" in printed.out
    assert printed.out.splitlines()[-1].startswith("Nothing wrong was found with how m1 boots (")
    assert [each["machine"] for each in json.loads(tinkbox("doctor", MAC, "m1", "-o", "json").out)] == [MAC, "m1"]
    assert tinkbox("doctor", "m1", MAC, "-o", "csv").out.count("\n") == 2
    (selected,) = json.loads(tinkbox("doctor", "-l", "rack=r1", "-o", "json").out)
    assert selected["machine"] == "m1"


@pytest.mark.parametrize("format_", ["json", "yaml", "csv", "name", "table"])
def test_a_machine_that_is_not_there_prints_no_document(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, format_: str
) -> None:
    printed = tinkbox("doctor", "nope", "-o", format_)
    assert (printed.status, printed.out, printed.err) == (1, "", "tinkbox: no such thing here\n")
