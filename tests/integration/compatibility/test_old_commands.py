"""Every command and flag of release 924549e is there, in each of its spellings and choices: scripts that use them go on working.

What they print is held where each command has its tests, by `tests/golden/cli` and by `answers.json` for the JSON beneath.
"""

import shlex
from pathlib import Path

import pytest

from tinkbox.cli.command_line import parse

RELEASE = Path(__file__).parents[2] / "golden" / "release-924549e"
LINES = (RELEASE / "commands.txt").read_text().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_command_line_of_an_old_script_is_taken(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    status: object = 0
    try:
        parse(shlex.split(line))
    except SystemExit as end:
        status = end.code
    assert status == 0, capsys.readouterr().err
