"""The question that completion scripts ask."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.nouns import completion
from tinkbox.model.key_kinds import SuggestedName

Tinkbox = Callable[..., Printed]


def names(*found: tuple[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "about": about} for name, about in found]


def test_names_are_lines_with_what_tells_them_apart(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/names/machine?prefix=no%26de"] = names(("node7", "08:00"), ("node9", ""))
    appliance.answers["GET /v1/names/system-image?prefix="] = names(("debian-13", "Debian 13"))
    assert tinkbox("completion", "names", "MACHINE", "--", "no&de") == Printed(0, "node7\t08:00\nnode9\t\n", "")
    assert tinkbox("completion", "names", "IMAGE", "--", "").out == "debian-13\tDebian 13\n"


def test_names_that_a_shell_would_read_otherwise_are_left_out(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    hostile = ["$(reboot)", "a b", "a;b", "`a`", "-x", "a\nb", "a\tb", "\x1b[2J", "a'b", "*"]
    appliance.answers["GET /v1/names/template?prefix="] = names(
        *((each, "") for each in hostile), ("a/b:v1", "x\x1b[2J\ny")
    )
    assert tinkbox("completion", "names", "TEMPLATE", "").out == "a/b:v1\tx [2J y\n"


def test_entries_of_the_catalogue_need_no_appliance(tinkbox: Tinkbox, tmp_path: Path) -> None:
    found = tinkbox("--data", str(tmp_path), "completion", "names", "ID", "debian-1")
    assert "debian-13\t" in found.out


def test_templates_of_the_program_are_its_appliances(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/template-catalogue"] = names(("install", "Puts an image on a disk."), ("wipe", ""))
    assert tinkbox("completion", "names", "BUILT-IN", "in").out == "install\tPuts an image on a disk.\n"


def test_what_can_be_exported_is_a_kind_or_one_of_it(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/names/machine?prefix=node"] = names(("node7", "08:00"), ("node10", ""))
    assert tinkbox("completion", "names", "KIND", "").out == "hardware\t\ntemplate\t\nworkflow\t\n"
    assert tinkbox("completion", "names", "KIND", "t").out == "template\t\n"
    assert tinkbox("completion", "names", "KIND", "hardware/node").out == "hardware/node7\t08:00\nhardware/node10\t\n"
    assert tinkbox("completion", "names", "KIND", "no/x") == Printed(0, "", "")


def test_an_appliance_that_is_away_or_refuses_leaves_the_line_alone(
    tinkbox: Tinkbox, appliance: FakeAppliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tinkbox("completion", "names", "MACHINE", "") == Printed(0, "", "")
    assert tinkbox("completion", "names", "NOTHING", "") == Printed(0, "", "")
    appliance.answers["GET /v1/names/machine?prefix="] = b"<html>"
    assert tinkbox("completion", "names", "MACHINE", "") == Printed(0, "", "")
    monkeypatch.setenv("TINKBOX_SERVER", "nonsense://")
    assert tinkbox("completion", "names", "MACHINE", "") == Printed(0, "", "")
    monkeypatch.delenv("TINKBOX_SERVER")
    assert tinkbox("--data", str(tmp_path), "completion", "names", "MACHINE", "") == Printed(0, "", "")


def test_an_answer_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "SECONDS", 0.01)
    over = threading.Event()

    def slow() -> list[SuggestedName]:
        over.wait(60)
        return [SuggestedName("late")]

    assert completion.in_time(slow) == ()
    over.set()
