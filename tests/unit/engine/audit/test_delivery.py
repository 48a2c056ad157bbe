"""Where the lines of the audit are sent to: a file that is cut off, rotated, and full; a server that hangs up."""

import json
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tinkbox.engine.audit.delivery import LineFile, Syslog
from tinkbox.model.audit import NONE_BEFORE, Act, Chain, Kind, Line, line_from_document, line_of
from tinkbox.model.audit_places import SyslogServer

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def made(number: int) -> list[Line]:
    lines: list[Line] = []
    for each in range(1, number + 1):
        act = Act(kind=Kind.OWN, who="tinkbox", what="workflow deleted", object=f"täglich {each}")
        lines.append(line_of(act, each, NOW, lines[-1].digest if lines else NONE_BEFORE))
    return lines


def test_file_tells_itself_how_far_it_is_and_what_a_crash_cut_off_goes(tmp_path: Path) -> None:
    file, lines = LineFile(tmp_path / "audit.jsonl"), made(4)
    assert file.reached() is None
    file.send(lines[:2])
    assert file.reached() == 2
    with (tmp_path / "audit.jsonl").open("a") as other:
        other.write('{"number": 3, "wh')
    assert file.reached() == 2
    file.send(lines[2:])
    chain = Chain()
    for each in (tmp_path / "audit.jsonl").read_text().splitlines():
        chain.add(line_from_document(json.loads(each)))
    verdict = chain.verdict()
    assert (verdict.lines, verdict.problem) == (4, "")


def test_rotated_file_begins_anew_and_is_told_by_nothing(tmp_path: Path) -> None:
    file, lines = LineFile(tmp_path / "audit.jsonl"), made(3)
    file.send(lines[:2])
    (tmp_path / "audit.jsonl").rename(tmp_path / "audit.jsonl.1")
    assert file.reached() is None
    file.send(lines[2:])
    assert file.reached() == 3


def test_file_in_whose_place_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(IsADirectoryError):
        LineFile(tmp_path / "audit.jsonl").send(made(1))


def test_full_disk_leaves_whole_lines_alone() -> None:
    with pytest.raises(OSError, match="No space left"):
        LineFile(Path("/dev/full")).send(made(1))


def test_lines_are_framed_over_tcp_and_a_server_that_hung_up_is_connected_anew() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        syslog = Syslog(SyslogServer(host="127.0.0.1", port=server.getsockname()[1], tcp=True), "box")
        syslog.send(made(1))
        connection, _ = server.accept()
        with connection:
            length, _, rest = connection.recv(65536).partition(b" ")
        assert len(rest) == int(length)
        header, _, told = rest.decode().partition(" - audit - ")
        assert header == "<85>1 2026-11-30T12:00:00+00:00 box tinkbox"
        assert json.loads(told)["object"] == "täglich 1"
        with pytest.raises(ConnectionError):
            syslog.look()
        syslog.send(made(1))
        again, _ = server.accept()
        again.close()
        syslog.close()


def test_server_whose_name_nobody_knows_is_an_error_of_the_host() -> None:
    with pytest.raises(OSError):
        Syslog(SyslogServer(host="nowhere.invalid"), "box").send(made(1))
