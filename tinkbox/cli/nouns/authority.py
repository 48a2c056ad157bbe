"""`tinkbox authority`: whom to trust to speak with the box over HTTPS."""

import argparse
import sys
from typing import Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import carry_out
from tinkbox.cli.output.printable import clean
from tinkbox.model.text import clean_block

STORY: Final = """\
Print the certificate of the box's own authority, in PEM, and its fingerprint on
standard error; behind it that of the authority at the end of the chain in
tls.certificate, which is shown to who asks by a name of that.
Programs that trust it reach the box over HTTPS: `tinkbox authority > ca.pem`.
A box whose DATA/tls is lost, or holds another authority, does not start: put
it back, or type `tinkbox authority --forget` to go on with another authority."""


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    noun.add_argument(
        "--forget",
        action="store_true",
        help="have the next start take the authority in DATA/tls, or make a new one; the appliance must be stopped",
    )
    carry_out(noun, show)


def show(chosen: argparse.Namespace) -> None:
    if chosen.forget:
        _forget(chosen)
        return
    found = ask(chosen, lambda operator: operator.authority())
    print(found["fingerprint"], file=sys.stderr)
    # An appliance of an earlier release does not tell it.
    if own := found.get("own"):
        names = ", ".join(own["names"])
        print(clean(f"{own['fingerprint']}  for {names}: the end of the chain in tls.certificate"), file=sys.stderr)
    print(clean_block(found["certificate"]), end="")


def _forget(chosen: argparse.Namespace) -> None:
    import asyncio
    import logging
    import shlex

    from tinkbox.app import forget_authority
    from tinkbox.installed_unit import UNIT
    from tinkbox.settings import load
    from tinkbox.settings.environment import AUTHORITY_KEY

    # What is wrong is said below, and there is no log here: without a handler Python would write it as well.
    logging.getLogger("tinkbox").addHandler(logging.NullHandler())
    data = load(data=chosen.data).data
    forgotten = asyncio.run(forget_authority(data, lambda line: print(clean(line), file=sys.stderr)))
    known, place = forgotten
    if place is not None:
        print(clean(f"Forgotten: {known}." if known else f"{data} knows no authority."))
        print(
            clean(
                f"The authority's key is the credential {AUTHORITY_KEY} of {UNIT} ({place}), so the next start has the same authority. To "
                f"get a new one, take the credential out of that file, then `rm -rf {shlex.quote(str(data / 'tls'))} && systemctl daemon-reload`"
            ),
            file=sys.stderr,
        )
        return
    if not known:
        print(clean(f"{data} knows no authority: the next start takes the one in {data}/tls, or makes one"))
        return
    print(clean(f"Forgotten: {known}. The next start takes the authority in {data}/tls, or makes a new one."))
    print(
        "Then everybody logs in again, with the --fingerprint that `tinkbox authority` prints, and machines that boot by HTTPS are enrolled anew."
    )
