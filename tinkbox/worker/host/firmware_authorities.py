"""The authorities that the machine's UEFI firmware trusts, and ours among them.

The kernel shows each variable of the firmware as a file of efivarfs: four octets of attributes, then its content
(Documentation/filesystems/efivarfs.rst).  One that the firmware shows to itself alone is not there, and cannot be made.
"""

import errno
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.efi_signature_lists import authority_fingerprint, certificates, with_authorities
from tinkbox.wire.messages.enrolment import Enrolled

EFIVARS: Final = Path("/sys/firmware/efi/efivars")
# As edk2 has it (EFI_TLS_CA_CERTIFICATE_GUID), and iPXE after it.
AUTHORITIES: Final = "TlsCaCertificate-fd2340d0-3dab-4349-a6c7-3b4f12b48eae"
SECURE_BOOT: Final = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
NO_UEFI: Final = "this machine did not boot by UEFI"
GUARDED: Final = "Secure Boot is on, and the signed loader, GRUB, has no HTTPS"
# UEFI 2.10, section 8.2: kept without power, seen by the firmware at boot, seen by the system that runs.
ATTRIBUTES: Final = 1 | 2 | 4
_HEAD: Final = struct.Struct("<I")
# Linux, <linux/fs.h>.
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_FLAGS: Final = struct.Struct("@l")
_IMMUTABLE: Final = 0x10


def enroll(authority: str, efivars: Path = EFIVARS) -> Enrolled:
    """Have the firmware trust an authority (PEM), unless it does; says why where it cannot be had.

    What others put there stays.  What cannot be seen or written is not insisted on.
    """
    try:
        wanted = certificates(authority)
        if not _has_variables(efivars):
            return Enrolled(why=NO_UEFI)
        if _content(efivars / SECURE_BOOT)[1][:1] == b"\1":
            return Enrolled(why=GUARDED)
        attributes, before = _content(efivars / AUTHORITIES)
        if attributes not in (0, ATTRIBUTES):
            return Enrolled(
                why=f"{AUTHORITIES} is of other attributes ({attributes}), so that somebody else manages it"
            )
        after = with_authorities(before, wanted)
        if after != before:
            _write(efivars / AUTHORITIES, after, new=not attributes)
            if _content(efivars / AUTHORITIES) != (ATTRIBUTES, after):
                return Enrolled(why=f"the firmware took {AUTHORITIES}, and did not keep it")
    except Invalid as error:
        return Enrolled(why=str(error))
    except OSError as error:
        managed = ": somebody may manage it in the firmware's setup" if error.errno == errno.EROFS else ""
        return Enrolled(why=f"{AUTHORITIES} cannot be written: {error.strerror}{managed}")
    return Enrolled(authority=authority_fingerprint(authority))


def _has_variables(efivars: Path) -> bool:
    try:
        return any(True for _ in efivars.iterdir())
    except OSError:
        return False


def _content(path: Path) -> tuple[int, bytes]:
    """The attributes of a variable, 0 where there is none, and what it holds."""
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        return 0, b""
    # A write that the firmware refused leaves an empty file behind.
    return (_HEAD.unpack_from(whole)[0], whole[_HEAD.size :]) if len(whole) >= _HEAD.size else (0, b"")


def _write(path: Path, content: bytes, *, new: bool) -> None:
    """In one call, for each is a call of the firmware that replaces the whole variable."""
    _let_write(path)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, _HEAD.pack(ATTRIBUTES) + content)
        finally:
            os.close(descriptor)
    except OSError:
        if new:
            with suppress(OSError):
                path.unlink()
        raise


def _let_write(path: Path) -> None:
    """Take off the mark by which the kernel keeps variables from being deleted by mistake."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            (flags,) = _FLAGS.unpack(fcntl.ioctl(descriptor, _GET_FLAGS, _FLAGS.pack(0)))
            if flags & _IMMUTABLE:
                fcntl.ioctl(descriptor, _SET_FLAGS, _FLAGS.pack(flags & ~_IMMUTABLE))
        finally:
            os.close(descriptor)
