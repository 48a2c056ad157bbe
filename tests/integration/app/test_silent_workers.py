"""Workers that fall silent while an action runs, each in a namespace of its own, and what the doctor says of them and when."""

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
OFF, HANGS, WELL = 1, 2, 3
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
