"""IPsec's policies of this host (ip-xfrm(8)) that may drop what machines send or what we reply.  They are found, and not weighed."""

import errno
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

from tinkbox.vitals.rtnetlink import Rtnetlink, attributes

_GET_POLICY: Final = 21  # <linux/xfrm.h>: XFRM_MSG_GETPOLICY
_QUESTION: Final = bytes(64)  # struct xfrm_userpolicy_id
_POLICY: Final = struct.Struct("=16s16s8xHBBB3xi4x96xIIBBBB4x")  # struct xfrm_userpolicy_info
_TEMPLATES, _INTERFACE = 5, 31  # XFRMA_TMPL, XFRMA_IF_ID
_DIRECTIONS: Final = {0: "in", 1: "out"}
_BLOCK: Final = 1  # XFRM_POLICY_BLOCK
_PROTOCOLS: Final = frozenset({0, socket.IPPROTO_TCP, socket.IPPROTO_UDP})
_EVERYBODY: Final = IPv4Address("255.255.255.255")
_NOBODY: Final = IPv4Address(0)
# What the kernel counts of packets that policies dropped, which anybody may read.
_COUNTS: Final = Path("/proc/thread-self/net/xfrm_stat")
_DROPPED: Final = frozenset({"XfrmInPolBlock", "XfrmOutPolBlock", "XfrmInTmplMismatch", "XfrmOutNoStates"})
_PART: Final = "IPsec policies"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    source: IPv4Network
    target: IPv4Network
    direction: str
    blocks: bool

    def __str__(self) -> str:
        does = "blocks" if self.blocks else "encrypts"
        return f"{does} {self.source} to {self.target}, {self.direction}"

    def is_of_concern(self, ours: Sequence[IPv4Address], networks: Sequence[IPv4Network]) -> bool:
        """Whether packets between machines on these networks and our addresses may be its own."""
        is_in = self.direction == "in"
        mine, theirs = (self.target, self.source) if is_in else (self.source, self.target)
        own = [*ours, _EVERYBODY] if is_in else ours
        machines = any(theirs.overlaps(each) for each in networks) or (_NOBODY if is_in else _EVERYBODY) in theirs
        return machines and any(each in mine for each in own)


def unread_policies(ours: Mapping[str, IPv4Address], networks: Sequence[IPv4Network]) -> dict[str, str]:
    """What policies may do to packets between machines on `networks` and our addresses, by interface; empty where there is nothing."""
    try:
        with Rtnetlink(socket.NETLINK_XFRM) as kernel:
            told = kernel.all(_GET_POLICY, _QUESTION)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            return _counted()
        # A kernel without IPsec has no policies.
        absent = (errno.EPROTONOSUPPORT, errno.EAFNOSUPPORT, errno.ECONNREFUSED)
        return {} if error.errno in absent else {_PART: f"the kernel does not tell them: {error.strerror or error}"}
    numbers = {0, *_numbers(ours)}
    policies = [policy for each in told for policy in _read(each, numbers)]
    found = [each for each in policies if each.is_of_concern([*ours.values()], networks)]
    if not found:
        return {}
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return {
        _PART: "they may drop what machines send or what tinkbox replies, and tinkbox does not weigh them"
        f" ({found[0]}{more}): `ip xfrm policy` shows them"
    }


def _numbers(names: Mapping[str, IPv4Address]) -> Iterator[int]:
    for name in names:
        try:
            yield socket.if_nametoindex(name)
        except OSError:  # that it is gone is told as that
            continue


def _read(told: bytes, interfaces: set[int]) -> Iterator[_Policy]:
    """A policy that drops what is not encrypted, and that packets on these interfaces come to; those of single sockets are none."""
    if len(told) < _POLICY.size:
        return
    target, source, family, target_bits, source_bits, protocol, interface, *_, direction, action, _, _ = (
        _POLICY.unpack_from(told)
    )
    more = attributes(told[_POLICY.size :])
    if (
        family not in (socket.AF_UNSPEC, socket.AF_INET)
        or protocol not in _PROTOCOLS
        or interface not in interfaces
        or direction not in _DIRECTIONS
        or max(target_bits, source_bits) > 32
        or any(more.get(_INTERFACE, b""))
    ):
        return
    if action == _BLOCK or _TEMPLATES in more:
        yield _Policy(
            source=IPv4Network((source[:4], source_bits), strict=False),
            target=IPv4Network((target[:4], target_bits), strict=False),
            direction=_DIRECTIONS[direction],
            blocks=action == _BLOCK,
        )


def _counted() -> dict[str, str]:
    try:
        lines = [line.split() for line in _COUNTS.read_text().splitlines()]
    except OSError:
        return {}
    count = sum(int(line[1]) for line in lines if len(line) == 2 and line[0] in _DROPPED and line[1].isdigit())
    if not count:
        return {}
    packets = "1 packet" if count == 1 else f"{count} packets"
    return {
        _PART: f"they dropped {packets} since this host started, and tinkbox has no right to read them"
        f" ({os.strerror(errno.EPERM)}): `ip xfrm policy` shows them"
    }
