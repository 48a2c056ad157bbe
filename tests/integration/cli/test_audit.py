"""The audit of a real appliance: killed, tampered with, sent on, and examined with and without it."""

import getpass
import json
import os
import socket
import sqlite3
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.integration.cli.serving import (
    PROGRAM,
    ROOT,
    Configuration,
    Ended,
    clean_environment,
    configure,
    give_osie,
    run,
    run_here,
    serving,
)
from tests.integration.engine.appliance import hardware
from tests.integration.worker.machine import until
from tinkbox.model.audit import NONE_BEFORE, Act, Kind, Line, line_of


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return configure(tmp_path)


def tinkbox(at: Configuration, *words: str, stdin: bytes = b"") -> Ended:
    return run_here("--data", str(at.data), *words, stdin=stdin)


def push(at: Configuration, number: int = 1) -> None:
    assert tinkbox(at, "hardware", "push", stdin=json.dumps(hardware(number)).encode()).status == 0


def lines(at: Configuration) -> list[Any]:
    ended = tinkbox(at, "audit", "list", "--every", "--sort", "number", "-o", "json", "--limit", "0")
    assert ended.status == 0, ended.err
    found: list[Any] = json.loads(ended.out)
    return found


@contextmanager
def opened(at: Configuration) -> Iterator[sqlite3.Connection]:
    """The database, in the hands of somebody who knows SQL."""
    with closing(sqlite3.connect(at.data / "tinkbox.sqlite")) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'audit_is_%'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        yield database
        database.commit()


def test_who_did_what_is_listed_exported_and_examined(configuration: Configuration, tmp_path: Path) -> None:
    with serving(configuration):
        push(configuration)
        assert tinkbox(configuration, "hardware", "delete", "nothing").status == 1
        listed = tinkbox(configuration, "audit", "list", "--utc")
        title, refused, done = listed.out.splitlines()
        assert title.split() == ["TIME", "WHO", "HOW", "FROM", "WHAT", "OBJECT", "RESULT"]
        for each in (getpass.getuser(), "socket", "hardware pushed", str(hardware(1)["id"]), "done"):
            assert each in done
        assert "404 hardware 'nothing' not found" in refused
        exported = tmp_path / "audit.jsonl"
        exported.write_text(tinkbox(configuration, "audit", "export").out)
        whole = tinkbox(configuration, "audit", "verify")
        assert (whole.status, whole.err) == (0, "")
        assert "each is as it was written, and none is missing" in whole.out
        for command in ("verify", "export"):
            gone = tinkbox(configuration, "audit", command, "--after", "500")
            assert (gone.status, gone.out, "there is no line 500, the last is line " in gone.err) == (1, "", True)
        # That of the export that came to nothing, which is counted and written a moment later.
        until(lambda: lines(configuration)[-1]["kind"] == "refused", "its line")
        last = str(lines(configuration)[-1]["number"])
        for behind in (1, 2):
            gone = tinkbox(configuration, "audit", "verify", "--after", str(int(last) + behind))
            assert (gone.status, gone.err.count("`tinkbox audit verify"), "--after" in gone.err) == (1, 1, False)
        nothing = tinkbox(configuration, "audit", "verify", "--after", last)
        assert (nothing.status, nothing.out) == (0, f"there are no lines behind line {last} yet\n")
    apart = tinkbox(configuration, "audit", "verify", str(exported))
    assert apart.status == 0, apart.err
    exported.write_text(exported.read_text().replace("hardware pushed", "hardware deleted"))
    changed = tinkbox(configuration, "audit", "verify", str(exported))
    assert changed.status == 1
    assert "line 2 is not as it was written" in changed.err


