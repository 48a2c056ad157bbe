"""`tinkbox osie`."""

from collections.abc import Callable
from pathlib import Path

from tests.unit.cli.conftest import FakeAppliance, Printed

OSIE = {
    "architecture": "x86_64",
    "version": "0.1.0",
    "kernel": "6.1.0-28-amd64",
    "files": {"vmlinuz": {"size": 8_000_000}, "initramfs": {"size": 123_456_789}},
    "packages": {},
}


def test_the_list_tells_what_was_built(tinkbox: Callable[..., Printed], appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/osie"] = [OSIE]
    assert tinkbox("osie", "list").out == (
        "+--------------+---------+----------------+--------------+\n"
        "| ARCHITECTURE | VERSION | KERNEL         | RAMDISK SIZE |\n"
        "+--------------+---------+----------------+--------------+\n"
        "| x86_64       | 0.1.0   | 6.1.0-28-amd64 |    123456789 |\n"
        "+--------------+---------+----------------+--------------+\n"
    )
    assert tinkbox("osie", "list", "-q").out == "x86_64\n"


def test_a_checkout_must_name_the_executable_that_goes_inside(tinkbox: Callable[..., Printed], tmp_path: Path) -> None:
    failed = tinkbox("--data", str(tmp_path), "osie", "build")
    assert (failed.status, failed.err.count("\n")) == (1, 1)
    assert "name one with --executable" in failed.err
    assert list(tmp_path.iterdir()) == []
