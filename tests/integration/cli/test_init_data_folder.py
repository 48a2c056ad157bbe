"""`tinkbox init` with `data` outside /var/lib/tinkbox, on a host without the unit: the user that the unit runs as gets the folder."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.everybodys_checkout import BEFORE, PLACE, PYTHON
from tests.integration.cli.serving import DEADLINE, clean_environment

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces, and files of other users")
# Stands for the executable, which alone installs a unit.
PACKED: Final = f"""\
#!/bin/sh
PYTHONPATH={PLACE} exec {PYTHON} -c 'import sys
sys.executable = "/usr/local/bin/tinkbox"
if sys.argv[1] == "init": sys.frozen = True
from tinkbox.cli import main
sys.exit(main(sys.argv[1:]))' "$@"
"""
SYSTEMCTL: Final = """\
#!/bin/sh
case "$*" in *start*)
    setpriv --reuid tinkbox --regid tinkbox --clear-groups --inh-caps=-all,+net_bind_service,+net_raw \\
        --ambient-caps=-all,+net_bind_service,+net_raw tinkbox serve > /run/served 2>&1 &
esac
"""
HOST: Final = """\
set -e
mount -t tmpfs none /media && mkdir /media/upper /media/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/media/upper,workdir=/media/work /etc
for each in /var/lib /usr/local/bin /usr/local/share /usr/lib/sysusers.d /run /srv; do mount -t tmpfs none $each; done
mkdir -p /run/systemd/system /etc/tinkbox
cp $PROGRAMS/tinkbox /usr/local/bin/tinkbox
PATH=$PROGRAMS:$PATH
printf 'data: /srv/tinkbox\\n' > /etc/tinkbox/tinkbox.yaml
ip link set lo up && ip link add eth1 type veth peer name veth0000001 && ip link set veth0000001 up
ip address add 172.30.0.1/24 dev eth1 && ip link set eth1 up
user() { echo 'u tinkbox - "tinkbox appliance" /var/lib/tinkbox' | systemd-sysusers - ; }
initialize() { tinkbox init --yes --interface eth1 --address 172.30.0.1/24 --dhcp off; }
"""
UNWRITTEN: Final = "test ! -e /etc/systemd/system/tinkbox.service; test ! -e /usr/lib/sysusers.d/tinkbox.conf; cat /etc/tinkbox/tinkbox.yaml"


@pytest.fixture
def programs() -> Iterator[Path]:
    with TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o755)
        for name, text in (("tinkbox", PACKED), ("systemctl", SYSTEMCTL)):
            (Path(made) / name).write_text(text)
            (Path(made) / name).chmod(0o755)
        yield Path(made)


def on_host(programs: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *BEFORE, "sh", "-c", f"{HOST}{script}"],
        env={**clean_environment(), "PROGRAMS": str(programs)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "before",
    [
        "",
        "user",
        "mkdir /srv/tinkbox",
        "user; mkdir -p /srv/tinkbox/lost+found",
        "user; mkdir /srv/disk; ln -s disk /srv/tinkbox",
    ],
)
def test_folder_that_is_missing_or_roots_and_empty_becomes_the_units_users(programs: Path, before: str) -> None:
    ran = on_host(programs, f"{before}\ninitialize || cat /run/served\nstat -L --format '%U:%G %a' /srv/tinkbox")
    assert "appliance       runs (`systemctl status tinkbox`)" in ran.stdout, ran
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "tinkbox:tinkbox 710"), ran


@pytest.mark.parametrize("has_user", [True, False])
def test_folder_of_root_with_something_in_it_is_refused_with_the_line_that_mends_it(
    programs: Path, has_user: bool
) -> None:
    ran = on_host(
        programs,
        f"""{"user" if has_user else ""}
