"""The picture at every width, and on paper."""

import re
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.golden import text as golden
from tests.unit.view.snapshots import ALL_KINDS, NOW, TROUBLED, failed, held, machine, snapshot, work
from tinkbox.model.breakpoint import Kind
from tinkbox.model.diagnosis import MAY_NOT_BOOT, SILENT_FOR
from tinkbox.model.labels import parse_selector
from tinkbox.model.limits import SHOWN_HOLDERS
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import State
from tinkbox.view.columns import why
from tinkbox.view.keys import Key
from tinkbox.view.lines import line_width, plain
from tinkbox.view.pages import gone_page
from tinkbox.view.picture import picture, plain_picture
from tinkbox.view.rows import EVERYTHING, Scope, rows_of
from tinkbox.view.standing import Standing
from tinkbox.view.state import View, begun, pressed
from tinkbox.wire.messages.status import (
    DeletedLine,
    DiskLine,
    HeldBackLine,
    LimitLine,
    MachineLine,
    Snapshot,
    StoredLine,
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are shown in the zone of the person."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def shown(view: View) -> str:
    return "".join(f"{plain(line)}\n" for line, _ in picture(view))


def told(line: MachineLine) -> str:
    """What a row says of a machine."""
    (row,) = rows_of(snapshot(line), {}).values()
    return why(row, NOW)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_list_at_every_width(width: int) -> None:
    view = begun(ALL_KINDS, 24, width)
    assert shown(view) == golden(f"cli/status-{width}.txt")
    assert all(line_width(line) <= width for line, _ in picture(view))


def test_the_picture_on_paper_cuts_nothing() -> None:
    assert plain_picture(ALL_KINDS, "tinkbox") == golden("cli/status-paper.txt")


def test_a_remedy_with_long_commands_is_not_cut_on_paper() -> None:
    rescue = " && ".join(
        f"sudo cp /proc/{number}/fd/7 /data/tinkbox.sqlite.rescued-{number}" for number in range(1000, 1040)
    )
    first, *others = TROUBLED.health.conditions
    health = replace(TROUBLED.health, conditions=(replace(first, remedy=f"`{rescue}` copies it."), *others))
    assert f"What to do: `{rescue}` copies it." in plain_picture(replace(TROUBLED, health=health), "tinkbox")


def test_the_commands_of_the_view_reach_the_same_appliance() -> None:
    nothing = begun(snapshot(), 24, 80, program="tinkbox --data /d")
    assert "no machine is known yet: tinkbox --data /d hardware add MAC --name NAME" in shown(nothing)
    gone = gone_page("node7", {"retired": {"who": "ann"}}, NOW, 100, "tinkbox --data /d")
    assert "`tinkbox --data /d hardware return node7` takes it back" in plain(gone[-1])


@pytest.mark.parametrize("scope", [EVERYTHING, Scope(labels=parse_selector("gpu"))], ids=str)
def test_who_has_a_scope_without_a_machine_is_told_who_can_give_it_one(scope: Scope) -> None:
    nothing = replace(snapshot(), scope="rack=r1")
    for drawn in (shown(begun(nothing, 24, 100, scope)), plain_picture(nothing, "tinkbox", scope)):
        assert "no machine has the labels that your token is for, rack=r1\n" in drawn
        assert "ask a person whose token has no scope to type tinkbox hardware label MACHINE KEY=VALUE\n" in drawn
        assert "hardware add" not in drawn


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_is_wrong_with_the_appliance_stands_below_the_headline(width: int) -> None:
    view = begun(TROUBLED, 14, width)
    assert shown(view) == golden(f"cli/status-troubled-{width}.txt")
    assert all(line_width(line) <= width for line, _ in picture(view))


def test_on_paper_every_condition_has_its_cause_and_what_to_do() -> None:
    assert plain_picture(TROUBLED, "tinkbox") == golden("cli/status-troubled-paper.txt")


def test_in_a_low_terminal_the_rows_have_the_room_of_what_is_wrong() -> None:
    assert "FAULT" not in shown(begun(TROUBLED, 9, 80))
    view = begun(TROUBLED, 10, 80)
    for _ in range(5):
        view, _ = pressed(view, "j")
    assert len(picture(view)) == 10
    assert any(selected for _, selected in picture(view)), "the last one is seen"


def test_an_appliance_of_before_tells_the_rules_of_its_faults() -> None:
    assert "doctor: 1 fault (NoOsie)" in shown(begun(ALL_KINDS, 24, 120))


def test_a_suspicion_alone_is_told_as_one() -> None:
    health = replace(TROUBLED.health, faults=(), conditions=TROUBLED.health.conditions[1:])
    assert "doctor: 1 suspect (DeletedEarly)" in shown(begun(replace(TROUBLED, health=health), 24, 120))


def test_a_silent_worker_is_counted_up_while_nothing_else_happens() -> None:
    line = machine(1, work=work(), silent_since=NOW - timedelta(seconds=106))
    (row,) = rows_of(snapshot(line), {}).values()
    assert (why(row, NOW), why(row, NOW + timedelta(seconds=60))) == ("silent for 1:46", "silent for 2:46")


def test_for_how_long_a_worker_is_silent_is_told_once() -> None:
    cause = f"{SILENT_FOR} 1:40 while os/write runs: the machine boots again."
    line = machine(1, work=work(), silent_since=NOW - timedelta(seconds=106), diagnosis=cause)
    (row,) = rows_of(snapshot(line), {}).values()
    assert why(row, NOW) == cause


def test_why_a_machine_may_not_boot_is_told_once() -> None:
    reason = "its hardware document says allow_pxe: false"
    kept_out = machine(
        1, ticket=True, parked=f"{reason}, so it may not boot over the network", diagnosis=f"{MAY_NOT_BOOT}: {reason}."
    )
    parked = replace(kept_out, parked="3 boots", diagnosis="Its firmware ignores proxy offers.")
    (row,), (other,) = (rows_of(snapshot(each), {}).values() for each in (kept_out, parked))
    assert why(row, NOW) == f"{MAY_NOT_BOOT}: {reason}."
    assert why(other, NOW) == "is parked: 3 boots: Its firmware ignores proxy offers."


def test_on_paper_a_retry_is_told_with_the_text_that_it_runs() -> None:
    line = failed(5)
    assert line.work is not None
    for changed in (False, True):
        paper = plain_picture(snapshot(replace(line, work=replace(line.work, template_changed=changed))), "tinkbox")
        assert ("(with the text of before: its template was changed or deleted since)" in paper) is changed


def test_on_paper_each_problem_has_lines_to_type_that_reach_the_same_appliance() -> None:
    paper = plain_picture(snapshot(failed(5), held(6), machine(7, parked="x")), "tinkbox --data /srv/box")
    workflow = failed(5).work.id  # type: ignore[union-attr]
    for typed in (
        f"workflow state {workflow}",
        f"workflow logs {workflow}",
        f"workflow retry {workflow}",
        "doctor 08:",
    ):
        assert f": tinkbox --data /srv/box {typed}" in paper
    assert paper.count("tinkbox") == paper.count("tinkbox --data /srv/box") + 1, "the program's name and version"
    assert paper.splitlines()[-1].startswith("3 machines need you: ")
    assert plain_picture(snapshot(failed(5)), "tinkbox").splitlines()[-1].startswith("1 machine needs you: ")


def test_on_paper_nothing_is_said_twice() -> None:
    line = plain_picture(snapshot(machine(1, work=work(State.SUCCESS), stage="phoned home")), "tinkbox").splitlines()[
        -1
    ]
    assert line.count("phoned home") == 1


def test_machines_that_wait_for_their_turn_are_counted_and_show_nothing_of_their_last_workflow() -> None:
    waiting = machine(1, rollout="1a2b3c4d-0000", work=work(State.SUCCESS, action="reboot"))
    lines = shown(begun(snapshot(waiting, machine(2)), 24, 120)).splitlines()
    assert "2 machines  1 WAITING  1 IDLE" in lines[0]
    assert lines[3].split() == ["○", "node1", "WAITING", "waits", "in", "rollout", "1a2b3c4d"]


@pytest.mark.parametrize("width", [1, 20, 59, 75, 76, 111, 112, 128, 152, 170, 400])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = machine(
        1, hostname="網" * 40, stage="x" * 300, address="172.30.0.1", work=work(name="n" * 200, action="a" * 200)
    )
    for keys in ([], ["?"], ["p"], ["/"], ["a"]):
        view = begun(snapshot(long, failed(2)), 24, width)
        for key in keys:
            view, _ = pressed(view, key)
        assert all(line_width(line) <= width for line, _ in picture(view)), keys


@pytest.mark.parametrize("width", [30, 60, 70, 80, 100, 120, 130])
def test_where_not_all_counts_fit_whole_ones_are_left_out(width: int) -> None:
    said = plain(picture(begun(ALL_KINDS, 24, width))[0][0])
    assert re.fullmatch(r"12 machines( 1 [A-Z]+)+( …)?", said)
    assert all(each in {standing.word for standing in Standing} for each in said.removesuffix(" …").split()[3::2])


def test_exactly_the_selected_row_is_marked() -> None:
    view, _ = pressed(begun(ALL_KINDS, 24, 80), "j")
    assert [plain(line)[:7] for line, selected in picture(view) if selected] == ["⏸ node7"]


def test_without_a_machine_it_says_how_to_register_one() -> None:
    assert "tinkbox hardware add MAC --name NAME" in shown(begun(snapshot(), 24, 80))
    assert "tinkbox hardware add MAC --name NAME" in plain_picture(snapshot(), "tinkbox")


@pytest.mark.parametrize("width", [20, 60])
def test_what_may_be_answered_is_seen_however_long_the_question(width: int) -> None:
    view, _ = pressed(begun(snapshot(failed(1, hostname="x" * 60)), 24, width), "r")
    assert shown(view).splitlines()[-1].endswith("… (y/n)")
    view, _ = pressed(begun(snapshot(held()), 24, width), "c")
    for key in "it is fine" * 9:
        view, _ = pressed(view, key)
    assert shown(view).splitlines()[-1].endswith("is fine█")


@pytest.mark.parametrize(
    ("width", "asks"),
    [
        (16, "Why do 20 failu…\n █"),
        (34, "Why do 20 failures count as succe…\nnode[1,3,5,7,9] and 15 more █"),
        (60, "Why do 20 failures count as success?\nnode[1,3,5,7,9,11,13,15,17,19] node[30-39] █"),
        (84, "Why do 20 failures count as success? node[1,3,5,7,9,11,13,15,17,19] node[30-39] █"),
        (120, "Why do 20 failures count as success? node[1,3,5,7,9,11,13,15,17,19] node[30-39] █"),
    ],
)
def test_a_question_about_several_has_as_many_names_as_fit_and_how_many_more_there_are(width: int, asks: str) -> None:
    view = begun(snapshot(*(held(each) for each in (*range(1, 20, 2), *range(30, 40)))), 24, width)
    for key in "*c":
        view, _ = pressed(view, key)
    lines = shown(view).splitlines()
    assert lines[-1 - asks.count("\n") :] == asks.splitlines()
    assert len(lines) == 24


@pytest.mark.parametrize(
    ("width", "faults", "said"),
    [
        (60, (), "doctor: no fault  "),
        (60, ("NoOsie",), "doctor: 1 fault  "),
        (44, (), "doctor: no fault  "),
        (44, ("NoOsie", "DiskFull"), "doctor: 2 faults  "),
        (80, ("NoOsie",), "doctor: 1 fault (NoOsie)  "),
        (120, (), "doctor: no fault of the appliance  "),
    ],
)
def test_a_fault_is_told_from_none_however_narrow_it_is(width: int, faults: tuple[str, ...], said: str) -> None:
    told = replace(ALL_KINDS, health=replace(ALL_KINDS.health, faults=faults))
    assert said in plain(picture(begun(told, 24, width))[1][0])


@pytest.mark.parametrize(
    ("width", "said"), [(44, "doctor: examines  "), (120, "examines the appliance for the first time")]
)
def test_before_everything_was_examined_nothing_is_said_to_be_right(width: int, said: str) -> None:
    health = replace(ALL_KINDS.health, faults=(), examined=False)
    assert said in plain(picture(begun(replace(ALL_KINDS, health=health), 24, width))[1][0])
    told = replace(ALL_KINDS, health=replace(health, faults=("NoOsie",)))
    assert "doctor: 1 fault" in plain(picture(begun(told, 24, width))[1][0])


@pytest.mark.parametrize("width", [60, 80])
def test_that_a_verdict_is_under_way_is_seen_where_the_line_is_cut(width: int) -> None:
    row = held(decided=True, message="x" * 90)
    assert " decided, being carried out" in shown(begun(snapshot(row), 24, width))


def test_a_filter_that_finds_nothing_says_so() -> None:
    view = begun(ALL_KINDS, 24, 80)
    for key in ("/", "z", "z"):
        view, _ = pressed(view, key)
    assert "no machine has 'zz': Esc shows all of them" in shown(view)
    assert shown(view).splitlines()[-1].startswith("/zz█  0 machines")
    view, _ = pressed(view, Key.ENTER)
    keys = shown(view).splitlines()[-1].split("  ")
    assert "Esc clear filter" in keys
    assert not {"Enter open", "Space mark"} & set(keys)


def test_a_filter_that_is_shown_and_cut_says_so() -> None:
    view = begun(ALL_KINDS, 24, 80)
    for key in ("/", *"gpu in (yes) rack in (r5, r6) failed", Key.ENTER):
        view, _ = pressed(view, key)
    assert "/gpu in (yes) rack i…  by problem" in shown(view).splitlines()[1]


def test_keys_that_go_with_the_machine_are_named_where_they_fit() -> None:
    for width in (80, 120):
        keys = shown(begun(snapshot(held()), 24, width)).splitlines()[-1]
        assert all(each in keys for each in ("s shell", "c continue", "r retry", "a abort", "? keys", "q leave"))
    assert "a cancel" in shown(begun(snapshot(machine(work=work())), 24, 80)).splitlines()[-1]
    assert "retry" not in shown(begun(snapshot(machine(work=work(State.SUCCESS))), 24, 80)).splitlines()[-1]
    assert "retry" not in shown(begun(snapshot(failed(1, rollout="1a2b3c4d")), 24, 80)).splitlines()[-1]
    decided = shown(begun(snapshot(held(decided=True)), 24, 120)).splitlines()[-1]
    assert "a cancel" in decided
    assert not any(each in decided for each in ("s shell", "c continue", "r retry", "a abort"))
    waiting, _ = pressed(begun(snapshot(failed(1, rollout="1a2b3c4d")), 24, 80), "*")
    assert shown(waiting).splitlines()[-1].startswith("u unmark  ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (machine(work=work(attempt=2, attempts=3)), "attempt 2 of 3"),
        (machine(work=work(leaving=True)), "goes away by intention, and is waited for"),
        (machine(work=work(elsewhere="node9")), "waits for node9"),
        (machine(work=work()), "the worker is in touch"),
        (machine(work=work(State.PENDING), stage="", stage_at=None), "not seen yet"),
        (held(kind=Kind.BEFORE), "before it begins; fails by itself in 28m"),
        (held(decided=True), "decided, being carried out; NonZeroExit"),
        (
            machine(work=work(lost=True, reason="HistoryLost", message="it ran 2 actions")),
            "HistoryLost: it ran 2 actions",
        ),
        (machine(rollout="1a2b3c4d-0000"), "waits in rollout 1a2b3c4d"),
        (machine(rollout="1a2b3c4d-0000", work=work(State.SUCCESS)), "waits in rollout 1a2b3c4d"),
        (machine(rollout="1a2b3c4d-0000", rollout_paused=True), "waits in rollout 1a2b3c4d, which is paused"),
        (machine(parked="3 boots\x1b[2J", ticket=True), "is parked: 3 boots [2J"),
    ],
)
def test_a_row_says_what_there_is_to_know(line: MachineLine, said: str) -> None:
    assert told(line) == said


