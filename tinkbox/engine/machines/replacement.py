"""What stands against a document that is to take the place of a machine's present one.  Pure."""

from collections.abc import Callable, Sequence
from shlex import quote

from tinkbox.model.documents.hardware import ID_ANNOTATION, kept_id
from tinkbox.model.hardware import Hardware, called, names_of, namespace_of


def claims(hardware: Hardware) -> set[tuple[str, str]]:
    """What a machine is recognised by: its MACs and addresses."""
    return {
        *((each.mac, str(each.address or "")) for each in hardware.interfaces),
        *(("", str(each.address)) for each in hardware.without_mac if each.address),
    }


def workflow_in_the_way(stored: Hardware, wanted: Hardware, needing: Callable[[str], Sequence[str]]) -> str:
    """The unfinished workflow that knows a machine by MACs and addresses which would change; empty: there is none.

    `needing` has the ids of the unfinished workflows that need a machine, by its id.
    """
    return next(iter(needing(stored.id)), "") if claims(stored) != claims(wanted) else ""


def needed(stored: Hardware, workflow: str, typed: Callable[[Hardware], str]) -> str:
    """That an unfinished workflow is in the way of a document, and the ways out; `typed` words a machine for a command."""
    return (
        f"workflow {workflow[:8]} is not over and knows machine {called(stored)} by its MACs and addresses: wait for it, cancel "
        f"it, or change them with `tinkbox hardware edit {typed(stored)} --force`"
    )


def name_in_the_way(stored: Hardware, wanted: Hardware, typed: Callable[[Hardware], str]) -> str:
    """Why a document with the id of a machine is not of that machine, and the way out; empty: it is.

    Namespace and name in a `kind: Hardware` that keeps no id (`kept_id`) make its id, also once the machine has others: such
    a document is meant for a new machine, and would replace that one.  A document of 2020 says itself whose it is.
    """
    if not wanted.name or kept_id(wanted.document):
        return ""
    names, now = [stored.name] if stored.name else names_of(stored), called(stored)
    if wanted.name in names:
        before, space = namespace_of(wanted), namespace_of(stored)
        if not stored.name or before == space:
            return ""
        return (
            f"machine {now} of namespace {space} was of namespace {before} before, and a document of that namespace would replace "
            f"it: choose another name, or give the document of the same machine its id, under metadata: `annotations: "
            f"{{{ID_ANNOTATION}: {stored.id}}}`"
        )
    return (
        f"machine {now} was called {wanted.name} before, and a document of that name would replace it: choose another name, or "
        f"give it back with `tinkbox hardware edit {typed(stored)} --name {quote(wanted.name)}`"
    )
