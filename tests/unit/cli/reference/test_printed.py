"""The page of commands, the man pages and the scripts are what the command line declares."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Printed
from tinkbox.cli.command_line import command_line, parse
from tinkbox.cli.exit_statuses import ABOUT
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.nouns.init.reference_files import place_reference
from tinkbox.cli.reference import man, markdown
from tinkbox.cli.reference.declarations import Argument, Command, Flag, declared
from tinkbox.cli.reference.examples import EXAMPLES, example
from tinkbox.settings import reference

PROGRAM = declared(command_line(list(NOUNS)))
COMMANDS = [each for each in PROGRAM.walk() if each.path and not each.below]
PAGE = Path(__file__).parents[4] / "docs" / "commands.md"
LISTS = PAGE.with_name("lists.md")
# What the page calls the lists of these nouns.
LISTS_OF = {
    "workflows": "workflow",
    "machines": "hardware",
    "templates": "template",
    "services": "service",
    "breakpoints": "breakpoint",
    "images": "image",
    "rollouts": "rollout",
}


def test_the_commands_in_the_docs_are_the_declarations() -> None:
    assert PAGE.read_text() == markdown.page(PROGRAM), "type `make reference`"


def test_the_flags_of_lists_in_the_docs_are_the_declarations() -> None:
    told = dict[str, set[str]]()
    for line in LISTS.read_text().partition("| flag | of which lists |")[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        flag, lists, _ = (each.strip() for each in line.strip("|").split("|", 2))
        told[flag.strip("`").split("`")[0].split()[0]] = set(LISTS_OF) if lists == "all" else set(lists.split(", "))
    assert len(told) == 8
    for flag, lists in told.items():
        have = {
            name
            for name, noun in LISTS_OF.items()
            for each in COMMANDS
            if each.path == (noun, "list") and any(flag in one.names for one in each.flags)
        }
        assert lists == have, flag


def test_examples_are_of_commands_that_there_are() -> None:
    assert set(EXAMPLES) <= {" ".join(each.path) for each in COMMANDS}


def test_an_example_names_a_key_where_labels_may_select_instead() -> None:
    by_line = {each.line: example(each) for each in COMMANDS}
    assert by_line["tinkbox hardware delete"] == "tinkbox hardware delete node7"
    assert by_line["tinkbox breakpoint abort"] == "tinkbox breakpoint abort a8984b09"
    assert by_line["tinkbox hardware list"] == "tinkbox hardware list"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: " ".join(each.path))
def test_an_example_is_a_command_line_of_its_command(command: Command) -> None:
    line = example(command)
    assert line.startswith(command.line)
    if command.path != ("help",):
        parse(shlex.split(line)[1:])


def test_there_is_a_man_page_for_each_noun_with_all_its_verbs() -> None:
    pages = man.pages(PROGRAM)
    assert {"tinkbox.1", "tinkbox.yaml.5", *(f"tinkbox-{noun}.1" for noun in NOUNS)} <= set(pages)
    for command in COMMANDS:
        line = command.line.replace("-", "\\-")
        assert f".B {line}" in pages[f"tinkbox-{command.path[0]}.1"]
    for row in reference.rows():
        key = row.key.replace("-", "\\-")
        assert f".B {key}\n" in pages["tinkbox.yaml.5"]


def test_exit_statuses_are_told_in_the_help_the_man_pages_and_the_page(tinkbox: Callable[..., Printed]) -> None:
    told, printed, page = tinkbox("help").out, man.pages(PROGRAM), markdown.page(PROGRAM)
    assert [status for status, _ in ABOUT] == ["0", "1", "2", "3", "130", "141", "128 + N"]
    for status, about in ABOUT:
        assert f"  {status}  " in told
        assert f"| {status} | {about} |" in page
        for name in ("tinkbox.1", "tinkbox-rollout.1"):
            assert f".TP\n{status}\n" in printed[name]
    assert told.count("exit status:") == 1
    assert "exit status:" not in tinkbox("rollout", "--help").out


def test_text_gives_roff_no_orders() -> None:
    flag = Flag(names=("--x",), takes="A\\B", about=".so /etc/passwd")
    noun = Command(path=("x",), about="'quoted'", story=".TH", flags=(flag,), arguments=(Argument(name="A-B"),))
    page = man.pages(Command(below=(noun,)))["tinkbox-x.1"]
    assert "\n\\&.so /etc/passwd\n" in page
    assert "\n\\&.TH\n" in page
    assert "A\\eB" in page


def test_a_cell_of_the_page_is_one_cell() -> None:
    page = markdown.page(
        Command(below=(Command(path=("x",), flags=(Flag(names=("--x",), takes="a|b", about="<p>"),)),))
    )
    assert "| `--x a\\|b` | &lt;p> |" in page


def test_init_places_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed: list[str] = []
    place_reference(PROGRAM, changed, tmp_path)
    assert changed == [f"completions and man pages below {tmp_path}"]
    assert (tmp_path / "man/man1/tinkbox.1").is_file()
    assert (tmp_path / "zsh/site-functions/_tinkbox").read_text().startswith("#compdef tinkbox")
    place_reference(PROGRAM, changed, tmp_path)
    assert len(changed) == 1
    assert capsys.readouterr().out.splitlines()[1] == (
        "completions     bash, zsh and fish, and man pages: already there (`man tinkbox`)"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell(tinkbox: Callable[..., Printed], shell: str) -> None:
    printed = tinkbox("completion", shell)
    assert (printed.status, printed.err) == (0, "")
    assert f"printed by `tinkbox completion {shell}`" in printed.out