def test_nothing_that_a_machine_said_steers_the_terminal() -> None:
    evil = "\x1b[2J\x07evil\x9b\n"
    flow = work(State.FAILED, name=evil, action=evil, reason=evil, message=evil, hint=evil, template=evil)
    line = machine(1, hostname=evil, stage=evil, address=evil, labels={evil: evil}, work=flow)
    every = snapshot(line, version=evil)
    for text in (plain_picture(every, "tinkbox"), shown(begun(every, 24, 200))):
        assert not {"\x1b", "\x07", "\x9b"} & set(text)
        assert "evil" in text


DISK = DiskLine(free=1 << 20, nearly_full=True, database=2 << 20, stored=())


def with_disk(**changes: object) -> Snapshot:
    return replace(ALL_KINDS, disk=replace(DISK, **changes))


@pytest.mark.parametrize("key", ["a", "r", "c"])
def test_nothing_in_a_question_steers_the_terminal(key: str) -> None:
    evil = "\x1b[2J\x07\x9b"
    line = replace(held(name=evil, action=evil), hostname=evil)
    view, _ = pressed(begun(snapshot(line), 24, 200), key)
    assert view.question is not None
    assert not set(evil[:1] + evil[-2:]) & set(shown(view))


def test_a_title_of_wide_letters_fills_its_line_and_no_more() -> None:
    view, _ = pressed(begun(snapshot(machine(1, hostname="機械")), 24, 80), Key.ENTER)
    assert line_width(picture(view)[2][0]) == 80
    assert "…" not in plain(picture(view)[2][0])


