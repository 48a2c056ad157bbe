"""What the OSIE makes of an answer to DHCP, by its own script under busybox, in a file tree of its own."""

import os
import subprocess
from pathlib import Path

LEASE = {
    "interface": "lo",
    "ip": "172.30.0.5",
    "mask": "24",
    "dns": "9.9.9.9 1.1.1.1",
    "domain": "lab.example",
    "hostname": "lab-1",
    "serverid": "172.30.0.1",
}


def leased(root: Path, command_line: str, **changes: str) -> str:
    """The resolv.conf that comes of a lease."""
    (root / "proc" / "cmdline").write_text(f"quiet {command_line} console=ttyS0\n")
    command = ["unshare", "--net", "--uts", "chroot", str(root), "/bin/sh", "/osie/lease", "bound"]
    subprocess.run(
        command, env={"PATH": os.environ["PATH"], **LEASE, **changes}, check=True, capture_output=True, timeout=30
    )
    assert (root / "run" / "osie" / "online").exists()
    return (root / "etc" / "resolv.conf").read_text()


def test_the_appliance_is_asked_first_and_then_what_the_network_gave(osie: Path) -> None:
    found = leased(osie, "tinkbox.server=http://172.30.0.1 tinkbox.dns=172.30.0.1 tinkbox.mac=08:00:27:00:00:01")
    assert found == "search lab.example\nnameserver 172.30.0.1\nnameserver 9.9.9.9\nnameserver 1.1.1.1\n"


def test_without_a_server_of_the_network_the_appliance_is_the_only_one(osie: Path) -> None:
    assert leased(osie, "tinkbox.dns=172.30.0.1", dns="", domain="") == "nameserver 172.30.0.1\n"


def test_where_the_appliance_answers_for_no_names_nothing_of_it_is_there(osie: Path) -> None:
    found = leased(osie, "tinkbox.server=http://172.30.0.1")
    assert found == "search lab.example\nnameserver 9.9.9.9\nnameserver 1.1.1.1\n"
