"""`tinkbox hardware note`: what people note about a machine."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_listing, add_selection, add_verb
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Column, Document, for_people, show
from tinkbox.cli.output.printable import age, clean, moment
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.typed_words import key_for_scripts
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

COLUMNS: Sequence[Column] = (
    Column("N", "number"),
    Column("Age", "at", age),
    Column("Who", "who", fit=Fit(least=6, rank=1)),
    Column("Note", "text", fit=Fit(least=20)),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "note",
        note,
        "note something about a machine",
        "Without TEXT it lists the notes. `hardware get` shows them too. With -l each of several machines gets the note, and all "
        "words are TEXT.",
    )
    verb.add_argument("key", nargs="?", metavar=KeyKind.MACHINE, help="name, MAC, IP or id")
    verb.add_argument("text", nargs="*", metavar="TEXT", help="one line; several words are one note")
    verb.set_defaults(keys=(), names={})
    add_selection(verb, KeyKind.MACHINE, all_without=True)
    verb.add_argument("--remove", type=int, metavar="N", help="remove the note of this number")
    add_listing(verb)


def note(chosen: argparse.Namespace) -> int:
    """Print the notes that there are then; to people, who just said it, only that it is noted."""
    if chosen.label is not None:
        return _note_each(chosen, " ".join([chosen.key or "", *chosen.text]).strip())
    if chosen.key is None:
        chosen.usage_error("name a MACHINE, or select some by their labels, such as -l rack=r1")
    text = " ".join(chosen.text).strip()
    if text and chosen.remove is not None:
        chosen.usage_error("give TEXT or --remove, not both")

    async def asked(operator: "Operator") -> Sequence[Document]:
        if chosen.remove is not None:
            return await operator.hardware.remove_note(chosen.key, chosen.remove)
        return await (operator.hardware.note(chosen.key, text) if text else operator.hardware.notes(chosen.key))

    notes = ask(chosen, asked)
    if text and for_people(chosen):
        print(f"Noted ({notes[-1]['number']})")
    elif chosen.remove is not None and for_people(chosen):
        print(f"Removed note {chosen.remove}")
    else:
        show(chosen, notes, COLUMNS, key="number")
    return 0


def _note_each(chosen: argparse.Namespace, text: str) -> int:
    """The same note about each machine that labels select."""
    if not text or chosen.remove is not None:
        chosen.usage_error("-l takes TEXT, for a note about each; `tinkbox hardware get -l` shows the notes of several")

    made: list[Document] = []

    async def noted(operator: "Operator", key: str) -> Document:
        notes = await operator.hardware.note(key, text)
        return {"hardware_id": key, "machine": chosen.names[key], **notes[-1]}

    def told(note: Document) -> None:
        made.append(note)
        if for_people(chosen):
            print(clean(f"{note['machine']}: noted ({note['number']})"), flush=True)

    def machine_key(note: Document) -> str:
        identity = note["hardware_id"]
        return key_for_scripts(chosen.selected[identity].get("key", note["machine"]), identity)

    status = change_each(chosen, noted, told, "name the others to note it about these")
    if not for_people(chosen):
        show(chosen, made, [Column("Machine", "machine"), *COLUMNS], key="hardware_id", name=machine_key)
    return status


def noted(notes: Sequence[Document]) -> str:
    """The notes of a machine below what else is told of it, a line each."""
    return "".join(
        clean(f"note {each['number']}, {moment(each['at'])}, {each['who']}: {each['text']}") + "\n" for each in notes
    )
