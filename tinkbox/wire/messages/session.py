"""How a worker begins, on the node door, as JSON.

    POST /worker/session   Opening -> Opened, with `Authorization: Bearer <boot ticket>`

Every other request of the worker shows the session: `Authorization: Bearer <secret>`, and in the header INSTANCE the process
that asks.  The same opening again gets the same answer; one with another secret is a 403, and must not be sent again.
"""

from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.json_fields import read_object, text, write

INSTANCE: Final = "Tinkbox-Instance"
MAX_OPENING: Final = 4_096
_MIN_SECRET = 32
_MAX_TEXT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A worker exchanges its boot ticket: it makes the `secret` itself, so that nobody else has seen it.

    `boot_id` is the kernel's, `instance` names the process (`model.session.new_instance`), new whenever the worker is
    started.  Empty: it names none, and no later one replaces it.
    """

    secret: str
    boot_id: str
    instance: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """`worker` is the machine's id, or the MAC of one that nobody knows."""

    worker: str


def encode(message: Opening | Opened) -> str:
    """Either as one line of JSON."""
    return write(message)


def decode_opening(content: str | bytes) -> Opening:
    """Raises Invalid when it is none, or its secret could be guessed."""
    entry = read_object(content, "opening")
    fields = {name: text(entry, name) for name in ("secret", "boot_id")}
    fields |= {name: text(entry, name, "") for name in ("instance", "version")}
    if len(fields["secret"]) < _MIN_SECRET:
        raise Invalid(f"opening: a secret has at least {_MIN_SECRET} letters")
    if not fields["boot_id"]:
        raise Invalid("opening: boot_id is the kernel's")
    if any(len(each) > _MAX_TEXT for each in fields.values()):
        raise Invalid(f"opening: no field is longer than {_MAX_TEXT} letters")
    return Opening(**fields)


def decode_opened(content: str | bytes) -> Opened:
    """Raises Invalid when it is no answer to an opening."""
    return Opened(worker=text(read_object(content, "answer"), "worker"))
