"""Who is given a machine's boot script: the host that has its address, or, where others give addresses, its MAC."""

import json
import subprocess
from pathlib import Path

from tests.integration.boot.pools import OURS, Lab, Pool, lab_of, mac
from tests.integration.boot.wires import Host
from tests.integration.engine.appliance import HELLO

FIRST = "172.30.0.100"


def with_ticket(pool: Pool, machine: str) -> None:
    pool.knows(machine)
    pool.say("template", "create", "--name", "hello", stdin=HELLO.encode())
    template = pool.say("template", "list", "-q").split()[0]
    pool.say("workflow", "create", "-t", template, "-r", json.dumps({"device_1": machine}))


def fetched(host: Host, machine: str, name: str = "script.ipxe") -> str:
    """What a host is given of a machine's, or nothing."""
    url = f"http://{OURS}/boot/{machine.replace(':', '-')}/{name}"
    words = host.command("curl", "--silent", "--fail", "--max-time", "60", url)
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, errors="replace")
    assert done.returncode in (0, 22), f"curl ended with {done.returncode}"  # given, or refused
    return done.stdout


def test_the_script_goes_to_the_address_that_is_lent_and_to_no_other(tmp_path: Path) -> None:
    with lab_of(tmp_path, machines=2) as lab:
        with_ticket(lab.pool, mac(1))
        machine, other = lab.machines
        assert machine.udhcpc("eth0", tmp_path).stdout.split()[0] == FIRST
        machine.ip(f"address add {FIRST}/24 dev eth0")
        other.ip("address add 172.30.0.50/24 dev eth0")
        assert fetched(machine, mac(1)).startswith("#!ipxe")
        assert "worker.json" in fetched(machine, mac(1), "credential.cpio")
        assert fetched(other, mac(1)) == ""
        assert fetched(other, mac(1), "credential.cpio") == ""
        machine.ip(f"address delete {FIRST}/24 dev eth0")
        machine.ip("address add 172.30.0.51/24 dev eth0")  # with the first address the kernel removes those added to it
        assert fetched(machine, mac(1)) == ""


def test_where_another_server_gives_addresses_the_script_goes_to_the_host_with_the_machines_mac(tmp_path: Path) -> None:
    with lab_of(tmp_path, machines=2, settings="{mode: proxy}") as lab:
        with_ticket(lab.pool, mac(1))
        give_addresses(lab)
        machine, other = lab.machines
        assert fetched(machine, mac(1)).startswith("#!ipxe")
        assert "worker.json" in fetched(machine, mac(1), "credential.cpio")
        assert fetched(other, mac(1)) == ""
        assert fetched(other, mac(1), "credential.cpio") == ""


def give_addresses(lab: Lab) -> None:
    """As somebody else's DHCP server does."""
    for number, host in enumerate(lab.machines, 50):
        host.ip(f"address add 172.30.0.{number}/24 dev eth0")
