"""`tinkbox serve` from the operator's side: what it says when it starts, and when it cannot."""

import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tests.firm import Firm
from tests.integration.cli.serving import (
    DEADLINE,
    PROGRAM,
    ROOT,
    Configuration,
    clean_environment,
    configure,
    give_osie,
    own_ports,
    run,
    run_here,
    serving,
)
from tests.integration.engine.appliance import hardware


@contextmanager
def taken(kind: str, configuration: Configuration) -> Iterator[int]:
    """Hold one of the configured ports in this process."""
    if kind == "tftp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
            holder.bind(("127.0.0.1", configuration.tftp_port))
            yield configuration.tftp_port
    else:
        port = configuration.operator_port if kind == "operator" else configuration.http_port
        with socket.create_server(("127.0.0.1", port)):
            yield port


@pytest.mark.parametrize("kind", ["operator", "node", "tftp"])
def test_a_port_that_is_taken_is_told_with_its_holder_and_nothing_is_stored(tmp_path: Path, kind: str) -> None:
    configuration = configure(tmp_path)
    with taken(kind, configuration) as port:
        failed = run("serve", "--config", str(configuration.path))
        assert (failed.status, failed.out, failed.err.count("\n")) == (1, "", 1)
        assert failed.err.startswith(f"tinkbox: 127.0.0.1:{port}/{'udp' if kind == 'tftp' else 'tcp'} is taken by ")
        assert f"(pid {os.getpid()})" in failed.err
        checked = run("serve", "--config", str(configuration.path), "--check")
        assert checked.status == 1
        assert f"wrong: 127.0.0.1:{port}" in checked.out
    assert not (configuration.data / "tinkbox.sqlite").exists()
    give_osie(configuration.data)
    assert run("serve", "--config", str(configuration.path), "--check").status == 0


def test_a_pool_that_is_not_of_the_interfaces_network_is_told_before_anything_is_served(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    text = configuration.path.read_text()
    configuration.path.write_text(text.replace("mode: off", "mode: pool, pool: 10.0.0.1-10.0.0.9"))
    problem = "dhcp: pool 10.0.0.1-10.0.0.9 is not within 127.0.0.0/8, the network of lo"
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, failed.out) == (1, "")
    assert problem in failed.err
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"wrong: {problem}" in checked.out) == (1, True)


def test_every_problem_of_a_configuration_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.yaml"
    path.write_text(f"data: {tmp_path}/data\ninterfaces: lo\nnode: {{http_port: 99999}}\ndhcp: {{mode: maybe}}\n")
    failed = run("serve", "--config", str(path))
    assert (failed.status, failed.out) == (1, "")
    assert failed.err.splitlines() == [
        f"tinkbox: {path} has 3 problems",
        "  line 2, interfaces: unknown key; did you mean interface?",
        "  line 3, node.http_port: expected a port between 1 and 65535, not 99999",
        "  line 4, dhcp.mode: expected reservation or pool or proxy or off, not 'maybe'",
    ]
    assert not (tmp_path / "data").exists()


def test_a_configuration_that_is_not_there_is_told(tmp_path: Path) -> None:
    failed = run("serve", "--config", str(tmp_path / "no.yaml"))
    assert (failed.status, failed.err.count("\n")) == (1, 1)
    assert str(tmp_path / "no.yaml") in failed.err


