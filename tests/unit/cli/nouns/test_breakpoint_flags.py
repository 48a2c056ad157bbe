"""The verbs of `tinkbox breakpoint`: how they are typed, and that their help says what they do."""

import re
import shlex
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import Printed, run_of
from tinkbox.cli.command_line import parse
from tinkbox.cli.nouns.breakpoint import BY_HEART
from tinkbox.model.breakpoint import ON_EXPIRY, Verb

Tinkbox = Callable[..., Printed]
COMMANDS = {
    "list -q": ("breakpoint:show_list", {"quiet": True}),
    "arm w": ("breakpoint:arm", {"keys": ["w"], "on_failure": False, "before": [], "after": [], "timeout": None}),
    "arm w --on-failure --before a --before b --after c --timeout 1h30m --on-expiry continue": (
        "breakpoint:arm",
        {"on_failure": True, "before": ["a", "b"], "after": ["c"], "timeout": 5400, "on_expiry": "continue"},
    ),
    "clear w --after c": ("breakpoint:clear", {"on_failure": False, "after": ["c"]}),
    "continue w -m why": ("breakpoint:decide", {"verb": "continue", "keys": ["w"], "why": "why"}),
    "continue w --why why": ("breakpoint:decide", {"verb": "continue", "why": "why"}),
    "skip w": ("breakpoint:decide", {"verb": "skip", "why": ""}),
    "fail w": ("breakpoint:decide", {"verb": "fail", "why": ""}),
    "abort w": ("breakpoint:decide", {"verb": "abort", "why": ""}),
    "retry w": ("breakpoint:decide", {"verb": "retry", "fresh": False, "environment": [], "command": ()}),
    "retry w --fresh --env A=b=c": ("breakpoint:decide", {"fresh": True, "environment": [("A", "b=c")]}),
    "retry w -- sh -c -- --fresh": ("breakpoint:decide", {"fresh": False, "command": ["sh", "-c", "--", "--fresh"]}),
    "retry v w -l rack=r1": ("breakpoint:decide", {"keys": ["v", "w"], "label": "rack=r1", "selects_state": "HELD"}),
    "arm -l rack=r1": ("breakpoint:arm", {"keys": [], "label": "rack=r1", "selects_state": "PENDING,RUNNING"}),
    "abort w --yes": ("breakpoint:decide", {"verb": "abort", "yes": True}),
    "extend w 2h": ("breakpoint:extend", {"keys": ["w", "2h"]}),
    "list --state held --machine m -l rack=r1": (
        "breakpoint:show_list",
        {"state": "HELD", "machine": "m", "label": "rack=r1"},
    ),
}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line: str) -> None:
    run, values = COMMANDS[line]
    chosen = parse(["breakpoint", *line.split()])
    assert run_of(chosen) == run
    assert {name: getattr(chosen, name) for name in values} == values


@pytest.mark.parametrize(
    "line",
    [
        "arm",
        "abort",
        "list --state FAILED",
        "fail -l 'rack in'",
        "arm w --timeout soon",
        "arm w --on-expiry retry",
        "clear w --timeout 30m",
        "retry w --env A",
        "retry w --env =b",
        "extend w forever",
        "extend v w",
        "continue w -- sh",
        "skip w --fresh",
        "explode w",
    ],
)
def test_a_wrong_command_line_is_2(tinkbox: Tinkbox, line: str) -> None:
    wrong = tinkbox("breakpoint", *shlex.split(line))
    assert (wrong.status, wrong.out) == (2, "")
    assert "usage: tinkbox" in wrong.err


def test_the_help_by_heart_is_made_of_commands_that_there_are() -> None:
    lines = re.findall(r"^  tinkbox (.*?)  ", BY_HEART, re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        if "shell" not in line:  # which has its own tests
            chosen = parse(line.split())
            assert getattr(chosen, "keys", None) or [chosen.key] == ["WORKFLOW"]


@pytest.mark.parametrize("verb", ["arm", "clear", "continue", "skip", "fail", "retry", "abort", "extend"])
def test_a_verbs_help_begins_with_its_line_in_the_list_and_tells_more(tinkbox: Tinkbox, verb: str) -> None:
    listed = tinkbox("breakpoint", "--help").out
    about = re.findall(rf"^    {verb} +(.*)$", listed, re.MULTILINE)[0]
    shown = " ".join(tinkbox("breakpoint", verb, "--help").out.split())
    assert f"{about[0].upper()}{about[1:]}. " in shown
    assert shown.startswith(f"usage: tinkbox breakpoint {verb} [-h]")
    assert "WORKFLOW" in shown


def test_what_may_end_a_hold_is_what_the_appliance_takes() -> None:
    for verb in Verb:
        if verb in ON_EXPIRY:
            assert parse(["breakpoint", "arm", "w", "--on-expiry", verb.value]).on_expiry == verb.value
        else:
            with pytest.raises(SystemExit):
                parse(["breakpoint", "arm", "w", "--on-expiry", verb.value])
