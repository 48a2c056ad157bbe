"""What a boot script tells of a step that failed: which one, and with which error.

iPXE tells its error as `${errno}`: 32 bits, of which the highest eight are POSIX's error in the order of iPXE's `errno.h`.
GRUB has no such thing: it only asks for a file that is called like the step.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.model.boot import Step, StepError
from tinkbox.model.sightings import Fact

# What scripts call them.
STEPS: Final[Mapping[str, Step]] = {each.name.lower(): each for each in Step}
DRIVES: Final = 4
GRUB_FOLDER: Final = "grub/failed"
_NUMBER: Final = re.compile(r"[0-9a-f]{8}")
_ERRORS: Final[Mapping[int, StepError]] = {
    0x02: StepError.NO_PERMISSION,  # EACCES
    0x0B: StepError.NOT_BOOTABLE,  # ECANCELED: the boot sector gave up
    0x0D: StepError.CLOSED,  # ECONNABORTED
    0x0E: StepError.CLOSED,  # ECONNREFUSED
    0x0F: StepError.CLOSED,  # ECONNRESET
    0x17: StepError.UNREACHABLE,  # EHOSTUNREACH
    0x1D: StepError.READ_ERROR,  # EIO
    0x26: StepError.UNREACHABLE,  # ENETDOWN
    0x28: StepError.UNREACHABLE,  # ENETUNREACH
    0x2A: StepError.NO_ROOM,  # ENOBUFS
    0x2D: StepError.NOT_FOUND,  # ENOENT
    0x2E: StepError.NOT_EXECUTABLE,  # ENOEXEC
    0x31: StepError.NO_ROOM,  # ENOMEM
    0x34: StepError.NO_ROOM,  # ENOSPC
    0x3C: StepError.NOT_SUPPORTED,  # ENOTSUP
    0x3E: StepError.NO_SUCH_NAME,  # ENXIO
    0x41: StepError.NO_PERMISSION,  # EPERM
    0x4C: StepError.TIMED_OUT,  # ETIMEDOUT
    0x7F: StepError.REFUSED,  # EPLATFORM: what UEFI's LoadImage says
}
# The same numbers of a disk: it has no names, and a read that fails is a disk that is not there, or has no boot sector.
_OF_A_DISK: Final = {StepError.READ_ERROR: StepError.NOT_BOOTABLE, StepError.NO_SUCH_NAME: StepError.NOT_BOOTABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedStep:
    """A step that failed: `codes` are iPXE's errors, eight hexadecimal digits each; of disks one for each drive, else one or none."""

    step: Step
    codes: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[StepError, ...]:
        """Each error once, in the order of the drives."""
        found = [_error(self.step, each) for each in self.codes] or [StepError.UNTOLD]
        return tuple(dict.fromkeys(found))

    @property
    def detail(self) -> str:
        """For people: what failed, why, and where iPXE explains that."""
        links = [f"http://ipxe.org/{each}" for each in dict.fromkeys(self.codes)]
        told = ", ".join(self.errors) + (f" ({', '.join(links)})" if links else "")
        return f"it could not {self.step}: {told}"

    @property
    def facts(self) -> dict[str, Fact]:
        """For rules: `step` and `error` are names of `Step` and `StepError`, `code` is iPXE's."""
        return {"step": self.step.name, "error": self.errors[0].name, "code": ".".join(dict.fromkeys(self.codes))}


def told_by_ipxe(query: Mapping[str, str]) -> FailedStep | None:
    """The step that the query of iPXE's request tells of; None: it tells of none that a script has."""
    step = STEPS.get(query.get("step", ""))
    if step is None:
        return None
    codes = query.get("error", "").lower().split(".", DRIVES)[:DRIVES]
    return FailedStep(step=step, codes=tuple(each for each in codes if _NUMBER.fullmatch(each)))


def told_by_grub(name: str) -> FailedStep | None:
    """The step that the name of a file tells of, which GRUB asked for; None: it is no such file."""
    folder, _, step = name.rpartition("/")
    return FailedStep(step=STEPS[step]) if folder == GRUB_FOLDER and step in STEPS else None


def _error(step: Step, code: str) -> StepError:
    found = _ERRORS.get(int(code[:2], 16), StepError.OTHER)
    return _OF_A_DISK.get(found, found) if step is Step.DISK else found