def test_who_may_audit_alone_uses_all_of_it_from_another_host(configuration: Configuration, tmp_path: Path) -> None:
    away = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with serving(configuration):
        push(configuration)
        made = tinkbox(configuration, "token", "create", "eve", "--right", "audit", "-o", "json")
        token, fingerprint = json.loads(made.out)["token"], tinkbox(configuration, "authority").err.strip()
        url = f"https://127.0.0.1:{configuration.operator_port}"
        logged_in = run("login", url, "--fingerprint", fingerprint, stdin=token.encode(), environment=away)
        assert logged_in.status == 0, logged_in.err
        listed, examined, exported = (run("audit", each, environment=away) for each in ("list", "verify", "export"))
        assert ("hardware pushed" in listed.out, examined.out.startswith("4 lines, 1 to 4: ")) == (True, True)
        assert [json.loads(each)["number"] for each in exported.out.splitlines()] == [1, 2, 3, 4, 5]
        command = [*PROGRAM, "audit", "watch", "--after", "300"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=ROOT, env={**clean_environment(), **away}, **pipes) as watching:
            assert watching.stdout is not None
            assert json.loads(watching.stdout.readline())["number"] == 1
            assert tinkbox(configuration, "token", "revoke", "--yes", "eve").status == 0
            _, told = watching.communicate(timeout=60)
        assert told.splitlines() == [
            "tinkbox: the appliance has no line 300: was it put back to an earlier day? All that it has follow",
            "tinkbox: the token was revoked: what was under way with it has ended",
        ]


def test_lines_outlive_a_kill_and_those_that_are_taken_away_at_the_end_are_missed(
    configuration: Configuration,
) -> None:
    with serving(configuration) as appliance:
        for _ in range(3):
            push(configuration)
        until(lambda: json.loads((configuration.data / "audit.head").read_text())["number"] == 6, "the head")
        before = lines(configuration)
        appliance.kill()
        appliance.wait()
    with serving(configuration):
        assert lines(configuration) == before
        assert tinkbox(configuration, "audit", "verify").status == 0
    with opened(configuration) as database:
        database.execute("DELETE FROM audit WHERE number > 4")
    with serving(configuration):
        noted, protected = lines(configuration)[-2:]
        assert (noted["number"], noted["kind"], noted["why"]) == (7, "own", "lines 5 to 6 are missing")
        assert protected["what"] == "audit protected again"
        examined = tinkbox(configuration, "audit", "verify")
        assert examined.status == 1
        assert "lines 5 to 6 are missing or in another place: line 7 follows line 4" in examined.err
        assert tinkbox(configuration, "audit", "verify", "--after", "7").status == 0
    errors = (configuration.data.parent / "stderr").read_text()
    assert "the audit is not as it was: lines 5 to 6 are missing" in errors


def test_key_of_secrets_that_is_gone_is_told_by_the_check_and_the_start(configuration: Configuration) -> None:
    with serving(configuration):
        assert tinkbox(configuration, "secret", "set", "db-password", stdin=b"correct-horse").status == 0
    key = configuration.data / "secrets.key"
    kept = key.read_bytes()
    assert "secrets cannot be read" not in run_here("serve", "--config", str(configuration.path), "--check").out
    key.unlink()
    assert (
        f"wrong: secrets cannot be read: their key, {key}, is missing"
        in run_here("serve", "--config", str(configuration.path), "--check").out
    )
    assert not key.exists()
    initiated = run_as_root("init", "--config", str(configuration.path), "--no-unit", "--yes")
    assert initiated.status == 0, initiated.err
    assert f"warning: secrets cannot be read: their key, {key}, is missing" in initiated.out
    with serving(configuration):
        pass
    errors = (configuration.data.parent / "stderr").read_text()
    assert f"their key, {key}, is missing" in errors
    key.write_bytes(kept)


def test_file_that_begins_later_is_told_with_what_examines_it(tmp_path: Path) -> None:
    copy, lines = tmp_path / "audit.jsonl", list[Line]()
    for number in (1, 2, 3):
        act = Act(kind=Kind.OWN, who="tinkbox", what="x", object="y")
        lines.append(
            line_of(act, number, datetime(2026, 11, 30, tzinfo=UTC), lines[-1].digest if lines else NONE_BEFORE)
        )
    copy.write_text("".join(json.dumps(each.document()) + "\n" for each in lines[1:]))
    failed = run_here("audit", "verify", str(copy))
    assert failed.status == 1
    assert "lines 1 to 1 are missing" in failed.err
    assert f"`tinkbox audit verify --after 1 {copy}` examines all that it has" in failed.err
    assert run_here("audit", "verify", "--after", "1", str(copy)).status == 0
    beyond = run_here("audit", "verify", "--after", "5000", str(copy))
    assert (beyond.status, "has no line behind line 5000" in beyond.err) == (1, True)
    copy.write_text("")
    emptied = run_here("audit", "verify", str(copy))
    assert (emptied.status, "has no line: a copy has at least one" in emptied.err) == (1, True)


