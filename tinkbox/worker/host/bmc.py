"""The machine's management controller, asked where it is: IPMI 2.0 §23.2 through Linux' /dev/ipmi0.

The structures are those of <linux/ipmi.h>; their layout is the C compiler's own, which `ctypes` follows.
"""

import ctypes
import fcntl
import os
import select
from ipaddress import IPv4Address
from pathlib import Path

CHANNELS = (1, 2, 3)  # a controller's LAN channels are among the first
ANSWER_SECONDS = 2.0
_SYSTEM_INTERFACE, _BMC_CHANNEL = 0x0C, 0x0F
_TRANSPORT, _GET_LAN_PARAMETERS, _IP_ADDRESS = 0x0C, 0x02, 3
_MAGIC = ord("i")
_MAX_DATA = 272


class _Address(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int), ("channel", ctypes.c_short), ("lun", ctypes.c_ubyte))


class _Message(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_ubyte),
        ("command", ctypes.c_ubyte),
        ("length", ctypes.c_ushort),
        ("data", ctypes.c_void_p),
    )


class _Request(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_void_p),
        ("address_length", ctypes.c_uint),
        ("number", ctypes.c_long),
        ("message", _Message),
    )


class _Answer(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("address", ctypes.c_void_p),
        ("address_length", ctypes.c_uint),
        ("number", ctypes.c_long),
        ("message", _Message),
    )


def controller_address(device: Path) -> str:
    """Its IPv4 address on the first channel that has one; empty without a controller, or one without an address."""
    try:
        descriptor = os.open(device, os.O_RDWR)
    except OSError:
        return ""
    try:
        found = (_address_of(_asked(descriptor, channel)) for channel in CHANNELS)
        return next((address for address in found if address), "")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _address_of(answer: bytes) -> str:
    """Completion code, revision of the parameter, and four octets; anything else is no address."""
    if len(answer) < 6 or answer[0] != 0:
        return ""
    address = IPv4Address(answer[2:6])
    return "" if address.is_unspecified or address == IPv4Address(2**32 - 1) else str(address)


def _asked(descriptor: int, channel: int) -> bytes:
    """Its answer to Get LAN Configuration Parameters, empty when none came."""
    address = _Address(kind=_SYSTEM_INTERFACE, channel=_BMC_CHANNEL, lun=0)
    question = (ctypes.c_ubyte * 4)(channel, _IP_ADDRESS, 0, 0)
    request = _Request(
        address=ctypes.addressof(address),
        address_length=ctypes.sizeof(address),
        number=channel,
        message=_Message(_TRANSPORT, _GET_LAN_PARAMETERS, len(question), ctypes.addressof(question)),
    )
    fcntl.ioctl(descriptor, _ioctl(2, 13, ctypes.sizeof(_Request)), request)
    if not select.select([descriptor], [], [], ANSWER_SECONDS)[0]:
        return b""
    sender, data = (ctypes.c_ubyte * 32)(), (ctypes.c_ubyte * _MAX_DATA)()
    answer = _Answer(
        address=ctypes.addressof(sender),
        address_length=len(sender),
        message=_Message(0, 0, _MAX_DATA, ctypes.addressof(data)),
    )
    fcntl.ioctl(descriptor, _ioctl(3, 11, ctypes.sizeof(_Answer)), answer)
    return bytes(data[: answer.message.length])


def _ioctl(direction: int, number: int, size: int) -> int:
    """As <asm-generic/ioctl.h> makes them; 2 is to read, 3 is both."""
    return direction << 30 | size << 16 | _MAGIC << 8 | number
