"""A container's log as the Docker engine sends it: frames (Docker Engine API v1.41, /containers/{id}/attach).  Pure."""

import struct

from tinkbox.model.reasons import Reason
from tinkbox.model.text import one_line
from tinkbox.runtime import ContainerFailed

_HEADER = struct.Struct(">BxxxL")  # stream, three zeros, length
_OF_THE_ENGINE = 3
_MAX_WORDS = 300


def taken_from(come: bytearray) -> bytes:
    """Take the frames that are whole out of what has come; returns what they carry, both streams in order.

    Raises ContainerFailed for one that tells, in the engine's own words, why it cannot read the log: that is no output.
    """
    carried: list[bytearray] = []
    at = 0
    while at + _HEADER.size <= len(come):
        stream, length = _HEADER.unpack_from(come, at)
        begin, end = at + _HEADER.size, at + _HEADER.size + length
        if end > len(come):
            break
        if stream == _OF_THE_ENGINE:
            if any(carried):
                break  # what was printed before goes first
            words = one_line(come[begin:end].decode(errors="replace"), _MAX_WORDS)
            raise ContainerFailed(Reason.ENGINE_FAILED, f"the engine cannot read its log: {words}")
        carried.append(come[begin:end])
        at = end
    del come[:at]
    return b"".join(carried)
