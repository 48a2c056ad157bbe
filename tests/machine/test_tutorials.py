"""The tutorials, typed from top to bottom on a fresh Debian with systemd; a virtual machine is what they install."""

import hashlib
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Final

import pytest

from examples.lab.machine import Machine
from examples.lab.network import BRIDGE, Network
from examples.lab.processes import signals_unwind
from tests.integration.catalogue.mirror import certificate_for
from tests.machine import publisher
from tests.machine.box import Box
from tests.machine.hosts import Host
from tests.machine.installing import DISK
from tests.machine.lab import ROOT, built, mac, program_image, until
from tests.machine.reader import Reader, blocks

pytestmark = [pytest.mark.machine, pytest.mark.campaign, pytest.mark.timeout(3600)]
PAGES: Final = ROOT / "docs" / "tutorials"
INTERNET, PUBLISHER, READER = "internet", "192.0.2.1", "192.0.2.7"
VERSION: Final = "20261101-2281"
IMAGE: Final = f"debian-13-generic-amd64-{VERSION}.qcow2"
# All that is not as a page says, and why: lines that are left out, and servers of ours by the names of others.
_BUILT: Final = "it takes a mirror of packages and minutes; what it built before the tests is laid there"
_NO_IPTABLES: Final = (
    "a fresh Debian has none, and there is no mirror of packages; no machine here asks at 169.254.169.254"
)
LEFT_OUT: Final = {
    "one-machine.md": {
        "make binary osie images": _BUILT,
        "unknown_machines: discover": "it is for a reader who does not know the MAC",
    },
    "without-internet.md": {"make binary osie images": _BUILT},
    "from-tinkerbell.md": {
        "docker save": "it takes Docker and a registry; an archive of that name is laid there, with a program of our own",
        "apt-get install --yes iptables": _NO_IPTABLES,
        "iptables": _NO_IPTABLES,
    },
}
PUBLISHERS: Final = {
    "cloud.debian.org": "nothing can be downloaded here: it lists, sums and serves the image that `make` builds as Debian builds "
    "it, and the box trusts it",
    "mirror.site": "the same; the page names it as an example",
}
# Where a site without internet has its mirror.
SITE: Final = "172.30.0.5"
CEXEC: Final = "quay.io/tinkerbell/actions/cexec"
ACTIONS: Final = f"""\
actions:
  - name: "run"
    image: {CEXEC}:latest
    timeout: 300
"""
TEMPLATE_OF_2020: Final = """\
version: "0.1"
name: ubuntu
global_timeout: 1800
tasks:
  - name: os-installation
    worker: "{{.device_1}}"
    actions:
      - name: run
        image: CEXEC:latest
        timeout: 300
""".replace("CEXEC", CEXEC)


@dataclass(frozen=True)
class Desk:
    """A cable or switch for machines, and what can be plugged in; all leaves with it."""

    network: Network
    work: Path
    plugged: ExitStack

    def box(self, name: str, *, internet: bool = True, machines: bool = True) -> Box:
        """A box as its installer leaves it, off; it trusts the publishers, if it can reach them."""
        cables = [(INTERNET, READER)] if internet else []
        cables += [(BRIDGE, "")] if machines else []
        box = Box(self.network, self.work / name, cables, gateway=PUBLISHER if internet else "")
        box.lay("etc/hosts", f"127.0.0.1 localhost\n{PUBLISHER} {' '.join(PUBLISHERS)}\n".encode())
        return box

    def runs(self, box: Box) -> Box:
        self.plugged.enter_context(box)
        authority = (self.work / "mirror.pem").read_text().partition("-----BEGIN PRIVATE")[0]
        (box.files / "usr/local/share/ca-certificates/publishers.crt").write_text(authority)
        box.run("update-ca-certificates")
        return box

    def publishes(self, start: Callable[..., object], address: str) -> None:
        """Have the publishers there; `start` starts a process on the host of that address."""
        log = self.work / f"publisher-{address}.log"
        command = [
            sys.executable,
            publisher.__file__,
            address,
            str(self.work / "publishers"),
            str(self.work / "mirror.pem"),
        ]
        with log.open("wb") as file:
            start(command, stdout=file)
        until(lambda: "serving" in log.read_text(), "the publisher")

    def reader(self, box: Box, machine: Machine | None = None) -> Reader:
        return Reader(self.plugged.enter_context(box.terminal()), machine)

    def machine(self) -> Machine:
        """The reader's machine, off."""
        return self.plugged.enter_context(Machine(self.network, self.work / "machine", mac=mac(1), disk_size=DISK))


