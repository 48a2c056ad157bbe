"""The packed executable sets up a host with systemd: in namespaces of its own, where a script stands in for systemctl."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.api.door import image_archive
from tests.integration.cli.serving import DEADLINE, ROOT, clean_environment
from tinkbox.osie.image import OsieImage, write

PACKED = ROOT / "dist" / "tinkbox"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces")
# Of systemctl, what `init` asks of it: start and restart.
SYSTEMCTL = """\
#!/bin/sh
echo "systemctl $*" >> $LOG
case "$*" in *start*)
    [ -f $LOG.pid ] && kill $(cat $LOG.pid)
    while [ -f $LOG.pid ] && grep -qs serve /proc/$(cat $LOG.pid)/cmdline; do sleep 0.05; done
    tinkbox serve > $LOG.serve 2>&1 &
    echo $! > $LOG.pid;;
esac
"""
HOST = """\
set -e
mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
for each in /var/lib /usr/local/bin /usr/local/share /usr/lib/sysusers.d /run /srv; do mount -t tmpfs none $each; done
mkdir -p /run/systemd/system
ip link set lo up && ip link add eth1 type veth peer name veth0000001 && ip link set veth0000001 up
./tinkbox init --yes --interface eth1 --address 172.30.0.1/24 --set-address --dhcp reservation
echo === again
tinkbox init --yes
echo === changed
tinkbox init --yes --interface eth1 --dhcp off
echo === moved
kill $(cat $LOG.pid)
while grep -qs serve /proc/$(cat $LOG.pid)/cmdline; do sleep 0.05; done
rm $LOG.pid
tinkbox init --yes --data /srv/tinkbox
cat /etc/systemd/system/tinkbox.service.d/folders.conf
echo === files
for each in /etc/systemd/system/tinkbox.service /usr/lib/sysusers.d/tinkbox.conf /etc/sysctl.d/tinkbox.conf; do cat $each; done
kill $(cat $LOG.pid)
"""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder with the executable, an OSIE and an image, and programs that stand in for those of systemd."""
    assert PACKED.exists(), f"{PACKED.relative_to(ROOT)} is missing: `make test` builds it before it runs the tests"
    (tmp_path / "osie" / "x86_64").mkdir(parents=True)
    write(
        OsieImage(architecture="x86_64", version="7", kernel="6.12", files={}, packages={}),
        tmp_path / "osie" / "x86_64",
    )
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "reboot.tar").write_bytes(image_archive("reboot:v1"))
    shutil.copy(PACKED, tmp_path)
    (tmp_path / "programs").mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("systemd-sysusers", "")):
        program = tmp_path / "programs" / name
        program.write_text(text or f'#!/bin/sh\necho "{name} $*" >> $LOG\n')
        program.chmod(0o755)
    return tmp_path


def test_a_host_gets_program_unit_and_appliance_and_keeps_what_is_right(release: Path) -> None:
    log = release / "log"
    path = f"{release / 'programs'}:/usr/local/bin:{os.environ['PATH']}"
    ran = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", HOST],
        cwd=release, env={**clean_environment(), "PATH": path, "LOG": str(log)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    first, again, changed, moved, files = (
        each.split("\n", 1)[1] if n else each for n, each in enumerate(ran.stdout.split("=== "))
    )
    for said in (
        "program         /usr/local/bin/tinkbox",
        "completions     bash, zsh and fish, and man pages (`man tinkbox`)",
        "OSIE            x86_64, 7",
        "images          reboot:v1",
        "Changed: ",
    ):
        assert said in first
    assert "appliance       runs (`systemctl status tinkbox`)" in first
    for said in (
        "man pages: already there",
        "tinkbox.service is there already",
        "runs already",
        "reboot:v1: already there",
        "Nothing had to be changed.",
    ):
        assert said in again
    assert "Changed: /etc/tinkbox/tinkbox.yaml." in changed
    opened = "/etc/systemd/system/tinkbox.service.d/folders.conf"
    assert (
        f"unit            {opened}\n                {opened} lets it write to the folders that /etc/tinkbox/tinkbox.yaml names\n"
        in moved
    )
    assert f"Changed: /etc/tinkbox/tinkbox.yaml, {opened}." in moved
    assert moved.endswith("\n[Service]\nReadWritePaths=-/srv/tinkbox\n")
    assert files == "".join(
        (ROOT / "systemd" / name).read_text() for name in ("tinkbox.service", "sysusers.conf", "sysctl.conf")
    )
    read = ["systemd-sysusers /usr/lib/sysusers.d/tinkbox.conf", "systemctl daemon-reload"]
    started = ["systemctl --quiet enable tinkbox.service", "systemctl restart tinkbox.service"]
    assert log.read_text().splitlines() == [*read, *started, *read, *read, *started, *read, *started]
