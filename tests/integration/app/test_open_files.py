"""An appliance whose file descriptors are used up: who is turned away hears why, and the operator is answered."""

import http.client
import json
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.app.doctor_lab import until
from tests.integration.cli.serving import configure, run_here, serving

SECONDS = 60.0
OTHER = "127.0.0.7"


@dataclass
class Appliance:
    """One on loopback; `log` is what it wrote to stderr."""

    data: Path
    node: int
    pid: int
    log: Path

    def limit(self, most: int) -> None:
        hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (most, hard))

    def opened(self) -> list[int]:
        return sorted(int(each.name) for each in Path(f"/proc/{self.pid}/fd").iterdir())

    def told(self) -> dict[str, Any] | None:
        """What the doctor says of descriptors."""
        ended = run_here("--data", str(self.data), "doctor", "-o", "json")
        assert ended.out, ended.err
        found = (each for each in json.loads(ended.out)["diagnoses"] if each["rule"] == "DescriptorsLow")
        return next(found, None)

    def asked(self) -> tuple[int, str]:
        """Status and text of an answer to a machine."""
        asking = http.client.HTTPConnection("127.0.0.1", self.node, timeout=SECONDS, source_address=(OTHER, 0))
        try:
            asking.request("GET", "/worker/time")
            answer = asking.getresponse()
            return answer.status, answer.read().decode()
        finally:
            asking.close()


@contextmanager
def appliance(folder: Path) -> Iterator[Appliance]:
    configuration = configure(folder)
    with serving(configuration) as process:
        yield Appliance(configuration.data, configuration.http_port, process.pid, folder / "stderr")


def test_machines_hear_why_they_are_turned_away_and_the_doctor_answers_while_descriptors_are_used_up(
    tmp_path: Path,
) -> None:
    with appliance(tmp_path) as box, ExitStack() as stack:
        assert box.asked()[0] == 200
        assert box.told() is None
        before = resource.prlimit(box.pid, resource.RLIMIT_NOFILE)[0]
        box.limit(max(box.opened()) + 20)
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", box.node), SECONDS, source_address=(OTHER, 0)))
        until(lambda: "no file descriptor left" in box.log.read_text(), "that they are used up")
        status, text = box.asked()
        assert status == 503
        assert "no file descriptor left (EMFILE)" in json.loads(text)["detail"]
        assert "LimitNOFILE=" in json.loads(text)["detail"]
        found = box.told()
        assert found is not None
        assert (found["gravity"], found["cause"]) == (
            "fault",
            "tinkbox's process has no file descriptor left: machines are turned away, and files cannot be opened.",
        )
        assert f"`prlimit --pid {box.pid} --nofile=" in found["remedy"]
        box.limit(before)
        until(lambda: box.asked()[0] == 200, "an answer, once the limit is raised")
        again = box.told()
        assert again is not None
        assert (again["gravity"], "again" in again["cause"]) == ("suspect", True)
        log = box.log.read_text()
        assert log.count("no file descriptor left (EMFILE)") == 1
        assert "there are file descriptors again" in log
        assert "Traceback" not in log
        assert len(log.splitlines()) < 12, log


def test_an_appliance_with_no_room_for_its_open_files_at_all_answers_the_operator(tmp_path: Path) -> None:
    with appliance(tmp_path) as box:
        assert box.asked()[0] == 200
        box.limit(len(box.opened()) - 20)
        assert box.asked()[0] == 503
        found = box.told()
        assert found is not None
        assert found["gravity"] == "fault"


def test_more_than_nine_of_ten_descriptors_are_a_suspicion(tmp_path: Path) -> None:
    with appliance(tmp_path) as box, ExitStack() as stack:
        assert box.told() is None
        before = len(box.opened())
        for number in range(500):
            source = (f"127.0.1.{number % 8 + 1}", 0)
            stack.enter_context(socket.create_connection(("127.0.0.1", box.node), SECONDS, source_address=source))
        until(lambda: len(box.opened()) > before + 490, "the connections")
        box.limit(max(box.opened()) + 40)
        found = box.told()
        assert found is not None
        assert (found["gravity"], "file descriptors open: without one no machine" in found["cause"]) == (
            "suspect",
            True,
        )
