"""What a machine is made of in the words of Tinkerbell's agent."""

import pytest

from tinkbox.model.documents.agent_attributes import agent_attributes, size
from tinkbox.model.inventory import Card, Device, Disk, Inventory


def test_attributes_have_tinkerbells_shape() -> None:
    told = Inventory(
        architecture="x86_64",
        processor="Intel(R) Core(TM) i5",
        processors=8,
        memory=32 * 2**30,
        firmware="uefi",
        firmware_version="2.1",
        manufacturer="Dell Inc.",
        product="R650",
        serial="S1",
        disks=(
            Disk(device="/dev/nvme0n1", size=238 * 2**30 + 1, model="KINGSTON"),
            Disk(device="/dev/sda", size=4 * 2**40, serial="d2", rotational=True),
        ),
        cards=(
            Card(name="eno1", mac="08:00:27:00:00:01", link=True, speed=1000),
            Card(name="eno2", mac="08:00:27:00:00:02", link=False),
        ),
        devices=(Device(place="0000:00:01.0", kind="network", driver="e1000"),),
    )
    assert agent_attributes(told) == {
        "cpu": {"totalThreads": 8, "processors": [{"id": 0, "model": "Intel(R) Core(TM) i5"}]},
        "memory": {"total": "32GB"},
        "blockDevices": [
            {"name": "nvme0n1", "controllerType": "NVMe", "driveType": "SSD", "size": "239GB", "model": "KINGSTON"},
            {"name": "sda", "controllerType": "SCSI", "driveType": "HDD", "size": "4TB", "serialNumber": "d2"},
        ],
        "networkInterfaces": [
            {"name": "eno1", "mac": "08:00:27:00:00:01", "speed": "1000Mb/s"},
            {"name": "eno2", "mac": "08:00:27:00:00:02"},
        ],
        "pciDevices": [{"class": "Network controller", "driver": "e1000"}],
        "bios": {"version": "2.1"},
        "product": {"name": "R650", "vendor": "Dell Inc.", "serialNumber": "S1"},
    }


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (0, ""),
        (512, "512B"),
        (1024, "1KB"),
        (1025, "2KB"),
        (2**20 - 1, "1024KB"),
        (500 * 10**9, "466GB"),
        (2**62, "4EB"),
    ],
)
def test_sizes_are_rounded_up_as_the_agent_does(octets: int, text: str) -> None:
    assert size(octets) == text
