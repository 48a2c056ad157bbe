"""A management controller for a virtual machine, as OpenIPMI simulates it: one that has an address of its own to tell."""

from pathlib import Path
from typing import Final

from examples.lab.network import Network

PEERS: Final = Path(__file__).parents[2] / "build" / "peers"
LIBRARIES: Final = ":".join(
    str(PEERS / name / "usr" / "lib" / "x86_64-linux-gnu") for name in ("libopenipmi0", "libpopt0")
)
PORT: Final = 9002
LAN: Final = """
name "controller"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 9623
    priv_limit admin
    allowed_auths_admin none
    lan_config_program "{program}"
  endlan
  serial 15 127.0.0.1 {port} codec VM
  startnow false
"""
BOARD: Final = """
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
mc_enable 0x20
"""
# The simulator asks it for one parameter of the LAN channel after the other.
PROGRAM: Final = """#!/bin/sh
case "$*" in
    *ip_addr) echo "ip_addr:{address}" ;;
    *) for name; do :; done; echo "$name:" ;;
esac
"""


def controller(network: Network, work: Path, address: str) -> tuple[str, ...]:
    """Start one in the network's namespace; returns the emulator's arguments that put it into a machine."""
    work.mkdir()
    program, lan, board = work / "lan", work / "lan.conf", work / "board"
    program.write_text(PROGRAM.format(address=address))
    program.chmod(0o755)
    lan.write_text(LAN.format(program=program, port=PORT))
    board.write_text(BOARD)
    simulator = ["env", f"LD_LIBRARY_PATH={LIBRARIES}", str(PEERS / "openipmi" / "usr" / "bin" / "ipmi_sim")]
    with (work / "simulator.log").open("wb") as log:
        network.start([*simulator, "-c", str(lan), "-f", str(board), "-s", str(work), "-n"], stdout=log)
    line = f"socket,id=controller,host=127.0.0.1,port={PORT},reconnect=1"
    devices = ("-device", "ipmi-bmc-extern,id=bmc,chardev=controller", "-device", "isa-ipmi-kcs,bmc=bmc")
    return ("-chardev", line, *devices)
