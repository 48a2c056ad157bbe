"""`tinkbox hardware credential`, `tpm` and `https`: by what a worker, a machine and the appliance are known to each other."""

import argparse
import json
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_verb, add_yes
from tinkbox.cli.output.formats import Document, fields
from tinkbox.cli.output.printable import clean, moment
from tinkbox.cli.terminal.questions import confirm, will_ask
from tinkbox.cli.wording.refused_workers import tell_after, tell_before
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "credential", credential, "print a credential for a worker that you start by hand")
    verb.add_argument("key", metavar=KeyKind.MACHINE)
    verb.add_argument(
        "--rotate",
        action="store_true",
        help="end the machine's session and void its earlier credentials; at a terminal it asks first while an action runs there",
    )
    add_yes(verb)
    verb = add_verb(verbs, "tpm", tpm, "which TPM a machine has to show when it boots")
    verb.add_argument("key", metavar=KeyKind.MACHINE)
    change = verb.add_mutually_exclusive_group()
    change.add_argument("--accept", metavar="SHA256", help="have it show this one from its next boot on")
    change.add_argument("--forget", action="store_true", help="accept none any more: its next one counts as its first")
    verb = add_verb(verbs, "https", https, "whether a machine boots by HTTPS alone")
    verb.add_argument("key", metavar=KeyKind.MACHINE)
    verb.add_argument(
        "--forget", action="store_true", help="let it boot by plain HTTP again, until it is enrolled anew"
    )


def credential(chosen: argparse.Namespace) -> None:
    work = ask(chosen, lambda operator: operator.hardware.at_work(chosen.key)) if chosen.rotate else None
    asks = work is not None and will_ask(chosen)
    if asks:
        tell_before(chosen.key, work)
        confirm(chosen, f"Void the credential of {chosen.key}")
    made = ask(chosen, lambda operator: operator.hardware.credential(chosen.key, rotate=chosen.rotate))
    print(json.dumps(made), flush=True)
    if work is not None:
        tell_after(chosen.key, chosen.key, work, is_known=asks)


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


def https(chosen: argparse.Namespace) -> None:
    """The fingerprint is the SHA-256 of the authority's certificate."""

    async def asked(operator: "Operator") -> Document:
        if chosen.forget:
            return await operator.hardware.forget_https(chosen.key)
        return await operator.hardware.get(chosen.key)

    answer = ask(chosen, asked)
    if "https" not in answer:  # told without the right to look
        print(clean(f"{answer['name'] or answer['mac']} may boot by plain HTTP again"))
        return
    found = answer["https"]
    told = [("TLS", found["tls"]), ("Authority", found["authority"]), ("Since", moment(found["at"]))]
    print(fields(chosen, [each for each in told if each[1]]), end="")
