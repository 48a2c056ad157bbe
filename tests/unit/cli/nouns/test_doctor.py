"""`tinkbox doctor`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.nouns import doctor

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
    appliance.answers[f"GET /v1/doctor?key={MAC}"] = told({**FOUND, "gravity": "suspect"})
    printed = tinkbox("doctor", MAC)
    assert (printed.status, printed.out.splitlines()[0]) == (0, f"SUSPECT  OtherServer  {MAC}")


def test_a_clean_bill_is_a_line(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(unasked="no right to ask")
    printed = tinkbox("doctor")
    assert printed.status == 0
    assert printed.out == (
        "Nothing wrong was found (2026-11-21 03:00:00 UTC).\nOther DHCP servers were not asked for: no right to ask\n"
    )


def test_a_clean_bill_says_what_it_rests_on_and_what_was_not_examined(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(
        unasked="no right to ask",
        examined=[
            "the appliance (disk, OSIE, limits)",
            "40 machines by what was seen of them",
            "3 workflows under way",
        ],
        unexamined=[
            {"what": "other DHCP servers", "why": "no right to ask"},
            {"what": "12 other machines", "why": "never seen or not for a day, and no workflow needs them"},
        ],
    )
    assert tinkbox("doctor").out == (
        "Nothing wrong was found (2026-11-21 03:00:00 UTC).\n"
        "Examined: the appliance (disk, OSIE, limits), 40 machines by what was seen of them, 3 workflows\n"
        "  under way.\n"
        "Not examined: other DHCP servers (no right to ask); 12 other machines (never seen or not for a day,\n"
        "  and no workflow needs them).\n"
    )


def test_beside_a_fault_it_says_what_was_not_examined_and_of_one_patient_only_what_was_to_be(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    others = [{"what": "other DHCP servers", "why": "no right to ask"}]
    rest = [{"what": "everything else", "why": "`tinkbox doctor` examines it"}]
    found = told(FOUND, unasked="no right to ask", unexamined=others + rest)
    appliance.answers = {"GET /v1/doctor?machine=": found, f"GET /v1/doctor?key={MAC}": found | {"machine": MAC}}
    assert "\nNot examined: other DHCP servers (no right to ask); everything else (" in tinkbox("doctor").out
    assert tinkbox("doctor", MAC).out.endswith("\n\nNot examined: other DHCP servers (no right to ask).\n")


WORKFLOW = "0f6ca2f4-0000-0000-0000-000000000007"


def test_a_workflow_is_examined_by_its_name(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    late = {**FOUND, "workflow": WORKFLOW, "since": "2026-11-21T02:58:00+00:00"}
    appliance.answers["GET /v1/doctor?key=debian"] = told(workflow=WORKFLOW, workflows=1)
    assert tinkbox("doctor", "debian").out == (
        "Nothing wrong was found with workflow 0f6ca2f4 (2026-11-21 03:00:00 UTC).\n"
    )
    appliance.answers["GET /v1/doctor?key=debian"] = told(late, workflow=WORKFLOW, workflows=1)
    assert tinkbox("doctor", "debian").out.splitlines()[0] == (
        f"FAULT  OtherServer  {MAC}  workflow 0f6ca2f4  since 2026-11-21 02:58:00 UTC"
    )


def test_an_empty_key_is_no_key(tinkbox: Callable[..., Printed]) -> None:
    printed = tinkbox("doctor", "")
    assert (printed.status, printed.out) == (2, "")
    assert "it is empty: give a name, a MAC" in printed.err


@pytest.mark.parametrize("flags", [("-o", "csv"), ("-o", "yaml"), ("-q",)])
def test_what_is_watched_is_no_list(tinkbox: Callable[..., Printed], flags: tuple[str, ...]) -> None:
    printed = tinkbox("doctor", "--watch", *flags)
    assert (printed.status, printed.out) == (2, "")
    assert "--watch prints what people read" in printed.err


def test_a_watcher_too_many_waits_until_there_is_a_place(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "EVERY", 0)
    full = {"detail": "too many examinations run or wait: try later", "status": 429, "retry_after": 0}
    gone = {"detail": "that is the end", "status": 404}
    answers = iter([full, full, told(FOUND), gone])
    appliance.answers["GET /v1/doctor?machine=&listen=0"] = lambda: next(answers)
    printed = tinkbox("doctor", "--watch", "-o", "json")
    assert [json.loads(each)["change"] for each in printed.out.splitlines()] == ["began"]
    assert printed.err.splitlines() == [
        "tinkbox: too many examinations run or wait: try later; trying again",
        "tinkbox: that is the end",
    ]


def test_changes_are_told_once_and_a_figure_is_none() -> None:
    first = told({**FOUND, "cause": "Silent for 40 s."}, {**FOUND, "rule": "NoOsie", "machine": ""})
    second = told({**FOUND, "cause": "Silent for 45 s."}, {**FOUND, "rule": "Stalled", "machine": MAC})
    before, now = ({doctor._identity(each): each for each in found["diagnoses"]} for found in (first, second))
    changed = list(doctor._changed(before, now, [second], {}))
    assert changed[:2] == ["2026-11-21 03:00:00 UTC began:", f"FAULT  Stalled  {MAC}"]
    (over,) = (each for each in changed if " over: " in each)
    assert over.startswith("2026-11-21 03:00:00 UTC over: FAULT  NoOsie: Another DHCP server, 172.30.0.9,")
    as_json = [json.loads(each) for each in doctor._changed_as_json(before, now, [second])]
    assert [(each["change"], each["rule"]) for each in as_json] == [("began", "Stalled"), ("over", "NoOsie")]
    assert [*doctor._changed(now, {}, [second], {})][-1].endswith("Nothing wrong is left.")


def test_a_change_of_gravity_is_one_line() -> None:
    suspect, fault = (
        told({**FOUND, "rule": "SilentWorker", "subject": "", "gravity": each}) for each in ("suspect", "fault")
    )
    before, now = ({doctor._identity(each): each for each in found["diagnoses"]} for found in (suspect, fault))
    (changed,) = map(json.loads, doctor._changed_as_json(before, now, [fault]))
    assert (changed["change"], changed["gravity"]) == ("changed", "fault")
    lines = [*doctor._changed(before, now, [fault], {})]
    assert lines[:2] == ["2026-11-21 03:00:00 UTC changed, suspect before:", f"FAULT  SilentWorker  {MAC}"]
    assert not any("over" in each.split() for each in lines)


def test_groups_stand_by_their_gravity_and_machines_by_their_names(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    faults = [{**FOUND, "machine": f"08:00:27:00:00:{number:02x}", "name": f"node{number}"} for number in range(97)]
    appliance.answers["GET /v1/doctor?machine="] = told(*faults, {**FOUND, "rule": "Stalled", "gravity": "suspect"})
    lines = tinkbox("doctor").out.splitlines()
    assert lines[0] == "FAULT  OtherServer  node0 (08:00:27:00:00:00)"
    group = lines.index("FAULT  OtherServer, as above, of 94 more")
    assert lines[group + 1].startswith("  node3 node4 node5 ")
    assert lines.index(f"SUSPECT  Stalled  {MAC}") > group


def test_an_image_that_many_workflows_need_is_one_finding(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    missing = {**FOUND, "rule": "ImageMissing", "subject": "image x is not in the registry", "remedy": "Load it."}
    many = [{**missing, "workflow": f"{number:08x}-0000"} for number in range(100)]
    appliance.answers["GET /v1/doctor?machine="] = told(*many, {**missing, "subject": "image y", "workflow": WORKFLOW})
    shown = tinkbox("doctor").out
    assert shown.startswith(
        "FAULT  ImageMissing\n  Image x is not in the registry: 100 workflows need it (00000000, 00000001, 00000002 …).\n"
    )
    assert shown.count("FAULT  ImageMissing") == 2
    assert tinkbox("doctor", "-o", "wide").out.count("FAULT  ImageMissing") == 101


def test_the_faults_of_the_appliance_stand_beside_those_of_a_machine_and_beside_none(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    own = {**FOUND, "rule": "NobodyGivesAddresses", "machine": "", "cause": "Nobody gives addresses."}
    key = f"GET /v1/doctor?key={MAC}"
    line = "The appliance itself: FAULT  NobodyGivesAddresses: Nobody gives addresses.\n  What to do: `tinkbox doctor` says it.\n"
    appliance.answers[key] = told(machine=MAC, appliance=[own])
    printed = tinkbox("doctor", MAC)
    assert printed.out == f"Nothing wrong was found with machine {MAC} itself (2026-11-21 03:00:00 UTC).\n{line}"
    assert printed.status == 0, "the machine's own"
    appliance.answers[key] = told(FOUND, machine=MAC, appliance=[own])
    assert tinkbox("doctor", MAC).out.endswith(f"\n\n{line}")


def test_of_many_machines_it_listens_once_and_tells_together_what_they_have_in_common(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    ids = [f"m{number}" for number in range(40)]
    appliance.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = [
        {"id": each, "name": f"node-{each}"} for each in ids
    ]
    appliance.answers["GET /v1/doctor?key=m0"] = told(machine="m0")
    for each in ids[1:]:
        found = [FOUND | {"machine": each}] if each != "m39" else []
        appliance.answers[f"GET /v1/doctor?key={each}&listen=0"] = told(*found, machine=each)
    printed = tinkbox("doctor", "-l", "rack=r1")
    assert printed.status == 1
    assert printed.out.count("FAULT  OtherServer  m") == 3
    assert "FAULT  OtherServer, as above, of 35 more" in printed.out
    assert printed.out.endswith("Nothing wrong was found with 2 of 40 (2026-11-21 03:00:00 UTC):\n  node-m0 node-m39\n")


def test_the_lines_for_other_servers_are_printed_where_they_mend_something(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(mode="off", servers=[SERVER])
    assert tinkbox("doctor").out == (
        "Nothing wrong was found (2026-11-21 03:00:00 UTC).\n"
        "`tinkbox doctor -o wide` prints the lines that the other DHCP server has to be told.\n"
    )
    assert tinkbox("doctor", "-o", "wide").out.startswith("For dnsmasq, into a file:\n")


SERVER = {"server": "dnsmasq", "where": "into a file", "lines": ["dhcp-boot=tag:ipxe,x", "  and so on" + 120 * "x"]}


def test_the_lines_for_other_servers_can_be_pasted_and_leave_the_diagnoses_in_sight(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers["GET /v1/doctor?machine="] = told(FOUND | {"rule": "BootLoop"}, mode="off", servers=[SERVER])
    assert tinkbox("doctor").out.startswith("For dnsmasq")
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
    assert shown["name"].out == f"{MAC}\n", "what commands take, and nothing for the appliance"
    assert shown["csv"].out.splitlines()[0] == "gravity,rule,machine,cause,remedy,workflow"
    assert f"fault,OtherServer,{MAC}," in shown["csv"].out
    assert "rule: NoOsie" in shown["yaml"].out
    assert shown["tink"].out == tinkbox("doctor").out
    assert tinkbox("doctor", "-q").out == f"{MAC}\n"


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
    assert lines[0] == "FAULT  NoOsie"
    assert lines[-3].endswith("08:00:27:00:00:16 …")
    assert len(json.loads(tinkbox("doctor", "--format", "json").out)["diagnoses"]) == 65


def test_of_a_machine_that_alone_is_judged(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers[f"GET /v1/doctor?key={MAC}"] = told(machine=MAC)
    assert tinkbox("doctor", MAC).out.startswith(f"Nothing wrong was found with machine {MAC} (")


def test_several_machines_are_examined_one_after_the_other(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    appliance.answers = {
        "GET /v1/hardware?label=rack%3Dr1&sort=name": [{"id": "m1", "name": "node7"}],
        "GET /v1/doctor?key=m1": told(machine="m1"),
        f"GET /v1/doctor?key={MAC}": told(FOUND, machine=MAC),
        "GET /v1/doctor?key=m1&listen=0": told(machine="m1"),
        f"GET /v1/doctor?key={MAC}&listen=0": told(FOUND, machine=MAC),
    }
    appliance.answers["GET /v1/hardware?label=rack%3Dr1&sort=name"] = [{"id": "m1", "name": "node7"}]
    assert tinkbox("doctor", "-l", "rack=r1").out.startswith("Nothing wrong was found with machine node7 (")
    printed = tinkbox("doctor", MAC, "m1")
    assert printed.status == 1
    assert f"FAULT  OtherServer  {MAC}\n" in printed.out
    assert printed.out.splitlines()[-1].startswith("Nothing wrong was found with machine m1 (")
    assert [each["machine"] for each in json.loads(tinkbox("doctor", MAC, "m1", "-o", "json").out)] == [MAC, "m1"]
    assert tinkbox("doctor", "m1", MAC, "-o", "csv").out.count("\n") == 2
    (selected,) = json.loads(tinkbox("doctor", "-l", "rack=r1", "-o", "json").out)
    assert selected["machine"] == "m1"


@pytest.mark.parametrize("format_", ["json", "yaml", "csv", "name", "table"])
def test_a_machine_that_is_not_there_prints_no_document(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, format_: str
) -> None:
    printed = tinkbox("doctor", "nope", "-o", format_)
    assert (printed.status, printed.out, printed.err) == (2, "", "tinkbox: no such thing here\n")


def test_labels_that_nothing_has_are_no_fault(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/hardware?label=rack%3Dr9&sort=name"] = []
    printed = tinkbox("doctor", "-l", "rack=r9")
    assert (printed.status, printed.out) == (doctor.UNKNOWN, "")
    assert "no machine has the labels rack=r9: `tinkbox hardware list` shows which have any" in printed.err