mkdir -m 700 /srv/tinkbox; echo 0123456789012345678901 > /srv/tinkbox/boot.key
initialize 2> /run/said && exit 7
cat /run/said; {UNWRITTEN}; stat --format %U /srv/tinkbox
sh -c "$(grep -o '`[^`]*chown[^`]*`' /run/said | tr -d '`')"
initialize || cat /run/served""",
    )
    assert (ran.returncode, "appliance       runs" in ran.stdout) == (0, True), ran
    making = "" if has_user else "echo 'u tinkbox - \"tinkbox appliance\" /var/lib/tinkbox' | systemd-sysusers - && "
    told = (
        "/srv/tinkbox belongs to user root, and tinkbox.service runs as the user tinkbox: where all in it is tinkbox's, "
        f"`{making}chown -R tinkbox: /srv/tinkbox` gives it to tinkbox; else name another with --data\n"
    )
    refused = ran.stdout.partition("Changed: ")[0]
    assert "this host is not ready for it, and nothing was written" in refused
    assert told in refused
    assert "\ndata: /srv/tinkbox\nroot\n" in refused


@pytest.mark.parametrize(
    ("before", "data", "said"),
    [
        ("mkdir -m 700 /srv/mine", "/srv/mine/tinkbox", "`chmod o+x /srv/mine` lets everybody pass through"),
        ("mkdir /srv/his; chown 12345 /srv/his", "/srv/his/tinkbox", "/srv/his belongs to user 12345, who may put another one in its place"),
        (
            "mkdir /srv/his; chown 12345 /srv/his; mkdir /srv/victim; ln -s /srv/victim /srv/his/link", "/srv/his/link/tinkbox",
            "/srv/his belongs to user 12345, who may put another one in its place",
        ),
        ("mkdir -m 777 /srv/all", "/srv/all/tinkbox", "`chmod o-w /srv/all` ends that"),
        ("", "/srv", "/srv belongs to user root, and tinkbox.service runs as the user tinkbox: it is the system's: name"),
        ("", "/root/tinkbox", "tinkbox.service does not see /root/tinkbox (ProtectHome="),
        (
            "mkdir -p /etc/systemd/system/tinkbox.service.d; printf '[Service]\\nUser=nobody-here\\n' > /etc/systemd/system/tinkbox.service.d/user.conf",
            "/srv/tinkbox", "it runs as the user nobody-here (User=), and this host has no such user",
        ),
    ],
)  # fmt: skip
def test_folder_that_the_unit_could_not_use_is_refused_before_anything_is_written(
    programs: Path, before: str, data: str, said: str
) -> None:
    ran = on_host(programs, f"{before}\nsed -i s,/srv/tinkbox,{data}, /etc/tinkbox/tinkbox.yaml\ninitialize 2>&1 || {UNWRITTEN}")  # fmt: skip
    assert (ran.returncode, said in ran.stdout, f"data: {data}\n" in ran.stdout) == (0, True, True), ran
    assert "nothing was written" in ran.stdout


def test_without_a_unit_the_folder_stays_roots(programs: Path) -> None:
    ran = on_host(programs, "rm -r /run/systemd; initialize; stat --format '%U %a' /srv/tinkbox")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "root 700"), ran


def test_folder_for_the_audit_is_to_be_made_for_the_user_that_init_makes(programs: Path) -> None:
    ran = on_host(
        programs,
        "echo 'audit: {file: /srv/log/audit.jsonl}' >> /etc/tinkbox/tinkbox.yaml; tinkbox serve --check || initialize > /run/said; cat /run/said\n"
        "sh -c \"$(grep -o '`install -d [^`]*`' /run/said | tr -d '`')\"; stat --format %U /srv/log; initialize",
    )
    assert ran.returncode == 0, ran
    assert "there is no folder /srv/log. `install -d -m 750 -o tinkbox /srv/log` makes that folder;" in ran.stdout
    assert (
        "`install -d -m 750 -o root /srv/log` makes that folder for root, and with `-o tinkbox` for tinkbox.service, once"
        in ran.stdout
    )
    assert "\ntinkbox\n" in ran.stdout
    assert ran.stdout.count("warning: audit.file") == 1
