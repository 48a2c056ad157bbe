"""Packets as nobody sends them by mistake: recorded ones, cut, spliced, lengthened, flipped, and lying about lengths."""

import random
from collections.abc import Sequence
from pathlib import Path

from tests import golden

CORPUS = golden.FOLDER / "corpus"
_TELLING = (0, 1, 2, 3, 4, 6, 7, 63, 64, 127, 128, 253, 254, 255)
_DHCP_OPTIONS = 240
_DHCP_CODES = (43, 50, 52, 53, 54, 55, 57, 60, 61, 77, 82, 93, 94, 97, 118, 121, 175, 255)
_TFTP_WORDS = (b"blksize", b"tsize", b"windowsize", b"timeout", b"octet", b"netascii", b"0", b"1", b"4", b"8", b"65535",
               b"-1", b"99999999999999999999999", b"", b"../", b"\xff\xfe", b"%s%n", b"loader.efi")  # fmt: skip
_MOST = 2048


def recorded(kind: str) -> list[bytes]:
    """What real programs sent, by "dhcp" or "tftp"."""
    return [golden.packet(name) for name in golden.names(kind)]


def corpus(kind: str) -> list[bytes]:
    """Mutants of earlier runs, each of which went another way through the servers than the others."""
    lines = (CORPUS / f"{kind}.hex").read_text().splitlines()
    return [bytes.fromhex(line) for line in lines if not line.startswith("#")]


def write_corpus(kind: str, packets: Sequence[bytes], path: Path = CORPUS) -> None:
    text = f"# mutants of recorded {kind.upper()} packets, one a line: tests/integration/boot/test_hostile_packets.py\n"
    (path / f"{kind}.hex").write_text(text + "".join(f"{each.hex()}\n" for each in packets))


class Mutator:
    """Makes mutants of `seeds`; the same chance gives the same mutants."""

    def __init__(self, kind: str, seeds: Sequence[bytes], chance: random.Random) -> None:
        self._seeds = seeds
        self._chance = chance
        own = self._lie if kind == "dhcp" else self._say
        self._ways = (self._cut, self._splice, self._append, self._flip, self._set, self._repeat, own, own)

    def mutant(self) -> bytes:
        """One more; of each hundred one is as it was recorded."""
        packet = bytearray(self._chance.choice(self._seeds))
        if self._chance.random() < 0.01:
            return bytes(packet)
        for _ in range(self._chance.choice((1, 1, 1, 2, 2, 3, 5, 9))):
            self._chance.choice(self._ways)(packet)
        return bytes(packet[:_MOST])

    def _at(self, packet: bytearray) -> int:
        return self._chance.randrange(len(packet) + 1)

    def _byte(self) -> int:
        return self._chance.choice(_TELLING) if self._chance.random() < 0.5 else self._chance.randrange(256)

    def _cut(self, packet: bytearray) -> None:
        start = self._at(packet)
        end = len(packet) if self._chance.random() < 0.3 else min(len(packet), start + self._chance.randrange(1, 40))
        del packet[start:end]

    def _splice(self, packet: bytearray) -> None:
        other = self._chance.choice(self._seeds)
        at = self._at(packet)
        start = min(at, len(other)) if self._chance.random() < 0.5 else self._chance.randrange(len(other))
        packet[at:] = other[start:]

    def _append(self, packet: bytearray) -> None:
        packet += self._chance.randbytes(self._chance.choice((1, 2, 3, 60, 255, 600)))

    def _flip(self, packet: bytearray) -> None:
        if packet:
            packet[self._chance.randrange(len(packet))] ^= 1 << self._chance.randrange(8)

    def _set(self, packet: bytearray) -> None:
        if packet:
            at = self._chance.randrange(len(packet))
            packet[at : at + self._chance.choice((1, 1, 2, 4))] = bytes([self._byte()]) * self._chance.choice((1, 2, 4))

    def _repeat(self, packet: bytearray) -> None:
        at = self._at(packet)
        packet[at:at] = packet[at : at + self._chance.randrange(1, 80)] * self._chance.choice((1, 1, 2, 9))

    def _lie(self, packet: bytearray) -> None:
        """Another length, another value, or one option more, somewhere among the options."""
        places, at = [], _DHCP_OPTIONS
        while at + 1 < len(packet) and packet[at] != 255:
            places.append(at)
            at += 2 + packet[at + 1] if packet[at] else 1
        if not places:
            return
        at = self._chance.choice(places)
        way = self._chance.randrange(3)
        if way == 0:
            packet[at + 1] = self._byte()
        elif way == 1:
            packet[at + 2 : at + 2 + packet[at + 1]] = self._chance.randbytes(packet[at + 1])
        else:
            length = self._chance.choice((0, 1, 2, 3, 4, 7, 16, 255))
            told = length if self._chance.random() < 0.8 else self._byte()
            packet[at:at] = bytes((self._chance.choice(_DHCP_CODES), told)) + self._chance.randbytes(length)

    def _say(self, packet: bytearray) -> None:
        """Another word among the words of a request."""
        words = bytes(packet[2:]).split(b"\0")
        words[self._chance.randrange(len(words))] = self._chance.choice(_TFTP_WORDS)
        if self._chance.random() < 0.3:
            words[1:1] = [self._chance.choice(_TFTP_WORDS) for _ in range(self._chance.choice((1, 2, 40)))]
        packet[2:] = b"\0".join(words)
