"""DNS for the names of workflows, and for nothing else: a question in, an answer out (RFC 1034, 1035, 2308, 6891).

Whatever anybody asks, the answer is at most GROWTH bytes longer than the question: nobody is flooded by way of us.
"""

import re
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.wire
from dns.rcode import Rcode
from dns.rdatatype import RdataType

TTL = 60
# How long somebody may remember that there is no such thing, in seconds (RFC 2308 §5).
NEGATIVE_TTL = 5
PAYLOAD = 1232
GROWTH = 48
_HEADER = struct.Struct(">6H")
_WORKFLOW = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TRANSFERS = frozenset({RdataType.AXFR, RdataType.IXFR})
_FIRST_EDNS = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """`edns` is the version of the extension that the asker speaks, None: without it."""

    name: dns.name.Name
    kind: int
    kind_class: int
    edns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    rcode: Rcode = Rcode.NOERROR
    authoritative: bool = True
    answer: tuple[dns.rrset.RRset, ...] = ()
    authority: tuple[dns.rrset.RRset, ...] = ()


class Zone:
    """`<workflow id>.<domain>` is `address`, whatever workflows there are; what is not below `domain` is refused."""

    def __init__(self, domain: str, address: IPv4Address) -> None:
        self._domain = dns.name.from_text(domain)
        self._address = str(address)
        soa = f"{self._domain} hostmaster.{self._domain} 1 3600 600 86400 {NEGATIVE_TTL}"
        self._soa = dns.rrset.from_text(self._domain, NEGATIVE_TTL, "IN", "SOA", soa)
        self._ns = dns.rrset.from_text(self._domain, TTL, "IN", "NS", str(self._domain))

    def answer(self, message: bytes) -> bytes | None:
        """What to say to a message; None is silence, for one that asks nothing."""
        if len(message) < _HEADER.size:
            return None
        identity, flags, *_ = _HEADER.unpack_from(message)
        if flags & dns.flags.QR:
            return None  # an answer: to answer those would never end
        if dns.opcode.from_flags(flags) != dns.opcode.QUERY:
            return _without_question(identity, flags, Rcode.NOTIMP)
        try:
            question = _read(message)
        except dns.exception.DNSException:
            return _without_question(identity, flags, Rcode.FORMERR)
        return _message(identity, flags, question, self._said(question))

    def _said(self, question: _Question) -> _Said:
        if question.edns is not None and question.edns != _FIRST_EDNS:
            return _Said(rcode=Rcode.BADVERS, authoritative=False)
        ours = question.kind_class == dns.rdataclass.IN and question.name.is_subdomain(self._domain)
        if not ours or question.kind in _TRANSFERS:
            return _Said(rcode=Rcode.REFUSED, authoritative=False)
        known = self._known(question.name)
        if not known:
            return _Said(rcode=Rcode.NXDOMAIN, authority=(self._soa,))
        # RFC 8482 §4.1: whoever asks for everything gets something.
        found = next(iter(known.values())) if question.kind == RdataType.ANY else known.get(question.kind)
        return _Said(answer=(found,)) if found else _Said(authority=(self._soa,))

    def _known(self, name: dns.name.Name) -> dict[int, dns.rrset.RRset]:
        """What there is of this name, spelled as it was asked for, by its type."""
        if name == self._domain:
            return {RdataType.SOA: self._soa, RdataType.NS: self._ns, RdataType.A: self._addressed(name)}
        if name.parent() == self._domain and _WORKFLOW.fullmatch(name.labels[0]):
            return {RdataType.A: self._addressed(name)}
        return {}

    def _addressed(self, name: dns.name.Name) -> dns.rrset.RRset:
        return dns.rrset.from_text(name, TTL, "IN", "A", self._address)


def _read(message: bytes) -> _Question:
    """The one question of a message, which holds nothing else; raises DNSException.

    The library is given no other record to read: it would remember every type that a stranger makes up.
    """
    _, _, *counts = _HEADER.unpack_from(message)
    if counts[:3] != [1, 0, 0] or counts[3] > 1:
        raise dns.exception.FormError
    parser = dns.wire.Parser(message, _HEADER.size)
    name = parser.get_name()
    if parser.current - _HEADER.size != sum(len(label) + 1 for label in name.labels):
        raise dns.exception.FormError  # compressed, which the first name of a message cannot be
    kind, kind_class = parser.get_struct("!HH")
    edns = None
    if counts[3]:
        owner, record, _, _, edns, _, length = parser.get_struct("!BHHBBHH")
        parser.get_bytes(length)
        if owner or record != RdataType.OPT:
            raise dns.exception.FormError
    if parser.remaining():
        raise dns.exception.FormError
    return _Question(name=name, kind=kind, kind_class=kind_class, edns=edns)


def _message(identity: int, flags: int, question: _Question, said: _Said) -> bytes:
    message = dns.message.QueryMessage(id=identity)
    message.flags = dns.flags.QR | (flags & dns.flags.RD) | (dns.flags.AA if said.authoritative else 0)
    kind, kind_class = RdataType.make(question.kind), dns.rdataclass.RdataClass.make(question.kind_class)
    message.question = [dns.rrset.RRset(question.name, kind_class, kind)]
    message.answer, message.authority = list(said.answer), list(said.authority)
    if question.edns is not None:
        message.use_edns(_FIRST_EDNS, payload=PAYLOAD)
    message.set_rcode(said.rcode)
    return message.to_wire()


def _without_question(identity: int, flags: int, rcode: Rcode) -> bytes:
    """The answer to what cannot be understood: a header."""
    kept = flags & (dns.flags.RD | 0x7800)  # whether it wished recursion, and its opcode
    return _HEADER.pack(identity, dns.flags.QR | kept | rcode, 0, 0, 0, 0)
