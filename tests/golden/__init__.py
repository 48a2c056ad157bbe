"""What real programs sent, and what we say word for word: read these beside the tests that use them.

A packet is hex text under one line that tells where it comes from.
"""

from pathlib import Path

FOLDER = Path(__file__).parent


def packet(name: str) -> bytes:
    """The bytes of one captured packet, such as `dhcp/ovmf-pxe-discover`."""
    provenance, *digits = (FOLDER / f"{name}.hex").read_text().splitlines()
    assert provenance.startswith("# ")
    return bytes.fromhex("".join(digits))


def text(name: str) -> str:
    """A text that we must produce exactly."""
    return (FOLDER / name).read_text()


def names(folder: str) -> list[str]:
    """All packets of a folder."""
    return sorted(f"{folder}/{path.stem}" for path in (FOLDER / folder).glob("*.hex"))
