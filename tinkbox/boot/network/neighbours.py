"""The hardware address behind an IPv4 address of a directly attached network, as the kernel knows it."""

from pathlib import Path

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress

_TABLE = Path("/proc/net/arp")
_COMPLETE = 0x2  # ATF_COM: the kernel has an answer


def neighbour(address: str, table: Path = _TABLE) -> MacAddress | None:
    """Who answered ARP for an address; None: nobody, it is behind a router, or the table cannot be read.

    Whoever just spoke to us by TCP, or was answered, stands in the table.
    """
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:  # no more files can be opened
        return None
    for line in lines:
        fields = line.split()
        if fields[0] == address and int(fields[2], 16) & _COMPLETE:
            try:
                return MacAddress(fields[3])
            except Invalid:
                return None
    return None
