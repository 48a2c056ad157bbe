"""`tinkbox hardware add`: a machine by its MAC, without a document."""

import argparse
from pathlib import Path
from typing import Any

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_verb, filled
from tinkbox.cli.input_documents import read_ssh_keys
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "add",
        add,
        "register a machine by its MAC",
        "It gets the lowest free address where it needs one to boot.",
    )
    verb.add_argument("mac", metavar="MAC", help="of the card that it boots with")
    verb.add_argument("--name", type=filled, help="its name and hostname (default: made of its MAC)")
    verb.add_argument(
        "--address", "--ip", type=filled, metavar="IP[/PREFIX]", help="address to reserve, such as 172.30.0.20"
    )
    verb.add_argument("--gateway", type=filled, metavar="IP", help="default gateway to tell it together with --address")
    verb.add_argument(
        "--interface-mac", action="append", default=[], metavar="MAC", help="another card; may be repeated"
    )
    verb.add_argument(
        "--ssh-key",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="public key that may log in to what is installed there; may be repeated",
    )
    verb.add_argument(
        "--disk", action="append", default=[], type=_disk, metavar="DEVICE", help="a disk of it, such as /dev/sda"
    )


def _disk(text: str) -> str:
    """An argument that is the path of a disk."""
    from tinkbox.model.disk_selection import parse_path

    try:
        return parse_path(text)
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add(chosen: argparse.Namespace) -> None:
    """Print the name, the MAC and the address of the machine that was made."""
    wanted: dict[str, Any] = {
        "name": chosen.name,
        "address": chosen.address,
        "gateway": chosen.gateway,
        "interface_macs": chosen.interface_mac,
        "ssh_keys": read_ssh_keys(chosen.ssh_key),
        "disks": chosen.disk,
    }
    asked = {"mac": chosen.mac, **{name: value for name, value in wanted.items() if value}}
    added = ask(chosen, lambda operator: operator.hardware.add(asked))
    first = added["interfaces"][0]
    print(clean(" ".join(each for each in (first["hostname"], first["mac"], first["address"]) if each)))
