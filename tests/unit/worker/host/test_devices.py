"""Network cards and storage controllers, out of a tree like /sys and /lib/modules."""

from pathlib import Path

import pytest

from tinkbox.model.inventory import Device
from tinkbox.wire.kernel_log import MissingFirmware
from tinkbox.worker.host.devices import MOST, devices
from tinkbox.worker.host.kernel_log import read_kernel_log

ALIASES = """# Aliases extracted from modules themselves.
alias pci:v000014E4d0000163Bsv*sd*bc*sc*i* bnx2
alias usb:v0BDAp8153d*dc*dsc*dp*ic*isc*ip*in* r8152
alias nonsense
alias pci:v00001000d0000005Dsv*sd*bc*sc*i* megaraid_sas
alias pci:v00001425d*sv*sd*bc*sc*i* cxgb4vf
alias pci:v00001425d00006801sv*sd*bc*sc*i* cxgb4
"""


class Tree:
    """`pci` plugs a device in; `driver` is what drives it."""

    def __init__(self, root: Path) -> None:
        self.root, self.modules = root, root / "lib/modules/6.1"
        self.modules.mkdir(parents=True)
        (self.modules / "modules.alias").write_text(ALIASES)
        (self.modules / "modules.firmware").write_text("bnx2 bnx2/a.fw\ncxgb4 t4fw.bin\nnvme_odd x\n\n")

    def pci(self, place: str, kind: str, vendor: str, device: str, driver: str = "", module: str = "") -> None:
        folder = self.root / "sys/bus/pci/devices" / place
        folder.mkdir(parents=True)
        (folder / "class").write_text(f"0x{kind}00\n")
        (folder / "vendor").write_text(f"0x{vendor}\n")
        (folder / "device").write_text(f"0x{device}\n")
        sub = "sv00000000sd00000000bc02sc00i00"
        (folder / "modalias").write_text(f"pci:v0000{vendor.upper()}d0000{device.upper()}{sub}\n")
        if driver:
            place_of_driver = self.root / "sys/bus/pci/drivers" / driver
            place_of_driver.mkdir(parents=True, exist_ok=True)
            (folder / "driver").symlink_to(place_of_driver)
            if module and not (place_of_driver / "module").exists():
                (self.root / "sys/module" / module).mkdir(parents=True, exist_ok=True)
                (place_of_driver / "module").symlink_to(self.root / "sys/module" / module)

    def found(self, **missing: MissingFirmware) -> tuple[Device, ...]:
        return devices(self.root, self.modules, {name.replace("__", ":"): log for name, log in missing.items()})


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_each_card_is_told_with_its_driver_and_whether_that_asks_for_firmware(tree: Tree) -> None:
    tree.pci("0000:00:02.0", "0200", "8086", "100e", "e1000", "e1000")
    tree.pci("0000:02:00.0", "0200", "14e4", "163b", "bnx2", "bnx2")
    tree.pci("0000:03:00.0", "0108", "144d", "a808", "nvme", "nvme-odd")
    tree.pci("0000:04:00.0", "0300", "10de", "0001", "gpu", "gpu")
    tree.pci("0000:05:00.0", "0280", "8086", "2723")
    assert tree.found() == (
        Device(place="0000:00:02.0", id="8086:100e", kind="network", driver="e1000", module="e1000"),
        Device(place="0000:02:00.0", id="14e4:163b", kind="network", driver="bnx2", module="bnx2", asks_firmware=True),
        Device(
            place="0000:03:00.0", id="144d:a808", kind="storage", driver="nvme", module="nvme-odd", asks_firmware=True
        ),
    )


def test_of_a_card_without_a_driver_the_module_for_it_is_told(tree: Tree) -> None:
    tree.pci("0000:02:00.0", "0200", "14e4", "163b")
    tree.pci("0000:03:00.0", "0104", "1000", "005d")
    tree.pci("0000:04:00.0", "0104", "abcd", "0001")
    tree.pci("0000:05:00.0", "0200", "1425", "6801")
    found = {each.place: (each.driver, each.module, each.asks_firmware) for each in tree.found()}
    assert found == {
        "0000:02:00.0": ("", "bnx2", True),
        "0000:03:00.0": ("", "megaraid_sas", False),
        "0000:04:00.0": ("", "", False),
        "0000:05:00.0": ("", "cxgb4", True),
    }


def test_a_driver_that_is_built_in_has_no_module(tree: Tree) -> None:
    tree.pci("0000:00:01.1", "0101", "8086", "7010", "ata_piix")
    assert tree.found() == (Device(place="0000:00:01.1", id="8086:7010", kind="storage", driver="ata_piix"),)


def test_missing_firmware_is_told_of_its_card_and_of_what_is_on_no_pci_bus(tree: Tree) -> None:
    tree.pci("0000:02:00.0", "0200", "14e4", "163b", "bnx2", "bnx2")
    log = {"0000:02:00.0": MissingFirmware("bnx2", ("a.fw", "b.fw")), "2-1:1.0": MissingFirmware("r8152", ("c.fw",))}
    card, other = devices(tree.root, tree.modules, log)
    assert card.missing == ("a.fw", "b.fw")
    assert other == Device(place="2-1:1.0", driver="r8152", module="r8152", asks_firmware=True, missing=("c.fw",))


def test_a_system_that_is_no_osie_tells_nothing(tree: Tree) -> None:
    tree.pci("0000:02:00.0", "0200", "14e4", "163b", "bnx2", "bnx2")
    (tree.modules / "modules.firmware").unlink()
    assert tree.found() == ()


def test_a_machine_with_very_many_tells_so_many(tree: Tree) -> None:
    for number in range(MOST + 9):
        tree.pci(f"0000:{number:02x}:00.0", "0200", "8086", "1572", "i40e", "i40e")
    assert len(tree.found()) == MOST


def test_a_card_that_is_pulled_meanwhile_is_left_out(tree: Tree) -> None:
    (tree.root / "sys/bus/pci/devices/0000:02:00.0").mkdir(parents=True)
    assert tree.found() == ()


def test_the_log_is_read_as_far_as_it_goes_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    (tmp_path / "kmsg").write_bytes(b"6,1,1,-;a\n\xff" + b"x" * 20_000)
    assert read_kernel_log(tmp_path / "kmsg").startswith("6,1,1,-;a\n")
    assert len(read_kernel_log(tmp_path / "kmsg")) == 20_011
    assert read_kernel_log(tmp_path / "nowhere") == ""


def test_the_log_of_this_very_machine_does_not_keep_anybody_waiting() -> None:
    read_kernel_log()
