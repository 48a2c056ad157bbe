"""Every command line of tinkbox that the pages and the messages of the program show is one that the program takes."""

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tinkbox.cli.command_line import parse
from tinkbox.cli.nouns import NOUNS
from tinkbox.wire.terminal.asciicast import decode, decode_header

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


@pytest.mark.parametrize("name", ["status", "breakpoint"])
def test_a_recording_is_linked_and_can_be_played(name: str) -> None:
    """As asciicast and as a picture of one moment, both of the same session."""
    folder = ROOT / "docs"
    header, *events = (folder / f"{name}.cast").read_text().splitlines()
    assert decode_header(header).width <= 200
    played = list(decode(events))
    assert [each.seconds for each in played] == sorted(each.seconds for each in played)
    assert len(played) == len(events) > 10
    assert ET.parse(folder / f"{name}.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    linked = "".join(page.read_text() for page in PAGES)
    assert f"{name}.svg)" in linked
    assert f"{name}.cast" in linked


def test_the_readme_shows_the_view() -> None:
    told = (ROOT / "README.md").read_text()
    assert "](docs/status.svg)" in told
    assert "docs/status.cast" in told


@pytest.mark.parametrize("line", SHOWN)
def test_command_is_taken(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    status: object = 0
    try:
        parse(shlex.split(line)[1:])
    except SystemExit as end:
        status = end.code
    assert status == 0, f"`{line}` as printed: {capsys.readouterr().err}"


# What is put into a message while it is made, and what stands for something in the words of the pages.
FILLED_IN = "FILLED-IN"
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9:_-]*…?\Z")
MISSING = ("arguments are required", "expected one argument", "expected at least one argument")
QUOTED = re.compile(r"(?<!`)`((?:sudo )?tinkbox(?: [^`\n]*)?)`(?!`)")
PLAIN = re.compile(rf"\btinkbox ({'|'.join(NOUNS)}) ([a-z][a-z-]*)")


def texts(file: Path) -> Iterator[str]:
    """Every string of a module that may name the program, with FILLED_IN for what is put into it."""
    source = file.read_text()
    if not re.search(r"tinkbox[^\w./]", source):
        return
    nodes = list(ast.walk(ast.parse(source)))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else FILLED_IN for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield re.sub(r"(?<!\{)\{[a-z_]+\}(?!\})", FILLED_IN, node.value)  # for str.format


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


MODULES = sorted((ROOT / "tinkbox").rglob("*.py"))
SPOKEN = [(file, text) for file in MODULES for text in texts(file) if "tinkbox " in text]
SPOKEN += [(page, prose(page)) for page in PAGES]
MENTIONED = [
    pytest.param(line, id=f"{file.relative_to(ROOT)}: {line[:60]}")
    for file, text in SPOKEN
    for line in dict.fromkeys(QUOTED.findall(text))
    if not line.startswith(f"tinkbox {FILLED_IN}")
]
PLAINLY = [
    pytest.param(noun, verb, id=f"{file.relative_to(ROOT)}: {noun} {verb}")
    for file, text in SPOKEN
    for noun, verb in dict.fromkeys(PLAIN.findall(QUOTED.sub("", text)))
]


def problem_with(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with a command line that a person is told of, but for what it leaves to be filled in."""
    try:
        parse(words)
    except SystemExit as end:
        told = capsys.readouterr().err.partition("tinkbox: ")[2]
        open_ends = [repr(each) for each in words if FILLED_IN in each or PLACEHOLDER.match(each)]
        return "" if end.code == 0 or any(each in told for each in (*MISSING, *open_ends)) else told
    return ""


def test_the_program_and_its_pages_name_commands() -> None:
    assert len(MENTIONED) > 250
    assert len(PLAINLY) > 15


@pytest.mark.parametrize("line", MENTIONED)
def test_a_command_that_a_person_is_told_of_is_one(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(re.sub(r"\s>+\s*\S+", "", line.removeprefix("sudo ")).replace("[", "").replace("]", ""))[1:]
    assert problem_with(words, capsys) == ""


@pytest.mark.parametrize(("noun", "verb"), PLAINLY)
def test_a_verb_that_a_person_is_told_of_is_one(noun: str, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert problem_with([noun, verb], capsys) == ""