def test_help_is_whole_in_every_terminal() -> None:
    view, _ = pressed(begun(ALL_KINDS, 10, 60), "?")
    seen = ""
    for _ in range(40):
        seen += "".join(shown(view).splitlines(keepends=True)[2:-1])
        view, _ = pressed(view, "j")
    assert "…" not in seen
    assert "in its line, address, MAC or labels; a state" in " ".join(seen.split())
    assert "leave\n" in seen


def test_a_disk_without_room_cannot_be_overlooked() -> None:
    assert "disk 1MiB free: nearly full" in shown(begun(with_disk(), 24, 80))
    assert "disk 1MiB free: FULL" in shown(begun(with_disk(full=True), 24, 80))
    stored = (StoredLine(kind="output", octets=9, number=1, remedy="delete workflows"),)
    paper = plain_picture(with_disk(full=True, stored=stored, remedy="output take most: delete workflows"), "tinkbox")
    assert "the disk is full, and machines cannot hand in what they did: output take most: delete workflows" in paper
    deleted = DeletedLine(workflows=3, octets=9, since=NOW, until=NOW + timedelta(days=1))
    told = "3 finished workflows deleted early for lack of room (9 bytes), from 2026-11-21 03:30 UTC to 2026-11-22 03:30 UTC"
    assert told in plain_picture(with_disk(deleted=deleted), "tinkbox")


