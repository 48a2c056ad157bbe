"""What is changed of the interfaces of a host."""

from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from tinkbox.boot.network.interfaces import PresentInterface
from tinkbox.model.errors import Unavailable
from tinkbox.setup import host
from tinkbox.setup.proposals import AddressFile, Choice, HostInterface

CHOICE = Choice(interface="eth1", address=IPv4Interface("172.30.0.1/24"), mode="reservation")


@pytest.mark.parametrize("reloads", [True, False])
def test_networkd_reads_the_file_at_once_and_need_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reloads: bool
) -> None:
    file, ran = tmp_path / "10-eth1.network", list[str]()

    def run(*command: str) -> None:
        ran.append(f"{' '.join(command)}{' after the file' if file.exists() else ''}")
        if command[0] == "networkctl" and not reloads:
            raise Unavailable("no D-Bus here")

    monkeypatch.setattr(host, "_run", run)
    monkeypatch.setattr(host, "NETWORKD", tmp_path)
    monkeypatch.setattr(host, "_address_file", lambda choice: AddressFile(file, "[Match]"))
    assert host.keep_address(CHOICE) == file
    assert ran == ["networkctl reload after the file"]


@pytest.mark.parametrize("up", [True, False])
def test_an_address_is_taken_back_where_what_follows_is_refused(monkeypatch: pytest.MonkeyPatch, up: bool) -> None:
    ran = list[str]()
    monkeypatch.setattr(host, "_run", lambda *command: ran.append(" ".join(command)))
    interface = HostInterface(name="eth1", up=up)
    given = ["ip link set eth1 up", "ip address add 172.30.0.1/24 dev eth1"]
    with host.given_address(interface, CHOICE.address):
        pass
    assert ran == given
    ran.clear()
    with pytest.raises(Unavailable), host.given_address(interface, CHOICE.address):
        raise Unavailable("no port")
    down = [] if up else ["ip link set eth1 down"]
    assert ran == [*given, "ip address del 172.30.0.1/24 dev eth1", *down]


def test_the_ports_of_a_bridge_are_no_networks_of_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eth1" / "brport").mkdir(parents=True)
    present = [PresentInterface(name=each, address=None, outward=False, up=True) for each in ("lo", "eth1", "br0")]
    monkeypatch.setattr(host, "INTERFACES_OF_KERNEL", tmp_path)
    monkeypatch.setattr(host, "present_interfaces", lambda: present)
    assert [each.name for each in host.host_interfaces()] == ["br0"]
