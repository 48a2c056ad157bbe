"""Which disk a selection means on a machine."""

from dataclasses import replace

import pytest

from tinkbox.model.disks.choice import LISTED, Candidate, Outside, choose, shown_size
from tinkbox.model.disks.disks import Refused
from tinkbox.model.disks.selection import parse_selection
from tinkbox.model.reasons import Reason

GB = 10**9
SATA = Candidate(
    path="/dev/sda", size=2000 * GB, models=("WDC WD20", "WD20"), serials=("WD-1", "WDC WD20 WD-1"), wwn="50014ee2",
    rotational=True, transport="sata", links=("/dev/disk/by-id/ata-WDC_WD20_WD-1", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"),
)  # fmt: skip
OTHER = replace(
    SATA, path="/dev/sdb", serials=("WD-2",), wwn="50014ee3", links=("/dev/disk/by-path/pci-0000:00:1f.2-ata-2",)
)
NVME = Candidate(path="/dev/nvme0n1", size=480 * GB, models=("FAST",), serials=("S3Z1",), transport="nvme")
USB = Candidate(path="/dev/sdc", size=16 * GB, models=("STICK",), serials=("U1",), transport="usb", outside=Outside.USB)
READER = Candidate(path="/dev/sdd", size=GB, serials=("R1",), outside=Outside.REMOVABLE)
ALL = (NVME, SATA, OTHER, USB, READER)


def chosen(text: str, there: tuple[Candidate, ...] = ALL) -> str:
    """The path of the disk that is meant, or the reason why there is none."""
    found = choose(parse_selection(text), there)
    return found.reason if isinstance(found, Refused) else found.path


def message(text: str, there: tuple[Candidate, ...] = ALL) -> str:
    found = choose(parse_selection(text), there)
    assert isinstance(found, Refused)
    return found.message


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("smallest", "/dev/nvme0n1"),
        ("largest", "DiskAmbiguous"),
        ("only", "DiskAmbiguous"),
        ("/dev/sdc", "/dev/sdc"),
        ("/dev/sdd", "/dev/sdd"),
        ("/dev/disk/by-id/ata-WDC_WD20_WD-1", "/dev/sda"),
        ("/dev/disk/by-id/ata-none", "NoSuchDisk"),
        ("serial=wd-1", "/dev/sda"),
        ("serial=wd-*", "DiskAmbiguous"),
        ("serial=wdc_wd20_wd-1", "/dev/sda"),
        ("serial=none", "NoSuchDisk"),
        ("serial=U1", "NoSuchDisk"),
        ("serial=U1 transport=usb", "/dev/sdc"),
        ("transport=usb", "/dev/sdc"),
        ("transport=*", "DiskAmbiguous"),
        ("serial=R1", "NoSuchDisk"),
        ("wwn=0x50014ee3", "/dev/sdb"),
        ("wwn=naa.50014EE2", "/dev/sda"),
        ("model=wd20", "DiskAmbiguous"),
        ("model=fast", "/dev/nvme0n1"),
        ("rotational=no", "/dev/nvme0n1"),
        ("rotational=yes smallest", "DiskAmbiguous"),
        ("size>=1T", "DiskAmbiguous"),
        ("size<=1T largest", "/dev/nvme0n1"),
        ("size=480G", "/dev/nvme0n1"),
        ("size>=3T", "NoSuchDisk"),
        ("name=nvme*", "/dev/nvme0n1"),
        ("name=sd* serial=WD-2", "/dev/sdb"),
    ],
)
def test_a_selection_means_one_disk_or_is_refused(text: str, meant: str) -> None:
    assert chosen(text) == meant
    assert chosen(text, ALL[::-1]) == meant, "the order in which disks were found counts for nothing"


def test_the_only_disk_is_meant_beside_what_can_be_taken_out() -> None:
    assert chosen("only", (NVME, USB, READER)) == "/dev/nvme0n1"
    assert chosen("only", (USB, READER)) == "NoSuchDisk"


def test_a_disk_in_use_stays_what_the_words_mean() -> None:
    assert chosen("smallest", (replace(NVME, used="mounted at /"), SATA)) == "/dev/nvme0n1"


def test_what_means_several_is_refused_with_them_and_with_a_word_that_means_one() -> None:
    assert message("rotational=yes") == (
        "`rotational=yes` means 2 disks of this machine, and must mean one; name it, as by serial=WD-1: "
        '/dev/sda size=2T model="WDC WD20" serial=WD-1 wwn=50014ee2 rotational=yes transport=sata; '
        '/dev/sdb size=2T model="WDC WD20" serial=WD-2 wwn=50014ee3 rotational=yes transport=sata'
    )


def test_what_means_none_is_refused_with_what_there_is() -> None:
    assert message("serial=x", (NVME, READER)) == (
        "no disk of this machine is meant by `serial=x`: it has /dev/nvme0n1 size=480G model=FAST serial=S3Z1 rotational=no "
        "transport=nvme. Chosen by path alone: /dev/sdd size=1G serial=R1 rotational=no (removable)"
    )
    assert message("only", ()) == "no disk of this machine is meant by `only`: it has none that the OSIE knows"


def test_two_paths_to_one_disk_are_several() -> None:
    paths = (SATA, replace(SATA, path="/dev/sdb"))
    for text in ("wwn=50014ee2", "serial=WD-1", "only", "largest"):
        assert chosen(text, paths) == Reason.DISK_AMBIGUOUS
        assert "it is the same disk by two paths" in message(text, paths)


def test_disks_without_serials_are_told_apart_by_where_they_are_plugged_in() -> None:
    bare = [replace(each, serials=(), wwn="") for each in (SATA, OTHER)]
    assert "name it, as by /dev/disk/by-path/pci-0000:00:1f.2-ata-1: " in message("only", tuple(bare))
    nowhere = [replace(each, links=()) for each in bare]
    assert "name it, as by /dev/sda: " in message("only", tuple(nowhere))


def test_a_message_lists_no_more_disks_than_it_has_room_for() -> None:
    many = tuple(replace(NVME, path=f"/dev/nvme{number}n1", serials=(f"S{number}",)) for number in range(LISTED + 30))
    assert message("only", many).endswith("; 30 more")
    assert len(message("only", many)) < 1_000


@pytest.mark.parametrize("size", [500_107_862_016, 1_000_204_886_016, 21_474_836_480, 15_376_318_464, 512, 9_999_999])
def test_a_size_that_is_shown_finds_the_disk(size: int) -> None:
    disk = replace(NVME, size=size)
    assert chosen(f"size={shown_size(size)}", (disk,)) == disk.path


def test_a_disk_that_is_shown_can_be_copied() -> None:
    words = str(SATA).split(" ", 1)[1]
    assert chosen(words) == "/dev/sda"
