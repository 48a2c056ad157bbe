"""`tinkbox breakpoint shell`: a terminal in a held container, or one command there."""

import argparse
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinkbox.cli.called_as import called_as
from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb, assignment
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean
from tinkbox.cli.wording.holds import HELD, being_carried_out, ended, full_name, until
from tinkbox.model.command_lines import about, typable
from tinkbox.model.errors import Invalid, Refusal, Unavailable
from tinkbox.model.key_kinds import KeyKind, ToChange, typed_for
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.named_machines import SHORT_ID, machine_name

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

USAGE = """\
tinkbox breakpoint shell [-h] [--view | --take] [--user USER] [--folder PATH] [--env NAME=VALUE] [--record-input]
                                WORKFLOW [-- COMMAND ...]"""
LOST = 255
WITH_ITS_CONTAINER = (128 + signal.SIGHUP, 128 + signal.SIGTERM, 128 + signal.SIGKILL)
TAIL = 8


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "shell",
        shell,
        "a terminal in the held container, or one command there",
        "It has the action's own user, folder and environment. Enter ~. leaves it, and the same again comes back to "
        "it. Where another person types already you look on. What it prints is recorded. With a COMMAND, standard "
        "input, output and error are the command's, and so is the exit status; 255 says that there is none.",
    )
    verb.usage = USAGE
    verb.add_argument("key", metavar="WORKFLOW", help=typed_for(KeyKind.WORKFLOW, ToChange.HELD))
    mode = verb.add_mutually_exclusive_group()
    mode.add_argument("--view", action="store_const", const="view", dest="mode", help="look on, and open none")
    mode.add_argument("--take", action="store_const", const="take", dest="mode", help="take over the keyboard")
    verb.add_argument("--user", default="", metavar="USER", help="NAME, UID or UID:GID instead of the action's own")
    verb.add_argument("--folder", default="", metavar="PATH", help="begin there")
    verb.add_argument(
        "--env",
        dest="environment",
        action="append",
        type=assignment,
        metavar="NAME=VALUE",
        default=[],
        help="set a variable, over those of the action; may be repeated",
    )
    verb.add_argument("--record-input", action="store_true", help="record what is typed too, passwords with it")
    verb.set_defaults(mode="drive", command=())


def shell(chosen: argparse.Namespace) -> int:
    """Returns the command's exit status, LOST when it has none; 0 when a shell was ended or left in good order."""
    from tinkbox.cli.terminal.raw_terminal import Told, is_terminal

    if chosen.command:
        return _command(chosen)
    if not is_terminal():
        raise Invalid(
            "there is no terminal here to open a shell in; for one command: "
            f"{called_as(chosen)} breakpoint shell {chosen.key} -- COMMAND"
        )
    try:
        return stay_connected(chosen, lambda operator: _opened(chosen, operator))
    except Told as told:
        return 128 + told.number


async def _opened(chosen: argparse.Namespace, operator: "Operator") -> int:
    return (await open_shell(operator, chosen.key, called_as(chosen), chosen.mode, _wish(chosen))).status


@dataclass(frozen=True, slots=True)
class Left:
    """A shell that ended or was left: the exit status of its command, what was `told` of it, and what its action is held at.

    `hold` is as the appliance has it afterwards; None: nothing is held, or the appliance did not say.
    """

    status: int
    told: str
    hold: Document | None


async def open_shell(
    operator: "Operator", key: str, program: str, mode: str = "drive", wish: Document | None = None
) -> Left:
    """A shell in what a workflow is held at, in this terminal, until it ends or is left; what there was to see is said.

    `program` is how the lines begin that a person may type.  Raises Told when a signal ends it.
    """
    from tinkbox.cli.terminal.raw_terminal import Terminal
    from tinkbox.cli.terminal.shell_session import Session
    from tinkbox.settings import terminal_kind

    standing = await operator.breakpoints.get(key, ToChange.HELD)
    workflow_id, terminal = standing["id"], Terminal()
    rows, columns = terminal.size
    asked = {"tty": True, "term": terminal_kind() or "xterm", "rows": rows, "columns": columns, "mode": mode}
    opened = await operator.shells.open(workflow_id, {**(wish or {}), **asked})
    machine = held_machine(standing)
    _say(banner(standing, machine, program))
    end, refusal = None, None
    async with terminal:
        try:
            end = await Session(operator, workflow_id, opened, mode, terminal).run()
        except Refusal as error:
            refusal = error
    hold: Document | None = None
    with suppress(Unavailable):
        standing = await operator.breakpoints.get(workflow_id)
        hold = standing["held"]
    told = list(farewell(standing, machine, opened["id"], end, program))
    _say(["", *told])  # whatever line the cursor was left in
    if refusal is not None:
        raise refusal
    status = LOST if end is not None and end.exit_code is None else 0
    return Left(status, told[0], hold)


