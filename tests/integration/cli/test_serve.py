"""`tinkbox serve` from the operator's side: what it says when it starts, and when it cannot."""

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.cli.serving import Configuration, configure, run, run_here, serving
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
    assert run("serve", "--config", str(configuration.path), "--check").status == 0


def test_a_pool_that_is_not_of_the_interfaces_network_is_told_before_anything_is_served(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    text = configuration.path.read_text()
    configuration.path.write_text(text.replace("mode: off", "mode: off, pool: 10.0.0.1-10.0.0.9"))
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
        f"tinkbox: {path} has 3 problem(s)",
        "  dhcp.mode: expected reservation or pool or proxy or off, not 'maybe'",
        "  node.http_port: expected a port between 1 and 65535, not 99999",
        "  interfaces: unknown key; did you mean interface?",
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
        server = {"TINKBOX_SERVER": f"http://127.0.0.1:{configuration.operator_port}"}
        shown = run_here(*local, "hardware", "list").out
        assert "machine-1" in shown
        assert run("hardware", "list", environment={**server, "TINKBOX_TOKEN": token}).out == shown
        denied = run("hardware", "list", environment={**server, "TINKBOX_TOKEN": "guessed"})
        assert (denied.status, denied.out, denied.err.count("\n")) == (1, "", 1)
        assert "TINKBOX_TOKEN" in denied.err


def test_the_machines_side_has_no_operator_door(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration):
        token = (configuration.data / "operator.token").read_text().strip()
        node = {"TINKBOX_SERVER": f"http://127.0.0.1:{configuration.http_port}", "TINKBOX_TOKEN": token}
        for noun in ("hardware", "template", "workflow", "image"):
            failed = run(noun, "list", environment=node)
            assert failed.status == 1
            assert "Not Found" in failed.err


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_being_told_to_stop_is_no_failure(tmp_path: Path, signum: int) -> None:
    configuration = configure(tmp_path)
    with serving(configuration) as process:
        process.send_signal(signum)
        assert process.wait(60) == 0
        said = (tmp_path / "stderr").read_text().splitlines()
        # It may have begun to look for the engine that is not there.
        assert [line for line in said if "no Docker engine answers at unix:///nowhere" not in line] == []


@pytest.mark.parametrize("name", ["boot.key", "operator.token"])
def test_a_secret_that_the_start_would_refuse_is_named(tmp_path: Path, name: str) -> None:
    configuration = configure(tmp_path)
    assert run("serve", "--config", str(configuration.path), "--check").status == 0
    (configuration.data / name).write_text("")
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"{name} is empty" in checked.out) == (1, True)
