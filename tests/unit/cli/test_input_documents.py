"""Where documents come from."""

import argparse
import fcntl
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.model.test_ssh_keys import key
from tinkbox.cli.input_documents import input_file, read_bounded, read_devices, read_input, read_ssh_keys, read_text
from tinkbox.model.errors import NotFound

Tinkbox = Callable[..., Printed]
PUSHED = "POST /v1/hardware"


@pytest.fixture
def pushes(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers[PUSHED] = {"id": "x", "pushed": []}
    return appliance


def test_a_document_is_read_from_standard_input(tinkbox: Tinkbox, pushes: FakeAppliance) -> None:
    assert tinkbox("hardware", "push", stdin=b'{"id": 1}').status == 0
    assert pushes.asked == [(PUSHED, b'{"id": 1}')]


def test_a_named_file_beats_standard_input(tinkbox: Tinkbox, pushes: FakeAppliance, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"id": 2}')
    assert tinkbox("hardware", "push", "--file", str(tmp_path / "a.json"), stdin=b"from cron").status == 0
    assert pushes.asked == [(PUSHED, b'{"id": 2}')]


def test_a_file_that_is_not_there_is_told(tinkbox: Tinkbox, pushes: FakeAppliance, tmp_path: Path) -> None:
    failed = tinkbox("hardware", "push", "--file", str(tmp_path / "no.json"))
    assert (failed.status, failed.err) == (1, f"tinkbox: cannot read {tmp_path}/no.json: No such file or directory\n")
    assert pushes.asked == []


READERS = pytest.mark.parametrize(
    "read",
    [
        lambda path: read_input(path, "document").decode(),
        lambda path: read_bounded(path, 1 << 16).decode(),
        lambda path: f"{read_ssh_keys([path])[0]}\n",
    ],
)
Read = Callable[[Path], str]


@READERS
def test_pipe_that_nothing_writes_to_is_refused(read: Read, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(NotFound, match=f"cannot read {pipe}: it is a pipe that nothing writes to"):
        read(pipe)


@READERS
def test_pipe_that_something_writes_to_is_read_to_its_end(read: Read, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    fcntl.fcntl(held, fcntl.F_SETPIPE_SZ, 4096)
    text = f"{key()}\n" + "# more than fits into the pipe\n" * 500

    def write() -> None:
        with os.fdopen(held, "w") as file:  # it ends only when something else has read the most of it
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert read(pipe) in (text, f"{key()}\n")
    finally:
        writer.join()


@READERS
def test_pipe_without_a_name_is_read_also_when_its_writer_is_done(read: Read) -> None:
    reading, writing = os.pipe()
    os.write(writing, f"{key()}\n".encode())
    os.close(writing)
    try:
        assert read(Path(f"/dev/fd/{reading}")) == f"{key()}\n"
    finally:
        os.close(reading)


@READERS
@pytest.mark.parametrize(("path", "why"), [("/dev/zero", "it is no file"), ("/dev", "Is a directory")])
def test_what_is_no_file_is_refused(read: Read, path: str, why: str) -> None:
    with pytest.raises(NotFound, match=f"cannot read {path}: {why}"):
        read(Path(path))


def test_null_device_is_read_as_an_empty_file() -> None:
    assert read_bounded(Path("/dev/null"), 1 << 16) == b""
    assert read_input(Path("/dev/null"), "document") == b""


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stdin", [Terminal(), None])
def test_nothing_is_awaited_from_a_terminal_or_a_closed_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stdin: Terminal | None
) -> None:
    from tinkbox.cli import main

    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["template", "create", "-n", "x"]) == 1
    assert capsys.readouterr().err == "tinkbox: either pipe the template or name its file with --file\n"


def test_a_template_that_is_no_text_is_told(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    failed = tinkbox("template", "validate", stdin=b"\xff\xfe")
    assert failed.status == 1
    assert failed.err == "tinkbox: the template is not UTF-8 text: byte 0xff in line 1\n"
    assert appliance.asked == []


def test_a_path_with_no_file_is_no_stored_template(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    failed = tinkbox("template", "validate", "./templates/missing.yaml")
    assert failed.status == 1
    assert "templates/missing.yaml" in failed.err
    assert appliance.asked == []


def test_a_device_map_is_a_json_object() -> None:
    assert read_devices('{"device_1": "m"}') == {"device_1": "m"}


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "device_1"])
def test_what_is_no_device_map_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="device_1"):
        read_devices(text)


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (["template", "create", "-n", "ubuntu", "-f", "-"], "POST /v1/templates"),
        (["template", "update", "ubuntu", "--file", "-"], "PUT /v1/templates/ubuntu"),
        (["template", "validate", "-f", "-"], "POST /v1/templates/validate"),
        (["template", "validate", "-"], "POST /v1/templates/validate"),
        (["hardware", "push", "--file", "-"], "POST /v1/hardware"),
        (["workflow", "create", "-f", "-"], "POST /v1/workflows"),
    ],
)
def test_a_dash_is_standard_input_for_every_command_that_reads_documents(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, words: list[str], request_: str
) -> None:
    appliance.answers[request_] = {"id": "1", "created": [], "pushed": [], "verdicts": []}
    done = tinkbox(*words, stdin=b"kind: Something")
    assert (done.status, done.err) == (0, "")
    assert b"kind: Something" in dict(appliance.asked)[request_]


def test_a_file_may_be_called_like_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("of the file")
    assert read_text(input_file("./-"), "document") == "of the file"
