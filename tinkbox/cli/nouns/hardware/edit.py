"""`tinkbox hardware edit`: some values of a machine, or its whole document in an editor."""

import argparse
import json
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_verb, filled
from tinkbox.cli.input_documents import read_bounded, read_ssh_keys
from tinkbox.cli.nouns.hardware.flag_values import disk, label_change
from tinkbox.cli.output.formats import Document, show_notes, yaml_of
from tinkbox.cli.output.printable import clean
from tinkbox.cli.terminal.questions import Questions
from tinkbox.cli.wording.machines import shown_by
from tinkbox.model.errors import Conflict, Invalid, Refusal, TooLarge, Unavailable
from tinkbox.model.key_kinds import KeyKind

MAX_TEXT: Final = 1 << 20
USUAL_EDITOR: Final = "vi"
_ANSWERED: Final = (Invalid, Conflict, TooLarge)  # by an appliance that read the document
ABOUT: Final = (
    "# The hardware document of {name}. Save it and leave the editor to store it; leave it as it is to change nothing."
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "edit",
        edit,
        "change a machine",
        "Without flags its hardware document opens in an editor (VISUAL, EDITOR, or vi). Its id, its workflows and its "
        "timeline stay, also under another name.",
    )
    verb.add_argument("key", metavar=KeyKind.MACHINE, help="name, MAC, IP or id")
    verb.add_argument("--name", type=filled, help="another name and hostname")
    verb.add_argument("--address", "--ip", type=filled, metavar="IP[/PREFIX]", help="another address to reserve")
    verb.add_argument("--gateway", type=filled, metavar="IP", help="another default gateway")
    verb.add_argument("--add-mac", action="append", default=[], metavar="MAC", help="a further card; may be repeated")
    verb.add_argument(
        "--remove-mac",
        action="append",
        default=[],
        metavar="MAC",
        help="a card that is gone: what it had goes over to the first that is left; may be repeated",
    )
    verb.add_argument(
        "-l",
        "--label",
        dest="labels",
        action="append",
        default=[],
        type=label_change,
        metavar="KEY=VALUE|KEY-",
        help="set a label, or remove it; may be repeated",
    )
    verb.add_argument(
        "--disk",
        action="append",
        type=disk,
        metavar="DEVICE",
        help="its disks, instead of those it has; may be repeated",
    )
    verb.add_argument(
        "--ssh-key",
        action="append",
        type=Path,
        metavar="FILE",
        help="its public keys, instead of those it has; may be repeated",
    )
    verb.add_argument(
        "--force",
        action="store_true",
        help="also where a workflow that is not over knows its MACs, addresses and agent id",
    )


def edit(chosen: argparse.Namespace) -> None:
    wanted = _wanted(chosen)
    if not wanted:
        _in_editor(chosen)
        return
    changed = ask(chosen, lambda operator: operator.hardware.change(chosen.key, {**wanted, "force": chosen.force}))
    show_notes(changed)
    _tell(changed)


def _wanted(chosen: argparse.Namespace) -> dict[str, Any]:
    """What the flags say."""
    from tinkbox.model.labels import parse_change

    change = parse_change(chosen.labels)
    values: dict[str, Any] = {
        "name": chosen.name,
        "address": chosen.address,
        "gateway": chosen.gateway,
        "add_macs": chosen.add_mac,
        "remove_macs": chosen.remove_mac,
        "disks": chosen.disk,
        "ssh_keys": read_ssh_keys(chosen.ssh_key) if chosen.ssh_key else None,
        "labels": {"set": dict(change.set), "remove": list(change.removed)} if change else None,
    }
    return {name: value for name, value in values.items() if value}


def _in_editor(chosen: argparse.Namespace) -> None:
    """Open the document until it is stored or left as it is; what was written is kept when it cannot be stored.

    What is refused is opened again only for a person, and only when it was written otherwise than the time before.  It is
    not when another document would be refused too: the machine was changed meanwhile, or is gone.
    """
    command, is_watched = _editor(), Questions(yes=False).can_ask
    machine = ask(chosen, lambda operator: operator.hardware.get(chosen.key))
    about = ABOUT.format(name=machine["name"] or machine["id"])
    is_object = machine["document"].get("kind") == "Hardware"
    folder = Path(tempfile.mkdtemp(prefix="tinkbox-edit-"))
    path = folder / f"machine.{'yaml' if is_object else 'json'}"
    body = _written(machine)
    original = offered = f"{about}\n{body}"
    refused: Refusal | None = None
    while True:
        path.write_text(offered)
        path.chmod(0o600)
        if refused and not is_watched:
            raise _kept(refused, path, chosen.key)
        _run_editor(command, path, original, chosen.key)
        text = read_bounded(path, MAX_TEXT).decode(errors="replace")
        written = _without_head(text)
        if refused and (written == body or not text.strip()):
            path.write_text(offered)
            raise _kept(refused, path, chosen.key)
        if text == offered or not text.strip():
            break
        body = written
        try:
            stored = _store(chosen, machine, body)
        except _ANSWERED as refusal:
            if isinstance(refusal, Conflict) and not _is_as_it_was(chosen, machine):
                raise _kept(refusal, path, chosen.key) from None
            refused = _placed(refusal)
            offered = "".join(f"{line}\n" for line in [about, *_told(refused)]) + body
            continue
        except Refusal as refusal:
            raise _kept(refusal, path, chosen.key) from None
        show_notes(stored)
        _remove(path)
        _tell(stored)
        return
    _remove(path)
    print("Nothing was changed")