@pytest.fixture
def desk() -> Iterator[Desk]:
    with ExitStack() as stack:
        stack.enter_context(signals_unwind())
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tinkbox-lab-")))
        network = stack.enter_context(Network(IPv4Interface("198.18.0.1/32")))
        network.run(["ip", "link", "add", INTERNET, "type", "bridge", "forward_delay", "0"])
        network.run(["ip", "address", "add", f"{PUBLISHER}/24", "dev", INTERNET])
        network.run(["ip", "link", "set", INTERNET, "up"])
        made = Desk(network, work, stack.enter_context(ExitStack()))
        certificate_for(work, *PUBLISHERS)
        publishes(work / "publishers")
        made.publishes(network.start, PUBLISHER)
        yield made


def publishes(folder: Path) -> None:
    """Debian's folders as they are on its site."""
    image = built("build/system-images/debian-13.qcow2")
    versions = folder / "cloud.debian.org" / "images" / "cloud" / "trixie" / VERSION
    site = folder / "mirror.site"
    for place in (versions, site):
        place.mkdir(parents=True)
    (versions / IMAGE).symlink_to(image)
    (versions / "SHA512SUMS").write_text(f"{digest(image)}  {IMAGE}\n")
    (site / "debian-13-generic-amd64.qcow2").symlink_to(image)


def digest(image: Path) -> str:
    with image.open("rb") as file:
        return hashlib.file_digest(file, "sha512").hexdigest()


def checkout(box: Box) -> None:
    """What `make binary osie images` leaves in the reader's checkout."""
    for path in ("dist/tinkbox", "build/osie", "build/images"):
        box.lay(f"root/tinkbox/{path}", built(path))


def looks_around(login: str, name: str) -> Callable[[Reader], None]:
    """Log in, see what the page promises, and leave."""

    def do(reader: Reader) -> None:
        prompt = rf"debian@{name}:\S*\$ "
        shown = reader.types(
            login, [(prompt, "hostname; df --block-size=1 --output=size / | tail -1"), (prompt, "exit")]
        )
        assert reader.status == 0, shown
        assert re.search(rf"^{name}\n *(\d+)$", shown, re.MULTILINE), shown
        (size,) = re.findall(r"^ *(\d{9,})$", shown, re.MULTILINE)
        assert int(size) > 0.9 * DISK

    return do


def test_one_box_one_machine(desk: Desk) -> None:
    box = desk.box("box")
    checkout(box)
    reader = desk.reader(desk.runs(box), desk.machine())
    reader.types("cd tinkbox")
    reader.read(
        PAGES / "one-machine.md",
        left_out=LEFT_OUT["one-machine.md"],
        instead={"ssh debian@172.30.0.2": looks_around("ssh debian@172.30.0.2", "node7")},
    )


