"""Workers that fall silent while an action runs, each in a namespace of its own, and what the doctor says of them and when."""

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.app.doctor_lab import Box, DoctorLab, doctor_lab, until
from tests.machine.lab import mac

_LOG = logging.getLogger(__name__)
OFF, HANGS, WELL, SLANDERED, FORGER = 1, 2, 3, 4, 5
# A worker as far as its door is concerned: it takes its action, and asks for orders from then on.
WORKER = """
import asyncio, sys
from pathlib import Path
from tinkbox.client.node import NodeDoor
from tinkbox.wire.messages.session import Opening
from tinkbox.wire.messages.worker import Hello, decode_credential

async def work(name):
    credential = decode_credential(Path(sys.argv[1]).read_bytes())
    opening = Opening(secret=name * 5, boot_id=name, instance=f"1-{name}", version="1")
    async with NodeDoor(credential, opening) as door:
        offer = None
        while offer is None:
            offer = await door.next(Hello(boot_id=name, version="1", debug=False, networks=True))
        print("works", flush=True)
        while True:
            await door.orders(offer.attempt, "")

asyncio.run(work("worker-of-" + sys.argv[2]))
"""
# One datagram of syslog that says to come from another address.
FORGES = """
import socket, sys
from tests.integration.attacks.test_spoofed import datagram
source, server, text = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
    raw.sendto(datagram((source, 514), (server, 514), text.encode()), (server, 0))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("lab")) as made:
        yield made


def working(lab: DoctorLab, number: int) -> tuple[Box, subprocess.Popen[bytes]]:
    """Machine `number` with its address, and its worker at work."""
    lab.known(number)
    box = lab.served(number)
    credential = lab.work / f"worker-{number}.json"
    credential.write_text(lab.appliance.command("hardware", "credential", mac(number)))
    said = lab.work / f"worker-{number}.said"
    with said.open("wb") as output:
        worker = box.start(sys.executable, "-c", WORKER, str(credential), str(number), output=output)
    until(lambda: said.read_bytes() == b"works\n", "the worker to begin")
    return box, worker


def told(lab: DoctorLab, *numbers: int, is_it: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[int, float]:
    """Wait until all of these are told to be silent, and so; returns after how many seconds each was."""
    began, found = time.monotonic(), dict[int, float]()

    def all_told() -> bool:
        for each in silent(lab):
            number = next((number for number in numbers if mac(number) == each["machine"]), 0)
            if number and is_it(each):
                found.setdefault(number, time.monotonic() - began)
        return len(found) == len(numbers)

    until(all_told, f"{numbers} to be told as silent")
    return found


def silent(lab: DoctorLab) -> list[dict[str, Any]]:
    """What is said now of silent workers; nobody waits for other DHCP servers."""
    answer = lab.ask("GET", "/v1/doctor?listen=0")
    return [each for each in answer["diagnoses"] if each["rule"] == "SilentWorker"]


def test_silent_workers_are_told_by_what_is_seen_of_their_machines(lab: DoctorLab) -> None:
    boxes = {number: working(lab, number) for number in (OFF, HANGS, WELL)}
    assert not silent(lab)
    boxes[OFF][0].run("ip", "link", "set", "eth0", "down")
    boxes[HANGS][1].send_signal(signal.SIGSTOP)
    seconds = told(lab, OFF, HANGS)
    by_machine = {each["machine"]: each for each in silent(lab)}
    off, hangs = by_machine.pop(mac(OFF)), by_machine.pop(mac(HANGS))
    assert not by_machine, "the third is well"
    assert off["cause"].endswith("the machine is off, or its cable is out.")
    assert off["gravity"] == "fault"
    assert "its address does not answer ARP" in off["evidence"]
    assert "answers ARP, so its kernel or its worker hangs" in hangs["cause"]
    _LOG.info("seconds until told: %s; %s; %s", seconds, off, hangs)

    # The other one's cable as well: now it is the way to them.
    boxes[HANGS][0].run("ip", "link", "set", "eth0", "down")
    told(lab, OFF, HANGS, is_it=lambda each: "beside it is silent too" in each["cause"])

    # One of them goes on, and is no worse for it.
    boxes[HANGS][0].run("ip", "link", "set", "eth0", "up")
    boxes[HANGS][1].send_signal(signal.SIGCONT)
    until(lambda: [each["machine"] for each in silent(lab)] == [mac(OFF)], "the other to be heard")


def test_syslog_in_a_machines_name_is_no_fault_while_its_worker_is_in_touch(lab: DoctorLab) -> None:
    box, worker = working(lab, SLANDERED)
    (interface,) = json.loads(box.run("ip", "-j", "-4", "address", "show", "eth0"))
    (address,) = (each["local"] for each in interface["addr_info"])
    forger = lab.box(FORGER)
    forger.run("ip", "address", "add", "172.30.0.66/24", "dev", "eth0")
    text = "<3>kernel: Out of memory: Killed process 412 (tail) total-vm:809344kB, anon-rss:805376kB"
    forger.run(sys.executable, "-c", FORGES, address, str(lab.network.address), text)

    def memory() -> dict[str, Any] | None:
        answer = lab.ask("GET", f"/v1/doctor?key={mac(SLANDERED)}&listen=0")
        return next((each for each in answer["diagnoses"] if each["rule"] == "OutOfMemory"), None)

    until(lambda: memory() is not None, "the line to be told")
    told = memory()
    assert told is not None
    assert told["gravity"] == "suspect"
    assert told["cause"].startswith("Syslog from the machine's address says: Memory ran out while ")
    shown = lab.ask("GET", f"/v1/workflows/{told['workflow']}/state")["diagnosis"]
    assert (shown["gravity"], shown["cause"]) == ("suspect", told["cause"])

    def is_confirmed() -> bool:
        now = memory()
        return now is not None and (now["gravity"], now["cause"][:15]) == ("fault", "Memory ran out ")

    worker.send_signal(signal.SIGSTOP)
    until(is_confirmed, "the worker's silence to confirm it")
    worker.send_signal(signal.SIGCONT)
    until(lambda: not is_confirmed(), "the worker to be heard")
