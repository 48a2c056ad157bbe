"""What others wrote asks the appliance for addresses of its pool: busybox, ISC's dhclient, dhcpcd and Kea's perfdhcp."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.integration.boot.pools import DEADLINE, HALF_WAY_SOON, OURS, Lab, lab_of, mac
from tests.integration.boot.wires import Host, await_line
from tests.integration.worker.machine import until

FIRST, SECOND = "172.30.0.100", "172.30.0.101"
SETTINGS = "{mode: pool, pool: 172.30.0.100-172.30.0.109, gateway: 172.30.0.254, domain: lab.example, lease: 10m}"
# How long dhcpcd has to do what it was asked for: it waits for two seconds at most, and then begins.
DHCPCD_ANSWERS = 5.0
REQUEST = f"DHCPREQUEST for {FIRST} on eth0 to"
GRANTED = f"DHCPACK of {FIRST} from {OURS}"
# What clients call with what they were given; it sets the address, and takes it away, as a system does.
SCRIPT = """#!/bin/sh
[ "$1" != deconfig ] || ip address flush dev "$interface"
address=${new_ip_address:-$ip}
[ -z "$address" ] || ip address replace "$address/24" dev "$interface"
echo "$reason $1 $address $new_domain_name $new_routers"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Two machines that the appliance knows."""
    with lab_of(tmp_path, machines=2, settings=SETTINGS) as made:
        made.pool.knows(mac(1), mac(2))
        yield made


def script(folder: Path) -> str:
    path = folder / "configure"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return str(path)


def talkative(mac: str) -> bytes:
    """A hardware document with nearly all that fits into one."""
    servers = [f"172.30.0.{number}" for number in range(10, 18)]
    routes = [{"destination_descriptor": f"10.{each}.0.0/24", "router": "172.30.0.254"} for each in range(16)]
    dhcp = {
        "mac": mac,
        "ip": {"address": "172.30.0.5", "netmask": "255.255.255.0", "gateway": "172.30.0.254"},
        "hostname": "h" * 60,
        "domain_name": "d" * 60 + ".example",
        "name_servers": servers,
        "time_servers": servers,
        "classless_static_routes": routes,
    }
    identity = f"00000000-0000-4000-8000-{mac.replace(':', '')}"
    return json.dumps({"id": identity, "network": {"interfaces": [{"dhcp": dhcp}]}}).encode()


@contextmanager
def dhclient(host: Host, folder: Path, configuration: str = HALF_WAY_SOON) -> Iterator[IO[str]]:
    """ISC's client for as long as the block lasts; it keeps its leases in `folder`."""
    (folder / "dhclient.conf").write_text(configuration)
    words = ["dhclient", "-4", "-d", "-v", "-cf", str(folder / "dhclient.conf"), "-sf", script(folder)]
    words += ["-lf", str(folder / "leases"), "-pf", str(folder / "pid"), "eth0"]
    process = host.start(*words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    try:
        yield process.stderr
    finally:
        process.kill()
        process.wait(DEADLINE)


def dhcpcd_words(host: Host, folder: Path, *options: str) -> list[str]:
    """Roy Marples' client; what it keeps for itself in /run and /var is in `folder`, apart from this host's own."""
    places = [(folder / name, place) for name, place in (("run", "/run/dhcpcd"), ("lib", "/var/lib/dhcpcd"))]
    for here, there in places:
        here.mkdir(exist_ok=True)
        Path(there).mkdir(parents=True, exist_ok=True)
    # It gives its lease up when its configuration is newer than it was, as /dev/null may be.
    configuration = folder / "dhcpcd.conf"
    if not configuration.exists():
        configuration.touch()
    mounts = "; ".join(f"mount --bind {here} {there}" for here, there in places)
    return host.command(
        "sh", "-c", f'{mounts}; exec dhcpcd -4 --config {configuration} "$@"', "dhcpcd", *options, "eth0"
    )


class Dhcpcd:
    """The client itself, which has its own way to find out that an address is in use; what it says is in a file."""

    def __init__(self, host: Host, folder: Path, *options: str) -> None:
        self._host = host
        self._folder = folder
        self._words = dhcpcd_words(host, folder, "--nobackground", "--debug", "--script", script(folder), *options)
        self.process = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        with (self._folder / "said").open("a") as file:
            process = self._host.processes.enter_context(
                subprocess.Popen(self._words, stdout=file, stderr=subprocess.STDOUT, text=True)
            )
        self._host.processes.callback(process.kill)
        return process

    def said(self) -> str:
        return (self._folder / "said").read_text()

    def asked(self, option: str, answer: str) -> None:
        """It forgets a signal that comes while its privileged half works for it, or ends of it; it is asked until it answers.

        Before it rebinds it waits for a random while, and anew each time that it is asked: so it is not asked again meanwhile.
        """
        ask_at = time.monotonic()

        def answered() -> bool:
            nonlocal ask_at
            if answer in self.said():
                return True
            if self.process.poll() is not None:
                self.process = self._started()
            elif time.monotonic() < ask_at:
                return False
            ask_at = time.monotonic() + DHCPCD_ANSWERS
            # It fails where the one that it asks takes more than ten seconds to end.
            subprocess.run(dhcpcd_words(self._host, self._folder, option), check=False, timeout=DEADLINE)
            return False

        until(answered, f"dhcpcd to say {answer!r}")


def test_busybox_gets_an_address_and_keeps_it(lab: Lab, tmp_path: Path) -> None:
    for _ in range(2):
        ran = lab.machines[0].udhcpc("eth0", tmp_path)
        assert ran.returncode == 0, ran.stderr + lab.pool.log()
        assert ran.stdout.split() == [FIRST, "24", "172.30.0.254", OURS]
    assert lab.machines[1].udhcpc("eth0", tmp_path).stdout.split()[0] == SECOND
    assert (lab.pool.lent(mac(1)), lab.pool.lent(mac(2))) == (FIRST, SECOND)


def test_busybox_takes_even_the_longest_answer(lab: Lab, tmp_path: Path) -> None:
    """It says that it takes 576 bytes, and throws away what is much longer."""
    lab.pool.say("hardware", "push", stdin=talkative(mac(1)))
    ran = lab.machines[0].udhcpc("eth0", tmp_path)
    assert ran.returncode == 0, ran.stderr + lab.pool.log()
    assert ran.stdout.split() == ["172.30.0.5", "24", "172.30.0.254", OURS]


def test_busybox_prolongs_its_lease_and_gives_its_address_back(lab: Lab, tmp_path: Path) -> None:
    words = ["busybox", "udhcpc", "-i", "eth0", "-f", "-s", script(tmp_path)]
    process = lab.machines[0].start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    await_line(process.stderr, f"lease of {FIRST} obtained from {OURS}")
    process.send_signal(signal.SIGUSR1)
    await_line(process.stderr, f"lease of {FIRST} obtained from {OURS}")
    process.send_signal(signal.SIGUSR2)
    await_line(process.stderr, "entering released state")
    until(lambda: lab.pool.leases()[mac(1)]["state"] == "released", "the appliance to hear it")
    assert lab.machines[0].udhcpc("eth0", tmp_path).stdout.split()[0] == FIRST


def test_dhclient_gets_an_address_and_prolongs_it_as_long_as_it_runs(lab: Lab, tmp_path: Path) -> None:
    with dhclient(lab.machines[0], tmp_path) as said:
        await_line(said, GRANTED)
        # A running system asks us alone, half way through its lease.
        lab.pool.prolongs(mac(1), said, f"{REQUEST} {OURS} port 67", GRANTED)
        assert lab.pool.lent(mac(1)) == FIRST


def test_dhclient_is_refused_an_address_of_another_network_and_gets_one_of_this(lab: Lab, tmp_path: Path) -> None:
    times = "renew 4 2037/01/01 00:00:00; rebind 4 2037/01/01 00:00:00; expire 4 2037/01/01 00:00:00;"
    given = f"option subnet-mask 255.255.255.0; option dhcp-server-identifier 10.9.9.1; {times}"
    (tmp_path / "leases").write_text(f'lease {{ interface "eth0"; fixed-address 10.9.9.9; {given} }}\n')
    with dhclient(lab.machines[0], tmp_path) as said:
        await_line(said, "DHCPREQUEST for 10.9.9.9")
        await_line(said, f"DHCPNAK from {OURS}")
        await_line(said, f"bound to {FIRST}")


def test_dhclient_asks_for_what_it_had_and_gets_it_again(lab: Lab, tmp_path: Path) -> None:
    with dhclient(lab.machines[0], tmp_path) as said:
        await_line(said, f"bound to {FIRST}")
    with dhclient(lab.machines[0], tmp_path) as said:
        await_line(said, f"{REQUEST} 255.255.255.255")
        await_line(said, f"bound to {FIRST}")


def test_dhclient_keeps_its_address_when_it_calls_itself_something_else(lab: Lab, tmp_path: Path) -> None:
    """A lease is the MAC's: firmware, the OSIE and what is installed each have a client identifier of their own."""
    for identifier in ("ff:00:00:00:01:00:01:aa", "ff:00:00:00:02:00:04:bb"):
        (tmp_path / "leases").unlink(missing_ok=True)
        configuration = f"send dhcp-client-identifier {identifier};\n"
        with dhclient(lab.machines[0], tmp_path, HALF_WAY_SOON + configuration) as said:
            await_line(said, f"bound to {FIRST}")
        assert lab.pool.lent(mac(1)) == FIRST


def test_dhclient_that_cannot_reach_us_asks_everybody_before_its_lease_is_over(tmp_path: Path) -> None:
    """REBINDING: RFC 2131 §4.4.5."""
    with lab_of(tmp_path, settings=SETTINGS) as lab:
        lab.pool.knows(mac(1))
        with dhclient(
            lab.machines[0], tmp_path, HALF_WAY_SOON.replace("rebinding-time 300", "rebinding-time 15")
        ) as said:
            await_line(said, f"bound to {FIRST}")
            lab.machines[0].ip(f"route add unreachable {OURS}/32")
            lab.pool.prolongs(mac(1), said, f"{REQUEST} {OURS} port 67", f"{REQUEST} 255.255.255.255", GRANTED)


def test_dhcpcd_gets_an_address_asks_everybody_to_prolong_it_and_gives_it_back(lab: Lab, tmp_path: Path) -> None:
    client = Dhcpcd(lab.machines[0], tmp_path)
    until(lambda: f"leased {FIRST} for 600 seconds" in client.said(), "the first lease")
    client.asked("--rebind", f"rebinding lease of {FIRST}")
    until(lambda: "acknowledged" in client.said().rpartition("rebinding")[2], "the lease to be prolonged")
    assert lab.pool.lent(mac(1)) == FIRST
    client.asked("--release", f"releasing lease of {FIRST}")
    client.process.wait(DEADLINE)
    until(lambda: lab.pool.leases()[mac(1)]["state"] == "released", "the appliance to hear it")


def test_dhcpcd_with_an_address_of_its_own_is_told_the_rest(lab: Lab, tmp_path: Path) -> None:
    client = Dhcpcd(lab.machines[0], tmp_path, "--inform=172.30.0.20/24", "--oneshot")
    client.process.wait(2 * DEADLINE)
    assert "received approval for 172.30.0.20" in client.said()
    assert "lab.example 172.30.0.254" in client.said()
    assert lab.pool.lent(mac(1)) == ""


def test_an_address_that_some_host_has_is_not_offered(lab: Lab, tmp_path: Path) -> None:
    lab.machines[1].ip(f"address add {FIRST}/24 dev eth0")
    assert lab.machines[0].udhcpc("eth0", tmp_path).stdout.split()[0] == SECOND
    leases = lab.pool.say("hardware", "leases", "--format", "csv", "--no-headers").splitlines()
    assert [line.split(",")[:3] for line in leases] == [[FIRST, mac(1), "taken"], [SECOND, mac(1), "bound"]]
    assert f"{FIRST} is not lent for ten minutes: {mac(2)} answers there" in lab.pool.log()


@pytest.mark.parametrize("name", ["udhcpc", "dhcpcd"])
def test_an_address_that_a_machine_finds_in_use_is_lent_no_more(tmp_path: Path, name: str) -> None:
    """The host that has it is out of the appliance's hearing, but not of the machine's."""
    with lab_of(tmp_path, machines=2, apart=[2], settings=SETTINGS) as lab:
        lab.pool.knows(mac(1))
        lab.machines[1].ip(f"address add {FIRST}/24 dev eth0")
        if name == "udhcpc":
            ran = lab.machines[0].udhcpc("eth0", tmp_path, "-a500", "-A", "1")
            assert ran.stdout.split()[0] == SECOND
        else:
            client = Dhcpcd(lab.machines[0], tmp_path)
            until(lambda: f"leased {SECOND}" in client.said(), "an address that is free")
        leases = lab.pool.say("hardware", "leases", "--format", "csv", "--no-headers").splitlines()
        assert [line.split(",")[:3] for line in leases] == [[FIRST, mac(1), "declined"], [SECOND, mac(1), "bound"]]
        timeline = lab.pool.say("hardware", "get", mac(1))
        assert "found its address in use" in timeline


def test_leases_survive_an_appliance_that_is_killed(lab: Lab, tmp_path: Path) -> None:
    with dhclient(lab.machines[0], tmp_path) as said:
        await_line(said, f"bound to {FIRST}")
        lab.pool.kill()
        lab.pool.start()
        assert lab.pool.lent(mac(1)) == FIRST
        assert lab.machines[1].udhcpc("eth0", tmp_path).stdout.split()[0] == SECOND
        lab.pool.prolongs(mac(1), said, GRANTED)


def test_machines_that_nobody_knows_get_nothing(lab: Lab, tmp_path: Path) -> None:
    lab.machines[0].ip("link set eth0 address 08:00:27:ff:ff:ff")
    ran = lab.machines[0].udhcpc("eth0", tmp_path, "-t", "2")
    assert ran.returncode == 1
    # Who is answered behind it has the first address: that was not even offered.
    assert lab.machines[1].udhcpc("eth0", tmp_path).stdout.split()[0] == FIRST
    assert set(lab.pool.leases()) == {mac(2)}


def test_perfdhcp_is_answered_without_a_loss_and_every_machine_has_an_address_of_its_own(tmp_path: Path) -> None:
    with lab_of(tmp_path, settings="{mode: pool, pool: 172.30.0.100-172.30.0.199, lease: 1h}") as lab:
        macs = [mac(256 + number) for number in range(20)]
        lab.pool.knows(*macs)
        (tmp_path / "macs").write_text("\n".join(macs))
        lab.machines[0].ip("address add 172.30.0.2/24 dev eth0")
        # Before the first offer of an address everybody is asked whether it is in use.
        until(
            lambda: bool(perfdhcp(lab, tmp_path, rate=60, count=300)) and set(lab.pool.leases()) == set(macs), "leases"
        )
        leases = lab.pool.leases()
        assert {each: lease["state"] for each, lease in leases.items()} == dict.fromkeys(macs, "bound")
        assert len({each["address"] for each in leases.values()}) == len(macs)
        for _ in range(3):  # more than fits into the kernel's buffers is lost while an appliance cannot run
            said = perfdhcp(lab, tmp_path, rate=40, count=200, wait=10)
            if lost(said) == ["0", "0"]:
                break
        assert lost(said) == ["0", "0"], said
        assert [int(each) >= 200 for each in re.findall(r"^received packets: (\d+)", said, re.MULTILINE)] == [
            True,
            True,
        ]

        def some_are_released() -> bool:
            # A lease counts as given back when its machine did not ask for it again for two seconds.
            perfdhcp(lab, tmp_path, "-f", "30", "-F", "30", rate=60, count=120)
            return {lease["state"] for lease in lab.pool.leases().values()} == {"bound", "released"}

        until(some_are_released, "leases of both kinds")


def lost(said: str) -> list[str]:
    """How many of both exchanges perfdhcp says were lost."""
    return re.findall(r"^drops: (\d+)", said, re.MULTILINE)


def perfdhcp(lab: Lab, folder: Path, *options: str, rate: int, count: int, wait: int = 3) -> str:
    """Kea's measuring client, which speaks for many machines as a relay does, and then waits; what it reports."""
    words = ["perfdhcp", "-4", "-M", str(folder / "macs"), "-l", "172.30.0.2", "-W", f"{wait}000000", "-d", "20"]
    words += ["-r", str(rate), "-n", str(count), *options, OURS]
    done = subprocess.run(lab.machines[0].command(*words), capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr
