"""Exit statuses, refusals on stderr, and what it costs to ask for help."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import HOLD, MACHINE, MACHINE_ID
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
    assert f"is `tinkbox --data {tmp_path} serve` running?" in away.err
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


def test_a_standard_output_that_is_closed_is_told_and_no_success() -> None:
    told = (1, "tinkbox: cannot write: standard output is closed: give it a file, or /dev/null\n")
    for closed in (">&-", "<&- >&-", "1</dev/null"):
        assert sh(f"$0 -m tinkbox version {closed}") == told
    assert sh("$0 -m tinkbox version 2>&-") == (0, "")
    assert sh("$0 -m tinkbox version >&- 2>&-") == (1, "")


UNWRITABLE = {"/dev/full": "No space left on device: make room", "closed": "standard output is closed"}


@pytest.fixture(params=UNWRITABLE)
def unwritable(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Has nothing be written to standard output from then on; why not, as it is told."""
    where, mode = ("/dev/full", os.O_WRONLY) if request.param == "/dev/full" else (os.devnull, os.O_RDONLY)
    with os.fdopen(os.open(where, mode), "w") as stream, pytest.MonkeyPatch.context() as changed:

        def from_now_on() -> str:
            changed.setattr(sys, "stdout", stream)
            return f"tinkbox: cannot write: {UNWRITABLE[request.param]}"

        yield from_now_on


PUSHED = [{"id": "a", "name": "node7", "mac": "m1"}, {"id": "b", "name": "", "mac": "m2"}]
ROLLOUT = {"id": "5d3f0a11-7f9c-4c51-8f0f-54f6d1a9e5b2", "state": "RUNNING", "refused": [], "counts": {}, "total": 1}
WORKFLOW = "43a3b724-0cfa-4c0c-9a39-0a7b5b4c1b11"


@pytest.mark.parametrize(
    ("line", "answers", "done"),
    [
        (
            "workflow create -t ubuntu -r {}",
            {"POST /v1/workflows": {"id": WORKFLOW}},
            "it was done: workflow 43a3b724",
        ),
        ("workflow create -f - -o name", {"POST /v1/workflows": {"created": [{"id": "a"}, {"id": "b"}]}}, "it was done: workflows a, b"),
        ("rollout retry 5d3f0a11", {"POST /v1/rollouts/5d3f0a11/retry": ROLLOUT}, "it was done: rollout 5d3f0a11"),
        ("hardware label m z=1", {"PATCH /v1/hardware/m/labels": {"labels": {}}}, "it was done: machine m"),
        (
            "hardware label -l rack=r11 z=1",
            {
                "GET /v1/hardware?label=rack%3Dr11&sort=name": [{"id": each, "name": each} for each in "abc"],
                **{f"PATCH /v1/hardware/{each}/labels": {"labels": {}} for each in "abc"},
            },
            "1 of 3 was done; the others are as they were: type the same again for the rest",
        ),
        (
            "breakpoint extend w",
            {"POST /v1/workflows/w/breakpoints/extend": {**HOLD, "workflow_id": WORKFLOW}},
            "it was done: workflow 43a3b724",
        ),
        ("workflow delete w", {"DELETE /v1/workflows/w": {"id": "w"}}, "it was done: workflow w"),
        ("hardware push", {"POST /v1/hardware": {"id": MACHINE_ID, "pushed": PUSHED}}, "it was done: machines node7, m2"),
        ("hardware add 08:00:27:00:00:01", {"POST /v1/hardware/add": MACHINE}, "it was done: machine machine-1"),
        ("template create -n ubuntu", {"POST /v1/templates": {"id": "t1"}}, "it was done: template t1"),
        *(
            (
                f"token create carl --right look --expires 1h{form}",
                {"POST /v1/tokens": {"id": "1", "name": "carl", "token": "tbx_1"}},
                "it was done: token carl, and its text could not be printed: `tinkbox token rotate carl --expires 1h` prints another",
            )
            for form in ("", " -o json")
        ),
        (
            "token rotate carl",
            {"POST /v1/tokens/carl/rotate": {"id": "2", "name": "carl", "token": "tbx_2"}},
            "it was done: token carl has another text now, its former one ends all the same, and its text could not be printed: `tinkbox token rotate carl` prints another",
        ),
    ],
)  # fmt: skip
def test_what_cannot_tell_what_it_changed_says_that_it_was_done(
    tinkbox: Tinkbox,
    appliance: FakeAppliance,
    unwritable: Callable[[], str],
    line: str,
    answers: dict[str, object],
    done: str,
) -> None:
    appliance.answers = answers
    why = unwritable()
    ended = tinkbox(*line.split(), stdin=b"kind: x")
    assert (ended.status, ended.err) == (1, f"{why}; {done}\n")


@pytest.mark.parametrize(
    "line",
    ["hardware list", "hardware label m", "template validate", "apply -f - --dry-run"],
)
def test_what_only_looks_and_cannot_be_written_may_be_typed_again(
    tinkbox: Tinkbox, appliance: FakeAppliance, unwritable: Callable[[], str], line: str
) -> None:
    appliance.answers = {
        "GET /v1/hardware?sort=name": [],
        "GET /v1/hardware/m": {"id": "m", "labels": {}},
        "POST /v1/templates/validate": {
            "verdicts": [{"template": "", "id": "x", "machine": "m", "devices": {}, "problems": []}],
            "notes": [],
        },
        "POST /v1/apply": {
            "dry_run": True,
            "results": [{"kind": "Hardware", "name": "m", "outcome": "created", "id": ""}],
            "notes": [],
        },
    }
    why = unwritable()
    ended = tinkbox(*line.split(), stdin=b"kind: x")
    then = ": give it a file, or /dev/null" if "closed" in why else ", and type the same again"
    assert (ended.status, ended.err) == (1, f"{why}{then}\n")


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


def test_worker_names_no_folder_of_its_own_in_commands_for_the_appliance(tinkbox: Tinkbox, tmp_path: Path) -> None:
    told = tinkbox("--worker", "--data", str(tmp_path), "--credential", str(tmp_path / "none.json"))
    assert "`tinkbox hardware credential MAC > worker.json`" in told.err


def test_the_help_says_that_data_is_the_workers_folder_as_well(tinkbox: Tinkbox) -> None:
    assert "with --worker, the worker's folder (default /worker)" in " ".join(tinkbox("--help").out.split())
