"""Which folders a unit of systemd lets the appliance write to (systemd.exec(5))."""

from pathlib import Path

import pytest

from tinkbox.unit_access import Access, unit_access, written_as

STRICT = {"ProtectSystem": ["strict"], "StateDirectory": ["tinkbox"], "ProtectHome": ["yes"], "PrivateTmp": ["yes"]}


@pytest.mark.parametrize(
    ("said", "path", "access"),
    [
        ({}, "/srv/d", Access.WRITES),
        (STRICT, "/srv/d", Access.READS),
        (STRICT, "/var/lib/tinkbox/registry", Access.WRITES),
        (STRICT, "/var/lib/other", Access.READS),
        (STRICT, "/home/ann/d", Access.HIDDEN),
        (STRICT, "/tmp/d", Access.HIDDEN),
        ({**STRICT, "ReadWritePaths": ["/srv/d"]}, "/srv/d/registry", Access.WRITES),
        ({**STRICT, "ReadWritePaths": ["-/srv/a +/srv/d", "-+/srv/e"]}, "/srv/e", Access.WRITES),
        ({**STRICT, "ReadWritePaths": ["/srv/d"]}, "/srv/dd", Access.READS),
        ({**STRICT, "ReadWritePaths": ['"/srv/my disk"']}, "/srv/my disk", Access.WRITES),
        ({**STRICT, "ReadWritePaths": ["%S/other /srv/100%%"]}, "/var/lib/other", Access.WRITES),
        ({**STRICT, "ReadWritePaths": ["%S/other /srv/100%%"]}, "/srv/100%", Access.WRITES),
        ({**STRICT, "ReadWritePaths": ["/home/ann"]}, "/home/ann/d", Access.HIDDEN),
        ({**STRICT, "ReadWritePaths": ["/srv"], "ReadOnlyPaths": ["/srv/d"]}, "/srv/d", Access.READS),
        ({**STRICT, "BindPaths": ["/mnt/disk:/srv/d:rbind"]}, "/srv/d", Access.WRITES),
        ({**STRICT, "BindPaths": ["/srv/d"]}, "/srv/d", Access.WRITES),
        ({**STRICT, "LogsDirectory": ["tinkbox"]}, "/var/log/tinkbox", Access.WRITES),
        ({"ProtectSystem": ["full"]}, "/srv/d", Access.WRITES),
        ({"ProtectSystem": ["full"]}, "/etc/d", Access.READS),
        ({"ProtectSystem": ["true"]}, "/etc/d", Access.WRITES),
        ({"ProtectSystem": ["true"]}, "/usr/d", Access.READS),
        ({"ProtectSystem": ["strict", "no"]}, "/usr/d", Access.WRITES),
        ({"ProtectHome": ["read-only"]}, "/home/d", Access.READS),
        ({"InaccessiblePaths": ["-/srv/d"]}, "/srv/d/registry", Access.HIDDEN),
        (
            {**STRICT, "TemporaryFileSystem": ["/opt /srv:ro,size=1M"], "ReadWritePaths": ["/srv/d"]},
            "/srv/d",
            Access.HIDDEN,
        ),
        ({**STRICT, "TemporaryFileSystem": ["/var"]}, "/var/lib/tinkbox/registry", Access.WRITES),
        ({**STRICT, "TemporaryFileSystem": ["/var"]}, "/var/lib/other", Access.HIDDEN),
        ({"TemporaryFileSystem": ["/srv:ro"], "BindPaths": ["/srv/d"]}, "/srv/d", Access.WRITES),
    ],
)
def test_settings_tell_what_may_be_written(said: dict[str, list[str]], path: str, access: Access) -> None:
    assert unit_access(said).to(Path(path)) is access


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    for named in ("data", "disk"):
        access = unit_access({"ProtectSystem": ["strict"], "ReadWritePaths": [str(tmp_path / named)]})
        assert access.to(tmp_path / "data") is access.to(tmp_path / "disk" / "registry") is Access.WRITES


@pytest.mark.parametrize("path", ["/srv/d", "/srv/my disk", "/srv/100%S", '/srv/a"b\\c'])
def test_a_path_is_written_so_that_it_is_read_as_itself(path: str) -> None:
    access = unit_access({"ProtectSystem": ["strict"], "ReadWritePaths": [written_as(Path(path))]})
    assert access.to(Path(path)) is Access.WRITES
