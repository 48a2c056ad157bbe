"""`tinkbox hardware`, with the words of 2020's `tink`."""

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import AT, DOCUMENT, MACHINE, MACHINE_ID
from tinkbox.cli.nouns.hardware.listing import firmware
from tinkbox.cli.output import printable
from tinkbox.cli.terminal.questions import Questions
from tinkbox.cli.wording.timelines import NO_BOOTS

TIMELINE = [{"at": AT, "stage": "discovered", "detail": "PXEClient\x07"}, {"at": AT, "stage": "kernel", "detail": ""}]
PUSHED = [
    {"id": MACHINE_ID, "name": "node7", "mac": "08:00:27:00:00:01"},
    {"id": "2", "name": "", "mac": "08:00:27:00:00:02"},
]
Tinkbox = Callable[..., Printed]


@pytest.fixture
def machines(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {
        "GET /v1/hardware": [MACHINE],
        "GET /v1/hardware?sort=name": [MACHINE],
        "POST /v1/hardware": {"id": MACHINE_ID, "pushed": PUSHED},
        f"DELETE /v1/hardware/{MACHINE_ID}": {"id": MACHINE_ID},
        "DELETE /v1/hardware/0eba": {"id": MACHINE_ID},
        "GET /v1/hardware/machine-1/credential": {"server": "http://172.30.0.1", "token": "secret"},
    }
    for key in (MACHINE_ID, "08:00:27:00:00:01", "172.30.0.11"):
        appliance.answers[f"GET /v1/hardware/{key}"] = MACHINE
        appliance.answers[f"GET /v1/hardware/{key}/timeline"] = TIMELINE
    return appliance


def test_pushing_says_so_as_gos_logger_did(tink: Tinkbox, machines: FakeAppliance) -> None:
    printed = tink("hardware", "push", stdin=b"{}").out
    assert re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d Hardware data pushed successfully\n", printed)


def test_pushing_names_what_was_stored(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    printed = tinkbox("hardware", "push", stdin=b"{}").out
    assert printed == "node7 (08:00:27:00:00:01) stored\n08:00:27:00:00:02 stored\n"


def test_pushing_names_what_is_not_honoured(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    notes = [{"line": 7, "key": "spec.bmcRef", "text": "not honoured: no BMC"}]
    machines.answers["POST /v1/hardware"] = {"id": MACHINE_ID, "pushed": [], "notes": notes}
    pushed = tinkbox("hardware", "push", stdin=b"kind: Hardware")
    assert (pushed.status, pushed.err) == (0, "tinkbox: line 7, spec.bmcRef: not honoured: no BMC\n")
    assert machines.asked == [("POST /v1/hardware", b"kind: Hardware")]


def test_what_is_not_honoured_stands_apart_from_what_scripts_of_2020_read(
    tink: Tinkbox, machines: FakeAppliance
) -> None:
    note = {"line": None, "key": "network.interfaces[0].dhcp.hostnam", "text": "unknown key; did you mean hostname?"}
    machines.answers["POST /v1/hardware"] = {"id": MACHINE_ID, "pushed": PUSHED, "notes": [note]}
    pushed = tink("hardware", "push", stdin=b"{}")
    assert pushed.out.endswith("Hardware data pushed successfully\n")
    assert pushed.out.count("\n") == 1
    assert "network.interfaces[0].dhcp.hostnam: unknown key; did you mean hostname?\n" in pushed.err


def test_a_strict_push_asks_to_refuse_what_would_be_ignored(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    machines.answers["POST /v1/hardware?strict=true"] = {"id": MACHINE_ID, "pushed": PUSHED[:1]}
    pushed = tinkbox("hardware", "push", "--strict", stdin=b"{}")
    assert (pushed.status, pushed.out) == (0, "node7 (08:00:27:00:00:01) stored\n")


WITHOUT_MAC = {"id": MACHINE_ID, "name": "agent", "mac": ""}


def test_a_machine_without_a_mac_is_stored_listed_and_shown(
    tinkbox: Tinkbox, tink: Tinkbox, machines: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINKBOX_FORMAT")
    machines.answers["POST /v1/hardware"] = {"id": MACHINE_ID, "pushed": [WITHOUT_MAC, {**WITHOUT_MAC, "name": ""}]}
    assert tinkbox("hardware", "push", stdin=b"{}").out == f"agent stored\n{MACHINE_ID} stored\n"
    named = {"mac": "", "address": "172.30.0.77", "netmask": "", "gateway": "", "hostname": "agent-host"}
    for interfaces, told in (([], ""), ([named], "172.30.0.77")):
        machine = {**MACHINE, **WITHOUT_MAC, "interfaces": interfaces}
        machines.answers["GET /v1/hardware?sort=name"] = machines.answers["GET /v1/hardware"] = [machine]
        machines.answers["GET /v1/hardware/agent"] = machine
        machines.answers["GET /v1/hardware/agent/timeline"] = []
        (row,) = csv.DictReader(io.StringIO(tinkbox("hardware", "list", "-o", "csv").out))
        assert (row["name"], row["mac"], row["ip"]) == ("agent", "", told)
        shown = tinkbox("hardware", "get", "agent").out
        assert f"no MAC {told}" in shown or not interfaces
        assert shown.endswith(f"\n{NO_BOOTS}\n")
    monkeypatch.setenv("TINKBOX_FORMAT", "tink")
    machines.answers["GET /v1/hardware?sort=name"] = machines.answers["GET /v1/hardware"] = [
        {**MACHINE, **WITHOUT_MAC, "interfaces": []}
    ]
    assert MACHINE_ID in tink("hardware", "list").out


@pytest.fixture
def five_minutes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printable, "now", lambda: datetime(2020, 7, 8, 15, 22, 3, tzinfo=UTC))


@pytest.mark.usefixtures("five_minutes_later")
def test_the_list_has_a_line_for_each_machine(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert tinkbox("hardware", "list").out == (
        "NAME       MAC                IP           STATE            AGE  LABELS\n"
        "machine-1  08:00:27:00:00:01  172.30.0.11  booting: kernel  5m   gpu=no,rack=r1\n"
    )
    assert tinkbox("hardware", "list", "-o", "name").out == "machine-1\n"
    wide = tinkbox("hardware", "list", "-o", "wide").out
    assert all(each in wide for each in (MACHINE_ID, "fetched the kernel", "WHY"))
    assert tinkbox("hardware", "list", "-o", "csv").out.splitlines() == [
        "id,name,mac,ip,state,since,labels,stage,why",
        f'{MACHINE_ID},machine-1,08:00:27:00:00:01,172.30.0.11,booting: kernel,{AT},"gpu=no,rack=r1",fetched the kernel,',
    ]


def test_a_list_shows_a_machine_by_the_interface_that_boots(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    cards = [
        {"mac": "08:00:27:00:00:02", "address": "172.30.0.12", "hostname": "node7"},
        {"mac": "08:00:27:00:00:03", "address": "172.30.0.13", "hostname": ""},
    ]
    machines.answers["GET /v1/hardware?sort=name"] = [{**MACHINE, "interfaces": cards, "mac": cards[1]["mac"]}]
    (row,) = csv.DictReader(io.StringIO(tinkbox("hardware", "list", "-o", "csv").out))
    assert (row["mac"], row["ip"]) == ("08:00:27:00:00:03", "172.30.0.13")
    assert "08:00:27:00:00:03  172.30.0.13" in tinkbox("hardware", "list").out


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"state": "parked", "parked": "three boots"}, "parked"),
        ({"state": "stalled", "stalled": "for 40 s"}, "stalled: kernel"),
        ({"state": "waiting"}, "waiting"),
        ({"stage": "", "stage_at": None}, "booting"),
    ],
)
def test_the_state_says_what_needs_a_person(
    tinkbox: Tinkbox, machines: FakeAppliance, changes: dict[str, object], state: str
) -> None:
    machines.answers["GET /v1/hardware?sort=name"] = [{**MACHINE, **changes, "labels": {}}]
    assert tinkbox("hardware", "list").out.splitlines()[1].split("172.30.0.11")[1].split("  ")[1] == state


def test_the_retired_tell_since_when_and_why(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    retired = {"at": "2020-07-07T00:00:00+00:00", "who": "ann", "reason": "the fan is broken"}
    machines.answers["GET /v1/hardware?sort=name&state=retired"] = [{**MACHINE, "state": "retired", "retired": retired}]
    (row,) = csv.DictReader(io.StringIO(tinkbox("hardware", "list", "--retired", "-o", "csv").out))
    assert (row["since"], row["why"]) == (retired["at"], retired["reason"])


@pytest.mark.parametrize("state", ["waiting", "waiting,retired"])
def test_the_retired_and_a_state_are_not_united(tinkbox: Tinkbox, machines: FakeAppliance, state: str) -> None:
    refused = tinkbox("hardware", "list", "--retired", "--state", state)
    assert (refused.status, machines.asked) == (2, [])
    assert "--retired is the same as --state retired" in refused.err


def test_without_keys_get_is_the_list(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert tinkbox("hardware", "get", "-o", "name").out == "machine-1\n"
    assert machines.asked[-1][0] == "GET /v1/hardware?sort=name"


def test_filters_are_asked_of_the_appliance(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    asked = "GET /v1/hardware?sort=-stage_at&state=parked%2Cstalled&label=rack%3Dr1%2Cgpu%21%3Dno&limit=3"
    machines.answers[asked] = []
    flags = ["--state", "Parked,stalled", "-l", "rack=r1, gpu!=no", "--sort", "-stage-at", "--limit", "3"]
    assert tinkbox("hardware", "list", *flags).status == 0
    assert [request for request, _ in machines.asked] == [asked]


def test_a_machine_is_told_in_full(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert tinkbox("hardware", "get", MACHINE_ID).out == (
        "Name:        machine-1\n"
        f"ID:          {MACHINE_ID}\n"
        "State:       booting: kernel\n"
        "Labels:      gpu=no,rack=r1\n"
        "Interfaces:  08:00:27:00:00:01 172.30.0.11/24 gateway 172.30.0.1\n"
        "             08:00:27:00:00:02\n"
        "Created:     2020-07-08 15:17:02 UTC\n"
        "TIME                     STAGE       DETAIL\n"
        "2020-07-08 15:17:02 UTC  discovered  PXEClient\n"
        "2020-07-08 15:17:02 UTC  kernel\n"
    )


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"address": "172.30.0.11"}, "172.30.0.11"),  # by an earlier release
        ({"address": "172.30.0.11", "netmask": "255.255.254.0", "gateway": ""}, "172.30.0.11/23"),
        ({"address": "", "netmask": "", "gateway": "172.30.0.1"}, "gateway 172.30.0.1"),
    ],
)
def test_of_an_interface_is_shown_what_is_reserved(
    tinkbox: Tinkbox, machines: FakeAppliance, told: dict[str, str], shown: str
) -> None:
    card = {"mac": "08:00:27:00:00:01", "hostname": "", **told}
    machines.answers[f"GET /v1/hardware/{MACHINE_ID}"] = {**MACHINE, "interfaces": [card]}
    assert f"Interfaces:  08:00:27:00:00:01 {shown}\n" in tinkbox("hardware", "get", MACHINE_ID).out


def test_the_list_has_a_line_for_each_interface(tink: Tinkbox, machines: FakeAppliance) -> None:
    assert tink("hardware", "list").out == (
        "+--------------------------------------+-------------------+-------------+-----------+\n"
        "| ID                                   | MAC ADDRESS       | IP ADDRESS  | HOSTNAME  |\n"
        "+--------------------------------------+-------------------+-------------+-----------+\n"
        "| 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 | 08:00:27:00:00:01 | 172.30.0.11 | machine-1 |\n"
        "| 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 | 08:00:27:00:00:02 |             |           |\n"
        "+--------------------------------------+-------------------+-------------+-----------+\n"
    )
    assert tink("hardware", "get").out == tink("hardware", "list").out
    assert tink("hardware", "list", "-q").out == f"{MACHINE_ID}\n"
    assert tink("hardware", "list", "--format", "csv", "--no-headers").out.splitlines() == [
        f"{MACHINE_ID},08:00:27:00:00:01,172.30.0.11,machine-1",
        f"{MACHINE_ID},08:00:27:00:00:02,,",
    ]
    assert json.loads(tink("hardware", "list", "--format", "json").out) == {"data": [MACHINE]}
    assert json.loads(tink("hardware", "all").out) == DOCUMENT


def test_names_are_keys_and_each_machine_has_a_line(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    """The appliance tells the id as the key of what its name does not mean alone; some names cannot be typed as they are."""
    odd = ["-rf", "a b", "it's", "hardware/x", "rack=r2", "zone-", "a\ufe0f", MACHINE_ID]
    keys = ["node7", "id-1", "id-2", *odd]
    listed = [{**MACHINE, "id": f"id-{number}", "key": key} for number, key in enumerate(keys)]
    machines.answers["GET /v1/hardware?sort=name"] = listed
    printed = tinkbox("hardware", "list", "-o", "name").out
    assert printed.splitlines() == ["node7", *(f"id-{number}" for number in range(1, len(keys)))]
    machines.answers[f"GET /v1/hardware/{MACHINE_ID}"] = {**MACHINE, "key": MACHINE_ID}
    assert tinkbox("hardware", "get", MACHINE_ID, "-o", "name").out == f"{MACHINE_ID}\n"
    # An earlier release tells no keys.
    machines.answers["GET /v1/hardware?sort=name"] = [{**MACHINE, "id": each} for each in ("id-1", "id-2")]
    assert tinkbox("hardware", "list", "-o", "name").out == "machine-1\nmachine-1\n"


def test_a_machine_is_its_document_on_one_line(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert tinkbox("hardware", "id", MACHINE_ID, MACHINE_ID).out == f"{json.dumps(DOCUMENT)}\n" * 2
    assert tinkbox("hardware", "id", MACHINE_ID, "-o", "tink").out == f"{json.dumps(DOCUMENT)}\n"
    assert json.loads(tinkbox("hardware", "id", MACHINE_ID, "-o", "json").out)["id"] == MACHINE_ID


def test_every_format_of_one_machine_works(tink: Tinkbox, machines: FakeAppliance) -> None:
    assert tink("hardware", "get", MACHINE_ID, "-q").out == f"{MACHINE_ID}\n"
    told = {**MACHINE, "timeline": TIMELINE}
    assert json.loads(tink("hardware", "get", MACHINE_ID, "--format", "json").out) == {"data": [told]}
    assert json.loads(tink("hardware", "get", MACHINE_ID, MACHINE_ID, "--format", "json").out) == {"data": [told, told]}
    assert tink("hardware", "get", MACHINE_ID, "--format", "csv").out.splitlines() == [
        "ID,MAC Address,IP Address,Hostname",
        f"{MACHINE_ID},08:00:27:00:00:01,172.30.0.11,machine-1",
        f"{MACHINE_ID},08:00:27:00:00:02,,",
    ]


@pytest.mark.parametrize(("verb", "key"), [("mac", "08-00-27-00-00-01"), ("ip", "172.30.0.11")])
def test_an_address_shows_its_interface_only(tink: Tinkbox, machines: FakeAppliance, verb: str, key: str) -> None:
    assert tink("hardware", verb, key).out == (
        "+-------------+--------------------------------------+\n"
        "| FIELD NAME  | VALUE                                |\n"
        "+-------------+--------------------------------------+\n"
        "| ID          | 0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94 |\n"
        "| MAC Address | 08:00:27:00:00:01                    |\n"
        "| IP Address  | 172.30.0.11                          |\n"
        "| Hostname    | machine-1                            |\n"
        "+-------------+--------------------------------------+\n"
    )
    assert json.loads(tink("hardware", verb, "-d", key).out) == DOCUMENT
    assert tink("hardware", verb, key, "-o", "table").out == (
        f"ID:           {MACHINE_ID}\nMAC Address:  08:00:27:00:00:01\nIP Address:   172.30.0.11\nHostname:     machine-1\n"
    )
    assert json.loads(tink("hardware", verb, key, "-o", "json").out) == {"data": [MACHINE]}
    assert json.loads(tink("hardware", verb, key, key, "-o", "json").out) == {"data": [MACHINE, MACHINE]}
    assert tink("hardware", verb, key, "-q").out == f"{MACHINE_ID}\n"


@pytest.mark.parametrize(
    ("verb", "key", "told"),
    [
        ("mac", "08:00:27:00:00:09", "MAC address not found in the database 08:00:27:00:00:09"),
        ("ip", "172.30.0.99", "IP address not found in the database 172.30.0.99"),
    ],
)
def test_an_unknown_address_is_told(tinkbox: Tinkbox, machines: FakeAppliance, verb: str, key: str, told: str) -> None:
    failed = tinkbox("hardware", verb, key)
    assert (failed.status, failed.out, failed.err) == (1, "", f"tinkbox: {told}\n")
    machines.answers[f"GET /v1/hardware/{key}"] = {**MACHINE, "name": key}
    failed = tinkbox("hardware", verb, key)
    assert (failed.status, failed.out, failed.err) == (1, "", f"tinkbox: {told}\n"), "one is only called so"


@pytest.mark.parametrize(
    ("verb", "key", "told"),
    [
        ("mac", "zz", "invalid mac: 'zz' (expected six octets, like 08:00:27:00:00:01)"),
        ("ip", "172.30.0", "invalid ip: 172.30.0"),
    ],
)
def test_an_address_that_is_none_is_a_wrong_command_line(
    tinkbox: Tinkbox, machines: FakeAppliance, verb: str, key: str, told: str
) -> None:
    wrong = tinkbox("hardware", verb, key)
    assert (wrong.status, wrong.out, machines.asked) == (2, "", [])
    assert f"tinkbox: {told}\n" in wrong.err


def test_deleting_names_what_was_deleted(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert tinkbox("hardware", "delete", "0eba").out == f"Deleted Hardware:  {MACHINE_ID}\n"


def test_deleting_names_the_id_whatever_it_was_called_by(tink: Tinkbox, machines: FakeAppliance) -> None:
    printed = tink("hardware", "delete", "0eba").out
    assert re.fullmatch(rf"\S+ \S+ Hardware data with id {MACHINE_ID} deleted successfully\n", printed)


def test_a_machine_is_shown_with_its_boot_timeline(tink: Tinkbox, machines: FakeAppliance) -> None:
    assert tink("hardware", "get", MACHINE_ID).out == tink("hardware", "list").out + (
        "+-------------------------------+------------+------------+\n"
        "| AT                            | STAGE      | DETAIL     |\n"
        "+-------------------------------+------------+------------+\n"
        "| 2020-07-08 15:17:02 +0000 UTC | discovered | PXEClient  |\n"
        "| 2020-07-08 15:17:02 +0000 UTC | kernel     |            |\n"
        "+-------------------------------+------------+------------+\n"
    )


@pytest.mark.parametrize(
    ("habits", "line"),
    [
        ({"secure_boot": True, "local_boot": "", "proven": False}, "takes signed boot loaders only (Secure Boot)"),
        ({"secure_boot": False, "local_boot": "GRUB", "proven": True}, "way to its disk: GRUB, which worked"),
        (
            {"secure_boot": True, "local_boot": "exit", "proven": False},
            "takes signed boot loaders only (Secure Boot); way to its disk: exit, not seen to work yet",
        ),
    ],
)
def test_what_was_learned_of_its_firmware_is_one_line(habits: dict[str, Any], line: str) -> None:
    assert firmware(habits) == f"firmware: {line}\n"


def test_nothing_learned_is_nothing_said() -> None:
    assert firmware({"secure_boot": False, "local_boot": "", "proven": False}) == ""


def test_below_the_timeline_stands_that_a_machine_gets_no_further(tink: Tinkbox, machines: FakeAppliance) -> None:
    machines.answers[f"GET /v1/hardware/{MACHINE_ID}"] = {**MACHINE, "stalled": "stalled here for 40 s"}
    shown = tink("hardware", "get", MACHINE_ID).out
    assert shown.endswith("+------------+\nstalled here for 40 s\n")


def test_a_credential_is_json_for_a_file(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert json.loads(tinkbox("hardware", "credential", "machine-1").out)["token"] == "secret"


@pytest.mark.parametrize(("asks", "words"), [(True, ()), (True, ("--yes",)), (False, ())])
def test_who_voids_the_credential_of_a_machine_at_work_is_told_what_becomes_of_its_action(
    tinkbox: Tinkbox, machines: FakeAppliance, monkeypatch: pytest.MonkeyPatch, asks: bool, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Questions, "can_ask", asks)
    work = {"workflow_id": "0a0a0a0a-0000", "held": False, "ends_at": "2026-01-01T12:40:00+00:00"}
    machines.answers["GET /v1/hardware/machine-1/at-work"] = {"at_work": work}
    machines.answers["POST /v1/hardware/machine-1/credential"] = {"token": "another"}
    line = ("hardware", "credential", "machine-1", "--rotate", *words)
    will_ask = asks and not words
    if will_ask:
        refused = tinkbox(*line, stdin=b"no\n")
        assert (refused.status, machines.asked[-1][0]) == (1, "GET /v1/hardware/machine-1/at-work")
        assert refused.out == "Void the credential of machine-1? (yes or no) [no]: "
        assert refused.err.startswith(
            "machine-1 is at work for workflow 0a0a0a0a. With its credential voided its worker is "
        )
    done = tinkbox(*line, stdin=b"yes\n")
    assert (done.status, done.out.startswith("Void"), done.err.count("WorkerLost")) == (0, will_ask, 1)
    assert json.loads(done.out[done.out.index("{") :]) == {"token": "another"}
    assert (
        "worker is refused from now on" in done.err or "\nThe worker of machine-1 is refused from now on:" in done.err
    )
    assert "\n  tinkbox workflow cancel 0a0a0a0a --force " in done.err


def test_of_an_idle_machine_the_credential_is_voided_without_a_question(
    tinkbox: Tinkbox, machines: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    machines.answers["POST /v1/hardware/machine-1/credential"] = {"token": "another"}
    for machines.answers["GET /v1/hardware/machine-1/at-work"] in ({"at_work": None}, None):
        done = tinkbox("hardware", "credential", "machine-1", "--rotate")
        assert (done.status, done.out, done.err) == (0, '{"token": "another"}\n', "")


def test_watching_goes_on_with_the_machines_that_are_there(
    tinkbox: Tinkbox, machines: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(_: float) -> None:
        machines.answers[f"GET /v1/hardware/{MACHINE_ID}"] = {"status": 404, "detail": "it is gone"}

    monkeypatch.setattr("asyncio.sleep", gone)
    watched = tinkbox("hardware", "watch", "nothing", MACHINE_ID)
    assert (watched.status, watched.out) == (1, f"{json.dumps(DOCUMENT)}\n")
    assert watched.err == "tinkbox: no such thing here\ntinkbox: it is gone\n"


def test_watching_prints_a_document_once_and_ends_when_the_machine_is_gone(
    tinkbox: Tinkbox, machines: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    async def look_again(seconds: float) -> None:
        looks.append(seconds)
        machines.away = len(looks) == 1
        if len(looks) == 2:
            machines.answers[f"GET /v1/hardware/{MACHINE_ID}"] = {**MACHINE, "document": {"id": "changed"}}
        if len(looks) == 4:
            machines.answers[f"GET /v1/hardware/{MACHINE_ID}"] = {"status": 404, "detail": "it is gone"}

    monkeypatch.setattr("asyncio.sleep", look_again)
    watched = tinkbox("hardware", "watch", MACHINE_ID)
    assert watched.out.splitlines() == [json.dumps(DOCUMENT), '{"id": "changed"}']
    assert watched.err.count("trying again") == 1, "it goes on over an absence of the appliance"
    assert watched.status == 1
