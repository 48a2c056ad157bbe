"""Documents that commands take: from a file, standard input or a flag."""

import argparse
import errno
import os
import shlex
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tinkbox.model.documents.json_text import TwoValues, read_document
from tinkbox.model.errors import Invalid, NotFound, TooLarge

STANDARD_INPUT: Final = Path("-")  # what `input_file` makes of -; a file of that name is ./-
_GZIP = b"\x1f\x8b"
_EXAMPLE = '{"device_1": "08:00:27:00:00:01"}'


class Nothing(Invalid):
    """Where a document should be there is nothing, or blank alone."""


def _read(path: Path, most: int = -1) -> bytes:
    """At most so many bytes of a file, of a pipe that something writes to, or of /dev/null; raises OSError, also for the rest.

    Opening a named pipe the usual way waits until somebody writes to it, perhaps for ever.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
        held, begin = os.fstat(file.fileno()), b""
        if stat.S_ISFIFO(held.st_mode):
            with suppress(BlockingIOError):  # whoever writes has not written yet
                begin = os.read(file.fileno(), 1)
                if not begin:
                    raise OSError(errno.ENXIO, "it is a pipe that nothing writes to")
        elif not (stat.S_ISREG(held.st_mode) or file.isatty() or os.path.samestat(held, Path(os.devnull).stat())):
            raise OSError(errno.EINVAL, "it is no file")
        os.set_blocking(file.fileno(), True)
        return begin + file.read(most - len(begin) if most > 0 else -1)


def add_text_source(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--file", "-f", "-p", "--path", type=input_file, metavar="FILE", help="- or without it, standard input"
    )


def input_file(text: str) -> Path:
    """An argument that names a file which `read_input` reads; - is standard input."""
    return STANDARD_INPUT if text == "-" else Path(text)


def read_input(path: Path | None, what: str, most: int = -1) -> bytes:
    """The named file, else standard input.  What is named beats what is piped, also where there is no terminal.

    With `most`, of standard input at most so many bytes: it may have no end.
    """
    if path is not None and path is not STANDARD_INPUT:
        try:
            return _read(path)
        except OSError as error:
            raise NotFound(f"cannot read {path}: {error.strerror}") from None
    if sys.stdin is None or (path is None and sys.stdin.isatty()):
        raise Invalid(f"either pipe the {what} or name its file with --file")
    if sys.stdin.isatty():
        print(f"reading the {what} from this terminal, until Ctrl-D on a line of its own", file=sys.stderr, flush=True)
    return sys.stdin.buffer.read(most)


def read_text(path: Path | None, what: str) -> str:
    """The same as text; raises Invalid for what is not UTF-8, and Nothing for no text."""
    text = _text_of(read_input(path, what), f"the {what}")
    if not text.strip():
        where = "on standard input" if path is None or path is STANDARD_INPUT else f"in {path}"
        raise Nothing(f"there is nothing {where}, where the {what} should be")
    return text


def _text_of(content: bytes, name: str) -> str:
    """Raises Invalid for what is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{name} is not UTF-8 text: byte 0x{content[error.start]:02x} in line {line}") from None


def read_bounded(path: Path, most: int) -> bytes:
    """A named file of at most so many bytes; raises TooLarge."""
    try:
        content = _read(path, most + 1)
    except IsADirectoryError:
        raise NotFound(f"cannot read {path}: {os.strerror(errno.EISDIR)}: name a file in it") from None
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}") from None
    if len(content) > most:
        raise TooLarge(f"{path} has more than {most // 1024} KiB, which is all that fits")
    return content


def read_ssh_keys(paths: Sequence[Path]) -> list[str]:
    """The public keys of these files, each once; raises Invalid for a private key and for what is none."""
    from tinkbox.model.ssh_keys import MAX_TEXT, public_keys

    found: dict[str, None] = {}
    for path in paths:
        try:
            content = _read(path, MAX_TEXT + 1)
        except OSError as error:
            raise NotFound(
                f"cannot read {path}: {error.strerror}: name the file of a public key, which `ssh-keygen -t ed25519` makes"
            ) from None
        found |= dict.fromkeys(public_keys(content.decode(errors="replace"), str(path)))
    return list(found)


def read_user_data(path: Path, most: int, tell: Callable[[str], None]) -> str:
    """A file of user-data; raises Invalid for what cloud-init would not take, with the lines of the file.

    Keys that it would ignore are told to `tell`, in a line each; whether it ignores all is asked when the image is known.
    """
    from tinkbox.engine.documents.user_data import odd, unfit

    content = read_bounded(path, most)
    if content.startswith(_GZIP):
        raise Invalid(f"{path} is gzip: give it in base64, as `base64 {shlex.quote(str(path))} >FILE` writes it")
    text = _text_of(content, str(path))
    if problems := unfit(text):
        raise Invalid(f"{path} is no user-data that cloud-init takes", problems)
    for each in odd(text):
        tell(f"{path}: {each}")
    return text


def read_devices(text: str) -> dict[str, Any]:
    """An argument that is the map of `-r`."""
    try:
        devices = read_document(text, each_once=True)
    except TwoValues as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not valid JSON ({error}): expected a map such as {_EXAMPLE}"
        ) from None
    if not isinstance(devices, dict):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no map of device names to addresses, such as {_EXAMPLE}")
    return devices


def devices_and_parameters(chosen: argparse.Namespace) -> dict[str, Any]:
    """What `-r` and `--set` say together; ends the program where they contradict each other."""
    devices: dict[str, Any] = chosen.hardware or {}
    for name, value in chosen.parameters:
        if devices.get(name, value) != value:
            chosen.usage_error(f"{name} has two values, one of -r and one of --set: leave one of them out")
    return {**devices, **dict(chosen.parameters)}
