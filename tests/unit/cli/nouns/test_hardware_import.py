"""`tinkbox hardware import`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.nouns.hardware.importing import KINDS, SAID
from tinkbox.cli.output.refusals import MOST_SHOWN
from tinkbox.model.machine_lists import ImportOutcome
from tinkbox.wire.machine_lists.reading import Kind

Tinkbox = Callable[..., Printed]
MAC, OTHER = "08:00:27:00:00:01", "08:00:27:00:00:02"
ROUTE = "POST /v1/hardware/import"
LIST = f"mac,name,ip,labels\n{MAC},node1,172.30.0.11,rack=r1\n{OTHER},node2,,\n"


def done(outcome: str, number: int = 1, **fields: object) -> dict[str, object]:
    known = {
        "outcome": outcome,
        "mac": MAC,
        "name": f"node{number}",
        "address": f"172.30.0.1{number}",
        "labels": {},
        "id": "x",
        "changes": [],
        "why": "",
        "line": number + 1,
        "key": "",
    }
    return {**known, **fields}


@pytest.fixture
def listed(tmp_path: Path) -> str:
    path = tmp_path / "machines.csv"
    path.write_text(LIST)
    return str(path)


def asked(appliance: FakeAppliance) -> dict[str, Any]:
    ((route, body),) = appliance.asked
    assert route == ROUTE
    found: dict[str, Any] = json.loads(body)
    return found


def test_every_kind_and_every_outcome_is_known_here() -> None:
    assert set(KINDS) == set(Kind)
    assert set(SAID) == set(ImportOutcome)


def test_a_list_is_read_here_and_sent_parsed(tinkbox: Tinkbox, appliance: FakeAppliance, listed: str) -> None:
    appliance.answers = {ROUTE: {"machines": [done("made"), done("unchanged", 2)]}}
    ended = tinkbox("hardware", "import", listed, "--label", "dc=ber", "-l", "rack=r2")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        "LINE  MAC                NAME   IP           OUTCOME  CHANGES\n"
        "2     08:00:27:00:00:01  node1  172.30.0.11  made\n"
        "2 machines: 1 made, 1 unchanged\n"
    )
    assert asked(appliance) == {
        "machines": [
            {
                "macs": [MAC],
                "name": "node1",
                "address": "172.30.0.11",
                "labels": {"rack": "r2", "dc": "ber"},
                "line": 2,
            },
            {"macs": [OTHER], "name": "node2", "labels": {"rack": "r2", "dc": "ber"}, "line": 3},
        ],
        "update": False,
        "skip_invalid": False,
        "dry_run": False,
    }


def test_standard_input_is_a_dash(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers = {ROUTE: {"machines": [done("unchanged")]}}
    assert tinkbox("hardware", "import", "-", stdin=LIST.encode()).out == "1 machine: 1 unchanged\n"
    assert len(asked(appliance)["machines"]) == 2


def test_the_second_run_has_no_table(tinkbox: Tinkbox, appliance: FakeAppliance, listed: str) -> None:
    appliance.answers = {ROUTE: {"machines": [done("unchanged"), done("unchanged", 2)]}}
    assert tinkbox("hardware", "import", listed).out == "2 machines: 2 unchanged\n"
    documents = json.loads(tinkbox("hardware", "import", listed, "-o", "json").out)
    assert [each["outcome"] for each in documents] == ["unchanged"] * 2


def test_a_dry_run_says_what_would_be_and_fails_where_something_is_refused(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    different = done("different", changes=["ip 172.30.0.11 -> 172.30.0.12"])
    appliance.answers = {ROUTE: {"machines": [different, done("refused", 2, why="node2\x1b[2J is taken")]}}
    ended = tinkbox("hardware", "import", listed, "--dry-run")
    assert ended.status == 1
    assert "different  ip 172.30.0.11 -> 172.30.0.12" in ended.out
    assert (ended.out + ended.err).count("node2 [2J is taken") == 1
    assert ended.err == f"tinkbox: refused: line 3: {MAC}: node2 [2J is taken\n"
    assert ended.out.endswith(
        "2 machines: 1 differs and would be left alone (--update changes it), 1 refused: nothing would be stored\n"
    )
    assert asked(appliance)["dry_run"] is True


def test_what_differs_is_told_with_what_an_update_would_refuse(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    changed = done("different", changes=["ip 172.30.0.11 -> 172.30.0.12"])
    why = "an update would be refused: node2 is taken"
    blocked = done("different", 2, changes=["name node1 -> node2"], why=why)

    def told(*machines: dict[str, object]) -> str:
        appliance.answers = {ROUTE: {"machines": list(machines)}}
        ended = tinkbox("hardware", "import", listed)
        assert ended.status == 0
        assert ended.err.splitlines() == [
            f"tinkbox: left alone: line 3: {MAC}: {why}" for each in machines if each is blocked
        ]
        assert why not in ended.out
        return ended.out.splitlines()[-1]

    assert told(changed) == "1 machine: 1 differs and was left alone (--update changes it)"
    assert told(changed, changed) == "2 machines: 2 differ and were left alone (--update changes them)"
    assert told(blocked) == "1 machine: 1 differs and was left alone (--update would refuse it)"
    assert told(changed, blocked, changed) == (
        "3 machines: 3 differ and were left alone (--update would change 2 of them and refuse 1)"
    )


def test_a_connection_that_breaks_says_that_it_may_be_imported(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    appliance.away = True
    broken = tinkbox("hardware", "import", listed)
    assert (broken.status, broken.err.count("\n")) == (1, 1)
    assert "the machines may be imported all the same: import them again, which is safe" in broken.err
    assert "nothing was imported" in tinkbox("hardware", "import", listed, "--dry-run").err


def test_a_list_that_is_too_large_is_named_with_the_way_out(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    appliance.problem = {"status": 413, "detail": "17000000 bytes: at most 16777216 are taken here"}
    ended = tinkbox("hardware", "import", listed)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        f"tinkbox: {listed}: too much for one import (17000000 bytes: at most 16777216 are taken here): split it\n"
    )


@pytest.mark.parametrize("away", [False, True])
def test_a_wrong_line_stores_nothing_with_or_without_an_appliance(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, away: bool
) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(LIST + "08:00,node\x1b3,,\n")
    appliance.away, appliance.answers = away, {ROUTE: {"machines": [done("made"), done("made", 2)]}}
    ended = tinkbox("hardware", "import", str(path))
    assert (ended.status, ended.out) == (1, "")
    assert away or asked(appliance)["dry_run"] is True
    assert ended.err.splitlines()[0].startswith("tinkbox: the list has 2 problems, so nothing was stored")
    assert "  line 4: invalid mac: '08:00'" in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.parametrize("dry", [False, True])
def test_what_the_list_and_what_the_appliance_has_against_it_is_told_at_once_by_lines(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, dry: bool
) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(f"mac,name\n{MAC},node1\n{MAC},node2\n{OTHER},node3\n08:00,node4\n08:00:27:00:00:05,node5\n")
    away = {"mac": OTHER, "line": 4, "why": "it cannot have that address"}
    appliance.answers = {
        ROUTE: {"machines": [done("made"), done("refused", 3, **away), done("refused", 5, line=6, why="taken")]}
    }
    ended = tinkbox("hardware", "import", str(path), *(["--dry-run"] if dry else []))
    assert ended.status == 1
    told = ended.err.splitlines()
    if not dry:
        assert told.pop(0).startswith("tinkbox: the list has 4 problems, so nothing was stored")
    places = [line.partition("line ")[2].partition(":")[0] for line in told]
    assert places == ["3", "4", "5", "6"]
    assert asked(appliance)["dry_run"] is True


def test_what_is_wrong_is_skipped_when_that_is_said(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(LIST + f"08:00,node3,,\n{MAC},node4,,\n")
    appliance.answers = {ROUTE: {"machines": [done("made"), done("refused", 2, why="taken")]}}
    ended = tinkbox("hardware", "import", str(path), "--skip-invalid", "--update")
    assert ended.status == 0
    assert ended.out.endswith("2 machines: 1 made, 1 refused, skipped; 2 problems in the list\n")
    told = [line.partition(": ")[2].partition(" (")[0] for line in ended.err.splitlines()]
    assert told[:2] == [f"refused: line 3: {MAC}: taken", "wrong: line 4: invalid mac: '08:00'"]
    sent = asked(appliance)
    assert [each["line"] for each in sent["machines"]] == [2, 3], "of a MAC that is listed twice the first is taken"
    assert (sent["update"], sent["skip_invalid"]) == (True, True)


def test_a_file_of_rubbish_is_told_in_few_lines(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    path = tmp_path / "machines.csv"
    path.write_text("mac\n" + "x\n" * 5000)
    ended = tinkbox("hardware", "import", str(path))
    assert ended.status == 1
    assert len(ended.err.splitlines()) == MOST_SHOWN + 2
    assert ended.err.splitlines()[-1] == f"  and {5000 - MOST_SHOWN:,} more"


@pytest.mark.parametrize("content", ["", "hello\n", "mac\n", "dhcp-host=08:00:27:00:00:01,ignore\n"])
def test_a_list_without_machines_is_refused(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "list"
    path.write_text(content)
    ended = tinkbox("hardware", "import", str(path))
    assert (ended.status, appliance.asked) == (1, [])
    assert str(path) in ended.err


def test_a_directory_is_told_as_such(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    ended = tinkbox("hardware", "import", str(tmp_path))
    assert (ended.status, ended.err) == (1, f"tinkbox: cannot read {tmp_path}: Is a directory: name a file in it\n")


def test_routers_of_a_network_that_is_not_known_travel_and_are_told_where_they_cannot(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    path = tmp_path / "dnsmasq.conf"
    path.write_text(
        f"dhcp-range=172.30.0.50,172.30.0.99,12h\ndhcp-option=3,172.30.0.1\ndhcp-host={MAC},node1,172.30.0.11\n"
    )
    appliance.answers = {ROUTE: {"machines": [done("made")]}}
    assert tinkbox("hardware", "import", str(path)).err == ""
    (sent,) = asked(appliance)["machines"]
    assert (sent["address"], sent["routers"], "gateway" in sent) == ("172.30.0.11", ["172.30.0.1"], False)
    printed = tinkbox("hardware", "import", str(path), "--as-csv")
    assert printed.err == (
        "tinkbox: note: 1 machine without a gateway, which depends on the netmask: name the network, such as "
        "--network 172.30.0.0/24\n"
    )
    printed = tinkbox("hardware", "import", str(path), "--as-csv", "--network", "172.30.0.0/16")
    assert (printed.err, printed.out.splitlines()[1]) == ("", f"{MAC},node1,172.30.0.11/16,172.30.0.1,,,")


def test_a_list_is_printed_as_csv_without_an_appliance(tinkbox: Tinkbox, tmp_path: Path) -> None:
    path = tmp_path / "hosts.conf"
    path.write_text("dhcp-host=08:00:27:00:00:01,set:gpu,node1,172.30.0.11\n")
    ended = tinkbox("hardware", "import", str(path), "--as-csv", "--label", "rack=r1")
    assert ended.out == (f"mac,name,ip,gateway,other_macs,labels,notes\n{MAC},node1,172.30.0.11,,,gpu=yes;rack=r1,\n")


def test_a_dry_run_of_a_list_with_a_wrong_line_says_that_nothing_would_be_stored(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path
) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(LIST + "08:00,node3,,\n")
    appliance.answers = {ROUTE: {"machines": [done("made"), done("made", 2)]}}
    ended = tinkbox("hardware", "import", str(path), "--dry-run")
    assert ended.status == 1
    assert ended.out.endswith("2 machines: 2 would be made; 1 problem in the list: nothing would be stored\n")
    skipped = tinkbox("hardware", "import", str(path), "--dry-run", "--skip-invalid")
    assert skipped.out.endswith("2 machines: 2 would be made; 1 problem in the list\n")


def test_as_csv_prints_what_could_be_read_and_tells_the_rest(tinkbox: Tinkbox, tmp_path: Path) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(LIST + f"08:00,node3,,\n{MAC},node4,,\n")
    ended = tinkbox("hardware", "import", str(path), "--as-csv", "--network", "172.30.0.0/24,172.30.0.1")
    assert ended.status == 1
    assert ended.out.splitlines()[1:] == [
        f"{MAC},node1,172.30.0.11/24,172.30.0.1,,rack=r1,",
        f"{OTHER},node2,,,,,",
        f"{MAC},node4,,,,,",
    ]
    assert ended.err.splitlines() == [
        "tinkbox: wrong: line 4: invalid mac: '08:00' (expected six octets, like 08:00:27:00:00:01)",
        f"tinkbox: wrong: line 5: {MAC} is listed twice: at line 2 too",
    ]


def test_names_that_change_are_told(tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path) -> None:
    path = tmp_path / "hosts.conf"
    path.write_text(f"dhcp-host={MAC},web_1\n")
    appliance.answers = {ROUTE: {"machines": [done("made")]}}
    assert tinkbox("hardware", "import", str(path)).err == "tinkbox: note: line 1: 'web_1' is imported as web-1\n"


@pytest.mark.parametrize(
    ("content", "words", "expected"),
    [
        ("mac\n", [], ": name its --kind if it is another list\n"),
        ("mac\n", ["--kind", "csv"], "machines.csv\n"),
        (f"dhcp-host={MAC},ignore\n", [], ": look at what was left out, or name its --kind if it is another list\n"),
        ("mac\n08:00\n", ["--dry-run", "--kind", "csv"], ": correct what is wrong\n"),
    ],
)
def test_a_list_without_machines_says_what_to_look_at(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, content: str, words: list[str], expected: str
) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(content)
    assert tinkbox("hardware", "import", str(path), *words).err.endswith(expected)
    assert appliance.asked == []


@pytest.mark.parametrize("network", ["172.30.0.1/24", "lab", "172.30.0.0/24,172.31.0.1", "172.30.0.0/24,x"])
def test_what_is_no_network_is_refused(tinkbox: Tinkbox, appliance: FakeAppliance, listed: str, network: str) -> None:
    assert tinkbox("hardware", "import", listed, "--network", network).status == 2
    assert appliance.asked == []


def test_a_network_without_a_prefix_is_refused_with_the_way_out(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    for network in ("10.60.0.0", "10.60.0.7,10.60.0.1"):
        ended = tinkbox("hardware", "import", listed, "--network", network)
        assert ended.status == 2
        assert "has no prefix: write it behind, such as 10.60.0.0/24" in ended.err
    assert appliance.asked == []


@pytest.mark.parametrize("how", [[], ["--dry-run"], ["--skip-invalid"]])
def test_what_several_machines_are_refused_for_is_told_once(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str, how: list[str]
) -> None:
    machines = [done("refused", each, mac=f"08:00:27:00:00:{each:02}", why="no network") for each in range(1, 21)]
    appliance.answers = {ROUTE: {"machines": [done("made", 21), *machines]}}
    ended = tinkbox("hardware", "import", listed, *how)
    some = ", ".join(f"08:00:27:00:00:0{each}" for each in range(1, 6))
    assert ended.err == f"tinkbox: refused: line 2: {some} and 15 more: no network\n"
    appliance.answers = {ROUTE: {"machines": machines}}
    assert tinkbox("hardware", "import", listed, *how).err == "tinkbox: refused: all 20 machines: no network\n"


def test_what_is_no_label_or_kind_or_file_is_refused(tinkbox: Tinkbox, appliance: FakeAppliance, listed: str) -> None:
    assert tinkbox("hardware", "import", listed, "--label", "rack").status == 2
    assert tinkbox("hardware", "import", listed, "--label", "rack-").status == 2
    unknown = tinkbox("hardware", "import", listed, "--kind", "excel")
    assert (unknown.status, unknown.err.count("known")) == (2, 2)
    assert "argument --kind: unknown value 'excel': known here: csv, dnsmasq" in unknown.err
    assert tinkbox("hardware", "import").status == 2
    assert "cannot read" in tinkbox("hardware", "import", "/nowhere").err
    assert appliance.asked == []


def test_names_are_of_what_is_stored_and_mean_nothing_else(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    """They are what another command gets from a pipe: the name of a refused line is that of another machine."""
    machines = [
        done("made", 1, means="node1"),
        done("unchanged", 2, means="the-id-of-one-of-two"),
        done("refused", 3, id="", means="", why="the name node3 belongs to node3 already"),
        done("different", 4, means="node4", changes=["ip 172.30.0.4 -> 172.30.0.14"]),
        done("retired", 5, means="node5", why="it is retired"),
        done("updated", 6, means="node6"),
        done("unchanged", 7, id="id-7", means="rack=r2"),  # to `hardware label` it would be a change
    ]
    appliance.answers = {ROUTE: {"machines": machines}}
    for how in ([], ["--dry-run"]):
        ended = tinkbox("hardware", "import", listed, "--skip-invalid", "-o", "name", *how)
        assert (ended.status, ended.out.split()) == (0, ["node1", "the-id-of-one-of-two", "node6", "id-7"])
        assert ended.err.splitlines() == [
            f"tinkbox: refused: line 4: {MAC}: the name node3 belongs to node3 already",
            f"tinkbox: left alone: line 5: {MAC}: ip 172.30.0.4 -> 172.30.0.14 (--update changes it)",
            f"tinkbox: left alone: line 6: {MAC}: it is retired",
        ]
    stops = tinkbox("hardware", "import", listed, "-o", "name", "--dry-run")
    assert (stops.status, stops.out) == (1, "the-id-of-one-of-two\nid-7\n"), "nothing would be made or updated"


@pytest.mark.parametrize("format_", ["json", "yaml", "csv", "table", "wide", "tink"])
@pytest.mark.parametrize("how", ["--skip-invalid", "--dry-run"])
def test_what_is_refused_is_told_on_standard_error_in_every_format(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str, format_: str, how: str
) -> None:
    appliance.answers = {ROUTE: {"machines": [done("made"), done("refused", 2, why="taken")]}}
    ended = tinkbox("hardware", "import", listed, how, "-o", format_)
    assert ended.err == f"tinkbox: refused: line 3: {MAC}: taken\n"
    if format_ == "json":
        assert [each["outcome"] for each in json.loads(ended.out)] == ["made", "refused"]


def test_what_was_imported_is_told_to_who_reads_no_longer(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str, piped: Callable[[], Callable[[], None]]
) -> None:
    appliance.answers = {ROUTE: {"machines": [done("made"), done("made", 2)]}}
    piped()()
    ended = tinkbox("hardware", "import", listed)
    assert (ended.status, ended.err) == (141, "tinkbox: 2 machines: 2 made\n")


def test_what_there_is_to_say_of_addresses_is_told_once_for_all_of_them(
    tinkbox: Tinkbox, appliance: FakeAppliance, listed: str
) -> None:
    lent, netmask = "172.30.0.11 is lent to 08:00:27:00:00:09", "with the netmask 255.255.0.0 the machine looks"
    appliance.answers = {
        ROUTE: {
            "machines": [
                done("made", notes=[lent, netmask]),
                done("updated", 2, mac=OTHER, notes=[netmask]),
                done("unchanged", 3, mac="08:00:27:00:00:03", notes=[]),
            ]
        }
    }
    ended = tinkbox("hardware", "import", listed)
    assert ended.status == 0
    assert ended.err == f"tinkbox: note: line 2: {MAC}: {lent}\ntinkbox: note: line 2: {MAC}, {OTHER}: {netmask}\n"
