"""`tinkbox breakpoint replay`: a shell's recording, shown again."""

import argparse
import os
from pathlib import Path

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_verb
from tinkbox.model.errors import Unavailable


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "replay", replay, "show a shell's recording again", "Pauses are cut to two seconds.")
    verb.add_argument("session", metavar="SESSION", help="its id, or a unique beginning of it")
    verb.add_argument("--speed", type=speed, default=1.0, metavar="N", help="speed factor (default 1)")
    verb.add_argument("--raw", type=Path, metavar="FILE", help="write the recording there instead, as asciicast")


def speed(text: str) -> float:
    """An argument that says how fast."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no speed: write a number such as 2 or 0.5")
    return number


def replay(chosen: argparse.Namespace) -> None:
    """Show it as it was, on a terminal at its pace; elsewhere all that was printed, at once."""
    from tinkbox.cli.terminal.recording_player import play

    content = ask(chosen, lambda operator: operator.shells.recording(chosen.session))
    if chosen.raw is not None:
        _write(chosen.raw, content)
    else:
        play(content, chosen.speed)


def _write(path: Path, content: bytes) -> None:
    """For its owner only: who types a password at a prompt that shows it has it in there."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}") from None
