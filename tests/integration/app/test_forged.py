"""A host on the machines' network that sends in their names, and what the doctor makes of it: with real packets."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.integration.app.doctor_lab import DoctorLab, doctor_lab, until
from tests.machine.lab import mac

FAILED, FORGER = 10, 12
# More DISCOVERs of firmware than unknown machines are noted, each with a MAC that was not seen before.
INVENTS = """
import random, socket
from tests.golden import packet
asked = bytearray(packet("dhcp/ovmf-pxe-discover"))
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
for _ in range(1_500):
    asked[4:8] = random.randbytes(4)
    asked[28:34] = b"\\x02" + random.randbytes(5)
    line.sendto(asked, ("255.255.255.255", 67))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("forged")) as made:
        yield made


def test_no_forged_dhcp_hides_an_osie_whose_worker_cannot_start(lab: DoctorLab) -> None:
    lab.known(FAILED)
    machine = lab.served(FAILED)
    assert machine.script()
    for name in ("vmlinuz", "initramfs"):
        assert machine.fetches(f"/boot/osie/x86_64/{name}")
    url = f"http://{lab.network.address}/worker/trouble?part=engine"
    assert machine.tries("curl", "-sSf", "-o", "/dev/null", "--data", "no space left on device", url)
    before = lab.doctor(FAILED).of(FAILED)
    assert "no space left on device" in before["SilentOsie"]["cause"]
    forger = lab.box(FAILED)
    for architecture in (7, 0, 7, 16):
        forger.asks(architecture, tries=2)
    after = lab.doctor(FAILED).of(FAILED)["SilentOsie"]
    assert (after["gravity"], after["cause"]) == ("fault", before["SilentOsie"]["cause"])
    assert any("another host in its name, asked for an address again" in each for each in after["evidence"])


def test_invented_machines_for_which_there_is_no_room_are_told(lab: DoctorLab) -> None:
    host = lab.box(FORGER)
    host.run("ip", "address", "add", "172.30.0.66/24", "dev", "eth0")

    def told() -> bool:
        host.run(sys.executable, "-c", INVENTS)
        return "TooManyUnknown" in lab.doctor().of()

    until(told, "the doctor to tell of them")
    found = lab.doctor().of()["TooManyUnknown"]
    assert found["gravity"] == "suspect"
    assert "went unnoted since" in found["cause"]
    command = [sys.executable, "-m", "tinkbox", "--data", str(lab.appliance.data), "doctor", mac(99)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "more unknown machines ask than are noted, so it may have asked all the same" in " ".join(
        done.stderr.split()
    )
