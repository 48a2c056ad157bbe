"""What `tinkbox init` does with the host and with a configuration that is there."""

import argparse
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest

from tinkbox.cli import INTERRUPTED, main
from tinkbox.cli.nouns.init import configuration, steps
from tinkbox.cli.nouns.init.configuration import configured
from tinkbox.cli.nouns.init.steps import _files
from tinkbox.cli.terminal.questions import Questions
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.setup import host, placing, release_files, unit
from tinkbox.setup.proposals import HostInterface

WRITTEN = """\
# our lab
interface: eth1
metadata:
  timezone: Europe/Berlin
dhcp:
  gateway: 172.30.0.254   # the router
  mode: pool
  pool: 172.30.0.100-172.30.0.199
"""
FOUND = [
    HostInterface(name="eth0", address=IPv4Interface("10.0.0.5/24"), outward=True),
    HostInterface(name="eth1", address=IPv4Interface("172.30.0.1/24")),
    HostInterface(name="eth2", address=IPv4Interface("172.31.0.1/24")),
]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration on a host with three interfaces, where nothing is in the way."""
    monkeypatch.setattr(host, "host_interfaces", lambda: FOUND)
    monkeypatch.setattr(
        host, "host_networks", lambda: {each.name: each.address.network for each in FOUND if each.address}
    )
    monkeypatch.setattr(configuration, "_check", lambda *_: None)
    path = tmp_path / "tinkbox.yaml"
    path.write_text(WRITTEN + f"data: {tmp_path / 'data'}\n")
    return path


def flags(**named: str | bool) -> argparse.Namespace:
    absent = dict.fromkeys(("interface", "address", "dhcp", "pool", "data", "set_address", "yes", "no_unit"))
    return argparse.Namespace(**{**absent, "yes": True, **named})


def run(config: Path, **named: str | bool) -> None:
    configured(flags(**named), Questions(yes=True), config, [])


def test_a_flag_changes_its_own_keys_of_a_file_that_is_there(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = config.read_text()
    run(config, dhcp="reservation")
    assert config.read_text() == before.replace("mode: pool\n  pool: 172.30.0.100-172.30.0.199", "mode: reservation")
    assert config.with_name("tinkbox.yaml.before-init").read_text() == before
    assert "tinkbox.yaml.before-init" in capsys.readouterr().out


def test_moving_to_another_interface_takes_its_address_and_a_pool_of_its_network(config: Path) -> None:
    run(config, interface="eth2")
    text = config.read_text()
    assert "interface: eth2\n" in text
    assert "address: 172.31.0.1\n" in text
    assert "  pool: 172.31.0.100-172.31.0.199\n" in text
    assert "timezone: Europe/Berlin" in text


def test_what_the_file_says_already_changes_nothing(config: Path) -> None:
    before = config.read_text()
    run(config, interface="eth1", dhcp="pool")
    assert config.read_text() == before
    assert not config.with_name("tinkbox.yaml.before-init").exists()


def image_in(folder: Path) -> Path:
    path = folder / "images" / "reboot.tar"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    ("program", "folder"),
    [("dist/tinkbox", "build"), (None, "build"), ("carry/tinkbox", "carry"), ("dist/tinkbox", "dist")],
)
def test_files_are_taken_from_beside_the_program_or_from_build_of_its_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, folder: str
) -> None:
    monkeypatch.setattr(placing, "running_program", lambda: tmp_path / program if program else None)
    monkeypatch.setattr(release_files, "CHECKOUT", tmp_path)
    image = image_in(tmp_path / folder)
    assert _files(argparse.Namespace(files=None)).images == (image,)


@pytest.mark.parametrize("program", ["usr/bin/tinkbox", "dist/tinkbox", None])
@pytest.mark.parametrize("folder", [".", "build"])
def test_nothing_is_taken_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, folder: str
) -> None:
    monkeypatch.setattr(placing, "running_program", lambda: tmp_path / "host" / program if program else None)
    monkeypatch.setattr(release_files, "CHECKOUT", tmp_path / "host")
    here = tmp_path / "here"
    image_in(here / folder)
    monkeypatch.chdir(here)
    assert _files(argparse.Namespace(files=None)) == release_files.ReleaseFiles()


def test_only_a_folder_called_dist_is_one_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "running_program", lambda: tmp_path / "carry" / "tinkbox")
    image_in(tmp_path / "build")
    assert _files(argparse.Namespace(files=None)) == release_files.ReleaseFiles()


def test_a_move_says_how_many_machines_it_leaves_behind(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reserved = [[IPv4Address("172.30.0.7")], [IPv4Address("172.30.0.8")], [IPv4Address("172.31.0.9")]]
    monkeypatch.setattr(configuration, "_reserved", lambda data: reserved)
    run(config, interface="eth2")
    told = capsys.readouterr().out
    run(config, dhcp="proxy")
    assert "warning" not in capsys.readouterr().out
    assert told.startswith("warning: 2 known machines with reserved addresses, none of them in 172.31.0.0/24")


@pytest.mark.parametrize("yes", [True, False])
def test_an_interface_that_is_not_there_leads_to_those_that_are(config: Path, yes: bool) -> None:
    with pytest.raises(
        NotFound, match=r"cannot be on eth9: name one of these with --interface: eth0 .*, eth1 .*, eth2"
    ):
        configured(flags(interface="eth9"), Questions(yes=yes), config, [])


def test_a_file_that_answers_needs_no_terminal_but_a_yes(config: Path) -> None:
    with pytest.raises(Invalid, match="no terminal to ask at: add --yes"):
        configured(flags(dhcp="proxy"), Questions(yes=False), config, [])


def test_an_address_of_another_interface_changes_nothing(config: Path) -> None:
    before = config.read_text()
    with pytest.raises(Invalid, match="in the network of eth0"):
        run(config, interface="eth1", address="10.0.0.9/24", set_address=True)
    assert config.read_text() == before


def test_ctrl_c_says_what_is_done_and_has_the_next_run_restart_the_appliance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, due = tmp_path / "tinkbox.yaml", tmp_path / "due"

    def interrupted(chosen: object, ask: object, config: Path, changed: list[str]) -> None:
        changed.append(str(config))
        raise KeyboardInterrupt

    monkeypatch.setattr(host, "is_root", lambda: True)
    monkeypatch.setattr(unit, "RESTART_IS_DUE", due)
    monkeypatch.setattr(configuration, "configured", interrupted)
    assert main(["init", "--yes", "--config", str(config)]) == INTERRUPTED
    assert capsys.readouterr().err == f"\nstopped, changed so far: {config}. Type the same line again to go on.\n"
    assert due.exists()


def test_a_slow_start_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "_answers", lambda data: True)
    monkeypatch.setattr(steps, "_load_images", lambda chosen, data, changed: None)
    monkeypatch.setattr(unit, "RESTART_IS_DUE", tmp_path / "due")
    monkeypatch.setattr(unit, "run", lambda command, slow: slow() if "restart" in command else None)
    monkeypatch.setattr(unit, "jobs", lambda: ["systemd-networkd-wait-online.service"])
    config = tmp_path / "tinkbox.yaml"
    (tmp_path / "due").touch()
    steps.start(flags(), tmp_path, config, [], with_unit=True)
    told = capsys.readouterr().out.splitlines()
    assert "starting it (systemctl restart tinkbox)" in told[0]
    assert "waits for systemd-networkd-wait-online.service: see `systemctl list-jobs`" in told[1]
    assert told[2].startswith("appliance       runs (")
    steps.start(flags(), tmp_path, config, [], with_unit=True)
    assert "runs already" in capsys.readouterr().out
