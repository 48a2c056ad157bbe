"""`tinkbox serve`: what keeps it from starting is said in one line with the remedy, and it ends as it is told."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.serving import ROOT, Configuration, configure, run, serving


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return configure(tmp_path)


def check(configuration: Configuration) -> tuple[int, str]:
    ended = run("serve", "--config", str(configuration.path), "--check")
    return ended.status, ended.out + ended.err


def test_the_check_says_what_is_served_where_and_that_an_engine_is_not_needed(configuration: Configuration) -> None:
    status, said = check(configuration)
    assert status == 0
    assert f"node door       http://127.0.0.1:{configuration.http_port}" in said
    assert "not built yet: tinkbox osie build" in said
    assert "no Docker engine answers at unix:///nowhere" in said
    assert "everything else works" in said


def test_a_port_that_is_taken_is_named_with_the_process_that_has_it(configuration: Configuration) -> None:
    with socket.create_server(("127.0.0.1", configuration.http_port)):
        status, said = check(configuration)
        assert status == 1
        expected = f"127.0.0.1:{configuration.http_port}/tcp is taken by {Path('/proc/self/comm').read_text().strip()}"
        assert f"{expected} (pid {os.getpid()})" in said
        ended = run("serve", "--config", str(configuration.path))
        assert ended.status == 1
        assert expected in ended.err
        assert len(ended.err.splitlines()) == 1


def test_a_configuration_with_problems_lists_them_all(configuration: Configuration) -> None:
    configuration.path.write_text("interfase: lo\nnode: {http_port: none}\n")
    ended = run("serve", "--config", str(configuration.path))
    assert ended.status == 1
    assert "did you mean interface?" in ended.err
    assert "node.http_port" in ended.err


def test_an_interface_that_is_not_there_is_named(configuration: Configuration) -> None:
    configuration.path.write_text(configuration.path.read_text().replace("interface: lo", "interface: eth77"))
    status, said = check(configuration)
    assert status == 1
    assert "no interface eth77" in said


def test_two_appliances_never_share_a_data_directory(configuration: Configuration) -> None:
    with serving(configuration):
        other = configure(configuration.data.parent)
        ended = run("serve", "--config", str(other.path), "--data", str(configuration.data))
        assert ended.status == 1
        assert f"another tinkbox serves {configuration.data}" in ended.err


def test_token_and_socket_are_the_operators_alone(configuration: Configuration) -> None:
    with serving(configuration):
        token = configuration.data / "operator.token"
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert stat.S_IMODE((configuration.data / "operator.sock").stat().st_mode) == 0o600
        assert stat.S_IMODE(configuration.data.stat().st_mode) == 0o700
        first = token.read_text()
    with serving(configuration):
        assert token.read_text() == first


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_told_to(configuration: Configuration, signum: signal.Signals) -> None:
    with serving(configuration) as process:
        process.send_signal(signum)
        assert process.wait(20) == 0


def test_it_starts_again_after_it_was_killed(configuration: Configuration) -> None:
    with serving(configuration) as process:
        process.kill()
        process.wait(20)
    with serving(configuration):
        assert run("--data", str(configuration.data), "hardware", "list").status == 0


def test_the_appliance_can_be_named_by_the_environment(configuration: Configuration) -> None:
    with serving(configuration):
        token = (configuration.data / "operator.token").read_text().strip()
        server = {"TINKBOX_SERVER": f"http://127.0.0.1:{configuration.operator_port}"}
        assert run("hardware", "list", environment={**server, "TINKBOX_TOKEN": token}).status == 0
        denied = run("hardware", "list", environment={**server, "TINKBOX_TOKEN": "wrong"})
        assert denied.status == 1
        assert "operator's token" in denied.err


def test_where_no_appliance_answers_the_status_is_three(configuration: Configuration) -> None:
    ended = run("--data", str(configuration.data), "hardware", "list")
    assert ended.status == 3
    assert "is `tinkbox serve` running?" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_data_directory_that_cannot_be_made_is_named(configuration: Configuration) -> None:
    ended = run("serve", "--config", str(configuration.path), "--data", "/proc/nowhere")
    assert ended.status == 1
    assert "cannot use the data directory /proc/nowhere" in ended.err


def test_missing_boot_loaders_are_named_with_the_remedy(configuration: Configuration) -> None:
    script = (
        "import sys; from pathlib import Path; from tinkbox.boot import loaders; import tinkbox.app as app;"
        "app.load_loaders = lambda: loaders.load_loaders(Path('/nowhere'));"
        "from tinkbox.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, "serve", "--config", str(configuration.path)],
        capture_output=True, text=True, cwd=ROOT, timeout=30, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "run `make loaders`" in ended.stderr
