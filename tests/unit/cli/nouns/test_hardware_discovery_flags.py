"""What `tinkbox hardware` says of its verbs for machines that nobody knows."""

import re
from collections.abc import Callable

import pytest

from tests.golden import text as golden
from tests.unit.cli.conftest import Printed, run_of
from tinkbox.cli.command_line import parse


def as_before_python_3_13(text: str) -> str:
    """Since then argparse says `-t, --template TEMPLATE`, which was `-t TEMPLATE, --template TEMPLATE`."""

    def before(option: re.Match[str]) -> str:
        short, long, value, told = option.groups()
        return f"  {short} {value}, {long} {value}" + (f"\n{'':24}{told}" if told else "")

    return re.sub(r"^  (-\w), (--[\w-]+) ([A-Z]+)(?: {2,}(.*))?$", before, text, flags=re.MULTILINE)


@pytest.mark.parametrize("verb", ["accept", "refuse"])
def test_its_help_is_as_it_is_written_down(
    tinkbox: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = tinkbox("hardware", verb, "--help")
    assert (shown.status, as_before_python_3_13(shown.out)) == (0, golden(f"cli/hardware-help-{verb}.txt"))


def test_without_devices_there_are_none() -> None:
    chosen = parse(["hardware", "accept", "08:00:27:00:00:07"])
    assert (run_of(chosen), chosen.hardware, chosen.template, chosen.confirm_wipe) == (
        "hardware.discovery:accept",
        {},
        None,
        False,
    )


@pytest.mark.parametrize("words", [["accept"], ["refuse"], ["accept", "a", "b"], ["discovered", "a"]])
def test_a_command_that_lacks_or_has_too_much_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(["hardware", *words])
    assert end.value.code == 2
