"""What each key does, without a terminal."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.unit.view.snapshots import ALL_KINDS, NOW, failed, held, machine, many, snapshot, work
from tinkbox.model.breakpoint import Kind
from tinkbox.model.labels import parse_selector
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.workflow import State
from tinkbox.view.keys import Key
from tinkbox.view.lines import Line, plain, wrapped
from tinkbox.view.pages import NotDone
from tinkbox.view.picture import picture
from tinkbox.view.rows import Order, Scope
from tinkbox.view.state import (
    Act,
    Cancel,
    Decide,
    Draw,
    Effect,
    Load,
    PageKind,
    Quit,
    Retry,
    Several,
    Shell,
    View,
    begun,
    carried_out,
    disconnected,
    loaded,
    looked,
    pressed,
    resized,
    unanswered,
)
from tinkbox.wire.messages.status import MachineLine, Snapshot, WorkLine

LINES: tuple[Line, ...] = tuple(((f"line {number}", ""),) for number in range(100))


def typed(view: View, *keys: str) -> tuple[View, list[Effect]]:
    effects = []
    for key in keys:
        view, effect = pressed(view, key)
        effects += [effect] if effect is not None else []
    return view, effects


def of(told: Snapshot) -> View:
    return begun(told, 24, 80)


def one(line: MachineLine) -> View:
    return of(snapshot(line))


def name(view: View) -> str:
    return view.row.name if view.row else ""


def drawn(lines: Sequence[Line], items: Sequence[str] = ()) -> Draw:
    """What has come for a page, and looks alike at every width."""
    return lambda *_: (lines, items)


def would_do(view: View) -> list[Act]:
    """What a yes would do."""
    return [each.act for each in view.question.proposals] if view.question else []


def selected(view: View) -> str:
    assert view.page is not None
    return plain(view.page.lines[view.page.selected])


def expanded(word: str) -> set[str]:
    """The names that a range stands for: node[1-3,7]."""
    head, _, numbers = word.removesuffix("]").partition("[")
    spans = [each.split("-") for each in numbers.split(",") if each]
    return {f"{head}{number}" for each in spans for number in range(int(each[0]), int(each[-1]) + 1)} or {word}


def seen(view: View) -> set[str]:
    """The machines that are on the screen."""
    shown = "\n".join(plain(line) for line, _ in picture(view))
    return {each.name for each in view.shown if f"{each.standing.mark} {each.name} " in shown}


def test_every_failure_of_500_machines_is_on_the_screen_within_two_keys() -> None:
    told = many(500, 60)
    wanted = {each.hostname for each in told.machines if each.work and each.work.state is State.FAILED}
    view, found = of(told), set[str]()
    assert len(wanted) == 60
    for key in ("", Key.PAGE_DOWN, Key.PAGE_DOWN):
        view = typed(view, key)[0] if key else view
        found |= seen(view)
    assert wanted <= found


@pytest.mark.parametrize("failures", [0, 1, 61, 250, 499, 500])
def test_however_many_fail_each_is_named_within_two_keys(failures: int) -> None:
    told = many(500, failures)
    wanted = {each.hostname for each in told.machines if each.work and each.work.state is State.FAILED}
    view, found = of(told), set[str]()
    assert len(wanted) == failures
    for key in ("p", Key.PAGE_DOWN):
        view, _ = typed(view, key)
        for word in " ".join(plain(line) for line, _ in picture(view)[3:-1]).split():
            found |= expanded(word)
    assert wanted <= found


def test_a_group_of_problems_leads_to_its_machines() -> None:
    view, effects = typed(of(snapshot(failed(1), failed(2, "OutOfMemory"), failed(3))), "p", "j", "j", Key.ENTER)
    assert ([each.name for each in view.shown], view.page, effects) == (["node2"], None, [])
    view, _ = typed(of(snapshot(machine())), "p")
    assert "there is no problem" in [plain(line) for line, _ in picture(view)]


def test_a_failure_of_one_kind_among_many_is_found_by_a_filter() -> None:
    told = snapshot(*many(500, 250).machines, failed(501, "DiskTooSmall"))
    view, _ = typed(of(told), "/", *"toosmall")
    assert [each.name for each in view.shown] == ["node501"]


@pytest.mark.parametrize(
    ("keys", "index"),
    [
        (["j"], 1),
        (["j", Key.DOWN, "k"], 1),
        (["k"], 0),
        ([Key.UP], 0),
        (["G"], 99),
        (["G", "j"], 99),
        (["G", "g"], 0),
        ([Key.END, Key.HOME], 0),
        ([Key.PAGE_DOWN], 20),
        ([Key.PAGE_DOWN, Key.PAGE_DOWN, Key.PAGE_UP], 20),
        (["G", Key.PAGE_UP], 79),
    ],
)
def test_keys_that_move(keys: list[str], index: int) -> None:
    view, effects = typed(of(many(100, 5)), *keys)
    assert (view.index, effects) == (index, [])
    assert view.top <= view.index < view.top + 20


@pytest.mark.parametrize("key", ["q", Key.INTERRUPT])
def test_keys_that_leave(key: str) -> None:
    assert typed(of(ALL_KINDS), key)[1] == [Quit()]


def test_ctrl_c_leaves_from_everywhere() -> None:
    for keys in (["/"], ["?"], ["a"], ["d"]):
        assert typed(of(ALL_KINDS), *keys, Key.INTERRUPT)[1][-1] == Quit()


def test_nothing_moves_where_there_is_no_machine() -> None:
    view, effects = typed(of(snapshot()), "j", "G", Key.PAGE_DOWN, Key.ENTER, "r", "s")
    assert (view.index, effects, view.notice) == (0, [], "there is no workflow here")


def test_a_filter_counts_as_it_is_typed() -> None:
    view, _ = typed(of(ALL_KINDS), "/", "n", "o", "d", "e", "5")
    assert ([each.name for each in view.shown], view.is_typing) == (["node5"], True)
    view, _ = typed(view, Key.BACKSPACE)
    assert len(view.shown) == 12
    view, _ = typed(view, Key.CLEAR)
    assert len(view.shown) == 13
    view, effects = typed(view, "q", Key.ENTER)
    assert (view.filtered_by, view.is_typing, effects) == ("q", False, []), "a letter is a letter while one types"


def test_a_filter_is_kept_by_enter_and_cleared_by_escape() -> None:
    view, _ = typed(of(ALL_KINDS), "/", *"node5", Key.ENTER, "j")
    assert [each.name for each in view.shown] == ["node5"]
    view, _ = typed(view, Key.ESCAPE)
    assert (len(view.shown), view.filtered_by) == (13, "")
    view, _ = typed(view, "/", "5", Key.ESCAPE)
    assert (len(view.shown), view.is_typing) == (13, False)


def test_a_slash_begins_a_new_filter_and_what_leads_out_of_it_is_on_the_screen() -> None:
    view, _ = typed(of(ALL_KINDS), "/", *"failed", Key.ENTER)
    assert "Esc clear filter" in plain(picture(view)[-1][0])
    view, _ = typed(view, "/")
    assert (view.filtered_by, len(view.shown), view.is_typing) == ("", 13, True)
    assert plain(picture(view)[-1][0]) == "/█  13 machines; Enter keeps it, Esc clears it"
    view, _ = typed(view, *"node5", Key.ENTER)
    assert [each.name for each in view.shown] == ["node5"]
    view, _ = typed(view, "/", Key.ENTER)
    assert len(view.shown) == 13
    assert "Esc clear filter" not in plain(picture(view)[-1][0])


def test_while_a_filter_is_typed_the_cursor_is_on_the_first_match_of_the_list() -> None:
    told = snapshot(*(failed(each) for each in (3, 30, 39, 39)), machine(31, work=None))
    for begins in ("g", "G"):
        view, _ = typed(of(told), begins, "/", *"node3")
        assert view.shown[0].name == name(view) == "node3"
        view, _ = typed(view, Key.BACKSPACE, *"31", Key.ENTER)
        assert name(view) == "node31"
    view, effects = typed(of(told), "G", "/", *"node", Key.ENTER, Key.ENTER)
    assert effects == [Load(kind=PageKind.MACHINE, machine=failed(3).id)]


@pytest.mark.parametrize(
    "words", ["node3", "NODE3", "failed node3", "172.30.0.3", "08:00:27:00:00:03", "08-00-27-00-00-03"]
)
def test_a_word_that_is_all_of_a_machines_name_mac_or_address_selects_that_machine(words: str) -> None:
    # Of problems the newest comes first.
    others = (replace(failed(each), hostname=f"node3{each}", address=f"172.30.0.3{each}") for each in (1, 2))
    view, _ = typed(of(snapshot(*others, failed(3))), "/", *words)
    assert name(view) == "node3"
    view, effects = typed(view, Key.ENTER, Key.ENTER)
    assert effects == [Load(kind=PageKind.MACHINE, machine=failed(3).id)]
    assert [each.title for each in view.pages] == ["node3"]


def test_a_machine_that_one_moves_to_while_one_types_stays_selected() -> None:
    told = snapshot(*(failed(each) for each in (1, 2, 3)))
    view, _ = typed(of(told), "/", *"node", Key.DOWN, Key.ENTER)
    assert name(view) == "node2"
    view, _ = typed(of(told), "/", Key.ENTER)
    assert (name(view), view.selected) == ("node1", ""), "nothing was typed"


@pytest.mark.parametrize("keys", [[Key.ENTER, Key.ESCAPE], [Key.ESCAPE], [Key.CLEAR], [Key.ENTER, "/"]])
def test_when_a_filter_is_cleared_the_cursor_stays_on_its_machine(keys: list[str]) -> None:
    view, _ = typed(of(ALL_KINDS), "/", *"node10", *keys)
    assert (name(view), len(view.shown)) == ("node10", 13)
    view, _ = typed(of(ALL_KINDS), "/", *"node10", "x", *keys)
    assert (name(view), len(view.shown)) == ("node10", 13), "also when what came behind it matched nothing"


def test_also_when_the_filter_came_from_the_page_of_problems() -> None:
    told = snapshot(failed(1), failed(2, "OutOfMemory"), failed(3))
    view, _ = typed(of(told), "p", "j", "j", Key.ENTER)
    assert (name(view), view.selected) == ("node2", "")
    view, _ = typed(view, Key.ESCAPE)
    assert (name(view), len(view.shown)) == ("node2", 3)


def test_a_key_behind_a_filter_is_for_its_match_and_not_for_one_that_was_selected_before() -> None:
    told = snapshot(held_too(1), held_too(2), failed(3))
    view, _ = typed(of(told), "j", "/", *"held")
    view = looked(view, changed(machine(2, work=work())))
    view, _ = typed(view, Key.BACKSPACE, Key.BACKSPACE, Key.BACKSPACE, Key.BACKSPACE, *"failed", Key.ENTER, "r")
    assert [each.machine for each in would_do(view)] == ["node3"]


def test_ctrl_w_takes_the_last_word_away() -> None:
    view, _ = typed(of(ALL_KINDS), "/", *"failed node5 ", Key.CLEAR_WORD)
    assert (view.filtered_by, [each.name for each in view.shown]) == ("failed ", ["node5"])
    view, _ = typed(view, Key.CLEAR_WORD, Key.CLEAR_WORD)
    assert (view.filtered_by, len(view.shown)) == ("", 13)


def test_a_word_of_the_column_state_acts_on_no_machine_in_another_state() -> None:
    view, _ = typed(of(snapshot(held(1), machine(2, work=work(id="2")))), "/", *"running", Key.ENTER, "*", "a")
    assert would_do(view) == [Cancel(workflow="2", machine="node2")]


def test_a_requirement_that_is_not_whole_counts_from_enter_on() -> None:
    racks = snapshot(machine(1, labels={"rack": "r1"}), machine(2))
    view, _ = typed(of(racks), "/", *"rack=r")
    assert len(view.shown) == 2
    view, _ = typed(view, Key.ENTER)
    assert view.shown == ()
    assert "no machine has 'rack=r'" in "".join(plain(line) for line, _ in picture(view))


def test_the_order_goes_round() -> None:
    view, _ = typed(of(ALL_KINDS), "S")
    assert (view.order, [each.name for each in view.shown][1:3]) == (Order.NAME, ["node1", "node2"])
    view, _ = typed(view, Key.TAB, "S", "S")
    assert view.order is Order.PROBLEM


def test_the_selection_stays_on_its_machine_when_others_come_before_it() -> None:
    view, _ = typed(of(snapshot(failed(7), machine(8), machine(9))), "j", "j")
    assert name(view) == "node9"
    change = replace(snapshot(failed(1), failed(2)), part=True)
    view = looked(view, change)
    assert (name(view), view.index, len(view.shown)) == ("node9", 4, 5)


def test_until_a_person_moves_the_first_problem_is_selected() -> None:
    view = looked(of(snapshot(machine(8), machine(9))), replace(snapshot(failed(1)), part=True))
    assert name(view) == "node1"


def test_a_selected_machine_that_goes_leaves_its_place_to_the_next() -> None:
    view, _ = typed(of(snapshot(machine(1), machine(2), machine(3))), "j")
    view = looked(view, replace(snapshot(), part=True, gone=(machine(2).id,)))
    assert [each.name for each in view.shown] == ["node1", "node3"]
    assert name(view) == "node3"


def test_what_did_not_change_is_not_sorted_again() -> None:
    view = of(ALL_KINDS)
    change = replace(ALL_KINDS, machines=(), part=True, now=NOW)
    after = looked(view, change)
    assert after.shown is view.shown
    assert after.rows is view.rows


def test_a_lost_connection_is_told_until_the_appliance_answers() -> None:
    view = disconnected(of(ALL_KINDS), "nobody answers")
    assert "nobody answers (trying again" in plain(picture(view)[-1][0])
    assert looked(view, replace(ALL_KINDS, machines=(), part=True)).lost == ""


@pytest.mark.parametrize("keys", [[], ["/", "n"], ["r"], ["s"]])
def test_since_when_the_connection_is_lost_is_seen_whatever_is_typed(keys: list[str]) -> None:
    view, _ = typed(disconnected(one(failed(1)), "nobody answers"), *keys)
    lines = [plain(line) for line, _ in picture(disconnected(view, "no answer for 9s"))]
    since = f"since {NOW.astimezone():%H:%M:%S}: no answer for 9s"
    assert lines[1 if keys else -1].startswith(since)


@pytest.mark.parametrize("size", [(1, 1), (3, 20), (24, 80), (60, 200)])
def test_any_size_is_filled_exactly(size: tuple[int, int]) -> None:
    view, _ = typed(of(many(100, 5)), "G")
    shown = picture(resized(view, *size))
    assert len(shown) == size[0]


def test_enter_opens_the_machine_and_escape_leads_back() -> None:
    view, effects = typed(of(ALL_KINDS), Key.ENTER)
    load = Load(kind=PageKind.MACHINE, machine=machine(11).id)
    assert effects == [load]
    view = loaded(view, load, drawn(LINES))
    assert "line 0" in [plain(line) for line, _ in picture(view)]
    view, effects = typed(view, "G")
    assert view.page is not None
    assert view.page.top == 80
    for key in (Key.ESCAPE, "q"):
        after, effects = typed(view, key)
        assert (after.page, effects) == (None, [])


def test_a_page_that_is_at_its_end_follows_what_is_added() -> None:
    view, (load,) = typed(of(ALL_KINDS), Key.ENTER)
    assert isinstance(load, Load)
    view, _ = typed(loaded(view, load, drawn(LINES[:50])), "G")
    view = loaded(view, load, drawn(LINES))
    assert view.page is not None
    assert view.page.top == 80
    view = loaded(typed(view, "g")[0], load, drawn(LINES))
    assert view.page is not None
    assert view.page.top == 0


def test_what_comes_for_a_page_that_was_left_opens_nothing() -> None:
    view, (load,) = typed(of(ALL_KINDS), Key.ENTER)
    assert isinstance(load, Load)
    view, _ = typed(view, Key.ESCAPE)
    assert loaded(view, load, drawn(LINES)).page is None


@pytest.mark.parametrize("keys", [("G",), ("/", *"node5"), ("j", "a"), ("p",)])
def test_a_late_answer_or_refusal_changes_neither_cursor_nor_filter_nor_a_question(keys: tuple[str, ...]) -> None:
    view, (load,) = typed(of(ALL_KINDS), "d")
    assert isinstance(load, Load)
    view, _ = typed(view, Key.ESCAPE, *keys)
    assert loaded(view, load, drawn(LINES)) == view
    assert unanswered(view, load, "it is gone") == view


def test_a_page_that_cannot_be_had_says_why() -> None:
    view, (load,) = typed(of(ALL_KINDS), "d")
    assert isinstance(load, Load)
    told = unanswered(view, load, "no right\x1b")
    assert [plain(line) for line, _ in picture(told)[3:5]] == ["no right", ""]
    view = unanswered(loaded(view, load, drawn(LINES)), load, "no right")
    assert (view.page and view.page.lines, view.notice) == (LINES, "no right"), "what it had stays"


def test_the_page_of_problems_follows_what_changes() -> None:
    view, _ = typed(of(snapshot(failed(1), failed(2), failed(3, "OutOfMemory"))), "p", "j", "j", "j")
    assert selected(view) == "    node3"
    view = looked(view, replace(snapshot(held(4), machine(2, work=work())), part=True))
    assert view.page is not None
    lines = [plain(line) for line in view.page.lines]
    assert lines[1::2] == ["    node4", "    node1", "    node3"]
    assert selected(view) == "    node3", "the selection stays on its group"
    view = looked(view, replace(snapshot(machine(3)), part=True))
    assert selected(view) == "    node1", "or at its place"
    view = looked(view, replace(snapshot(machine(1), machine(4)), part=True))
    assert selected(view) == "there is no problem"


def test_pages_that_the_view_makes_fit_another_width() -> None:
    for key in ("p", "?"):
        view, _ = typed(of(many(500, 250)), key)
        assert resized(view, 24, 60).page == typed(begun(many(500, 250), 24, 60), key)[0].page


def test_keys_of_pages() -> None:
    view, effects = typed(of(ALL_KINDS), "?")
    assert effects == []
    assert any("older workflows" in plain(line) for line, _ in picture(view))
    assert typed(view, "?")[0].page is None
    assert typed(of(ALL_KINDS), "d")[1] == [Load(kind=PageKind.DOCTOR)]
    assert typed(of(ALL_KINDS), "d", "d")[1] == [Load(kind=PageKind.DOCTOR)], "once"


def test_older_workflows_are_those_of_the_machine_and_enter_opens_one() -> None:
    view, (load,) = typed(of(snapshot(failed(1))), "o")
    assert load == Load(kind=PageKind.OLDER, machine=failed(1).id)
    view = loaded(view, load, drawn(LINES[:2], ["first", "second"]))
    _, effects = typed(view, "j", "j", Key.ENTER)
    assert effects == [Load(kind=PageKind.WORKFLOW, machine=failed(1).id, workflow="second")]


@pytest.mark.parametrize("keys", [[], ["d"], ["o"]])
def test_pages_of_a_machine_that_is_gone_stay_about_that_machine(keys: list[str]) -> None:
    view, _ = typed(of(snapshot(failed(1), failed(2))), "j", Key.ENTER)
    view = looked(view, changed(gone=(failed(2).id,)))
    for key, kind, title in (("o", PageKind.OLDER, "workflows of node2"), ("d", PageKind.DOCTOR, "doctor for node2")):
        after, effects = typed(view, *(each for each in keys if each != key), key)
        assert effects[-1] == Load(kind=kind, machine=failed(2).id)
        assert after.page is not None
        assert after.page.title == title


def test_where_no_machine_is_selected_the_workflows_of_all_are_shown_as_such() -> None:
    view, effects = typed(of(snapshot(failed(1))), "/", *"nomatch", Key.ENTER, "o")
    assert effects == [Load(kind=PageKind.OLDER)]
    assert view.page is not None
    assert view.page.title == "workflows of all machines"


def test_an_unknown_machine_has_no_workflows_to_show() -> None:
    view, effects = typed(of(snapshot(strangers=ALL_KINDS.strangers)), "o")
    assert (view.page, effects, view.notice) == (None, [], "52:54:00:00:00:09 is not registered: it has no workflow")


@pytest.mark.parametrize("keys", [[], [Key.ENTER]])
def test_the_log_of_a_machine_is_opened_at_its_end(keys: list[str]) -> None:
    view, effects = typed(of(snapshot(failed(1))), *keys, "l")
    load = Load(kind=PageKind.LOG, machine=failed(1).id, workflow=failed(1).work.id)
    assert effects[-1] == load
    view = loaded(view, load, drawn(LINES))
    assert view.page is not None
    assert (view.page.title, view.page.top) == ("log of 00000001 on node1", 80)
    assert typed(of(snapshot(machine())), "l")[0].notice == "node1 has no workflow"


def test_the_log_of_an_older_workflow_is_that_workflows() -> None:
    view, (load,) = typed(of(snapshot(failed(1))), "o")
    assert isinstance(load, Load)
    view = loaded(view, load, drawn(LINES[:2], ["first", "second"]))
    wanted = Load(kind=PageKind.LOG, machine=failed(1).id, workflow="second")
    assert typed(view, "j", "l")[1] == [wanted]
    assert typed(view, "j", Key.ENTER, "l")[1][-1] == wanted


def test_a_page_tells_how_much_of_it_is_below_the_screen() -> None:
    view, (load,) = typed(of(snapshot(failed(1))), Key.ENTER)
    assert isinstance(load, Load)
    view = loaded(view, load, drawn(LINES))
    assert plain(picture(view)[-1][0]).startswith("… 80 more lines  r retry")
    view, _ = typed(view, "G", "k")
    assert plain(picture(view)[-1][0]).startswith("… 1 more line  r retry")
    view, _ = typed(view, "j")
    assert plain(picture(view)[-1][0]).startswith("r retry")


def test_on_the_page_of_an_older_workflow_nothing_is_done_to_the_newest() -> None:
    view, (load,) = typed(of(snapshot(failed(1))), "o")
    assert isinstance(load, Load)
    view, _ = typed(loaded(view, load, drawn(LINES[:1], ["older"])), Key.ENTER, "r")
    assert (view.question, view.notice) == (None, "this key is for a machine's page: Esc goes back")


@pytest.mark.parametrize(
    ("line", "key", "effect"),
    [
        (failed(1), "r", Retry(workflow=failed(1).work.id)),
        (machine(work=work()), "a", Cancel(workflow=work().id)),
        (machine(work=work(State.PENDING)), "a", Cancel(workflow=work().id)),
        (held(), "a", Decide(workflow=work().id, verb="abort")),
        (held(), "r", Decide(workflow=work().id, verb="retry")),
        (machine(work=work(lost=True)), "r", Retry(workflow=work().id)),
    ],
)
@pytest.mark.parametrize("page", [False, True])
def test_what_destroys_is_asked_about_first(line: MachineLine, key: str, effect: Effect, *, page: bool) -> None:
    view = one(line)
    if page:
        view, (load,) = typed(view, Key.ENTER)
        assert isinstance(load, Load)
        view = loaded(view, load, drawn(LINES))
    asked, effects = typed(view, key)
    assert effects == []
    assert "(y/n)" in plain(picture(asked)[-1][0])
    assert typed(asked, "y")[1] == [effect]
    for no in ("n", Key.ESCAPE, Key.ENTER, "x", "j"):
        after, effects = typed(asked, no)
        assert (after.question, after.notice, effects) == (None, "nothing was done", [])


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (machine(work=work(State.SUCCESS)), "r"),
        (machine(work=work()), "r"),
        (held(kind=Kind.BEFORE), "r"),
        (failed(1), "a"),
        (failed(1), "s"),
        (machine(work=work()), "c"),
        (machine(), "a"),
    ],
)
def test_what_cannot_be_done_says_why(line: MachineLine, key: str) -> None:
    view, effects = typed(one(line), key)
    assert (effects, view.question) == ([], None)
    assert view.notice


@pytest.mark.parametrize("key", ["s", "c", "r", "a"])
@pytest.mark.parametrize("page", [False, True])
def test_nothing_is_done_to_a_workflow_that_a_row_hides(key: str, *, page: bool) -> None:
    view = one(failed(1, rollout="1a2b3c4d-0000"))
    after, effects = typed(view, Key.ENTER, key) if page else typed(view, key)
    assert (after.question, [each for each in effects if not isinstance(each, Load)]) == (None, [])
    assert after.notice.startswith("node1 waits in rollout 1a2b3c4d: nothing to ")


def test_marked_machines_that_wait_in_a_rollout_are_left_out() -> None:
    view, _ = typed(of(snapshot(failed(1), *(failed(each, rollout="1a2b3c4d") for each in (2, 3)))), "*", "r")
    assert would_do(view) == [*retries(1)]
    assert view.question is not None
    assert view.question.text == "Retry node1, leave out 2 that cannot?"


@pytest.mark.parametrize("keys", ["r", "*r"])
def test_a_machine_that_begins_to_wait_in_a_rollout_while_it_is_asked_about_is_not_retried(keys: str) -> None:
    view, _ = typed(one(failed(1)), *keys)
    view = looked(view, changed(failed(1, rollout="1a2b3c4d")))
    view, effects = typed(view, "y")
    assert (effects, view.notice) == ([], "node1 went on meanwhile: nothing was done")


@pytest.mark.parametrize("keys", ["r", "*r"])
@pytest.mark.parametrize("state", [State.PENDING, State.SUCCESS])
def test_an_older_workflow_is_not_resumed_on_a_machine_that_got_another_one_meanwhile(keys: str, state: State) -> None:
    view, _ = typed(one(failed(1)), *keys)
    newer = replace(work(state), id="00000009-0000-4000-8000-000000000000", name="install")
    view = looked(view, changed(machine(1, work=newer)))
    view, effects = typed(view, "y")
    assert (effects, view.notice) == ([], "node1 went on meanwhile: nothing was done")
    assert view.not_done.late == (("node1", "its workflow is install 00000009 now"),)


def test_what_is_decided_is_decided_once_and_can_be_canceled_while_its_machine_is_silent() -> None:
    view = one(held(decided=True))
    for key in "scr":
        after, effects = typed(view, key)
        assert (after.question, effects) == (None, [])
        assert after.notice.startswith("what becomes of stream-image on node1 is decided"), key
    assert typed(view, "a", "y")[1] == [Cancel(workflow=work().id)]


def test_what_is_held_and_was_told_to_stop_gets_no_verdict() -> None:
    stopping = machine(work=work(State.STOPPING, held=Kind.FAILURE, reason="NonZeroExit"))
    for key in "scr":
        after, effects = typed(one(stopping), key)
        assert (after.question, effects) == (None, [])
        assert after.notice == "ubuntu_provisioning on node1 was told to stop: nothing is left to decide", key
    after, effects = typed(one(stopping), "a")
    assert (after.question, effects) == (None, [])
    assert "tinkbox workflow cancel --force ends it" in after.notice
    assert not {"c continue", "a cancel"} & set(plain(picture(one(stopping))[-1][0]).split("  "))
    view = looked(typed(one(held()), "r")[0], changed(stopping))
    assert typed(view, "y")[1] == []


def test_a_verdict_is_not_given_where_another_person_was_first() -> None:
    view, _ = typed(one(held()), "r")
    view, effects = typed(looked(view, changed(held(decided=True))), "y")
    assert (effects, view.notice) == ([], "node1 went on meanwhile: nothing was done")


@pytest.mark.parametrize(("keys", "end"), [("c", Key.ENTER), ("*c", Key.ENTER), ("c", Key.ESCAPE)])
def test_what_is_typed_on_of_a_reason_that_nothing_asks_for_any_more_is_no_key(keys: str, end: str) -> None:
    view, _ = typed(one(held(hold="a/1")), *keys, "i", "t")
    view = looked(view, changed(held(hold="a/2", reason="WrongDisk")))
    view, effects = typed(view, *" is really old, yes")
    assert effects == []
    assert view.question is not None
    assert view.question.typed == "it is really old, yes"
    view, effects = typed(view, end)
    assert (effects, view.question, view.notice) == ([], None, "node1 went on meanwhile: nothing was done")


@pytest.mark.parametrize("keys", ["r", "*r", "a"])
def test_a_verdict_is_not_given_on_a_later_hold_of_the_same_action(keys: str) -> None:
    view, _ = typed(one(held(hold="a/1")), *keys)
    view = looked(view, changed(held(hold="a/2", reason="WrongDisk")))
    view, effects = typed(view, "y")
    assert (effects, view.notice) == ([], "node1 went on meanwhile: nothing was done")
    assert view.not_done.late == (("node1", "it is held anew: WrongDisk"),)


def test_what_is_done_to_a_run_is_not_done_to_the_next() -> None:
    for keys, before, after in (("r", failed(1), failed(1)), ("a", machine(1, work=work()), machine(1, work=work()))):
        first, second = (
            replace(each, work=replace(each.work, run=run)) for each, run in ((before, 1), (after, 2)) if each.work
        )
        view, effects = typed(looked(typed(one(first), keys)[0], changed(second)), "y")
        assert (effects, view.notice) == ([], "node1 went on meanwhile: nothing was done")
        assert view.not_done.late[0][1].startswith("it was retried, and is ")


def test_a_workflow_that_goes_on_in_its_run_is_canceled() -> None:
    view, _ = typed(one(machine(1, work=work(run=1))), "a")
    later = machine(1, work=work(run=1, number=4, held=Kind.FAILURE, hold="b/1", reason="NonZeroExit"))
    assert typed(looked(view, changed(later)), "y")[1] == [Cancel(workflow=work().id, run=1)]


def test_a_page_stays_about_its_machine_when_that_leaves_the_scope() -> None:
    view = begun(snapshot(failed(1), failed(2)), 24, 80, Scope(states=frozenset({"failed"})))
    view, (load,) = typed(view, Key.ENTER)
    assert isinstance(load, Load)
    view = loaded(view, load, drawn(LINES))
    view = looked(view, changed(failed(2), machine(1, work=work())))
    assert [each.name for each in view.shown] == ["node2"]
    assert "a cancel" in plain(picture(view)[-1][0])
    assert typed(view, "a", "y")[1] == [Cancel(workflow=work().id)]


def test_a_shell_opens_in_what_is_held() -> None:
    assert typed(one(held()), "s")[1] == [Shell(workflow=work().id)]


def test_continuing_a_failure_wants_a_reason() -> None:
    view, effects = typed(one(held()), "c", Key.ENTER, *"disk is fine", "!", Key.BACKSPACE)
    assert effects == []
    assert "disk is fine" in plain(picture(view)[-1][0])
    assert typed(view, Key.ENTER)[1] == [Decide(workflow=work().id, verb="continue", why="disk is fine")]
    assert typed(view, Key.ESCAPE)[0].question is None


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        (held(kind=Kind.BEFORE), "Begin stream-image on node1? (y/n)"),
        (held(kind=Kind.AFTER, reason=""), "Go on after stream-image on node1? (y/n)"),
    ],
)
def test_continuing_what_did_not_fail_wants_no_reason_but_is_asked_about(line: MachineLine, asks: str) -> None:
    view, effects = typed(one(line), "c")
    assert (effects, plain(picture(view)[-1][0])) == ([], asks)
    assert typed(view, "y")[1] == [Decide(workflow=work().id, verb="continue")]
    assert typed(view, "n")[1] == []


def held_too(number: int, **changes: object) -> MachineLine:
    """Another machine that is held, with a workflow of its own, and above those that were held before it."""
    since = NOW + timedelta(seconds=number)
    return held(number, Kind.BEFORE, id=f"{number:08x}-0000-4000-8000-000000000000", since=since, **changes)


def changed(*machines: MachineLine, seconds: float = 1, **changes: object) -> Snapshot:
    return replace(snapshot(*machines), part=True, now=NOW + timedelta(seconds=seconds), **changes)


@pytest.mark.parametrize("key", ["c", "r", "a", "s", "o", Key.ENTER])
def test_a_key_is_never_for_a_machine_that_has_just_taken_the_place(key: str) -> None:
    view = of(snapshot(held(1), machine(2)))
    before = typed(view, key)
    view = looked(looked(view, changed(held_too(2))), changed(held_too(3), seconds=2))
    assert name(view) == "node3"
    view, effects = typed(view, key)
    assert (name(view), effects) == ("node1", before[1])
    assert would_do(view) == would_do(before[0])


def test_a_machine_that_leaves_the_filter_does_not_hand_its_keys_to_the_next() -> None:
    view, _ = typed(of(snapshot(held(1), held_too(2))), "/", *"held", Key.ENTER, "j")
    assert name(view) == "node1"
    view = looked(view, changed(machine(1, work=work())))
    assert name(view) == "node2"
    assert typed(view, "c")[0].notice == "nothing is held on node1, so there is nothing to continue"
    view = looked(view, changed(gone=(machine(1).id,)))
    after, effects = typed(view, "c")
    assert (after.notice, effects) == ("the machine that was selected is gone: nothing was done", [])


def test_once_it_was_seen_for_a_while_a_key_is_for_the_machine_that_came() -> None:
    view = looked(of(snapshot(held(1), machine(2))), changed(held_too(2)))
    view = looked(view, changed(seconds=3))
    asked, _ = typed(view, "c")
    assert (name(asked), asked.question and asked.question.text) == ("node2", "Begin stream-image on node2?")


@pytest.mark.parametrize("keys", [["r", "y"], ["c"], [Key.ENTER, Key.ESCAPE]])
def test_from_the_first_key_that_acts_on_the_selection_stays_on_its_machine(keys: list[str]) -> None:
    view, _ = typed(of(snapshot(failed(1), machine(2), machine(3))), *keys)
    view = looked(view, changed(machine(1, work=work(State.PENDING)), held_too(3)))
    assert name(view) == "node1"


def test_a_verdict_is_not_given_on_what_is_held_since() -> None:
    view, _ = typed(of(snapshot(held(1, Kind.BEFORE))), "c")
    view = looked(view, changed(machine(1, work=work(held=Kind.BEFORE, number=4, action="wipe"))))
    after, effects = typed(view, "y")
    assert (after.question, after.notice, effects) == (None, "node1 went on meanwhile: nothing was done", [])


def test_the_doctor_is_asked_on_a_page_about_its_machine_alone() -> None:
    view, _ = typed(of(snapshot(failed(1))), Key.ENTER)
    view, effects = typed(view, "d")
    assert effects == [Load(kind=PageKind.DOCTOR, machine=failed(1).id)]
    assert view.page is not None
    assert view.page.title == "doctor for node1"


def test_a_notice_goes_with_the_next_key() -> None:
    view, _ = typed(one(failed(1)), "s")
    assert view.notice
    assert typed(view, "j")[0].notice == ""


def test_what_is_typed_is_bounded() -> None:
    view, _ = typed(of(ALL_KINDS), "/", *"x" * 1_000)
    assert len(view.filtered_by) == 200


def test_keys_without_a_meaning_do_nothing() -> None:
    view = of(ALL_KINDS)
    for key in ("x", Key.UNKNOWN, Key.LEFT, Key.RIGHT, Key.BACKSPACE, "ü"):
        assert typed(view, key) == (view, [])


def three_failed() -> View:
    return of(snapshot(failed(1), failed(2), failed(3), machine(4, work=work(State.SUCCESS)), machine(5)))


def retries(*numbers: int) -> tuple[Act, ...]:
    return tuple(Retry(workflow=failed(each).work.id) for each in numbers)


def test_space_marks_and_goes_on_and_one_question_retries_all_marked() -> None:
    view, effects = typed(three_failed(), " ", " ")
    assert (effects, view.index, view.marked) == ([], 2, {failed(1).id, failed(2).id})
    assert sum(plain(line).startswith("* node") for line, _ in picture(view)) == 2
    assert "2 marked" in plain(picture(view)[1][0])
    view, effects = typed(view, "r")
    assert effects == []
    assert plain(picture(view)[-1][0]) == "Retry 2 machines? node[1-2] (y/n)"
    after, effects = typed(view, "y")
    assert effects == [Several(acts=retries(1, 2), done="retried")]
    assert (after.marked, after.question) == (frozenset(), None)
    assert typed(view, "n")[0].marked == view.marked, "a no leaves the marks"


def test_the_question_leaves_out_what_cannot_be_done() -> None:
    view, _ = typed(three_failed(), "*", "r")
    assert plain(picture(view)[-1][0]) == "Retry 3 machines, leave out 2 that cannot? node[1-3] (y/n)"
    assert typed(view, "y")[1] == [Several(acts=retries(1, 2, 3), done="retried")]
    view, effects = typed(three_failed(), "*", "c")
    assert (effects, view.question) == ([], None)
    assert view.notice.startswith("none of 5 marked machines can be continued: nothing is held on node1")


@pytest.mark.parametrize("width", [60, 80])
def test_the_question_names_the_only_one_of_marked_machines_for_which_the_key_does_something(width: int) -> None:
    others = [machine(each, work=work(State.SUCCESS)) for each in range(2, 51)]
    view, _ = typed(begun(snapshot(machine(1, work=work()), *others), 24, width), "*", "a")
    assert plain(picture(view)[-1][0]) == "Abort or cancel node1, leave out 49 that cannot? (y/n)"
    assert typed(view, "y")[1] == [Several(acts=(Cancel(workflow=work().id),), done="aborted or canceled")]
    view, _ = typed(begun(snapshot(held(1), *others), 24, 80), "*", "c")
    assert plain(picture(view)[-1][0]) == "Why does the failure on node1 count as success, 49 left out? █"
    _, effects = typed(view, *"fine", Key.ENTER)
    assert effects == [
        Several(acts=(Decide(workflow=work().id, verb="continue", why="fine"),), done="continued"),
    ]


@pytest.mark.parametrize(
    ("key", "asked"), [("a", "Cancel workflow ubuntu_provisioning on "), ("r", "Resume workflow ")]
)
def test_of_machines_of_one_name_a_question_has_the_mac(key: str, asked: str) -> None:
    state = State.RUNNING if key == "a" else State.FAILED
    alike = [machine(each, name="node1", work=work(state)) for each in (1, 2)]
    view, _ = typed(of(snapshot(*alike, machine(3, work=work(state)))), key)
    assert view.question is not None
    assert view.question.text.startswith(asked)
    assert " on node1 (08:00:27:00:00:01)" in view.question.text
    view, _ = typed(of(snapshot(*alike, machine(3, work=work(state)))), "*", key)
    assert view.question is not None
    assert view.question.names == ["node1 (08:00:27:00:00:01)", "node1 (08:00:27:00:00:02)", "node3"]


def test_of_machines_of_one_name_a_question_has_the_id_where_there_is_no_mac() -> None:
    alike = [replace(machine(each, name="node1", work=work(State.RUNNING)), mac="") for each in (1, 2)]
    view, _ = typed(of(snapshot(*alike)), "*", "a")
    assert view.question is not None
    assert view.question.names == [f"node1 ({each.id[:8]})" for each in alike]


@pytest.mark.parametrize("key", ["u", Key.ESCAPE])
def test_marks_are_taken_away(key: str) -> None:
    view, _ = typed(three_failed(), "/", *"failed", Key.ENTER, "*", key)
    assert (view.marked, view.filtered_by) == (frozenset(), "failed"), "Esc clears the filter only next time"
    assert typed(three_failed(), " ", "k", " ")[0].marked == frozenset()


def test_all_that_are_shown_are_marked_and_stay_so_behind_another_filter() -> None:
    view, _ = typed(three_failed(), "/", *"failed", Key.ENTER, "*", "/", Key.CLEAR, *"node1", Key.ENTER)
    assert (len(view.marked), len(view.shown)) == (3, 1)
    assert "3 marked, 2 not shown" in plain(picture(view)[1][0])
    assert typed(view, "r", "y")[1] == [Several(acts=retries(1, 2, 3), done="retried")]


def test_marks_survive_what_changes_and_vanish_with_their_machine() -> None:
    view, _ = typed(three_failed(), " ", " ")
    view = looked(view, changed(failed(9), machine(2, work=work()), gone=(failed(1).id,)))
    assert view.marked == {machine(2).id}
    assert typed(view, "r")[0].notice == "ubuntu_provisioning on node2 did not fail, so there is nothing to retry"


def test_one_that_is_marked_is_acted_on_wherever_the_cursor_is() -> None:
    view, _ = typed(three_failed(), "j", " ", "G", "r")
    assert would_do(view) == [*retries(2)]
    after, effects = typed(view, "y")
    assert effects == [Several(acts=retries(2), done="retried")]
    assert after.marked == frozenset()


def test_a_mark_is_for_the_machine_that_was_seen_and_not_for_one_that_has_just_taken_its_place() -> None:
    view = looked(of(snapshot(held(1), machine(2))), changed(held_too(2)))
    assert typed(view, " ")[0].marked == {held(1).id}


def test_held_ones_are_continued_with_one_reason_and_those_that_went_on_are_left_out() -> None:
    lines = [
        replace(held(each), work=work(id=f"flow{each}", held=Kind.FAILURE, reason="NonZeroExit")) for each in (1, 2, 3)
    ]
    before = machine(4, work=work(id="flow4", held=Kind.BEFORE))
    view, _ = typed(of(snapshot(*lines, before)), "*", "c")
    text = "Continue 4; why do 3 failures count as success? node[1-4] █"
    assert plain(picture(view)[-1][0]) == text
    view = looked(view, changed(machine(2, work=work(id="flow2"))))
    _, effects = typed(view, *"fine", Key.ENTER)
    decide = [Decide(workflow=f"flow{each}", verb="continue", why="fine") for each in (1, 3)]
    assert effects == [
        Several(
            acts=(*decide, Decide(workflow="flow4", verb="continue")),
            done="continued",
            left=NotDone(late=(("node2", "it is RUNNING now"),)),
        ),
    ]


def test_a_page_acts_on_its_own_machine_though_others_are_marked() -> None:
    view, (load,) = typed(three_failed(), " ", Key.ENTER)
    assert isinstance(load, Load)
    view, _ = typed(loaded(view, load, drawn(LINES)), "r")
    assert would_do(view) == [*retries(2)]
    assert typed(view, "y")[1] == [*retries(2)]


def test_what_was_refused_of_several_is_counted_and_can_be_read() -> None:
    left = NotDone(late=(("node4", "it is RUNNING now"),))
    several = Several(acts=retries(1, 2, 3), done="retried", left=left)
    view = carried_out(three_failed(), several, NotDone(refused=(("node2", "it is over"), ("node1", "it is over"))))
    assert view.notice == "1 retried, node4 went on meanwhile, 2 refused: ! shows why. node2: it is over"
    told = ["it is over", "    node[1-2]", "went on meanwhile: it is RUNNING now", "    node4"]
    assert listed(view) == told
    view = carried_out(three_failed(), several, NotDone())
    assert view.notice == "3 retried, node4 went on meanwhile: ! lists them"
    assert listed(view) == told[2:]


def listed(view: View) -> list[str]:
    """What `!` shows."""
    view, _ = typed(view, "!")
    assert view.page is not None
    return [plain(each) for each in view.page.lines]


def test_what_was_deleted_and_what_went_on_while_one_was_asked_is_named_with_what_became_of_it() -> None:
    view, _ = typed(three_failed(), "*", "r")
    view = looked(view, changed(machine(1), failed(2, rollout="1a2b3c4d")))
    view, (several,) = typed(view, "y")
    assert isinstance(several, Several)
    assert several.acts == retries(3)
    view = carried_out(view, several, NotDone())
    assert view.notice == "1 retried, node2 went on meanwhile, the workflow of node1 is gone: ! lists them"
    told = ["went on meanwhile: it waits in rollout 1a2b3c4d", "    node2"]
    told += ["workflow ubuntu_provisioning 00000001 is not there any more", "    node1"]
    assert listed(view) == told
    view, _ = typed(three_failed(), "*", "r")
    view, effects = typed(looked(view, changed(machine(1), machine(2), failed(3, rollout="1a2b3c4d"))), "y")
    assert effects == []
    assert view.notice == "node3 went on meanwhile, 2 workflows are gone: nothing was done, ! lists them"
    assert len(listed(view)) == 6
    view, effects = typed(looked(typed(one(failed(1)), "r")[0], changed(machine(1))), "y")
    assert (effects, view.notice) == ([], "the workflow of node1 is gone: nothing was done")
    assert listed(view)[1] == "    node1"


@pytest.mark.parametrize(
    ("after", "became"),
    [
        (held(decided=True), "decided, being carried out"),
        (machine(1, work=work(State.FAILED)), "it is FAILED now"),
        (machine(1, work=work(id="0ther-workflow")), "its workflow is ubuntu_provisioning 0ther-wo now"),
        (None, "the machine is not there any more, it was retired or deleted"),
    ],
)
def test_what_became_of_a_hold_that_went_on_is_told(after: MachineLine | None, became: str) -> None:
    view, _ = typed(one(held()), "r")
    change = changed(after) if after is not None else changed(gone=(held().id,))
    assert listed(typed(looked(view, change), "y")[0]) == [f"went on meanwhile: {became}", "    node1"]


def canceled(number: int) -> MachineLine:
    return machine(number, work=work(State.CANCELED, id=f"c{number}"))


def test_a_workflow_that_was_canceled_is_resumed_alone_and_not_among_several() -> None:
    told = snapshot(failed(1), failed(2), canceled(3), canceled(4))
    view, _ = typed(of(told), "*", "r")
    assert plain(picture(view)[-1][0]) == "Retry 2 machines, leave out 2 that cannot? node[1-2] (y/n)"
    assert typed(view, "y")[1] == [Several(acts=retries(1, 2), done="retried")]
    view, _ = typed(of(snapshot(canceled(3), canceled(4))), "*", "r")
    assert view.question is None
    assert view.notice == (
        "none of 2 marked machines can be retried: ubuntu_provisioning on node3 was canceled: unmark the others to resume it"
    )
    for keys in (["G", "r"], ["G", " ", "r"]):
        view, _ = typed(of(told), *keys)
        text = "Resume canceled workflow ubuntu_provisioning on node4 at stream-image?"
        assert view.question is not None
        assert (view.question.text, would_do(view)) == (text, [Retry(workflow="c4")])


def test_what_was_not_sent_is_told_no_longer_than_until_the_appliance_answers_again() -> None:
    several = Several(acts=retries(1, 2), done="retried")
    unsent = (("node1", "no appliance answers"), ("node2", "no appliance answers"))
    view = carried_out(disconnected(three_failed(), "no appliance answers"), several, NotDone(unsent=unsent))
    assert view.notice == "0 retried, 2 not sent: ! lists them"
    answers = looked(view, changed())
    assert (answers.notice, answers.lost) == ("", "")
    assert listed(answers) == ["not sent: no appliance answers", "    node[1-2]"]
    other = typed(view, "s")[0]
    assert looked(other, changed()).notice == other.notice != "", "what a person did since is told"
    mixed = NotDone(unsent=unsent[:1], refused=(("node2", "it is over"),))
    view = carried_out(disconnected(three_failed(), "no appliance answers"), several, mixed)
    assert looked(view, changed()).notice == view.notice != ""


def test_a_page_that_is_not_reloaded_for_want_of_a_connection_says_so_until_there_is_one() -> None:
    view, (load,) = typed(three_failed(), Key.ENTER)
    assert isinstance(load, Load)
    view = unanswered(loaded(view, load, drawn(LINES)), load, "no appliance answers", is_lost=True)
    assert "no appliance answers (trying again" in plain(picture(view)[-1][0])
    assert "no appliance answers" not in plain(picture(looked(view, changed()))[-1][0])


def test_the_page_of_a_machine_has_its_name_also_after_another_was_given() -> None:
    view, _ = typed(three_failed(), Key.ENTER)
    view = looked(view, changed(failed(1, name="renamed")))
    assert view.page is not None
    assert view.page.title == "renamed"


def test_of_several_what_was_not_answered_is_uncertain_and_not_refused() -> None:
    several = Several(acts=retries(1, 2, 3), done="retried")
    unanswered_ones = (("node2", "no answer to POST 2"), ("node1", "no answer to POST 1"))
    view = carried_out(three_failed(), several, NotDone(uncertain=unanswered_ones, unsent=(("node3", "nobody there"),)))
    assert view.notice == "0 retried, it is uncertain whether 2 were, 1 not sent: ! lists them"
    view, _ = typed(view, "!")
    assert view.page is not None
    lines = [plain(each) for each in view.page.lines]
    assert lines[0].startswith("sent and not answered: it is uncertain whether it was done")
    assert lines[-3:] == ["    node[1-2]", "not sent: nobody there", "    node3"]
    one = NotDone(uncertain=unanswered_ones[:1], refused=(("node1", "it is over"),))
    told = "1 retried, it is uncertain whether node2 was, 1 refused: ! shows why. node1: it is over"
    assert carried_out(three_failed(), several, one).notice == told


def test_while_answers_are_out_it_is_not_said_that_nothing_was_refused() -> None:
    view, (several,) = typed(three_failed(), " ", " ", "r", "y")
    assert isinstance(several, Several)
    view, _ = typed(view, "!")
    assert view.page is not None
    assert plain(view.page.lines[0]).startswith("asking for 2 machines …")
    view = carried_out(view, several, NotDone(refused=(("node1", "it is over"),)))
    assert view.page is not None
    assert [plain(each) for each in view.page.lines] == ["it is over", "    node1"], "the page that is open follows"
    assert view.unanswered == 0
    view, _ = typed(three_failed(), "!")
    assert view.page is not None
    assert [plain(each) for each in view.page.lines] == ["nothing was refused"]


def test_pages_that_were_asked_for_fit_another_width() -> None:
    view, (load,) = typed(three_failed(), "d")
    assert isinstance(load, Load)
    view = loaded(view, load, lambda width, _: (wrapped("word " * 30, width), ()))
    wide, narrow = resized(view, 24, 100).page, resized(view, 24, 40).page
    assert wide is not None
    assert narrow is not None
    assert (len(wide.lines), len(narrow.lines)) == (2, 4)
    told, _ = typed(three_failed(), "d")
    told = resized(unanswered(told, load, "why " * 20), 24, 40)
    assert told.page is not None
    assert len(told.page.lines) == 2


def test_a_scope_leaves_out_all_other_machines_and_says_so() -> None:
    racks = snapshot(
        failed(1, labels={"rack": "r1"}),
        failed(2, labels={"rack": "r2"}),
        machine(3, labels={"rack": "r1"}, state="idle"),
    )
    view = begun(racks, 24, 80, Scope(labels=parse_selector("rack=r1")))
    assert [each.name for each in view.shown] == ["node1", "node3"]
    assert "-l rack=r1: 2 of 3 machines  1 FAILED  1 IDLE" in plain(picture(view)[0][0])
    view = looked(view, changed(machine(3, labels={"rack": "r2"})))
    assert [each.name for each in view.shown] == ["node1"]
    view = looked(view, changed(gone=(failed(1).id,)))
    assert "no machine matches -l rack=r1" in "".join(plain(line) for line, _ in picture(view))


@pytest.mark.parametrize(
    ("states", "names"),
    [
        ("failed", ["node1", "node2"]),
        ("held,idle", ["node3", "node4"]),
        ("timeout", ["node2"]),
        ("unknown", ["52:54:00:00:00:09"]),
        ("waiting", ["node5"]),
        ("working", ["node3"]),
        ("running", []),
    ],
)
def test_a_scope_takes_states_as_lists_of_machines_and_as_the_view_have_them(states: str, names: list[str]) -> None:
    told = snapshot(
        failed(1, state="failed"),
        machine(2, work=work(State.TIMEOUT), state="failed"),
        replace(held(3), state="working"),
        machine(4, state="idle"),
        failed(5, state="failed", rollout="1a2b3c4d-00"),
        machine(6, work=work(State.PENDING), state="waiting"),
        strangers=ALL_KINDS.strangers,
    )
    view = begun(told, 24, 80, Scope(states=frozenset(states.split(","))))
    assert [each.name for each in view.shown] == names


@pytest.mark.parametrize("key", ["c", "r", "a", "l", "s"])
def test_no_key_acts_on_work_outside_of_the_scope_of_a_token(key: str) -> None:
    outside = WorkLine(id="", name="", state=State.FAILED, since=NOW, message=OUTSIDE)
    view, effects = typed(one(replace(machine(), work=outside)), key)
    assert (view.question, effects) == (None, [])
    assert view.notice