def test_what_to_do_about_a_failure_can_be_typed_and_offers_no_output_of_what_never_ran() -> None:
    failed = next(each for each in ALL_KINDS.machines if each.work and each.work.state is State.FAILED)
    assert failed.work is not None
    never_ran = replace(failed.work, reason="WorkerOutdated", hint=Reason.WORKER_OUTDATED.hint)
    paper = plain_picture(snapshot(replace(failed, work=never_ran)), "tinkbox")
    assert f"boot the machine again, and `tinkbox workflow retry {failed.work.id[:8]}`" in paper
    assert "workflow logs" not in paper
    ran = replace(failed.work, reason="WorkerOutdated", hint="")
    assert "workflow logs" in plain_picture(snapshot(replace(failed, work=ran)), "tinkbox")


def test_what_to_do_about_a_service_that_failed_names_it() -> None:
    flow = work(State.FAILED, reason="ServiceFailed", hint=Reason.SERVICE_FAILED.hint, service="boot files")
    paper = plain_picture(snapshot(machine(work=flow)), "tinkbox")
    assert "what to do: read what it printed: `tinkbox service logs 'a8984b09/boot files'`" in paper


def test_limits_that_hold_somebody_back_are_told() -> None:
    def line(number: int) -> LimitLine:
        holders = tuple(HeldBackLine(holder=f"10.0.0.{each}", held="4 streams", refused=each) for each in range(number))
        return LimitLine(name="streams", used="8", total="10 streams", held_back=holders)

    paper = plain_picture(replace(ALL_KINDS, limits=(line(2), line(5), line(SHOWN_HOLDERS))), "tinkbox")
    assert (
        "limit streams: 8 of 10 streams: 10.0.0.0 (4 streams, refused 0 times), 10.0.0.1 (4 streams, refused 1 time)\n"
        in paper
    )
    assert "and 2 more: tinkbox doctor" in paper
    assert f"and at least {SHOWN_HOLDERS - 3} more: tinkbox doctor" in paper
    assert "3 limits near" in shown(begun(replace(ALL_KINDS, limits=(line(1),) * 3), 24, 120))


def test_help_names_every_key_that_does_something() -> None:
    view, _ = pressed(begun(ALL_KINDS, 40, 120), "?")
    text = shown(view)
    for key in (
        "j k",
        "g G",
        "PgDn",
        "/",
        "Esc",
        "S Tab",
        "p ",
        "Enter",
        "l ",
        "o ",
        "d ",
        "s ",
        "c ",
        "r ",
        "a ",
        "q ",
        "Ctrl-C",
    ):
        assert f"\n{key}" in text, key
    assert Key.ESCAPE not in text


def test_of_an_unknown_machine_the_doctors_remedy_stands_in_place_of_to_register_it() -> None:
    stranger = replace(ALL_KINDS.strangers[0], diagnosis="It may be node7.", remedy="Type `tinkbox hardware edit`.")
    told = plain_picture(replace(ALL_KINDS, strangers=(stranger,)), "tinkbox")
    assert "It may be node7 (" in told
    assert "what to do: Type `tinkbox hardware edit`." in told
    assert "register it: " not in told
    assert "register it: " in plain_picture(ALL_KINDS, "tinkbox")
