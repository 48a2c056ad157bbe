"""How this program was called, for lines that a person is to type."""

import argparse
import shlex
from contextvars import ContextVar
from typing import Final

from tinkbox.model.command_lines import PROGRAM, typable
from tinkbox.model.text import clean

_PROGRAM: Final = ContextVar("how a person begins a command, chosen once for each command line", default=PROGRAM)


def called_as(chosen: argparse.Namespace) -> str:
    """The program with the `--data` that it was given, so that what is typed reaches the same appliance: a worker's folder is none."""
    appliance = chosen.data and not getattr(chosen, "worker", False)
    return f"{PROGRAM} --data {shlex.quote(str(chosen.data))}" if appliance else PROGRAM


def commands_begin(program: str) -> None:
    """Have the commands in what a person is `told` begin so from now on, as `called_as` has it."""
    _PROGRAM.set(program)


def told(text: str) -> str:
    """Clean text for a person, whose commands reach the appliance that this one spoke to."""
    return clean(typable(text, _PROGRAM.get()))