def test_two_appliances_never_share_their_data(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    (tmp_path / "other").mkdir()
    other = configure(tmp_path / "other")
    with serving(configuration):
        failed = run("serve", "--config", str(other.path), "--data", str(configuration.data))
        assert (failed.status, failed.err.count("\n")) == (1, 1)
        assert f"another tinkbox serves {configuration.data}" in failed.err
        assert run_here("--data", str(configuration.data), "hardware", "list").status == 0


def test_of_a_folder_that_is_served_another_user_is_not_told_how_to_have_it(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    (tmp_path / "other").mkdir()
    other = configure(tmp_path / "other")
    with serving(configuration):
        os.chown(configuration.data, 4711, 4711)
        failed = run("serve", "--config", str(other.path), "--data", str(configuration.data))
        assert (failed.status, failed.err.count("\n")) == (1, 1)
        assert f"another tinkbox serves {configuration.data}: stop it" in failed.err
        os.chown(configuration.data, os.geteuid(), os.getegid())


def test_what_was_acknowledged_is_there_after_kill_9_and_both_doors_show_it(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    local = ("--data", str(configuration.data))
    with serving(configuration) as process:
        assert run_here(*local, "hardware", "push", stdin=json.dumps(hardware(1)).encode()).status == 0
        process.send_signal(signal.SIGKILL)
    assert run_here(*local, "hardware", "list").status == 3
    with serving(configuration):
        for name in ("operator.sock", "operator.token"):
            assert stat.S_IMODE((configuration.data / name).stat().st_mode) == 0o600
        token = (configuration.data / "operator.token").read_text().strip()
        server = {
            "TINKBOX_SERVER": f"https://127.0.0.1:{configuration.operator_port}",
            "SSL_CERT_FILE": str(configuration.authority),
        }
        shown = run_here(*local, "hardware", "list", "-o", "csv").out
        assert "machine-1" in shown
        assert run("hardware", "list", "-o", "csv", environment={**server, "TINKBOX_TOKEN": token}).out == shown
        denied = run("hardware", "list", environment={**server, "TINKBOX_TOKEN": "guessed"})
        assert (denied.status, denied.out, denied.err.count("\n")) == (1, "", 1)
        assert denied.err.startswith("tinkbox: the token is not known here")
        assert denied.err.endswith("Put yours into TINKBOX_TOKEN\n")
        socket = {"TINKBOX_SERVER": f"unix://{configuration.data}/operator.sock"}
        assert run("hardware", "list", "-o", "csv", environment=socket).out == shown


def test_the_machines_side_has_no_operator_door(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    [metadata_port] = own_ports(1)
    text = configuration.path.read_text()
    configuration.path.write_text(text.replace("metadata: {ports: []}", f"metadata: {{ports: [{metadata_port}]}}"))
    with serving(configuration):
        token = (configuration.data / "operator.token").read_text().strip()
        alone = {"TINKBOX_SERVER": f"http://127.0.0.1:{metadata_port}", "TINKBOX_TOKEN": token}
        assert "is the appliance's door for machines" in run("hardware", "list", environment=alone).err
        node = {"TINKBOX_SERVER": f"http://127.0.0.1:{configuration.http_port}", "TINKBOX_TOKEN": token}
        for noun in ("hardware", "template", "workflow", "image"):
            failed = run(noun, "list", environment=node)
            assert failed.status == 1
            assert failed.err == (
                f"tinkbox: {node['TINKBOX_SERVER']} is the appliance's door for machines. Commands go to its operator door: "
                f"`TINKBOX_SERVER=https://127.0.0.1:{configuration.operator_port}`\n"
            )
        for path, told in (("/", True), ("/metrics", True), ("/v1/nothing", True), ("/wp-login.php", False)):
            with pytest.raises(HTTPError) as refused:
                urlopen(f"http://127.0.0.1:{configuration.http_port}{path}")
            with refused.value as answer:
                assert (answer.status, b"this is the machines' door" in answer.read()) == (404, told)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_being_told_to_stop_is_no_failure(tmp_path: Path, signum: int) -> None:
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    with serving(configuration) as process:
        process.send_signal(signum)
        assert process.wait(60) == 0
        said = (tmp_path / "stderr").read_text().splitlines()
        # It may have begun to look for the engine that is not there, and to start a program, of which Python 3.11 then speaks.
        passing = ("no Docker engine answers at unix:///nowhere", "Unknown child process pid")
        assert [line for line in said if not any(each in line for each in passing)] == []


@pytest.mark.parametrize("name", ["boot.key", "operator.token"])
@pytest.mark.parametrize(("content", "problem"), [("", "is empty"), ("short", "is too short")])
def test_a_secret_that_the_start_would_refuse_is_named(tmp_path: Path, name: str, content: str, problem: str) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    (configuration.data / name).write_text(content)
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"{name} {problem}" in checked.out) == (1, True)
    assert run("serve", "--config", str(configuration.path)).status == 1


@pytest.mark.parametrize("name", ["registry", "recordings", "people", "lock", "operator.sock", "boot.key"])
def test_a_link_to_nothing_in_the_data_folder_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    (configuration.data / name).symlink_to(tmp_path / "no" / "where")
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, failed.err.count("\n")) == (1, 1), failed.err
    assert f"{configuration.data / name} is a link to" in failed.err


@pytest.mark.parametrize("name", ["registry/repositories/stray", "registry/blobs/stray", "registry/blobs/sha256/stray"])
def test_a_stray_link_in_the_registry_keeps_nothing_from_starting(tmp_path: Path, name: str) -> None:
    configuration = configure(tmp_path)
    (configuration.data / name).parent.mkdir(parents=True, mode=0o700)
    (configuration.data / name).symlink_to("/etc/hostname")
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert "is a link to" not in checked.out + checked.err, checked
    with serving(configuration):
        listed = run_here("--data", str(configuration.data), "image", "list")
        assert listed.status == 0, listed
    assert (configuration.data / name).is_symlink()


def test_a_part_of_the_registry_on_another_disk_is_refused_at_the_start_and_by_a_check(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    (configuration.data / "registry").mkdir(parents=True, mode=0o700)
    with TemporaryDirectory(dir="/dev/shm") as other_disk:
        (configuration.data / "registry/blobs").symlink_to(other_disk)
        problem = (
            f"{configuration.data}/registry/blobs is on another file system than {configuration.data}/registry, so "
        )
        failed = run("serve", "--config", str(configuration.path))
        assert (failed.status, failed.err.count("\n")) == (1, 1), failed.err
        assert problem in failed.err
        assert f"wrong: {problem}" in run("serve", "--config", str(configuration.path), "--check").out


@pytest.mark.parametrize(
    ("name", "make"),
    [("registry", Path.touch), ("people", Path.touch), ("lock", Path.mkdir), ("operator.sock", Path.mkdir)],
)
def test_what_is_in_the_place_of_something_else_in_the_data_folder_is_refused_in_one_line(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    make(configuration.data / name)
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, failed.err.count("\n")) == (1, 1), failed.err
    assert str(configuration.data / name) in failed.err
    assert "move it away" in failed.err


@pytest.mark.parametrize(
    "name", ["lock", "boot.key", "operator.token", "people/anna.token", "tinkbox.sqlite", "tinkbox.sqlite-journal"]
)
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    pipe = configuration.data / name
    pipe.parent.mkdir(mode=0o700, exist_ok=True)
    os.mkfifo(pipe)
    problem = f"{pipe} is no regular file: move it away, or name another data directory with --data\n"
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, failed.err) == (1, f"tinkbox: {problem}")
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"wrong: {problem}" in checked.out) == (1, True)


def test_a_check_makes_nothing(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    checked = run("serve", "--config", str(configuration.path), "--check")
    data = configuration.data
    missing = (
        f"wrong: no OSIE is in {data}/osie, so no machine can be provisioned: `tinkbox --data {data} osie build` makes one, "
        f"`tinkbox --data {data} init --config {configuration.path}` brings that of a release"
    )
    assert (checked.status, [each for each in checked.out.splitlines() if each.startswith("wrong")]) == (1, [missing])
    assert not configuration.data.exists()


def test_a_store_that_the_start_would_refuse_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    store = configuration.data / "tinkbox.sqlite"
    store.write_text("no database, but long enough to be taken for one by who only looks at its size " * 20)
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"cannot use the store {store}" in checked.out) == (1, True)
    with closing(sqlite3.connect(tmp_path / "newer")) as newer:
        newer.execute("PRAGMA user_version = 9999")
    (tmp_path / "newer").rename(store)
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, "was written by a newer tinkbox (schema 9999" in checked.out) == (1, True)


