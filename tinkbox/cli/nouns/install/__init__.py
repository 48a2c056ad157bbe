"""`tinkbox install`: one workflow of the template `install` for each machine, and what becomes of it."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import add_confirmation, carry_out, duration
from tinkbox.cli.input_documents import read_ssh_keys, read_user_data
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.interruptions.readers import check_reader
from tinkbox.cli.nouns.install.checks import Installation, NotFetched, Wanted, checked
from tinkbox.cli.output.live_lines import LiveLines
from tinkbox.cli.output.printable import clean
from tinkbox.cli.wording.installations import Line, deleted, farewell, line_of, refusal_of
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from tinkbox.client.operator import Document, Operator

MAX_USER_DATA = 128 * 1024
INTERVAL = 1.0
SEEDS = ("cidata", "config-2", "url", "none")


def declare(noun: argparse.ArgumentParser) -> None:
    carry_out(noun, install)
    noun.description = (
        "Put a system image on the disk of machines, and follow that until each is up or has failed. "
        "A machine boots the network when it is powered on or rebooted."
    )
    noun.add_argument(
        "image",
        metavar="IMAGE|ID",
        help="a system image, such as debian-13:20261101, or the id of one in the catalogue",
    )
    noun.add_argument("machines", nargs="+", metavar="MACHINE", help="a name, a MAC, an address or an id")
    noun.add_argument(
        "--ssh-key",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="public key that may log in; may be repeated",
    )
    noun.add_argument("--user-data", type=Path, metavar="FILE", help="user-data for the installed system (cloud-init)")
    noun.add_argument(
        "--disk",
        type=_selector,
        default="only",
        metavar="SELECTOR",
        help="which disk, such as smallest, serial=… (default only)",
    )
    noun.add_argument("--hostname", metavar="NAME", help="host name of the installed system (default: the machine's)")
    noun.add_argument(
        "--seed", choices=SEEDS, help="how the installed system finds its metadata (default: as the image needs it)"
    )
    noun.add_argument("--timeout", type=duration, metavar="TIME", help="for writing the disk (default 1h)")
    noun.add_argument(
        "--no-fetch", action="store_true", help="refuse an image that is not kept here (default: fetch its newest)"
    )
    noun.add_argument("--no-wait", action="store_true", help="print the workflows and end")
    add_confirmation(noun)


def _selector(text: str) -> str:
    """An argument that chooses a disk."""
    from tinkbox.model.disks.selection import parse_selection

    try:
        return parse_selection(text).text
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def install(chosen: argparse.Namespace) -> int:
    if chosen.timeout == 0:
        chosen.usage_error("--timeout 0 leaves no time for writing the disk")
    if chosen.hostname and len(chosen.machines) > 1:
        chosen.usage_error("--hostname is for one machine: several cannot have one name")
    wanted = Wanted(
        image=chosen.image,
        machines=tuple(chosen.machines),
        ssh_keys=tuple(read_ssh_keys(chosen.ssh_key)),
        user_data=read_user_data(chosen.user_data, MAX_USER_DATA, _warn) if chosen.user_data else "",
        user_data_file=str(chosen.user_data or ""),
        disk=chosen.disk,
        hostname=chosen.hostname or "",
        seed=chosen.seed or "",
        timeout=chosen.timeout or 0,
    )
    if not chosen.no_fetch:
        _fetch_missing(chosen, wanted)
    begun: dict[str, Installation] = {}
    total = len(wanted.machines)
    try:
        with told_how_far(
            lambda: f"{len(begun)} of {counted(total, 'workflow')} made" if 0 < len(begun) < total else ""
        ):
            return stay_connected(chosen, lambda operator: _install(chosen, operator, wanted, begun))
    except KeyboardInterrupt:
        if begun:
            keys = " ".join(each[:8] for each in begun)
            watch = " && ".join(f"{called_as(chosen)} workflow watch {each[:8]}" for each in begun)
            print(
                f"\nnot watched any more, and it goes on.  Watch: {watch}   Cancel: {called_as(chosen)} workflow cancel {keys}",
                file=sys.stderr,
            )
        raise


def _fetch_missing(chosen: argparse.Namespace, wanted: Wanted) -> None:
    """Fetch the image where only that is missing; everything else is refused before minutes go by."""
    from tinkbox.cli.nouns.image.fetch import bring

    try:
        ask(chosen, lambda operator: checked(operator, wanted))
    except NotFetched as missing:
        bring(chosen, [missing.entry])


async def _install(
    chosen: argparse.Namespace, operator: "Operator", wanted: Wanted, begun: dict[str, Installation]
) -> int:
    ready = await checked(operator, wanted)
    for doubt in dict.fromkeys(doubt for each in ready for doubt in each.doubts):
        _warn(f"{', '.join(each.name for each in ready if doubt in each.doubts)}: {doubt}")
    for each in ready:
        made = await operator.workflows.create(
            "install", each.parameters, confirm_wipe=chosen.confirm_wipe, machine=each.machine_id
        )
        begun[made["id"]] = each
        print(clean(f"Created Workflow:  {made['id']}  {each.reference} on {each.name}"), flush=True)
    if chosen.no_wait:
        for workflow_id in begun:
            print(f"watch it: {called_as(chosen)} workflow watch {workflow_id[:8]}")
        return 0
    return await _follow(operator, begun, called_as(chosen))


async def _follow(operator: "Operator", begun: Mapping[str, Installation], program: str) -> int:
    """Show how far each came until all are over; 0 only when all succeeded.

    `program` is how the lines begin that a person may type.
    """
    import asyncio

    from tinkbox.model.errors import Unavailable

    ended: dict[str, Line] = {}
    shown: dict[str, Line] = {}
    with LiveLines() as live:
        while len(ended) < len(begun):
            unanswered: Unavailable | None = None
            for workflow_id, each in begun.items():
                if workflow_id in ended:
                    continue
                try:
                    shown[workflow_id] = await _look(operator, workflow_id, each)
                except Unavailable as error:
                    unanswered = error
                    break
                if shown[workflow_id].over:
                    ended[workflow_id] = shown[workflow_id]
            if unanswered is None:
                live.show([shown[name] for name in begun])
            else:
                live.tell_unanswered(unanswered)
            if len(ended) < len(begun):
                await asyncio.sleep(INTERVAL)
                check_reader()
    for workflow_id, line in ended.items():
        for text in await _last_words(operator, workflow_id, begun[workflow_id], line, program):
            print(clean(text), flush=True)
    return 0 if all(line.succeeded for line in ended.values()) else 1


async def _look(operator: "Operator", workflow_id: str, each: Installation) -> Line:
    """Where it stands; a machine can be deleted once its workflow is over, and the workflow then, too."""
    try:
        workflow = await operator.workflows.get(workflow_id)
        try:
            machine = await operator.hardware.get(each.machine_id)
        except NotFound:
            workflow, machine = await operator.workflows.get(workflow_id), {}
    except NotFound:
        return deleted(each.name)
    return line_of(each.name, workflow, machine)


async def _last_words(
    operator: "Operator", workflow_id: str, each: Installation, line: Line, program: str
) -> "Sequence[str]":
    if line.succeeded:
        return farewell(line, each.address, each.user)
    try:
        state: Document = await operator.workflows.state(workflow_id)
    except NotFound:
        return [str(deleted(each.name))]
    return refusal_of(each.name, workflow_id, state, program)


def _warn(text: str) -> None:
    print(clean(f"tinkbox: warning: {text}"), file=sys.stderr)
