"""Shells in held containers, and their facts, each told as an event of its workflow (`model.history`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tinkbox.model.history import Fact
from tinkbox.model.workflow import PlannedAction


class Mode(StrEnum):
    """How somebody comes to a shell: to type if nobody else does, to look on, or to type in any case."""

    DRIVE = "drive"
    VIEW = "view"
    TAKE = "take"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellWish:
    """A shell, or with `command` that program, wanted in the held container.

    With `tty` it is a terminal of `rows` x `columns` characters of the kind `term`.  `user` and `folder`, when empty,
    are the action's own; `environment` is laid over the action's.
    """

    id: str
    tty: bool
    command: tuple[str, ...] = ()
    user: str = ""
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    term: str = "xterm"
    rows: int = 24
    columns: int = 80


@dataclass(frozen=True, slots=True)
class ShellEnd:
    """How a shell ended: its exit code, or `reason` when it has none (`model.reasons` style)."""

    exit_code: int | None
    reason: str = ""
    message: str = ""

    @property
    def words(self) -> str:
        """The same for a person."""
        return self.message or self.reason or f"it ended with status {self.exit_code}"


def opened(action: PlannedAction, attempt: str, session: str, who: str, *, user: str, record_input: bool) -> Fact:
    """Somebody asked for a shell; an empty `user` is the action's own."""
    about = {"task": action.task, "action": action.spec.name, "worker": action.worker, "attempt": attempt}
    return "shell.opened", {**about, "session": session, "who": who, "user": user, "record_input": record_input}


def command(session: str, who: str, argv: Sequence[str]) -> Fact:
    """It is for this one command, of which somebody is to see the output."""
    return "shell.command", {"session": session, "who": who, "argv": list(argv)}


def attached(session: str, who: str, *, driver: bool) -> Fact:
    """Somebody came to a session, to type or to look on."""
    return "shell.attached", {"session": session, "who": who, "driver": driver}


def detached(session: str, who: str, *, driver: bool) -> Fact:
    """Somebody left a session, which goes on."""
    return "shell.detached", {"session": session, "who": who, "driver": driver}


def driver_changed(session: str, who: str, before: str) -> Fact:
    """Somebody took the keyboard from somebody else, maybe themselves elsewhere."""
    return "shell.driver", {"session": session, "who": who, "before": before}


def ended(session: str, *, exit_code: int | None, reason: str, message: str, sha256: str, size: int) -> Fact:
    """A session is over; the last two are its recording's."""
    told: dict[str, Any] = {"exit_code": exit_code, "reason": reason, "message": message}
    return "shell.ended", {"session": session, **told, "sha256": sha256, "bytes": size}
