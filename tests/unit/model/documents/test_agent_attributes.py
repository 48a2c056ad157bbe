"""What a machine is made of in the words of Tinkerbell's agent."""

from typing import Any

import pytest

from tinkbox.model.documents.agent_attributes import FIELDS, agent_attributes, size, why_never_told
from tinkbox.model.inventory import Card, Device, Disk, Inventory

TOLD = Inventory(
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


def test_attributes_have_tinkerbells_shape() -> None:
    assert agent_attributes(TOLD) == {
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


def paths(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if isinstance(value, list):
        return {found for each in value for found in paths(each, path)}
    if isinstance(value, dict):
        return {found for name, each in value.items() for found in paths(each, (*path, name))}
    return {path} if value is not False else set()


def test_the_fields_that_are_said_to_be_told_are() -> None:
    told = paths(agent_attributes(TOLD))
    assert paths(FIELDS) == told
    assert not any(map(why_never_told, told))


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("chassis.serial", "nothing is known of chassis here"),
        ("cpu.totalCores", "nothing is known of cpu.totalCores here"),
        ("gpuDevices.vendor", "nothing is known of gpuDevices here"),
        ("produkt.vendr", "there is no produkt; did you mean product?"),
        ("product.vendr", "there is no product.vendr; did you mean vendor?"),
        ("memory.free", "there is no memory.free; known here: total"),
        ("product", "product has fields, and no value"),
        ("product.vendor.name", "product.vendor has no fields"),
    ],
)
def test_why_a_field_is_never_told(field: str, why: str) -> None:
    assert why_never_told(field.split(".")) == why
