"""`tinkbox init` on a host of its own: in network and mount namespaces, where nothing is set up yet and no systemd runs."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.integration.api.door import image_archive
from tests.integration.cli.person import Person
from tests.integration.cli.serving import DEADLINE, PROGRAM, ROOT, Configuration, Ended, clean_environment, serving
from tinkbox.osie.image import OsieImage, describe, write
from tinkbox.settings import load

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces")
# The other ends have names as those of containers have, which machines are never on.
NEW_HOST = (
    "ip link set lo up && ip link add eth1 type veth peer name veth0000001 && ip link add eth0 type veth peer name veth0000000 && "
    "ip address add 192.0.2.7/24 dev eth0 && ip link set eth0 up && ip link set veth0000000 up && ip link set veth0000001 up && "
    "ip route add default via 192.0.2.1 && mount -t tmpfs none /run && if [ -d /etc/network ]; then mount -t tmpfs none /etc/network; fi && echo ready && exec cat"
)


class Host:
    """eth0 leads to people, eth1 has no address yet; `tmp` is where all that is written goes."""

    def __init__(self, holder: int, tmp: Path) -> None:
        self.inside = [
            "nsenter",
            f"--target={holder}",
            "--net",
            "--mount",
            "sh",
            "-c",
            f'cd {tmp} && PYTHONPATH={ROOT} exec "$0" "$@"',
        ]
        self.tmp = tmp
        self.config, self.data, self.files = tmp / "etc" / "tinkbox.yaml", tmp / "data", tmp / "files"
        self.places = ("--config", str(self.config), "--data", str(self.data), "--no-unit")

    def run(self, *command: str) -> Ended:
        ended = subprocess.run(
            [*self.inside, *command], stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT, env=clean_environment(),
            timeout=DEADLINE, check=False,
        )  # fmt: skip
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def init(self, *words: str) -> Ended:
        return self.run(*PROGRAM, "init", *self.places, *words)

    @contextmanager
    def person(self, *words: str) -> Iterator[Person]:
        with Person(["init", *self.places, *words], program=[*self.inside, *PROGRAM]) as person:
            yield person

    def release(self) -> None:
        """Files as a release has them."""
        osie = self.files / "osie" / "x86_64"
        osie.mkdir(parents=True)
        for name in ("vmlinuz", "initramfs"):
            (osie / name).write_text(name)
        files = {name: describe(osie / name) for name in ("vmlinuz", "initramfs")}
        write(OsieImage(architecture="x86_64", version="7", kernel="6.12", files=files, packages={}), osie)
        (self.files / "images").mkdir()
        for name in ("install-image", "reboot"):
            (self.files / "images" / f"{name}.tar").write_bytes(image_archive(f"{name}:v1"))

    def serves(self) -> object:
        return serving(Configuration(self.config, self.data, 7080, 80, 443, 69), [*self.inside, *PROGRAM])


ALL: Sequence[str] = ("--interface", "eth1", "--address", "172.30.0.1/24", "--dhcp", "reservation")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with subprocess.Popen(
        ["unshare", "--net", "--mount", "sh", "-c", NEW_HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        try:
            yield Host(holder.pid, tmp_path)
        finally:
            holder.kill()


def test_a_new_host_is_set_up_and_a_second_time_nothing_changes(host: Host) -> None:
    host.release()
    first = host.init(*ALL, "--set-address", "--yes", "--files", str(host.files))
    assert (first.status, first.err) == (0, "")
    for said in (
        "172.30.0.1/24 is on eth1 until the next reboot", "Address=172.30.0.1/24", f"{host.config} is written",
        "OSIE            x86_64, 7\n", f"tinkbox serve --config {host.config}", "then type the same line again",
        "hardware add 08:00:27:00:00:01 --name node7",
    ):  # fmt: skip
        assert said in first.out
    assert yaml.safe_load(host.config.read_text()) == {
        "data": str(host.data), "interface": "eth1", "address": "172.30.0.1",
    }  # fmt: skip
    assert load(host.config).dhcp.mode == "reservation"
    assert host.data.stat().st_mode & 0o777 == 0o700
    assert (host.data / "osie" / "x86_64" / "initramfs").stat().st_mode & 0o777 == 0o644
    with host.serves():
        second = host.init(*ALL, "--yes", "--files", str(host.files))
        assert (second.status, second.err) == (0, "")
        assert "images          install-image:v1, reboot:v1" in second.out
        third = host.init("--yes", "--files", str(host.files))
        assert "Changed: " not in third.out.replace("Nothing had to be changed.", "")
        for said in (
            "Nothing had to be changed.", "OSIE            x86_64, 7, is there already", "appliance       runs already",
            "images          install-image.tar, reboot.tar: already there",
        ):  # fmt: skip
            assert said in third.out
        added = host.run(*PROGRAM, "--data", str(host.data), "hardware", "add", "08:00:27:00:00:07", "--name", "node7")
        assert added.out == "node7 08:00:27:00:00:07 172.30.0.2\n"


def test_a_person_is_asked_only_what_cannot_be_known(host: Host) -> None:
    host.release()
    files = ("--files", str(host.files))
    with host.person("--dhcp", "pool", *files) as anna:
        anna.sees("eth0 (192.0.2.7/24, the default route: your network)", "interface [eth1]: ")
        anna.type("eth7\r")
        anna.sees("which interface are machines on?", "interface [eth1]: ")
        anna.type("\r")
        anna.sees("eth1 has no address; the appliance's [172.30.0.1/24]: ")
        anna.type("10.9.8.1\r")
        anna.sees("say how large its network is, such as 10.9.8.1/24")
        anna.type("10.9.8.1/24\r")
        anna.sees("give eth1 the address 10.9.8.1/24 (yes or no) [yes]: ")
        anna.type("yes\r")
        anna.sees("addresses to lend [10.9.8.100-10.9.8.199]: ")
        anna.type("\r")
        anna.sees("Changed: the address of eth1", "Next, with your machine's MAC:")
        assert anna.ends() == 0
    settings = load(host.config)
    assert (settings.dhcp.mode, str(settings.address)) == ("pool", "10.9.8.1")
    with host.person("--dhcp", "reservation", "--interface", "eth1", *files) as anna:
        anna.sees("-  pool: 10.9.8.100-10.9.8.199", f"replace {host.config} (yes or no) [no]: ")
        anna.type("\r")
        anna.sees("is kept as it is", "Nothing had to be changed.")
        assert anna.ends() == 0
    assert load(host.config) == settings
    replaced = host.init("--dhcp", "reservation", "--interface", "eth1", "--yes", *files)
    assert f"{host.config} is written" in replaced.out
    assert load(host.config.with_name("tinkbox.yaml.before-init")) == settings


def test_without_a_terminal_the_flags_are_named(host: Host) -> None:
    refused = host.init()
    assert refused.status == 1
    assert " init --yes --interface eth1 --address 172.30.0.1/24 --dhcp reservation`" in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--interface", "eth7"], "machines cannot be on eth7: name one of these with --interface: eth1 (no address, down), eth0 (192.0.2.7/24"),
        ([*ALL], "type `ip link set eth1 up && ip address add 172.30.0.1/24 dev eth1`, or --set-address"),
        (["--interface", "eth0", "--address", "x"], "an address is like 172.30.0.1/24"),
        (["--interface", "eth0", "--dhcp", "reservation", "--pool", "192.0.2.9-192.0.2.10"], "--pool is for --dhcp pool"),
        (["--interface", "eth0", "--dhcp", "pool", "--pool", "10.0.0.1-10.0.0.9"], "is not within 192.0.2.0/24"),
        (["--interface", "eth0", "--dhcp", "off", "--files", "/nowhere"], "/nowhere has neither osie/x86_64/ nor images/"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(host: Host, words: list[str], said: str) -> None:
    refused = host.init("--yes", *words)
    assert (refused.status, said in refused.err) == (1, True), refused.err
    assert host.config.exists() is ("/nowhere" in words)


def test_a_port_that_is_taken_is_told_before_anything_is_written(host: Host) -> None:
    taking = (
        "import socket, sys; s = socket.create_server(('192.0.2.7', 80)); print('taken', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [*host.inside, "python3", "-c", taking], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "taken\n"
        refused = host.init("--yes", "--interface", "eth0", "--dhcp", "off")
        server.kill()
    assert refused.status == 1
    assert "192.0.2.7:80" in refused.err or "port 80" in refused.err
    assert not host.config.exists()


def test_a_key_that_is_a_credential_of_the_unit_is_not_lost(host: Host) -> None:
    host.release()
    assert host.init(*ALL, "--set-address", "--yes", "--files", str(host.files)).status == 0
    with host.serves():
        pass
    (host.data / "tls/authority.key").unlink()
    refused = host.init("--yes", *ALL)
    assert (refused.status, "authority.key is lost" in refused.err) == (1, True), refused.err
    # Restored with /etc: the unit itself follows.
    drop_in = host.tmp / "units/tinkbox.service.d/keys.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text(
        f"[Service]\nExecStart=/usr/local/bin/tinkbox serve --config {host.config}\nLoadCredential=tinkbox-authority-key:/k\n"
    )
    mounted = host.run("mount", "--bind", str(host.tmp / "units"), "/etc/systemd/system")
    assert mounted.status == 0, mounted.err
    again = host.init("--yes", *ALL, "--files", str(host.files))
    assert (again.status, again.err) == (0, "")


def test_the_address_is_taken_back_where_something_keeps_the_appliance_from_starting(host: Host) -> None:
    before = host.run("ip", "-brief", "address", "show", "dev", "eth1").out
    host.data.mkdir(mode=0o700)
    (host.data / "boot.key").write_text("")
    refused = host.init(*ALL, "--set-address", "--yes")
    assert (refused.status, "nothing was written" in refused.err, "boot.key is empty" in refused.err) == (1, True, True)
    assert "Changed" not in refused.out
    assert "is on eth1" not in refused.out
    assert host.run("ip", "-brief", "address", "show", "dev", "eth1").out == before
    assert not host.config.exists()
