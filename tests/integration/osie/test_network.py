"""Which network card the OSIE takes, by its own script under busybox, with commands that write down what they were told."""

import subprocess
from pathlib import Path

import pytest

MAC = "08:00:27:00:00:01"
NOTE = """#!/bin/sh
echo "{name} $*" >> /told
{then}
"""


@pytest.fixture
def osie(osie: Path) -> Path:
    """With two network cards."""
    for name, mac in (("eth0", "08:00:27:00:00:99"), ("eth1", MAC)):
        card = osie / "sys" / "class" / "net" / name
        card.mkdir(parents=True)
        (card / "address").write_text(f"{mac}\n")
    for name in ("ip", "modprobe", "udhcpc"):
        instead(osie, name)
    return osie


def instead(root: Path, name: str, then: str = "exit 0") -> None:
    program = root / "bin" / name
    program.unlink(missing_ok=True)
    program.write_text(NOTE.format(name=name, then=then))
    program.chmod(0o755)


def told(root: Path, command_line: str) -> list[str]:
    """What the script told the network's commands."""
    (root / "proc" / "cmdline").write_text(f"quiet {command_line} console=ttyS0\n")
    # A shell of busybox takes its own commands whatever the path says, but functions before these.
    run = "".join(f'{name}() {{ /bin/{name} "$@"; }}; ' for name in ("ip", "modprobe", "udhcpc")) + ". /osie/network"
    subprocess.run(["chroot", str(root), "/bin/sh", "-c", run], check=True, capture_output=True, timeout=30)
    return (root / "told").read_text().splitlines()


def asked_on(lines: list[str]) -> list[str]:
    return [line.split()[3] for line in lines if line.startswith("udhcpc -f -i ")]


def test_the_card_that_the_machine_booted_from_is_taken(osie: Path) -> None:
    lines = told(osie, f"tinkbox.mac={MAC.upper()}")
    assert asked_on(lines) == ["eth1"]
    assert not any("vlan" in line for line in lines)


def test_with_a_vlan_it_is_on_that_network_of_the_card(osie: Path) -> None:
    lines = told(osie, f"tinkbox.mac={MAC} vlan_id=20")
    made, up = lines.index("ip link add link eth1 name vlan20 type vlan id 20"), lines.index("ip link set vlan20 up")
    assert lines.index("modprobe 8021q") < made < up
    assert asked_on(lines) == ["vlan20"]


def test_a_vlan_that_is_there_is_not_made_again(osie: Path) -> None:
    (osie / "sys" / "class" / "net" / "vlan20").mkdir()
    lines = told(osie, f"tinkbox.mac={MAC} vlan_id=20")
    assert not any("link add" in line for line in lines)
    assert asked_on(lines) == ["vlan20"]


def test_without_its_vlan_the_machine_says_so_and_goes_on(osie: Path) -> None:
    instead(osie, "ip", 'case "$*" in *vlan20*) exit 1 ;; esac')
    assert asked_on(told(osie, f"tinkbox.mac={MAC} vlan_id=20")) == ["eth1"]
    assert "there is no VLAN 20 to be had on eth1: going on without it" in (osie / "run" / "osie" / "log").read_text()
