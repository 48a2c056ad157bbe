"""A full disk: what cannot be kept is not acknowledged; what is kept goes on, and so do reservations."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests import golden
from tests.integration.boot.pools import OURS, Lab, Pool, lab_of, mac
from tests.integration.boot.wires import Firmware
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Option, Packet, decode

INSTALLED = decode(golden.packet("dhcp/udhcpc-discover"))
MACHINES, RESERVED = 60, "172.30.0.20"
WARNING = "leases are not saved: the store cannot be written"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """What the appliance keeps is on a disk of 4 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True, timeout=30)
    try:
        with lab_of(disk, settings="{mode: pool, pool: 172.30.0.100-172.30.0.199, lease: 1h}") as made:
            yield made
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True, timeout=30)


def fill(folder: Path) -> Path:
    """Leave not one byte."""
    filling = folder / "filling"
    with filling.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filling


class Machine:
    """A machine that asks with the words of busybox."""

    def __init__(self, firmware: Firmware, number: int) -> None:
        self._firmware = firmware
        self._hello = replace(INSTALLED, mac=MacAddress(mac(number)), xid=number, flags=0x8000)

    def offered(self) -> Packet:
        return self._asked(self._hello)

    def requested(self, address: IPv4Address) -> Packet:
        self.requests(address)
        return self.answered()

    def requests(self, address: IPv4Address) -> None:
        more = {Option.MESSAGE_TYPE: b"\x03", Option.SERVER_ID: IPv4Address(OURS).packed}
        self._firmware.ask(self._with({**more, Option.ADDRESS_REQUEST: address.packed}))

    def prolonged(self, address: IPv4Address) -> Packet:
        return self._asked(replace(self._with({Option.MESSAGE_TYPE: b"\x03"}), ciaddr=address))

    def _with(self, more: dict[int, bytes]) -> Packet:
        kept = {code: value for code, value in self._hello.options.items() if code != Option.ADDRESS_REQUEST}
        return replace(self._hello, options={**kept, **more})

    def answered(self, seconds: float = 60) -> Packet:
        """Raises TimeoutError for silence."""
        return self._firmware.answer(OURS, self._hello.xid, seconds)

    def _asked(self, packet: Packet) -> Packet:
        self._firmware.ask(packet)
        return self.answered()


def granted(machine: Machine, address: IPv4Address, pool: Pool) -> str:
    """The address that it has then; nothing when it was left without an answer, which is told in the log."""
    machine.requests(address)
    while True:
        told = WARNING in pool.log()
        try:
            return str(machine.answered(seconds=2).yiaddr)
        except TimeoutError:
            if told:
                return ""


def test_a_full_disk_stops_only_what_could_not_be_kept(lab: Lab) -> None:
    # At once: each change has lines of the audit, for which there is little room.
    listed = "".join(f"{mac(number)},n{number}\n" for number in range(2, 2 + MACHINES))
    lab.pool.say("hardware", "import", "-", stdin=f"mac,name\n{listed}".encode())
    lab.pool.knows(mac(200), address=RESERVED)
    with lab.machines[0].firmware("eth0") as firmware:
        first = Machine(firmware, 2)
        address = first.offered().yiaddr
        assert first.requested(address).message_type is MessageType.ACK
        lab.machines[0].ip(f"address add {address}/24 dev eth0")  # where it is answered when it asks for more time
        filling = fill(lab.pool.folder)

        # The journal has some room left.
        acknowledged = {mac(2): str(address)}
        refused = None
        for number in range(3, 2 + MACHINES):
            machine = Machine(firmware, number)
            offer = machine.offered()
            address_of_it = granted(machine, offer.yiaddr, lab.pool)
            if not address_of_it:
                refused = machine, offer.yiaddr
                break
            acknowledged[mac(number)] = address_of_it
        assert refused is not None, lab.pool.log()
        assert WARNING in lab.pool.log()

        assert first.prolonged(address).message_type is MessageType.ACK
        assert first.offered().yiaddr == address
        reserved = Machine(firmware, 200)
        assert str(reserved.offered().yiaddr) == RESERVED
        assert reserved.requested(IPv4Address(RESERVED)).message_type is MessageType.ACK

        lab.pool.kill()
        filling.unlink()
        lab.pool.start()
        assert {each: lab.pool.lent(each) for each in acknowledged} == acknowledged
        machine, wanted = refused
        assert machine.offered().yiaddr == wanted
        assert machine.requested(wanted).message_type is MessageType.ACK
        assert first.prolonged(address).message_type is MessageType.ACK
