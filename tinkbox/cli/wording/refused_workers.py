"""What becomes of an action when the credential of its machine is voided."""

import shlex
import sys

from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean, moment


def named(given: Document) -> str:
    return str(given["name"] or given["id"])


def of_work(given: Document) -> str:
    """The workflow of the action that runs on a machine; empty: none does."""
    work = given.get("at_work")
    return str(work["workflow_id"]) if work else ""


def tell_before(machine: str, work: Document | None) -> None:
    """Of a machine whose credential may be voided; None: nothing runs there."""
    if work:
        told = f"{machine} is at work for workflow {_short(work)}. With its credential voided its worker is refused. {_ends(work)}"
        print(clean(told), file=sys.stderr, flush=True)


def tell_after(machine: str, key: str, work: Document, *, is_known: bool) -> None:
    """Of one whose credential was voided; `is_known`: `tell_before` told what becomes of its action."""
    workflow = _short(work)
    lines = [
        f"  tinkbox workflow cancel {workflow} --force  # ends it once the machine is silent",
        f"  tinkbox workflow retry {workflow}  # repeats the action afterwards, if that is safe",
    ]
    if is_known:
        lines.insert(0, f"The worker of {machine} is refused from now on:")
    else:
        lines.insert(
            0,
            f"{machine} is at work for workflow {workflow}, and its worker is refused from now on. {_ends(work)} The OSIE starts a worker by "
            f"itself; one that was started by hand needs the credential that `tinkbox hardware credential {shlex.quote(key)}` prints.",
        )
    print(*map(clean, lines), sep="\n", file=sys.stderr, flush=True)


def _ends(work: Document) -> str:
    last = "when its hold ends" if work["held"] else "as WorkerSilent when its time is up"
    return f"The action ends as WorkerLost when the machine's next worker begins, else {last}, at {moment(work['ends_at'])}."


def _short(work: Document) -> str:
    return str(work["workflow_id"])[:8]
