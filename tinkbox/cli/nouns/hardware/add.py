"""`tinkbox hardware add`: a machine by its MAC, without a document."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_labels, add_verb, filled
from tinkbox.cli.input_documents import read_ssh_keys
from tinkbox.cli.nouns.hardware.flag_values import disk
from tinkbox.cli.output.formats import Document, show_notes
from tinkbox.cli.output.printable import clean
from tinkbox.cli.wording.machines import shown_by

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


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
        "--disk", action="append", default=[], type=disk, metavar="DEVICE", help="a disk of it, such as /dev/sda"
    )
    add_labels(verb, "a label", "-l")
    verb.add_argument(
        "--note",
        dest="notes",
        action="append",
        default=[],
        type=filled,
        metavar="TEXT",
        help="a note about it; may be repeated",
    )


def add(chosen: argparse.Namespace) -> None:
    """Print the name, the MAC and the address of the machine that was made."""
    wanted: dict[str, Any] = {
        "name": chosen.name,
        "address": chosen.address,
        "gateway": chosen.gateway,
        "interface_macs": chosen.interface_mac,
        "ssh_keys": read_ssh_keys(chosen.ssh_key),
        "disks": chosen.disk,
        "labels": dict(chosen.labels),
    }
    asked = {"mac": chosen.mac, **{name: value for name, value in wanted.items() if value}}

    async def registered(operator: "Operator") -> Document:
        machine = await operator.hardware.add(asked)
        for each in chosen.notes:
            await operator.hardware.note(machine["id"], each)
        return machine

    added = ask(chosen, registered)
    show_notes(added)
    first = shown_by(added)
    print(clean(" ".join(each for each in (first["hostname"], first["mac"], first["address"]) if each)))
