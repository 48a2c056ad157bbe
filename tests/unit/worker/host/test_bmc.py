"""Asking the management controller where it is, with a device that answers as the kernel's does."""

import ctypes
import fcntl
import select
from pathlib import Path
from typing import Any

import pytest

from tinkbox.worker.host.bmc import controller_address

SEND, RECEIVE = 0x8028690D, 0xC030690B  # _IOR('i', 13, struct ipmi_req), _IOWR('i', 11, struct ipmi_recv)


class FakeController:
    """Answers the question for each channel with bytes, or not at all."""

    def __init__(self, answers: dict[int, bytes]) -> None:
        self.answers = answers
        self.questions: list[bytes] = []
        self._answer: bytes | None = None

    def ioctl(self, _: int, request: int, argument: Any) -> int:
        message = argument.message
        if request == SEND:
            question = ctypes.string_at(message.data, message.length)
            self.questions.append(bytes((message.function, message.command)) + question)
            self._answer = self.answers.get(question[0])
        elif request == RECEIVE:
            assert self._answer is not None
            assert message.length >= len(self._answer)
            ctypes.memmove(message.data, self._answer, len(self._answer))
            message.length = len(self._answer)
        else:
            raise OSError(25, "not a typewriter")
        return 0

    def select(self, readers: list[int], *_: object) -> tuple[list[int], list[int], list[int]]:
        return (readers if self._answer is not None else []), [], []


def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: dict[int, bytes]) -> tuple[str, FakeController]:
    fake = FakeController(answers)
    monkeypatch.setattr(fcntl, "ioctl", fake.ioctl)
    monkeypatch.setattr(select, "select", fake.select)
    device = tmp_path / "ipmi0"
    device.touch()
    return controller_address(device), fake


def test_it_tells_the_address_of_its_first_channel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address, fake = asked(monkeypatch, tmp_path, {1: b"\0\x11\x0a\0\0\x07"})
    assert address == "10.0.0.7"
    assert fake.questions == [bytes((0x0C, 0x02, 1, 3, 0, 0))]


@pytest.mark.parametrize(
    "first", [b"\xcc", b"\0\x11\0\0\0\0", b"\0\x11\xff\xff\xff\xff", b"\0\x11\x0a", b"", b"\xcc\x11\x0a\0\0\x07"]
)
def test_a_channel_without_an_address_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: bytes
) -> None:
    address, fake = asked(monkeypatch, tmp_path, {1: first, 3: b"\0\x11\xc0\xa8\0\x09"})
    assert address == "192.168.0.9"
    assert len(fake.questions) == 3


def test_one_that_does_not_answer_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert asked(monkeypatch, tmp_path, {})[0] == ""


def test_without_a_controller_there_is_no_address(tmp_path: Path) -> None:
    assert controller_address(tmp_path / "ipmi0") == ""


def test_a_device_that_is_none_has_no_address_and_is_closed(tmp_path: Path) -> None:
    (tmp_path / "ipmi0").touch()
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert controller_address(tmp_path / "ipmi0") == ""
    assert len(list(Path("/proc/self/fd").iterdir())) == before
