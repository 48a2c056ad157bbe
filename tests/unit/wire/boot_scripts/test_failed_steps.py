"""What iPXE and GRUB tell of a step that failed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.boot import Step, StepError
from tinkbox.wire.boot_scripts.failed_steps import DRIVES, FailedStep, told_by_grub, told_by_ipxe


# As the iPXE of Debian 12 said them in QEMU, but for the last four.
@pytest.mark.parametrize(
    ("step", "code", "error"),
    [
        ("kernel", "2d0c613b", StepError.NOT_FOUND),
        ("kernel", "0f0a6039", StepError.CLOSED),
        ("kernel", "4c116035", StepError.TIMED_OUT),
        ("kernel", "3c092003", StepError.NOT_SUPPORTED),
        ("ramdisk", "34182006", StepError.NO_ROOM),
        ("disk", "1d852039", StepError.NOT_BOOTABLE),
        ("kernel", "1d852039", StepError.READ_ERROR),
        ("script", "3e11623b", StepError.NO_SUCH_NAME),
        ("boot", "7f04828e", StepError.REFUSED),
        ("boot", "2e008081", StepError.NOT_EXECUTABLE),
        ("boot", "ee000000", StepError.OTHER),
    ],
)
def test_error_of_ipxe_is_said_in_words(step: str, code: str, error: StepError) -> None:
    told = told_by_ipxe({"step": step, "error": code})
    assert told is not None
    assert told.errors == (error,)
    assert told.detail == f"it could not {told.step}: {error} (http://ipxe.org/{code})"
    assert told.facts == {"step": told.step.name, "error": error.name, "code": code}


def test_grub_tells_only_which_step_it_was() -> None:
    assert told_by_grub("grub/failed/ramdisk") == FailedStep(step=Step.RAMDISK)
    for name in ("grub/failed/", "grub/failed/nonsense", "failed/ramdisk", "x/grub/failed/ramdisk", "ramdisk", ""):
        assert told_by_grub(name) is None


@given(st.text(max_size=60), st.text(max_size=2000))
def test_hostile_query_becomes_a_few_known_words(step: str, error: str) -> None:
    for told in (told_by_ipxe({"step": step, "error": error}), told_by_ipxe({"step": "disk", "error": error})):
        if told is not None:
            assert len(told.codes) <= DRIVES
            assert len(told.detail) < 300
            assert told.detail.isascii()
    assert told_by_ipxe({}) is None
