"""What a worker notes of an attempt for its next life: what it starts, that it was to be stopped, how it ended.

Without them a container that somebody removed would be started again, a worker that was killed between
stopping one and reporting it would take the signal for the cause, and one that was killed before its
report was answered might tell it otherwise.
"""

import json
import logging
import math
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tinkbox.model.errors import Invalid
from tinkbox.model.shells import ShellEnd
from tinkbox.model.workflow import Outcome
from tinkbox.wire.messages.breakpoints import Held, decode_held
from tinkbox.wire.messages.worker import Order, order_from_document, outcome_from_document

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldNote:
    """A hold; `command` is the number and the verb of what its helper was told, None before a verdict was carried out.

    It is `over` when the appliance knows that the action runs again.
    """

    held: Held
    command: tuple[int, str] | None = None
    over: bool = False


class Notes:
    """One folder per attempt that is not over yet.  What cannot be written is done without."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def begin(self, attempt: str) -> None:
        """Note that this attempt is not over."""
        try:
            (self._root / attempt).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _log.warning("the attempt is not noted: %s", error, extra={"action": "notes.lost"})

    def unfinished(self) -> list[str]:
        """The attempts that were begun and not forgotten."""
        return [path.name for path in self._root.iterdir()] if self._root.is_dir() else []

    def forget(self, attempt: str) -> None:
        """The attempt is over."""
        shutil.rmtree(self._root / attempt, ignore_errors=True)

    def keep_start(self, attempt: str, role: str, at: float = math.inf) -> None:
        """Note that its container of this role is about to start, `at` seconds of the machine's steady clock."""
        self._write(attempt, f"start-{role}", json.dumps({} if math.isinf(at) else {"at": at}))

    def start(self, attempt: str, role: str) -> bool:
        """Whether its container of this role was ever about to start."""
        return self._path(attempt, f"start-{role}").exists()

    def started_at(self, attempt: str, role: str) -> float:
        """When its container of this role was about to start, as `keep_start` has it; infinity where that is not known."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return float(json.loads(self._path(attempt, f"start-{role}").read_bytes())["at"])
        return math.inf

    def keep_stop(self, attempt: str, order: Order) -> None:
        """Note that its container is stopped, and why."""
        self._write(attempt, "stop", json.dumps(asdict(order)))

    def stop(self, attempt: str) -> Order | None:
        """Why its container was stopped; None when it was not."""
        with suppress(OSError, ValueError, Invalid):
            return order_from_document(json.loads(self._path(attempt, "stop").read_bytes()))
        return None

    def keep_hold(self, attempt: str, note: HoldNote) -> None:
        """Note where it is held, and what was commanded of its helper."""
        self._write(attempt, "hold", json.dumps(asdict(note)))

    def hold(self, attempt: str) -> HoldNote | None:
        """Its newest hold; None when it never was held."""
        with suppress(OSError, ValueError, KeyError, TypeError, Invalid):
            entry = json.loads(self._path(attempt, "hold").read_bytes())
            command = entry["command"]
            return HoldNote(
                held=decode_held(json.dumps(entry["held"])),
                command=None if command is None else (int(command[0]), str(command[1])),
                over=bool(entry["over"]),
            )
        return None

    def keep_sessions(self, attempt: str, ends: Mapping[str, ShellEnd | None]) -> None:
        """Note which shells began, each with how it ended if it did."""
        noted = {session: None if end is None else asdict(end) for session, end in ends.items()}
        self._write(attempt, "shells", json.dumps(noted))

    def sessions(self, attempt: str) -> dict[str, ShellEnd | None]:
        """The shells that began, each with how it ended, None when it did not yet."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            noted = json.loads(self._path(attempt, "shells").read_bytes())
            return {str(session): None if end is None else ShellEnd(**end) for session, end in noted.items()}
        return {}

    def keep_outcome(self, attempt: str, outcome: Outcome) -> None:
        """Note how it ended, before anybody is told."""
        self._write(attempt, "outcome", json.dumps(asdict(outcome)))

    def outcome(self, attempt: str) -> Outcome | None:
        """How it ended; None when it did not yet."""
        with suppress(OSError, ValueError, Invalid):
            return outcome_from_document(json.loads(self._path(attempt, "outcome").read_bytes()))
        return None

    def _write(self, attempt: str, name: str, text: str) -> None:
        path = self._path(attempt, name)
        fresh = path.with_suffix(".new")
        try:
            fresh.write_text(text)
            fresh.replace(path)
        except OSError as error:
            _log.warning("the %s of the attempt is not noted: %s", name, error, extra={"action": "notes.lost"})

    def _path(self, attempt: str, name: str) -> Path:
        return self._root / attempt / f"{name}.json"
