"""Every kind of firmware in every mode of DHCP, to the worker's first contact: the matrix of docs/firmware.md."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from examples.lab.firmware import FIRMWARES, Firmware
from examples.lab.network import BRIDGE
from tests import rotation
from tests.machine.hosts import FAR, FAR_ROUTER, Host, give_addresses, relay_to_far_network
from tests.machine.lab import PATIENCE, ROOT, Lab, laboratory, mac, shell, until
from tests.machine.matrix import A_RUN, CELLS, MODES, Mode
from tinkbox.model.boot import Stage

# GRUB asks the server that the address came with, and knows nothing of our offer: that server has to name us.
NAMED: Final[frozenset[Firmware]] = frozenset({"secure"})
ONE = 1
OTHER_SERVER = "172.30.0.3"
# Through the driver in its card an emulated machine downloads the OSIE in two minutes on an idle host, in ten on a busy one.
BOOTED = 3 * PATIENCE
DOCS = ROOT / "docs" / "firmware.md"
POOL = "dhcp: {mode: pool, pool: 172.30.0.100-172.30.0.199}\n"
PROXY = "dhcp: {mode: proxy}\n"


@contextmanager
def network(firmware: Firmware, mode: Mode, work: Path) -> Iterator[tuple[Lab, str]]:
    """A lab in which machines find DHCP in this mode, and the bridge that their cables lead to."""
    configured = {"pool": POOL, "proxy": PROXY}.get(mode, "")
    with ExitStack() as stack:
        lab = stack.enter_context(laboratory(configured=configured))
        if mode == "relay":
            stack.enter_context(relay_to_far_network(lab.network, work / "relay.log"))
        if mode == "proxy":
            other = stack.enter_context(Host(lab.network, [(BRIDGE, OTHER_SERVER)]))
            named = str(lab.network.address) if firmware in NAMED else ""
            give_addresses(other, "172.30.0.200", "172.30.0.220", work / "other.log", next_server=named)
        yield lab, FAR if mode == "relay" else BRIDGE


def told(firmware: Firmware, mode: Mode) -> dict[str, Any]:
    """What the operator says of the machine."""
    arch = {"arch": "aarch64" if firmware == "arm64" else "x86_64"}
    match mode:
        case "reservation":
            return arch
        case "relay":
            return {**arch, "ip": {"address": "172.31.0.21", "netmask": "255.255.255.0", "gateway": FAR_ROUTER}}
        case _:
            return {**arch, "ip": None}


@pytest.mark.machine
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("firmware", "mode"),
    [pytest.param(*cell, id="-".join(cell), marks=rotation.mark(cell, CELLS, A_RUN)) for cell in CELLS],
)
def test_firmware_boots_to_the_workers_first_contact(firmware: Firmware, mode: Mode, tmp_path: Path) -> None:
    with network(firmware, mode, tmp_path) as (lab, bridge):
        lab.push(ONE, **told(firmware, mode))
        lab.workflow(ONE, shell("install", "true"))
        machine = lab.machine(ONE, firmware, memory=3072, bridge=bridge)
        wrong: set[str] = set()

        def in_touch() -> bool:
            wrong.update(lab.appliance.wrong_with(ONE))
            return Stage.WORKER in lab.stages(ONE)

        machine.power_on()
        if firmware == "secure":
            # It refuses iPXE and finds nothing else to boot; a person presses the button once, and that is all.
            until(lambda: Stage.LOADER in lab.stages(ONE), "the loader to be fetched", PATIENCE)
            until(lambda: lab.appliance.hardware(mac(ONE))["habits"]["secure_boot"], "the refusal", PATIENCE)
            machine.reset()
        until(in_touch, "the worker's first contact", BOOTED)
        # A refused loader and a server of a proxy are told, and are there.
        assert {each for each in wrong if firmware not in NAMED and mode != "proxy"} == set()


def test_documented_matrix_is_this_one() -> None:
    rows = [line for line in DOCS.read_text().partition("## The rows")[0].splitlines() if line.startswith("| `")]
    documented = {}
    for row in rows:
        name, *marks = (cell.strip() for cell in row.strip("|").split("|"))
        documented |= {(name.split("`")[1], mode): mark for mode, mark in zip(MODES, marks, strict=True)}
    assert documented == {(firmware, mode): _mark(firmware, mode) for firmware in FIRMWARES for mode in MODES}


def _mark(firmware: Firmware, mode: Mode) -> str:
    return "boots, see below" if mode == "proxy" and firmware in NAMED else "boots"
