"""Every command line of tinkbox that the pages for people show is one that the program takes."""

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tinkbox.cli.command_line import parse

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(r"(?:\S*/)?tinkbox\Z")
# What stands for something that a reader has to put in, in the words of the pages.
UNFIT = re.compile(r"[…|<]|\.\.\.")


def commands(page: Path) -> Iterator[str]:
    """The lines of shell blocks that begin with the program, without their comments and redirections."""
    text = page.read_text()
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s&&\s|\s\|\s", line):
                words = part.strip().partition(" #")[0].strip()
                if words and PROGRAM.match(words.split()[0]):
                    yield re.sub(r"\s>+\s*\S+|\s2>\S+", "", words)


SHOWN = [
    pytest.param(line, id=f"{page.relative_to(ROOT)}: {line[:60]}")
    for page in PAGES
    for line in dict.fromkeys(commands(page))
    if not UNFIT.search(line)
]


def test_pages_show_commands() -> None:
    assert len(SHOWN) > 60


def test_the_readme_begins_with_what_the_first_tutorial_types() -> None:
    """Which tests/machine/test_tutorials.py types."""
    typed = commands(ROOT / "docs" / "tutorials" / "one-machine.md")
    first = list(islice(commands(ROOT / "README.md"), 4))
    assert [line for line in typed if line in first] == first


@pytest.mark.parametrize("line", SHOWN)
def test_command_is_taken(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    status: object = 0
    try:
        parse(shlex.split(line)[1:])
    except SystemExit as end:
        status = end.code
    assert status == 0, f"`{line}` as printed: {capsys.readouterr().err}"
