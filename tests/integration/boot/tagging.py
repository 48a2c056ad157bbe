"""A VLAN interface for kernels that have none: `python -m … CARD NUMBER` makes CARD.NUMBER and tags what goes through.

It prints `ready`, and works until it is killed.
"""

import contextlib
import fcntl
import os
import select
import socket
import struct
import sys

_TUNSETIFF, _TAP, _NO_INFO = 0x400454CA, 0x0002, 0x1000
_SOL_PACKET, _AUXDATA, _ALL = 263, 8, 0x0003
# struct tpacket_auxdata: the kernel takes a frame's tag off before anybody hears it, and tells it beside.
_AUX = struct.Struct("@IIIHHHH")
_TAGGED = 1 << 4
_TAG = 0x8100


def main(card: str, number: int) -> None:
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", f"{card}.{number}".encode(), _TAP | _NO_INFO))
    line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
    line.setsockopt(_SOL_PACKET, _AUXDATA, 1)
    line.bind((card, _ALL))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        for ready in select.select([tap, line], [], [])[0]:
            if ready is tap:
                frame = os.read(tap, 65_535)
                line.send(frame[:12] + struct.pack("!HH", _TAG, number) + frame[12:])
                continue
            frame, beside, _, (_, _, kind, _, _) = line.recvmsg(65_535, socket.CMSG_SPACE(_AUX.size))
            status, *_, tag, _ = _AUX.unpack(beside[0][2][: _AUX.size])
            if kind != socket.PACKET_OUTGOING and status & _TAGGED and tag & 0xFFF == number:
                # One that is not up yet refuses a frame, where the kernel's own drops it.
                with contextlib.suppress(OSError):
                    os.write(tap, frame)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
