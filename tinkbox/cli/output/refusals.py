"""What the appliance, or this program, did not do, for a person."""

import sys
from typing import Final

from tinkbox.cli.called_as import told
from tinkbox.model.errors import Invalid, Refusal

MOST_SHOWN: Final = 100  # so that what is wrong with a rack's list is shown whole


def tell_refusal(refusal: Refusal) -> None:
    """Print on standard error what was refused, and on a line each what is wrong with a document: the first MOST_SHOWN."""
    from tinkbox.client.refusals import Untrusted

    first, *others = refusal.lines if isinstance(refusal, Untrusted) else (str(refusal),)
    print(told(f"tinkbox: {first}"), file=sys.stderr, flush=True)
    for line in others:
        print(told(f"  {line}"), file=sys.stderr, flush=True)
    if not isinstance(refusal, Invalid):
        return
    for problem in refusal.problems[:MOST_SHOWN]:
        print(told(f"  {problem}"), file=sys.stderr, flush=True)
    more = len(refusal.problems[MOST_SHOWN:]) + refusal.more
    if more:
        print(f"  and {more:,} more", file=sys.stderr, flush=True)
