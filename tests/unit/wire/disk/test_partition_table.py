"""The partition table of disks that we make, read by another program."""

import json
import os
import subprocess
from pathlib import Path
from uuid import UUID

import pytest

from tinkbox.wire.disk import partition_table as partitions

DISK = UUID("0e8f5a34-8c5e-4dfb-9a7e-2b7c1f0a9d11")
FIRST, SECOND = UUID("6d1f2a01-0000-4000-8000-000000000001"), UUID("6d1f2a01-0000-4000-8000-000000000002")
SECTORS = 1 << 16


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """The partition behind has the lower number, as in Debian's images."""
    parts = [
        partitions.Partition(number=1, kind=partitions.LINUX_ROOT_X86_64, identity=FIRST, first=8192, sectors=4096),
        partitions.Partition(number=14, kind=partitions.BIOS_BOOT, identity=SECOND, first=2048, sectors=6144),
    ]
    begin, end = partitions.table(parts, disk=DISK, sectors=SECTORS)
    path = tmp_path / "disk.raw"
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(SECTORS * partitions.SECTOR)
        file.seek(-len(end), os.SEEK_END)
        file.write(end)
    return path


def sfdisk(*words: str | Path) -> str:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    command = ["sfdisk", *map(str, words)]
    environment = {**os.environ, "PATH": path, "LC_ALL": "C"}
    return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


def test_partitions_have_their_numbers_places_and_identities(disk: Path) -> None:
    table = json.loads(sfdisk("--json", disk))["partitiontable"]
    assert (table["label"], UUID(table["id"]), table["lastlba"]) == ("gpt", DISK, SECTORS - 34)
    told = [
        (each["node"][len(str(disk)) :], each["start"], each["size"], UUID(each["uuid"]))
        for each in table["partitions"]
    ]
    assert told == [("1", 8192, 4096, FIRST), ("14", 2048, 6144, SECOND)]
    assert [UUID(each["type"]) for each in table["partitions"]] == [partitions.LINUX_ROOT_X86_64, partitions.BIOS_BOOT]


def test_both_copies_of_the_table_are_good(disk: Path) -> None:
    assert "No errors detected" in sfdisk("--verify", disk)
    with disk.open("r+b") as file:
        file.seek(partitions.SECTOR)
        file.write(bytes(partitions.SECTOR))
    assert len(json.loads(sfdisk("--json", disk))["partitiontable"]["partitions"]) == 2