def test_without_internet(desk: Desk) -> None:
    outside, box = desk.box("outside", machines=False), desk.box("box", internet=False)
    checkout(outside)
    box.lay("etc/hosts", f"127.0.0.1 localhost\n{SITE} mirror.site\n".encode())
    reader = desk.reader(desk.runs(outside), desk.machine())
    reader.types("cd tinkbox")
    desk.runs(box)

    def carries(reader: Reader) -> None:
        """A USB stick with `carry` goes to the other host, and the reader with it."""
        shutil.copytree(outside.files / "root/tinkbox/carry", box.files / "media/usb/carry")
        reader.terminal = desk.plugged.enter_context(box.terminal())

    def compares(reader: Reader) -> None:
        """The digest that `image show` calls Kept with the one that `image fetch --save` printed."""
        fetched, kept = (
            re.search(r"\((sha256:[0-9a-f]{64}), ", reader.said),
            re.search(r"Kept\b[^(\n]+\((sha256:\w+)\)", reader.shown),
        )
        assert fetched is not None
        assert kept is not None
        assert fetched[1] == kept[1]

    def has_a_mirror(reader: Reader) -> None:
        """The site of the reader has one."""
        host = desk.plugged.enter_context(Host(desk.network, [(BRIDGE, SITE)]))
        desk.publishes(lambda command, stdout: host.start(*command, output=stdout), SITE)

    reader.read(
        PAGES / "without-internet.md",
        left_out=LEFT_OUT["without-internet.md"],
        before={
            "cd /media/usb/carry": carries,
            "tinkbox hardware add": compares,
            "tinkbox image fetch debian-13 --source": has_a_mirror,
        },
        filled={
            "tinkbox image fetch debian-13 --source": lambda line: line.replace(
                "sha512:…", f"sha512:{digest(built('build/system-images/debian-13.qcow2'))}"
            )
        },
    )
    looks_around("ssh debian@172.30.0.2", "node7")(reader)


def test_from_tinkerbell(desk: Desk) -> None:
    box = desk.box("box")
    checkout(box)
    machine1, template, workflow = (ROOT / "examples/templates/kubernetes.yaml").read_text().split("---\n")
    template = re.sub(r"        actions:\n.*", textwrap.indent(ACTIONS, " " * 8), template, flags=re.DOTALL)
    machine2 = (
        (ROOT / "examples/demo/hardware.json").read_text().replace(mac(1), mac(2)).replace("172.30.0.21", "172.30.0.22")
    )
    for name, text in {
        "hardware.yaml": machine1,
        "machine.json": machine2,
        "template.yaml": template,
        "workflow.yaml": workflow,
        "ubuntu.yaml": TEMPLATE_OF_2020,
    }.items():
        box.lay(f"root/tinkbox/{name}", text.encode())
    box.lay("root/tinkbox/cexec.tar", program_image(desk.work / "cexec", CEXEC, "latest", "echo cexec was here"))
    reader = desk.reader(desk.runs(box), desk.machine())
    assert reader.machine is not None
    machine = reader.machine

    def sets_up(reader: Reader) -> None:
        for line in ("cd tinkbox", "dist/tinkbox init"):
            reader.types(line)
            assert reader.status == 0

    def adds(section: str) -> Callable[[Reader], None]:
        def do(reader: Reader) -> None:
            (block,) = [each for each in blocks(PAGES / "from-tinkerbell.md") if each.text.startswith(section)]
            with (box.files / "etc/tinkbox/tinkbox.yaml").open("a") as file:
                file.write(block.text)

        return do

    def logs_shown(reader: Reader) -> None:
        assert "cexec was here" in reader.shown

    def last_workflow(line: str) -> str:
        return line.replace("WORKFLOW", re.findall(r"Created Workflow: +(\S+)", reader.said)[-1])

    reader.read(
        PAGES / "from-tinkerbell.md",
        left_out=LEFT_OUT["from-tinkerbell.md"],
        instead={section: adds(section) for section in ("images:", "metadata:")},
        before={
            "tinkbox hardware push --file hardware.yaml": sets_up,
            "tinkbox workflow watch": lambda reader: machine.power_on(),
            "metadata:": logs_shown,
        },
        filled={f"tinkbox workflow {verb} WORKFLOW": last_workflow for verb in ("watch", "state", "logs")},
    )
    looks_around("ssh debian@172.30.0.21", "machine1")(reader)
