"""The worker's side of the files by which it speaks with the helper; tests/integration/helper has the other."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.worker.files.test_shell_welcome import OFFER
from tinkbox.model.breakpoint import Armed, Kind, Verb
from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import Outcome, State
from tinkbox.worker.files.helper_files import MAX_READ, RUN, HelperFiles, Request, StartFailure, Status

ASKED = {"id": "ab12", "verb": "retry", "fresh": True, "why": "it should", "shell": "s1"}


@pytest.fixture
def files(tmp_path: Path) -> HelperFiles:
    files = HelperFiles(tmp_path, "a1")
    files.prepare()
    return files


@pytest.fixture
def control(tmp_path: Path) -> Path:
    return tmp_path / "a1" / "control"


def said(files: HelperFiles, text: str) -> Status:
    (files.run / "status").write_bytes(text.encode(errors="surrogateescape"))
    return files.status()


@pytest.mark.parametrize("name", ["status", "request"])
def test_a_link_in_place_of_a_file_leads_no_mode_elsewhere(tmp_path: Path, files: HelperFiles, name: str) -> None:
    """An action that runs as root may put a link there; the worker makes the files anew when it was killed."""
    secret = tmp_path / "shadow"
    secret.touch(mode=0o600)
    (files.run / name).unlink()
    (files.run / name).symlink_to(secret)
    files.prepare()
    assert secret.stat().st_mode & 0o777 == 0o600
    assert (files.run / name).stat().st_mode & 0o777 == 0o666


def test_any_user_may_write_what_comes_from_the_container(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files = HelperFiles(tmp_path / "holds", "a1")
        files.prepare()
        files.set_policy(Armed())
    finally:
        os.umask(old)
    modes = {str(path.relative_to(tmp_path / "holds" / "a1")): path.stat().st_mode & 0o777 for path in (
        files.run, files.run / "status", files.run / "request",
        tmp_path / "holds/a1/control", tmp_path / "holds/a1/control/info", tmp_path / "holds/a1/control/policy",
    )}  # fmt: skip
    assert modes == {
        "run": 0o755, "run/status": 0o666, "run/request": 0o666,
        "control": 0o755, "control/info": 0o755, "control/policy": 0o644,
    }  # fmt: skip


def test_preparing_again_changes_nothing(files: HelperFiles) -> None:
    files.set_command_line(["a"])
    before = said(files, "started 1 7\n")
    files.prepare()
    assert (files.status(), files.program) == (before, "a")


def test_a_container_sees_the_tools_and_what_the_worker_writes_and_can_write_the_rest(
    files: HelperFiles, control: Path
) -> None:
    tools = Path("/worker/tools")
    assert files.mounts(tools, 3) == {
        "/tinkbox": str(tools),
        "/tinkbox/control": str(control),
        "/tinkbox/run": str(files.run),
        "/tekton/debug/scripts": str(tools / "debug/scripts"),
        "/tekton/debug/info/3": str(control / "info"),
    }
    assert RUN == "/tinkbox/run"


def test_attempts_know_nothing_of_each_other(tmp_path: Path, files: HelperFiles) -> None:
    other = HelperFiles(tmp_path, "a2")
    other.prepare()
    other.command("retry")
    said(other, "exited 1 1\n")
    assert (files.next_command(), files.status()) == (1, Status())
    other.forget()
    assert [path.name for path in tmp_path.iterdir()] == ["a1"]
    other.forget()


@pytest.mark.parametrize(
    ("armed", "words"),
    [
        (Armed(), ""),
        (Armed(before=True), "before"),
        (Armed(after=True, on_failure=True), "after on-failure"),
        (Armed(before=True, after=True, on_failure=True), "before after on-failure"),
    ],
)
def test_a_policy_names_what_is_armed(files: HelperFiles, control: Path, armed: Armed, words: str) -> None:
    files.set_policy(Armed(), again=True)
    assert (control / "policy").read_text() == "hold\n"
    files.set_policy(armed)
    assert (control / "policy").read_text() == f"{words}\n"


def test_a_command_line_is_any_words(files: HelperFiles, control: Path) -> None:
    assert files.program == ""
    files.set_command_line(["sh", "", "a\nb", "*", "ü\udcff"], {"A": "b=c\nd", "EMPTY": ""})
    assert (control / "argv").read_bytes() == b"sh\0\0a\nb\0*\0\xc3\xbc\xff\0"
    assert (control / "environ").read_bytes() == b"A=b=c\nd\0EMPTY=\0"
    assert files.program == "sh"
    assert (control / "info" / "argv").readlink() == Path("/tinkbox/control/argv")


def test_a_changed_command_line_keeps_what_was_not_changed(files: HelperFiles, control: Path) -> None:
    files.set_command_line(["sh", "-c", "x"], {"A": "1"})
    files.change_command_line(None, {"B": "2"})
    assert (control / "argv").read_bytes() == b"sh\0-c\0x\0"
    assert (control / "environ").read_bytes() == b"A=1\0B=2\0"
    files.change_command_line(("true",), {"A": "3"})
    assert (control / "argv").read_bytes() == b"true\0"
    assert (control / "environ").read_bytes() == b"A=3\0B=2\0"


@pytest.mark.parametrize(("words", "environment"), [([], {}), (["a\0b"], {}), (["a"], {"A": "\0"})])
def test_what_nothing_can_run_with_is_refused(
    files: HelperFiles, control: Path, words: list[str], environment: dict[str, str]
) -> None:
    files.set_command_line(["before"], {"BEFORE": "1"})
    with pytest.raises(Invalid):
        files.set_command_line(words, environment)
    assert (control / "argv").read_bytes() == b"before\0"
    assert (control / "environ").read_bytes() == b"BEFORE=1\0"


def test_commands_are_numbered_over_the_lives_of_the_worker(tmp_path: Path, files: HelperFiles, control: Path) -> None:
    assert files.next_command() == 1
    assert files.command("run") == 1
    assert files.command("signal", "3") == 2
    assert (control / "command").read_text() == "2 signal 3\n"
    assert files.command("signal", "3", sequence=2) == 2
    assert HelperFiles(tmp_path, "a1").command("retry") == 3
    (control / "command").unlink()
    said(files, "command 9\ncommand 4\n")
    assert files.next_command() == 10


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", Status()),
        ("started 1 7\n", Status(run=1, pid=7)),
        ("started 1 7\nexited 1 137\n", Status(run=1, exited=137)),
        ("started 1 7\nexited 1 137 signal\n", Status(run=1, exited=137, killed=True)),
        ("started 1 7\nexited 1 137 exit\n", Status(run=1, exited=137, killed=False)),
        ("started 1 7\nexited 1 137 unseen\n", Status(run=1, exited=137, unseen=True)),
        ("started 1 7\nexited 1 137 maybe\n", Status(run=1, exited=137)),
        ("started 1 7\nexited 1 7\nheld 1 failure\n", Status(run=1, exited=7, held=Kind.FAILURE)),
        ("started 1 7\nexited 1 0\nheld 1 after\n", Status(run=1, exited=0, held=Kind.AFTER)),
        ("held 1 before\n", Status(held=Kind.BEFORE)),
        ("held 1 before\ncommand 3\nstarted 1 8\n", Status(run=1, pid=8, command=3)),
        ("held 1 before\ncommand 3\n", Status(held=Kind.BEFORE, command=3, obeying=True)),
        ("held 1 before\ncommand 3\nheld 1 before\n", Status(held=Kind.BEFORE, command=3)),
        ("held 0 failure\n", Status(held=Kind.FAILURE)),
        (
            "exited 1 7\nheld 1 failure\ncommand 1\nstarted 2 9\nexited 2 0\n", Status(run=2, exited=0, command=1)
        ),
        (
            "failed-to-start 1 2 interpreter\nheld 1 failure\n",
            Status(run=1, failure=StartFailure(number=2, interpreter=True), held=Kind.FAILURE),
        ),
        ("failed-to-start 1 13 program\n", Status(run=1, failure=StartFailure(number=13))),
        ("failed-to-start 1 2 program\ncommand 4\nstarted 2 9\n", Status(run=2, pid=9, command=4)),
    ],
)  # fmt: skip
def test_the_status_is_what_the_lines_come_to(files: HelperFiles, text: str, status: Status) -> None:
    assert said(files, text) == status


@pytest.mark.parametrize(
    "line",
    ["", "started", "started 1", "started x 7", "started 1 -7", "exited 1 256", "exited 1 ٣", "held 1 never", "held 1",
     "command", "command -1", "command " + "9" * 5_000, "exited  1 1", " exited 1 1", "dance 1 2", "\udcff\x00"],
)  # fmt: skip
def test_lines_that_the_helper_cannot_have_written_are_passed_over(files: HelperFiles, line: str) -> None:
    text = f"started 1 7\n{line}\nexited 1 7\nheld 1 failure\n"
    assert said(files, text) == Status(run=1, exited=7, held=Kind.FAILURE)


@given(st.binary(max_size=300))
def test_no_bytes_are_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    files = HelperFiles(tmp_path_factory.mktemp("any"), "a1")
    files.prepare()
    (files.run / "status").write_bytes(content)
    (files.run / "request").write_bytes(content)
    assert files.status().run >= 0
    assert files.requests_so_far() == len(files.requests(0))


def test_of_a_flooded_status_the_end_counts(files: HelperFiles) -> None:
    flood = "x" * (2 * MAX_READ)
    assert said(files, f"exited 1 3\n{flood}\nexited 2 4\n") == Status(run=2, exited=4)


def test_what_is_no_file_any_more_says_nothing(files: HelperFiles) -> None:
    for name in ("status", "request"):
        path = files.run / name
        path.unlink()
        for make in (lambda path: os.mkfifo(path), lambda path: path.symlink_to("/etc/passwd"), lambda path: None):
            make(path)
            assert (files.status(), files.requests(0)) == (Status(), [])
            path.unlink(missing_ok=True)


def ask(files: HelperFiles, *lines: object) -> None:
    with (files.run / "request").open("a") as file:
        file.writelines(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)


def test_requests_are_those_behind_what_was_seen(files: HelperFiles) -> None:
    request = Request(id="ab12", verb=Verb.RETRY, fresh=True, why="it should", shell="s1")
    ask(files, ASKED)
    assert (files.requests_so_far(), files.requests(0), files.requests(1)) == (1, [request], [])
    ask(files, {"id": "cd34", "verb": "abort"})
    assert files.requests(1) == [Request(id="cd34", verb=Verb.ABORT)]


def test_a_request_counts_when_it_is_whole(files: HelperFiles) -> None:
    whole = json.dumps(ASKED)
    with (files.run / "request").open("w") as file:
        for piece in (whole[:10], whole[10:]):
            file.write(piece)
            file.flush()
            assert files.requests_so_far() == 0
        file.write("\n")
        file.flush()
        assert files.requests_so_far() == 1


@pytest.mark.parametrize(
    "line",
    ["", "[]", "null", "{", "\ufffd", {**ASKED, "verb": "dance"}, {**ASKED, "id": "../../x"}, {**ASKED, "id": ""},
     {**ASKED, "id": "a b"}, {**ASKED, "id": "a" * 65}, {**ASKED, "fresh": "yes"}, {**ASKED, "why": 3}, {}],
)  # fmt: skip
def test_what_is_no_request_is_passed_over(files: HelperFiles, line: object) -> None:
    ask(files, line, ASKED)
    assert [request.id for request in files.requests(0)] == ["ab12"]


def test_an_answer_is_one_line(files: HelperFiles, control: Path) -> None:
    files.answer("ab12", True, "so be it")
    assert (control / "answer").read_text() == "ab12 ok so be it\n"
    files.answer("ab12", False, "no:\nnot\x1b[2J " + "x" * 5_000)
    text = (control / "answer").read_text()
    assert text.startswith("ab12 refused no: not [2J xx")
    assert len(text) < 1_100
    assert text.index("\n") == len(text) - 1


def test_people_are_told_where_they_are(files: HelperFiles, control: Path) -> None:
    files.describe(OFFER, Kind.BEFORE, None)
    assert json.loads((control / "info" / "outcome.json").read_text()) is None
    failed = Outcome(state=State.FAILED, exit_code=7, message="\ud800")
    files.describe(OFFER, Kind.FAILURE, failed)
    assert json.loads((control / "info" / "outcome.json").read_text())["exit_code"] == 7
    assert json.loads((control / "info" / "action.json").read_text())["name"] == "write"
    assert "held after it failed" in (control / "info" / "about").read_text()
    assert (control / "info" / "prompt").read_text() == "os/write exit 7\n"


def test_nobody_ever_sees_half_a_file(files: HelperFiles, control: Path) -> None:
    files.command("run")
    with (control / "command").open() as reader:
        files.command("signal", "3")
        assert reader.read() == "1 run\n"
    assert sorted(path.name for path in control.iterdir() if path.is_file()) == ["command"]