def held_machine(standing: Document) -> str:
    """What people call the machine on which a workflow is held; empty where nothing is held.

    An earlier appliance names no machines there: it is the beginning of the id then.
    """
    hold = standing["held"]
    if hold is None:
        return ""
    named = {str(each["id"]): machine_name(each) for each in standing.get("machines", ())}
    worker = str(hold["worker"])
    return named.get(worker, worker[:SHORT_ID])


def banner(standing: Document, machine: str, program: str) -> Iterator[str]:
    """What is held and how it came there, for somebody who is about to look into it; `program` is as in `open_shell`."""
    hold, workflow = standing["held"], standing["id"][:8]
    if hold is None:
        return
    outcome = hold["outcome"] or {"message": "", "hint": "", "tail": ()}
    yield f"{full_name(hold)} of {standing['name']} ({workflow}) on {machine} is held {HELD[hold['kind']]}"
    yield f"  ended   {ended(hold['outcome'])}"
    hint = typable(about(outcome["hint"], workflow=workflow, machine=machine), program)
    yield from (f"          {line}" for text in (outcome["message"], hint) for line in text.splitlines())
    yield from (f"        | {line}" for line in outcome["tail"][-TAIL:])
    yield f"  until   {until(hold)}"
    if hold["verdicts"]:
        yield f"  decide  {program} breakpoint {'|'.join(hold['verdicts'])} {workflow}; or in the shell, see debug-info"
    yield "  keys    Enter ~. leaves the shell, which goes on; Enter ~? tells more"


def farewell(standing: Document, machine: str, session: str, end: "ShellEnd | None", program: str) -> Iterator[str]:
    """What has become of the shell on a machine, and what is left to do; `end` is None when it goes on."""
    hold, workflow = standing["held"], standing["id"][:8]
    if end is None:
        yield f"left: the shell on {machine} goes on, and {program} breakpoint shell {workflow} comes back to it"
    elif hold is None and end.exit_code in WITH_ITS_CONTAINER:
        yield f"the shell on {machine} ended with its container: the action is not held any more"
    elif end.exit_code is None:
        yield f"the shell on {machine} is over: {end.message or end.reason}"
    else:
        yield f"the shell on {machine} ended with status {end.exit_code}"
    yield f"  recorded  {program} breakpoint replay {session[:8]}"
    if hold is None:
        yield f"  workflow  {standing['state']}, nothing of it is held any more"
    elif hold["verdict"]:
        yield f"  decided   {full_name(hold)}: {being_carried_out(hold['verdict'])}"
    else:
        yield f"  held      {full_name(hold)} until {until(hold)}"
        if hold["verdicts"]:
            yield f"  decide    {program} breakpoint {'|'.join(hold['verdicts'])} {workflow}"


def _command(chosen: argparse.Namespace) -> int:
    from tinkbox.cli.terminal.remote_command import carry

    if chosen.mode != "drive":
        raise Invalid(
            "--view and --take are for shells, and here a COMMAND is given: leave the flag or the COMMAND out"
        )

    async def run(operator: "Operator") -> ShellEnd:
        wish = {**_wish(chosen), "tty": False, "command": list(chosen.command)}
        opened = await operator.shells.open(chosen.key, wish)
        async with operator.shells.attach(opened, tty=False) as connection:
            return await carry(connection)

    try:
        end = stay_connected(chosen, run)
    except Refusal as refusal:
        # Every other status may be the command's own.
        end = ShellEnd(None, message=str(refusal))
    if end.exit_code is None:
        _say([f"tinkbox: {end.message or end.reason}"])
    return LOST if end.exit_code is None else end.exit_code


def _wish(chosen: argparse.Namespace) -> Document:
    return {
        "user": chosen.user,
        "folder": chosen.folder,
        "environment": dict(chosen.environment),
        "record_input": chosen.record_input,
    }


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(clean(line), file=sys.stderr)