def run_as_root(*words: str) -> Ended:
    """As `run_here`, with the umask as it was behind it."""
    before = os.umask(0o077)
    try:
        return run_here(*words)
    finally:
        os.umask(before)


def test_check_tells_lines_that_another_program_changed_a_missing_key_and_a_file_that_none_gets_into(
    configuration: Configuration, tmp_path: Path
) -> None:
    with serving(configuration):
        push(configuration)
    give_osie(configuration.data)
    check = ("serve", "--config", str(configuration.path), "--check")
    assert run_here(*check).status == 0
    before, key = configuration.path.read_text(), configuration.data / "audit.key"
    configuration.path.write_text(before + f"audit: {{file: {tmp_path}}}\n")
    kept = key.read_bytes()
    key.unlink()
    checked = run_here(*check)
    assert (checked.status, f"wrong: audit.file: {tmp_path} is a folder" in checked.out) == (1, True), checked.out
    assert (
        f"{key}, the key by which {configuration.data}/audit.head and the lines are sealed, is missing. Put it back"
        in checked.out
    )
    assert not key.exists()
    key.write_bytes(kept)
    configuration.path.write_text(before + f"audit: {{file: {tmp_path}/none/audit.jsonl}}\n")
    checked = run_here(*check)
    assert (checked.status, f"wrong: audit.file: no line of the audit gets into {tmp_path}/none/audit.jsonl" in checked.out) == (1, True)  # fmt: skip
    (tmp_path / "none").mkdir()
    assert run_here(*check).status == 0
    with opened(configuration) as database:
        database.execute("UPDATE audit SET line = line || ' ' WHERE number = 2")
        database.commit()
    checked = run_here(*check)
    assert (checked.status, "line 2 is not as it was written" in checked.out) == (1, True), checked.out


