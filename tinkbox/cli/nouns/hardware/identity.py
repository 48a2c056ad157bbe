"""`tinkbox hardware credential` and `tpm`: by what a worker proves which machine it is on."""

import argparse
import json
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_verb
from tinkbox.cli.output.formats import Document, fields
from tinkbox.cli.output.printable import clean
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "credential", credential, "print a credential for a worker that you start by hand")
    verb.add_argument("key", metavar=KeyKind.MACHINE)
    verb.add_argument(
        "--rotate", action="store_true", help="end the machine's session and void its earlier credentials"
    )
    verb = add_verb(verbs, "tpm", tpm, "which TPM a machine has to show when it boots")
    verb.add_argument("key", metavar=KeyKind.MACHINE)
    change = verb.add_mutually_exclusive_group()
    change.add_argument("--accept", metavar="SHA256", help="have it show this one from its next boot on")
    change.add_argument("--forget", action="store_true", help="accept none any more: its next one counts as its first")


def credential(chosen: argparse.Namespace) -> None:
    print(json.dumps(ask(chosen, lambda operator: operator.hardware.credential(chosen.key, rotate=chosen.rotate))))


def tpm(chosen: argparse.Namespace) -> None:
    """Fingerprints: SHA-256 of the endorsement key."""

    async def asked(operator: "Operator") -> Document:
        if chosen.forget:
            return await operator.hardware.forget_tpm(chosen.key)
        if chosen.accept is not None:
            return await operator.hardware.accept_tpm(chosen.key, chosen.accept)
        return await operator.hardware.get(chosen.key)

    answer = ask(chosen, asked)
    if "tpm" not in answer:  # told without the right to look
        print(clean(f"{'No TPM is' if chosen.forget else 'That TPM is'} accepted of {answer['name'] or answer['mac']}"))
        return
    found = answer["tpm"]
    print(fields(chosen, [("Accepted", found["accepted"] or "none"), ("Shown Last", found["shown"] or "none")]), end="")