def test_certificates_that_the_start_would_refuse_are_named(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    authority = tmp_path / "ca.pem"
    text = configuration.path.read_text().replace("metadata: {", f"metadata: {{ca: {authority}, ")
    configuration.path.write_text(text)
    for problem in (f"cannot read metadata.ca, {authority}", f"metadata.ca, {authority}, has no certificate"):
        checked = run("serve", "--config", str(configuration.path), "--check")
        assert (checked.status, f"wrong: {problem}" in checked.out) == (1, True), checked
        authority.write_text("no certificate\n")


def test_a_certificate_of_the_operators_that_ends_soon_is_a_warning_and_no_error(tmp_path: Path) -> None:
    at = configure(tmp_path)
    give_osie(at.data)
    firm = Firm(tmp_path, datetime.now(UTC) - timedelta(days=80))
    certificate, key = firm.files([firm.leaf, firm.between, firm.root])
    with at.path.open("a") as more:
        more.write(f"tls: {{certificate: {certificate}, key: {key}}}\n")
    checked = run_here("serve", "--config", str(at.path), "--check")
    told = [each for each in checked.out.splitlines() if "tls.certificate" in each]
    assert (checked.status, len(told)) == (0, 1), checked.out
    assert told[0].startswith(f"warning: tls.certificate: {certificate} expires on ")


def test_an_issuer_and_a_syslog_server_that_are_away_are_warnings(tmp_path: Path) -> None:
    at = configure(tmp_path)
    give_osie(at.data)
    issuers, syslogs = own_ports(2)
    oidc = f'oidc: {{issuer: "http://127.0.0.1:{issuers}", client_id: tinkbox, groups: {{lab: [look]}}}}'
    at.path.write_text(
        at.path.read_text().replace("group: off}", f"group: off, {oidc}}}")
        + f'audit: {{syslog: "tcp://127.0.0.1:{syslogs}"}}\n'
    )
    checked = run_here("serve", "--config", str(at.path), "--check")
    assert checked.status == 0, checked.out
    assert (
        "warning: operator.oidc: no person can log in with their company's account: the issuer "
        f"http://127.0.0.1:{issuers} does not tell its keys: the box cannot reach 127.0.0.1:{issuers}: "
    ) in checked.out
    assert (
        f"warning: audit.syslog: tcp://127.0.0.1:{syslogs} takes no lines of the audit (Connection refused)"
        in checked.out
    )
    with socket.create_server(("127.0.0.1", syslogs)):
        assert "audit.syslog" not in run_here("serve", "--config", str(at.path), "--check").out


def test_a_reserve_that_no_disk_of_this_size_can_have_is_refused(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    configuration.path.write_text(configuration.path.read_text() + "retention: {keep_free: 900TiB}\n")
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (
        checked.status,
        "wrong: retention.keep_free: 900TiB can never be free: the disk of data" in checked.out,
    ) == (
        1,
        True,
    )
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, "retention.keep_free: 900TiB can never be free" in failed.err) == (1, True)


RUNS = "tinkbox runs already with this data folder (pid {}): its ports were not tried"


def test_a_check_beside_the_appliance_that_runs_leaves_its_ports_alone(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    with serving(configuration) as process:
        before = state_of(configuration.data)
        checked = run("serve", "--config", str(configuration.path), "--check")
        assert (checked.status, checked.err) == (0, "")
        assert RUNS.format(process.pid) in checked.out
        assert state_of(configuration.data) == before
        assert run_here("--data", str(configuration.data), "hardware", "list").status == 0


def test_a_check_beside_the_appliance_that_runs_finds_what_the_next_start_would_refuse(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration) as process:
        (other,) = own_ports(1)
        text = configuration.path.read_text()
        configuration.path.write_text(text.replace(f"http_port: {configuration.http_port}", f"http_port: {other}"))
        for name in ("boot.key", "audit.key"):
            (configuration.data / name).write_text("")
        with socket.create_server(("127.0.0.1", other)):
            checked = run("serve", "--config", str(configuration.path), "--check")
        assert (checked.status, RUNS.format(process.pid) in checked.out) == (1, False)
        assert f"wrong: 127.0.0.1:{other}/tcp is taken by " in checked.out
        assert "boot.key is empty: it is the key by which the appliance knows its own boot tickets" in checked.out
        assert (
            checked.out.count("audit.key is empty: it is the key by which audit.head and the lines of the audit") == 1
        )
        assert "`tinkbox audit verify --after N` examines what follows" in checked.out


def test_ports_of_an_appliance_with_other_data_are_taken(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration) as process:
        checked = run("serve", "--config", str(configuration.path), "--data", str(tmp_path / "other"), "--check")
        assert (checked.status, "runs already" in checked.out) == (1, False)
        assert f"(pid {process.pid})" in checked.out


def state_of(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Owner, group and mode of everything below."""
    return {
        str(each): (found.st_uid, found.st_gid, found.st_mode)
        for each in (folder, *folder.rglob("*"))
        for found in [each.lstat()]
    }


@pytest.fixture
def users_folder() -> Iterator[Path]:
    """A folder that every user of the host reaches."""
    with TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o755)
        yield Path(made)


UNREADABLE = "the user 4711 cannot read {0}: `chmod 644 {0}` lets everybody read it, `chgrp 4711 {0} && chmod 640 {0}`"


@pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")
def test_root_checks_for_the_user_who_owns_the_data_folder_and_locks_nobody_out(users_folder: Path) -> None:
    configuration = configure(users_folder)
    check = ("serve", "--config", str(configuration.path), "--check")
    give_osie(configuration.data)
    os.chown(configuration.data, 4711, 4711)
    before = state_of(configuration.data)
    checked = run(*check)
    assert (checked.status, f"checked for the user 4711, who owns {configuration.data}" in checked.out) == (0, True)
    assert state_of(configuration.data) == before
    configuration.path.chmod(0o600)  # a draft of root's
    checked = run(*check)
    assert (checked.status, f"before a unit uses it: {UNREADABLE.format(configuration.path)}" in checked.out) == (
        0,
        True,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")
def test_a_configuration_that_the_units_user_cannot_read_is_an_error_once_the_unit_uses_it(users_folder: Path) -> None:
    configuration = configure(users_folder)
    configuration.data.mkdir(mode=0o700)
    os.chown(configuration.data, 4711, 4711)
    configuration.path.chmod(0o600)
    link = users_folder / "link.yaml"
    link.symlink_to(configuration.path)
    units = f"import sys; from tinkbox.settings import file; file.CONFIG = file.Path({str(configuration.path)!r})"
    command = [PROGRAM[0], "-c", f"{units}; from tinkbox.cli import main; sys.exit(main())", "serve", "--check"]
    for path in (configuration.path, link):
        named = [*command, "--config", str(path)]
        checked = subprocess.run(named, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)
        assert (checked.returncode, f"wrong: {UNREADABLE.format(path)}" in checked.stdout) == (1, True), checked
    configuration.path.chmod(0o644)
    users_folder.chmod(0o700)
    # The data folder is elsewhere: nobody but root gets to the file.
    with TemporaryDirectory(dir="/tmp") as elsewhere:
        os.chown(elsewhere, 4711, 4711)
        named = [*command, "--config", str(configuration.path), "--data", elsewhere]
        checked = subprocess.run(named, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)
    remedy = f"cannot read {configuration.path}: `chmod o+x {users_folder}` lets everybody pass through that folder"
    assert (checked.returncode, f"wrong: the user 4711 {remedy}" in checked.stdout) == (1, True), checked


@pytest.mark.skipif(os.geteuid() != 0, reason="makes files of other users")
def test_root_finds_what_the_owner_of_the_data_folder_cannot_use(users_folder: Path) -> None:
    configuration = configure(users_folder)
    check = [*BEFORE, PYTHON, "-m", "tinkbox", "serve", "--config", str(configuration.path), "--check"]
    give_osie(configuration.data)
    with serving(configuration):
        pass
    for each in (configuration.data, *configuration.data.rglob("*")):
        os.chown(each, 4711, 4711)
    assert subprocess.run(check, capture_output=True, check=False).returncode == 0
    os.chown(configuration.data / "boot.key", 0, 0)
    before = state_of(configuration.data)
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (checked.returncode, "boot.key belongs to user root: name another folder" in checked.stdout) == (1, True)
    assert state_of(configuration.data) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_who_may_not_enter_the_data_folder_is_told_who_checks_it(users_folder: Path) -> None:
    configuration = configure(users_folder)
    configuration.path.chmod(0o644)
    configuration.data.mkdir(mode=0o700)
    check = [PYTHON, "-m", "tinkbox", "serve", "--config", str(configuration.path), "--check"]
    command = [*BEFORE, "setpriv", "--reuid", "4711", "--clear-groups", *check]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (1, "")
    told = [line for line in checked.stdout.splitlines() if line.startswith("wrong: ")]
    denied = (
        f"wrong: cannot use the data directory {configuration.data}: Permission denied: check as root, or as its owner"
    )
    assert [line for line in told if "data directory" in line] == [denied]


GROUP = "daemon"  # which every host has, as number 1


def as_colleague(
    configuration: Configuration, *words: str, groups: str = "--clear-groups"
) -> subprocess.CompletedProcess[str]:
    """A command of a user who owns nothing here."""
    person = ["setpriv", "--reuid", "4711", "--regid", "4711", *groups.split()]
    command = [*BEFORE, *person, PYTHON, "-m", "tinkbox", "--data", str(configuration.data), *words]
    return subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_member_of_the_operators_group_needs_neither_root_nor_a_token(users_folder: Path) -> None:
    configuration = configure(users_folder)
    text = configuration.path.read_text()
    configuration.path.write_text(text.replace("group: off", f"group: {GROUP}"))
    with serving(configuration) as process:
        data = configuration.data
        assert [stat.S_IMODE(each.stat().st_mode) for each in (data, data / "operator.sock")] == [0o710, 0o660]
        member = as_colleague(configuration, "hardware", "push", "--file", "/dev/null", groups=f"--groups {GROUP}")
        assert (member.returncode, "document" in member.stderr) == (1, True), member
        assert as_colleague(configuration, "hardware", "list", groups=f"--groups {GROUP}").returncode == 0
        assert as_colleague(configuration, "hardware", "list").returncode == 3
        for name in ("", "operator.token", "tinkbox.sqlite", "boot.key"):
            look = [
                "setpriv",
                "--reuid=4711",
                "--regid=4711",
                f"--groups={GROUP}",
                "cat" if name else "ls",
                data / name,
            ]
            assert subprocess.run(look, capture_output=True, check=False).returncode != 0, name
        process.send_signal(signal.SIGKILL)
    # Who takes the group away locks it out.
    configuration.path.write_text(text)
    with serving(configuration):
        assert [stat.S_IMODE(each.stat().st_mode) for each in (data, data / "operator.sock")] == [0o700, 0o600]
        assert as_colleague(configuration, "hardware", "list", groups=f"--groups {GROUP}").returncode == 3


def test_a_group_that_this_host_does_not_have_is_told_with_how_to_make_it(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    text = configuration.path.read_text()
    configuration.path.write_text(text.replace("group: off", "group: nowhere-group"))
    told = "operator.group: this host has no group nowhere-group: `sudo groupadd --system nowhere-group` makes it"
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, told in failed.err, configuration.data.exists()) == (1, True, False)
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"wrong: {told}" in checked.out) == (1, True)


@pytest.fixture
def network() -> Iterator[str]:
    """The name of a network of this test's own, with an interface that has an address, one with another, and one without."""
    name = f"tinkbox-check-{os.getpid()}"
    lines = ["link set lo up"]
    for interface, address in (("eth1", "172.30.0.1/24"), ("eth2", "172.31.0.1/24"), ("eth3", "")):
        lines += [f"link add {interface} type bridge", f"link set {interface} up"]
        lines += [f"address add {address} dev {interface}"] if address else []
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "-batch", "-"], input="\n".join(lines), text=True, check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network")
@pytest.mark.parametrize(
    ("interface", "address", "told"),
    [
        ("eth1", "172.31.0.1", "write `interface: eth2`, or leave `address:` out"),
        ("eth3", "", "eth3 has no IPv4 address: give it one, such as `ip address add 172.30.0.1/24 dev eth3`"),
    ],
)
def test_an_interface_that_the_start_would_refuse_is_told_with_the_line_to_type(
    tmp_path: Path, network: str, interface: str, address: str, told: str
) -> None:
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    text = configuration.path.read_text().replace("interface: lo\n", f"interface: {interface}\n")
    chosen = f"address: {address}\n" if address else ""
    configuration.path.write_text(text.replace("address: 127.0.0.1\n", chosen))
    command = ["ip", "netns", "exec", network, *PROGRAM, "serve", "--config", str(configuration.path), "--check"]
    checked = subprocess.run(
        command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    wrong = [line for line in checked.stdout.splitlines() if line.startswith("wrong: ")]
    assert (checked.returncode, len(wrong), told in wrong[0]) == (1, 1, True), checked


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_disk_without_room_is_named_by_the_check(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    configuration.data.mkdir()
    check = ("serve", "--config", str(configuration.path), "--check")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", configuration.data], check=True)
    try:
        checked = run(*check)
    finally:
        subprocess.run(["umount", configuration.data], check=True)
    assert (checked.status, f"wrong: the disk of {configuration.data} has 20MiB free" in checked.out) == (1, True), (
        checked
    )


def test_a_default_that_is_lowered_to_its_maximum_is_told(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    configuration.path.write_text(configuration.path.read_text() + "services: {most_memory: 256MiB}\n")
    give_osie(configuration.data)
    told = "services.memory is lowered from 512MiB to 256MiB, which is services.most_memory"
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, told in checked.out) == (0, True)
    command = [*PROGRAM, "serve", "--config", str(configuration.path)]
    with subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert f"{told}\n" in takewhile(lambda line: not line.startswith("└─"), process.stdout)
        finally:
            process.terminate()
