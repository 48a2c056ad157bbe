"""Exit statuses, refusals on stderr, and what it costs to ask for help."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.model.errors import Refusal

ROOT = Path(__file__).parents[3]
HEAVY = ("aiohttp", "sqlite3", "aiodocker", "asyncio", "yaml", "rich", "jinja2")
Tinkbox = Callable[..., Printed]


def test_done_is_0_and_results_go_to_stdout(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/templates?sort=name"] = []
    done = tinkbox("template", "list", "-q")
    assert (done.status, done.out, done.err) == (0, "", "")


def test_a_refusal_is_1_and_one_line_on_stderr(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.problem = {"status": 409, "detail": "workflow x is running: it can be deleted when it is over"}
    failed = tinkbox("workflow", "delete", "x")
    assert (failed.status, failed.out) == (1, "")
    assert failed.err == "tinkbox: workflow x is running: it can be deleted when it is over\n"


def test_every_problem_of_a_document_is_a_line_of_its_own(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    problems = [{"text": "unknown key imag", "line": 7, "key": "tasks[0]"}, {"text": "no name", "line": None}]
    appliance.problem = {"status": 422, "detail": "the template has 2 problems", "problems": problems}
    failed = tinkbox("template", "validate", stdin=b"x")
    assert failed.status == 1
    assert failed.err == ("tinkbox: the template has 2 problems\n  line 7, tasks[0]: unknown key imag\n  no name\n")


def test_a_refusal_cannot_steer_the_terminal(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    problem = {"text": "\x1b[2Jx", "key": "a\nb"}
    appliance.problem = {"status": 422, "detail": "no\x1b[31m such\nthing", "problems": [problem]}
    assert tinkbox("hardware", "get", "x").err == "tinkbox: no [31m such thing\n  a b:  [2Jx\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["hardwear"],
        ["hardware"],
        ["hardware", "pushed"],
        ["workflow", "create", "-t", "x"],
        ["workflow", "create", "-r", "{}"],
        ["workflow", "state"],
        ["hardware", "list", "--format", "xml"],
        ["hardware", "list", "unexpected"],
        ["workflow", "data", "x", "--version", "one"],
        ["--wrong"],
    ],
)
def test_a_wrong_command_line_is_2(tinkbox: Tinkbox, arguments: list[str]) -> None:
    wrong = tinkbox(*arguments)
    assert (wrong.status, wrong.out) == (2, "")
    assert "usage: tinkbox" in wrong.err


def test_an_appliance_that_is_not_there_is_3(tinkbox: Tinkbox, tmp_path: Path) -> None:
    away = tinkbox("--data", str(tmp_path), "hardware", "list")
    assert (away.status, away.out) == (3, "")
    assert away.err.startswith(f"tinkbox: no appliance answers at {tmp_path}/operator.sock (")
    assert "is `tinkbox serve` running?" in away.err
    assert away.err.count("\n") == 1


def test_another_refusal_that_is_called_so_is_1(tinkbox: Tinkbox, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable(Refusal): ...

    def ended(_: object) -> int:
        raise Unreachable("a registry")

    monkeypatch.setattr("tinkbox.cli.nouns.version.show_version", ended)
    assert tinkbox("version").status == 1


@pytest.mark.parametrize(
    "words", [("hardware", "get"), ("workflow", "logs"), ("doctor",), ("rollout", "cancel", "--yes")]
)
def test_bytes_that_are_no_text_are_told_in_one_line(
    tinkbox: Tinkbox, appliance: FakeAppliance, words: tuple[str, ...]
) -> None:
    ended = tinkbox(*words, "node\udcff")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "tinkbox: node\\xff is not UTF-8, so nothing is called that\n"


def test_an_appliance_that_says_it_cannot_now_is_1(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.problem = {"status": 503, "detail": "the disk is full"}
    assert tinkbox("hardware", "list").status == 1


def test_something_else_that_answers_is_told_in_one_line(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    answers = {
        "hardware?sort=name": b"<html>welcome to nginx</html>",
        "hardware/x": ["list"],
        "templates?sort=name": [{}],
        "workflows?sort=-created_at&limit=100": ["x"],
    }
    appliance.answers = {f"GET /v1/{path}": answer for path, answer in answers.items()}
    for arguments in (["hardware", "list"], ["hardware", "get", "x"], ["template", "list"], ["workflow", "list"]):
        other = tinkbox(*arguments)
        assert (other.status, other.err.count("\n")) == (1, 1)
        assert "is that an appliance of this version?" in other.err


@pytest.mark.parametrize("arguments", [["--help"], ["version"]])
def test_a_reader_that_has_had_enough_ends_it_as_sigpipe_does(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    # Buffered as usual, so that the pipe breaks at the very end.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with os.fdopen(writing, "wb") as nobody_reads:
        command = [sys.executable, "-m", "tinkbox", *arguments]
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=nobody_reads, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")


def sh(line: str) -> tuple[int, str]:
    """The exit status, and what stands on standard error."""
    ended = subprocess.run(["sh", "-c", line, sys.executable], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    return ended.returncode, ended.stderr


def test_a_disk_that_is_full_is_told_in_one_line() -> None:
    told = (1, "tinkbox: cannot write: No space left on device: make room, and type the same again\n")
    assert sh("$0 -m tinkbox version >/dev/full") == told


def test_a_letter_that_the_locale_does_not_have_ends_nothing() -> None:
    line = "print(chr(0x25CF))"
    told = f"import tinkbox.cli.nouns.version as it\nit.show_version.__code__ = (lambda _: {line}).__code__\n"
    ended = subprocess.run(
        [sys.executable, "-c", f"{told}from tinkbox.cli import main\nmain(['version'])"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        text=True,
    )
    assert (ended.stdout, ended.stderr) == ("\\u25cf\n", "")


def test_closed_streams_are_no_error() -> None:
    assert sh("$0 -m tinkbox version >&-") == (0, "")
    assert sh("$0 -m tinkbox version 2>&-") == (0, "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["version"], ["--version"], ["workflow", "create", "--help"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import atexit, sys; from tinkbox.cli import main\n"
        f"atexit.register(lambda: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr))\n"
        f"sys.exit(main({arguments}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout
    assert ended.stderr == "[]\n"


def test_a_question_to_the_appliance_loads_neither_an_event_loop_nor_aiohttp(tmp_path: Path) -> None:
    code = (
        "import sys; from tinkbox.cli import main\n"
        f"status = main(['--data', {str(tmp_path)!r}, 'hardware', 'list'])\n"
        f"print(status, [name for name in ('asyncio', 'aiohttp') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "3 []\n"


def test_nouns_load_what_is_heavy_only_for_the_verbs_that_need_it() -> None:
    code = (
        "import sys; from tinkbox.cli.command_line import command_line; from tinkbox.cli.nouns import NOUNS\n"
        f"command_line(list(NOUNS)); print([name for name in {(*HEAVY, 'tinkbox.client', 'tinkbox.engine')} "
        "if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_the_help_says_that_data_is_the_workers_folder_as_well(tinkbox: Tinkbox) -> None:
    assert "with --worker, the worker's folder (default /worker)" in " ".join(tinkbox("--help").out.split())
