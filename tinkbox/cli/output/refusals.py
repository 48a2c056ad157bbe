"""What the appliance, or this program, did not do, for a person."""

import sys

from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid, Refusal


def tell_refusal(refusal: Refusal) -> None:
    """Print on standard error what was refused, and on a line each what is wrong with a document."""
    print(clean(f"tinkbox: {refusal}"), file=sys.stderr, flush=True)
    for problem in refusal.problems if isinstance(refusal, Invalid) else ():
        print(clean(f"  {problem}"), file=sys.stderr, flush=True)
