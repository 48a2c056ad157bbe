"""Each fault that the doctor knows, provoked with real clients and servers in network namespaces, and what it said.

What takes real firmware is in tests/machine/test_doctor.py.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.app.doctor_lab import DoctorLab, Report, doctor_lab, until
from tests.machine.hosts import Host
from tests.machine.lab import address, mac

(
    WELL, FIREWALL, SMALL, MIDDLE, MISSING, IDLE, NO_PROGRAM, OTHER_PROCESSOR, NO_OSIE, STRANGER, SWITCH, STANDING, SILENT,
    WRONG, TAKEN, MOVED, ROUND, REFUSING, OLD_CLOCK, TINY, NO_ADDRESS,
) = range(1, 22)  # fmt: skip
YEAR = timedelta(days=365.25)
LEASE = """lease {{
  interface "eth0"; fixed-address 192.168.1.50; option subnet-mask 255.255.255.0;
  option dhcp-server-identifier 192.168.1.1; option dhcp-lease-time 4000000;
  renew 5 2037/01/01 00:00:00; rebind 5 2037/01/01 00:00:00; expire 5 2037/01/01 00:00:00;
}}
"""

# Of the appliance's UDP to a machine all but DHCP: each transfer has a port of its own.
TFTP = ("-p", "udp", "!", "--sport", "67")


def well(lab: DoctorLab) -> None:
    box = lab.served(WELL)
    box.probes()
    assert box.loads()
    assert box.script()
    for name in ("vmlinuz", "initramfs"):
        assert box.fetches(f"/boot/osie/x86_64/{name}")


def firewall(lab: DoctorLab) -> None:
    box = lab.served(FIREWALL)
    box.drops(*TFTP)
    assert box.gives_up()


def small_packets(lab: DoctorLab) -> None:
    box = lab.served(SMALL)
    box.run("ip", "link", "set", "eth0", "mtu", "1200")
    assert box.gives_up()


def middle(lab: DoctorLab) -> None:
    box = lab.served(MIDDLE)
    within = ["-m", "quota", "--quota", "60000", "-j", "ACCEPT"]
    box.run("iptables", "--wait", "-A", "INPUT", *TFTP, *within)
    box.drops(*TFTP)
    assert box.gives_up()


def missing(lab: DoctorLab) -> None:
    assert not lab.served(MISSING).loads("gpxe.0")


def idle(lab: DoctorLab) -> None:
    assert not lab.box(IDLE).asks(tries=3)


def no_program(lab: DoctorLab) -> None:
    assert not lab.box(NO_PROGRAM).asks(10, tries=3)


def no_address(lab: DoctorLab) -> None:
    assert not lab.box(NO_ADDRESS).asks(tries=3)


def other_processor(lab: DoctorLab) -> None:
    assert lab.box(OTHER_PROCESSOR).asks(11)


def no_osie(lab: DoctorLab) -> None:
    assert lab.served(NO_OSIE).script(), "what needs an OSIE next lacks one"


def stranger(lab: DoctorLab) -> None:
    assert not lab.box(STRANGER).asks(tries=3)


def switch(lab: DoctorLab) -> None:
    """A bridge with spanning tree, whose ports open after 16 s; the one to the appliance is open already.

    A machine must have begun to ask long before its port opens, and these are plugged in while others are as well.
    """
    run = lab.network.run
    run(["ip", "link", "add", "switch", "type", "bridge", "stp_state", "1", "forward_delay", "800"])
    run(["ip", "link", "add", "up1", "type", "veth", "peer", "name", "up2"])
    run(["ip", "link", "set", "up1", "master", lab.network.interface, "up"])
    run(["ip", "link", "set", "up2", "master", "switch", "up"])
    run(["ip", "link", "set", "switch", "up"])
    lab.until_forwarding("up2")
    assert lab.box(SWITCH, "switch").asks()


def standing(lab: DoctorLab) -> None:
    lab.served(STANDING)


def silent(lab: DoctorLab) -> None:
    assert lab.served(SILENT).loads()


def wrong(lab: DoctorLab) -> None:
    assert lab.served(WRONG).loads("undionly.kpxe")


def taken(lab: DoctorLab) -> None:
    lab.host(address(TAKEN))
    assert not lab.box(TAKEN).asks(7, "-a", seconds=15)


def moved(lab: DoctorLab) -> None:
    """A machine whose client remembers another network: ISC dhclient, as firmware would say it."""
    box = lab.box(MOVED)
    leases, configuration = lab.work / "moved.leases", lab.work / "moved.conf"
    leases.write_text(LEASE.format())
    vendor = 'send vendor-class-identifier "PXEClient:Arch:00000:UNDI:002001";'
    configuration.write_text(f"option arch code 93 = unsigned integer 16;\n{vendor}\nsend arch 0;\n")
    number = lab.work / "moved.pid"
    files = ["-cf", str(configuration), "-lf", str(leases), "-pf", str(number)]
    assert box.tries("dhclient", "-4", "-1", "-sf", "/bin/true", *files, "eth0")
    # It goes into the background, where it writes its number; the box ends with this thread, and does not end it.
    until(lambda: number.exists() and number.read_text().endswith("\n"), "the client to say its number")
    os.kill(int(number.read_text()), signal.SIGKILL)


def goes_round(lab: DoctorLab) -> None:
    box = lab.box(ROUND)
    for _ in range(4):
        assert box.asks()
        assert box.script()


def refusing(lab: DoctorLab) -> None:
    box = lab.served(REFUSING)
    assert box.loads()
    assert box.asks()


def old_clock(lab: DoctorLab) -> None:
    past = datetime.now(UTC) - 25.5 * YEAR
    assert lab.served(OLD_CLOCK).fetches(f"/worker/time?was={past.timestamp():.0f}")


def tiny(lab: DoctorLab) -> None:
    box = lab.served(TINY)
    assert box.fetches(f"/boot/{mac(TINY).replace(':', '-')}/script.ipxe?memory=ff0f0000")
    for name in ("vmlinuz", "initramfs"):
        assert box.fetches(f"/boot/osie/x86_64/{name}")


FAULTS = (
    firewall, small_packets, middle, switch, missing, idle, no_program, no_address, other_processor, no_osie, stranger, standing,
    silent, wrong, taken, moved, goes_round, refusing, old_clock, tiny, well,
)  # fmt: skip
TOLD = [
    (FIREWALL, "TransferStopped", "fault", "probably none of them reaches the machine"),
    (SMALL, "TransferStopped", "fault", "a block of 1468 bytes makes packets of 1500"),
    (MIDDLE, "TransferStopped", "fault", "stopped after block 3"),
    (MISSING, "MissingLoader", "fault", "A question for 'gpxe.0', which is not served here"),
    (IDLE, "NotPermitted", "suspect", "no workflow waits for it"),
    (NO_PROGRAM, "NoProgram", "fault", "UEFI for 32-bit ARM"),
    (NO_ADDRESS, "NoAddress", "fault", "none is reserved for it"),
    (OTHER_PROCESSOR, "WrongArchitecture", "fault", "is no x86_64"),
    (NO_OSIE, "NoOsie", "fault", "no OSIE for riscv64"),
    (STRANGER, "NotKnown", "suspect", "nobody told tinkbox of it"),
    (SWITCH, "SpanningTree", "suspect", "the switch opens its port late"),
    (STANDING, "Stalled", "suspect", "has its address"),
    (SILENT, "SilentLoader", "fault", "nothing was heard of it since"),
    (
        WRONG,
        "WrongLoader",
        "fault",
        "undionly.kpxe is no program for this machine's firmware, which is UEFI for x86-64",
    ),
    (TAKEN, "AddressInUse", "fault", f"Another host uses {address(TAKEN)}"),
    (ROUND, "BootLoop", "fault", "again and again"),
    (REFUSING, "SecureBoot", "suspect", "Secure Boot is on"),
    (OLD_CLOCK, "ClockWrong", "suspect", "25 years behind"),
    (TINY, "RamdiskTooLarge", "fault", "memory of 4 MiB"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("doctor")) as made:
        yield made


@pytest.fixture(scope="module")
def report(lab: DoctorLab) -> Report:
    """What the doctor says of everybody, after each machine has had its fault and three quarters of a minute have passed."""
    changes: dict[int, dict[str, object]] = {NO_OSIE: {"arch": "riscv64"}, NO_ADDRESS: {"ip": None}}
    for number in range(1, 22):
        if number != STRANGER:
            lab.known(number, workflow=number != IDLE, **changes.get(number, {}))
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(fault, lab) for fault in FAULTS]:
            done.result()
    lab.until_seen_for(SILENT, 47)
    lab.until_stopped(FIREWALL, SMALL, MIDDLE)
    return lab.doctor()


@pytest.mark.parametrize(("number", "rule", "gravity", "words"), TOLD, ids=[row[1] for row in TOLD])
def test_a_fault_is_named(report: Report, number: int, rule: str, gravity: str, words: str) -> None:
    found = report.of(number)
    assert rule in found, found
    assert (found[rule]["gravity"], words in found[rule]["cause"]) == (gravity, True), found[rule]


def test_each_machine_has_its_own_fault_and_no_other(report: Report) -> None:
    for number, rule, _, _ in TOLD:
        assert set(report.of(number)) == {rule}, report.of(number)
    assert report.status == 1


def test_of_the_appliance_and_a_machine_that_boots_there_is_nothing_to_say(report: Report) -> None:
    assert report.of() == {}
    assert report.of(WELL) == {}


def test_a_size_probe_is_harmless(lab: DoctorLab, report: Report) -> None:
    found = lab.doctor(WELL).of(WELL)["SizeProbe"]
    assert found["gravity"] == "harmless"
    assert "only its size was asked for" in found["evidence"][0]


def test_a_machine_that_remembers_another_network_is_well(lab: DoctorLab, report: Report) -> None:
    found = lab.doctor(MOVED).of(MOVED)["RememberedAddress"]
    assert (found["gravity"], "192.168.1.50" in found["cause"]) == ("harmless", True)


def other_server(host: Host, *options: str) -> None:
    """Let this host be a DHCP server: dnsmasq, which answers at once."""
    command = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--pid-file=", "--user=root"]
    host.start(*command, "--interface=eth0", "--bind-interfaces", "--leasefile-ro", "--no-ping", *options)
    until(lambda: host.run("ss", "-Hlun", "sport = :67") != b"", "dnsmasq to listen")


OTHER = "172.30.0.3"
TOOK_IT, ASTRAY = 1, 2
GIVING = "--dhcp-range=172.30.0.200,172.30.0.220,10m"


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DoctorLab, Report]]:
    """Another DHCP server, that two machines hear and not us; the second took an address of another network."""
    with doctor_lab(tmp_path_factory.mktemp("beside")) as lab:
        host = lab.host(OTHER)
        other_server(host, GIVING, f"--dhcp-host={mac(ASTRAY)},192.168.1.50", "--dhcp-range=192.168.1.0,static")
        host.run("ip", "address", "add", "192.168.1.1/24", "dev", "eth0")
        for number in (TOOK_IT, ASTRAY):
            lab.known(number)
            box = lab.box(number)
            box.is_deaf_to_our_dhcp()
            assert box.asks()
        yield lab, lab.doctor()


def test_another_server_is_found_by_asking(beside: tuple[DoctorLab, Report]) -> None:
    lab, report = beside
    (told,) = report.of()["OtherServer"]["evidence"]
    assert f"the DHCP server {OTHER}" in told
    lab.network.run(["busybox", "ping", "-c", "1", "-W", "5", OTHER])
    assert told.split("(MAC ")[1][:17] in lab.network.run(["ip", "neighbour", "show", OTHER])
    assert report.status == 1


def test_a_machine_that_took_another_servers_address_is_told_so(beside: tuple[DoctorLab, Report]) -> None:
    _, report = beside
    found = report.of(TOOK_IT)
    assert set(found) == {"OtherServer"}
    assert f"of the DHCP server {OTHER}" in found["OtherServer"]["evidence"][0]


def test_an_address_of_another_network_is_told_as_well(beside: tuple[DoctorLab, Report]) -> None:
    _, report = beside
    assert set(report.of(ASTRAY)) == {"OtherServer", "AddressOutside"}
    assert "192.168.1.50" in report.of(ASTRAY)["AddressOutside"]["cause"]


def answers_one(number: int) -> list[str]:
    """What makes dnsmasq answer that machine, and no other."""
    return ["--dhcp-range=172.30.0.0,static", f"--dhcp-host={mac(number)},172.30.0.77"]


def test_server_that_answers_one_machine_alone_is_told_of_that_machine_whether_or_not_it_answers_us(
    tmp_path: Path,
) -> None:
    with doctor_lab(tmp_path) as lab:
        other_server(lab.host(OTHER), *answers_one(TOOK_IT))
        lab.known(TOOK_IT)
        box = lab.box(TOOK_IT)
        box.is_deaf_to_our_dhcp()
        assert box.asks()
        for report in (lab.doctor(TOOK_IT), lab.doctor()):
            found = report.of(TOOK_IT)
            assert set(found) == {"OtherServer"}
            assert "that server answers this machine and not us, or it is gone" in found["OtherServer"]["cause"]


def test_a_server_that_a_machine_took_its_address_of_is_no_fault_any_more_when_it_is_gone(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab:
        host = lab.host(OTHER)
        other_server(host, GIVING)
        lab.known(TOOK_IT)
        box = lab.box(TOOK_IT)
        box.is_deaf_to_our_dhcp()
        assert box.asks()
        assert set(lab.doctor(TOOK_IT).of(TOOK_IT)) == {"OtherServer"}
        host.close()
        for report in (lab.doctor(TOOK_IT), lab.doctor()):
            assert report.of(TOOK_IT)["OtherServer"]["gravity"] == "suspect", "the machine has not booted yet"


def test_a_proxy_whose_empty_offer_a_machine_chose_is_not_said_to_give_addresses(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab:
        menu = ["--dhcp-range=172.30.0.0,proxy", "--pxe-service=BC_EFI,other,other.efi"]
        other_server(lab.host(OTHER), *menu, "--dhcp-boot=other.efi", "--pxe-prompt=boot,0")
        lab.known(TOOK_IT)
        box = lab.box(TOOK_IT)
        box.is_deaf_to_our_dhcp()
        box.asks(tries=2, seconds=10)
        found = lab.doctor(TOOK_IT).of(TOOK_IT)
        assert "OtherServer" not in found
        chosen = found["OtherBootServer"]
        assert (chosen["gravity"], "that names no address: a proxy DHCP" in chosen["cause"]) == ("fault", True), found
        assert f"no address of {OTHER}" in chosen["evidence"][0]


def test_a_proxy_beside_us_is_found_by_asking(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab:
        menu = ["--dhcp-range=172.30.0.0,proxy", "--pxe-service=BC_EFI,other,other.efi"]
        other_server(lab.host(OTHER), *menu, "--dhcp-boot=other.efi", "--pxe-prompt=boot,0")
        found = lab.doctor().of()
        assert set(found) == {"OtherBootServer"}, found
        assert OTHER in found["OtherBootServer"]["evidence"][0]


PROXY, OFF = "dhcp: {mode: proxy}\n", "dhcp: {mode: 'off'}\n"


def test_firmware_that_ignores_proxy_offers_is_found(tmp_path: Path) -> None:
    """udhcpc is such: it takes an address, and knows nothing of offers without one."""
    with doctor_lab(tmp_path, PROXY) as lab:
        lab.known(1, ip=None)
        box = lab.box(1)
        alone = lab.doctor()
        assert set(alone.of()) == {"NobodyGivesAddresses"}
        assert [each["server"] for each in alone.document["servers"]] == ["dnsmasq", "ISC dhcpd", "Kea", "Windows DHCP"]
        other_server(lab.host(OTHER), GIVING)
        assert box.asks()
        lab.until_seen_for(1, 8)
        report = lab.doctor()
        assert report.of() == {}
        assert set(report.of(1)) == {"ProxyIgnored"}, report.of(1)
        assert "ignores proxy offers" in report.of(1)["ProxyIgnored"]["cause"]


def test_server_that_knows_its_machines_is_not_said_to_be_missing(tmp_path: Path) -> None:
    with doctor_lab(tmp_path, PROXY) as lab:
        other_server(lab.host(OTHER), *answers_one(1))
        lab.known(1, ip=None)
        assert lab.box(1).asks()
        report = lab.doctor()
        (told,) = report.of().values()
        assert (told["rule"], told["gravity"]) == ("NobodyGivesAddresses", "suspect")
        assert told["evidence"][-1].endswith("was seen with an address, and the appliance gives none")


def test_with_dhcp_off_the_lines_for_the_other_server_make_it_right(tmp_path: Path) -> None:
    with doctor_lab(tmp_path, OFF) as lab:
        plain = lab.host(OTHER)
        other_server(plain, GIVING)
        before = lab.doctor()
        assert set(before.of()) == {"NotDirectedHere"}
        plain.close()
        lines = tmp_path / "lines.conf"
        told = {each["server"]: each["lines"] for each in before.document["servers"]}
        lines.write_text("\n".join(told["dnsmasq"]) + "\n")
        other_server(lab.host("172.30.0.4"), GIVING, f"--conf-file={lines}")
        assert lab.doctor().of() == {}
        lab.known(1)
        lab.known(2, workflow=False, ip=None)
        assert set(lab.doctor(1).of(1)) == {"Waiting"}
        boxes = [lab.box(number) for number in (1, 2, 3)]
        for box in boxes:
            assert box.asks()
            assert box.loads()
            assert not box.script()
        refused = lab.doctor(1).of(1)["ScriptRefused"]
        assert f"is only for {address(1)}" in refused["cause"]
        assert [set(lab.doctor(each).of(each)) for each in (1, 2, 3)] == [
            {"ScriptRefused"},
            {"NotPermitted"},
            {"NotKnown"},
        ]
