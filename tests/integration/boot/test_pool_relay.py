"""A pool of a network behind ISC's relay: leases of that network, prolonged without the relay, asked for by echo."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.boot.pools import HALF_WAY_SOON, OURS, Lab, lab_of, mac
from tests.integration.boot.wires import Host, await_line, cable, dhcrelay, hosts

FAR, FIRST, SECOND = "10.9.0.1", "10.9.0.100", "10.9.0.101"
BEHIND = f"{{network: 10.9.0.0/24, pool: {FIRST}-10.9.0.109, gateway: {FAR}, lease: 10m}}"
KNOWN = mac(7)
SCRIPT = """#!/bin/sh
[ -z "$new_ip_address" ] || ip address replace "$new_ip_address/24" dev "$interface"
[ -z "$new_routers" ] || ip route replace default via "$new_routers"
"""


@dataclass
class Far:
    lab: Lab
    router: Host
    machine: Host


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    with (
        lab_of(tmp_path, settings=f"{{mode: pool, subnets: [{BEHIND}]}}") as lab,
        hosts("pool-behind") as (machine,),
    ):
        (router,) = lab.machines
        router.ip("address add 172.30.0.2/24 dev eth0")
        cable(router, "far", machine, "eth0", KNOWN)
        router.ip(f"address add {FAR}/24 dev far")
        subprocess.run(router.command("sysctl", "-q", "-w", "net.ipv4.ip_forward=1"), check=True, timeout=30)
        lab.pool.host.ip("route add 10.9.0.0/24 via 172.30.0.2")
        lab.pool.knows(KNOWN)
        dhcrelay(router, "far", "eth0", OURS)
        yield Far(lab, router, machine)


def test_a_machine_gets_a_lease_through_the_relay_and_prolongs_it_without(far: Far, tmp_path: Path) -> None:
    script = tmp_path / "configure"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    (tmp_path / "dhclient.conf").write_text(HALF_WAY_SOON)
    words = ["dhclient", "-4", "-d", "-v", "-cf", str(tmp_path / "dhclient.conf"), "-sf", str(script)]
    words += ["-lf", str(tmp_path / "leases"), "-pf", str(tmp_path / "pid"), "eth0"]
    process = far.machine.start(*words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    await_line(process.stderr, f"bound to {FIRST}")
    lines = f"DHCPREQUEST for {FIRST} on eth0 to {OURS} port 67", f"DHCPACK of {FIRST} from {OURS}"
    far.lab.pool.prolongs(KNOWN, process.stderr, *lines)


def test_an_address_that_some_host_behind_the_relay_has_is_not_offered(far: Far, tmp_path: Path) -> None:
    far.router.ip(f"address add {FIRST}/24 dev far")
    assert far.machine.udhcpc("eth0", tmp_path).stdout.split()[0] == SECOND
    assert f"{FIRST} is not lent for ten minutes: somebody answers there" in far.lab.pool.log()