def _editor() -> str:
    """The editor's command line; raises Unavailable where none is named and no person could type into one."""
    from tinkbox.settings import editor

    named = editor()
    if not named and not Questions(yes=False).can_ask:
        raise Unavailable(
            "there is no terminal for an editor: say with flags what is to change, such as `--name` or `--label` "
            "(`tinkbox hardware edit --help`), or set EDITOR to a program that needs none"
        )
    return named or USUAL_EDITOR


def _store(chosen: argparse.Namespace, machine: Document, text: str) -> Document:
    return ask(chosen, lambda operator: operator.hardware.replace(dict(machine), text, force=chosen.force))


def _is_as_it_was(chosen: argparse.Namespace, machine: Document) -> bool:
    """Whether nobody changed the machine since; if not, whatever a person makes of the old document is refused."""
    try:
        now = ask(chosen, lambda operator: operator.hardware.get(machine["id"]))
    except Refusal:
        return False
    return all(now[name] == machine[name] for name in ("updated_at", "labels"))


def _written(machine: Document) -> str:
    document = machine["document"]
    if document.get("kind") == "Hardware":
        return yaml_of(document)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _without_head(text: str) -> str:
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[first:])


def _placed(refusal: Refusal) -> Refusal:
    """The same refusal, its lines counted in the file that has it above the document."""
    if not isinstance(refusal, Invalid):
        return refusal
    above = 1 + len(_told(refusal))
    return Invalid(
        str(refusal),
        [replace(each, line=None if each.line is None else each.line + above) for each in refusal.problems],
    )


def _told(refusal: Refusal) -> list[str]:
    """The lines to stand above the document, which say what is wrong with it, and where in the file."""
    problems = refusal.problems if isinstance(refusal, Invalid) else ()
    return [f"# {clean(str(refusal))}", *(f"#   {clean(str(each))}" for each in problems)]


def _run_editor(command: str, path: Path, original: str, key: str) -> None:
    """Raises Unavailable for an editor that fails; what was written by then is kept."""
    sys.stdout.flush()
    try:
        with _keys_are_the_editors():
            status = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        failed = Unavailable(f"the editor `{command}` does not start ({why}): set EDITOR, or use flags")
    else:
        if status == 0:
            return
        failed = Unavailable(f"the editor `{command}` ended with status {status}, so nothing was stored")
    if path.read_text(errors="replace") != original:
        raise _kept(failed, path, key)
    _remove(path)
    raise failed


@contextmanager
def _keys_are_the_editors() -> Iterator[None]:
    """Only the editor obeys Ctrl-C: it reaches every program in the terminal's foreground, and we must not end before it.

    A handler, for an editor would inherit that a signal is ignored.
    """
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kept(refusal: Refusal, path: Path, key: str) -> Refusal:
    """The refusal to end with, which says where the text is and what to do with it."""
    stored = "nothing was stored, so " if isinstance(refusal, _ANSWERED) else ""
    told = f"{refusal}; {stored}type `tinkbox hardware edit {shlex.quote(key)}` again: what you wrote is in {path}"
    if isinstance(refusal, Invalid):
        return Invalid(told, refusal.problems)
    return Conflict(told) if isinstance(refusal, Conflict) else Unavailable(told)


def _remove(path: Path) -> None:
    with suppress(OSError):
        for each in path.parent.iterdir():  # editors leave copies beside it
            each.unlink()
        path.parent.rmdir()


def _tell(machine: Document) -> None:
    """Name the machine; what an appliance of an earlier release answers counts as changed."""
    print(clean(f"{'Edited' if machine.get('changed', True) else 'Unchanged'} {_shown(machine)}"))


def _shown(machine: Document) -> str:
    if "interfaces" not in machine:  # told without the right to look
        return str(machine["name"] or machine["mac"])
    card = shown_by(machine)
    words = [machine["name"], card["mac"], card["address"]]
    return " ".join(str(each) for each in words if each)