@pytest.mark.parametrize(
    "change",
    ["line = CAST(replace(line, 'pushed', 'forged') AS BLOB)", "line = '[1]'", "digest = CAST(x'fffe' AS TEXT)"],
    ids=["an octet string", "a list", "a digest that is no UTF-8"],
)
def test_row_that_is_no_line_is_told_by_every_command_and_stops_none(configuration: Configuration, change: str) -> None:
    file = configuration.data.parent / "copy" / "audit.jsonl"
    file.parent.mkdir()
    configuration.path.write_text(configuration.path.read_text() + f"audit: {{file: {file}}}\n")
    give_osie(configuration.data)
    with serving(configuration):
        push(configuration)
        until(lambda: file.exists() and file.read_text().count("\n") == 2, "the file to be written")
        push(configuration, 2)
    with opened(configuration) as database:
        database.execute("DELETE FROM audit_delivery")
        database.execute(f"UPDATE audit SET {change} WHERE number = 2")
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    why = "this is no line of the audit: another program changed it. `tinkbox audit verify` says more"
    checked = run_here("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, "line 2 is not as it was written" in checked.out) == (1, True), checked.out
    with serving(configuration):
        until(lambda: '"number": 4' in file.read_text(), "the file to have those behind it")
        copied = [json.loads(each) for each in file.read_text().splitlines()]
        assert [each["number"] for each in copied[:4]] == [1, 2, 3, 4]
        exported = tinkbox(configuration, "audit", "export")
        assert exported.status == 0, exported.err
        assert copied[1] == json.loads(exported.out.splitlines()[1]) == lines(configuration)[1]
        assert (copied[1]["kind"], copied[1]["who"], copied[1]["why"]) == ("damaged", "", why)
        for words in ((), ("--sort", "who"), ("--every",)):
            listed = tinkbox(configuration, "audit", "list", *words)
            assert (listed.status, f"damaged: line 2; {why}" in listed.out, "forged" in listed.out) == (0, True, False)
        command = [*PROGRAM, "--data", str(configuration.data), "audit", "watch", "--after", "1", "-o", "table"]
        with subprocess.Popen(
            command, cwd=ROOT, env=clean_environment(), stdout=subprocess.PIPE, text=True
        ) as watching:
            assert watching.stdout is not None
            assert watching.stdout.readline() == f"damaged: line 2; {why}\n"
            assert "hardware pushed" in watching.stdout.readline() + watching.stdout.readline()
            watching.kill()
        examined = tinkbox(configuration, "audit", "verify")
        assert (examined.status, "line 2 is not as it was written" in examined.err) == (1, True), examined.err
        assert "AuditBroken" in tinkbox(configuration, "doctor", "-o", "json").out
        assert tinkbox(configuration, "audit", "verify", str(file)).status == 1
        push(configuration, 3)


SWALLOWS = 'BEFORE INSERT ON AUDIT WHEN new.line LIKE \'%"kind":"done"%\' BEGIN SELECT raise(IGNORE); END'


def trigger_put_in(at: Configuration, does: str = SWALLOWS) -> None:
    """As another program does: without more, what becomes of a change is kept out, and nothing else."""
    with closing(sqlite3.connect(at.data / "tinkbox.sqlite")) as database:
        database.execute(f"CREATE TRIGGER swallows {does}")
        database.commit()


def unwritten(at: Configuration) -> int:
    """How many lines the head says to wait."""
    told = json.loads((at.data / "audit.head").read_text()).get("unwritten", {"number": 0})
    return int(told["number"])


def test_lines_that_are_kept_out_are_told_meanwhile_and_written_once_the_trigger_is_taken_out(
    configuration: Configuration,
) -> None:
    with serving(configuration):
        push(configuration)
        assert "AuditUnguarded" not in tinkbox(configuration, "doctor", "-o", "json").out
        trigger_put_in(configuration)
        push(configuration)
        until(lambda: unwritten(configuration) == 1, "the head to tell of the line")
        examined = tinkbox(configuration, "audit", "verify")
        assert examined.status == 1
        assert "1 line of what was done or refused since " in examined.err
        assert "keeps lines out; parts of the database are missing, or not as tinkbox made them (trigger swallows)" in (
            examined.err
        )
        told = " ".join(tinkbox(configuration, "doctor").out.split())
        assert "since then 1 line could not be written" in told
        assert "missing, or not as tinkbox made them: 'trigger swallows'" in told
        assert (
            "(trigger swallows). Changes, or lines of the audit, may be kept out"
            in (configuration.data.parent / "stderr").read_text()
        )
        with closing(sqlite3.connect(configuration.data / "tinkbox.sqlite")) as database:
            database.execute("DROP TRIGGER swallows")
        until(lambda: unwritten(configuration) == 0, "the line to be written")
        assert [each["kind"] for each in lines(configuration)] == ["asked", "done", "asked", "done"]
        until(lambda: tinkbox(configuration, "audit", "verify").status == 0, "all to be well")
    with serving(configuration):
        assert len(lines(configuration)) == 4, "nothing was lost"


@pytest.mark.parametrize("is_killed", [False, True], ids=["at a stop", "at a kill"])
def test_lines_that_are_lost_while_they_are_kept_out_are_told_by_the_check_and_the_next_start_once(
    configuration: Configuration, *, is_killed: bool
) -> None:
    errors = configuration.data.parent / "stderr"
    with serving(configuration) as appliance:
        trigger_put_in(configuration)
        for _ in range(3):
            push(configuration)
        until(lambda: unwritten(configuration) == 3, "the head to tell of the lines")
        if is_killed:
            appliance.kill()
            appliance.wait()
    assert unwritten(configuration) == 3
    assert ("They were lost when tinkbox stopped" in errors.read_text()) is not is_killed
    give_osie(configuration.data)
    check = ("serve", "--config", str(configuration.path), "--check")
    with closing(sqlite3.connect(configuration.data / "tinkbox.sqlite")) as database:
        database.execute("DROP TRIGGER swallows")
    checked = run_here(*check)
    assert (checked.status, "wrong: the audit is not as it was written: 3 lines of what was done or" in checked.out) == (1, True), checked.out  # fmt: skip
    with serving(configuration):
        lost = lines(configuration)[-1]
        assert (lost["kind"], lost["who"], lost["what"]) == ("own", "tinkbox", "audit lost lines")
        assert lost["why"].startswith("3 lines of what was done or refused since ")
        assert lost["why"].endswith("that keeps lines out. They were lost when tinkbox stopped")
        until(lambda: unwritten(configuration) == 0, "the head to go back")
        assert tinkbox(configuration, "audit", "verify").status == 0
    assert " lines of the audit are lost: 3 lines" in errors.read_text()
    checked = run_here(*check)
    assert checked.status == 0, checked.out
    with serving(configuration):
        assert len(lines(configuration)) == lost["number"], "once"


def test_trigger_that_is_still_there_at_the_next_start_is_taken_out_before_lost_lines_are_told(
    configuration: Configuration,
) -> None:
    with serving(configuration):
        trigger_put_in(configuration)
        push(configuration)
    check = run_here("serve", "--config", str(configuration.path), "--check").out
    assert "1 line of what was done or refused since " in check
    with serving(configuration):
        protected, lost = lines(configuration)[-2:]
        assert (protected["what"], lost["what"]) == ("audit protected again", "audit lost lines")
        assert "swallows" in protected["why"]
        push(configuration)
        assert tinkbox(configuration, "audit", "verify").status == 0


@pytest.mark.parametrize("how", ["ABORT", "ROLLBACK"])
async def test_trigger_that_refuses_lines_ends_nothing_and_has_them_wait(
    configuration: Configuration, how: str
) -> None:
    with serving(configuration) as appliance:
        push(configuration)
        trigger_put_in(configuration, f"BEFORE INSERT ON audit BEGIN SELECT raise({how}, 'no'); END")
        refused = tinkbox(configuration, "hardware", "delete", str(hardware(1)["id"]), "--yes")
        assert (refused.status, "the audit takes no line, so nothing is changed" in refused.err) == (1, True), refused
        async with ClientSession() as http:
            operator = f"https://127.0.0.1:{configuration.operator_port}/v1/hardware"
            async with http.get(operator, headers={"Authorization": "Bearer wrong"}, ssl=False) as response:
                assert response.status == 401
        until(lambda: unwritten(configuration) == 1, "the refused attempt to wait")
        assert appliance.poll() is None
    with serving(configuration):
        assert lines(configuration)[-1]["what"] == "audit lost lines"


@pytest.mark.parametrize("does", ["raise(IGNORE)", "raise(ABORT, 'no')"])
def test_trigger_that_keeps_a_token_is_told_and_taken_out_by_the_next_start(
    configuration: Configuration, does: str
) -> None:
    def status(token: str) -> int:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        with closing(HTTPSConnection("127.0.0.1", configuration.operator_port, context=trusting)) as http:
            http.request("GET", "/v1/hardware", headers={"Authorization": f"Bearer {token}"})
            return http.getresponse().status

    with serving(configuration) as appliance:
        token = json.loads(tinkbox(configuration, "token", "create", "tt", "--right", "look", "-o", "json").out)[
            "token"
        ]
        trigger_put_in(configuration, f"BEFORE DELETE ON token BEGIN SELECT {does}; END")
        revoked = tinkbox(configuration, "token", "revoke", "tt")
        assert (revoked.status, "another program put" in revoked.err) == (1, True), revoked
        assert status(token) == 200, "it is not revoked, and none says so"
        until(lambda: "AuditUnguarded" in tinkbox(configuration, "doctor", "-o", "json").out, "the doctor to tell it")
        examined = tinkbox(configuration, "audit", "verify")
        assert (examined.status, "(trigger swallows)" in examined.err) == (1, True), examined
        assert appliance.poll() is None
    give_osie(configuration.data)
    checked = run_here("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, "(trigger swallows); the next start mends that" in checked.out) == (1, True), checked.out
    with serving(configuration):
        assert "trigger swallows" in lines(configuration)[-1]["why"]
        assert tinkbox(configuration, "token", "revoke", "tt").status == 0
        assert status(token) == 401
        assert tinkbox(configuration, "audit", "verify").status == 0
    assert "not as tinkbox made them: trigger swallows" in (configuration.data.parent / "stderr").read_text()
    with serving(configuration):
        assert status(token) == 401


def test_key_and_head_that_are_both_gone_are_told_by_the_check_and_the_start(configuration: Configuration) -> None:
    with serving(configuration):
        push(configuration)
    key, head = configuration.data / "audit.key", configuration.data / "audit.head"
    key.unlink()
    head.unlink()
    checked = run_here("serve", "--config", str(configuration.path), "--check").out
    assert f"{key}, the key by which {head} and the lines are sealed, is missing. Put it back" in checked
    assert not key.exists()
    with serving(configuration):
        why = str(lines(configuration)[-1]["why"])
        assert why.startswith("audit.key was missing, and another one was made: lines before line 3 ")
        assert why.endswith(f"; {head} is missing")


def test_end_that_is_made_anew_does_not_fit_the_head(configuration: Configuration) -> None:
    with serving(configuration):
        push(configuration)
        push(configuration)
    with opened(configuration) as database:
        database.execute("DELETE FROM audit WHERE number > 2")
    head = configuration.data / "audit.head"
    forged = json.loads(head.read_text()) | {"number": 2}
    head.write_text(json.dumps(forged))
    with serving(configuration):
        assert [each for each in lines(configuration) if "its seal is wrong" in each.get("why", "")]


def test_audit_that_is_deleted_whole_is_told_by_the_start_by_verify_and_by_the_doctor(
    configuration: Configuration,
) -> None:
    with serving(configuration):
        push(configuration)
    with opened(configuration) as database:
        database.execute("DELETE FROM audit")
    (configuration.data / "audit.head").unlink()
    with serving(configuration):
        examined = tinkbox(configuration, "audit", "verify")
        assert examined.status == 1
        assert "all lines are missing, and there have been some" in examined.err
        told = " ".join(tinkbox(configuration, "doctor").out.split())
        assert "audit.head and all lines are missing, and there have been some" in told
    assert "the audit is not as it was: " in (configuration.data.parent / "stderr").read_text()


def test_lines_go_into_a_file_and_to_a_syslog_server(configuration: Configuration, tmp_path: Path) -> None:
    place = tmp_path / "lines" / "audit.jsonl"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(60)
        port = server.getsockname()[1]
        with configuration.path.open("a") as file:
            file.write(f'audit: {{syslog: "127.0.0.1:{port}", file: {place}}}\n')
        with serving(configuration):
            push(configuration)
            first, second = server.recv(65536), server.recv(65536)
            assert first.startswith(b"<85>1 2"), "authpriv, notice"
            assert b" provisioner tinkbox - audit - {" in second
            assert json.loads(second.partition(b" - audit - ")[2])["did"][0]["what"] == "hardware pushed"

            def told() -> str:
                return tinkbox(configuration, "audit", "verify").out

            until(lambda: f"{place} lacks 2 lines: No such file or directory" in told(), "the file to be missed")
            assert f"every line was sent to udp://127.0.0.1:{port}" in told()
            place.parent.mkdir()
            until(lambda: f"every line was sent to {place}" in told(), "the file to be written")
        with serving(configuration):
            push(configuration)
            until(lambda: place.read_text().count("\n") == 4, "the lines that are new")
        written = [json.loads(each) for each in place.read_text().splitlines()]
        assert [each["number"] for each in written] == [1, 2, 3, 4]
        assert place.stat().st_mode & 0o777 == 0o600
        assert tinkbox(configuration, "audit", "verify", str(place)).status == 0


async def test_wrong_tokens_of_both_doors_are_told_within_a_moment(configuration: Configuration) -> None:
    with serving(configuration):
        async with ClientSession() as http:
            headers = {"Authorization": "Bearer wrong"}
            operator = f"https://127.0.0.1:{configuration.operator_port}/v1/hardware"
            registry = f"http://127.0.0.1:{configuration.http_port}/v2/tools/manifests/v1"
            for _ in range(3):
                async with http.delete(operator, headers=headers, ssl=False) as response:
                    assert response.status == 401
            async with http.put(registry, headers=headers, data=b"{}") as response:
                assert response.status == 401
        until(lambda: {each["kind"] for each in lines(configuration)} == {"refused"}, "the refused attempts")
    with serving(configuration):
        assert sum(each.get("times", 1) for each in lines(configuration)) == 4
        assert {each["from"] for each in lines(configuration)} == {"127.0.0.1"}


async def test_worker_without_its_credential_is_told_and_not_what_it_showed(configuration: Configuration) -> None:
    with serving(configuration):
        async with ClientSession() as http:
            url = f"http://127.0.0.1:{configuration.http_port}/worker/attempts/an-attempts-secret/report"
            async with http.post(url, headers={"Authorization": "Bearer a-secret"}, json={}) as response:
                assert response.status == 401
        until(lambda: bool(lines(configuration)), "the refused attempt")
        (refused,) = lines(configuration)
        assert (refused["what"], refused["object"]) == ("POST /worker/attempts/{token}/report", "")
        assert "secret" not in json.dumps(refused)
