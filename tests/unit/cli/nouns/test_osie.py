"""`tinkbox osie`."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.osie import build

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
        "ARCHITECTURE  VERSION  KERNEL          RAMDISK   FIRMWARE\nx86_64        0.1.0    6.1.0-28-amd64  117.7MiB\n"
    )
    appliance.answers["GET /v1/osie"] = [{**OSIE, "files": {**OSIE["files"], "firmware": {"size": 7_299_072}}}]
    assert tinkbox("osie", "list").out.endswith("  117.7MiB  7MiB\n")
    assert "123456789,7299072" in tinkbox("osie", "list", "-o", "csv").out
    assert tinkbox("osie", "list", "-q").out == "x86_64\n"


def test_a_checkout_must_name_the_executable_that_goes_inside(tinkbox: Callable[..., Printed], tmp_path: Path) -> None:
    failed = tinkbox("--data", str(tmp_path), "osie", "build")
    assert (failed.status, failed.err.count("\n")) == (1, 1)
    assert "name one with --executable" in failed.err
    assert list(tmp_path.iterdir()) == []


def test_what_root_builds_is_readable_by_the_user_of_the_appliance(
    tinkbox: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(output: Path, *_: object, with_firmware: bool) -> None:
        assert with_firmware
        output.mkdir()
        (output / "vmlinuz").touch()

    monkeypatch.setattr(build, "build", made)
    before = os.umask(0o077)
    try:
        assert tinkbox("--data", str(tmp_path), "osie", "build", "--executable", "worker").status == 0
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "osie", tmp_path / "osie" / "vmlinuz")]
    assert modes == [0o755, 0o644]
